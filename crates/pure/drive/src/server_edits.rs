//! Edits of the prompt by the provider: deletions from its cache, and compaction on its side.
//!
//! Used where a local rewrite is impossible or dearer: thinking that is bound to the prefix becomes
//! invalid when the prefix changes, and deleting from the cache keeps the rest of it.

use crate::driver::Driver;
use crate::effect::{HookPoint, Work};
use crate::error::DriveError;
use crate::input::HookAnswer;
use crate::layers::{Job, Then};
use crate::notice::Notice;
use crate::outbox::{AskFor, Running};
use dormouse_ask::{Failure, Feature, Request, Response, features};
use dormouse_context::clear::server;
use dormouse_context::compaction::{CompactionOutcome, provider_boundary};
use dormouse_context::fork::Fork;
use dormouse_core::id::{BlockKey, Seq};
use dormouse_core::record::{
    Body, BoundaryKind, Clearing, ClearingPlace, Message, MessageOrigin, Purpose, StateChange,
    Trigger,
};
use dormouse_core::units::Tokens;
use std::collections::HashSet;

/// Name of the fact that lists the results deleted from the provider's cache.
const DELETED: &str = "cache-deleted";

/// Compaction by the provider under way.
#[derive(Debug)]
pub(crate) struct ProviderRun {
    trigger: Trigger,
    /// Boundary that is being stored.
    pub(crate) boundary: Option<Seq>,
    before: Tokens,
    after: Tokens,
}

impl Driver {
    /// True if the provider can compact, and has to: thinking bound to the prefix rules out a local
    /// rewrite.
    pub(crate) fn provider_compacts(&self) -> bool {
        let binds = self.conversation.view().target().binds_to_prefix();
        binds && self.config.capabilities.has(Feature::ServerCompaction)
    }

    /// Deletes old results from the provider's cache, if the settings and the view call for it.
    pub(crate) fn edit_cache(&mut self) -> Result<(), DriveError> {
        if !self.edits_cache() {
            return Ok(());
        }
        let state = self.conversation.state();
        let gone: Vec<BlockKey> = state
            .facts
            .get(DELETED)
            .and_then(|keys| serde_json::from_value(keys.clone()).ok())
            .unwrap_or_default();
        // The planner asks for every result in view; a list would make that quadratic.
        let known: HashSet<BlockKey> = gone.iter().copied().collect();
        let view = self.conversation.view();
        let index = self.layers.results();
        let settings = &self.settings.layers.server;
        // Not due, or nothing left to delete.
        let Ok(edit) = server::cache_edit(settings, true, view, index, |key| known.contains(key))
        else {
            return Ok(());
        };
        let Ok(block) = edit.block() else {
            return Ok(());
        };
        let results = edit.keys.len();
        let why = "deleted from the provider's cache".to_owned();
        let all: Vec<BlockKey> = gone.into_iter().chain(edit.keys).collect();
        // The edit is part of the prompt from here on: later requests repeat it byte for byte.
        self.emit(Body::Message(Message {
            origin: MessageOrigin::Meta,
            ..Message::user(vec![block])
        }))?;
        self.note(StateChange::Fact {
            name: DELETED.to_owned(),
            value: serde_json::to_value(&all).unwrap_or_default(),
        })?;
        // An observation: the view keeps the results, because the request still contains them.
        self.emit(Body::Cleared(Clearing {
            place: ClearingPlace::Server,
            reason: why.clone(),
            ..Clearing::default()
        }))?;
        self.tell(Notice::Cleared {
            results,
            freed: Tokens::ZERO,
            why,
        });
        Ok(())
    }

    /// Requests a summary from the provider. The old view stays in force until the boundary is
    /// stored.
    pub(crate) fn compact_by_provider(&mut self, trigger: Trigger) {
        let run = ProviderRun {
            trigger,
            boundary: None,
            before: Tokens::ZERO,
            after: Tokens::ZERO,
        };
        if self.hooks_compaction() {
            let point = HookPoint::BeforeCompaction {
                trigger,
                wishes: Vec::new(),
            };
            self.outbox.start(Running::Hooks, Work::Hooks(point));
            self.job = Some(Job::Provider(Box::new(run)));
        } else {
            self.provider_hooks_ran(run, HookAnswer::default());
        }
    }

    pub(crate) fn provider_hooks_ran(&mut self, run: ProviderRun, hooks: HookAnswer) {
        if let Some(why) = hooks.blocked {
            self.provider_over(CompactionOutcome::Blocked(why));
            return;
        }
        let wishes = hooks.instructions.join("\n");
        let member = features::compaction(Some(&wishes), &self.config.capabilities);
        let asked = member
            .map_err(|error| error.to_string())
            .and_then(|member| {
                let params = self.config.params.clone().with(member);
                let json = params.to_json().map_err(|error| error.to_string())?;
                Ok((params, json))
            });
        let (params, json) = match asked {
            Ok(asked) => asked,
            Err(why) => {
                // Nothing was asked, so this is no failed attempt.
                self.provider_over(CompactionOutcome::Nothing(why));
                return;
            }
        };
        let moment = (self.now, self.ttls());
        let fork = Fork::plain(
            &self.conversation,
            &self.ledger,
            &self.config.prefix,
            &json,
            moment,
        );
        let request = Request::streamed(fork.body()).with_betas(params.betas());
        self.job = Some(Job::Provider(Box::new(run)));
        let after = self.journal.stored_seq();
        self.ask(
            AskFor::Compaction,
            Purpose::Compaction,
            request,
            (None, after),
        );
    }

    pub(crate) fn provider_answered(
        &mut self,
        mut run: ProviderRun,
        answer: Result<Response, Failure>,
    ) {
        // Counts against the breaker: the provider was asked, and billed for it.
        let failed = |why: String| CompactionOutcome::NoProgress { why, asked: true };
        let response = match answer {
            Ok(response) => response,
            Err(failure) => {
                self.provider_over(failed(failure.why));
                return;
            }
        };
        let rule = self.rule(None);
        let composed = self.with_job(&rule, |cx| {
            provider_boundary(cx, run.trigger, &response.blocks)
        });
        let (boundary, after) = match composed {
            Ok(composed) => composed,
            Err(error) => {
                self.provider_over(failed(error.to_string()));
                return;
            }
        };
        run.before = boundary.pre_tokens.unwrap_or_default();
        run.after = after;
        match self.emit(Body::Boundary(Box::new(boundary))) {
            Ok(record) => {
                run.boundary = Some(record.seq);
                self.job = Some(Job::Provider(Box::new(run)));
                self.boundary_stored();
            }
            Err(error) => self.provider_over(CompactionOutcome::NotWritten(error.to_string())),
        }
    }

    pub(crate) fn provider_committed(&mut self, run: &ProviderRun) {
        self.provider_over(CompactionOutcome::Compacted {
            kind: BoundaryKind::Full,
            before: run.before,
            after: run.after,
            model_failed: None,
        });
    }

    fn provider_over(&mut self, outcome: CompactionOutcome) {
        self.job = None;
        match self.compaction_ended(false, &outcome, None) {
            Ok(()) => self.compaction_then(Then::Tidy, outcome),
            Err(error) => self.fail_turn(error),
        }
    }
}
