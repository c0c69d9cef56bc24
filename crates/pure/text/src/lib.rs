//! What can be done with text when there is no model.
//!
//! # Model
//! Every function is a pure function from text to values: byte ranges into the text it was given,
//! scores, and the reasons for them. The same input gives the same output on every machine and in
//! every run.
//!
//! - [`segment`]: cuts a mixture of prose, Markdown, code and logs into sentences and lines.
//! - [`words`]: folds words into terms that can be counted and compared.
//! - [`summary`]: picks the sentences that say most within a budget.
//! - [`duplicates`]: finds texts that say the same in almost the same words.
//! - [`keyphrases`]: names what a text is about.
//! - [`rank`]: finds the texts, and the places in them, that answer to some words.
//! - [`dates`]: finds dates, also relative ones, and says which days they mean.
//!
//! # Not here
//! No file, clock or environment is read: "today" is an argument. Nothing is known of sessions,
//! records or memories. What the methods are, why these, and what they cannot do is in
//! `docs/text-methods.md`.

pub mod atoms;
pub mod dates;
pub mod duplicates;
mod hash;
pub mod keyphrases;
pub mod rank;
pub mod segment;
pub mod summary;
pub mod words;
