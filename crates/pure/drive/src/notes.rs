//! Layer 3: execution of updates of the session notes, by forks, one at a time.
//!
//! An update starts from the prompt that the provider has just accepted, reads the notes, requests
//! edits, reads the notes again (the user may have changed them), checks the edits as one batch,
//! saves, and is recorded. On any failure the notes stay as they were.
//!
//! Not here: when an update is due, and which edits are valid (`context/src/notes`).

use crate::command::{CommandId, Reply};
use crate::config::Role;
use crate::driver::Driver;
use crate::effect::{NotesFiles, SaveFile, SavePlace, Work};
use crate::error::DriveError;
use crate::input::EffectOutcome;
use crate::notice::Notice;
use crate::outbox::{AskFor, NotesFor, Running, SaveFor};
use crate::turn::Phase;
use bytes::Bytes;
use dormouse_ask::{Failure, Request, Response};
use dormouse_context::compaction::summaries_in;
use dormouse_context::evidence;
use dormouse_context::fork::Fork;
use dormouse_context::notes::{self, Directive, Notes, Template};
use dormouse_context::tokens;
use dormouse_context::view::View;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::Seq;
use dormouse_core::record::{self, Body, Purpose};
use dormouse_core::settings::keys;
use dormouse_core::units::{Millis, Tokens};
use dormouse_guard::secrets;

/// Length of the evidence in a file for people, in tokens: nobody pays for it, so it is more than a
/// prompt gets.
const EVIDENCE_FOR_PEOPLE: Tokens = Tokens(20_000);

/// Update of the notes under way.
#[derive(Debug)]
pub(crate) struct NotesUpdate {
    /// Sequence number of the last message it covers.
    covers: Seq,
    /// Length of the conversation at its start, in tokens without the prefix.
    conversation: Tokens,
    /// Length of the directive in tokens.
    sent: Tokens,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Reading the notes; the fork waits for its directive.
    Reading(Box<Fork>),
    Asking,
    /// Answer received; applied when no response is in progress.
    Answered(Box<Response>),
    Applying(Box<Response>),
    Saving {
        notes: record::Notes,
        size: Tokens,
    },
}

/// Component that waits for an update to end.
#[derive(Debug)]
pub(crate) enum NotesWaiter {
    Compaction,
    Command(Option<CommandId>),
}

impl Driver {
    /// Starts an update from the present conversation, unless one is under way.
    pub(crate) fn start_notes(&mut self) {
        let covers = last_message(self.conversation.view());
        // One at a time: of two updates to one text the later would overwrite the earlier.
        let Some(covers) = covers.filter(|_| self.notes.is_none()) else {
            return;
        };
        let moment = (self.now, self.ttls());
        let fork = Fork::plain(
            &self.conversation,
            &self.ledger,
            &self.config.prefix,
            &self.params,
            moment,
        );
        self.notes = Some(NotesUpdate {
            covers,
            conversation: self.conversation_tokens(),
            sent: Tokens::ZERO,
            stage: Stage::Reading(Box::new(fork)),
        });
        self.outbox
            .start(Running::ReadNotes(NotesFor::Asking), Work::ReadNotes);
    }

    /// Length of the conversation in tokens, without its prefix.
    fn conversation_tokens(&self) -> Tokens {
        self.used() - self.measure().tokens(self.config.prefix.weight())
    }

    pub(crate) fn notes_read(&mut self, reader: NotesFor, outcome: EffectOutcome) {
        let files = match outcome {
            EffectOutcome::NotesRead(files) => files,
            _ => NotesFiles::default(),
        };
        match reader {
            NotesFor::Asking => self.ask_for_notes(&files),
            NotesFor::Applying => self.apply_notes(&files),
            NotesFor::Compaction => {
                let covered = self.conversation.state().notes.as_ref();
                let covered = covered.map(|state| state.last_summarised);
                let notes = covered.map(|covered| (self.parsed(&files), covered));
                self.notes_for_compaction(notes);
            }
        }
    }

    /// Parses the notes. Notes that no longer match their template are replaced by a blank form;
    /// the log still has the old ones as a blob.
    fn parsed(&mut self, files: &NotesFiles) -> Notes {
        let template = match files.template.as_deref().map(Template::parse) {
            None => Template::builtin(),
            Some(Ok(template)) => template,
            Some(Err(error)) => {
                self.tell(Notice::NotesFailed {
                    why: format!("your template is not used: {error}"),
                });
                Template::builtin()
            }
        };
        let text = files.notes.as_deref();
        text.and_then(|text| Notes::parse(text, &template).ok())
            .unwrap_or_else(|| Notes::blank(&template))
    }

    fn ask_for_notes(&mut self, files: &NotesFiles) {
        let notes = self.parsed(files);
        let limits = self.settings.layers.notes.limits;
        let bytes = self.conversation.bytes_per_token();
        let excess = notes::over_limit(&notes, limits, bytes);
        let path = self.config.place.notes().display().to_string();
        let directive = notes::directive(&Directive {
            notes: &notes,
            path: &path,
            excess: &excess,
            limits,
            custom: files.prompt.as_deref(),
        });
        let Some(update) = &mut self.notes else {
            return;
        };
        let Stage::Reading(fork) = std::mem::replace(&mut update.stage, Stage::Asking) else {
            return;
        };
        update.sent = tokens::estimate(Block::text(&directive).weight(), bytes);
        let fork = fork.directed(&directive);
        let request = Request::streamed(fork.body()).with_betas(&self.betas());
        // The fork reads the cached prompt, which renews its lifetime.
        self.ledger.touched(self.now);
        let after = self.journal.stored_seq();
        self.ask(AskFor::Notes, Purpose::Notes, request, (None, after));
    }

    pub(crate) fn notes_answered(&mut self, answer: Result<Response, Failure>) {
        match (answer, &mut self.notes) {
            (Ok(response), Some(update)) => update.stage = Stage::Answered(Box::new(response)),
            // The update was given up, but was billed.
            (Ok(response), None) => {
                if let Err(error) = self.account(Purpose::Notes, &response) {
                    self.fail_turn(error);
                }
            }
            (Err(failure), _) => self.notes_failed(failure.why),
        }
    }

    /// Takes in an answer, unless a response is in progress: between a request and its end the log
    /// may contain only blocks of that response.
    pub(crate) fn take_notes(&mut self) {
        let answering = self.phase() == Some(Phase::Answering);
        let Some(update) = self.notes.as_mut().filter(|_| !answering) else {
            return;
        };
        let stage = std::mem::replace(&mut update.stage, Stage::Asking);
        let Stage::Answered(response) = stage else {
            update.stage = stage;
            return;
        };
        let accounted = self.account(Purpose::Notes, &response);
        if let Some(update) = &mut self.notes {
            update.stage = Stage::Applying(response);
        }
        match accounted {
            Ok(()) => {
                self.outbox
                    .start(Running::ReadNotes(NotesFor::Applying), Work::ReadNotes);
            }
            Err(error) => self.notes_failed(error.to_string()),
        }
    }

    fn apply_notes(&mut self, files: &NotesFiles) {
        let before = self.parsed(files);
        let Some(NotesUpdate {
            covers,
            conversation,
            sent,
            stage: Stage::Applying(response),
        }) = &self.notes
        else {
            return;
        };
        let path = self.config.place.notes();
        // All edits or none: a part of them could contradict what is left unchanged.
        let edited = notes::edits_of(&response.blocks, &path.display().to_string())
            .map_err(|error| error.to_string())
            .and_then(|edits| notes::apply(&before, &edits).map_err(|error| error.to_string()));
        let text = match edited {
            // A model copies what it saw; the log has it anyway, a summary of it need not.
            Ok(notes) => secrets::redact(&notes.text()).into_owned(),
            Err(why) => {
                self.notes_failed(why);
                return;
            }
        };
        let bytes = self.conversation.bytes_per_token();
        let size = tokens::estimate(Block::text(&text).weight(), bytes);
        let blob = Hash::of(text.as_bytes());
        let record = record::Notes {
            last_summarised: *covers,
            tokens: size,
            blob,
            // After a compaction in between, growth counts from the shortened conversation.
            conversation: (*conversation).min(self.conversation_tokens()),
            sent: *sent,
            edits: response.usage.output,
        };
        let text = Bytes::from(text);
        // The blob first: if it cannot be written, the file stays as it was.
        let files = [SavePlace::Blob(blob), SavePlace::File(path)].map(|place| SaveFile {
            place,
            bytes: text.clone(),
        });
        if let Some(update) = &mut self.notes {
            update.stage = Stage::Saving {
                notes: record,
                size,
            };
        }
        self.outbox
            .start(Running::Save(SaveFor::Notes), Work::Save(files.into()));
    }

    pub(crate) fn notes_saved(&mut self, outcome: EffectOutcome) {
        let Some(NotesUpdate {
            stage: Stage::Saving { notes, size },
            ..
        }) = self.notes.take()
        else {
            return;
        };
        let saved = match outcome {
            EffectOutcome::Saved(Ok(())) => Ok(()),
            EffectOutcome::Saved(Err((_, why))) => Err(why),
            _ => Err("the write was ended by the host".to_owned()),
        };
        let recorded = saved.and_then(|()| {
            self.emit(Body::Notes(notes))
                .map_err(|error| error.to_string())
        });
        match recorded {
            Ok(_) => self.tell(Notice::NotesUpdated { size }),
            Err(why) => self.tell(Notice::NotesFailed { why }),
        }
    }

    fn notes_failed(&mut self, why: String) {
        if self.notes.take().is_some() {
            self.tell(Notice::NotesFailed { why });
        }
    }

    /// Takes note of the newest summary in the prompt.
    pub(crate) fn remember_summary(&mut self) {
        let segments = self.conversation.view().segments();
        let newest = summaries_in(segments.iter()).pop();
        self.summaries.extend(newest);
    }

    /// The notes file of a compacted session whose policy kept no notes: it costs nothing, and a
    /// person finds the same file under every policy.
    pub(crate) fn notes_for_people(&self) -> Option<SaveFile> {
        let state = self.conversation.state();
        let wanted = self.settings.raw.get(keys::NOTES) && self.config.role == Role::Main;
        if !wanted || state.notes.is_some() || self.summaries.is_empty() {
            return None;
        }
        let bytes = self.conversation.bytes_per_token();
        let evidence = evidence::render(&state.chronicle, EVIDENCE_FOR_PEOPLE, bytes);
        let text = notes::for_people(&self.summaries, &evidence)?;
        Some(SaveFile {
            place: SavePlace::File(self.config.place.notes()),
            bytes: Bytes::from(text),
        })
    }

    /// Gives up an update. Its request is stopped, and what arrived is billed.
    pub(crate) fn stop_notes(&mut self) {
        let asking = |running: &Running| {
            matches!(
                running,
                Running::Ask(AskFor::Notes) | Running::ReadNotes(NotesFor::Asking)
            )
        };
        for id in self.outbox.all(asking) {
            self.outbox.give_up(id);
        }
        self.asks.remove(&AskFor::Notes);
        let unanswered = matches!(
            self.notes.as_ref().map(|update| &update.stage),
            Some(Stage::Reading(_) | Stage::Asking)
        );
        // An answer that has arrived is still applied: it is paid for.
        if unanswered {
            self.notes_failed("cancelled".to_owned());
        }
    }

    /// Waits for a running update on behalf of a compaction.
    pub(crate) fn wait_for_notes(&mut self) {
        self.wait_with(NotesWaiter::Compaction);
        self.notes_settled();
    }

    /// Replies to a command when no update is under way any more.
    pub(crate) fn settle_notes(&mut self, reply: Option<CommandId>) {
        self.wait_with(NotesWaiter::Command(reply));
        self.notes_settled();
    }

    fn wait_with(&mut self, waiter: NotesWaiter) {
        let wait = self.settings.raw.get(keys::NOTES_WAIT);
        let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let until = self.now.after(wait);
        self.notes_waiters.push((waiter, until));
    }

    /// Removes the compaction from the waiters, because it was cancelled.
    pub(crate) fn forget_notes_waiter(&mut self) {
        self.notes_waiters
            .retain(|(waiter, _)| !matches!(waiter, NotesWaiter::Compaction));
    }

    /// Fails the commands that wait for an update, because the log cannot be written.
    pub(crate) fn fail_waiters(&mut self, error: &DriveError) {
        for (waiter, _) in std::mem::take(&mut self.notes_waiters) {
            if let NotesWaiter::Command(reply) = waiter {
                self.reply(reply, Err(error.clone()));
            }
        }
    }

    /// Earliest deadline of a component that waits for an update.
    pub(crate) fn notes_deadline(&self) -> Option<Millis> {
        self.notes_waiters.iter().map(|(_, until)| *until).min()
    }

    /// Continues the components that waited, if the update has ended or their deadline has passed.
    pub(crate) fn notes_settled(&mut self) {
        let (now, over) = (self.now, self.notes.is_none());
        let waiters = std::mem::take(&mut self.notes_waiters);
        let (ready, rest): (Vec<_>, Vec<_>) = waiters
            .into_iter()
            .partition(|(_, until)| over || *until <= now);
        self.notes_waiters = rest;
        for (waiter, _) in ready {
            match waiter {
                NotesWaiter::Command(reply) => self.reply_stored(reply, Ok(Reply::Done)),
                NotesWaiter::Compaction => {
                    let settings = &self.settings.layers.notes;
                    let unusable = settings.off.is_some() || !settings.compact;
                    if unusable || self.conversation.state().notes.is_none() {
                        self.notes_for_compaction(None);
                    } else {
                        self.outbox
                            .start(Running::ReadNotes(NotesFor::Compaction), Work::ReadNotes);
                    }
                }
            }
        }
    }
}

/// Record of the last segment in view.
fn last_message(view: &View) -> Option<Seq> {
    let incoming = view.waiting().last();
    let last = incoming.or_else(|| view.tail().response().last());
    let last = last.or_else(|| view.frozen().last());
    last.map(|segment| segment.origin.record)
}
