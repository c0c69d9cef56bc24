//! Ways in which a model fails.

use dormouse_core::block::Block;
use dormouse_model::{ModelError, Refusal, Reply, Response, StopReason};
use dormouse_testkit_model::{Answer, Script};
use std::time::Duration;

/// Attempts at a request that fails in a way that may pass.
const ATTEMPTS: usize = 3;

/// The faults of a model that end a request, by name, with an answer for every attempt at it.
pub(crate) fn faults() -> Vec<(&'static str, Vec<Answer>)> {
    let deadline = || ModelError::Deadline(Duration::from_mins(10));
    let cut_off = |response: &mut Response| response.stop_reason = StopReason::MaxTokens;
    let once = |answer| vec![answer];
    vec![
        ("time-out", once(Answer::fault(deadline))),
        ("error status", (0..ATTEMPTS).map(|_| unwell()).collect()),
        (
            "truncated stream",
            once(Answer::break_after(vec![Block::text("I will")], || {
                ModelError::Cut
            })),
        ),
        ("refusal", once(refusal())),
        ("empty answer", once(Answer::blocks(Vec::new()))),
        ("cut off", once(Answer::text("I will").with(cut_off))),
    ]
}

/// A transient failure. The server asks for no pause, so that no test has to wait for one.
fn unwell() -> Answer {
    Answer::fault(|| {
        ModelError::Server(Box::new(Reply {
            status: Some(500),
            retry_after: Some(Duration::ZERO),
            ..Reply::default()
        }))
    })
}

/// A script that goes on with all of these answers.
pub(crate) fn then_all(script: Script, answers: impl IntoIterator<Item = Answer>) -> Script {
    answers.into_iter().fold(script, Script::then)
}

pub(crate) fn refusal() -> Answer {
    Answer::blocks(Vec::new()).with(|response: &mut Response| {
        response.stop_reason = StopReason::Refusal(Refusal {
            category: None,
            explanation: None,
        });
    })
}
