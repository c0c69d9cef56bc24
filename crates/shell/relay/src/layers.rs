//! The layers in front of a client: a request in, the body to send out.
//!
//! # Model
//! [`Layers::prepare`] plans a request, makes its rewrites durable and writes its body. Where the
//! conversation is to be compacted first, it hands out the body of a question instead; the door asks
//! it upstream and gives the answer to [`Task::answered`], which ends in the body to send. Whatever
//! fails on the way leaves the request as it would have been without it.
//!
//! # Not here
//! Decisions and bytes (`dormouse-rewrite`), files (`lines`), sockets (the door).

use crate::expected::Expected;
use crate::lines::{Lines, Slot};
use crate::memory::ProjectMemory;
use crate::sweep::Swept;
use bytes::Bytes;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Settings;
use dormouse_core::units::Millis;
use dormouse_core::usage::TokenUsage;
use dormouse_model::anthropic::Observed;
use dormouse_recognise::{Chain, Recognised, Relation, Seen};
use dormouse_rewrite::{
    Act, Acts, Ask, Body, Compaction, Composed, Due, FOLDER, Plan, Record, Rules, Surroundings,
    ask, boundary, compose, offers, plan, without_model,
};
use dormouse_system::{FileError, System};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::OwnedSemaphorePermit;

/// Counts since the start.
#[derive(Debug, Default)]
struct Counts {
    offloaded: AtomicU64,
    distilled: AtomicU64,
    cleared: AtomicU64,
    compacted: AtomicU64,
    read: AtomicU64,
    recalled: AtomicU64,
    unsaved: AtomicU64,
}

/// Rewrites since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrites {
    /// Results that became files before they were sent.
    pub offloaded: u64,
    /// Results that became shorter once they were answered.
    pub distilled: u64,
    /// Old results that became paths.
    pub cleared: u64,
    /// Histories that gave way to a summary.
    pub compacted: u64,
    /// Texts that models opened by our tool.
    pub read: u64,
    /// Words of users that memories were recalled for.
    pub recalled: u64,
    /// Plans that were given up because the disk took nothing.
    pub unsaved: u64,
}

/// The layers. See the module documentation.
#[derive(Debug)]
pub struct Layers {
    pub(crate) lines: Lines,
    pub(crate) rules: Rules,
    pub(crate) models: Arc<ModelTable>,
    pub(crate) memory: Option<Arc<dyn ProjectMemory>>,
    counts: Counts,
}

/// Facts of a request beside its body.
#[derive(Clone, Debug)]
pub struct Facts {
    /// True if the client runs on this machine, so that it can open files of ours.
    pub local: bool,
    /// True if the model is to open them by a tool of ours instead.
    pub offers: bool,
    /// Project that it names, whose memory it wants.
    pub project: Option<String>,
    /// Betas that it names.
    pub betas: Vec<String>,
    /// Time of its arrival.
    pub now: Millis,
    /// True if the upstream has just refused its prompt as too long.
    pub refused: bool,
}

/// The next step of a request.
#[derive(Debug)]
pub enum Step {
    /// The body is ready to go upstream.
    Send(Box<Prepared>),
    /// Ask this upstream first.
    Ask(Box<Task>, Bytes),
}

/// A body to send, with everything its answer is compared with.
#[derive(Debug)]
pub struct Prepared {
    /// Bytes that go upstream.
    pub body: Bytes,
    /// Layers that made them.
    pub acts: Acts,
    /// Usage of our own question, if there was one.
    pub beside: Option<TokenUsage>,
    /// Conversation in which the model may call our tool.
    pub reads: Option<Chain>,
    expected: Option<Expected>,
}

impl Prepared {
    /// A body as it came.
    pub const fn untouched(body: Bytes) -> Self {
        Self {
            body,
            acts: Acts::NONE,
            beside: None,
            reads: None,
            expected: None,
        }
    }

    /// The part that waits for the answer.
    pub fn expected(&mut self) -> Option<Expected> {
        self.expected.take()
    }
}

/// A request whose conversation is to be compacted first.
#[derive(Debug)]
pub struct Task {
    request: Request,
    ask: Ask,
    /// True if the window leaves no choice.
    forced: bool,
    due: Vec<Due>,
    again: u32,
}

#[derive(Debug)]
struct Request {
    layers: Arc<Layers>,
    slot: Arc<Slot>,
    body: Body,
    seen: Arc<Seen>,
    folder: Option<String>,
    facts: Facts,
    /// Held until the body is written.
    _turn: OwnedSemaphorePermit,
}

/// A conversation whose turn is not taken yet.
#[derive(Debug)]
pub struct Seat {
    pub(crate) slot: Arc<Slot>,
}

impl Seat {
    /// Takes the turn if no other request has it.
    ///
    /// # Errors
    /// Gives the seat back while another request of the conversation is planned.
    pub fn try_take(self) -> Result<Turn, Self> {
        match Arc::clone(&self.slot.turn).try_acquire_owned() {
            Ok(permit) => Ok(Turn {
                slot: self.slot,
                permit,
            }),
            Err(_) => Err(self),
        }
    }

    /// Waits for the turn.
    pub async fn take(self) -> Option<Turn> {
        let permit = Arc::clone(&self.slot.turn).acquire_owned().await.ok()?;
        Some(Turn {
            slot: self.slot,
            permit,
        })
    }
}

/// A turn in one conversation.
#[derive(Debug)]
pub struct Turn {
    slot: Arc<Slot>,
    permit: OwnedSemaphorePermit,
}

impl Layers {
    /// Layers over a folder.
    pub fn new(
        system: &System,
        folder: &Path,
        models: Arc<ModelTable>,
        settings: &Settings,
    ) -> Self {
        Self {
            lines: Lines::new(Arc::clone(&system.files), folder),
            rules: Rules::new(settings),
            models,
            memory: None,
            counts: Counts::default(),
        }
    }

    /// The same layers, with memory for conversations that are opened for it.
    #[must_use]
    pub fn with_memory(mut self, memory: Arc<dyn ProjectMemory>) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Removes files that no conversation needs, and conversations that were silent for so many days.
    ///
    /// # Errors
    /// When a folder cannot be read or a file not removed.
    pub fn sweep(&self, now: Millis, days: Option<u64>) -> Result<Swept, FileError> {
        let swept = self.lines.sweep(now, days);
        let swept =
            swept.inspect_err(|error| tracing::warn!(%error, "files of the layers stay"))?;
        tracing::info!(?swept, "swept");
        Ok(swept)
    }

    /// Rewrites since the start.
    pub fn rewrites(&self) -> Rewrites {
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Rewrites {
            offloaded: count(&self.counts.offloaded),
            distilled: count(&self.counts.distilled),
            cleared: count(&self.counts.cleared),
            compacted: count(&self.counts.compacted),
            read: count(&self.counts.read),
            recalled: count(&self.counts.recalled),
            unsaved: count(&self.counts.unsaved),
        }
    }

    /// The conversation of a request; `None` if its line cannot be read. Reads a file, so it belongs
    /// on a thread that may block.
    pub fn open(&self, conversation: Chain) -> Option<Seat> {
        let opened = self.lines.open(conversation);
        let opened = opened.inspect_err(|error| tracing::warn!(%error, "a line cannot be read"));
        Some(Seat { slot: opened.ok()? })
    }

    /// Offers our tool from the first request of a conversation on, or never.
    fn offer(&self, slot: &Slot) {
        let kept = self.lines.keep(slot.conversation, &[], &[Record::Offered]);
        match kept {
            Ok(()) => slot.line().apply(Record::Offered),
            Err(error) => self.not_saved(&error),
        }
    }

    /// Folder of a conversation's files as its model can open it.
    pub(crate) fn folder(&self, slot: &Slot, facts: &Facts) -> Option<String> {
        if slot.line().is_offered() {
            return Some(FOLDER.to_owned());
        }
        let results = self.lines.results(slot.conversation);
        facts.local.then(|| results.to_string_lossy().into_owned())
    }

    /// Plans a request and writes its body. Belongs on a thread that may block.
    pub fn prepare(
        self: &Arc<Self>,
        turn: Turn,
        body: Body,
        (seen, recognised): (Arc<Seen>, &Recognised),
        facts: Facts,
    ) -> Step {
        if facts.offers && offers(&body, &turn.slot.line()) {
            self.offer(&turn.slot);
        }
        self.remember(&turn.slot, &body, &seen, facts.project.as_deref());
        let request = Request {
            layers: Arc::clone(self),
            folder: self.folder(&turn.slot, &facts),
            slot: turn.slot,
            body,
            seen,
            facts,
            _turn: turn.permit,
        };
        request.planned(recognised.relation == Relation::Retries)
    }
}

impl Request {
    fn around(&self) -> Surroundings<'_> {
        Surroundings {
            rules: &self.layers.rules,
            models: &self.layers.models,
            folder: self.folder.as_deref(),
            betas: &self.facts.betas,
            now: self.facts.now,
            refused: self.facts.refused,
        }
    }

    fn planned(self, is_retry: bool) -> Step {
        let mut plan = plan(&self.body, &self.seen, &self.slot.line(), &self.around());
        tracing::debug!(conversation = %self.slot.conversation, reasons = ?plan.reasons, "planned");
        self.slot.line().in_use = plan.in_use;
        let kept = self
            .layers
            .lines
            .keep(self.slot.conversation, &plan.saves, &plan.records);
        match kept {
            Ok(()) => self.take(&plan),
            Err(error) => {
                self.layers.not_saved(&error);
                // Only what is frozen already is sent; nothing new is begun.
                plan = Plan::default();
            }
        }
        // A retry is sent in the bytes of the first attempt.
        if is_retry {
            plan.due = self.slot.line().unanswered(&self.body, &self.seen);
        }
        let (due, again) = (std::mem::take(&mut plan.due), plan.again);
        let Some(compact) = plan.compact else {
            return Step::Send(Box::new(self.composed(due, again, None)));
        };
        let question = {
            let line = self.slot.line();
            ask(&self.body, &self.seen, &line, compact.tail, &self.around())
        };
        let mut question = match question {
            Ok(question) => question,
            Err(why) => {
                tracing::debug!(%why, "not compacted");
                return Step::Send(Box::new(self.composed(due, again, None)));
            }
        };
        let body = question.body.take();
        let task = Task {
            request: self,
            ask: question,
            forced: compact.forced,
            due,
            again,
        };
        match body {
            Some(body) => Step::Ask(Box::new(task), body),
            None if task.forced => Step::Send(Box::new(task.answered(None))),
            None => Step::Send(Box::new(task.request.composed(task.due, again, None))),
        }
    }

    /// Takes the records of a plan, which are durable.
    fn take(&self, plan: &Plan) {
        let counts = &self.layers.counts;
        let mut line = self.slot.line();
        for record in &plan.records {
            if let Record::Replaced(one) = record {
                let count = match one.form {
                    dormouse_rewrite::Form::Offloaded => &counts.offloaded,
                    dormouse_rewrite::Form::Distilled => &counts.distilled,
                    dormouse_rewrite::Form::Cleared => &counts.cleared,
                };
                count.fetch_add(1, Ordering::Relaxed);
            }
            line.apply(record.clone());
        }
    }

    fn composed(self, due: Vec<Due>, again: u32, beside: Option<TokenUsage>) -> Prepared {
        let mut line = self.slot.line();
        let composed = compose(&self.body, &self.seen, &line, &due, &self.around());
        line.sending(&due, composed.marked);
        drop(line);
        Prepared {
            body: composed.body.clone(),
            reads: composed
                .acts
                .has(Act::Read)
                .then_some(self.slot.conversation),
            acts: composed.acts.clone(),
            beside,
            expected: Some(Expected {
                layers: self.layers,
                slot: self.slot,
                composed: Composed {
                    // The bytes are not needed for the answer.
                    body: Bytes::new(),
                    ..composed
                },
                due,
                again,
                beside,
            }),
        }
    }
}

impl Layers {
    /// Counts texts that a model opened.
    pub(crate) fn count_reads(&self, reads: u32) {
        let read = &self.counts.read;
        read.fetch_add(u64::from(reads), Ordering::Relaxed);
    }

    /// Counts words that memories were recalled for.
    pub(crate) fn count_recalled(&self) {
        self.counts.recalled.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a record that the disk did not take.
    pub(crate) fn count_unsaved(&self) {
        self.counts.unsaved.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn not_saved(&self, error: &FileError) {
        self.count_unsaved();
        tracing::warn!(%error, "a rewrite could not be saved and is not made");
    }
}

impl Task {
    /// Ends the compaction with the answer, or without one, and writes the body.
    pub fn answered(self, answer: Option<&Observed>) -> Prepared {
        let request = &self.request;
        let whole = answer.filter(|answer| answer.stop.is_some());
        let mut records = Vec::new();
        let made = {
            let line = request.slot.line();
            let (body, seen) = (&request.body, &request.seen);
            let around = request.around();
            let by_model =
                whole.map(|answer| boundary(body, seen, &line, &self.ask, &answer.blocks, &around));
            match by_model {
                Some(Ok(made)) => Some(made),
                failed => {
                    if let Some(Err(why)) = failed {
                        tracing::info!(%why, "no summary by the model");
                    }
                    records.push(Record::Failed);
                    // While there is room, a model that answers again is worth waiting for.
                    let made = self
                        .forced
                        .then(|| without_model(body, seen, &line, &self.ask, &around));
                    made.and_then(|made| {
                        made.inspect_err(|why| tracing::info!(%why, "not compacted"))
                            .ok()
                    })
                }
            }
        };
        let beside = answer.map(|answer| answer.billed);
        request.commit(made, records);
        self.request.composed(self.due, self.again, beside)
    }
}

impl Request {
    /// Makes a boundary durable, and the failures before it.
    fn commit(&self, made: Option<Compaction>, mut records: Vec<Record>) {
        let mut saves = Vec::new();
        let is_made = made.is_some();
        if let Some(made) = made {
            tracing::info!(
                conversation = %self.slot.conversation,
                blocks = made.boundary.upto,
                before = made.boundary.before.0,
                after = made.boundary.after.0,
                "compacted"
            );
            saves.extend(made.save);
            records.push(Record::Boundary(made.boundary));
        }
        match self
            .layers
            .lines
            .keep(self.slot.conversation, &saves, &records)
        {
            Ok(()) => {
                let mut line = self.slot.line();
                for record in records {
                    line.apply(record);
                }
                let compacted = &self.layers.counts.compacted;
                compacted.fetch_add(u64::from(is_made), Ordering::Relaxed);
            }
            Err(error) => self.layers.not_saved(&error),
        }
    }
}
