//! Layer 4, carried out: runs a compaction job step by step.

use crate::error::EngineError;
use crate::notice::Notice;
use crate::ports::Purpose;
use crate::session::Session;
use dormouse_context::breaker::{Allowed, Breaker, ModelPart};
use dormouse_context::compaction::{
    Answer, Ask, AskFailure, AskForm, CompactionJob, Effect, Event, JobContext, Outcome, Request,
    Scope, compact_instructions,
};
use dormouse_context::fork::Fork;
use dormouse_context::policy::CompactRule;
use dormouse_core::block::Block;
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::record::{Body, Boundary, BoundaryKind, Trigger};
use dormouse_core::units::Tokens;
use dormouse_model::{ModelError, Request as ModelRequest, Response};

/// A compaction that the user asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactWish {
    /// What the summary should pay attention to.
    pub instructions: Option<String>,
    /// Only what follows this message of the view, counted from one.
    pub from: Option<u64>,
    /// Only what comes before this message of the view, counted from one.
    pub up_to: Option<u64>,
}

impl Session {
    /// Compacts because the user says so.
    ///
    /// # Errors
    /// When compaction is off, a message is not in view, or the log cannot be written.
    pub async fn compact(&mut self, wish: CompactWish) -> Result<Outcome, EngineError> {
        self.refresh();
        if !self.settings.layers.compaction {
            return Err(EngineError::CompactionOff);
        }
        let scope = match (wish.from, wish.up_to) {
            (Some(message), _) => Scope::From(self.message_in_view(message)?),
            (None, Some(message)) => Scope::UpTo(self.message_in_view(message)?),
            (None, None) => Scope::All,
        };
        self.collect_notes()?;
        let request = Request {
            trigger: Trigger::Manual,
            scope,
            instructions: wish.instructions.into_iter().collect(),
            allowed: Allowed::Model,
        };
        self.run_compaction(request, None).await
    }

    fn message_in_view(&self, message: u64) -> Result<Seq, EngineError> {
        let missing = || EngineError::NoSuchMessage(message);
        let at = usize::try_from(message)
            .ok()
            .and_then(|message| message.checked_sub(1))
            .ok_or_else(missing)?;
        self.conversation
            .view()
            .messages()
            .get(at)
            .copied()
            .ok_or_else(missing)
    }

    /// Runs a job to its end. `keep` is what the economic policy lets stay of the tail.
    pub(crate) async fn run_compaction(
        &mut self,
        request: Request,
        keep: Option<Tokens>,
    ) -> Result<Outcome, EngineError> {
        let manual = request.trigger == Trigger::Manual;
        let trigger = request.trigger;
        let wishes = request.instructions.clone();
        let mut request = request;
        request.instructions.extend(self.standing_wishes());
        // A summary that is refused at the end is followed by another way; the hooks are not
        // run again for it.
        let mut said_after = None;
        let rule = self.rule(keep);
        let id = self.fresh_id();
        let mut job = CompactionJob::new(request);
        let mut effect = self.with_job(&rule, &id, |cx| job.start(cx));
        let outcome = loop {
            let event = match effect {
                Effect::Done(outcome) => break outcome,
                Effect::RunHooks => {
                    let answer = self.ports.hooks.before(trigger, &wishes).await;
                    Event::HooksRan {
                        instructions: answer.instructions,
                        blocked: answer.blocked,
                    }
                }
                Effect::ReadNotes => Event::NotesRead(self.notes_for_summary().await?),
                Effect::Ask(ask) => Event::Answered(self.ask_for_summary(*ask).await),
                Effect::Restore { files } => {
                    let mut parts = self.ports.restorer.restore(&files);
                    let said = match said_after.take() {
                        Some(said) => said,
                        None => self.ports.hooks.after(trigger).await,
                    };
                    parts.extend(said_after.insert(said).iter().cloned());
                    Event::Restored(parts)
                }
                Effect::Commit(boundary) => match self.commit_boundary(&id, *boundary) {
                    Ok(()) => Event::Committed,
                    Err(why) => Event::NotCommitted(why),
                },
            };
            effect = self.with_job(&rule, &id, |cx| job.handle(cx, event));
        };
        self.compaction_over(manual, &outcome)?;
        Ok(outcome)
    }

    /// What instruction files say under "Compact instructions".
    fn standing_wishes(&self) -> Vec<String> {
        let fragments = self.config.prefix.fragments().iter();
        let texts = fragments.filter_map(|part| Block::parse(&part.bytes).ok()?.readable_text());
        texts
            .filter_map(|text| compact_instructions(&text))
            .collect()
    }

    pub(crate) fn rule(&self, keep: Option<Tokens>) -> CompactRule {
        let settings = &self.settings.layers.compact;
        self.settings.policy.compaction(settings, keep)
    }

    pub(crate) fn with_job<T>(
        &self,
        rule: &CompactRule,
        id: &RecordId,
        ask: impl FnOnce(&JobContext<'_>) -> T,
    ) -> T {
        let history = self.place.log.display().to_string();
        let last = self
            .ports
            .log
            .head()
            .map_or(Seq::default(), |head| head.seq);
        ask(&JobContext {
            conversation: &self.conversation,
            prefix: self.config.prefix.weight(),
            measure: self.measure(),
            settings: &self.settings.layers.compact,
            rule,
            target: self.settings.thresholds.autocompact_target,
            history: &history,
            seq: last.next(),
            id,
        })
    }

    async fn ask_for_summary(&mut self, ask: Ask) -> Result<Answer, AskFailure> {
        let fork = self.summary_fork(ask);
        let request = ModelRequest::streamed(fork.body()).with_betas(&self.betas());
        let stream = self.ports.asker.ask(Purpose::Compaction, request);
        match stream.finish().await {
            Ok(response) => Ok(answer_of(response)),
            Err(error) => Err(failure_of(&error)),
        }
    }

    fn summary_fork(&self, ask: Ask) -> Fork {
        let moment = (self.now(), self.ttls());
        let conversation = &self.conversation;
        let (prefix, params) = (&self.config.prefix, &self.params);
        let fork = |directive: &str| {
            Fork::of_history(
                conversation,
                &self.ledger,
                prefix,
                params,
                directive,
                moment,
            )
        };
        match ask.form {
            AskForm::Riding => fork(&ask.directive),
            AskForm::Shortened(segments) => fork(&ask.directive).without_front(segments),
            AskForm::Cold(text) => Fork::cold(conversation, prefix, params, &text, &ask.directive),
        }
    }

    pub(crate) fn commit_boundary(
        &mut self,
        id: &RecordId,
        boundary: Boundary,
    ) -> Result<(), String> {
        let body = Body::Boundary(Box::new(boundary));
        match self.append_as(id.clone(), body, None) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(crate) fn compaction_over(
        &mut self,
        manual: bool,
        outcome: &Outcome,
    ) -> Result<(), EngineError> {
        match outcome {
            Outcome::Compacted {
                kind,
                before,
                after,
                model_failed,
            } => {
                let model = match (kind, model_failed) {
                    (_, Some(_)) => ModelPart::Failed,
                    (BoundaryKind::Full | BoundaryKind::Partial, None) => ModelPart::Summarised,
                    (_, None) => ModelPart::NotAsked,
                };
                let breaker = Breaker::of(self.conversation.state());
                let breaker = breaker.compacted(manual, model);
                self.append(Body::State(breaker.record()))?;
                // The whole prompt is written again anyway: the moment to read instructions anew.
                if let Some(prefix) = self.ports.restorer.prefix() {
                    self.set_prefix(prefix)?;
                }
                self.ledger.announce("the conversation was compacted");
                self.notes.compacted();
                self.tell(Notice::Compacted {
                    kind: *kind,
                    before: *before,
                    after: *after,
                    without_model: model_failed.clone(),
                });
            }
            Outcome::NoProgress { why, asked } => {
                self.tell(Notice::NotCompacted { why: why.clone() });
                if !manual {
                    self.no_progress(*asked)?;
                }
            }
            Outcome::Blocked(why) | Outcome::Nothing(why) | Outcome::NotWritten(why) => {
                self.tell(Notice::NotCompacted { why: why.clone() });
            }
        }
        Ok(())
    }

    /// Writes down that a compaction could not make anything smaller, so that it is not tried
    /// again and again.
    fn no_progress(&mut self, asked: bool) -> Result<(), EngineError> {
        let model = if asked {
            ModelPart::Failed
        } else {
            ModelPart::NotAsked
        };
        let (used, target) = (self.used(), self.settings.thresholds.autocompact_target);
        let before = Breaker::of(self.conversation.state());
        let breaker = before.no_progress(used, target, model);
        if breaker == before {
            return Ok(());
        }
        self.append(Body::State(breaker.record()))?;
        if breaker.stuck_at.is_some() {
            self.tell(Notice::CannotCompact {
                prompt: used,
                target,
            });
        }
        Ok(())
    }

    /// The first prompt measured after a compaction tells whether it was of any use.
    pub(crate) fn prove_compaction(&mut self, response: &Response) -> Result<(), EngineError> {
        let breaker = Breaker::of(self.conversation.state());
        let target = self.settings.thresholds.autocompact_target;
        let prompt = response.usage.prompt();
        let Some(changed) = breaker.measured(prompt, target) else {
            return Ok(());
        };
        self.append(Body::State(changed.record()))?;
        if changed.stuck_at.is_some() {
            self.tell(Notice::CannotCompact { prompt, target });
        }
        Ok(())
    }
}

fn answer_of(response: Response) -> Answer {
    Answer {
        cut_off: response.stop_reason.is_cut_off(),
        blocks: response.blocks,
    }
}

/// What the job can do about an error.
fn failure_of(error: &ModelError) -> AskFailure {
    let why = error.chain();
    match error {
        ModelError::PromptTooLong { tokens, limit, .. } => AskFailure::TooLong {
            gap: tokens.zip(*limit).map(|(tokens, limit)| tokens - limit),
        },
        ModelError::AnswerTooLong {
            input,
            max_tokens,
            limit,
            ..
        } => AskFailure::TooLong {
            gap: Some(*input + *max_tokens - *limit),
        },
        ModelError::RequestTooLarge(_) => AskFailure::TooLong { gap: None },
        ModelError::Broken { .. }
        | ModelError::Cut
        | ModelError::Stalled(_)
        | ModelError::Connection { .. }
        | ModelError::Malformed(_) => AskFailure::Broken(why),
        ModelError::Invalid(_)
        | ModelError::ThinkingBinding(_)
        | ModelError::Compaction { .. }
        | ModelError::Thread { .. }
        | ModelError::Unsupported(_) => AskFailure::Rejected(why),
        _ => AskFailure::Failed(why),
    }
}
