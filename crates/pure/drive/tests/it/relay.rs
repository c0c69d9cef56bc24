//! Second interpreter: the client keeps the history and runs the tools.

use crate::model::{Model, UnderWay};
use crate::stores::{InMemory, Store as _};
use crate::tools;
use crate::world::START as NOW;
use dormouse_context::path::{Leaf, path};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Message, Role};
use dormouse_drive::{Command, CommandId, Driver, Effect, EffectId, Ingested, ingest};
use dormouse_drive::{EffectOutcome, Input, Reply, Work};
use std::collections::{BTreeMap, VecDeque};

pub(crate) type History = Vec<(Role, Block)>;

/// Id of a client's request.
pub(crate) type Client = usize;

/// One conversation, its log, and the requests that wait for it.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) driver: Driver,
    pub(crate) store: InMemory,
    /// Requests in order of arrival; the first is being answered.
    waiting: VecDeque<(Client, History)>,
    step: Option<CommandId>,
    ask: Option<(EffectId, Box<UnderWay>)>,
    commands: u64,
    pub(crate) rewinds: usize,
}

/// Relay between clients and a model.
#[derive(Debug, Default)]
pub(crate) struct Relay {
    pub(crate) lines: Vec<Line>,
    pub(crate) model: Model,
    pub(crate) answers: BTreeMap<Client, Vec<Result<Vec<Block>, String>>>,
    clients: usize,
}

impl Relay {
    /// Takes a client's request with its whole history.
    pub(crate) fn request(&mut self, history: History) -> Client {
        let client = self.clients;
        self.clients += 1;
        let known = |line: &Line| {
            // While a conversation answers, the comparison waits until the request is first in
            // line.
            let first = line.waiting.front().map(|(_, history)| &history[0]);
            let same = first.is_some_and(|first| first.1 == history[0].1);
            same || line.relation(&history) != Ingested::Unknown
        };
        let at = self.lines.iter().position(known).unwrap_or_else(|| {
            self.lines.push(Line::open(self.lines.len() as u64));
            self.lines.len() - 1
        });
        self.lines[at].waiting.push_back((client, history));
        self.take(at);
        client
    }

    /// Handles a disconnected client: its request is cancelled, or removed if it still waits.
    pub(crate) fn gone(&mut self, client: Client) {
        for at in 0..self.lines.len() {
            let line = &mut self.lines[at];
            let first = line.waiting.front().map(|(first, _)| *first);
            if first == Some(client) {
                line.driver.handle(NOW, Input::Cancel);
            } else {
                line.waiting.retain(|(waiting, _)| *waiting != client);
            }
            self.take(at);
        }
    }

    /// Delivers one event of an answer; `false` if none is pending.
    pub(crate) fn step(&mut self) -> bool {
        let asking = |line: &mut Line| line.ask.take();
        let mut asks = self.lines.iter_mut().map(asking).enumerate();
        let Some((at, (id, mut ask))) = asks.find_map(|(at, ask)| Some((at, ask?))) else {
            return false;
        };
        let input = if let Some(event) = ask.event() {
            self.lines[at].ask = Some((id, ask));
            Input::Stream(id, event)
        } else {
            Input::Ended(id, Box::new(EffectOutcome::Answered(ask.end())))
        };
        self.lines[at].driver.handle(NOW, input);
        self.take(at);
        true
    }

    fn take(&mut self, at: usize) {
        let line = &mut self.lines[at];
        loop {
            while let Some(effect) = line.driver.poll() {
                match effect {
                    Effect::Do(id, Work::Ask(ask)) => {
                        line.ask = Some((id, Box::new(self.model.ask(&ask))));
                    }
                    Effect::Do(id, work) => {
                        let outcome = line.carry_out(work);
                        line.driver.handle(NOW, Input::Ended(id, Box::new(outcome)));
                    }
                    Effect::Stop(id) => {
                        if let Some((_, ask)) = line.ask.take_if(|(asking, _)| *asking == id) {
                            let end = EffectOutcome::Answered(Err(ask.stopped()));
                            line.driver.handle(NOW, Input::Ended(id, Box::new(end)));
                        }
                    }
                    Effect::Reply(id, reply) if line.step == Some(id) => {
                        line.step = None;
                        let (client, _) = line.waiting.pop_front().unwrap();
                        let answer = match reply {
                            Ok(Reply::Answered(response)) => Ok(response.blocks),
                            other => Err(format!("{other:?}")),
                        };
                        self.answers.entry(client).or_default().push(answer);
                    }
                    Effect::Reply(_, reply) => assert!(reply.is_ok(), "{reply:?}"),
                    Effect::Tell(_) | Effect::TurnOver => {}
                }
            }
            if line.step.is_some() || line.waiting.is_empty() {
                return;
            }
            line.take_in();
        }
    }
}

impl Line {
    fn open(seed: u64) -> Self {
        Self {
            driver: tools::relayed(seed, NOW),
            store: InMemory::new(),
            waiting: VecDeque::new(),
            step: None,
            ask: None,
            commands: 0,
            rewinds: 0,
        }
    }

    fn relation(&self, history: &[(Role, Block)]) -> Ingested {
        let records = self.store.records();
        ingest(&path(&records, Leaf::Newest), history)
    }

    /// Issues the commands that adapt the conversation to the client's history, then asks.
    fn take_in(&mut self) {
        let (_, history) = self.waiting.front().cloned().unwrap();
        let known = match self.relation(&history) {
            Ingested::Extends { known } => known,
            Ingested::BranchesAt { record, known } | Ingested::EditsAt { record, known } => {
                self.rewinds += 1;
                self.give(Command::Rewind(record));
                known
            }
            Ingested::Unknown => 0,
        };
        let mut rest = history[known..].iter().peekable();
        while let Some((role, block)) = rest.next() {
            let mut blocks = vec![block.clone()];
            let kind = block.kind() == BlockKind::ToolResult;
            let alike = |block: &Block| (block.kind() == BlockKind::ToolResult) == kind;
            while let Some((_, next)) = rest.next_if(|(r, next)| r == role && alike(next)) {
                blocks.push(next.clone());
            }
            let id = format!("client_{}", self.commands);
            self.give(match role {
                Role::Assistant => {
                    Command::Say(Message::assistant(id.as_str().into(), "client", blocks))
                }
                _ if kind => {
                    Command::Results(blocks.into_iter().map(tools::ran_elsewhere).collect())
                }
                _ => Command::Say(Message::user(blocks)),
            });
        }
        self.step = Some(self.give(Command::Step));
    }

    fn give(&mut self, command: Command) -> CommandId {
        self.commands += 1;
        let id = CommandId(self.commands);
        self.driver
            .handle(NOW, Input::Command(id, Box::new(command)));
        id
    }

    fn carry_out(&mut self, work: Work) -> EffectOutcome {
        match work {
            Work::Append(batch) => EffectOutcome::Appended(self.store.append(&batch)),
            Work::Save(_) => EffectOutcome::Saved(Ok(())),
            Work::ReadLog => EffectOutcome::LogRead(Ok(self.store.records())),
            other => panic!("a relay has no {other:?}"),
        }
    }
}
