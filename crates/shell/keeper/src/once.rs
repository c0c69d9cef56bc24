//! Single question to a model, outside any conversation.
//!
//! # Model
//! A client makes one attempt at a request. In conversations, side tasks and forks the driver
//! decides on another; a single question has no driver, so the same rules are applied here, on
//! tokio's clock.
//!
//! # Not here
//! The rules: `dormouse_ask::retry`. The question and its cost: the caller's, with a metered asker.

use dormouse_engine::{Asker, Purpose};
use dormouse_model::retry::{Decision, Retries, RetryPolicy};
use dormouse_model::{ModelError, Request, Response};
use std::time::Duration;
use tokio::time::Instant;

/// Asks, and asks again after transient failures, as long as an answer may come before `deadline`.
///
/// # Errors
/// The last failure.
pub(crate) async fn ask(
    asker: &dyn Asker,
    request: &Request,
    deadline: Duration,
    seed: u64,
) -> Result<Response, ModelError> {
    let began = Instant::now();
    let mut retries = Retries::new(RetryPolicy::default(), Some(deadline), seed);
    loop {
        let answered = asker.ask(Purpose::Fork, request.clone()).finish().await;
        let Err(error) = answered else {
            return answered;
        };
        match retries.next(&error.failure(), began.elapsed()) {
            Decision::Retry { after, .. } => tokio::time::sleep(after).await,
            Decision::GiveUp(_) => return Err(error),
        }
    }
}
