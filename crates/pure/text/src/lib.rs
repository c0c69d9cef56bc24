//! Text methods that need no model.
//!
//! # Model
//! Every function is a pure function from text to values: byte ranges into its input, scores, and
//! the reasons for them. The same input gives the same output on every machine and in every run.
//!
//! - [`segment`]: cuts a mixture of prose, Markdown, code and logs into sentences and lines.
//! - [`words`]: folds words into terms that can be counted and compared.
//! - [`summary`]: picks the sentences that say most within a budget.
//! - [`duplicates`]: finds texts that say the same in almost the same words.
//! - [`rank`]: finds the texts, and the places in them, that answer to some words.
//! - [`dates`]: finds dates, also relative ones, and says which days they mean.
//!
//! # Not here
//! No file, clock or environment is read: "today" is an argument. Sessions, records and memories
//! are unknown here. `docs/text-methods.md` describes the methods, the reasons for them, and their
//! limits.

pub mod atoms;
pub mod dates;
pub mod duplicates;
mod hash;
pub mod rank;
pub mod segment;
pub mod summary;
pub mod words;
