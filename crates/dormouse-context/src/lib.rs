//! The pure context engine: from the log to the view to the bytes of a request.
//!
//! Nothing here does IO, reads a clock or looks at the environment: records, settings and the time
//! come in as values, plans and bytes go out.

pub mod bound;
pub mod category;
pub mod compact;
pub mod conversation;
mod derive;
mod layout;
mod normalise;
pub mod path;
mod rewrite;
pub mod segment;
pub mod tail;
pub mod target;
pub mod tokens;
pub mod undo;
pub mod validate;
pub mod view;
pub mod window;

pub use derive::MISSING_RESULT;
