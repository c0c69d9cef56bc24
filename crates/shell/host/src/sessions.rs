//! Sessions below a folder, with their figures.
//!
//! # Not here
//! One session at a point ([`crate::transcripts`]), tokens and dollars ([`crate::spending`]).

use crate::error::HostError;
use crate::host::Host;
use crate::session_cache::{SessionCache, stamps};
use crate::transcripts::Transcripts;
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage_book::UsageBook;
use dormouse_store::{
    FoundLog, LogFile, ReadError, SessionSummary, discover, scan_usage, summarise_and_bill,
    summarise_and_bill_foreign,
};
use dormouse_system::System;
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
    /// change since the last list come from a cache.
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
        let mut cache = SessionCache::load(self.system(), &self.places().home, &models);
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
    let transcripts = Transcripts::new(system, Arc::clone(models));
    let (summary, transcript) = match log.read_foreign()? {
        // Read whole, since its format does not mark where the live part begins: once is enough.
        Some(foreign) => {
            let transcript = transcripts.fold(&found.path, &foreign.read.records, None);
            (
                summarise_and_bill_foreign(foreign, &mut book),
                Ok(transcript),
            )
        }
        // The live part alone: folding whole files would make a list of long sessions slow.
        None => (
            summarise_and_bill(&log, &mut book)?,
            transcripts.live_of(&log, &found.path),
        ),
    };
    let transcript = transcript
        .map_err(|_| Unreadable::Because(format!("`{}` cannot be read", found.path.display())))?;
    for agent in agents {
        // A sub-agent's transcript that cannot be read costs its figures, not the session.
        if let Ok(log) = LogFile::open(&*files, &agent.path) {
            scan_usage(&log, &mut book)?;
        }
    }
    let totals = book.totals(models).all;
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
