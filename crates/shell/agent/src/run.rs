//! The agent's task: one loop that takes commands, moves the session and tells events.
//!
//! # Model
//! A command begins at once; its reply is looked for after every step. Nothing waits inside the
//! loop but for the disk, so that an interrupt is heard at any time. Between turns, when nothing
//! waits, memories are drawn from the turn.
//!
//! # Not here
//! Decisions of the conversation: `dormouse-drive`. The meaning of a command: `commands`.

mod closing;
mod commands;

use crate::agent::{Agent, AgentError};
use crate::crew::Crew;
use crate::fragments::idle_news;
use crate::learning::Learning;
use crate::protocol::{Ask, DeltaKind, Event, TaskState, Teller, Told, TurnEnd};
use closing::closed;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::Seq;
use dormouse_core::record::{Record, StateChange};
use dormouse_drive::{CommandId, Notice, Reply, WAITING_FACT};
use dormouse_engine::{EngineError, Session, Subscription, Told as Heard};
use dormouse_model::{Delta, Event as Piece};
use dormouse_permit::Mode;
use dormouse_store::ENGINE_TIME;
use std::collections::BTreeMap;
use tokio::sync::mpsc;

/// Sort of a command that runs, as far as its end is told differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// A turn: its end is an event of its own.
    Turn,
    /// A prompt that joined the turn, or any other command.
    Other,
    /// Another model, or another effort.
    Model,
    /// A command that was typed as a prompt: clients wait for the end of a turn.
    Typed,
}

/// State of the loop.
#[derive(Debug)]
struct Loop {
    told: Subscription,
    teller: Teller,
    /// Newest record whose events were told.
    told_until: Seq,
    /// Commands that run, with the client's number.
    under_way: BTreeMap<CommandId, (u64, Sort)>,
    /// Background commands as they were told last.
    tasks: BTreeMap<String, String>,
    /// True if a restart left calls waiting: their turn goes on once all are answered.
    left_waiting: bool,
    /// Words of the model in the running turn.
    said: String,
    /// Set when a turn has ended and memories may be drawn from it; true if it was answered or met
    /// its limit.
    learn: Option<bool>,
    quit: Option<Quit>,
    /// Number of the ask to begin anew.
    clear: Option<u64>,
    /// Mode as it was told last; a tool may switch it.
    mode: Mode,
}

/// Wish of the client to end the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quit {
    now: bool,
}

impl Agent {
    /// Runs until a client quits, then closes the session.
    pub(crate) async fn run(mut self, mut commands: mpsc::Receiver<Ask>) -> Result<(), AgentError> {
        loop {
            let mut state = self.begin_loop();
            self.servers.announce();
            self.tell_waiting(&mut state);
            let ran = self.serve(&mut state, &mut commands).await;
            match (ran, state.clear) {
                (Ok(()), Some(ask)) => {
                    let events = self.events.clone();
                    match Box::pin(self.cleared(&mut state, &mut commands, ask)).await {
                        Ok(next) => self = next,
                        Err(error) => {
                            closed(&events, Some(&error));
                            return Err(error);
                        }
                    }
                }
                (ran, _) => {
                    let closed = Box::pin(self.close(&mut state, &mut commands)).await;
                    return ran.and(closed);
                }
            }
        }
    }

    fn begin_loop(&self) -> Loop {
        Loop {
            told: self.session.subscribe(),
            teller: Teller::new(self.host.models()),
            told_until: self.session.driver().heads().1,
            under_way: BTreeMap::new(),
            tasks: BTreeMap::new(),
            left_waiting: false,
            said: String::new(),
            learn: None,
            quit: None,
            clear: None,
            mode: self.judge.mode(),
        }
    }

    async fn serve(
        &mut self,
        state: &mut Loop,
        commands: &mut mpsc::Receiver<Ask>,
    ) -> Result<(), AgentError> {
        // Set while nothing is under way that could move by itself.
        let mut still = false;
        loop {
            while let Some(heard) = state.told.try_next() {
                self.heard(state, heard);
            }
            self.replies(state);
            if state.under_way.is_empty() {
                if state.quit.is_some() || state.clear.is_some() {
                    // A client that leaves with the end of a turn has the turn's memories all the
                    // same.
                    self.learn(state).await?;
                    return Ok(());
                }
                still &= !self.between_turns(state).await?;
            }
            tokio::select! {
                biased;
                ask = commands.recv() => {
                    still = false;
                    match ask {
                        Some(ask) => self.command(state, ask).await,
                        // Every client is gone: nobody could stop the agent any more.
                        None => self.quit(state, true),
                    }
                }
                heard = state.told.next() => self.heard(state, heard),
                moved = self.session.advance(), if !still => still = !moved,
                // Between turns only: its records are no part of one.
                // Between turns only: a turn that runs is told with its next results.
                () = agent_ended(self.crew.as_ref()), if state.under_way.is_empty() => still = false,
                () = learnt(&mut self.learning), if state.under_way.is_empty() => {
                    still = false;
                    self.collect().await?;
                }
            }
        }
    }

    /// Takes care of things that wait for a pause; returns whether something was begun.
    async fn between_turns(&mut self, state: &mut Loop) -> Result<bool, AgentError> {
        if self.learn(state).await? {
            return Ok(true);
        }
        let waiting = self.session.engine().questions().next().is_some();
        // After a restart: the calls that waited are answered, and so the turn goes on.
        if state.left_waiting && !waiting && self.session.driver().is_idle() {
            state.left_waiting = false;
            let id = self.session.begin(dormouse_drive::Command::GoOn);
            state.under_way.insert(id, (0, Sort::Turn));
            return Ok(true);
        }
        self.report_agents(state).await
    }

    /// Goes on with reports of agents and letters that came while nothing was under way.
    async fn report_agents(&mut self, state: &mut Loop) -> Result<bool, AgentError> {
        let news = self.crew.as_ref().map(idle_news).unwrap_or_default();
        if news.is_empty() {
            return Ok(false);
        }
        self.session.inject(news).await?;
        let id = self.session.begin(dormouse_drive::Command::GoOn);
        state.under_way.insert(id, (0, Sort::Turn));
        Ok(true)
    }

    /// Records the time that the engine took for the turn, in microseconds.
    async fn record_time(&mut self) -> Result<(), AgentError> {
        let spent = self.session.engine().take_time();
        let micros = u64::try_from(spent.as_micros()).unwrap_or(u64::MAX);
        // A clock that stands still measures nothing.
        if micros > 0 {
            let fact = StateChange::Fact {
                name: ENGINE_TIME.to_owned(),
                value: micros.into(),
            };
            self.session.note(fact).await?;
        }
        Ok(())
    }

    /// Begins the work on the memory of a turn that has ended; returns whether one has.
    async fn learn(&mut self, state: &mut Loop) -> Result<bool, AgentError> {
        let Some(finished) = state.learn.take() else {
            return Ok(false);
        };
        self.record_time().await?;
        let said = std::mem::take(&mut state.said);
        if let Some(learning) = &mut self.learning {
            learning
                .after_turn(&mut self.session, finished, said)
                .await?;
        }
        Ok(true)
    }

    /// Takes in background work on the memory that has ended.
    async fn collect(&mut self) -> Result<(), AgentError> {
        if let Some(learning) = &mut self.learning {
            learning.collect(&mut self.session).await?;
        }
        Ok(())
    }

    /// Looks for replies to the commands that run.
    fn replies(&mut self, state: &mut Loop) {
        let ids: Vec<CommandId> = state.under_way.keys().copied().collect();
        for id in ids {
            let Some(reply) = self.session.ended(id) else {
                continue;
            };
            let Some((ask, sort)) = state.under_way.remove(&id) else {
                continue;
            };
            self.replied(state, ask, sort, &reply);
        }
    }

    fn replied(&self, state: &mut Loop, ask: u64, sort: Sort, reply: &Result<Reply, EngineError>) {
        let failed = match reply {
            Ok(_) => None,
            // Told by the end of the turn.
            Err(EngineError::Cancelled) if sort == Sort::Turn => None,
            Err(error) => Some(dormouse_core::show::chain(error)),
        };
        if sort == Sort::Turn {
            let mut turns = state.under_way.values();
            // Rules of a prompt that waits count until its own turn is over.
            if !turns.any(|(_, sort)| *sort == Sort::Turn) {
                self.judge.end_turn();
            }
            // A turn that met its limit is over as well: whatever the user said in it must not be
            // lost for a long task. A budget that is spent forbids further requests.
            let is_over = matches!(reply, Ok(_) | Err(EngineError::TooManyRequests(_)));
            state.learn = Some(is_over);
            // A log that cannot be written has no record of the end.
            if let Err(EngineError::Append(_)) = &reply {
                self.events.tell(Event::TurnEnded(Box::new(TurnEnd {
                    end: "failed".to_owned(),
                    requests: 0,
                    stop_reason: None,
                    why: failed.clone(),
                    text: String::new(),
                })));
            }
        }
        if sort == Sort::Typed {
            self.events.tell(commands::typed_end(reply));
        }
        if sort == Sort::Model && reply.is_ok() {
            self.tell_changed();
        }
        self.events.tell(Event::Done { ask, failed });
    }

    pub(crate) fn tell_changed(&self) {
        self.events.tell(Event::Changed {
            mode: self.judge.mode(),
            model: self.session.model().to_owned(),
        });
    }

    /// Turns an item of the session's own stream into events.
    fn heard(&self, state: &mut Loop, heard: Heard) {
        match heard {
            Heard::Answer(piece) => self.piece(piece),
            Heard::Stored(records) => self.stored(state, &records),
            Heard::Started(call) => self.events.tell(Event::ToolRunning { call }),
            // The takeover's own record says why.
            Heard::Notice(Notice::ModelChanged { .. }) => self.tell_changed(),
            Heard::Notice(notice) => {
                if !is_recorded(&notice) {
                    let text = notice.to_string();
                    self.events.tell(Event::Notice { text });
                }
            }
            // The record of the question is told.
            Heard::Question(..) => {}
            // Cannot happen while the loop runs, and is no loss: the client rebuilds.
            Heard::Lagged(_) => self.events.tell(Event::Lagged {
                after: state.told_until,
            }),
        }
    }

    fn piece(&self, piece: Piece) {
        match piece {
            Piece::MessageStart { id, model, .. } => self.events.tell(Event::MessageStarted {
                message: id,
                model: model.to_string(),
            }),
            Piece::Delta { index, delta } => {
                let (kind, text) = match delta {
                    Delta::Text(text) => (DeltaKind::Text, text),
                    Delta::Thinking(text) => (DeltaKind::Thinking, text),
                    Delta::InputJson(text) => (DeltaKind::Input, text),
                    Delta::Signature(text) => (DeltaKind::Signature, text),
                    _ => return,
                };
                self.events.tell(Event::Delta { index, kind, text });
            }
            Piece::BlockStart { index, head, .. } => {
                let head = serde_json::from_slice(head.bytes()).unwrap_or_default();
                self.events.tell(Event::BlockStarted { index, head });
            }
            Piece::BlockStop { index, .. } => self.events.tell(Event::BlockEnded { index }),
            _ => {}
        }
    }

    fn stored(&self, state: &mut Loop, records: &[Record]) {
        // Records of the opening were told as a whole.
        let until = state.told_until;
        for record in records.iter().filter(|record| record.seq > until) {
            for told in state.teller.tell(record) {
                self.tell(state, told);
            }
            if let Some(crew) = &self.crew {
                crew.stored(record, &self.session, &self.wishes);
            }
        }
        if let Some(last) = records.last() {
            state.told_until = state.told_until.max(last.seq);
        }
    }

    fn tell(&self, state: &mut Loop, told: Told) {
        let ended = matches!(told.event, Event::ToolDone { .. } | Event::TurnEnded(_));
        if let Event::MessageDone { content, .. } = &told.event {
            let texts = content
                .iter()
                .filter(|block| block.kind() == BlockKind::Text);
            for text in texts.filter_map(Block::readable_text) {
                state.said.push_str(&text);
                state.said.push('\n');
            }
        }
        if let Event::PermissionWanted(_) | Event::QuestionWanted(_) = &told.event {
            self.hooks.notify("Dormouse waits for your answer");
        }
        self.events.send(told);
        if ended {
            self.tell_tasks(state);
            if self.judge.mode() != state.mode {
                state.mode = self.judge.mode();
                self.tell_changed();
            }
        }
    }

    /// Tells background commands that began or ended since they were told last.
    fn tell_tasks(&self, state: &mut Loop) {
        let running: BTreeMap<String, String> = self.tools.running().into_iter().collect();
        let change = |task: &String, what: &String, state| Event::TaskChanged {
            task: task.clone(),
            what: what.clone(),
            state,
        };
        for (task, what) in &state.tasks {
            if !running.contains_key(task) {
                self.events.tell(change(task, what, TaskState::Ended));
            }
        }
        for (task, what) in &running {
            if !state.tasks.contains_key(task) {
                self.events.tell(change(task, what, TaskState::Running));
            }
        }
        state.tasks = running;
    }

    /// Tells the calls that a restart found waiting for a person.
    fn tell_waiting(&mut self, state: &mut Loop) {
        let mut waiting = waiting_calls(&mut self.session);
        waiting.sort_by(|(one, _), (other, _)| one.id.cmp(&other.id));
        for (call, fact) in waiting {
            state.left_waiting = true;
            let input = crate::judge::call_text(&call).input;
            let event = state.teller.asked_again(&call, input, &fact);
            self.events.tell(event);
        }
    }
}

/// Waits for the end of a sub-agent; for ever if there can be none.
async fn agent_ended(crew: Option<&Crew>) {
    match crew {
        Some(crew) => crew.ended().await,
        None => std::future::pending().await,
    }
}

/// Waits for background work on the memory; for ever if there is none.
async fn learnt(learning: &mut Option<Learning>) {
    match learning {
        Some(learning) => learning.ended().await,
        None => std::future::pending().await,
    }
}

/// Calls that wait for a person, with the recorded questions.
fn waiting_calls(session: &mut Session) -> Vec<(dormouse_drive::ToolCall, serde_json::Value)> {
    let facts = session.conversation().state().facts.clone();
    let questions = session.engine().questions();
    questions
        .map(|(_, question)| {
            let name = format!("{WAITING_FACT}{}", question.call.id);
            let fact = facts.get(&name).cloned().unwrap_or_default();
            (question.call.clone(), fact)
        })
        .collect()
}

/// True for notices whose event follows from a record, and for those that are no news for people.
fn is_recorded(notice: &Notice) -> bool {
    matches!(
        notice,
        Notice::Answer(_)
            | Notice::Considered { .. }
            | Notice::Offloaded { .. }
            | Notice::Distilled { .. }
            | Notice::Cleared { .. }
            | Notice::NotesUpdated { .. }
            | Notice::Compacted { .. }
            | Notice::Retrying(_)
            | Notice::Undone { .. }
    )
}
