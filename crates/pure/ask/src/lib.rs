#![doc = include_str!("../README.md")]

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
