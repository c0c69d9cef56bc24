//! Finding the few texts among many that help with a question, without a model.
//!
//! # Model
//! - [`Document`]s are built into a [`Segment`]: an index that is bytes, read where it lies.
//! - A [`Searcher`] is a segment together with what was removed and added since.
//! - [`Searcher::search`] ranks ([`Weights`] says what counts): BM25 over fields, the forms of
//!   words, words that stand together, the best passage of a long document, neighbours and the
//!   whole of a piece. Each [`Hit`] has a score, which ranks, and a confidence, which can be
//!   compared between searches: [`confident`] keeps what is sure enough to be shown.
//! - [`evaluation`] measures all this on sets of documents and questions.
//!
//! Everything is a pure function of its arguments: the same documents and query give the same hits
//! in every run, in whatever order the documents came.
//!
//! # Not here
//! Files: an index is bytes in and bytes out. What a memory is, who may see it and how it is shown
//! is `dormouse-memory`'s. Methods, figures and misses are in `docs/recall.md`.

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
