//! Dreams and extractions, for a program that waits for them.
//!
//! # Not here
//! The work itself and its gates: `dormouse-keeper`. Background dreams of a session: its keeper.

use crate::error::HostError;
use crate::host::Host;
use crate::memories::FileDiff;
use crate::place::Which;
use crate::remark::Remark;
use crate::transcripts::Transcripts;
use dormouse_core::record::Record;
use dormouse_guard::paths::SafePath;
use dormouse_keeper::dreaming::{DreamWish, Dreamt, SharedTask};
use dormouse_keeper::extraction::{By, Extracted};
use dormouse_keeper::writes::Evidence;
use dormouse_memory::dream::What;
use dormouse_memory::extract::{Span, offline, spans};
use dormouse_memory::topic::Kind;
use dormouse_system::OptionalFile as _;
use serde::Serialize;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// Pause between two lines of progress: short enough to look alive, long enough to be read.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

/// A wish for a dream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DreamAsk {
    /// Dream even if it is not time yet.
    pub now: bool,
    /// Only say what would change; it is always time for that.
    pub dry_run: bool,
    /// Use the rules without a model even where there is one.
    pub offline: bool,
}

/// The outcome of a wish for a dream.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum DreamAnswer {
    /// The gates are closed: too early, or too few sessions.
    NotYet(NotDreamt),
    /// A dream was made, also one that changed nothing.
    Dreamt(Box<DreamReport>),
    /// The caller ended it; nothing was changed.
    #[serde(skip)]
    Ended,
}

/// Reason why nothing was dreamt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotDreamt {
    /// Always unset: a program tells both answers apart by it.
    pub dreamt: bool,
    /// The gate that is closed.
    pub why_not: String,
}

/// A dream and what it changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DreamReport {
    /// Always set: a program tells both answers apart by it.
    pub dreamt: bool,
    /// Always `None`; the field is there for programs that read both answers.
    pub why_not: Option<String>,
    /// The writer: a model, or rules with the reason.
    pub by: By,
    /// Set if nothing was written on purpose.
    pub dry_run: bool,
    /// Changes as the dreamer states them.
    pub changes: Vec<DreamChange>,
    /// Files before and after, for a diff.
    pub files: Vec<FileDiff>,
    /// Changes that were left out because others changed the file meanwhile.
    pub dropped: Vec<DroppedChange>,
    /// Memories that were shown often and never were of use: proposed for forgetting.
    pub never_used: Vec<UnusedMemory>,
    /// The entry of the journal, if anything changed.
    pub entry: Option<String>,
    /// Tokens that the model used.
    pub tokens: u64,
    /// Files that the entry changed.
    #[serde(skip)]
    pub changed_files: usize,
}

/// A change as the dreamer states it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DreamChange {
    /// The file, relative to its directory.
    pub path: SafePath,
    /// The sort of change.
    pub what: What,
    /// The dreamer's reason, for people.
    pub reason: String,
    /// Files that it was made of.
    pub sources: Vec<SafePath>,
}

/// A memory that was shown often and never was of use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnusedMemory {
    /// Its file, relative to its directory.
    pub path: SafePath,
    /// Times it was shown.
    pub shown: u32,
}

/// A change that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedChange {
    /// The file that stays as it is.
    pub path: SafePath,
    /// The file that changed meanwhile.
    pub because_of: SafePath,
}

/// A wish for an extraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtractAsk {
    /// Only say what rules without a model would propose.
    pub dry_run: bool,
    /// Use the rules without a model even where there is one.
    pub offline: bool,
}

/// The outcome of an extraction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExtractReport {
    /// A model, rules with the reason, or `rules` for a dry run.
    pub by: ExtractedBy,
    /// Set if nothing was written on purpose.
    pub dry_run: bool,
    /// Memories that were saved.
    pub saved: Vec<SafePath>,
    /// Memories that wait for approval.
    pub waiting: Vec<SafePath>,
    /// Writes that were refused, each with the reason.
    pub refused: Vec<(String, String)>,
    /// Calls of the model that were denied, each with its reason.
    pub denied: Vec<String>,
    /// Memories that a dry run would save.
    pub proposals: Vec<ProposedMemory>,
}

/// The author of an extraction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ExtractedBy {
    /// A model or rules that wrote.
    Written(By),
    /// Rules that only proposed, by their name.
    Proposed(&'static str),
}

/// A memory that a dry run would save.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProposedMemory {
    /// Name that it would get.
    pub name: String,
    /// Its `type`, if the words tell one.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// The line that recall would read.
    pub description: String,
    /// The user's words that it stems from.
    pub words: String,
}

impl Host {
    /// Dreams, if it is time or wished for. `progress` is told the state now and then; `stop` ends
    /// the dream, which changes nothing then.
    ///
    /// # Errors
    /// When memory is off, a directory that was named does not exist, another process dreams, or the
    /// outcome does not pass the check.
    pub fn dream<S: Future<Output = ()>>(
        &self,
        which: &Which,
        ask: DreamAsk,
        stop: impl FnOnce() -> S,
        mut progress: impl FnMut(&str),
    ) -> Result<DreamAnswer, HostError> {
        // The keeper makes its directory: a mistyped name would found an empty memory that is "in
        // order".
        if let Which::Directory(named) = which {
            let found = self.places().current_dir.join(named);
            // Asked before the rules about places: those refuse `..` in a path that leads nowhere.
            if self.system().files.metadata(&found).optional()?.is_none() {
                return Err(HostError::NoDirectory(named.clone()));
            }
        }
        let opened = self.keeper(which)?;
        let keeper = opened.keeper;
        if !ask.now && !ask.dry_run {
            // A dry run passes the gates: it changes nothing, so it may be asked for at any time.
            let mut gates = keeper.dream_gates();
            // No session asks: the empty id excludes none from the count.
            if let Err(reason) = keeper.dream_due(&mut gates, "") {
                return Ok(DreamAnswer::NotYet(NotDreamt {
                    dreamt: false,
                    why_not: reason.to_string(),
                }));
            }
        }
        let wish = DreamWish {
            dry_run: ask.dry_run,
            without_model: ask.offline,
        };
        let task = keeper.dream_task();
        // Dropping the future ends the dream before anything is put in place.
        let dreamt = runtime()?.block_on(async {
            let dream = keeper.dream(wish, Arc::clone(&task));
            let stop = stop();
            tokio::pin!(dream, stop);
            let mut every = tokio::time::interval(PROGRESS_EVERY);
            loop {
                tokio::select! {
                    ended = &mut dream => break Some(ended),
                    () = &mut stop => break None,
                    _ = every.tick() => progress(&line(&task)),
                }
            }
        });
        let Some(dreamt) = dreamt else {
            return Ok(DreamAnswer::Ended);
        };
        let dreamt = dreamt?;
        // A user who asked for rules need not be told that rules were used.
        if let (By::Rules(why), false) = (&dreamt.by, ask.offline) {
            // Which setting is missing says more than that no model is there.
            let missing = opened.no_model.map(|missing| missing.to_string());
            let why = missing.unwrap_or_else(|| why.clone());
            self.remark(Remark::WithoutModel { why });
        }
        let report = report(dreamt, ask.dry_run);
        Ok(DreamAnswer::Dreamt(Box::new(report)))
    }

    /// Draws memories from a recorded session. `progress` is told when a model begins to read.
    ///
    /// # Errors
    /// When the transcript cannot be read or has no messages, memory is off, or the directory
    /// cannot be changed.
    pub fn extract(
        &self,
        which: &Which,
        file: &Path,
        ask: ExtractAsk,
        mut progress: impl FnMut(&str),
    ) -> Result<ExtractReport, HostError> {
        // Remarks of this reading are passed on below; a shared reader would mix them with others.
        let transcripts = Transcripts::new(self.system(), self.models());
        let read = transcripts.read(file)?;
        for remark in transcripts.take_remarks() {
            self.remark(remark);
        }
        // Everything that was said in the main conversation, also before compactions and rewinds:
        // the user said it, whatever became of the prompt.
        let main = |record: &Record| !record.side_chain && record.agent.is_none();
        let records: Vec<Record> = read.records.into_iter().filter(main).collect();
        let said = spans(&records, None);
        if said.is_empty() {
            return Err(HostError::NoMessages(file.to_owned()));
        }
        // Before the keeper is opened: a dry run makes no directory.
        if ask.dry_run {
            let known = self.session_texts()?.known;
            let snapshot = self.find(which)?.snapshot()?;
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let proposals = offline::extract(&said, &snapshot, &known);
            return Ok(proposed(proposals));
        }
        self.draw(which, said, ask.offline, &mut progress)
    }

    /// Draws memories from what was said, by a model or by rules.
    pub(crate) fn draw(
        &self,
        which: &Which,
        said: Vec<Span>,
        offline: bool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<ExtractReport, HostError> {
        // A sentence of an instruction file is in every prompt already.
        let known = self.session_texts()?.known;
        let opened = self.keeper(which)?;
        let keeper = opened.keeper;
        let evidence = Evidence::new(said, known, &keeper.settings());
        let extracted = match opened.no_model {
            // Wins over a model that is set up: the user said so.
            _ if offline => keeper.extract_by_rules(&evidence, None, "no model was wanted")?,
            Some(why) => {
                let why = why.to_string();
                let extracted = keeper.extract_by_rules(&evidence, None, &why)?;
                self.remark(Remark::WithoutModel { why });
                extracted
            }
            None => {
                progress("the model reads the session");
                runtime()?.block_on(keeper.extract_recorded(evidence))?
            }
        };
        Ok(written(extracted))
    }
}

/// A runtime with threads of its own: the caller is synchronous, and a dream asks a model.
fn runtime() -> Result<tokio::runtime::Runtime, HostError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().build().map_err(HostError::Runtime)
}

fn line(task: &SharedTask) -> String {
    let task = task.lock().unwrap_or_else(PoisonError::into_inner);
    task.line()
}

fn report(dreamt: Dreamt, dry_run: bool) -> DreamReport {
    let operations = dreamt.transaction.operations.iter();
    let files = operations.map(|operation| {
        let before = dreamt.before.get(&operation.path);
        let after = operation.content.as_ref();
        FileDiff {
            path: operation.path.to_string(),
            before: before.map(|file| file.text().into_owned()),
            after: after.map(|text| String::from_utf8_lossy(text).into_owned()),
        }
    });
    let changes = dreamt.changes.iter().map(|change| DreamChange {
        path: change.path.clone(),
        what: change.what,
        reason: change.reason.clone(),
        sources: change.sources.clone(),
    });
    let dropped = dreamt.dropped.iter().map(|dropped| DroppedChange {
        path: dropped.path.clone(),
        because_of: dropped.because_of.clone(),
    });
    let never_used = dreamt.never_used.iter().map(|unused| UnusedMemory {
        path: unused.path.clone(),
        shown: unused.shown,
    });
    DreamReport {
        dreamt: true,
        why_not: None,
        dry_run,
        changes: changes.collect(),
        files: files.collect(),
        dropped: dropped.collect(),
        never_used: never_used.collect(),
        changed_files: dreamt.entry.as_ref().map_or(0, |entry| entry.changes.len()),
        tokens: dreamt.usage.prompt().get() + dreamt.usage.output.get(),
        by: dreamt.by,
        entry: dreamt.entry.map(|entry| entry.id),
    }
}

fn proposed(proposals: Vec<offline::Proposal>) -> ExtractReport {
    let proposals = proposals.into_iter().map(|proposal| ProposedMemory {
        name: proposal.memory.name,
        kind: proposal.memory.kind.map(Kind::name),
        description: proposal.memory.description,
        words: proposal.words,
    });
    ExtractReport {
        by: ExtractedBy::Proposed("rules"),
        dry_run: true,
        saved: Vec::new(),
        waiting: Vec::new(),
        refused: Vec::new(),
        denied: Vec::new(),
        proposals: proposals.collect(),
    }
}

fn written(extracted: Extracted) -> ExtractReport {
    ExtractReport {
        by: ExtractedBy::Written(extracted.by),
        dry_run: false,
        saved: extracted.written.saved,
        waiting: extracted.written.waiting,
        refused: extracted.written.refused,
        denied: extracted.denied,
        proposals: Vec::new(),
    }
}
