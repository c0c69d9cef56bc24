//! The model port: one small trait, and clients for the two wires that matter.
//!
//! # Model
//! [`Model`] is all the rest of Dormouse knows. A request is bytes that were put together
//! elsewhere; an answer is a stream of events that ends in a response of canonical blocks, or in
//! a [`ModelError`] that says what to do. [`anthropic`] speaks the Messages wire, [`openai`] chat
//! completions; both take the same body.
//!
//! ```text
//!   Request ─► client ─► attempt (order, timeouts) ─► http (connections)
//!                             │
//!               events ◄── decoder (sans IO) ◄── sse (sans IO) ◄── bytes
//! ```
//!
//! # Responsibilities
//! The wire formats of providers: headers, events, errors, usage. No type of a provider leaves the
//! crate.
//!
//! # Not here
//! The layout of a prompt, when to ask, what it costs. Retry, back-off and fallback: a client makes
//! one attempt, and its error becomes a [`dormouse_ask::Failure`] that the caller decides on.

pub mod anthropic;
mod attempt;
mod blocking;
mod client;
mod error;
mod http;
mod limits;
mod model;
pub mod openai;
pub mod sse;
mod text;
mod trace;

pub use attempt::Timeouts;
pub use client::{ClientOptions, Credential};
pub use dormouse_ask::{
    Caching, Capabilities, CapabilityOverrides, Delivery, Delta, Event, Extras, Feature, Features,
    Params, Partial, RateLimit, RateLimits, Refusal, Request, Response, Retrying, StopReason,
    Unfinished, Unsupported, Warning, features, retry,
};
pub use error::{
    CompactionIssue, ConnectionError, Malformed, ModelError, Reply, SetupError, ThreadIssue,
};
pub use http::{Connecting, Connection, Connector, Origin, TcpConnector};
pub use model::{Counting, Emitter, Model, ResponseStream, TokenCount};
