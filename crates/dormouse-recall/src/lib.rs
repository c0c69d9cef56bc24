//! Finding the few texts among many that help with a question, without a model.
//!
//! # Not here
//! Files: an index is bytes in and bytes out. What a memory is, who may see it and how it is shown
//! is `dormouse-memory`'s.

mod analyse;
mod bytes;
mod cues;
mod document;
pub mod evaluation;
mod rank;
mod searcher;
mod segment;

pub use analyse::language_of;
pub use document::Document;
pub use rank::{CONFIDENT, Hit, Mixed, Query, Scratch, Weights, confident};
pub use searcher::Searcher;
pub use segment::{OpenError, Segment, TooLarge};
