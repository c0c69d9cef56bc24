//! Requests to a model and its answers, as values.
//!
//! # Model
//! A [`Request`] is bytes put together elsewhere, plus what does not stand in a body. An answer is
//! a sequence of [`Event`]s that ends in a [`Response`], or in a [`Failure`]: the one thing about
//! an error that a conversation can act on. [`retry`] says whether a failed request is sent again.
//!
//! # Responsibilities
//! Types that both sides of the model port share: the driver, which decides what is asked, and the
//! clients in `dormouse-model`, which know the wires. No IO, no clock.
//!
//! # Not here
//! Wires, sockets, the layout of a prompt.

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
