//! Search of the words said in sessions.
//!
//! # Model
//! Matches that have every word are handed out as they are found, those of the newest sessions
//! first. Only if no line has every word, the best of those that have some are. A flag ends the
//! search and keeps what was found.
//!
//! # Not here
//! Memories ([`Host::search_memories`]).

use crate::error::HostError;
use crate::host::Host;
use crate::remark::Remark;
use dormouse_core::id::SessionId;
use dormouse_core::units::Millis;
use dormouse_memdir::Repository;
use dormouse_store::{
    FoundLog, ProjectFolder, SearchLimits, TermQuery, TranscriptMatch, TranscriptSearch, discover,
    search_transcripts, slug, stream_transcripts,
};
use dormouse_system::{FileKind, OptionalFile as _};
use dormouse_text::words::{Language, detect};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longest time that an interrupt goes unheard: 50 ms are below what a person notices, and twenty
/// wake-ups a second cost nothing.
const PAUSE: Duration = Duration::from_millis(50);

/// A search of transcripts, ready to run.
#[derive(Debug)]
pub struct SessionSearch {
    query: TermQuery,
    logs: Vec<FoundLog>,
    most: usize,
}

/// A line of a transcript that has words of the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionMatch {
    /// Id of the session, from its file.
    pub session: String,
    /// The sub-agent, if one said it.
    pub agent: Option<String>,
    /// Absolute path of the transcript.
    pub file: String,
    /// Offset of the line in it.
    pub offset: u64,
    /// The record's id, where it has one.
    pub record: Option<String>,
    /// Time at which it was said.
    pub time: Option<String>,
    /// Role of the speaker: user, assistant or tool.
    pub role: &'static str,
    /// Words of the question that it has, counted.
    pub terms: usize,
    /// Text around the words, cut to a few lines.
    pub snippet: String,
    /// `time` as a number, to compute ages from.
    #[serde(skip)]
    pub at: Option<Millis>,
    /// Set if it lacks a word of the question.
    #[serde(skip)]
    pub partial: bool,
}

/// Figures of a search at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SearchEnd {
    /// Matches that were handed out.
    pub matches: usize,
    /// Transcripts that were searched.
    pub files: usize,
    /// Bytes read, all transcripts together.
    pub bytes: u64,
    /// Lines skipped as unreadable.
    pub skipped_lines: u64,
    /// Transcripts that could not be read, with the reasons.
    pub unreadable: Vec<String>,
    /// Set if the search was ended before its end.
    pub cancelled: bool,
}

impl SessionSearch {
    /// Words that are searched for, counted.
    pub fn terms(&self) -> usize {
        self.query.terms().len()
    }

    /// Searches, and hands out each match as it is found. `stop` ends the search; an error of the
    /// caller does so too.
    ///
    /// # Errors
    /// Only those of the caller.
    pub fn run<E>(
        &self,
        host: &Host,
        stop: &AtomicBool,
        mut found: impl FnMut(&SessionMatch) -> Result<(), E>,
    ) -> Result<SearchEnd, E> {
        let limits = SearchLimits {
            matches: self.most,
            least_terms: self.terms(),
            ..SearchLimits::default()
        };
        let (mut matches, mut report) = self.streamed(host, &limits, stop, &mut found)?;
        // A second pass with a weaker demand, only if the first found nothing: partial matches
        // would bury whole ones. With one word there is no weaker demand.
        if matches == 0 && self.terms() > 1 && !stop.load(Ordering::Relaxed) {
            let limits = SearchLimits {
                least_terms: 1,
                ..limits
            };
            let files = &*host.system().files;
            report = search_transcripts(files, &self.logs, &self.query, &limits, stop);
            for one in std::mem::take(&mut report.matches) {
                matches += 1;
                found(&self.shown(&one))?;
            }
        }
        Ok(SearchEnd {
            matches,
            files: report.files,
            bytes: report.bytes,
            skipped_lines: report.skipped,
            unreadable: report.refused.iter().map(ToString::to_string).collect(),
            cancelled: stop.load(Ordering::Relaxed),
        })
    }

    fn shown(&self, found: &TranscriptMatch) -> SessionMatch {
        SessionMatch {
            session: found.session.as_str().to_owned(),
            agent: found.agent.as_ref().map(|agent| agent.as_str().to_owned()),
            file: found.path.display().to_string(),
            offset: found.offset,
            record: found.record.clone(),
            time: found.time.map(|time| time.to_string()),
            role: found.said.name(),
            terms: found.terms,
            snippet: found.snippet.clone(),
            at: found.time,
            partial: found.terms < self.terms(),
        }
    }

    /// Hands out matches while others are looked for.
    fn streamed<E>(
        &self,
        host: &Host,
        limits: &SearchLimits,
        stop: &AtomicBool,
        found: &mut impl FnMut(&SessionMatch) -> Result<(), E>,
    ) -> Result<(usize, TranscriptSearch), E> {
        let files = &*host.system().files;
        let (sender, receiver) = mpsc::channel::<TranscriptMatch>();
        let enough = AtomicBool::new(false);
        let sent = AtomicUsize::new(0);
        thread::scope(|scope| {
            let search = scope.spawn(|| {
                let sender = sender;
                let found = |found: TranscriptMatch| {
                    // Counted before sending, since several threads search: the limit holds for all
                    // of them.
                    let before = sent.fetch_add(1, Ordering::Relaxed);
                    // If the receiver is gone, no more are wanted.
                    let gone = before < limits.matches && sender.send(found).is_err();
                    if gone || before + 1 >= limits.matches {
                        enough.store(true, Ordering::Relaxed);
                    }
                };
                stream_transcripts(files, &self.logs, &self.query, limits, &enough, &found)
            });
            let mut matches = 0;
            let mut handed = Ok(());
            loop {
                match receiver.recv_timeout(PAUSE) {
                    Ok(one) => {
                        matches += 1;
                        handed = found(&self.shown(&one));
                    }
                    // Woken to look at the flag of an interrupt.
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
                if handed.is_err() || stop.load(Ordering::Relaxed) {
                    enough.store(true, Ordering::Relaxed);
                    break;
                }
            }
            // The search notices that its matches are not wanted any more, and ends.
            drop(receiver);
            // A panic in the search gives an empty report; matches handed out before it stand.
            let report = search.join().unwrap_or_default();
            handed.map(|()| (matches, report))
        })
    }
}

impl Host {
    /// A search of transcripts for words: those at some paths, or else of this project's sessions.
    /// `None` if there is no word in the question.
    ///
    /// # Errors
    /// When a path leads nowhere, or a folder cannot be listed.
    pub fn search_sessions(
        &self,
        question: &str,
        paths: &[PathBuf],
        most: usize,
    ) -> Result<Option<SessionSearch>, HostError> {
        let query = TermQuery::new(words(question));
        if query.terms().is_empty() {
            return Ok(None);
        }
        let mut logs = Vec::new();
        let current = &self.places().current_dir;
        for path in paths {
            logs.extend(self.logs_at(path, &current.join(path))?);
        }
        if paths.is_empty() {
            logs = self.own_logs()?;
        }
        Ok(Some(SessionSearch { query, logs, most }))
    }

    /// The sessions that a path stands for: itself, or those of a folder, in order.
    ///
    /// # Errors
    /// When it is not there or the folder cannot be read.
    pub fn session_files(&self, path: &Path) -> Result<Vec<PathBuf>, HostError> {
        let logs = self.logs_at(path, path)?;
        let mut files: Vec<PathBuf> = logs.into_iter().map(|log| log.path).collect();
        files.sort();
        Ok(files)
    }

    fn logs_at(&self, given: &Path, path: &Path) -> Result<Vec<FoundLog>, HostError> {
        let files = &*self.system().files;
        let Some(facts) = files.metadata(path).optional()? else {
            return Err(HostError::NoPath(given.to_owned()));
        };
        if facts.kind == FileKind::Directory {
            let found = discover(files, path)?;
            for refused in &found.refused {
                let why = refused.to_string();
                self.remark(Remark::Unlisted { why });
            }
            return Ok(found.logs);
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(vec![FoundLog {
            path: path.to_owned(),
            session: SessionId::from(&*stem),
            agent: None,
            bytes: facts.len,
            modified: facts.modified,
        }])
    }

    /// The sessions of this project, Dormouse's and Claude Code's.
    fn own_logs(&self) -> Result<Vec<FoundLog>, HostError> {
        let files = &*self.system().files;
        let known = self.places();
        let current = files.real_path(&known.current_dir)?;
        // A session belongs to the folder it was begun in, which may be the root of the repository.
        let repository = Repository::around(files, &current)?;
        let mut roots = BTreeSet::from([current]);
        if let Some(repository) = repository {
            roots.insert(repository.worktree);
            roots.insert(repository.root);
        }
        let claude = self.claude_home();
        let mut folders = BTreeSet::new();
        for root in &roots {
            if let Some(folder) = ProjectFolder::find(files, &known.home, root)? {
                folders.insert(folder.path().to_owned());
            }
            // Every root of a repository may have its own slug: sessions begun in a worktree are
            // found from the main checkout, too.
            let claude = claude.as_ref();
            folders.extend(claude.map(|home| home.join("projects").join(slug(root))));
        }
        let mut logs = Vec::new();
        for folder in folders {
            if let Some(found) = discover(files, &folder).optional()? {
                // The journal of the memory beside them is no session.
                let hidden = |log: &FoundLog| {
                    let below = log.path.strip_prefix(&folder).unwrap_or(&log.path);
                    let mut parts = below.components();
                    parts.any(|part| part.as_os_str().to_string_lossy().starts_with('.'))
                };
                logs.extend(found.logs.into_iter().filter(|log| !hidden(log)));
            }
        }
        Ok(logs)
    }
}

/// The words that matter; all of them if none does.
fn words(query: &str) -> Vec<&str> {
    let bare = |word: &'_ str| -> bool { word.chars().any(char::is_alphanumeric) };
    let all: Vec<&str> = query
        .split_whitespace()
        // Punctuation around a word is the question's, not the transcript's.
        .map(|word| word.trim_matches(['"', '\'', ',', '.', '?', '!', ';', '(', ')']))
        .filter(|word| bare(word))
        .collect();
    let language = detect(query).unwrap_or(Language::English);
    let telling: Vec<&str> = all
        .iter()
        .copied()
        .filter(|word| !language.is_stop_word(&word.to_lowercase()))
        .collect();
    // "to be or not to be" has no telling word and is still a question.
    if telling.is_empty() { all } else { telling }
}
