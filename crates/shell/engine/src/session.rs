//! A session: a thin face on an engine, for hosts that embed one.
//!
//! Each method gives one command and waits for its reply. Dropping the future of a turn cancels the
//! turn; everything that arrived before is kept.

use crate::engine::Engine;
use crate::error::EngineError;
use crate::execute::{Executor, MOST_OF_LESSONS, blocking};
use crate::ports::{Catalog, HookPoints};
use crate::recorder::Recorder;
use crate::setup::{Ports, SessionConfig, SessionPlace, SettingsSource};
use crate::subscribe::{Subscribers, Subscription};
use bytes::Bytes;
use dormouse_ask::{Params, Response};
use dormouse_context::compaction;
use dormouse_context::conversation::Conversation;
use dormouse_context::offload::ToolOutput;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::record::{Message, Record, StateChange, UsageReport};
use dormouse_core::units::Tokens;
use dormouse_drive::{
    Command, CommandId, CompactWish, Config, DriveError, Driver, Injection, LogStart, Opened,
    Reply, Role, SessionFiles, Snapshot, SwitchModel, When,
};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// End of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd {
    /// The answer of the last request.
    pub response: Box<Response>,
    /// Number of requests the turn took.
    pub requests: usize,
}

/// A session. See the module documentation.
pub struct Session {
    pub(crate) engine: Engine,
    pub(crate) settings: SettingsSource,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}

/// Cancels a turn whose future is dropped before it has ended.
struct Attended<'a> {
    engine: &'a mut Engine,
    over: bool,
}

impl Drop for Attended<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.engine.cancel();
        }
    }
}

impl Session {
    /// Opens a session: a new one if its log is empty, else where it stopped.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn open(
        ports: Ports,
        place: SessionPlace,
        config: SessionConfig,
    ) -> Result<(Self, Opened), EngineError> {
        let mut log = ports.log.start().await?;
        let drive_place = SessionFiles {
            log: place.log,
            folder: place.folder,
            project: place.project,
        };
        let (prefix, lessons) = beside_the_log(&ports, &log, drive_place.lessons()).await;
        log.recorded.prefix = prefix;
        // From a fresh id: record ids and jitter of two openings must differ.
        let seed = Hash::of(ports.system.ids.fresh().as_bytes()).to_string();
        let drive = Config {
            session: place.session,
            place: drive_place.clone(),
            line: config.line,
            capabilities: ports.asker.capabilities(&config.model),
            model: config.model,
            models: config.models,
            params: config.params,
            prefix: config.prefix,
            policy: config.policy,
            window: config.window,
            tools: Arc::new(Catalog(Arc::clone(&ports.tools))),
            judge: config.judge,
            role: Role::Main,
            most_requests: config.most_requests,
            continuations: config.continuations,
            retry: config.retry,
            fallback: config.fallback,
            hooks: Arc::new(HookPoints(Arc::clone(&ports.hooks))),
            turn_facts: config.turn_facts,
            budget: config.budget,
            recall: ports.companion.speaks(),
            lessons,
            explain: config.explain,
            seed: u64::from_str_radix(&seed[..16], 16).unwrap_or_default(),
        };
        let settings = Arc::clone(&ports.settings);
        let now = ports.system.clock.now();
        let (driver, opened) = Driver::open(drive, settings(), log, now)?;
        let (outgoing, incoming) = mpsc::unbounded_channel();
        let executor = Executor {
            ports: Arc::new(ports),
            place: drive_place,
            home: place.home,
            outgoing,
            subscribers: Subscribers::default(),
            child_tools: None,
        };
        let mut session = Self {
            engine: Engine::new(driver, executor, incoming),
            settings,
        };
        // An empty command: a log that cannot be begun, or a prefix that cannot be saved, fails
        // here and not in the first turn.
        session.note_begun().await?;
        Ok((session, opened))
    }

    async fn note_begun(&mut self) -> Result<(), EngineError> {
        let id = self.engine.command(Command::Account(Vec::new()));
        self.wait(id).await.map(drop)
    }

    async fn wait(&mut self, id: CommandId) -> Result<Reply, EngineError> {
        let reply = self.engine.reply(id).await;
        self.answered(reply).await
    }

    async fn answered(
        &mut self,
        reply: Option<Result<Reply, DriveError>>,
    ) -> Result<Reply, EngineError> {
        // Before the reply is judged: an error must not leave records on their way to the disk.
        self.engine.settle_disk().await;
        // No reply: nothing was under way any more that could have answered.
        let reply = reply.ok_or(EngineError::Ended)?;
        self.judged(reply)
    }

    pub(crate) fn judged(
        &mut self,
        reply: Result<Reply, DriveError>,
    ) -> Result<Reply, EngineError> {
        reply.map_err(|error| match error {
            DriveError::Model(failure) => match self.engine.take_model_error() {
                Some(error) => EngineError::Model(error),
                None => EngineError::Unanswered(failure),
            },
            error => error.into(),
        })
    }

    pub(crate) async fn run(&mut self, command: Command) -> Result<Reply, EngineError> {
        self.engine.set_settings((self.settings)());
        let id = self.engine.command(command);
        self.wait(id).await
    }

    /// Runs a command whose future, when it is dropped, cancels it.
    async fn attend(&mut self, command: Command) -> Result<Reply, EngineError> {
        self.engine.set_settings((self.settings)());
        let id = self.engine.command(command);
        let mut attended = Attended {
            engine: &mut self.engine,
            over: false,
        };
        let reply = attended.engine.reply(id).await;
        // Only now: if this future is dropped while it waits, the guard cancels the turn.
        attended.over = true;
        drop(attended);
        self.answered(reply).await
    }

    /// One turn: the user says something, the model works until it has nothing more to call.
    ///
    /// # Errors
    /// When the model does not answer, the window is full, or the log cannot be written. Whatever
    /// was appended before stays; the turn can be gone on with.
    pub async fn turn(&mut self, content: Vec<Block>) -> Result<TurnEnd, EngineError> {
        let when = When::Queue;
        let reply = self.attend(Command::Prompt { content, when }).await?;
        turn_end(reply)
    }

    /// Continues without new words: after an interruption, or after records appended by hand.
    ///
    /// # Errors
    /// As [`Session::turn`].
    pub async fn go_on(&mut self) -> Result<TurnEnd, EngineError> {
        turn_end(self.attend(Command::GoOn).await?)
    }

    /// One request, with whatever must be done to the prompt before it.
    ///
    /// # Errors
    /// As [`Session::turn`].
    pub async fn step(&mut self) -> Result<Response, EngineError> {
        match self.attend(Command::Step).await? {
            Reply::Answered(response) => Ok(*response),
            _ => Err(EngineError::Ended),
        }
    }

    /// The end of a turn that was driven step by step.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn end_turn(&mut self) -> Result<(), EngineError> {
        self.run(Command::EndTurn).await.map(drop)
    }

    /// Stops the turn that is running, if one is: for callers that drive a session beside it.
    pub fn cancel(&mut self) {
        self.engine.cancel();
    }

    /// Appends a message of the user's side without asking the model.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn say(&mut self, message: Message) -> Result<(), EngineError> {
        self.run(Command::Say(message)).await.map(drop)
    }

    /// Puts the results of a round into the conversation.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn results(&mut self, outputs: Vec<(String, ToolOutput)>) -> Result<(), EngineError> {
        self.run(Command::Results(outputs)).await.map(drop)
    }

    /// Puts fragments in, and records which memories they show.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn inject(&mut self, injections: Vec<Injection>) -> Result<(), EngineError> {
        self.run(Command::Inject(injections)).await.map(drop)
    }

    /// Records a change of state.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn note(&mut self, change: StateChange) -> Result<(), EngineError> {
        self.run(Command::Note(change)).await.map(drop)
    }

    /// A recorder for tools and companions, which run beside the engine.
    pub fn recorder(&self) -> Recorder {
        Recorder(self.executor().outgoing.clone())
    }

    /// Records the usage of requests beside the conversation.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn account(&mut self, reports: Vec<UsageReport>) -> Result<(), EngineError> {
        self.run(Command::Account(reports)).await.map(drop)
    }

    /// Compacts because the user says so.
    ///
    /// # Errors
    /// When compaction is off, a message is not in view, or the log cannot be written.
    pub async fn compact(
        &mut self,
        wish: CompactWish,
    ) -> Result<compaction::CompactionOutcome, EngineError> {
        match self.attend(Command::Compact(wish)).await? {
            Reply::Compacted(outcome) => Ok(outcome),
            _ => Err(EngineError::Ended),
        }
    }

    /// Takes back a rewrite (or else the newest) with all newer ones. What comes back is read
    /// from the log.
    ///
    /// # Errors
    /// When there is nothing to undo, it does not fit, the moment is wrong, or the log cannot be
    /// read or written.
    pub async fn undo(&mut self, target: Option<&RecordId>) -> Result<usize, EngineError> {
        match self.run(Command::Undo(target.cloned())).await? {
            Reply::Undone(rewrites) => Ok(rewrites),
            _ => Err(EngineError::Ended),
        }
    }

    /// Goes back to a record: the next one starts a branch behind it.
    ///
    /// # Errors
    /// When the record is not in the log, or the log cannot be read or written.
    pub async fn rewind(&mut self, to: &RecordId) -> Result<(), EngineError> {
        self.run(Command::Rewind(to.clone())).await.map(drop)
    }

    /// Uses another prefix from the next request on: a break of the cache that is expected.
    ///
    /// # Errors
    /// When the log or a blob cannot be written.
    pub async fn set_prefix(&mut self, prefix: Arc<RenderedPrefix>) -> Result<(), EngineError> {
        self.run(Command::SetPrefix(prefix)).await.map(drop)
    }

    /// Talks to another model from the next request on.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn set_model(&mut self, model: &str, params: Params) -> Result<(), EngineError> {
        let capabilities = self.executor().ports.asker.capabilities(model);
        let switch = SwitchModel {
            model: model.to_owned(),
            params,
            capabilities,
        };
        self.run(Command::SetModel(Box::new(switch)))
            .await
            .map(drop)
    }

    /// Waits for an update of the notes that is under way, as long as the settings say.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn settle_notes(&mut self) -> Result<(), EngineError> {
        self.run(Command::SettleNotes).await.map(drop)
    }

    /// Touches the cache with a request for one token, if that pays. Says whether it was sent.
    ///
    /// # Errors
    /// When the model does not answer.
    pub async fn keep_alive(&mut self) -> Result<bool, EngineError> {
        let reply = self.run(Command::KeepAlive).await?;
        Ok(matches!(reply, Reply::KeptAlive(true)))
    }

    /// Writes the folded state down.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn checkpoint(&mut self) -> Result<(), EngineError> {
        self.run(Command::Checkpoint).await.map(drop)
    }

    /// Ends the session: its lessons are left to the next one of the project, and the folded
    /// state is written down.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub async fn close(mut self) -> Result<(), EngineError> {
        let closed = self.run(Command::Close).await.map(drop);
        self.engine.shut_down().await;
        closed
    }

    /// Begins to keep records for a background job: those behind the cursor of that name, and all
    /// that follow. Only what lies behind the cursor is read; from then on a turn costs its own
    /// records.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn watch(&mut self, cursor: &str) -> Result<(), EngineError> {
        if self.engine.watched().is_none() {
            let dealt_with = self.conversation().state().cursors.get(cursor).copied();
            let log = Arc::clone(&self.executor().ports.log);
            // Records on their way are handed over by the engine, so none is read twice.
            self.engine.settle_appends().await;
            let seq = dealt_with.unwrap_or_default();
            *self.engine.watched() = Some(log.read_after(seq).await?);
        }
        Ok(())
    }

    /// The records that the background job has not dealt with yet; none unless [`Session::watch`]
    /// was called.
    pub fn watched(&self) -> &[Record] {
        self.engine.watched_records()
    }

    /// Records up to here are dealt with, and the cursor of that name says so.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn dealt_with(&mut self, cursor: &str, at: Seq) -> Result<(), EngineError> {
        if let Some(watched) = self.engine.watched() {
            watched.retain(|record| record.seq > at);
        }
        self.note(StateChange::Cursor {
            name: cursor.to_owned(),
            at,
        })
        .await
    }

    /// Every record of the log.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn records(&self) -> Result<Vec<Record>, EngineError> {
        Ok(self.executor().ports.log.read().await?)
    }

    /// Subscribes to events from here on.
    pub fn subscribe(&self) -> Subscription {
        self.engine.subscribe()
    }

    /// The conversation at this moment, for screens.
    pub fn snapshot(&self) -> Snapshot {
        self.engine.driver().snapshot()
    }

    /// The engine underneath, for hosts that answer questions.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// The conversation as it is.
    pub fn conversation(&self) -> &Conversation {
        self.engine.driver().conversation()
    }

    /// The model it talks to.
    pub fn model(&self) -> &str {
        &self.engine.driver().config().model
    }

    /// Tokens in use, measured by the provider as far as it has answered.
    pub fn used(&self) -> Tokens {
        self.engine.driver().used()
    }

    /// The file with the notes.
    pub fn notes_path(&self) -> PathBuf {
        self.executor().place.notes()
    }

    pub(crate) fn executor(&self) -> &Executor {
        self.engine.executor()
    }

    /// The driver, to look at: its settings, its ledger, its decisions.
    pub fn driver(&self) -> &Driver {
        self.engine.driver()
    }
}

/// The recorded prefix and, for a new session, the lessons of earlier ones: read where no worker
/// is held up. Parts that are missing are no error, the prefix is rendered anew then.
async fn beside_the_log(
    ports: &Ports,
    log: &LogStart,
    lessons: PathBuf,
) -> (Option<Arc<RenderedPrefix>>, Option<Bytes>) {
    let recorded = log.recorded.prefix_record().cloned();
    let is_new = log.head.is_none();
    let (blobs, files) = (Arc::clone(&ports.blobs), Arc::clone(&ports.system.files));
    let read = blocking(move || {
        let blob = |hash: &Hash| blobs.get(hash).ok();
        let prefix =
            recorded.and_then(|recorded| RenderedPrefix::from_record(&recorded, blob).ok());
        // Only for a new session: a resumed one has figures of its own in the log.
        let lessons = is_new.then(|| files.read(&lessons, MOST_OF_LESSONS).ok());
        (prefix.map(Arc::new), lessons.flatten())
    });
    read.await.unwrap_or_default()
}

fn turn_end(reply: Reply) -> Result<TurnEnd, EngineError> {
    match reply {
        Reply::TurnEnded { response, requests } => Ok(TurnEnd { response, requests }),
        _ => Err(EngineError::Ended),
    }
}
