//! Full-text search in transcripts, by lines.
//!
//! # Model
//! Files are read newest first, on a few threads, in blocks of whole lines. If the question is
//! known, a line is parsed only if its raw bytes have a needle of some word. Text is taken from any
//! shape of line: Dormouse's own, Claude Code's, Codex's, pi's, and any other with text in it. Long
//! results that lie in files beside a log are read with it. A result is headed by its call, whose
//! path or command says what it is about. All texts make one history, which ranks
//! lines ([`dormouse_text::rank::History`]); [`TranscriptHistory::find`] puts those of one record
//! together. Commands, tools of the agent and the evaluation of policies ask this one search.
//!
//! # Responsibilities
//! Bounded memory for any files if the question is known: a block a thread, and the best windows. A
//! file that cannot be read is reported and costs itself alone. A flag cancels the reading between
//! two blocks; answers come from what was read until then.
//!
//! # Not here
//! The files of a project: the caller chooses. Shapes of lines (`shape`) and raw needles
//! (`needles`) have modules of their own.

mod file;
mod needles;
mod shape;
#[cfg(test)]
mod tests;

use crate::discover::FoundLog;
use dormouse_core::id::{AgentId, SessionId};
use dormouse_core::units::Millis;
use dormouse_system::{FileError, Files};
use dormouse_text::rank::{FoundLine, History};
use dormouse_text::words::{Language, detect};
use needles::Needles;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Part of an answer that calls get: a quarter, which holds some twenty command lines.
const CALLS: usize = 4;
/// Bytes of an answer that the place of a line takes, as the history counts them.
const PLACE: usize = 16;

/// Limits of a search. The defaults answer a person at a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchLimits {
    /// Longer lines in bytes are passed over: they hold pictures.
    pub line_bytes: usize,
    /// Threads that read files, the calling one included.
    pub threads: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            line_bytes: 8 * 1024 * 1024,
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

/// Source of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Path of the transcript, or of a long result beside one.
    pub path: PathBuf,
    /// Session the transcript belongs to, by its path.
    pub session: SessionId,
    /// The sub-agent whose transcript it is.
    pub agent: Option<AgentId>,
    /// The id of the record, if it has one.
    pub record: Option<String>,
    /// Byte offset of the line; in a long result that of the passage.
    pub offset: u64,
    /// Time of the line, if it names one.
    pub time: Option<Millis>,
    /// Speaker of the text.
    pub said: Said,
    /// True for the arguments of a call.
    pub is_call: bool,
}

/// Lines of one passage that answer to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptMatch {
    /// Place at which they were said.
    pub passage: Arc<Passage>,
    /// The lines in their order, long ones cut to the part that matters.
    pub lines: Vec<String>,
    /// Number of different words of the question around the lines.
    pub words: usize,
}

/// Transcripts that can be asked, and counts of their reading.
#[derive(Debug)]
pub struct TranscriptHistory {
    history: History<Arc<Passage>>,
    language: Language,
    /// Files that were read to their end.
    pub files: usize,
    /// Bytes that were read, of files read in part too.
    pub bytes: u64,
    /// Lines that were passed over: too long, or no JSON though a needle was in them.
    pub skipped: u64,
    /// Errors of files that could not be read.
    pub refused: Vec<FileError>,
    /// True if the flag ended the reading before every file was read.
    pub cancelled: bool,
}

impl TranscriptHistory {
    /// Lines that answer to a question, those of one passage together, the best passage first. All
    /// of them have at most `budget` bytes, a short word on each passage included. Only lines for
    /// which `wanted` is true, and the best `most` of each passage.
    pub fn find(
        &self,
        question: &str,
        budget: usize,
        most: usize,
        wanted: impl Fn(&Passage, &str) -> bool,
    ) -> Vec<TranscriptMatch> {
        // Calls ask, results answer. A session asks about one file again and again, and these calls
        // have most words of a question about it: unbounded they would fill the answer.
        let of = |calls: bool, budget: usize| {
            self.history.lines(question, budget, |passage, text| {
                passage.is_call == calls && wanted(passage, text)
            })
        };
        let mut lines = of(false, budget - budget / CALLS);
        let taken: usize = lines.iter().map(|line| line.text.len() + PLACE).sum();
        lines.extend(of(true, budget.saturating_sub(taken)));
        lines.sort_by(|a, b| b.score.total_cmp(&a.score));
        let mut order: Vec<Vec<FoundLine<'_, Arc<Passage>>>> = Vec::new();
        let mut known: HashMap<*const Passage, usize> = HashMap::new();
        for line in lines {
            let next = order.len();
            let at = *known.entry(Arc::as_ptr(line.source)).or_insert(next);
            if at == next {
                order.push(Vec::new());
            }
            if order[at].len() < most {
                order[at].push(line);
            }
        }
        let matches = order.into_iter().filter_map(|lines| {
            let passage = Arc::clone(lines.first()?.source);
            let words = lines.iter().fold(0_u64, |all, line| all | line.words);
            let in_order: BTreeMap<_, _> = lines
                .into_iter()
                .map(|line| (line.position, line.text.to_owned()))
                .collect();
            Some(TranscriptMatch {
                passage,
                lines: in_order.into_values().collect(),
                words: usize::try_from(words.count_ones()).unwrap_or(usize::MAX),
            })
        });
        matches.collect()
    }

    /// Number of different words of a question that are looked for.
    pub fn words(&self, question: &str) -> usize {
        History::<()>::words(question, self.language).len()
    }
}

/// True if a question has a word that can be looked for.
pub fn has_words(question: &str) -> bool {
    !History::<()>::words(question, language_of(question)).is_empty()
}

/// Language whose endings are cut; that of most sessions if a question is too short to tell.
fn language_of(question: &str) -> Language {
    detect(question).unwrap_or(Language::English)
}

/// Reads all the logs. With a question only what may answer it is kept; without one the history
/// answers any, and takes as much memory as the texts.
pub fn read_history(
    files: &dyn Files,
    logs: &[FoundLog],
    question: Option<&str>,
    limits: &SearchLimits,
    stop: &AtomicBool,
) -> TranscriptHistory {
    let language = question.map_or(Language::English, language_of);
    let empty = || match question {
        Some(question) => History::of(question, language),
        None => History::any(language),
    };
    let needles = question
        .and_then(|question| Needles::new(&History::<()>::words(question, language), language));
    let mut newest: Vec<&FoundLog> = logs.iter().collect();
    newest.sort_by(|a, b| {
        b.modified
            .cmp(&a.modified)
            .then_with(|| a.path.cmp(&b.path))
    });
    let next = AtomicUsize::new(0);
    let gathered = Mutex::new(Gathered {
        whole: TranscriptHistory {
            history: empty(),
            language,
            files: 0,
            bytes: 0,
            skipped: 0,
            refused: Vec::new(),
            cancelled: false,
        },
        waiting: BTreeMap::new(),
        next: 0,
    });
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(log) = newest.get(at) else {
                break;
            };
            let read = file::read(files, log, empty(), needles.as_ref(), limits, stop);
            let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
            gathered.take(at, read);
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
    let gathered = gathered
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let mut whole = gathered.whole;
    whole.cancelled = whole.files + whole.refused.len() < newest.len();
    whole
}

/// Files that were read, put together in the order of the list: the answer must not depend on which
/// thread was faster.
struct Gathered {
    whole: TranscriptHistory,
    /// Files whose predecessors are still being read.
    waiting: BTreeMap<usize, file::ReadFile>,
    next: usize,
}

impl Gathered {
    fn take(&mut self, at: usize, read: file::ReadFile) {
        self.waiting.insert(at, read);
        while let Some(read) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.whole.history.append(read.history);
            self.whole.bytes += read.bytes;
            self.whole.skipped += read.skipped;
            match read.error {
                Some(error) => self.whole.refused.push(error),
                None if read.whole => self.whole.files += 1,
                None => {}
            }
        }
    }
}
