//! Finding the few texts among many that help with a question, without a model.
//!
//! # Not here
//! Files: an index is bytes in and bytes out. What a memory is, who may see it and how it is shown
//! is `dormouse-memory`'s.

mod analyse;
mod bytes;
mod cues;
mod document;
mod rank;
mod searcher;
mod segment;

pub use analyse::language_of;
pub use document::Document;
pub use rank::{Hit, Query, Scratch, Weights};
pub use searcher::Searcher;
pub use segment::{OpenError, Segment, TooLarge};
