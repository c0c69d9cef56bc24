//! Instruction files: `AGENTS.md`, `CLAUDE.md`, rules and what they include.
//!
//! # Model
//! [`Places`] say where to look, a [`Source`] reads, [`load`] returns a value, [`Loaded`]: the
//! files in order from the lowest priority to the highest, the rules that wait for a matching file,
//! the includes that wait for approval, and a line for the load report about every file that was
//! met, taken or not. [`render()`] makes the one fragment a prompt begins with, [`diff()`] names
//! the files that have changed on disk since.
//!
//! # Order
//! managed → user → each directory from the project's root (without a project, from the file
//! system's) down to the working directory → local files of the same directories → memory index.
//! An included file follows the file that includes it. A file counts once, by the path without
//! links, at its first place. `AGENTS.md` and `CLAUDE.md` of one directory also count once if they
//! hold the same text, or if one holds nothing but the path of the other: a link turns into such a
//! file where a repository is checked out without links.
//!
//! # Refusals
//! A project may have been written by a stranger. A file outside of it, reached by an include or a
//! link, is not even read until its real path is among the [`Approvals`]. Includes of the user's
//! own and the machine's files need no approval.
//!
//! # Not here
//! Reading files: the adapter to the disk is the caller's. The switch and the limits are settings.
//! Approvals are kept by the caller.

mod diff;
mod load;
mod markdown;
mod parts;
mod places;
mod prepare;
mod render;
mod report;
mod rules;
mod source;
mod take;

pub use diff::{FileDigest, diff};
pub use load::{Loader, load};
pub use parts::{File, Loaded, Scope, Waiting};
pub use places::{Approvals, Limits, MANAGED, MemoryIndex, Places};
pub use render::{render, render_later};
pub use report::{FileOutcome, ReportLine};
pub use rules::Rule;
pub use source::{Listed, Source, SourceResult};

#[cfg(test)]
mod tests;
