//! A model that follows a script, for tests of everything that has a model in it.
//!
//! # Model
//! A [`Script`] lists the requests a test expects, each with the answer, fault or delay it gets.
//! [`ScriptedModel`] plays it; a request that is not expected, or differs from its expectation,
//! makes the test fail with a readable difference at the place of the request.
//! [`ScriptedModel::finish`] notices requests that were not made.
//!
//! # Responsibilities
//! Playing, checking, showing the received requests. Delays are tokio's time: with a paused clock
//! they cost nothing.
//!
//! # Not here
//! Prompt caches, token counting and a provider's rules: that is the simulator's part.

#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "a test helper fails by panicking"
)]

mod expect;
mod play;
mod script;

pub use expect::Expect;
pub use play::ScriptedModel;
pub use script::{Answer, Script, Step};
