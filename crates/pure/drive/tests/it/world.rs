//! Test interpreter: pending effects end in an order chosen by a seed.

use crate::model::{Model, UnderWay, billed};
use crate::stores::Store;
use crate::tools;
use bytes::Bytes;
use dormouse_context::compaction::{RestoredKind, RestoredPart};
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_core::record::{Batch, FragmentKind, Message};
use dormouse_core::settings::Settings;
use dormouse_core::units::Millis;
use dormouse_core::usage::TokenUsage;
use dormouse_drive::{
    Command, CommandId, Config, DriveError, Driver, Effect, EffectId, EffectOutcome, ForkReport,
    HookAnswer, HookPoint, Injection, Input, NotesFiles, Notice, RecallMoment, Reply, SaveFile,
    SavePlace, ToolCall, When, Work,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Time at which every world begins; any fixed value works.
pub(crate) const START: Millis = Millis(1_770_000_000_000);

/// Pseudo-random numbers from a seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let mixed = usize::try_from((mixed ^ (mixed >> 31)) >> 33).unwrap();
        mixed % limit.max(1)
    }
}

/// Fault that hits a driver right after one of its effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blow {
    Cancel,
    /// Kill: everything that the store has not confirmed is lost.
    Kill,
    /// Kill after the write: the last batch is on disk, its confirmation is lost.
    KillWritten,
}

/// Effect that was emitted and has not ended.
#[derive(Debug)]
pub(crate) enum Pending {
    Append(Batch),
    Ask(Box<UnderWay>),
    Tool(Box<ToolCall>),
    /// Read of the log, executed when the effect ends.
    ReadLog,
    /// Read of the notes, executed when the effect ends.
    ReadNotes,
    Save(Vec<SaveFile>),
    Child(Box<Driver>),
    Ends(EffectOutcome),
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) driver: Driver,
    pub(crate) store: Box<dyn Store>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) model: Model,
    pub(crate) now: Millis,
    pub(crate) dice: Dice,
    /// Effects under way: name, id, work.
    pub(crate) pending: Vec<(String, EffectId, Pending)>,
    /// Name prefixes of effects that do not end until they are released.
    pub(crate) held: Vec<&'static str>,
    stopped: BTreeSet<EffectId>,
    pub(crate) files: BTreeMap<PathBuf, Bytes>,
    /// Number of runs of each call.
    pub(crate) runs: BTreeMap<CallId, usize>,
    /// Calls whose tool has reported its result to the current driver.
    pub(crate) ended: BTreeSet<CallId>,
    pub(crate) replies: BTreeMap<CommandId, Vec<Result<Reply, DriveError>>>,
    pub(crate) notices: Vec<Notice>,
    /// Answers of hooks, by the name of their moment; others say nothing.
    pub(crate) hooks: BTreeMap<&'static str, HookAnswer>,
    /// Moments at which hooks ran.
    pub(crate) hooked: Vec<&'static str>,
    /// Tokens of the answers that were reported to a driver.
    pub(crate) billed: TokenUsage,
    /// Number of effects emitted so far.
    pub(crate) handed: usize,
    /// Effect after which the fault occurs.
    pub(crate) blow: Option<(usize, Blow)>,
    pub(crate) kills: usize,
    /// True if inputs and effects are traced: formatting them costs more than the driver.
    pub(crate) records: bool,
    /// Trace of everything the driver received and emitted.
    pub(crate) inputs: Vec<(Millis, Input)>,
    pub(crate) trace: Vec<String>,
    commands: u64,
}

impl World {
    pub(crate) fn new(store: Box<dyn Store>, settings: &[&str], seed: u64) -> Self {
        Self::with(tools::config(), store, settings, seed)
    }

    pub(crate) fn with(
        config: Config,
        store: Box<dyn Store>,
        settings: &[&str],
        seed: u64,
    ) -> Self {
        let settings = tools::settings(settings);
        let now = START;
        let opened = Driver::open(config, Arc::clone(&settings), store.start(), now);
        Self {
            driver: opened.unwrap().0,
            store,
            settings,
            model: Model::default(),
            now,
            dice: Dice(seed),
            pending: Vec::new(),
            held: Vec::new(),
            stopped: BTreeSet::new(),
            files: BTreeMap::new(),
            runs: BTreeMap::new(),
            ended: BTreeSet::new(),
            replies: BTreeMap::new(),
            notices: Vec::new(),
            hooks: BTreeMap::new(),
            hooked: Vec::new(),
            billed: TokenUsage::default(),
            handed: 0,
            blow: None,
            kills: 0,
            records: false,
            inputs: Vec::new(),
            trace: Vec::new(),
            commands: 0,
        }
    }

    /// Gives a command without waiting for its reply.
    pub(crate) fn give(&mut self, command: Command) -> CommandId {
        self.commands += 1;
        let id = CommandId(self.commands);
        self.tell(Input::Command(id, Box::new(command)));
        id
    }

    pub(crate) fn prompt(&mut self, text: &str, when: When) -> CommandId {
        let content = vec![Block::text(text)];
        self.give(Command::Prompt { content, when })
    }

    pub(crate) fn say(&mut self, text: &str) -> CommandId {
        self.give(Command::Say(Message::user(vec![Block::text(text)])))
    }

    /// Single reply to a command.
    pub(crate) fn reply(&self, id: CommandId) -> &Result<Reply, DriveError> {
        match self.replies.get(&id).map(Vec::as_slice) {
            Some([reply]) => reply,
            other => panic!("{id:?} has no single reply: {other:?}"),
        }
    }

    /// Passes an input to the driver and takes its effects.
    pub(crate) fn tell(&mut self, input: Input) {
        self.now = self.now.after(10);
        if self.records {
            self.inputs.push((self.now, input.clone()));
        }
        self.driver.handle(self.now, input);
        self.take();
    }

    pub(crate) fn take(&mut self) {
        while let Some(effect) = self.driver.poll() {
            self.handed += 1;
            if self.records {
                self.trace.push(format!("{effect:?}"));
            }
            self.carry_out(effect);
            match self.blow {
                Some((at, blow)) if at == self.handed => self.strike(blow),
                _ => {}
            }
        }
    }

    fn strike(&mut self, blow: Blow) {
        self.blow = None;
        match blow {
            Blow::Cancel => self.tell(Input::Cancel),
            Blow::Kill => self.kill(false),
            Blow::KillWritten => self.kill(true),
        }
    }

    /// Drops the driver and opens the log again.
    pub(crate) fn kill(&mut self, written: bool) {
        for (_, _, pending) in std::mem::take(&mut self.pending) {
            if let (Pending::Append(batch), true) = (pending, written) {
                self.store.append(&batch).unwrap();
            }
        }
        self.kills += 1;
        self.stopped.clear();
        self.ended.clear();
        self.store.killed();
        let mut config = self.driver.config().clone();
        // Two openings of one log must not give two records the same id.
        config.seed += 1;
        let settings = Arc::clone(&self.settings);
        let opened = Driver::open(config, settings, self.store.start(), self.now);
        self.driver = opened.unwrap().0;
        self.take();
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Do(id, work) => {
                let (name, pending) = self.begun(work);
                self.pending.push((name, id, pending));
            }
            Effect::Stop(id) => drop(self.stopped.insert(id)),
            Effect::Reply(id, reply) => self.replies.entry(id).or_default().push(reply),
            Effect::Tell(notice) => self.notices.push(notice),
            Effect::TurnOver => {}
        }
    }

    fn begun(&mut self, work: Work) -> (String, Pending) {
        match work {
            Work::Append(batch) => ("append".to_owned(), Pending::Append(batch)),
            Work::Save(files) => ("save".to_owned(), Pending::Save(files)),
            Work::ReadNotes => ("notes".to_owned(), Pending::ReadNotes),
            Work::ReadLog => ("log".to_owned(), Pending::ReadLog),
            Work::Ask(ask) => {
                let name = format!("ask {:?}", ask.purpose);
                (name, Pending::Ask(Box::new(self.model.ask(&ask))))
            }
            Work::RunTool(call) => {
                *self.runs.entry(call.id.clone()).or_default() += 1;
                (format!("tool {}", call.id), Pending::Tool(call))
            }
            Work::AskPerson { call, .. } => {
                let allowed = call.id.as_str().ends_with('0');
                let said = EffectOutcome::PersonSaid {
                    allowed,
                    words: None,
                    input: None,
                };
                (format!("person {}", call.id), Pending::Ends(said))
            }
            Work::Hooks(point) => {
                let name = moment(&point);
                let answer = self.hooks.get(name).cloned().unwrap_or_default();
                self.hooked.push(name);
                (
                    format!("hooks {name}"),
                    Pending::Ends(EffectOutcome::HooksRan(answer)),
                )
            }
            Work::Restore { files } => {
                let parts = files.into_iter().take(1).map(|name| RestoredPart {
                    kind: RestoredKind::File,
                    text: format!("Content of {name}"),
                    name,
                });
                let parts = parts.collect();
                let restored = EffectOutcome::Restored {
                    parts,
                    prefix: None,
                };
                ("restore".to_owned(), Pending::Ends(restored))
            }
            Work::Recall(moment) => {
                let recalled = EffectOutcome::Recalled(recalled(&moment));
                ("recall".to_owned(), Pending::Ends(recalled))
            }
            Work::Spawn(child) => ("child".to_owned(), Pending::Child(child)),
        }
    }

    /// Delivers outcomes until nothing is under way that is not held.
    pub(crate) fn settle(&mut self) {
        for _ in 0..100_000 {
            let held = &self.held;
            let free = |name: &str| !held.iter().any(|held| name.starts_with(held));
            let ready: Vec<usize> = (0..self.pending.len())
                .filter(|at| free(&self.pending[*at].0))
                .collect();
            if ready.is_empty() {
                let Some(until) = self.driver.wake_at() else {
                    return;
                };
                self.now = self.now.max(until);
                self.tell(Input::Wake);
                continue;
            }
            let early = |at: &&usize| self.pending[**at].0 != "append";
            let early: Vec<usize> = ready.iter().filter(early).copied().collect();
            let ready = if self.store.is_late() && !early.is_empty() {
                early
            } else {
                ready
            };
            let at = ready[self.dice.below(ready.len())];
            self.step(at);
        }
        panic!("the driver never comes to rest");
    }

    /// Ends the first effect whose name has this prefix.
    pub(crate) fn end_one(&mut self, name: &str) {
        let is_named = |(each, ..): &(String, EffectId, Pending)| each.starts_with(name);
        let at = self.pending.iter().position(is_named);
        self.step(at.unwrap());
    }

    /// Ends the effects whose name has this prefix, in the order of their emission.
    pub(crate) fn end(&mut self, name: &str) {
        while let Some(at) = self
            .pending
            .iter()
            .position(|(each, ..)| each.starts_with(name))
        {
            self.step(at);
        }
    }

    /// Delivers one event of one effect.
    pub(crate) fn step(&mut self, at: usize) {
        let (_, id, pending) = &mut self.pending[at];
        let id = *id;
        let stopped = self.stopped.contains(&id);
        if let Pending::Ask(ask) = pending
            && !stopped
            && let Some(event) = ask.event()
        {
            self.tell(Input::Stream(id, event));
            return;
        }
        let (_, _, pending) = self.pending.swap_remove(at);
        // A stop that arrives too late has no effect.
        let stopped = stopped && self.dice.below(3) > 0;
        let outcome = self.ended(pending, stopped);
        self.tell(Input::Ended(id, Box::new(outcome)));
    }

    fn ended(&mut self, pending: Pending, stopped: bool) -> EffectOutcome {
        match pending {
            Pending::Append(batch) => EffectOutcome::Appended(self.store.append(&batch)),
            Pending::Ask(ask) => {
                let end = if stopped {
                    Err(ask.stopped())
                } else {
                    ask.end()
                };
                self.billed += billed(&end);
                EffectOutcome::Answered(end)
            }
            Pending::Tool(_) if stopped => EffectOutcome::ToolStopped,
            Pending::Tool(call) => {
                self.ended.insert(call.id.clone());
                EffectOutcome::ToolEnded {
                    output: Box::new(tools::run(&call)),
                    digest: None,
                }
            }
            Pending::ReadLog => EffectOutcome::LogRead(Ok(self.store.records())),
            Pending::ReadNotes => EffectOutcome::NotesRead(NotesFiles {
                notes: self.notes(),
                ..NotesFiles::default()
            }),
            Pending::Save(files) => {
                for SaveFile { place, bytes } in files {
                    if let SavePlace::File(path) = place {
                        self.files.insert(path, bytes);
                    }
                }
                EffectOutcome::Saved(Ok(()))
            }
            Pending::Child(_) | Pending::Ends(_) if stopped => EffectOutcome::Cancelled,
            Pending::Child(child) => EffectOutcome::ChildEnded(Box::new(self.run_child(*child))),
            Pending::Ends(outcome) => outcome,
        }
    }

    fn notes(&self) -> Option<String> {
        let bytes = self.files.get(&self.driver.config().place.notes())?;
        Some(String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// Runs a child to its end, one effect after the other.
    pub(crate) fn run_child(&mut self, mut child: Driver) -> ForkReport {
        let mut answer = Err(DriveError::Cancelled);
        let mut inputs = vec![Input::Wake];
        while let Some(input) = inputs.pop() {
            child.handle(self.now, input);
            while let Some(effect) = child.poll() {
                let Effect::Do(id, work) = effect else {
                    if let Effect::Reply(_, Ok(Reply::TurnEnded { response, .. })) = effect {
                        answer = Ok(response);
                    }
                    continue;
                };
                let (_, pending) = self.begun(work);
                let outcome = self.ended(pending, false);
                inputs.insert(0, Input::Ended(id, Box::new(outcome)));
            }
        }
        ForkReport {
            answer,
            usage: child.usage().to_vec(),
        }
    }
}

/// Recall that finds a memory for every prompt that asks for one.
fn recalled(moment: &RecallMoment) -> Vec<Injection> {
    match moment {
        RecallMoment::Prompt { words, seen } if words.contains("remember") => {
            let name = format!("memory-{}", seen.memories.len());
            vec![Injection {
                kind: FragmentKind::Memory,
                text: format!("<memory>{name}</memory>"),
                memories: vec![(name, 30)],
            }]
        }
        _ => Vec::new(),
    }
}

/// Name of a moment at which hooks run.
fn moment(point: &HookPoint) -> &'static str {
    match point {
        HookPoint::BeforeCompaction { .. } => "before",
        HookPoint::AfterCompaction { .. } => "after",
        HookPoint::Prompt { .. } => "prompt",
        HookPoint::Call { .. } => "call",
        HookPoint::Result { .. } => "result",
        HookPoint::Stop { .. } => "stop",
    }
}
