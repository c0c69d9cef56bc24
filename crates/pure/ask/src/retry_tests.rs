//! Tests of retry decisions, without a clock.

use super::*;
use crate::failure::FailureKind;
use crate::response::Partial;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

fn overloaded() -> Failure {
    Failure::new(FailureKind::Overloaded, true, "overloaded")
}

fn invalid() -> Failure {
    Failure::new(FailureKind::Rejected, false, "invalid")
}

fn hint(seconds: u64, failure: Failure) -> Failure {
    Failure {
        retry_after: Some(Duration::from_secs(seconds)),
        ..failure
    }
}

fn opinion(should_retry: bool, failure: Failure) -> Failure {
    Failure {
        should_retry: Some(should_retry),
        ..failure
    }
}

fn check(error: &Failure, expected: Result<u64, GiveUp>) {
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
    check(&hint(3, overloaded()), Ok(3));
    check(&hint(61, overloaded()), Err(GiveUp::HintTooLong));
    check(&opinion(false, overloaded()), Err(GiveUp::ServerSaidNo));
    check(&hint(1, opinion(true, invalid())), Ok(1));
    check(&invalid(), Err(GiveUp::Permanent));
}

#[test]
fn content_that_was_shown_forbids_another_attempt_whatever_the_server_says() {
    let broken = Failure {
        partial: Some(Box::<Partial>::default()),
        ..opinion(true, overloaded())
    };
    check(&broken, Err(GiveUp::ContentShown));
}

#[test]
fn attempts_and_time_run_out() {
    let error = overloaded();
    let mut retries = Retries::new(RetryPolicy::default(), None, 7);
    let decisions: Vec<_> = (0..3)
        .map(|_| retries.next(&error, Duration::ZERO))
        .collect();
    assert!(matches!(decisions[0], Decision::Retry { attempt: 2, .. }));
    assert!(matches!(decisions[1], Decision::Retry { attempt: 3, .. }));
    assert_eq!(decisions[2], Decision::GiveUp(GiveUp::Exhausted));

    let deadline = Some(Duration::from_secs(10));
    let mut retries = Retries::new(RetryPolicy::default(), deadline, 7);
    let late = retries.next(&hint(3, overloaded()), Duration::from_secs(7));
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
            let error = overloaded();
            let decision = retries.next(&error, Duration::ZERO);
            prop_assert_eq!(decision, again.next(&error, Duration::ZERO));
            let Decision::Retry { after, .. } = decision else { panic!("gave up") };
            let full = (policy.base * 2_u32.pow(attempt.min(20))).min(policy.cap);
            prop_assert!(after <= full && after >= full.mul_f64(0.75), "{:?}", after);
        }
    }
}
