//! Dispatch of commands: immediate, or queued behind the running one.
//!
//! Not here: what a command does; each has its module.

use crate::QUEUE_FACT;
use crate::command::{Command, CommandId, Reply, When};
use crate::driver::Driver;
use crate::effect::{SaveFile, SavePlace, Work};
use crate::error::DriveError;
use crate::input::EffectOutcome;
use crate::layers::{Job, Then};
use crate::notice::Notice;
use crate::outbox::{Running, SaveFor};
use crate::refold::Refold;
use crate::turn::Extent;
use bytes::Bytes;
use dormouse_context::economy::Lessons;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, Message, StateChange};
use serde_json::Value;

/// Requests after which a session writes its first lessons, and fewest between two: shorter sessions
/// write them at their end only.
const FIRST_LESSON: u32 = 4;

impl Driver {
    /// Accepts a command, or queues it behind earlier ones.
    pub(crate) fn command(&mut self, id: Option<CommandId>, command: Command) {
        // After a failed append nothing may be emitted: memory is ahead of the log.
        if let Some(failed) = self.journal.failed() {
            let error = DriveError::Log(failed.clone());
            self.reply(id, Err(error));
            return;
        }
        match command {
            Command::Prompt {
                content,
                when: When::Steer,
            } if self.turn.is_some() => {
                self.steering.push((id, content));
                self.record_queue();
            }
            // At once: a tool waits for the record before it changes a file.
            Command::Note(change) if self.turn.is_some() => {
                let noted = self.note(change);
                self.done(id, noted);
            }
            command => {
                let prompt = matches!(command, Command::Prompt { .. });
                self.commands.push_back((id, command));
                if prompt && self.is_busy() {
                    // The prompt waits for the current turn; a crash must not lose it meanwhile.
                    self.record_queue();
                }
            }
        }
    }

    fn is_busy(&self) -> bool {
        let waits = self.turn.is_some() || self.job.is_some() || !self.results.is_empty();
        waits || self.commands.len() > 1
    }

    /// Starts the next command, if one waits; returns whether it did.
    pub(crate) fn next_command(&mut self) -> bool {
        let Some((id, command)) = self.commands.pop_front() else {
            return false;
        };
        match command {
            Command::Prompt { content, .. } => {
                self.prompt(id, content);
                self.record_queue();
            }
            Command::GoOn => self.go_on(id, Extent::Whole),
            Command::Step => self.go_on(id, Extent::Step),
            Command::EndTurn => self.go_on(id, Extent::End),
            Command::Say(message) => {
                let said = self.emit(Body::Message(message)).map(drop);
                self.done(id, said);
            }
            Command::Results(outputs) => {
                // Success is replied to later, once the files of long results are saved.
                if let Err(error) = self.results_arrived(id, outputs) {
                    self.reply(id, Err(error));
                }
            }
            Command::Inject(injections) => {
                let injected = self.inject(injections);
                self.done(id, injected);
            }
            Command::Note(change) => {
                let noted = self.note(change);
                self.done(id, noted);
            }
            Command::Account(reports) => {
                let accounted = self.account_all(reports);
                self.done(id, accounted);
            }
            Command::Compact(wish) => self.compact(id, wish),
            Command::Undo(target) => self.refold(Refold::Undo { target, reply: id }),
            Command::Rewind(to) => self.refold(Refold::Rewind { to, reply: id }),
            Command::SetPrefix(prefix) => self.use_prefix(prefix, id),
            Command::SetModel(switch) => {
                self.switch_model(*switch, "asked for", Then::Reply(id));
            }
            Command::Fork { directive, limits } => self.spawn_fork(id, &directive, limits),
            Command::KeepAlive => self.keep_alive(id),
            Command::SettleNotes => self.settle_notes(id),
            Command::Checkpoint => {
                let written = self.checkpoint();
                self.done(id, written);
            }
            Command::Close => self.close(id),
        }
        true
    }

    fn done(&mut self, id: Option<CommandId>, result: Result<(), DriveError>) {
        match result {
            Ok(()) => self.reply_stored(id, Ok(Reply::Done)),
            Err(error) => self.reply(id, Err(error)),
        }
    }

    /// Ends the session: writes a checkpoint, and saves the policy's lessons for the project's next
    /// session, and notes for people.
    fn close(&mut self, id: Option<CommandId>) {
        self.stop_notes();
        if let Err(error) = self.checkpoint() {
            self.reply(id, Err(error));
            return;
        }
        // Both are there for later: a session must close without them.
        let files: Vec<SaveFile> = self
            .lessons()
            .into_iter()
            .chain(self.notes_for_people())
            .collect();
        if files.is_empty() {
            self.reply_stored(id, Ok(Reply::Done));
            return;
        }
        self.outbox
            .start(Running::Save(SaveFor::LastLessons), Work::Save(files));
        self.job = Some(Job::Lessons(id));
    }

    /// Writes the policy's lessons while the session goes on, so that one that is killed teaches
    /// too. Due when the session has grown by a quarter: a long one writes them some twenty times.
    pub(crate) fn teach_if_due(&mut self) {
        let requests = self.conversation.economy().requests();
        let due = self.taught + (self.taught / 4).max(FIRST_LESSON);
        if requests < due {
            return;
        }
        self.taught = requests;
        if let Some(lessons) = self.lessons() {
            self.outbox
                .start(Running::Save(SaveFor::Lessons), Work::Save(vec![lessons]));
        }
    }

    /// This session's entry in the lessons of its project.
    fn lessons(&self) -> Option<SaveFile> {
        let known = (self.conversation.economy(), self.conversation.distil_book());
        let lessons = Lessons::of(&self.config.session, known, self.now);
        Some(SaveFile {
            place: SavePlace::Lessons(self.config.place.lessons()),
            bytes: Bytes::from(lessons.write().ok()?),
        })
    }

    pub(crate) fn lessons_saved(&mut self, outcome: EffectOutcome) {
        let Some(Job::Lessons(id)) = self.job.take() else {
            return;
        };
        // The log is complete without them, and the folder may be gone with the project: the next
        // session learns anew.
        if let EffectOutcome::Saved(Err((_, why))) = outcome {
            self.tell(Notice::LessonsNotSaved { why });
        }
        self.reply_stored(id, Ok(Reply::Done));
    }

    /// Records the waiting prompts as a fact, so that a restart finds them.
    pub(crate) fn record_queue(&mut self) {
        let queued = self
            .commands
            .iter()
            .filter_map(|(_, command)| match command {
                Command::Prompt { content, .. } => Some(content),
                _ => None,
            });
        let steering = self.steering.iter().map(|(_, content)| content);
        let hooked = self.turn.iter().filter_map(|turn| turn.prompt.as_ref());
        let waiting: Vec<Value> = hooked
            .chain(steering)
            .chain(queued)
            .map(|blocks| to_json(blocks))
            .collect();
        let known = self.conversation.state().facts.get(QUEUE_FACT);
        let value = if waiting.is_empty() {
            Value::Null
        } else {
            Value::Array(waiting)
        };
        // Unchanged: a record per command would fill the log.
        if known.unwrap_or(&Value::Null) == &value {
            return;
        }
        let fact = StateChange::Fact {
            name: QUEUE_FACT.to_owned(),
            value,
        };
        if let Err(error) = self.note(fact) {
            self.fail_turn(error);
        }
    }

    /// Appends prompts that a restart found waiting. They are answered with the next turn; a
    /// restart sends no request by itself.
    pub(crate) fn requeue(&mut self) {
        let facts = &self.conversation.state().facts;
        let Some(Value::Array(waiting)) = facts.get(QUEUE_FACT) else {
            return;
        };
        let prompts: Vec<Vec<Block>> = waiting.iter().map(from_json).collect();
        for content in prompts.into_iter().filter(|content| !content.is_empty()) {
            if let Err(error) = self.emit(Body::Message(Message::user(content))) {
                self.fail_turn(error);
            }
        }
        self.record_queue();
    }
}

fn to_json(blocks: &[Block]) -> Value {
    let values = blocks
        .iter()
        .filter_map(|block| serde_json::from_slice(block.bytes()).ok());
    Value::Array(values.collect())
}

fn from_json(value: &Value) -> Vec<Block> {
    let values = value.as_array().into_iter().flatten();
    values
        .filter_map(|value| Block::from_value(value).ok())
        .collect()
}
