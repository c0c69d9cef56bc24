//! Layer 3, carried out: notes written by forks, one at a time.
//!
//! An update is a task that only talks to the model. Its answer is taken in when the session looks
//! next: parsed, checked as one batch, written to the file, and recorded. Whatever goes wrong, the
//! notes stay as they were.

use crate::error::EngineError;
use crate::notice::Notice;
use crate::ports::Purpose;
use crate::session::Session;
use dormouse_context::fork::Fork;
use dormouse_context::layers::NotesStatus;
use dormouse_context::notes::{self, Directive, Notes, Template};
use dormouse_context::tokens;
use dormouse_core::block::Block;
use dormouse_core::id::Seq;
use dormouse_core::record::{self, Body};
use dormouse_core::settings::keys;
use dormouse_core::units::Tokens;
use dormouse_model::{ModelError, Request, Response};
use dormouse_system::{Access, OptionalFile as _};
use std::path::PathBuf;
use tokio::task::JoinHandle;

/// Larger notes or templates than this are not ours.
const MOST_BYTES: u64 = 1024 * 1024;

/// Keeps track of updates.
#[derive(Debug, Default)]
pub(crate) struct NotesKeeper {
    running: Option<Update>,
    spent: f64,
    updates: u32,
}

#[derive(Debug)]
struct Update {
    task: JoinHandle<Result<Response, ModelError>>,
    covers: Seq,
    conversation: Tokens,
    sent: Tokens,
}

impl NotesKeeper {
    pub(crate) fn status(&self) -> NotesStatus {
        NotesStatus {
            running: self.running.is_some(),
            spent: self.spent,
            updates: self.updates,
        }
    }

    /// A compaction settles what was spent before it.
    pub(crate) fn compacted(&mut self) {
        self.spent = 0.0;
        self.updates = 0;
    }
}

impl Session {
    /// The file with the notes.
    pub fn notes_path(&self) -> PathBuf {
        self.place.folder.join("session-memory").join("summary.md")
    }

    fn config_text(&self, name: &str) -> Option<String> {
        let folder = self.place.home.join("session-memory").join("config");
        let files = &self.ports.system.files;
        let read = files.read(&folder.join(name), MOST_BYTES).ok()?;
        String::from_utf8(read.to_vec()).ok()
    }

    fn template(&self) -> Template {
        let Some(text) = self.config_text("template.md") else {
            return Template::builtin();
        };
        match Template::parse(&text) {
            Ok(template) => template,
            Err(error) => {
                self.tell(Notice::NotesFailed {
                    why: format!("your template is not used: {error}"),
                });
                Template::builtin()
            }
        }
    }

    /// The notes as they are: a file that no longer fits its template starts anew, and stays in
    /// the log as a blob.
    fn notes_now(&self) -> Notes {
        let template = self.template();
        let files = &self.ports.system.files;
        let text = files.read(&self.notes_path(), MOST_BYTES).optional();
        let text = text.ok().flatten();
        let text = text.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        text.and_then(|text| Notes::parse(&text, &template).ok())
            .unwrap_or_else(|| Notes::blank(&template))
    }

    /// Starts an update on the conversation as it is, unless one is running.
    pub(crate) fn start_notes(&mut self) {
        let covers = self.conversation.view().messages().last().copied();
        let Some(covers) = covers.filter(|_| self.notes.running.is_none()) else {
            return;
        };
        let notes = self.notes_now();
        let limits = self.settings.layers.notes.limits;
        let bytes = self.conversation.bytes_per_token();
        let excess = notes::over_limit(&notes, limits, bytes);
        let path = self.notes_path().display().to_string();
        let custom = self.config_text("prompt.md");
        let directive = notes::directive(&Directive {
            notes: &notes,
            path: &path,
            excess: &excess,
            limits,
            custom: custom.as_deref(),
        });
        let moment = (self.now(), self.ttls());
        let fork = Fork::new(
            &self.conversation,
            &self.ledger,
            &self.config.prefix,
            &self.params,
            &directive,
            moment,
        );
        let weight = *Block::text(&directive).weight();
        let request = Request::streamed(fork.body()).with_betas(&self.betas());
        let stream = self.ports.asker.ask(Purpose::Notes, request);
        self.ledger.touched(self.now());
        self.notes.running = Some(Update {
            task: tokio::spawn(stream.finish()),
            covers,
            conversation: self.conversation_tokens(),
            sent: tokens::estimate(&weight, bytes),
        });
    }

    /// The length of the conversation without its prefix.
    fn conversation_tokens(&self) -> Tokens {
        self.used() - self.measure().tokens(self.config.prefix.weight())
    }

    /// Takes a finished update in.
    pub(crate) fn collect_notes(&mut self) -> Result<(), EngineError> {
        let finished = |update: &mut Update| update.task.is_finished();
        let Some(update) = self.notes.running.take_if(finished) else {
            return Ok(());
        };
        // A finished task gives its result at once.
        let answer = futures_now(update.task);
        self.take_notes(answer, update.covers, update.conversation, update.sent)
    }

    /// Waits for an update that is under way, and takes it in.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn settle_notes(&mut self) -> Result<(), EngineError> {
        let wait = self.settings.raw.get(keys::NOTES_WAIT);
        // It stays where it is while it is waited for: whoever stops waiting does not lose it.
        let Some(update) = &mut self.notes.running else {
            return Ok(());
        };
        let (covers, conversation, sent) = (update.covers, update.conversation, update.sent);
        let Ok(answer) = tokio::time::timeout(wait, &mut update.task).await else {
            return Ok(());
        };
        self.notes.running = None;
        self.take_notes(answer.ok(), covers, conversation, sent)
    }

    fn take_notes(
        &mut self,
        answer: Option<Result<Response, ModelError>>,
        covers: Seq,
        conversation: Tokens,
        sent: Tokens,
    ) -> Result<(), EngineError> {
        let failed = |why: String| Notice::NotesFailed { why };
        let response = match answer {
            Some(Ok(response)) => response,
            Some(Err(error)) => {
                self.tell(failed(error.chain()));
                return Ok(());
            }
            None => {
                self.tell(failed("the update was ended".to_owned()));
                return Ok(());
            }
        };
        let rates = self.rates();
        let usage = &response.usage;
        let figure = |tokens: Tokens| f64::from(u32::try_from(tokens.get()).unwrap_or(u32::MAX));
        self.notes.updates += 1;
        self.notes.spent += figure(usage.input)
            + rates.read * figure(usage.cache_read)
            + rates.write * figure(usage.cache_write_5m + usage.cache_write_1h)
            + rates.output * figure(usage.output);
        let path = self.notes_path().display().to_string();
        let edited = notes::edits_of(&response.blocks, &path)
            .map_err(|error| error.to_string())
            .and_then(|edits| {
                notes::apply(&self.notes_now(), &edits).map_err(|error| error.to_string())
            });
        let notes = match edited {
            Ok(notes) => notes,
            Err(why) => {
                self.tell(failed(why));
                return Ok(());
            }
        };
        let text = notes.text();
        let files = &self.ports.system.files;
        let folder = self.place.folder.join("session-memory");
        // The blob first: if it cannot be written the file stays as it was.
        let blob = match self.ports.blobs.put(text.as_bytes()) {
            Ok(blob) => blob,
            Err(error) => {
                self.tell(failed(error.to_string()));
                return Ok(());
            }
        };
        let written = files
            .create_dir_all(&folder, Access::Private)
            .and_then(|()| files.replace(&self.notes_path(), text.as_bytes(), Access::Private));
        if let Err(error) = written {
            self.tell(failed(error.to_string()));
            return Ok(());
        }
        let bytes = self.conversation.bytes_per_token();
        let size = tokens::estimate(Block::text(&text).weight(), bytes);
        self.append(Body::Notes(record::Notes {
            last_summarised: covers,
            tokens: size,
            blob,
            // If it was compacted meanwhile, growth counts from what is left.
            conversation: conversation.min(self.conversation_tokens()),
            sent,
            edits: response.usage.output,
        }))?;
        self.tell(Notice::NotesUpdated { size });
        Ok(())
    }

    /// The notes and the last message they cover, for a compaction: waits for an update that is
    /// under way.
    pub(crate) async fn notes_for_summary(&mut self) -> Result<Option<(Notes, Seq)>, EngineError> {
        self.settle_notes().await?;
        let settings = &self.settings.layers.notes;
        if settings.off.is_some() || !settings.compact {
            return Ok(None);
        }
        let Some(state) = &self.conversation.state().notes else {
            return Ok(None);
        };
        Ok(Some((self.notes_now(), state.last_summarised)))
    }
}

/// The result of a task that has finished.
fn futures_now<T>(mut task: JoinHandle<T>) -> Option<T> {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};
    let mut context = Context::from_waker(Waker::noop());
    match Pin::new(&mut task).poll(&mut context) {
        Poll::Ready(result) => result.ok(),
        Poll::Pending => None,
    }
}
