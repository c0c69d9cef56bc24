//! A driver run by a plain loop: no runtime, a virtual clock, everything in memory.
//!
//! Effects are carried out one after the other, in the order in which the driver hands them out;
//! their outcomes are handled in the same order. So a replay is a function of its script.
//!
//! # Not here
//! The engine on tokio (`dormouse-engine`), with which this shares the driver only.

use crate::asker::ReplayAsker;
use crate::recorded_world::LastRead;
use dormouse_core::record::Record;
use dormouse_core::units::Millis;
use dormouse_drive::{
    Ask, Command, CommandId, DriveError, Driver, Effect, EffectId, EffectOutcome, ForkReport,
    HookAnswer, Input, NotesFiles, Notice, Reply, SaveFile, SavePlace, StoreFailure, StreamEvent,
    Work,
};
use dormouse_model::ModelError;
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

/// A driver, and the world around it.
#[derive(Debug)]
pub(crate) struct Interpreter {
    pub(crate) driver: Driver,
    pub(crate) asker: Arc<ReplayAsker>,
    pub(crate) disk: Arc<LastRead>,
    pub(crate) now: Millis,
    pub(crate) records: Vec<Record>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) files: HashMap<PathBuf, String>,
    inputs: VecDeque<Input>,
    replies: HashMap<CommandId, Result<Reply, DriveError>>,
    commands: u64,
    /// The error behind the last request of the conversation that failed.
    error: Option<ModelError>,
}

impl Interpreter {
    pub(crate) fn new(driver: Driver, asker: Arc<ReplayAsker>, disk: Arc<LastRead>) -> Self {
        let mut interpreter = Self {
            driver,
            asker,
            disk,
            now: Millis::default(),
            records: Vec::new(),
            notices: Vec::new(),
            files: HashMap::new(),
            inputs: VecDeque::new(),
            replies: HashMap::new(),
            commands: 0,
            error: None,
        };
        interpreter.run();
        interpreter
    }

    /// Gives a command and runs until nothing is left to do.
    pub(crate) fn command(&mut self, command: Command) -> Result<Reply, DriveError> {
        self.commands += 1;
        let id = CommandId(self.commands);
        // A refusal of an earlier command must not explain this one.
        self.error = None;
        self.inputs.push_back(Input::Command(id, Box::new(command)));
        self.run();
        let reply = self.replies.remove(&id);
        // Every effect ends at once, so a command without a reply is a fault of the driver.
        reply.unwrap_or(Err(DriveError::Cancelled))
    }

    /// The provider's words, if a command failed for them.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.error.as_ref().map(ToString::to_string)
    }

    fn run(&mut self) {
        loop {
            while let Some(effect) = self.driver.poll() {
                match effect {
                    Effect::Do(id, work) => self.carry_out(id, work),
                    Effect::Reply(id, reply) => drop(self.replies.insert(id, reply)),
                    Effect::Tell(notice) => self.notices.push(notice),
                    // Nothing runs in the background, so there is nothing to stop.
                    Effect::Stop(_) | Effect::TurnOver => {}
                }
            }
            let Some(input) = self.inputs.pop_front() else {
                return;
            };
            self.driver.handle(self.now, input);
        }
    }

    fn carry_out(&mut self, id: EffectId, work: Work) {
        let outcome = match work {
            Work::Append(batch) => {
                let expected = self.records.last().map(|record| &record.id);
                // Checked as a store would: a driver that lost track of its head must not pass
                // unnoticed.
                let fits = expected == batch.expected.as_ref();
                self.records.extend(batch.records);
                EffectOutcome::Appended(if fits {
                    Ok(())
                } else {
                    Err(StoreFailure::Conflict("another head".to_owned()))
                })
            }
            Work::Save(files) => {
                for SaveFile { place, bytes } in files {
                    // Blobs are never read back in a replay.
                    if let SavePlace::File(path) = place {
                        let text = String::from_utf8_lossy(&bytes).into_owned();
                        self.files.insert(path, text);
                    }
                }
                EffectOutcome::Saved(Ok(()))
            }
            Work::ReadNotes => EffectOutcome::NotesRead(NotesFiles {
                notes: self.files.get(&self.driver.config().place.notes()).cloned(),
                ..NotesFiles::default()
            }),
            Work::ReadLog => EffectOutcome::LogRead(Ok(self.records.clone())),
            Work::Ask(ask) => self.ask(id, *ask),
            Work::Hooks(_) => EffectOutcome::HooksRan(HookAnswer::default()),
            Work::Restore { files } => EffectOutcome::Restored {
                parts: self.disk.restore(&files),
                prefix: None,
            },
            Work::Recall(_) => EffectOutcome::Recalled(Vec::new()),
            Work::Spawn(_) => EffectOutcome::ChildEnded(Box::new(ForkReport {
                answer: Err(DriveError::Cancelled),
                usage: Vec::new(),
            })),
            // The script answers calls itself, by commands.
            Work::RunTool(_) | Work::AskPerson { .. } => EffectOutcome::Cancelled,
        };
        self.inputs.push_back(Input::Ended(id, Box::new(outcome)));
    }

    fn ask(&mut self, id: EffectId, ask: Ask) -> EffectOutcome {
        match self.asker.answer(ask.purpose, ask.request, self.now) {
            Ok(response) => {
                // The driver counts a response from its beginning, as with a real stream.
                let began = StreamEvent::Began {
                    id: response.id.clone(),
                    model: Arc::clone(&response.model),
                    usage: response.usage,
                };
                self.inputs.push_back(Input::Stream(id, began));
                EffectOutcome::Answered(Ok(Box::new(response)))
            }
            Err(error) => {
                let failure = error.failure();
                self.error = Some(error);
                EffectOutcome::Answered(Err(failure))
            }
        }
    }
}
