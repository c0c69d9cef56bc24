#![doc = include_str!("../README.md")]

pub mod anthropic;
mod attempt;
mod blocking;
mod client;
mod error;
mod http;
mod limits;
mod model;
pub mod openai;
mod probe;
pub mod sse;
mod text;
mod trace;
pub mod web;

pub use attempt::Timeouts;
pub use client::{ClientOptions, Credential, KeySource};
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
pub use probe::{ListedModel, ProbeError, list_models};
