//! Requests under way: attempts, back-off between them, and their end.
//!
//! The model client makes one attempt. Whether another follows is decided here, on the driver's
//! clock; each failure is recorded.
//!
//! Not here: the rules of retrying (`ask/src/retry.rs`).

use crate::config::Role;
use crate::driver::Driver;
use crate::effect::{Ask, Work};
use crate::error::DriveError;
use crate::input::{EffectOutcome, StreamEvent};
use crate::notice::Notice;
use crate::outbox::{AskFor, Running};
use dormouse_ask::retry::{Decision, Retries};
use dormouse_ask::{Failure, FailureKind, Partial, Request, Response, Retrying};
use dormouse_core::id::{MessageId, RecordId, Seq};
use dormouse_core::record::{Attempt, Body, Purpose, StateChange, UsageReport};
use dormouse_core::units::Millis;
use dormouse_core::usage::TokenUsage;
use std::sync::Arc;
use std::time::Duration;

/// Time limit for all attempts at one request, pauses included. One hour is the longest life of a
/// cache entry: after it the request costs its full price again, which is the user's decision.
const DEADLINE: Duration = Duration::from_hours(1);

/// Response that has begun.
#[derive(Clone, Debug)]
pub(crate) struct Begun {
    pub(crate) id: MessageId,
    pub(crate) model: Arc<str>,
    pub(crate) usage: TokenUsage,
    /// Number of blocks already in the log.
    pub(crate) blocks: usize,
}

/// Request under way, or waiting for its next attempt.
#[derive(Debug)]
pub(crate) struct Asking {
    purpose: Purpose,
    request: Request,
    record: Option<RecordId>,
    retries: Retries,
    attempt: u32,
    since: Millis,
    stage: Stage,
    pub(crate) begun: Option<Begun>,
}

#[derive(Debug)]
enum Stage {
    UnderWay,
    Pausing { until: Millis },
}

impl Asking {
    pub(crate) fn wakes_at(&self) -> Option<Millis> {
        match self.stage {
            Stage::Pausing { until } => Some(until),
            Stage::UnderWay => None,
        }
    }

    pub(crate) fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::UnderWay)
    }
}

impl Driver {
    /// Sends a request once the record `after` is stored.
    pub(crate) fn ask(
        &mut self,
        use_for: AskFor,
        purpose: Purpose,
        request: Request,
        (record, after): (Option<RecordId>, Seq),
    ) {
        // A seed per request: parallel sessions must not retry in step.
        let seed = self.config.seed ^ self.journal.head_seq().get();
        let work = Work::Ask(Box::new(Ask {
            purpose,
            request: request.clone(),
            attempt: 1,
        }));
        self.outbox.start_after(after, Running::Ask(use_for), work);
        self.asks.insert(
            use_for,
            Asking {
                purpose,
                request,
                record,
                retries: Retries::new(self.config.retry, Some(DEADLINE), seed),
                attempt: 1,
                since: self.now,
                stage: Stage::UnderWay,
                begun: None,
            },
        );
    }

    /// Starts attempts whose pause is over, and the keep-alive when it is due.
    pub(crate) fn wake(&mut self) {
        let now = self.now;
        if self.keep_alive_at().is_some_and(|at| at <= now) {
            self.keep_alive(None);
        }
        for (use_for, asking) in &mut self.asks {
            if asking.wakes_at().is_none_or(|until| until > now) {
                continue;
            }
            asking.attempt += 1;
            let work = Work::Ask(Box::new(Ask {
                purpose: asking.purpose,
                request: asking.request.clone(),
                attempt: asking.attempt,
            }));
            self.outbox.start(Running::Ask(*use_for), work);
            asking.stage = Stage::UnderWay;
        }
    }

    pub(crate) fn streamed(&mut self, use_for: AskFor, event: StreamEvent) {
        match event {
            StreamEvent::Began { id, model, usage } => {
                let Some(asking) = self.asks.get_mut(&use_for) else {
                    return;
                };
                asking.begun = Some(Begun {
                    id,
                    model,
                    usage,
                    blocks: 0,
                });
                if use_for == AskFor::Turn {
                    self.turn_began();
                }
            }
            StreamEvent::Block(block) if use_for == AskFor::Turn => self.block_ended(block),
            // Side requests are taken in whole; nothing of a broken one is used.
            StreamEvent::Block(_) => {}
        }
    }

    pub(crate) fn asked(&mut self, use_for: AskFor, outcome: EffectOutcome) {
        let answer = match outcome {
            EffectOutcome::Answered(answer) => answer,
            // Stopped by the host, not by the provider: not transient, so that it is not retried.
            _ => Err(Failure::new(
                FailureKind::Connection,
                false,
                "the request was ended",
            )),
        };
        let failure = match answer {
            Ok(response) => {
                let begun = self.asks.remove(&use_for).and_then(|asking| asking.begun);
                self.answered(use_for, *response, begun);
                return;
            }
            Err(failure) => failure,
        };
        let Some(asking) = self.asks.get_mut(&use_for) else {
            // Given up meanwhile; the part that arrived was billed.
            self.account_partial(use_for, &failure, None);
            return;
        };
        // Blocks in the log are an answer; another attempt would contradict them.
        let has_content = asking.begun.as_ref().is_some_and(|begun| begun.blocks > 0);
        let elapsed = Duration::from_millis(self.now.since(asking.since));
        let decision = asking.retries.next(&failure, elapsed);
        let again = match decision {
            Decision::Retry { after, .. } if !has_content => Some(after),
            _ => None,
        };
        let attempt = Attempt {
            request: asking.record.clone(),
            number: asking.attempt,
            why: failure.why.clone(),
            again_after: again.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
        };
        let now = self.now;
        let again = again.filter(|_| !self.cancelling());
        if let (Some(after), Some(asking)) = (again, self.asks.get_mut(&use_for)) {
            asking.stage = Stage::Pausing {
                until: now.after(attempt.again_after.unwrap_or_default()),
            };
            // Cleared: the next attempt is a response of its own, with another id.
            let begun = asking.begun.take();
            let retrying = Retrying {
                attempt: asking.attempt + 1,
                after,
                because: failure.why.clone(),
            };
            self.tell(Notice::Retrying(retrying));
            self.account_partial(use_for, &failure, begun.as_ref());
            self.record_attempt(attempt);
            return;
        }
        self.record_attempt(attempt);
        let begun = self.asks.remove(&use_for).and_then(|asking| asking.begun);
        self.unanswered(use_for, failure, begun.as_ref());
    }

    /// Records the usage of an effect that was given up: it was billed.
    pub(crate) fn given_up_ended(&mut self, ask: Option<AskFor>, outcome: EffectOutcome) {
        match (ask, outcome) {
            (Some(use_for), EffectOutcome::Answered(Ok(response))) => {
                if let Err(error) = self.account(purpose_of(use_for), &response) {
                    self.fail_turn(error);
                }
            }
            (Some(use_for), EffectOutcome::Answered(Err(failure))) => {
                self.account_partial(use_for, &failure, None);
            }
            (_, EffectOutcome::ChildEnded(report)) => {
                if let Err(error) = self.account_all(report.usage) {
                    self.fail_turn(error);
                }
            }
            _ => {}
        }
    }

    fn record_attempt(&mut self, attempt: Attempt) {
        if let Err(error) = self.note(StateChange::Attempt(attempt)) {
            self.fail_turn(error);
        }
    }

    fn answered(&mut self, use_for: AskFor, response: Response, begun: Option<Begun>) {
        match use_for {
            AskFor::Turn => self.turn_answered(response, begun.map_or(0, |begun| begun.blocks)),
            AskFor::Compaction => self.summary_answered(Ok(response)),
            AskFor::Notes => self.notes_answered(Ok(response)),
            AskFor::KeepAlive => self.kept_alive(Ok(response)),
        }
    }

    fn unanswered(&mut self, use_for: AskFor, failure: Failure, begun: Option<&Begun>) {
        // The part that arrived was billed. Turns record it together with the content.
        if use_for != AskFor::Turn {
            self.account_partial(use_for, &failure, begun);
        }
        match use_for {
            AskFor::Turn => self.turn_unanswered(failure, begun),
            AskFor::Compaction => self.summary_answered(Err(failure)),
            AskFor::Notes => self.notes_answered(Err(failure)),
            AskFor::KeepAlive => self.kept_alive(Err(failure)),
        }
    }

    /// Records the usage of an answer without retained content, as far as the provider reported it.
    pub(crate) fn account_partial(
        &mut self,
        use_for: AskFor,
        failure: &Failure,
        begun: Option<&Begun>,
    ) {
        let begun = begun.map(|begun| Partial {
            id: Some(begun.id.clone()),
            model: Some(Arc::clone(&begun.model)),
            usage: begun.usage,
            ..Partial::default()
        });
        let Some(partial) = failure.partial.as_deref().or(begun.as_ref()) else {
            return;
        };
        // No event arrived, so nothing was billed.
        if partial.usage == TokenUsage::default() {
            return;
        }
        let model = partial.model.as_deref().unwrap_or(&self.config.model);
        let report = UsageReport {
            message: partial.id.clone(),
            model: model.to_owned(),
            usage: partial.usage,
            purpose: purpose_of(use_for),
            cache: None,
        };
        if let Role::Fork { .. } = self.config.role {
            self.usage.push(report.clone());
        }
        self.account_quietly(report);
    }

    /// Records the usage of a side request.
    pub(crate) fn account(
        &mut self,
        purpose: Purpose,
        response: &Response,
    ) -> Result<(), DriveError> {
        self.emit(Body::Usage(Box::new(UsageReport {
            message: Some(response.id.clone()),
            model: response.model.to_string(),
            usage: response.billed,
            purpose,
            cache: None,
        })))
        .map(drop)
    }

    pub(crate) fn account_quietly(&mut self, report: UsageReport) {
        if let Err(error) = self.emit(Body::Usage(Box::new(report))) {
            self.fail_turn(error);
        }
    }
}

const fn purpose_of(use_for: AskFor) -> Purpose {
    match use_for {
        AskFor::Turn => Purpose::Turn,
        AskFor::Compaction => Purpose::Compaction,
        AskFor::Notes => Purpose::Notes,
        AskFor::KeepAlive => Purpose::KeepAlive,
    }
}
