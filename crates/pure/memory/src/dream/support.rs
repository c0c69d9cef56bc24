//! Support of a dream's statements by earlier ones.
//!
//! # Model
//! A sentence has a source if up to three sentences of the ground (memories, logs, excerpts) have
//! most of its terms between them and all of its numbers, and say it with the same sign: an
//! affirmed sentence may not stem from a denied one. This is a matter of words, not of meaning: it
//! lets a faithful paraphrase pass that keeps the words that count, and refuses names, numbers and
//! negations that come from nowhere.
//!
//! # Not here
//! The verdict on a whole file (`lineage`); sentences as words (`sentence`).

use super::Excerpt;
use super::carry::believed;
use super::dating::{Writing, meant};
use super::sentence::{Reader, Sentence, is_figure};
use crate::daily;
use crate::index;
use crate::snapshot::{INDEX, LOGS, Snapshot};
use crate::topic::Topic;
use crate::trust::Trust;
use dormouse_guard::paths::SafePath;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most sentences that may share in supporting another. A merge joins two or three; with more, any
/// sentence could be pieced together from a large directory.
const MOST_PICKS: usize = 3;
/// Most terms of a heading without a number that states nothing.
const HEADING_TERMS: usize = 3;
/// Terms of the labels that memories are written with, after stemming.
const LABELS: [&str; 3] = ["why", "how", "appli"];

/// Sentence of the ground.
struct Known {
    terms: BTreeSet<String>,
    negated: bool,
    trust: Trust,
}

/// Every sentence that was said before, indexed by its terms.
pub(super) struct Ground {
    known: Vec<Known>,
    by_term: HashMap<String, Vec<usize>>,
}

impl Ground {
    /// Ground of a directory, and of excerpts beside it.
    pub(super) fn of(
        reader: &Reader,
        snapshot: &Snapshot,
        excerpts: &[Excerpt],
        writing: &Writing,
    ) -> Self {
        let mut ground = Self {
            known: Vec::new(),
            by_term: HashMap::new(),
        };
        for (path, file) in snapshot.files() {
            let text = file.text();
            if path.file_name() == INDEX {
                ground.add_index(reader, snapshot, &text);
                continue;
            }
            let topic = Topic::read(&text);
            let day = daily::day_of(path).or_else(|| writing.day(file, &topic).map(|at| at.day));
            let trust = source_trust(path, &topic);
            let mut add = |sentence: Sentence| ground.add(reader, sentence, trust, day);
            add(reader.sentence(&format!("{path} {}", topic.name)));
            add(reader.sentence(&topic.description));
            for sentence in reader.sentences(&text[topic.body..]) {
                add(sentence);
            }
        }
        for excerpt in excerpts {
            for sentence in reader.sentences(&excerpt.text) {
                ground.add(reader, sentence, excerpt.trust, excerpt.day);
            }
        }
        ground
    }

    /// Adds the lines of an index with the trust of the files they point to; a line that points
    /// nowhere could be from anywhere.
    fn add_index(&mut self, reader: &Reader, snapshot: &Snapshot, text: &str) {
        let entries = index::entries(text);
        for (number, line) in text.lines().enumerate() {
            let entry = entries.iter().find(|entry| entry.line == number + 1);
            let path = entry.map(|entry| entry.path.clone());
            let file = path.and_then(|path| Some((snapshot.get(&path)?, path)));
            let trust = file.map_or(Trust::External, |(file, path)| {
                source_trust(&path, &Topic::read(&file.text()))
            });
            self.add(reader, reader.sentence(line), trust, None);
        }
    }

    /// Adds a sentence that was said, by the agent as far as is known.
    pub(super) fn say(&mut self, reader: &Reader, text: &str) {
        self.add(reader, reader.sentence(text), Trust::Assistant, None);
    }

    fn add(
        &mut self,
        reader: &Reader,
        sentence: Sentence,
        trust: Trust,
        day: Option<jiff::civil::Date>,
    ) {
        let mut terms = sentence.terms;
        // Days that relative words mean are terms, too: a dream may replace one by the other.
        if let Some(day) = day {
            terms.extend(reader.sentence(&meant(&sentence.text, day)).terms);
        }
        if terms.is_empty() {
            return;
        }
        let id = self.known.len();
        for term in &terms {
            self.by_term.entry(term.clone()).or_default().push(id);
        }
        self.known.push(Known {
            terms,
            negated: sentence.negated,
            trust,
        });
    }

    /// Least trust of a sentence's sources; `None` if it has none. `share` is the part of its
    /// terms, in percent, that they must have.
    pub(super) fn support(&self, sentence: &Sentence, share: f64) -> Option<Trust> {
        let needed: BTreeSet<&String> = sentence
            .terms
            .iter()
            .filter(|term| !LABELS.contains(&term.as_str()))
            .collect();
        let bare = sentence.heading
            && needed.len() <= HEADING_TERMS
            && sentence.figures().next().is_none();
        // Nothing is stated, so there is nothing to distrust.
        if needed.is_empty() || bare {
            return Some(Trust::User);
        }
        let mut missing = needed.clone();
        let mut trust = Trust::User;
        for round in 0..MOST_PICKS {
            // A denial needs one source that denies; the others may only supply words. An
            // affirmation must not borrow a word from a denial.
            let denials = if round == 0 || !sentence.negated {
                Some(sentence.negated)
            } else {
                None
            };
            let Some(id) = self.best(&needed, &missing, denials) else {
                break;
            };
            let known = &self.known[id];
            missing.retain(|term| !known.terms.contains(*term));
            trust = trust.min(known.trust);
            if missing.is_empty() {
                break;
            }
        }
        // A number is never a matter of degree.
        let figures = missing.iter().any(|term| is_figure(term));
        (!figures && percent(needed.len() - missing.len(), needed.len()) >= share).then_some(trust)
    }

    /// Sentence that has most of the missing terms, of the sign asked for; of equals, the most
    /// trusted. A number alone makes no source.
    fn best(
        &self,
        needed: &BTreeSet<&String>,
        missing: &BTreeSet<&String>,
        negated: Option<bool>,
    ) -> Option<usize> {
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        for term in missing {
            for id in self.by_term.get(*term).into_iter().flatten() {
                *shared.entry(*id).or_default() += 1;
            }
        }
        let worded = needed.iter().any(|term| !is_figure(term));
        let fits = |id: &usize| {
            let known = &self.known[*id];
            // Otherwise "port 8080" could be supported by any sentence with an 8080 in it.
            let related = !worded
                || needed
                    .iter()
                    .any(|term| !is_figure(term) && known.terms.contains(*term));
            related && negated.is_none_or(|sign| sign == known.negated)
        };
        shared
            .into_iter()
            .filter(|(id, _)| fits(id))
            .max_by_key(|(id, count)| (*count, self.known[*id].trust, std::cmp::Reverse(*id)))
            .map(|(id, _)| id)
    }
}

/// Trust of a file as a source. Logs are the agent's.
pub(super) fn source_trust(path: &SafePath, topic: &Topic) -> Trust {
    if path.components().next() == Some(LOGS) {
        Trust::Assistant
    } else {
        believed(topic)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words and of files")]
pub(super) fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        100.0
    } else {
        part as f64 * 100.0 / whole as f64
    }
}
