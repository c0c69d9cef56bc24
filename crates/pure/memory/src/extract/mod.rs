//! Extraction: statements of a conversation that become memories.
//!
//! # Model
//! A session's records become [`Span`]s, each with one speaker: text that clients, tools and recall
//! put in is told apart from text that a person typed ([`spans`]). Two writers propose memories
//! from them: rules without a model ([`offline`]), and a fork of the model that was given a
//! [`directive`]. [`judge`](judge::judge) decides on both: it finds the spans that a text stems
//! from ([`attribute`](attribute::attribute)), gives it the trust of the least of them, refuses the
//! sorts that are never saved ([`mod@never`]), and places the rest beside the memories there are.
//!
//! - [`gate`]: the decision to extract now, and the cursor of extraction.
//! - [`queue`]: one extraction at a time, and the newest of those that wait.
//! - [`trial`]: labelled sessions that are run through both writers.
//!
//! # Not here
//! Reading logs, calling models, writing files: `dormouse-keeper` and `dormouse-memdir`.

pub mod attribute;
mod claims;
mod cut;
pub mod directive;
mod evidence;
pub mod gate;
mod injection;
pub mod judge;
pub mod never;
pub mod offline;
mod phrases;
pub mod queue;
mod sentence;
mod span;
pub mod trial;

pub use span::{Span, SpanKind, spans, wrote_memory};
