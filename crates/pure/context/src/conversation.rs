//! A session as the engine holds it: the view, the folded state, the count.
//!
//! Records go in one by one; everything else is read off. The same value comes out whether the
//! whole path is folded, or the session is resumed from a manifest and the records behind it.
//!
//! Not here: reading and writing logs, deciding anything. How a session comes out of its records is
//! in `conversation/from_log.rs`.

mod from_log;

use crate::compact::Compaction;
use crate::economy::{Compacted, Estimators, Prior};
use crate::evidence::{self, EvidenceLimits};
use crate::target::Target;
use crate::tokens::{self, Count};
use crate::undo::{self, UndoError};
use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::{MessageId, RecordId, Seq, SessionId};
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{
    Body, Boundary, FoldedState, LastRequest, LastUsage, Lineage, Manifest, Message, NotesState,
    Purpose, Record, Request, Role, StateChange, Undo, UsageReport,
};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_core::weight::Weight;
use serde::Deserialize;
use std::sync::Arc;

/// The fact under which manifests carry the estimates of the economic policy.
const ECONOMY: &str = "economy";

/// The name a client gives to answers that no model made.
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// A session: what its records fold into.
#[derive(Clone, Debug)]
pub struct Conversation {
    view: View,
    state: FoldedState,
    bytes: BytesPerToken,
    limits: EvidenceLimits,
    economy: Estimators,
    head: Option<RecordId>,
}

impl Conversation {
    /// A session without records.
    pub fn new(target: Target) -> Self {
        let bytes = target.models.lookup(&target.model).info.bytes_per_token;
        Self {
            view: View::new(target),
            state: FoldedState::default(),
            bytes,
            limits: EvidenceLimits::default(),
            economy: Estimators::default(),
            head: None,
        }
    }

    /// Applies the next record of the path.
    pub fn apply(&mut self, record: &Record) {
        let before = record.body.is_rewrite().then(|| self.weight());
        self.view.apply(record);
        self.apply_state(record, before);
        self.head = Some(record.id.clone());
    }

    /// The view.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The newest record: what plans are made for and commits are checked against.
    pub fn head(&self) -> Option<&RecordId> {
        self.head.as_ref()
    }

    /// The folded state.
    pub fn state(&self) -> &FoldedState {
        &self.state
    }

    /// What the conversation weighs, prefix not included.
    pub fn weight(&self) -> Weight {
        view_weight(&self.view)
    }

    /// What is known of the session's figures for the economic policy.
    pub fn economy(&self) -> &Estimators {
        &self.economy
    }

    /// The record that gives a new session what earlier ones of its project taught.
    pub fn prior(prior: &Prior) -> StateChange {
        let known = Estimators::starting_from(prior);
        StateChange::Fact {
            name: ECONOMY.to_owned(),
            value: serde_json::to_value(known).unwrap_or_default(),
        }
    }

    /// The canonical count. `prefix` is the weight of system, tools and instructions: it matters
    /// only until the first response was measured.
    pub fn count(&self, prefix: &Weight) -> Count {
        tokens::count(&self.state, &(self.weight() + *prefix), self.bytes)
    }

    /// Bytes per token of the model the session talks to.
    pub fn bytes_per_token(&self) -> BytesPerToken {
        self.bytes
    }

    /// The manifest of the session as it is, for a checkpoint.
    pub fn manifest(&self) -> Manifest {
        Manifest {
            state: self.carried(self.state.clone()),
            ..self.view.layout()
        }
    }

    /// The estimates travel with manifests as a fact of the state.
    fn carried(&self, mut state: FoldedState) -> FoldedState {
        if let Ok(economy) = serde_json::to_value(self.economy) {
            state.facts.insert(ECONOMY.to_owned(), economy);
        }
        state
    }

    fn take_state(&mut self, state: &FoldedState) {
        self.state = state.clone();
        let economy = self.state.facts.remove(ECONOMY);
        self.economy = economy
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_default();
    }

    /// The complete manifest of a boundary.
    pub fn compacted(&self, compaction: &Compaction<'_>) -> Manifest {
        let (manifest, after) = compaction.manifest(&self.view);
        let mut state = self.state.clone();
        tokens::rewritten(&mut state, &self.weight(), &after, self.bytes);
        // The model no longer sees what it read; recall may show again what it had shown.
        state.read_files.clear();
        state.surfaced.clear();
        state.forgotten_until = state.chronicle.clock;
        state.undone = false;
        // A compaction settles what was spent on the notes before it.
        state.notes_usage = TokenUsage::default();
        state.notes_updates = 0;
        let left = tokens::calibration(&state, &self.view.target().model);
        if let Some(notes) = &mut state.notes {
            // Growth counts from what is left.
            notes.conversation = left.correct(tokens::estimate(&after, self.bytes));
        }
        Manifest {
            state: self.carried(state),
            ..manifest
        }
    }

    /// Plans the undo of a rewrite (or else of the newest) with all newer ones. `path` is the
    /// session's whole path: what comes back is no longer in memory.
    ///
    /// # Errors
    /// When there is nothing to undo, the moment is wrong, or the result would not fit.
    pub fn plan_undo(
        &self,
        path: &[&Record],
        target: Option<&RecordId>,
        limit: Tokens,
    ) -> Result<Undo, UndoError> {
        let restored = undo::restore(path, target, self.view.target())?;
        let mut state = self.state.clone();
        state.undone = true;
        let (before, after) = (self.weight(), view_weight(&restored.view));
        tokens::rewritten(&mut state, &before, &after, self.bytes);
        let needed = tokens::count(&state, &after, self.bytes).tokens;
        if needed > limit {
            return Err(UndoError::DoesNotFit { needed, limit });
        }
        let manifest = Manifest {
            state: self.carried(state),
            ..restored.view.layout()
        };
        Ok(Undo {
            targets: restored.targets,
            thinking: restored.thinking,
            manifest,
        })
    }

    /// What a fork needs to begin: a reference to this log, and a copy of the state.
    pub fn lineage(&self, session: &SessionId, head: (&RecordId, Seq), directive: &str) -> Lineage {
        let manifest = Manifest {
            ranges: self.view.ranges(Some(session), Seq::default()),
            ..self.manifest()
        };
        Lineage {
            session: session.clone(),
            record: head.0.clone(),
            seq: head.1,
            prefix: self.state.prefix.as_ref().map(|prefix| prefix.id),
            directive: directive.to_owned(),
            manifest,
        }
    }

    fn apply_state(&mut self, record: &Record, before: Option<Weight>) {
        self.observe_rereading(record);
        evidence::observe(&mut self.state.chronicle, record, &self.limits);
        match &record.body {
            Body::Message(message) if message.reaches_the_model() => self.message(record, message),
            Body::Fragment(fragment) => self.appended(*fragment.block.weight()),
            Body::Usage(report) if !report.purpose.is_turn() => self.beside(record, report),
            Body::Usage(report) => {
                let usage = Some(report.usage);
                self.measured(
                    record,
                    report.message.as_ref(),
                    &report.model,
                    usage,
                    Weight::default(),
                );
            }
            Body::Prefix(prefix) => self.state.prefix = Some(prefix.clone()),
            Body::Request(request) => self.request(record, request),
            Body::State(change) => self.change(change),
            Body::Agent(event) if event.ended => {
                self.state.agents.remove(&event.agent);
            }
            Body::Agent(event) => {
                self.state
                    .agents
                    .insert(event.agent.clone(), event.detail.clone());
            }
            Body::Foreign(foreign) => {
                if let Some(title) = &foreign.title {
                    let title = serde_json::Value::from(&**title);
                    self.state.facts.insert("title".to_owned(), title);
                }
            }
            Body::Boundary(boundary) => {
                match &boundary.manifest {
                    Some(manifest) => self.take_state(&manifest.state),
                    None => self.reweigh(before),
                }
                self.compacted_to(boundary);
                self.mark(record);
            }
            Body::Cleared(_) | Body::Snip(_) | Body::Fold(_) => self.reweigh(before),
            Body::Notes(notes) => {
                self.state.notes = Some(NotesState {
                    last_summarised: notes.last_summarised,
                    conversation: notes.conversation,
                    calls_since: 0,
                    size: notes.tokens,
                });
                self.economy.observe_notes_update(notes.sent, notes.edits);
            }
            Body::Session(_)
            | Body::Message(_)
            | Body::Replacement(_)
            | Body::Undo(_)
            | Body::Checkpoint(_)
            | Body::Mail(_) => {}
        }
    }

    /// Remembers the boundary or the lineage that a manifest came with.
    fn mark(&mut self, record: &Record) {
        match &record.body {
            Body::Boundary(_) => self.state.boundary = Some(record.id.clone()),
            Body::Session(start) => {
                self.state.lineage = start.lineage.as_ref().map(|lineage| {
                    Box::new(Lineage {
                        manifest: Manifest::default(),
                        ..lineage.clone()
                    })
                });
            }
            _ => {}
        }
    }

    /// What is fetched again after a compaction is a part of its price.
    fn observe_rereading(&mut self, record: &Record) {
        let until = self.state.forgotten_until;
        if until == 0 {
            return;
        }
        let again = evidence::read_again(&self.state.chronicle, record, until);
        let tokens = tokens::estimate(&again, self.bytes);
        if tokens > Tokens::ZERO {
            self.economy.observe_reread(tokens);
        }
    }

    fn compacted_to(&mut self, boundary: &Boundary) {
        if let Some((after, static_prefix)) = boundary.post_tokens.zip(boundary.fixed_tokens) {
            self.economy.observe_compaction(&Compacted {
                after,
                static_prefix,
                summary: boundary.summary_tokens,
            });
        }
    }

    fn reweigh(&mut self, before: Option<Weight>) {
        if let Some(before) = before {
            let after = self.weight();
            tokens::rewritten(&mut self.state, &before, &after, self.bytes);
            if let Some(notes) = &mut self.state.notes {
                // What was cleared no longer counts as covered: growth goes on from what is left.
                let gone =
                    tokens::estimate(&before, self.bytes) - tokens::estimate(&after, self.bytes);
                notes.conversation = notes.conversation - gone;
            }
        }
    }

    fn message(&mut self, record: &Record, message: &Message) {
        let sendable = message
            .content
            .iter()
            .filter(|block| !block.is_unsendable());
        let weight = sendable.fold(Weight::default(), |sum, block| sum + *block.weight());
        if let Some(notes) = &mut self.state.notes {
            let is_call = |block: &&Block| block.kind() == BlockKind::ToolUse;
            notes.calls_since += message.content.iter().filter(is_call).count() as u64;
        }
        let model = message
            .model
            .as_deref()
            .filter(|model| *model != SYNTHETIC_MODEL);
        match (message.role, model) {
            (Role::Assistant, Some(model)) => {
                self.measured(record, message.id.as_ref(), model, message.usage, weight);
            }
            _ => self.appended(weight),
        }
    }

    fn appended(&mut self, weight: Weight) {
        if let Some(last) = &mut self.state.last_usage {
            last.since += weight;
        }
    }

    /// A response, or a part of one, or its figures: whatever comes, it counts once.
    fn measured(
        &mut self,
        record: &Record,
        message: Option<&MessageId>,
        model: &str,
        usage: Option<TokenUsage>,
        answer: Weight,
    ) {
        // An alias is answered under the model's dated name: the request's own name counts, where
        // one is recorded.
        if self.state.last_request.is_none() {
            self.state.model = Some(model.to_owned());
        }
        let by_record = MessageId::new(record.id.as_str());
        let message = message.unwrap_or(&by_record);
        if let Some(last) = &mut self.state.last_usage
            && last.message.as_ref() == Some(message)
        {
            last.answer += answer;
            last.usage = usage.unwrap_or(last.usage);
        } else if let Some(usage) = usage {
            let last = LastUsage {
                message: Some(message.clone()),
                model: model.to_owned(),
                usage,
                answer,
                since: Weight::default(),
                removed: Tokens::ZERO,
                added: Tokens::ZERO,
            };
            if let Some(before) = &self.state.last_usage {
                let continued = before.usage.prompt() + before.added - before.removed;
                self.economy.observe_request(continued, usage.prompt());
            }
            tokens::calibrate(&mut self.state, &last, self.bytes);
            self.state.last_usage = Some(last);
        } else {
            self.appended(answer);
        }
        if let Some(usage) = usage {
            let models = Arc::clone(&self.view.target().models);
            self.state.totals.observe(&models, message, model, usage);
        }
    }

    /// A response to a request beside the conversation: it is paid for, and measures nothing.
    fn beside(&mut self, record: &Record, report: &UsageReport) {
        let by_record = MessageId::new(record.id.as_str());
        let message = report.message.as_ref().unwrap_or(&by_record);
        let models = Arc::clone(&self.view.target().models);
        let state = &mut self.state;
        state
            .totals
            .observe(&models, message, &report.model, report.usage);
        if report.purpose == Purpose::Notes {
            state.notes_updates += 1;
            state.notes_usage += report.usage;
        }
    }

    fn request(&mut self, record: &Record, request: &Request) {
        #[derive(Deserialize)]
        struct Params {
            output_config: Option<OutputConfig>,
        }
        #[derive(Deserialize)]
        struct OutputConfig {
            effort: Option<String>,
        }
        let params: Option<Params> = serde_json::from_slice(request.params.bytes()).ok();
        self.state.effort = params.and_then(|params| params.output_config?.effort);
        self.state.model = Some(request.model.clone());
        let last = self.state.last_request.as_ref().and_then(|last| last.at);
        if let Some((last, now)) = last.zip(record.at) {
            self.state.gaps.add(now.since(last));
        }
        self.state.last_request = Some(LastRequest {
            id: record.id.clone(),
            at: record.at,
            segments: request.segments,
            chain: request.chain,
            markers: request.markers.clone(),
        });
    }

    fn change(&mut self, change: &StateChange) {
        let state = &mut self.state;
        match change {
            StateChange::Surfaced { memories } => state.surfaced.extend(memories.iter().cloned()),
            StateChange::ReadState { path, detail } if detail.is_null() => {
                state.read_files.remove(path);
            }
            StateChange::ReadState { path, detail } => {
                state.read_files.insert(path.clone(), detail.clone());
            }
            StateChange::Cursor { name, at } => {
                state.cursors.insert(name.clone(), *at);
            }
            StateChange::Fact { name, value } if name == ECONOMY => {
                if let Ok(known) = serde_json::from_value(value.clone()) {
                    self.economy = known;
                }
            }
            StateChange::Fact { name, value } if value.is_null() => {
                state.facts.remove(name);
            }
            StateChange::Fact { name, value } => {
                state.facts.insert(name.clone(), value.clone());
            }
            StateChange::MemorySaved { .. }
            | StateChange::Dream { .. }
            | StateChange::Attempt(_) => {}
        }
    }
}

fn view_weight(view: &View) -> Weight {
    let tail = view.tail();
    let parts = tail.response.iter().chain(&tail.incoming);
    let frozen = view.frozen().weight(view.frozen().len());
    parts.fold(frozen, |sum, segment| sum + *segment.block.weight())
}
