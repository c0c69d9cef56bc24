//! Writes of a side task, judged before they reach the directory.
//!
//! # Model
//! The fork's Edit and Write end here. Each write is judged against the conversation it is said to
//! stem from (`dormouse_memory::extract::judge`): it is written, waits for approval, or is refused
//! with words that the model can act on.
//!
//! # Not here
//! Dreams: they work on a copy that is checked as a whole ([`crate::dreaming`]).

use crate::keeper::{Keeper, TeamMemory};
use bytes::Bytes;
use dormouse_core::settings::{Consent, Review as ReviewSetting, Settings, keys};
use dormouse_guard::paths::SafePath;
use dormouse_memdir::{MemdirError, MemoryDir, Proposal};
use dormouse_memory::daily;
use dormouse_memory::extract::judge::{Context, Judged, Proposed, Review, Waiting, judge};
use dormouse_memory::extract::{Span, SpanKind};
use dormouse_memory::index::{IndexFacts, IndexPast, Limits, Missing, bounded};
use dormouse_memory::snapshot::{INDEX, is_topic};
use dormouse_memory::team::{Reach, Scope, scope_for};
use dormouse_memory::topic::{self, Field, Topic};
use dormouse_memory::transaction::{Author, Expected, Transaction};
use dormouse_memory::write::{self, NewMemory};
use dormouse_tools::MemoryWrites;
use jiff::civil::Date;
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};

/// Results of a task's writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Topic files that were written, each once.
    pub saved: Vec<SafePath>,
    /// Memories that wait for approval, by the path they would have.
    pub waiting: Vec<SafePath>,
    /// Refused writes, each with the reason.
    pub refused: Vec<(String, String)>,
}

impl Written {
    /// True if nothing was proposed at all.
    pub const fn is_empty(&self) -> bool {
        self.saved.is_empty() && self.waiting.is_empty() && self.refused.is_empty()
    }
}

/// Conversation that writes are judged by.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Spans since the cursor, each with its speaker.
    pub spans: Vec<Span>,
    /// Texts of instruction files.
    pub known: Vec<String>,
    /// Writes that wait for approval.
    pub review: Review,
}

impl Evidence {
    /// Evidence under the settings.
    pub fn new(spans: Vec<Span>, known: Vec<String>, settings: &Settings) -> Self {
        // With `memory.consent = "ask"` every memory is asked for, and asking is the inbox.
        let ask = settings.get(keys::MEMORY_CONSENT) == Consent::Ask;
        let review = match settings.get(keys::MEMORY_REVIEW) {
            ReviewSetting::Untrusted if !ask => Review::Untrusted,
            ReviewSetting::Untrusted | ReviewSetting::All => Review::All,
        };
        Self {
            spans,
            known,
            review,
        }
    }

    /// Texts that recall put before the model: nothing of them is news.
    fn recalled(&self) -> Vec<&str> {
        let fragments = self
            .spans
            .iter()
            .filter(|span| span.kind == SpanKind::Fragment);
        fragments.map(|span| span.text.as_str()).collect()
    }
}

/// Judge and writer. Memories about the whole project go to the team's memory, if there is one that
/// is trusted; everything else to the user's own.
#[derive(Debug)]
pub struct JudgedWrites {
    dir: MemoryDir,
    team: Option<TeamMemory>,
    evidence: Evidence,
    today: Date,
    /// True if memories go into the log of the day (`daily_log`), for a dream to distil.
    daily: bool,
    index: Limits,
    written: Mutex<Written>,
}

impl JudgedWrites {
    /// Writes to a keeper's directories, judged by a conversation.
    pub fn new(keeper: &Keeper, evidence: Evidence) -> Arc<Self> {
        let settings = keeper.settings();
        let daily = settings.switch(keys::DAILY_LOG).is_on();
        let team = keeper.team.clone().filter(|team| team.trusted);
        Arc::new(Self {
            dir: keeper.memory.clone(),
            // The log is the user's own: a dream decides what the team gets of it.
            team: team.filter(|_| !daily),
            evidence,
            today: keeper.today(),
            daily,
            index: Limits::from_settings(&settings),
            written: Mutex::default(),
        })
    }

    /// Team's memory, if a proposal belongs there. A file that the user has already stays the
    /// user's.
    fn shared(&self, proposed: &Proposed<'_>) -> Option<&TeamMemory> {
        let team = self.team.as_ref()?;
        let kind = match proposed {
            // An unreadable file counts as present: sharing by mistake cannot be taken back.
            Proposed::File { path, .. } if !matches!(self.dir.read(path), Ok(None)) => return None,
            Proposed::File { content, .. } => Topic::read(content).kind,
            Proposed::Memory(memory) => memory.kind,
        };
        (scope_for(kind, Reach::Unknown) == Scope::Team).then_some(team)
    }

    /// Results of the writes so far.
    pub fn written(&self) -> Written {
        self.written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Judges a proposal and carries the verdict out.
    ///
    /// # Errors
    /// When the directory cannot be written. A refusal is no error: it is in [`Self::written`].
    pub fn propose(&self, proposed: &Proposed<'_>) -> Result<Result<String, String>, MemdirError> {
        let recalled = self.evidence.recalled();
        let known: Vec<&str> = self.evidence.known.iter().map(String::as_str).collect();
        let mut outcome = None;
        let shared = self.shared(proposed);
        let dir = shared.map_or(&self.dir, |team| &team.dir);
        // Judged inside the update, which asks again if another extraction added it meanwhile.
        let entry = dir.update(|snapshot| {
            let context = Context {
                snapshot,
                spans: &self.evidence.spans,
                recalled: &recalled,
                known: &known,
                review: self.evidence.review,
                author: Author::Extractor,
            };
            let judged = judge(proposed, &context);
            let transaction = match &judged {
                Judged::Write(transaction) if self.daily => {
                    daily::logged(snapshot, self.today, transaction)
                }
                Judged::Write(transaction) => signed(transaction.clone(), shared),
                // An empty transaction: the lock is released without an entry in the journal.
                Judged::Known(_) | Judged::Inbox(_) | Judged::Refuse(_) => {
                    Transaction::by(Author::Extractor, "nothing")
                }
            };
            outcome = Some(judged);
            let facts = IndexFacts {
                today: self.today,
                limits: self.index,
                past: &IndexPast::default(),
                missing: Missing::Keep,
            };
            Ok::<_, MemdirError>(bounded(transaction, snapshot, &facts))
        })?;
        let Some(judged) = outcome else {
            return Ok(Err("nothing was decided".to_owned()));
        };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(match judged {
            Judged::Write(_) => {
                let changes = entry.into_iter().flat_map(|entry| entry.changes);
                let topics = changes.filter(|change| {
                    let log = daily::day_of(&change.path).is_some();
                    change.after.is_some() && (log || is_topic(&change.path))
                });
                let names: Vec<SafePath> = topics.map(|change| change.path).collect();
                if names.is_empty() {
                    return Ok(Ok(
                        "The log says this already; nothing was changed.".to_owned()
                    ));
                }
                let told = names
                    .iter()
                    .map(SafePath::as_str)
                    .collect::<Vec<_>>()
                    .join(", ");
                for name in names {
                    if !written.saved.contains(&name) {
                        written.saved.push(name);
                    }
                }
                Ok(format!("Saved: {told}. The index is kept for you."))
            }
            Judged::Known(path) => Ok(format!("{path} says this already; nothing was changed.")),
            Judged::Inbox(waiting) => {
                let reason = waiting.reason.clone();
                let path = self.wait(waiting)?;
                written.waiting.push(path.clone());
                Ok(format!("{path} waits for the user's approval: {reason}."))
            }
            Judged::Refuse(refused) => {
                let name = match proposed {
                    Proposed::File { path, .. } => path.to_string(),
                    Proposed::Memory(memory) => memory.name.clone(),
                };
                written.refused.push((name, refused.to_string()));
                Err(refused.to_string())
            }
        })
    }

    /// Puts an untrusted memory into the user's own inbox, wherever it belongs: nothing unapproved
    /// may reach a shared directory.
    fn wait(&self, waiting: Waiting) -> Result<SafePath, MemdirError> {
        let snapshot = self.dir.snapshot()?;
        let path = waiting.path.unwrap_or_else(|| {
            let topic = Topic::read(&waiting.content);
            let named = NewMemory {
                kind: topic.kind,
                name: topic.name,
                description: topic.description,
                ..NewMemory::default()
            };
            write::free_path(&snapshot, &named)
        });
        self.dir.propose(Proposal {
            expected: Expected::now(&snapshot, &path),
            path: path.clone(),
            content: waiting.content,
            author: Author::Extractor,
            reason: "said in a session".to_owned(),
            origin: Some(waiting.origin),
            trust: waiting.trust,
            waits_because: waiting.reason,
        })?;
        Ok(path)
    }
}

/// Transaction with the name of the user who shares its memories.
fn signed(mut transaction: Transaction, shared: Option<&TeamMemory>) -> Transaction {
    let Some(team) = shared else {
        return transaction;
    };
    for operation in &mut transaction.operations {
        if !is_topic(&operation.path) {
            continue;
        }
        if let Some(content) = &mut operation.content {
            let text = String::from_utf8_lossy(content);
            if Topic::read(&text).author.is_none() {
                let author = Field::Author(team.author.clone());
                *content = topic::edit(&text, &[author]).into();
            }
        }
    }
    transaction
}

impl MemoryWrites for JudgedWrites {
    fn read(&self, path: &SafePath) -> Result<Option<Bytes>, String> {
        let file = self.dir.read(path).map_err(|error| error.to_string())?;
        Ok(file.map(|file| file.content))
    }

    fn write(&self, path: &SafePath, content: Bytes) -> Result<String, String> {
        // Models write the index out of habit; an error would cost them a turn for nothing.
        if path.as_str() == INDEX {
            return Ok("The index is kept for you: each topic file has its line.".to_owned());
        }
        let text = std::str::from_utf8(&content).map_err(|_| "a memory is UTF-8 text")?;
        let proposed = Proposed::File {
            path,
            content: text,
        };
        match self.propose(&proposed) {
            Ok(answer) => answer,
            Err(error) => Err(error.to_string()),
        }
    }
}
