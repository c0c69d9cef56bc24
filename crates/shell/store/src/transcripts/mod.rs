//! Full-text search in transcripts.
//!
//! # Model
//! Files are read newest first, on a few threads, in blocks of whole lines. A line is looked at
//! only if its raw bytes have a needle of some term, and parsed only if it could rank above the
//! matches found in its file so far. Text is taken from any shape of line: Dormouse's own, Claude
//! Code's, Codex's, pi's, and any other with text in it.
//!
//! Long results that lie in files beside a log are searched with it, line by line.
//!
//! Matches are ranked by how many of the terms they have, then by their time.
//!
//! # Responsibilities
//! Bounded memory for any files: a block a thread, and so many matches a file. A file that cannot
//! be read is reported and costs itself alone. A flag cancels the search between two blocks.
//!
//! # Not here
//! The words of a question that matter, and the files of a project: the caller chooses both. Shapes
//! of lines (`shape`), raw needles (`needles`) and snippets (`snippet`) have modules of their own.

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

/// Upper bound on the terms of a query. Each adds a pass over every block; a question has fewer
/// words that matter, and the snippet keeps seen terms in a 32-bit mask.
pub(crate) const MOST_TERMS: usize = 16;

/// Terms that are searched for, folded to lower case.
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

    /// The terms in lower case, in the order given.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }
}

/// Limits of a search. The defaults answer a person at a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Matches in all; the best are kept.
    pub matches: usize,
    /// Matches of one file, so that one long session does not fill the list.
    pub per_file: usize,
    /// Terms that a match must have; fewer if the query has fewer.
    pub least_terms: usize,
    /// Longer lines in bytes are passed over: they hold pictures.
    pub line_bytes: usize,
    /// Characters of a snippet, about three lines of a terminal.
    pub snippet: usize,
    /// Threads that read files, the calling one included.
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

/// Speaker of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Said {
    /// The user, or another agent where one leads the session.
    User,
    /// The assistant, its reasoning included.
    Assistant,
    /// A tool's result or output.
    Tool,
    /// Something else: a system line, a summary, an unknown shape.
    Other,
}

impl Said {
    /// Lower-case word for the screen and for JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other => "other",
        }
    }
}

/// A line that contains some of the terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptMatch {
    /// Path of the transcript.
    pub path: PathBuf,
    /// Session the transcript belongs to, by its path.
    pub session: SessionId,
    /// The sub-agent whose transcript it is.
    pub agent: Option<AgentId>,
    /// The id of the record, if it has one.
    pub record: Option<String>,
    /// Byte offset of the line.
    pub offset: u64,
    /// Time of the line, if it names one.
    pub time: Option<Millis>,
    /// Speaker of the text that has most terms.
    pub said: Said,
    /// Number of different terms in the line.
    pub terms: usize,
    /// The words around the terms, on one line.
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

/// Matches and counts of a search.
#[derive(Debug, Default)]
pub struct TranscriptSearch {
    /// The best matches, best first.
    pub matches: Vec<TranscriptMatch>,
    /// Files that were read to their end.
    pub files: usize,
    /// Bytes that were read, of files read in part too.
    pub bytes: u64,
    /// Lines that were passed over: too long, or no JSON though a needle was in them.
    pub skipped: u64,
    /// Errors of files that could not be read.
    pub refused: Vec<FileError>,
    /// True if the flag ended the search before every file was read.
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
    // Nothing to find: no file is opened, and the search does not count as cancelled.
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
            // If the system refuses a thread, the others do its share.
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
    // Equal ranks keep their order of arrival; the rank ends with path and offset, so none are
    // equal.
    let at = best.partition_point(|known| known.rank(&found) != Ordering::Greater);
    if at < most {
        best.insert(at, found);
        best.truncate(most);
    }
}
