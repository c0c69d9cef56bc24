//! Layer 3: session notes, the part that decides.
//!
//! While a session goes on, a file of notes is kept beside it: a fixed set of sections that say
//! where the work stands. When the window is full, the notes are the summary of a compaction, and
//! no model has to be asked. The parts, in the order in which they are used:
//!
//! - [`template`]: which sections there are; built in, or the user's.
//! - [`document`]: the notes, whole by construction.
//! - [`due`](mod@due): when they are written.
//! - [`queue`]: one update at a time.
//! - [`limits`]: which sections are too long.
//! - [`directive`](mod@directive): what the fork that writes them is told.
//! - [`answer`]: what its answer asks for.
//! - [`update`]: all of it or none.
//! - [`summary`]: the notes as the summary of a compaction.
//!
//! Not here: reading and writing files, making the call, and what a compaction keeps beside the
//! notes.

pub mod answer;
pub mod directive;
pub mod document;
pub mod due;
pub mod limits;
pub mod queue;
pub mod summary;
mod tags;
pub mod template;
pub mod update;

#[cfg(test)]
mod tests;

pub use answer::{AnswerError, Edit, edits_of};
pub use directive::{Directive, directive, unknown_placeholders};
pub use document::{Notes, NotesError};
pub use due::{Progress, Rule, Verdict, due};
pub use limits::{Excess, Limits, over_limit};
pub use queue::Updates;
pub use summary::as_summary;
pub use template::{Section, Template, TemplateError};
pub use update::{EditError, Rejected, apply};
