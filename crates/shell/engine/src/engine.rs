//! The engine: one loop around a driver.
//!
//! # Model
//! `select!` builds an input; the driver handles it; its effects are started. Every effect is a
//! task of its own that ends in one outcome. Nothing here decides: an executor takes an effect
//! apart, calls a port and puts the answer into an outcome.
//!
//! An engine moves only while a caller awaits [`Engine::reply`]; tasks go on meanwhile, and their
//! outcomes wait. Dropping the engine drops its tasks: requests are cancelled with their streams.
//!
//! # Not here
//! Decisions (`dormouse-drive`), the work of an effect (`execute`), commands for callers
//! ([`crate::Session`]).

use crate::execute::{Executor, Outgoing};
use crate::subscribe::{Subscribers, Subscription, Told};
use dormouse_core::record::Record;
use dormouse_core::settings::Settings;
use dormouse_core::units::Millis;
use dormouse_drive::{
    Command, CommandId, DriveError, Driver, Effect, EffectId, EffectOutcome, Input, Reply,
    ToolCall, Work,
};
use dormouse_model::ModelError;
use dormouse_system::Clock;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// A question that waits for a person.
#[derive(Debug)]
pub struct Question {
    /// Call that waits for permission.
    pub call: ToolCall,
    /// The question, for people.
    pub text: String,
}

/// A person's word on a call.
#[derive(Clone, Debug, Default)]
pub struct PersonAnswer {
    /// True if the call may run.
    pub allowed: bool,
    /// Explanation for the model, if the call was refused.
    pub words: Option<String>,
    /// Input in place of the model's.
    pub input: Option<serde_json::Value>,
}

/// A driver on tokio.
#[derive(Debug)]
pub struct Engine {
    driver: Driver,
    executor: Executor,
    clock: Arc<dyn Clock>,
    runtime: Handle,
    tasks: JoinSet<EffectOutcome>,
    effects: HashMap<tokio::task::Id, EffectId>,
    stops: HashMap<EffectId, oneshot::Sender<()>>,
    /// Effects that only wait for a disk; [`Engine::settle_disk`] waits for these.
    on_disk: HashSet<EffectId>,
    questions: HashMap<EffectId, Question>,
    /// Records of the append under way, told to subscribers once they are stored.
    appending: Option<(EffectId, Arc<[Record]>)>,
    outgoing: mpsc::UnboundedReceiver<Outgoing>,
    replies: HashMap<CommandId, Result<Reply, DriveError>>,
    /// Tools that wait until a record of theirs is stored.
    recording: HashMap<CommandId, Option<std::sync::mpsc::Sender<bool>>>,
    commands: u64,
    /// The error behind the last request of the conversation that failed.
    model_error: Option<ModelError>,
    /// Records that a watcher has not dealt with yet.
    watched: Option<Vec<Record>>,
    subscribers: Subscribers,
    /// Time that the driver has taken since it was last asked for.
    spent: Duration,
}

impl Engine {
    /// Runs a driver with an executor, inside a tokio runtime.
    pub(crate) fn new(
        driver: Driver,
        executor: Executor,
        outgoing: mpsc::UnboundedReceiver<Outgoing>,
    ) -> Self {
        let mut engine = Self {
            clock: Arc::clone(&executor.ports.system.clock),
            subscribers: executor.subscribers.clone(),
            driver,
            executor,
            runtime: Handle::current(),
            tasks: JoinSet::new(),
            effects: HashMap::new(),
            stops: HashMap::new(),
            on_disk: HashSet::new(),
            questions: HashMap::new(),
            appending: None,
            outgoing,
            replies: HashMap::new(),
            recording: HashMap::new(),
            commands: 0,
            model_error: None,
            watched: None,
            spent: Duration::ZERO,
        };
        // Opening may have queued effects already: the session record, a repair.
        engine.carry_out();
        engine
    }

    /// The driver, to look at.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Time that the driver's decisions have taken since the last call: planning, folding records,
    /// making bytes. Ports are not in it.
    pub fn take_time(&mut self) -> Duration {
        std::mem::take(&mut self.spent)
    }

    /// Subscribes to events from here on. A subscriber that lags gets a snapshot.
    pub fn subscribe(&self) -> Subscription {
        self.subscribers.subscribe()
    }

    /// Questions that wait for a person, with the effect to answer.
    pub fn questions(&self) -> impl Iterator<Item = (EffectId, &Question)> {
        self.questions.iter().map(|(id, question)| (*id, question))
    }

    /// A person's word on a call.
    pub fn answer(&mut self, id: EffectId, answer: PersonAnswer) {
        // Answered once: a second click finds no question and changes nothing.
        if self.questions.remove(&id).is_some() {
            let outcome = EffectOutcome::PersonSaid {
                allowed: answer.allowed,
                words: answer.words,
                input: answer.input,
            };
            self.tell(Input::Ended(id, Box::new(outcome)));
        }
    }

    /// Gives a command. Its reply is waited for with [`Engine::reply`].
    pub fn command(&mut self, command: Command) -> CommandId {
        self.commands += 1;
        let id = CommandId(self.commands);
        // An error of an earlier command must not be reported for this one.
        self.model_error = None;
        self.tell(Input::Command(id, Box::new(command)));
        id
    }

    /// Uses these settings from now on.
    pub fn set_settings(&mut self, settings: Arc<Settings>) {
        // Compared by pointer: a source that returns the same value costs no replanning.
        if !Arc::ptr_eq(&settings, &self.driver.settings().raw) {
            self.tell(Input::Settings(settings));
        }
    }

    /// Stops the turn and everything that runs for it.
    pub fn cancel(&mut self) {
        self.tell(Input::Cancel);
    }

    /// Runs until a command is answered. Cancel-safe: a dropped future loses nothing.
    pub async fn reply(&mut self, id: CommandId) -> Option<Result<Reply, DriveError>> {
        loop {
            if let Some(reply) = self.replies.remove(&id) {
                return Some(reply);
            }
            if !self.step().await {
                return None;
            }
        }
    }

    /// The reply to a command, if it is there.
    pub fn take_reply(&mut self, id: CommandId) -> Option<Result<Reply, DriveError>> {
        self.replies.remove(&id)
    }

    /// Waits for the next thing that happens and handles it; `false` if nothing is under way.
    /// Cancel-safe: a dropped future loses nothing.
    pub async fn advance(&mut self) -> bool {
        self.step().await
    }

    /// Ends every task and waits until it is gone: a log is free to be opened again afterwards.
    pub(crate) async fn shut_down(&mut self) {
        self.tasks.shutdown().await;
    }

    /// Runs until nothing is under way.
    pub async fn settle(&mut self) {
        while !self.driver.is_idle() && self.step().await {}
    }

    /// Runs until no effect waits for a disk. Without a task of its own an engine only moves while
    /// it is awaited; this way requests in the background have left before the caller goes on.
    pub(crate) async fn settle_disk(&mut self) {
        while !self.on_disk.is_empty() && self.step().await {}
        if !self.tasks.is_empty() {
            // Once, so that a request started just now reaches the network before the caller
            // blocks.
            tokio::task::yield_now().await;
        }
    }

    /// Runs until every record emitted so far is stored.
    pub(crate) async fn settle_appends(&mut self) {
        let (head, _) = self.driver.heads();
        while self.driver.heads().1 < head && self.step().await {}
    }

    /// Waits for the next thing that happens and handles it. `false`: nothing is under way.
    async fn step(&mut self) -> bool {
        let wake = self.driver.wake_at();
        // Questions count as waiting: the person may take hours, and the turn is not over.
        let waits = !self.tasks.is_empty() || wake.is_some() || !self.questions.is_empty();
        if !waits {
            return false;
        }
        // Zero for a moment that has passed: the timer then fires at once.
        let pause = wake.map(|wake| Duration::from_millis(wake.since(self.clock.now())));
        let input = tokio::select! {
            biased;
            // Before outcomes: events that a task sent before it ended come before its end.
            Some(outgoing) = self.outgoing.recv() => self.incoming(outgoing),
            Some(done) = self.tasks.join_next_with_id() => {
                let (task, outcome) = match done {
                    Ok((task, outcome)) => (task, outcome),
                    // A port that panicked ends its effect, not the conversation.
                    Err(error) => (error.id(), EffectOutcome::Cancelled),
                };
                // Every task has an effect; a missing one would be a bug, and its outcome belongs
                // to nothing.
                self.effects.remove(&task).map(|id| {
                    self.stops.remove(&id);
                    self.on_disk.remove(&id);
                    self.told_stored(id, &outcome);
                    Input::Ended(id, Box::new(outcome))
                })
            }
            () = sleep(pause) => Some(Input::Wake),
        };
        match input {
            Some(Input::Wake) => {
                // A clock that lags behind the timer must not make the driver wait for ever: it
                // would be woken too early again and again.
                let now = wake.map_or(self.clock.now(), |wake| self.clock.now().max(wake));
                self.tell_at(now, Input::Wake);
            }
            Some(input) => self.tell(input),
            None => {}
        }
        true
    }

    /// Tells subscribers the records of an append that went well.
    fn told_stored(&mut self, id: EffectId, outcome: &EffectOutcome) {
        let Some((_, records)) = self.appending.take_if(|(appending, _)| *appending == id) else {
            return;
        };
        if matches!(outcome, EffectOutcome::Appended(Ok(()))) {
            self.subscribers.tell(&Told::Stored(records));
        }
    }

    fn incoming(&mut self, outgoing: Outgoing) -> Option<Input> {
        match outgoing {
            Outgoing::Stream(id, event) => Some(Input::Stream(id, event)),
            Outgoing::Failed(error) => {
                self.model_error = Some(error);
                None
            }
            Outgoing::Note(change, waits) => {
                self.commands += 1;
                let id = CommandId(self.commands);
                self.recording.insert(id, waits);
                Some(Input::Command(id, Box::new(Command::Note(change))))
            }
            Outgoing::Account(reports) => {
                self.commands += 1;
                let id = CommandId(self.commands);
                self.recording.insert(id, None);
                Some(Input::Command(id, Box::new(Command::Account(reports))))
            }
        }
    }

    pub(crate) fn tell(&mut self, input: Input) {
        let now = self.clock.now();
        self.tell_at(now, input);
    }

    fn tell_at(&mut self, now: Millis, input: Input) {
        tracing::trace!(input = input_name(&input), "handle");
        let begun = self.clock.ticks();
        self.driver.handle(now, input);
        self.spent += self.clock.ticks().since(begun);
        self.carry_out();
    }

    /// The driver's next effect.
    fn poll(&mut self) -> Option<Effect> {
        let begun = self.clock.ticks();
        let effect = self.driver.poll();
        self.spent += self.clock.ticks().since(begun);
        effect
    }

    /// Starts every effect the driver has.
    fn carry_out(&mut self) {
        while let Some(effect) = self.poll() {
            match effect {
                Effect::Do(id, work) => self.start(id, work),
                Effect::Stop(id) => self.stop(id),
                Effect::Reply(id, reply) => match self.recording.remove(&id) {
                    Some(waits) => {
                        // A tool that has given up waiting has left its file as it is.
                        waits.map(|waits| waits.send(reply.is_ok()).ok());
                    }
                    None => {
                        self.replies.insert(id, reply);
                    }
                },
                Effect::Tell(notice) => {
                    self.subscribers.tell(&Told::Notice(notice.clone()));
                    (self.executor.ports.notices)(notice);
                }
                Effect::TurnOver => self.executor.ports.companion.on_end(),
            }
        }
        // After all effects, so that the snapshot shows the state they led to.
        self.subscribers.look(|| self.driver.snapshot());
    }

    fn start(&mut self, id: EffectId, work: Work) {
        tracing::debug!(effect = id.0, work = work_name(&work), "start");
        match work {
            Work::AskPerson { call, question } => {
                let question = Question {
                    call: *call,
                    text: question,
                };
                self.subscribers
                    .tell(&Told::Question(id, question.text.clone()));
                self.questions.insert(id, question);
            }
            work => {
                // Taken at the start of the append, not at its end: a watcher sees each record
                // once, in order.
                if let (Work::Append(batch), Some(watched)) = (&work, &mut self.watched) {
                    watched.extend(batch.records.iter().cloned());
                }
                match &work {
                    Work::Append(batch) if self.subscribers.are_there() => {
                        self.appending = Some((id, batch.records.iter().cloned().collect()));
                    }
                    Work::RunTool(call) => {
                        self.subscribers.tell(&Told::Started(call.id.clone()));
                    }
                    _ => {}
                }
                if is_on_disk(&work) {
                    self.on_disk.insert(id);
                }
                let (stop, stopped) = oneshot::channel();
                self.stops.insert(id, stop);
                let task = self.executor.run(id, work, stopped);
                let task = self.tasks.spawn_on(task, &self.runtime);
                self.effects.insert(task.id(), id);
            }
        }
    }

    fn stop(&mut self, id: EffectId) {
        // A question has no task that could notice the stop, so its end is told here.
        if self.questions.remove(&id).is_some() {
            self.tell(Input::Ended(id, Box::new(EffectOutcome::Cancelled)));
        } else if let Some(stop) = self.stops.remove(&id) {
            // A task that has ended meanwhile has its outcome on the way.
            stop.send(()).ok();
        }
    }

    /// The error behind the last request that failed.
    pub(crate) fn take_model_error(&mut self) -> Option<ModelError> {
        // The error may still wait in the channel behind events of the same request.
        while let Ok(outgoing) = self.outgoing.try_recv() {
            if let Some(input) = self.incoming(outgoing) {
                self.tell(input);
            }
        }
        self.model_error.take()
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    pub(crate) fn watched(&mut self) -> &mut Option<Vec<Record>> {
        &mut self.watched
    }

    pub(crate) fn watched_records(&self) -> &[Record] {
        self.watched.as_deref().unwrap_or_default()
    }
}

async fn sleep(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

fn input_name(input: &Input) -> &'static str {
    match input {
        Input::Command(..) => "command",
        Input::Ended(..) => "ended",
        Input::Stream(..) => "stream",
        Input::Settings(_) => "settings",
        Input::Wake => "wake",
        Input::Cancel => "cancel",
    }
}

fn is_on_disk(work: &Work) -> bool {
    matches!(
        work,
        Work::Append(_) | Work::Save(_) | Work::ReadNotes | Work::ReadLog | Work::Restore { .. }
    )
}

fn work_name(work: &Work) -> &'static str {
    match work {
        Work::Append(_) => "append",
        Work::Save(_) => "save",
        Work::ReadNotes => "read-notes",
        Work::ReadLog => "read-log",
        Work::Ask(_) => "ask",
        Work::RunTool(_) => "run-tool",
        Work::AskPerson { .. } => "ask-person",
        Work::Hooks(_) => "hooks",
        Work::Restore { .. } => "restore",
        Work::Recall(_) => "recall",
        Work::Spawn(_) => "spawn",
    }
}
