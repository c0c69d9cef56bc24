//! Requests to a model and their answers, as values.
//!
//! # Model
//! A [`Request`] is a body assembled elsewhere, plus the data that is not part of a body. An answer
//! is a sequence of [`Event`]s that ends in a [`Response`] or in a [`Failure`], which reduces an
//! error to the remedy a conversation has. [`retry`] decides whether a failed request is sent
//! again.
//!
//! # Responsibilities
//! Types shared by both sides of the model port: the driver, which decides what to ask, and the
//! clients in `dormouse-model`, which know the wire formats. No IO, no clock.
//!
//! # Not here
//! Wire formats, sockets, the layout of a prompt.

mod capabilities;
mod failure;
pub mod features;
mod limits;
mod request;
mod response;
pub mod retry;

pub use capabilities::{
    Caching, Capabilities, CapabilityOverrides, Feature, Features, Unsupported,
};
pub use failure::{Failure, FailureKind};
pub use limits::{RateLimit, RateLimits};
pub use request::{Delivery, Params, Request};
pub use response::{
    Delta, Event, Extras, Partial, Refusal, Response, Retrying, StopReason, Unfinished, Warning,
};
