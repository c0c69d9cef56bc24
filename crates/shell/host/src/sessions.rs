//! Figures over transcripts: sessions, usage.
//!
//! # Not here
//! One session at a point ([`crate::transcripts`]).

use crate::error::HostError;
use crate::host::Host;
use crate::remark::Remark;
use crate::session_cache::{SessionCache, stamps};
use crate::transcripts::Transcripts;
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage_book::{UsageBook, UsageSum, UsageTotals};
use dormouse_store::{
    FoundLog, LogFile, ReadError, SessionSummary, discover, scan_usage, summarise_and_bill,
};
use dormouse_system::{FileKind, System};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sessions below a folder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionList {
    /// One row for each session, newest first.
    pub sessions: Vec<SessionRow>,
    /// Files and folders that could not be read, with the reasons.
    pub unreadable: Vec<String>,
    /// Files that are no transcripts, counted.
    pub other_files: u64,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Path of its transcript.
    pub file: String,
    /// Id of the session, from its file.
    pub session: String,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// Time of the first message.
    pub first: Option<String>,
    /// Time of the last message.
    pub last: Option<String>,
    /// Messages of the user and the assistant.
    pub messages: u64,
    /// Tokens that its prompt holds now, measured or estimated.
    pub tokens: u64,
    /// Cost with its sub-agents; `None` where no price is known.
    pub cost_usd: Option<f64>,
    /// The model last used.
    pub model: String,
    /// Its compactions, oldest first.
    pub compactions: Vec<CompactionRow>,
    /// Transcripts of its sub-agents, counted.
    pub agents: usize,
    /// The folder it works in, where the transcript says.
    pub cwd: Option<String>,
    /// The git branch it works on, where the transcript says.
    pub git_branch: Option<String>,
    /// Length of its transcript, in bytes.
    pub bytes: u64,
    /// Lines that could not be read.
    pub skipped_lines: u64,
    /// Time of the last message, or else of the last change.
    #[serde(skip)]
    pub newest: Millis,
}

/// A compaction of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactionRow {
    /// Time at which it happened.
    pub at: Option<String>,
    /// Its trigger, where the transcript says.
    pub trigger: Option<String>,
    /// Tokens of the prompt before it.
    pub pre_tokens: Option<u64>,
    /// Tokens of the prompt after it.
    pub post_tokens: Option<u64>,
}

/// Tokens and dollars of transcripts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UsageReport {
    /// Responses that were counted.
    pub requests: u64,
    /// Prompt tokens at the full price.
    pub input_tokens: u64,
    /// Prompt tokens read from the cache.
    pub cache_read_input_tokens: u64,
    /// Prompt tokens written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Tokens of the answers, thinking included.
    pub output_tokens: u64,
    /// Dollars; `None` where no price is known.
    pub cost_usd: Option<f64>,
    /// The same for each model.
    pub by_model: BTreeMap<String, ModelUsage>,
    /// Share of the prompt tokens that came from the cache.
    pub cache_hit_rate: Option<f64>,
    /// Responses of models without a known price.
    pub unpriced_requests: u64,
    /// Transcripts that were read.
    pub files: u64,
    /// Lines that could not be read in full.
    pub skipped_lines: u64,
    /// Transcripts and folders that could not be read.
    pub unreadable_files: u64,
    /// Files of the folder that are no transcripts.
    pub other_files: u64,
    /// Models without a known price.
    #[serde(skip)]
    pub unpriced_models: Vec<String>,
    /// The exact sums that the figures are made of.
    #[serde(skip)]
    pub sums: UsageTotals,
}

/// Tokens and dollars of one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelUsage {
    /// Responses that were counted.
    pub requests: u64,
    /// Prompt tokens at the full price.
    pub input_tokens: u64,
    /// Prompt tokens read from the cache.
    pub cache_read_input_tokens: u64,
    /// Prompt tokens written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Tokens of the answers.
    pub output_tokens: u64,
    /// Dollars; `None` where no price is known.
    pub cost_usd: Option<f64>,
}

impl Host {
    /// The folder that sessions are kept in.
    pub fn sessions_folder(&self) -> PathBuf {
        self.places().home.join("projects")
    }

    /// Sessions below a folder, newest first; those of the home if none is named.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn sessions(&self, folder: Option<&Path>) -> Result<SessionList, HostError> {
        self.sessions_telling(folder, |_| {})
    }

    /// The same, telling which of how many sessions is being read. Rows of transcripts that did not
    /// change since the last list come from a cache in the home.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn sessions_telling(
        &self,
        folder: Option<&Path>,
        mut tell: impl FnMut(&str),
    ) -> Result<SessionList, HostError> {
        let mut list = SessionList {
            sessions: Vec::new(),
            unreadable: Vec::new(),
            other_files: 0,
        };
        let home = self.sessions_folder();
        let files = Arc::clone(&self.system().files);
        let found = match discover(&*files, folder.unwrap_or(&home)) {
            Ok(found) => found,
            // A home where nothing was ever stored is no mistake.
            Err(error) if folder.is_none() && error.not_found() => return Ok(list),
            Err(error) => return Err(HostError::Folder(error)),
        };
        // Transcripts of sub-agents are files of their own and no sessions; their cost belongs to
        // one.
        let mut agents: BTreeMap<&SessionId, Vec<&FoundLog>> = BTreeMap::new();
        for log in found.logs.iter().filter(|log| log.agent.is_some()) {
            agents.entry(&log.session).or_default().push(log);
        }
        let refused = found.refused.iter().map(ToString::to_string);
        list.unreadable = refused.collect();
        let models = self.models();
        let mut cache = SessionCache::load(&*files, &self.places().home, &models);
        let own: Vec<&FoundLog> = found.logs.iter().filter(|it| it.agent.is_none()).collect();
        for (number, log) in own.iter().enumerate() {
            let beside = agents.get(&log.session).map_or(&[][..], Vec::as_slice);
            let all: Vec<&FoundLog> = std::iter::once(*log)
                .chain(beside.iter().copied())
                .collect();
            let stamps = stamps(&*files, &all);
            let known = stamps
                .as_deref()
                .and_then(|stamps| cache.take(&log.path, stamps));
            if let Some(mut row) = known {
                row.newest = newest(&row, log);
                list.sessions.push(row);
                continue;
            }
            tell(&format!("reading session {} of {}", number + 1, own.len()));
            match row(log, beside, &models, self.system()) {
                Ok(row) => {
                    // Stamps from before the reading: a file that grew meanwhile is read again.
                    if let Some(stamps) = stamps {
                        cache.put(&log.path, stamps, &row);
                    }
                    list.sessions.push(row);
                }
                Err(Unreadable::OtherFile) => list.other_files += 1,
                Err(Unreadable::Because(message)) => list.unreadable.push(message),
            }
        }
        tell("");
        cache.save(&*files, folder.unwrap_or(&home));
        list.sessions
            .sort_by_key(|row| std::cmp::Reverse(row.newest));
        Ok(list)
    }

    /// Tokens and dollars of a transcript or of a folder of them. A response counts once, however
    /// many lines and files tell of it.
    ///
    /// # Errors
    /// When the path cannot be read, or has no transcript.
    pub fn usage(&self, path: &Path) -> Result<UsageReport, HostError> {
        let scan = self.scan_usage(path)?;
        let models = self.models();
        let totals = scan.book.totals(&models);
        Ok(usage_report(&scan, &totals, &models))
    }

    fn scan_usage(&self, path: &Path) -> Result<Scan, HostError> {
        let mut scan = Scan::default();
        let files = &*self.system().files;
        let facts = files.metadata(path);
        // A path that is not there goes this way, too: opening it gives the better error.
        if !facts.is_ok_and(|facts| facts.kind == FileKind::Directory) {
            let log = LogFile::open(files, path)?;
            let read = scan_usage(&log, &mut scan.book)?;
            scan.files = 1;
            scan.skipped_lines = read.issues.total();
            return Ok(scan);
        }
        let found = discover(files, path)?;
        for refused in &found.refused {
            scan.unreadable += 1;
            let why = refused.to_string();
            self.remark(Remark::Unlisted { why });
        }
        // Zero everywhere would look like a result.
        if found.logs.is_empty() {
            return Err(HostError::NoTranscripts(path.to_owned()));
        }
        for found in &found.logs {
            let log = LogFile::open(files, &found.path);
            match log.and_then(|log| scan_usage(&log, &mut scan.book)) {
                Ok(read) => {
                    scan.files += 1;
                    scan.skipped_lines += read.issues.total();
                }
                // An empty file has used nothing and is no fault.
                Err(ReadError::Empty { .. }) => scan.files += 1,
                Err(ReadError::NotATranscript { .. }) => scan.others += 1,
                Err(error) => {
                    scan.unreadable += 1;
                    let why = error.to_string();
                    self.remark(Remark::LeftOut { why });
                }
            }
        }
        // Zero everywhere would look like a result.
        if scan.files == 0 && scan.unreadable == 0 {
            return Err(HostError::NoTranscripts(path.to_owned()));
        }
        Ok(scan)
    }
}

/// The reason why a file is not in the list.
enum Unreadable {
    /// It is no transcript.
    OtherFile,
    /// It cannot be read, for this reason in words.
    Because(String),
}

impl From<ReadError> for Unreadable {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotATranscript { .. } => Self::OtherFile,
            error => Self::Because(error.to_string()),
        }
    }
}

fn row(
    found: &FoundLog,
    agents: &[&FoundLog],
    models: &Arc<ModelTable>,
    system: &System,
) -> Result<SessionRow, Unreadable> {
    let files = Arc::clone(&system.files);
    let log = LogFile::open(&*files, &found.path)?;
    let mut book = UsageBook::new();
    let summary = summarise_and_bill(&log, &mut book)?;
    for agent in agents {
        // A sub-agent's transcript that cannot be read costs its figures, not the session.
        if let Ok(log) = LogFile::open(&*files, &agent.path) {
            scan_usage(&log, &mut book)?;
        }
    }
    let totals = book.totals(models).all;
    // The live part alone: folding whole files would make a list of long sessions slow.
    let live = Transcripts::new(system, Arc::clone(models)).live(&found.path);
    let transcript = live
        .map_err(|_| Unreadable::Because(format!("`{}` cannot be read", found.path.display())))?;
    let count = transcript.conversation.count(&transcript.prefix_weight());
    // Nothing sent costs nothing; something sent without a price is unknown.
    let priced = totals.responses == 0 || totals.unpriced < totals.responses;
    let SessionSummary {
        title, first, last, ..
    } = &summary;
    let time = |at: &Option<Millis>| at.map(|at| at.to_string());
    let mut row = SessionRow {
        file: found.path.display().to_string(),
        session: found.session.to_string(),
        title: title.clone(),
        first: time(first),
        last: time(last),
        messages: summary.human_messages + summary.assistant_messages,
        tokens: count.tokens.get(),
        cost_usd: priced.then(|| totals.cost.as_f64()),
        model: transcript.model().to_owned(),
        compactions: compactions(&summary),
        agents: agents.len(),
        cwd: summary.cwd.clone(),
        git_branch: summary.git_branch.clone(),
        bytes: summary.bytes,
        skipped_lines: summary.skipped.total(),
        newest: Millis::default(),
    };
    row.newest = newest(&row, found);
    Ok(row)
}

/// Time by which a session is sorted: a copied or converted file has a new time of change; the
/// message's own is better.
fn newest(row: &SessionRow, found: &FoundLog) -> Millis {
    let last = row.last.as_deref().and_then(Millis::parse);
    last.unwrap_or(found.modified)
}

fn compactions(summary: &SessionSummary) -> Vec<CompactionRow> {
    let boundaries = summary.boundaries.iter();
    boundaries
        .map(|boundary| CompactionRow {
            at: boundary.at.map(|at| at.to_string()),
            trigger: boundary.trigger.clone(),
            pre_tokens: boundary.pre_tokens.map(Tokens::get),
            post_tokens: boundary.post_tokens.map(Tokens::get),
        })
        .collect()
}

impl ModelUsage {
    fn of(sum: &UsageSum) -> Self {
        let usage = sum.usage;
        Self {
            requests: sum.responses,
            input_tokens: usage.input.get(),
            cache_read_input_tokens: usage.cache_read.get(),
            cache_creation_input_tokens: (usage.cache_write_5m + usage.cache_write_1h).get(),
            output_tokens: usage.output.get(),
            cost_usd: cost(sum),
        }
    }
}

/// Dollars, unless no price is known: a sum of nothing would read as free.
fn cost(sum: &UsageSum) -> Option<f64> {
    let nothing_priced = sum.responses > 0 && sum.unpriced == sum.responses;
    (!nothing_priced).then(|| sum.cost.as_f64())
}

/// Usage gathered from transcripts, and the figures about reading them.
#[derive(Default)]
struct Scan {
    book: UsageBook,
    files: u64,
    skipped_lines: u64,
    unreadable: u64,
    others: u64,
}

#[expect(clippy::cast_precision_loss, reason = "a share for people and scripts")]
fn hit_rate(sum: &UsageSum) -> Option<f64> {
    let prompt = sum.usage.prompt().get();
    // No prompt, no rate: zero would accuse the cache.
    (prompt > 0).then(|| sum.usage.cache_read.get() as f64 / prompt as f64)
}

fn usage_report(scan: &Scan, totals: &UsageTotals, models: &ModelTable) -> UsageReport {
    let all = ModelUsage::of(&totals.all);
    let by_model = totals.by_model.iter();
    let unpriced = totals
        .by_model
        .keys()
        .filter(|model| models.lookup(model).info.prices.is_none());
    UsageReport {
        requests: all.requests,
        input_tokens: all.input_tokens,
        cache_read_input_tokens: all.cache_read_input_tokens,
        cache_creation_input_tokens: all.cache_creation_input_tokens,
        output_tokens: all.output_tokens,
        cost_usd: all.cost_usd,
        by_model: by_model
            .map(|(model, sum)| (model.to_string(), ModelUsage::of(sum)))
            .collect(),
        cache_hit_rate: hit_rate(&totals.all),
        unpriced_requests: totals.all.unpriced,
        files: scan.files,
        skipped_lines: scan.skipped_lines,
        unreadable_files: scan.unreadable,
        other_files: scan.others,
        unpriced_models: unpriced.map(ToString::to_string).collect(),
        sums: totals.clone(),
    }
}
