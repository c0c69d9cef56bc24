//! Forks: children that start with the conversation's own bytes.
//!
//! A fork is a driver with a copy of the parent's state. Its first request shares every byte up to
//! the directive with the parent, so that the provider's cache is read up to there. Its records are
//! discarded, except its usage, which is recorded in the parent's log.

use crate::calls::RunsAll;
use crate::command::{CommandId, Reply};
use crate::config::{Config, Current, Role};
use crate::driver::Driver;
use crate::effect::Work;
use crate::error::DriveError;
use crate::hooks::{CHANGED_INPUT, NoHookPoints, RAN};
use crate::input::EffectOutcome;
use crate::journal::{Journal, Keeping};
use crate::layers::Job;
use crate::outbox::Running;
use crate::turn::{Extent, Phase, Turn};
use crate::{QUEUE_FACT, WAITING_FACT};
use dormouse_ask::Response;
use dormouse_context::layers::Moment;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, Lineage, Message, MessageOrigin, Purpose, UsageReport};
use dormouse_core::usage::TokenUsage;
use std::sync::Arc;

/// Limits of a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkLimits {
    /// Upper bound on requests. The answer to the last one ends the fork, calls or not.
    pub requests: usize,
}

/// Answer and usage of a fork that has ended.
#[derive(Clone, Debug)]
pub struct ForkReport {
    /// Last answer, or the reason why there is none.
    pub answer: Result<Box<Response>, DriveError>,
    /// Usage of each of its responses, for the parent's log.
    pub usage: Vec<UsageReport>,
}

impl ForkReport {
    /// Usage of all responses together.
    pub fn total(&self) -> TokenUsage {
        let mut sum = TokenUsage::default();
        for report in &self.usage {
            sum += report.usage;
        }
        sum
    }
}

impl Driver {
    /// Fork of the present conversation. The host runs it like any driver; its only command has
    /// already started and is answered under [`CommandId::default`].
    #[must_use]
    pub fn fork(&self, directive: &str, limits: ForkLimits) -> Self {
        let config = Config {
            role: Role::Fork {
                shared: self.conversation.view().segments().len(),
            },
            most_requests: limits.requests,
            // A side task that is cut off is not worth a second request: its caller has a fallback.
            continuations: 0,
            fallback: None,
            hooks: Arc::new(NoHookPoints),
            // Its tools are its own and guard themselves. The rules of the conversation are about
            // the project: by them every memory that a fork writes would need a person.
            judge: Arc::new(RunsAll),
            turn_facts: false,
            budget: None,
            recall: false,
            explain: false,
            lessons: None,
            // Different from the parent's seed, and from those of forks made at other records.
            seed: self.config.seed ^ self.journal.head_seq().get().rotate_left(32),
            ..self.config.clone()
        };
        let mut journal = Journal::new(
            config.session.clone(),
            config.line.clone(),
            config.seed,
            Keeping::Nowhere,
        );
        if let Some(head) = self.journal.head() {
            // Counts on from the parent's number, so that block keys stay unique.
            journal.behind(head.clone(), 0, 0);
        }
        let settings = Current::new(
            Arc::clone(&self.settings.raw),
            &config,
            self.conversation.window_evidence(),
        );
        let mut fork = Self::assembled(
            config,
            self.params.clone(),
            settings,
            Arc::clone(&self.conversation),
            journal,
        );
        fork.ledger = self.ledger.clone();
        fork.now = self.now;
        // A parent whose next request writes the whole prompt has nothing cached for the fork
        // either.
        fork.rewrites_cache = self.rewrites_cache;
        fork.turn = Some(Turn::new(
            Some(CommandId::default()),
            Extent::Whole,
            Phase::Tidying(Moment::BeforeRequest),
        ));
        let message = Message {
            origin: MessageOrigin::Meta,
            ..Message::user(vec![Block::text(directive)])
        };
        if let Err(error) = fork.emit(Body::Message(message)) {
            fork.fail_turn(error);
        }
        fork
    }

    /// Origin of a session that goes on from the latest response as this one's equal; `None` before
    /// the first record. Results that came since are left out, and so is everything that only this
    /// session has to deal with: prompts that wait, questions to the person, results under a hook.
    pub fn lineage(&self, directive: &str) -> Option<Lineage> {
        let (id, seq) = self.journal.head()?;
        let session = &self.config.session;
        let mut lineage = self
            .conversation
            .lineage_of_history(session, (id, *seq), directive);
        let state = &mut lineage.manifest.state;
        let own = [WAITING_FACT, RAN, CHANGED_INPUT];
        state.facts.retain(|name, _| {
            name != QUEUE_FACT && !own.iter().any(|prefix| name.starts_with(prefix))
        });
        // Recorded anew, so that the parts of the prefix are saved in the other session's folder, where
        // a resume looks for them.
        state.prefix = None;
        Some(lineage)
    }

    /// Sets the upper bound on requests of a turn.
    pub fn limit_requests(&mut self, most: usize) {
        self.config.most_requests = most;
    }

    /// Usage of the responses so far, for the parent's log.
    pub fn usage(&self) -> &[UsageReport] {
        &self.usage
    }

    /// Runs a fork for a command and waits for its end.
    pub(crate) fn spawn_fork(
        &mut self,
        reply: Option<CommandId>,
        directive: &str,
        limits: ForkLimits,
    ) {
        let child = self.fork(directive, limits);
        self.ledger.touched(self.now);
        self.outbox
            .start(Running::Child, Work::Spawn(Box::new(child)));
        self.job = Some(Job::Child(reply));
    }

    pub(crate) fn child_ended(&mut self, outcome: EffectOutcome) {
        let reply = match self.job.take() {
            Some(Job::Child(reply)) => reply,
            other => {
                self.job = other;
                None
            }
        };
        let report = match outcome {
            EffectOutcome::ChildEnded(report) => report,
            _ => Box::new(ForkReport {
                answer: Err(DriveError::Cancelled),
                usage: Vec::new(),
            }),
        };
        let accounted = self.account_all(report.usage.clone());
        let result = accounted.map(|()| Reply::Forked(report));
        self.reply_stored(reply, result);
    }

    /// Records the usage of side requests.
    pub(crate) fn account_all(&mut self, reports: Vec<UsageReport>) -> Result<(), DriveError> {
        for report in reports {
            // A fork's own turns are side requests of the parent; as turns they would count as a
            // measure of its prompt.
            let purpose = match report.purpose {
                Purpose::Turn => Purpose::Fork,
                purpose => purpose,
            };
            self.emit(Body::Usage(Box::new(UsageReport { purpose, ..report })))?;
        }
        Ok(())
    }
}
