//! Tools of side tasks, behind the port [`dormouse_drive::ToolHost`].
//!
//! # Model
//! [`ForkTools`] has six tools: Read, Grep and Glob look at files below the readable directories,
//! Bash runs command lines that only read, Edit and Write change files below the memory directory.
//! A path from the model is data: it is placed by its text, and then used through a handle that
//! cannot be led out of its directory ([`dormouse_system::Files::beneath`]).
//!
//! # Responsibilities
//! - Refuse everything else, in words the model can act on, and keep a list of it
//!   ([`ForkTools::denials`]).
//! - Bound everything: reading, searching, printing, waiting ([`limits`]).
//!
//! # Not here
//! - Deciding on harmless command lines and safe names: that is `dormouse-guard`'s.
//! - Writing: the caller's [`MemoryWrites`] checks and applies the changes of Edit and Write.

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
