//! The tools that side tasks use, behind the port [`dormouse_drive::ToolHost`].
//!
//! # Model
//! [`ForkTools`] has six tools: Read, Grep and Glob look at files below the readable directories,
//! Bash runs command lines that only read, Edit and Write change files below the memory directory.
//! What the model gives as a path is data: it is placed by its text, and then used through a handle
//! that cannot be led out of its directory ([`dormouse_system::Files::beneath`]).
//!
//! # Responsibilities
//! - Refuse everything else, in words the model can act on, and keep a list of it
//!   ([`ForkTools::denials`]).
//! - Bound everything: what is read, searched, printed, waited for ([`limits`]).
//!
//! # Not here
//! - Deciding what is a harmless command line or a safe name: that is `dormouse-guard`'s.
//! - Writing: the caller's [`MemoryWrites`] checks and applies what Edit and Write come to.

mod background;
mod bash;
mod definitions;
mod edit;
mod glob;
mod grep;
mod host;
mod input;
pub mod limits;
mod lines;
mod places;
mod read;
mod reply;
mod walk;

pub use definitions::{TOOL_NAMES, definitions};
pub use host::{ForkTools, MemoryWrites, Roots};
pub use reply::Denial;
