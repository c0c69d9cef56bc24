//! Integration tests of the context engine.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod accounting;
mod byte_stability;
mod evidence;
mod foreign_cases;
mod layer_properties;
mod layered_log;
mod material;
mod model_replies;
mod notes;
mod random_log;
mod request;
mod rewrite_cases;
mod scaling;
mod view_cases;
mod view_properties;
