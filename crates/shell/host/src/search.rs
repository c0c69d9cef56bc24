//! Search of the words said in sessions.
//!
//! # Model
//! All transcripts are read once, and their best lines are the answer, those of one passage
//! together. A person is shown passages that have every word of the question; if none has, the best
//! of those that have some. A model is given the best lines that fit into its answer. A flag ends
//! the reading; the answer comes from what was read until then.
//!
//! # Not here
//! The ranking ([`dormouse_store::read_history`]); memories ([`Host::search_memories`]).

use crate::error::HostError;
use crate::host::Host;
use crate::remark::Remark;
use dormouse_core::id::SessionId;
use dormouse_core::units::Millis;
use dormouse_memdir::Repository;
use dormouse_store::{
    FoundLog, ProjectFolder, Said, SearchLimits, TranscriptHistory, TranscriptMatch, discover,
    has_words, read_history, slug,
};
use dormouse_system::{FileKind, OptionalFile as _};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Lines of one passage that a person is shown: as many as three lines of a terminal hold.
const MOST_LINES: usize = 3;
/// Bytes of lines that are ranked for each passage a person is shown: several times as many as are
/// shown, because passages without every word are left out.
const BYTES_A_MATCH: usize = 8_000;

/// A search of transcripts, ready to run.
#[derive(Debug)]
pub struct SessionSearch {
    question: String,
    logs: Vec<FoundLog>,
}

/// A passage of a transcript that has words of the question.
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
    /// The lines that answer, in their order; long ones are cut.
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
    /// Matches that are shown.
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

/// Answer of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionsFound {
    /// Passages, the best first.
    pub matches: Vec<SessionMatch>,
    /// Words of the question that are looked for, counted.
    pub words: usize,
    /// Figures of the search.
    pub end: SearchEnd,
}

impl SessionSearch {
    /// At most `most` passages for a person: those with every word, or else the best of those with
    /// some. `stop` ends the reading.
    pub fn best(&self, host: &Host, most: usize, stop: &AtomicBool) -> SessionsFound {
        let read = self.read(host, stop);
        let budget = most.saturating_mul(BYTES_A_MATCH);
        let found = read.find(&self.question, budget, MOST_LINES, |_, _| true);
        let words = read.words(&self.question);
        let mut found = shown(found, words);
        // Partial matches would bury whole ones.
        if found.iter().any(|one| !one.partial) {
            found.retain(|one| !one.partial);
        }
        found.truncate(most);
        answer(&read, found, words)
    }

    /// Passages for a model, whose lines have at most `bytes` together. The question itself stands in
    /// the log of the session that asks; it is no answer.
    pub fn within(&self, host: &Host, bytes: usize) -> SessionsFound {
        let read = self.read(host, &AtomicBool::new(false));
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let question = plain(&self.question);
        let found = read.find(&self.question, bytes, usize::MAX, |passage, line| {
            passage.said != Said::Assistant || plain(line) != question
        });
        let words = read.words(&self.question);
        let found = shown(found, words);
        answer(&read, found, words)
    }

    fn read(&self, host: &Host, stop: &AtomicBool) -> TranscriptHistory {
        let files = &*host.system().files;
        let limits = SearchLimits::default();
        read_history(files, &self.logs, Some(&self.question), &limits, stop)
    }
}

fn answer(read: &TranscriptHistory, matches: Vec<SessionMatch>, words: usize) -> SessionsFound {
    SessionsFound {
        words,
        end: SearchEnd {
            matches: matches.len(),
            files: read.files,
            bytes: read.bytes,
            skipped_lines: read.skipped,
            unreadable: read.refused.iter().map(ToString::to_string).collect(),
            cancelled: read.cancelled,
        },
        matches,
    }
}

fn shown(found: Vec<TranscriptMatch>, words: usize) -> Vec<SessionMatch> {
    let one = |found: TranscriptMatch| {
        let passage = &found.passage;
        SessionMatch {
            session: passage.session.as_str().to_owned(),
            agent: passage
                .agent
                .as_ref()
                .map(|agent| agent.as_str().to_owned()),
            file: passage.path.display().to_string(),
            offset: passage.offset,
            record: passage.record.clone(),
            time: passage.time.map(|time| time.to_string()),
            role: passage.said.name(),
            terms: found.words,
            snippet: found.lines.join("\n"),
            at: passage.time,
            partial: found.words < words,
        }
    };
    found.into_iter().map(one).collect()
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
    ) -> Result<Option<SessionSearch>, HostError> {
        if !has_words(question) {
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
        let question = question.to_owned();
        Ok(Some(SessionSearch { question, logs }))
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
