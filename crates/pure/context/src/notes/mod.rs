//! Layer 3: session notes, the deciding part.
//!
//! A file of notes is kept beside a session: a fixed set of sections that describe the state of the
//! work. When the window is full, the notes serve as the summary of a compaction without a model
//! call. The parts, in the order of their use:
//!
//! - [`template`]: the sections, built in or the user's.
//! - [`document`]: the notes, with an intact frame by construction.
//! - [`due`](mod@due): when they are updated.
//! - [`limits`]: sections that are too long.
//! - [`directive`](mod@directive): the prompt of the fork that writes them.
//! - [`answer`]: the edits in its answer.
//! - [`update`]: applying them, all or none.
//! - [`summary`]: the notes as the summary of a compaction.
//! - [`people`]: the file where no notes were kept.
//!
//! Not here: reading and writing files, making the call, and what a compaction keeps beside the
//! notes.

pub mod answer;
pub mod directive;
pub mod document;
pub mod due;
pub mod limits;
pub mod people;
pub mod summary;
mod tags;
pub mod template;
pub mod update;

#[cfg(test)]
mod tests;

pub use answer::{AnswerError, Edit, edits_of};
pub use directive::{Directive, directive, unknown_placeholders};
pub use document::{Notes, NotesError};
pub use due::{NotesVerdict, Progress, Rule, due};
pub use limits::{Excess, Limits, over_limit};
pub use people::for_people;
pub(crate) use summary::as_summary;
pub use template::{Section, Template, TemplateError};
pub use update::{EditError, Rejected, apply};
