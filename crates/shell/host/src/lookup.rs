//! Memories that fit words, and the facts that are told of each.
//!
//! # Model
//! [`Judge`] makes a [`MemoryFound`] of a card, the text of its file and the state of the working
//! tree. Searching ranks the private memory and, where the folder is trusted, the team's together.
//! Memories that are overtaken or not trusted are ranked too and marked: searching shows
//! everything.
//!
//! # Not here
//! The decision which memories a session is given ([`crate::recall`]).

use crate::error::HostError;
use crate::grounds::Grounds;
use crate::host::{Host, day};
use crate::place::Which;
use crate::remark::Remark;
use dormouse_core::units::Millis;
use dormouse_keeper::recaller::{Library, Owner};
use dormouse_memdir::MemoryDir;
use dormouse_memory::card::Card;
use dormouse_memory::snapshot::is_pinned;
use dormouse_memory::topic::{Kind, Topic};
use dormouse_memory::trust::Trust;
use dormouse_recall::verify::Mark;
use dormouse_recall::{Hit, Query, Ranked, Scratch};
use dormouse_text::words::{Language, Stemming, StopWords, Tokeniser, detect};
use serde::Serialize;
use std::collections::BTreeSet;

/// Characters of the text that stands for a memory without a description: two or three lines of a
/// screen.
const EXCERPT: usize = 200;

/// A memory that fits the words, and the facts told of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent facts, shown as such"
)]
pub struct MemoryFound {
    /// Its file, relative to its directory.
    pub path: String,
    /// Its `name`; empty if it has none.
    pub name: String,
    /// Its `description`, or else the line it begins with.
    pub description: String,
    /// Its `type`, if that is known.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// The trust that its file claims.
    pub trust: Option<&'static str>,
    /// Time of its last change.
    pub modified: String,
    /// Worth within one search; `None` where it was not found by words.
    pub score: Option<f32>,
    /// Certainty that it helps, from 0 to 1; `None` where it was not found by words.
    pub confidence: Option<f32>,
    /// Words of the question that it has.
    pub words: Vec<String>,
    /// Outcome of checking its claims against the working tree.
    pub mark: Mark,
    /// Set if another memory or the calendar has overtaken it.
    pub over: bool,
    /// True if its source is not the user's word: the output of a tool, a web page.
    pub untrusted: bool,
    /// Set if automation may not touch it.
    pub pinned: bool,
    /// Set if it lies in the team's directory.
    pub team: bool,
    /// Reason why it goes in, or why it does not; `None` in a search.
    pub why: Option<String>,
    /// Grounds of the decision, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grounds: Option<Box<Grounds>>,
    /// `modified` as a number, to compute ages from.
    #[serde(skip)]
    pub at: Millis,
}

impl MemoryFound {
    /// The line that stands for it.
    pub fn says(&self) -> &str {
        if self.description.is_empty() {
            &self.name
        } else {
            &self.description
        }
    }

    pub(crate) fn ranked(&mut self, hit: Option<&Hit>) {
        self.score = hit.map(|hit| hit.score);
        self.confidence = hit.map(|hit| hit.confidence);
    }
}

/// The question and the day, by which all memories of an answer are judged.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    question: &'a str,
    today: jiff::civil::Date,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(host: &'a Host, question: &'a str) -> Self {
        Self {
            question,
            today: day(host.now()),
        }
    }

    pub(crate) fn judge(&self, card: &Card, text: &str, mark: Mark, owner: Owner) -> MemoryFound {
        let topic = Topic::read(text);
        let body = text.get(topic.body..).unwrap_or_default();
        let path = card.path.as_str();
        // Names of files are words, too: `feedback_tests.md` has "tests" in it.
        let called = path.replace(['/', '_', '-', '.'], " ");
        MemoryFound {
            path: path.to_owned(),
            description: described(&topic, body),
            kind: topic.kind.map(Kind::name),
            trust: topic.trust.map(Trust::name),
            modified: card.modified.to_string(),
            score: None,
            confidence: None,
            words: shared(self.question, &format!("{called} {text}")),
            mark,
            over: topic.is_over(self.today),
            untrusted: topic.trust.is_some_and(|trust| !trust.is_recalled()),
            pinned: is_pinned(&card.path),
            team: owner == Owner::Team,
            why: None,
            grounds: None,
            at: card.modified,
            name: topic.name,
        }
    }
}

/// A memory that fits, before its file was opened: files are read only for those that are shown.
struct Candidate<'a> {
    card: Card,
    hit: Ranked,
    dir: &'a MemoryDir,
    owner: Owner,
    over: bool,
}

impl Host {
    /// The memories of this project that fit words, best first, at most `most`. Nothing is written.
    ///
    /// # Errors
    /// When memory is off, or a directory cannot be read.
    pub fn search_memories(&self, words: &str, most: usize) -> Result<Vec<MemoryFound>, HostError> {
        let found = self.find(&Which::Private)?;
        let own = found.existing()?.map(|dir| (dir, Owner::Person));
        let team = self.trusted_team(&found).map(|dir| (dir, Owner::Team));
        let directories: Vec<(MemoryDir, Owner)> = own.into_iter().chain(team).collect();
        let root = self.places().project.root.clone();
        let library = Library::for_question(self.system(), root, directories.iter().cloned());
        let mut candidates = Vec::new();
        for (dir, owner) in &directories {
            match self.candidates(words, most, dir, *owner) {
                Ok(found) => candidates.extend(found),
                // The team's directory is written by others; the user's own must still answer.
                Err(error) if *owner == Owner::Team => self.remark(Remark::MemoryLeftOut {
                    path: dir.root().to_owned(),
                    why: error.to_string(),
                }),
                Err(error) => return Err(error),
            }
        }
        // Scores of two directories cannot be compared.
        if directories.len() > 1 {
            candidates.sort_by(|a, b| b.hit.confidence.total_cmp(&a.hit.confidence));
        }
        // A memory that holds comes before one that was overtaken.
        candidates.sort_by_key(|candidate| candidate.over);
        candidates.truncate(most);
        let judge = Judge::new(self, words);
        let mut ranked = Vec::new();
        for Candidate {
            card,
            hit,
            dir,
            owner,
            ..
        } in candidates
        {
            // A memory may be forgotten between ranking and reading.
            if let Some(file) = dir.read(&card.path)? {
                let text = file.text().into_owned();
                let mut memory = judge.judge(&card, &text, Mark::Unverifiable, owner);
                memory.score = Some(hit.score);
                memory.confidence = Some(hit.confidence);
                // A hit that shares no word with the question could not be explained to the reader.
                if !memory.words.is_empty() {
                    ranked.push((memory, text));
                }
            }
        }
        Ok(verified(&library, ranked))
    }

    fn candidates<'d>(
        &self,
        words: &str,
        top: usize,
        dir: &'d MemoryDir,
        owner: Owner,
    ) -> Result<Vec<Candidate<'d>>, HostError> {
        let scan = dir.peek()?;
        let now = self.now();
        let query = Query {
            text: words,
            top,
            now: now.0,
        };
        let hits = scan.searcher().search(&query, &mut Scratch::default());
        let candidate = |hit: Ranked| {
            let card = scan.card(hit.document)?;
            let over = card.is_over(day(now));
            Some(Candidate {
                card,
                hit,
                dir,
                owner,
                over,
            })
        };
        let candidates = hits.into_iter().filter_map(candidate).collect();
        self.remark_skipped(scan.skipped);
        Ok(candidates)
    }
}

/// Memories with the outcome of checking their claims, which is one walk over the working tree for
/// all.
pub(crate) fn verified(library: &Library, found: Vec<(MemoryFound, String)>) -> Vec<MemoryFound> {
    let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
    let marks = library.verified(&texts);
    let memories = found.into_iter().map(|(memory, _)| memory);
    let marked = memories.zip(marks);
    marked
        .map(|(memory, mark)| MemoryFound { mark, ..memory })
        .collect()
}

/// The description, or else the first line of the text.
fn described(topic: &Topic, body: &str) -> String {
    if !topic.description.is_empty() {
        return topic.description.clone();
    }
    let line = body
        .lines()
        .map(|line| line.trim_start_matches(['#', ' ']).trim())
        .find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(EXCERPT).collect()
}

/// The words of the question that a text has, in any form, as the question has them.
fn shared(question: &str, text: &str) -> Vec<String> {
    // The text is longer and tells its language better; a question of two words may not.
    let language = detect(text).or_else(|| detect(question));
    let language = language.unwrap_or(Language::English);
    let tokeniser = Tokeniser::new(Some(language), StopWords::Drop, Stemming::On);
    let has: BTreeSet<String> = tokeniser.terms(text).into_iter().collect();
    let mut words: Vec<String> = Vec::new();
    tokeniser.each(question, |term, range| {
        let word = question[range].to_lowercase();
        if has.contains(term) && !words.contains(&word) {
            words.push(word);
        }
    });
    words
}
