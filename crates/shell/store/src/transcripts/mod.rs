//! Searching what was said in transcripts.
//!
//! # Model
//! Files are read newest first, on a few threads, in blocks of whole lines. A line is looked at only
//! if its raw bytes have a needle of some term, and parsed only if it could be better than what was
//! found in its file already. What it says is taken from any shape of line: Dormouse's own, Claude
//! Code's, Codex's, pi's, and whatever has text in it.
//!
//! Matches are ranked by how many of the terms they have, then by their time.
//!
//! # Responsibilities
//! Bounded memory whatever the files hold: a block a thread, and so many matches a file. A file that
//! cannot be read is reported and costs itself alone. A flag ends the search between two blocks.
//!
//! # Not here
//! Which words of a question matter, and which files belong to a project: the caller knows.

mod file;
mod needles;
mod shape;
mod snippet;
#[cfg(test)]
mod tests;

use crate::discover::FoundLog;
use dormouse_core::id::{AgentId, SessionId};
use dormouse_core::units::Millis;
use dormouse_system::{FileError, Files};
use std::cmp::{Ordering, Reverse};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering as Memory};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Terms of a query that are looked for.
pub(crate) const MOST_TERMS: usize = 16;

/// What is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermQuery {
    terms: Vec<String>,
}

impl TermQuery {
    /// Terms in any case. Blank and repeated ones are dropped, and those beyond the sixteenth.
    pub fn new<T: AsRef<str>>(terms: impl IntoIterator<Item = T>) -> Self {
        let mut own: Vec<String> = Vec::new();
        for term in terms {
            let term = snippet::fold(term.as_ref().trim());
            if !term.is_empty() && !own.contains(&term) && own.len() < MOST_TERMS {
                own.push(term);
            }
        }
        Self { terms: own }
    }

    /// The terms, in lower case.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }
}

/// How far a search goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Matches in all.
    pub matches: usize,
    /// Matches of one file.
    pub per_file: usize,
    /// Terms that a match must have; fewer if the query has fewer.
    pub least_terms: usize,
    /// Longer lines are passed over: they hold pictures.
    pub line_bytes: usize,
    /// Characters of a snippet.
    pub snippet: usize,
    /// Threads.
    pub threads: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            matches: 20,
            per_file: 5,
            least_terms: 1,
            line_bytes: 8 * 1024 * 1024,
            snippet: 300,
            threads: 2,
        }
    }
}

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Said {
    /// The user.
    User,
    /// The assistant.
    Assistant,
    /// A tool.
    Tool,
    /// Something else: a system line, a summary, an unknown shape.
    Other,
}

impl Said {
    /// As people read it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other => "other",
        }
    }
}

/// A line that says something of what is searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptMatch {
    /// The file.
    pub path: PathBuf,
    /// Its session.
    pub session: SessionId,
    /// The sub-agent whose transcript it is.
    pub agent: Option<AgentId>,
    /// The id of the record, if it has one.
    pub record: Option<String>,
    /// Where the line begins.
    pub offset: u64,
    /// When it was said, if the line says so.
    pub time: Option<Millis>,
    /// Who said it.
    pub said: Said,
    /// How many of the terms it has.
    pub terms: usize,
    /// The words around them, on one line.
    pub snippet: String,
}

impl TranscriptMatch {
    /// The better first: more terms, then newer, then by place.
    fn rank(&self, other: &Self) -> Ordering {
        let key = |this: &Self| (Reverse(this.terms), Reverse(this.time));
        key(self)
            .cmp(&key(other))
            .then_with(|| self.path.cmp(&other.path))
            .then_with(|| self.offset.cmp(&other.offset))
    }
}

/// What a search found and saw.
#[derive(Debug, Default)]
pub struct TranscriptSearch {
    /// The best matches, best first.
    pub matches: Vec<TranscriptMatch>,
    /// Files that were read to their end.
    pub files: usize,
    /// Bytes that were read.
    pub bytes: u64,
    /// Lines that were passed over: too long, or no JSON though a needle was in them.
    pub skipped: u64,
    /// Files that could not be read.
    pub refused: Vec<FileError>,
    /// Whether it was ended before it was done.
    pub cancelled: bool,
}

/// Finds the best matches in all the logs.
pub fn search_transcripts(
    files: &dyn Files,
    logs: &[FoundLog],
    query: &TermQuery,
    limits: &SearchLimits,
    stop: &AtomicBool,
) -> TranscriptSearch {
    let best = Mutex::new(Vec::new());
    let mut search = stream_transcripts(files, logs, query, limits, stop, &|found| {
        let mut best = best.lock().unwrap_or_else(PoisonError::into_inner);
        keep_best(&mut best, found, limits.matches);
    });
    search.matches = best.into_inner().unwrap_or_else(PoisonError::into_inner);
    search
}

/// Calls `found` with the best matches of each log as soon as the log is done, newest logs first;
/// from several threads. The report that comes back has no matches.
pub fn stream_transcripts(
    files: &dyn Files,
    logs: &[FoundLog],
    query: &TermQuery,
    limits: &SearchLimits,
    stop: &AtomicBool,
    found: &(dyn Fn(TranscriptMatch) + Sync),
) -> TranscriptSearch {
    let report = Mutex::new(TranscriptSearch::default());
    if query.terms.is_empty() || limits.per_file == 0 {
        return TranscriptSearch::default();
    }
    let needles = needles::Needles::new(query);
    let mut newest: Vec<&FoundLog> = logs.iter().collect();
    newest.sort_by(|a, b| {
        b.modified
            .cmp(&a.modified)
            .then_with(|| a.path.cmp(&b.path))
    });
    let next = AtomicUsize::new(0);
    let work = || {
        while !stop.load(Memory::Relaxed) {
            let Some(log) = newest.get(next.fetch_add(1, Memory::Relaxed)) else {
                break;
            };
            let searched = file::search(files, log, &needles, query, limits, stop);
            for matched in searched.matches {
                found(matched);
            }
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            report.bytes += searched.bytes;
            report.skipped += searched.skipped;
            match searched.error {
                Some(error) => report.refused.push(error),
                None if searched.whole => report.files += 1,
                None => {}
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..limits.threads.min(newest.len()) {
            // If there is no thread to be had, the others do its share.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.cancelled = report.files + report.refused.len() < newest.len();
    report
}

/// Puts a match into an ordered list of at most `most`.
fn keep_best(best: &mut Vec<TranscriptMatch>, found: TranscriptMatch, most: usize) {
    let at = best.partition_point(|known| known.rank(&found) != Ordering::Greater);
    if at < most {
        best.insert(at, found);
        best.truncate(most);
    }
}
