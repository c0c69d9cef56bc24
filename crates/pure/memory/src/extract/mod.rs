//! Extraction: what of a conversation becomes a memory, and what does not.
//!
//! # Model
//! A session's records become [`Span`]s: who said what, with what clients, tools and recall put in
//! told apart from what a person typed ([`spans`]). Two writers propose memories from them: rules
//! without a model ([`offline`]), and a fork of the model that was given a [`directive`]. Whoever
//! proposes, [`judge`](judge::judge) decides: it finds the spans that a text stems from
//! ([`attribute`](attribute::attribute)), gives it the trust of the least of them, refuses what must
//! never be saved ([`mod@never`]), and places the rest beside what there is.
//!
//! - [`gate`]: whether to extract now, and how far it has got.
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
