//! The driver's part in small: attempts by the pure rules, with pauses on the runtime's clock.

use crate::material::{BODY, collect};
use dormouse_ask::Failure;
use dormouse_model::retry::{Decision, GiveUp, Retries, RetryPolicy};
use dormouse_model::{Event, Model, ModelError, Request, Response, Retrying};
use std::time::Duration;
use tokio::time::Instant;

/// Slack of the runtime's clock, which counts in whole milliseconds and rounds up.
pub(crate) const TICK: Duration = Duration::from_millis(2);

/// One attempt and its events, [`Event::Done`] included.
pub(crate) struct Attempt {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
    pub(crate) events: Vec<Event>,
    pub(crate) failure: Option<Failure>,
}

impl Attempt {
    /// True if a reader of the events has seen content.
    pub(crate) fn has_shown(&self) -> bool {
        let mut events = self.events.iter();
        events.any(|event| matches!(event, Event::BlockStart { .. }))
    }

    fn answer(&self) -> Option<&Response> {
        self.events.iter().find_map(|event| match event {
            Event::Done(response) => Some(&**response),
            _ => None,
        })
    }
}

/// All attempts at one request.
pub(crate) struct Run {
    pub(crate) attempts: Vec<Attempt>,
    /// One between each two attempts.
    pub(crate) notices: Vec<Retrying>,
    pub(crate) gave_up: Option<GiveUp>,
    pub(crate) outcome: Result<Response, ModelError>,
}

/// The default rules, without a deadline. Any seed does: tests allow for the jitter.
pub(crate) fn rules() -> Retries {
    Retries::new(RetryPolicy::default(), None, 7)
}

/// Asks until there is an answer or the rules give up.
pub(crate) async fn persist(model: &dyn Model, request: &Request, mut rules: Retries) -> Run {
    let start = Instant::now();
    let (mut attempts, mut notices) = (Vec::new(), Vec::new());
    loop {
        let began = Instant::now();
        let (events, error) = collect(model.stream(request.clone())).await;
        let attempt = Attempt {
            start: began,
            end: Instant::now(),
            events,
            failure: error.as_ref().map(ModelError::failure),
        };
        let decision = attempt
            .failure
            .as_ref()
            .map(|failure| (rules.next(failure, start.elapsed()), failure.why.clone()));
        let answer = attempt.answer().cloned();
        attempts.push(attempt);
        let (outcome, gave_up) = match (decision, error) {
            (Some((Decision::Retry { after, attempt }, because)), _) => {
                notices.push(Retrying {
                    attempt,
                    after,
                    because,
                });
                tokio::time::sleep(after).await;
                continue;
            }
            (Some((Decision::GiveUp(why), _)), Some(error)) => (Err(error), Some(why)),
            _ => (Ok(answer.expect("no error means an answer")), None),
        };
        let run = Run {
            attempts,
            notices,
            gave_up,
            outcome,
        };
        run.check();
        return run;
    }
}

/// [`persist`] with the usual request and the default rules, on the paused clock.
pub(crate) async fn ask_again(model: &dyn Model) -> Run {
    let run = persist(model, &Request::streamed(BODY), rules()).await;
    run.check_punctual();
    run
}

impl Run {
    /// Laws of every run: one answer at most, none after content was shown, pauses as asked for.
    fn check(&self) {
        let count = self.attempts.len();
        assert_eq!(self.notices.len() + 1, count);
        for (at, attempt) in self.attempts.iter().enumerate() {
            let is_last = at + 1 == count;
            assert!(
                is_last || !attempt.has_shown(),
                "sent again after content was shown"
            );
            assert!(is_last || attempt.answer().is_none(), "two answers");
            if let Some(failure) = &attempt.failure {
                let has_partial = failure.partial.is_some();
                assert_eq!(has_partial, attempt.has_shown(), "{failure:?}");
            }
        }
        for (pair, notice) in self.attempts.windows(2).zip(&self.notices) {
            let pause = pair[1].start - pair[0].end;
            assert!(pause >= notice.after, "{pause:?}: too early for {notice:?}");
            let hint = pair[0].failure.as_ref().and_then(|it| it.retry_after);
            assert!(hint.is_none_or(|hint| hint == notice.after), "{notice:?}");
        }
    }

    /// On the paused clock no pause is longer than it has to be either.
    pub(crate) fn check_punctual(&self) {
        for (pair, notice) in self.attempts.windows(2).zip(&self.notices) {
            let pause = pair[1].start - pair[0].end;
            assert!(pause <= notice.after + TICK, "{pause:?} for {notice:?}");
        }
    }
}
