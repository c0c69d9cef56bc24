//! A session as the engine holds it: view, folded state and token count.
//!
//! Records are applied one by one; all other methods only read. Folding the whole path and resuming
//! from a manifest plus the records behind it give the same value (property-tested).
//!
//! Not here: reading and writing logs, and any decision. `conversation/from_log.rs` builds a
//! session from its records, `conversation/manifests.rs` the manifests it can be resumed from;
//! `conversation/changes.rs` folds requests and changes of state.

mod changes;
mod from_log;
mod manifests;

use crate::distil::{Book, Fetches};
use crate::economy::{Compacted, Estimators, Prior};
use crate::evidence::{self, EvidenceLimits, pages};
use crate::target::Target;
use crate::tokens::{self, Count};
use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::{MessageId, RecordId, Seq};
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{
    Body, Boundary, FoldedState, LastUsage, Lineage, Manifest, Message, NotesState, Purpose,
    Record, Role, StateChange, UsageReport,
};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_core::weight::Weight;
use manifests::KnownPage;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the fact under which manifests carry the estimators of the economic policy.
const ECONOMY: &str = "economy";

/// Name of the fact under which manifests carry the book of distilled results.
const DISTIL: &str = "distil";

/// Model name that Claude Code writes on assistant messages it made up itself (errors, interrupts).
/// Their usage is zero and must not become the token count.
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// A session: the fold of the records on its path.
#[derive(Clone, Debug)]
pub struct Conversation {
    view: View,
    state: FoldedState,
    /// Bytes per token of the target model, looked up once.
    bytes: BytesPerToken,
    limits: EvidenceLimits,
    economy: Estimators,
    /// Distilled results, and how many were fetched again.
    book: Book,
    /// Page records of the chronicle, by sequence number.
    pages: BTreeMap<Seq, KnownPage>,
    /// Newest record applied; the head that an append must expect.
    head: Option<RecordId>,
}

impl Conversation {
    /// An empty session for a target model.
    pub fn new(target: Target) -> Self {
        let bytes = target.models.lookup(&target.model).info.bytes_per_token;
        Self {
            view: View::new(target),
            state: FoldedState::default(),
            bytes,
            limits: EvidenceLimits::default(),
            economy: Estimators::default(),
            book: Book::default(),
            pages: BTreeMap::new(),
            head: None,
        }
    }

    /// Applies the next record of the path to view, state and head.
    pub fn apply(&mut self, record: &Record) {
        // The weight before a change is gone once the view has applied it.
        let changes = record.body.is_rewrite() || matches!(record.body, Body::Replacement(_));
        let before = changes.then(|| self.weight());
        self.view.apply(record);
        self.apply_state(record, before);
        self.head = Some(record.id.clone());
    }

    /// View of the prompt at the newest record.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Characters of the results that the next request will contain.
    pub fn waiting_chars(&mut self) -> u64 {
        self.view.waiting_chars()
    }

    /// Newest record. Plans name it, and an append fails if the log's head is another one.
    pub fn head(&self) -> Option<&RecordId> {
        self.head.as_ref()
    }

    /// Folded state: totals, last usage, cursors, chronicle, facts.
    pub fn state(&self) -> &FoldedState {
        &self.state
    }

    /// Weight of the conversation, without the prefix.
    pub fn weight(&self) -> Weight {
        view_weight(&self.view)
    }

    /// Estimators of the economic policy: growth, base size, summary size and cost of re-reading.
    pub fn economy(&self) -> &Estimators {
        &self.economy
    }

    /// Distilled results by tool, and how many were fetched again.
    pub fn distil_book(&self) -> &Book {
        &self.book
    }

    /// State change that starts a new session with the estimates of the project's earlier ones.
    pub fn prior(prior: &Prior) -> StateChange {
        let known = Estimators::starting_from(prior);
        StateChange::Fact {
            name: ECONOMY.to_owned(),
            value: serde_json::to_value(known).unwrap_or_default(),
        }
    }

    /// State change that starts a new session with what its project's earlier ones fetched again.
    pub fn fetched_earlier(earlier: Fetches) -> StateChange {
        StateChange::Fact {
            name: DISTIL.to_owned(),
            value: serde_json::to_value(Book::starting_from(earlier)).unwrap_or_default(),
        }
    }

    /// Canonical token count. `prefix` is the weight of system, tools and instructions; it is used
    /// only until a response was measured, because measurements include it.
    pub fn count(&self, prefix: &Weight) -> Count {
        tokens::count(&self.state, &(self.weight() + *prefix), self.bytes)
    }

    /// Bytes per token of the target model, for estimates.
    pub fn bytes_per_token(&self) -> BytesPerToken {
        self.bytes
    }

    /// Folds a record into the state. `before` is the weight of the view before a rewrite.
    fn apply_state(&mut self, record: &Record, before: Option<Weight>) {
        self.observe_window(record);
        self.observe_rereading(record);
        self.book.observe(record, &self.view);
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
                    Some(manifest) => self.meet_state(&manifest.state),
                    None => self.reweigh(before),
                }
                self.compacted_to(boundary);
                self.mark(record);
            }
            Body::Distilled(_) => {
                self.reweigh(before);
                self.distilled();
            }
            Body::Cleared(_) | Body::Snip(_) | Body::Fold(_) => self.reweigh(before),
            Body::Replacement(_) => self.exchanged(before),
            Body::Chronicle(page) => {
                pages::turn(&mut self.state.chronicle, page, record.seq);
                self.know_page(None, record);
            }
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
            | Body::Undo(_)
            | Body::Checkpoint(_)
            | Body::Mail(_) => {}
        }
    }

    /// Records which boundary or lineage the current manifest came with.
    fn mark(&mut self, record: &Record) {
        match &record.body {
            Body::Boundary(_) => self.state.boundary = Some(record.id.clone()),
            Body::Session(start) => {
                self.state.lineage = start.lineage.as_ref().map(|lineage| {
                    Box::new(Lineage {
                        // The manifest has been applied; keeping it would copy the layout into
                        // every checkpoint.
                        manifest: Manifest::default(),
                        ..lineage.clone()
                    })
                });
            }
            _ => {}
        }
    }

    /// Counts tokens fetched again after a compaction, which are part of its price.
    fn observe_rereading(&mut self, record: &Record) {
        let until = self.state.forgotten_until;
        // Zero: no compaction yet, so nothing can be a repetition caused by one.
        if until == 0 {
            return;
        }
        let again = evidence::read_again(&self.state.chronicle, record, until);
        let tokens = tokens::estimate(&again, self.bytes);
        if tokens > Tokens::ZERO {
            self.economy.observe_reread(tokens);
        }
    }

    /// Teaches the estimators the sizes that a compaction reached.
    fn compacted_to(&mut self, boundary: &Boundary) {
        if let Some((after, static_prefix)) = boundary.post_tokens.zip(boundary.fixed_tokens) {
            self.economy.observe_compaction(&Compacted {
                // An unknown length saves nothing that could be counted.
                before: boundary.pre_tokens.unwrap_or(after),
                after,
                static_prefix,
                summary: boundary.summary_tokens,
            });
        }
    }

    /// Corrects the token count for a rewrite that carries no state of its own.
    fn reweigh(&mut self, before: Option<Weight>) {
        if let Some(before) = before {
            let after = self.weight();
            tokens::rewritten(&mut self.state, &before, &after, self.bytes);
            if let Some(notes) = &mut self.state.notes {
                // Content that was cleared must not count as growth covered by the notes, or the
                // next update comes too late.
                let gone =
                    tokens::estimate(&before, self.bytes) - tokens::estimate(&after, self.bytes);
                notes.conversation = notes.conversation - gone;
            }
        }
    }

    /// Accounts for a message: measured if a model answered, else estimated.
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
        self.maybe_answered(message);
        match (message.role, model) {
            (Role::Assistant, Some(model)) => {
                self.measured(record, message.id.as_ref(), model, message.usage, weight);
            }
            _ => self.appended(weight),
        }
    }

    /// Adds to the estimate of everything appended since the last measured response.
    fn appended(&mut self, weight: Weight) {
        if let Some(last) = &mut self.state.last_usage {
            last.since += weight;
        }
    }

    /// Corrects the estimate for a result that was replaced before it was sent.
    fn exchanged(&mut self, before: Option<Weight>) {
        let after = self.weight();
        if let Some((last, before)) = self.state.last_usage.as_mut().zip(before) {
            last.since = last.since + after - before;
        }
    }

    /// Takes a response, a part of one, or its usage report. Several records of one response share
    /// a message id and count once.
    fn measured(
        &mut self,
        record: &Record,
        message: Option<&MessageId>,
        model: &str,
        usage: Option<TokenUsage>,
        answer: Weight,
    ) {
        // The response to an alias carries the dated model name. The name in the request wins
        // where one is recorded: it is the one that was configured.
        if self.state.last_request.is_none() {
            self.state.model = Some(model.to_owned());
        }
        let by_record = MessageId::new(record.id.as_str());
        let message = message.unwrap_or(&by_record);
        if let Some(last) = &mut self.state.last_usage
            && last.message.as_ref() == Some(message)
        {
            // A further block of the same response: later usage figures replace earlier ones.
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
            // Growth is measured against the last prompt as rewritten since, or a compaction would
            // look like negative growth.
            if let Some(before) = &self.state.last_usage {
                let continued = before.usage.prompt() + before.added - before.removed;
                self.economy.observe_request(continued, usage.prompt());
            }
            tokens::calibrate(&mut self.state, &last, self.bytes);
            self.state.last_usage = Some(last);
        } else {
            // A response without figures (interrupted, or another tool's log) is only estimated.
            self.appended(answer);
        }
        if let Some(usage) = usage {
            let models = Arc::clone(&self.view.target().models);
            self.state.totals.observe(&models, message, model, usage);
        }
    }

    /// Takes the usage of a request beside the conversation (notes, summary, fork): it adds to the
    /// bill and never to the token count.
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
}

/// Weight of frozen segments and unsettled tail, without the stand-ins that settling adds.
fn view_weight(view: &View) -> Weight {
    let tail = view.tail();
    let parts = tail.response.iter().chain(&tail.incoming);
    let frozen = view.frozen().weight(view.frozen().len());
    parts.fold(frozen, |sum, segment| sum + *segment.block.weight())
}
