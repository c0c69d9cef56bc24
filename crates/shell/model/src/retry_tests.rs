//! Decisions on failures, without a clock.

use super::*;
use crate::error::{Malformed, Reply};
use crate::response::Partial;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn overloaded(reply: Reply) -> ModelError {
    ModelError::Overloaded(Box::new(reply))
}

fn hint(seconds: u64) -> Reply {
    Reply {
        retry_after: Some(Duration::from_secs(seconds)),
        ..Reply::default()
    }
}

fn opinion(should_retry: bool) -> Reply {
    Reply {
        should_retry: Some(should_retry),
        ..Reply::default()
    }
}

fn check(error: &ModelError, expected: Result<u64, GiveUp>) {
    let decision = Retries::new(RetryPolicy::default(), None, 7).next(error, Duration::ZERO);
    match (decision, expected) {
        (Decision::Retry { after, attempt: 2 }, Ok(seconds)) => {
            assert_eq!(after, Duration::from_secs(seconds), "{error:?}");
        }
        (Decision::GiveUp(reason), Err(expected)) => assert_eq!(reason, expected, "{error:?}"),
        other => panic!("{error:?}: {other:?}"),
    }
}

#[test]
fn the_servers_word_counts_more_than_the_kind_of_error() {
    check(&overloaded(hint(3)), Ok(3));
    check(&overloaded(hint(61)), Err(GiveUp::HintTooLong));
    check(&overloaded(opinion(false)), Err(GiveUp::ServerSaidNo));
    let invalid = Reply {
        retry_after: Some(Duration::from_secs(1)),
        ..opinion(true)
    };
    check(&ModelError::Invalid(Box::new(invalid)), Ok(1));
    check(&ModelError::Invalid(Box::default()), Err(GiveUp::Permanent));
    check(
        &ModelError::SpendLimit(Box::default()),
        Err(GiveUp::Permanent),
    );
    let garbage = ModelError::Malformed(Malformed::Order("x"));
    check(&garbage, Err(GiveUp::Permanent));
}

#[test]
fn content_that_was_shown_forbids_another_attempt_whatever_the_server_says() {
    let broken = ModelError::Broken {
        partial: Box::<Partial>::default(),
        source: Box::new(overloaded(opinion(true))),
    };
    check(&broken, Err(GiveUp::ContentShown));
}

#[test]
fn attempts_and_time_run_out() {
    let error = overloaded(Reply::default());
    let mut retries = Retries::new(RetryPolicy::default(), None, 7);
    let decisions: Vec<_> = (0..3)
        .map(|_| retries.next(&error, Duration::ZERO))
        .collect();
    assert!(matches!(decisions[0], Decision::Retry { attempt: 2, .. }));
    assert!(matches!(decisions[1], Decision::Retry { attempt: 3, .. }));
    assert_eq!(decisions[2], Decision::GiveUp(GiveUp::Exhausted));

    let deadline = Some(Duration::from_secs(10));
    let mut retries = Retries::new(RetryPolicy::default(), deadline, 7);
    let late = retries.next(&overloaded(hint(3)), Duration::from_secs(7));
    assert_eq!(late, Decision::GiveUp(GiveUp::Deadline));

    let mut retries = Retries::new(RetryPolicy::NEVER, None, 7);
    let first = retries.next(&error, Duration::ZERO);
    assert_eq!(first, Decision::GiveUp(GiveUp::Exhausted));
}

proptest! {
    #[test]
    fn pauses_double_within_a_quarter_and_stay_below_the_cap(seed: u64) {
        let policy = RetryPolicy { retries: 40, ..RetryPolicy::default() };
        let mut retries = Retries::new(policy, None, seed);
        let mut again = retries.clone();
        for attempt in 0..40_u32 {
            let error = overloaded(Reply::default());
            let decision = retries.next(&error, Duration::ZERO);
            prop_assert_eq!(decision, again.next(&error, Duration::ZERO));
            let Decision::Retry { after, .. } = decision else { panic!("gave up") };
            let full = (policy.base * 2_u32.pow(attempt.min(20))).min(policy.cap);
            prop_assert!(after <= full && after >= full.mul_f64(0.75), "{:?}", after);
        }
    }
}
