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
use super::tally::{self, Step};
use crate::daily;
use crate::index;
use crate::snapshot::{INDEX, LOGS, Snapshot, StoredFile};
use crate::topic::Topic;
use crate::trust::Trust;
use dormouse_guard::paths::SafePath;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Most sentences that may share in supporting another. A merge joins two or three; with more, any
/// sentence could be pieced together from a large directory.
const MOST_PICKS: usize = 3;
/// Most sentences of the whole directory that are weighed for one. Words that count are in far fewer;
/// a sentence of words that all stand in more is one of a series, and its lineage has it.
const MOST_WEIGHED: usize = 1_024;
/// Most sentences of a lineage that are weighed without regard to their terms: ten long memories.
const MOST_NEAR: usize = 256;
/// Most terms of a heading without a number that states nothing.
const HEADING_TERMS: usize = 3;
/// Terms of the labels that memories are written with, after stemming.
const LABELS: [&str; 3] = ["why", "how", "appli"];

/// Sentence of the ground.
struct Known {
    /// Numbers of its terms, in order.
    terms: Vec<u32>,
    negated: bool,
    trust: Trust,
    time: Time,
}

/// Time at which a sentence stands in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Before,
    After,
    Throughout,
}

/// Directory of a dream that supports sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Directory before the dream, with its excerpts: the sources of new sentences.
    Before,
    /// Directory after it: the place where old sentences live on.
    After,
}

/// Every sentence that was said before, and after, indexed by its terms.
pub(super) struct Ground {
    numbers: HashMap<String, u32>,
    /// Sentences with a term, by its number.
    by_term: Vec<Vec<u32>>,
    known: Vec<Known>,
    /// Sentences of each file.
    by_file: HashMap<SafePath, Vec<u32>>,
}

/// Terms of a sentence that need support.
struct Needed {
    /// Numbers of those that the ground has.
    numbers: Vec<u32>,
    all: usize,
    /// True if a term that the ground lacks is a number: nothing can support it.
    lost_figure: bool,
    figures: HashSet<u32>,
}

impl Ground {
    fn empty() -> Self {
        Self {
            numbers: HashMap::new(),
            by_term: Vec::new(),
            known: Vec::new(),
            by_file: HashMap::new(),
        }
    }

    /// Ground of one directory, which supports as both sides.
    pub(super) fn of(reader: &Reader, snapshot: &Snapshot, writing: &Writing) -> Self {
        Self::between(reader, snapshot, snapshot, &[], writing)
    }

    /// Ground of a directory before and after a dream, and of excerpts beside the former. A file
    /// that both have is read once.
    pub(super) fn between(
        reader: &Reader,
        before: &Snapshot,
        after: &Snapshot,
        excerpts: &[Excerpt],
        writing: &Writing,
    ) -> Self {
        let mut ground = Self::empty();
        let (old, new) = (before.files(), after.files());
        ground.add_files((before, old), (after, new), (reader, writing));
        for excerpt in excerpts {
            for sentence in reader.sentences(&excerpt.text) {
                let said = (excerpt.trust, Time::Before);
                ground.add(reader, sentence, said, excerpt.day);
            }
        }
        ground
    }

    /// Ground of some files alone, as they were before and are after. A sentence that they support
    /// is supported by the whole directory too.
    pub(super) fn among(
        reader: &Reader,
        (before, after): (&Snapshot, &Snapshot),
        paths: &[SafePath],
        writing: &Writing,
    ) -> Self {
        let mut ground = Self::empty();
        // In the order of the directory, so that of equal sources the same one is taken.
        let paths: BTreeSet<&SafePath> = paths.iter().collect();
        let old = paths
            .iter()
            .filter_map(|path| Some((*path, before.get(path)?)));
        let new = paths
            .iter()
            .filter_map(|path| Some((*path, after.get(path)?)));
        ground.add_files((before, old), (after, new), (reader, writing));
        ground
    }

    /// Adds files of the directory before, then those that are new or changed after.
    fn add_files<'a>(
        &mut self,
        (before, old): (
            &Snapshot,
            impl Iterator<Item = (&'a SafePath, &'a StoredFile)>,
        ),
        (after, new): (
            &Snapshot,
            impl Iterator<Item = (&'a SafePath, &'a StoredFile)>,
        ),
        (reader, writing): (&Reader, &Writing),
    ) {
        for (path, file) in old {
            let stays = after
                .get(path)
                .is_some_and(|new| new.content == file.content);
            let time = if stays {
                Time::Throughout
            } else {
                Time::Before
            };
            self.add_file(reader, before, (path, file), writing, time);
        }
        for (path, file) in new {
            if before
                .get(path)
                .is_none_or(|old| old.content != file.content)
            {
                self.add_file(reader, after, (path, file), writing, Time::After);
            }
        }
    }

    fn add_file(
        &mut self,
        reader: &Reader,
        snapshot: &Snapshot,
        (path, file): (&SafePath, &StoredFile),
        writing: &Writing,
        time: Time,
    ) {
        tally::add(Step::Grounded, 1);
        let text = file.text();
        if path.file_name() == INDEX {
            self.add_index(reader, snapshot, &text, time);
            return;
        }
        let Some(topic) = snapshot.topic(path) else {
            return;
        };
        let day = daily::day_of(path).or_else(|| writing.day(file, topic).map(|at| at.day));
        let said = (source_trust(path, topic), time);
        let first = self.known.len();
        let name = reader.sentence(&format!("{path} {}", topic.name));
        let sentences = reader.sentences(&text[topic.body..]);
        let description = reader.sentence(&topic.description);
        let is_log = daily::day_of(path).is_some();
        for sentence in [name, description].into_iter().chain(sentences) {
            // A log is the agent's; words that it quotes are those of a tool or a page.
            let (trust, time) = said;
            let trust = if is_log && sentence.quoted {
                Trust::External
            } else {
                trust
            };
            self.add(reader, sentence, (trust, time), day);
        }
        let own = (first..self.known.len()).filter_map(|id| u32::try_from(id).ok());
        self.by_file.entry(path.clone()).or_default().extend(own);
    }

    /// Adds the lines of an index with the trust of the files they point to; a line that points
    /// nowhere could be from anywhere.
    fn add_index(&mut self, reader: &Reader, snapshot: &Snapshot, text: &str, time: Time) {
        let mut by_line: HashMap<usize, SafePath> = HashMap::new();
        for entry in index::entries(text) {
            by_line.entry(entry.line).or_insert(entry.path);
        }
        for (number, line) in text.lines().enumerate() {
            let path = by_line.get(&(number + 1));
            let topic = path.and_then(|path| Some((snapshot.topic(path)?, path)));
            let trust = topic.map_or(Trust::External, |(topic, path)| source_trust(path, topic));
            self.add(reader, reader.sentence(line), (trust, time), None);
        }
    }

    /// Adds a sentence that was said, by the agent as far as is known.
    pub(super) fn say(&mut self, reader: &Reader, text: &str) {
        let said = (Trust::Assistant, Time::Throughout);
        self.add(reader, reader.sentence(text), said, None);
    }

    fn add(
        &mut self,
        reader: &Reader,
        sentence: Sentence,
        (trust, time): (Trust, Time),
        day: Option<jiff::civil::Date>,
    ) {
        let mut terms = sentence.terms;
        // Days that relative words mean are terms, too: a dream may replace one by the other.
        if let Some(day) = day {
            terms.extend(reader.sentence(&meant(&sentence.text, day)).terms);
        }
        let Ok(id) = u32::try_from(self.known.len()) else {
            return;
        };
        if terms.is_empty() {
            return;
        }
        let mut numbers: Vec<u32> = terms.into_iter().map(|term| self.number(term)).collect();
        numbers.sort_unstable();
        for number in &numbers {
            self.by_term[*number as usize].push(id);
        }
        self.known.push(Known {
            terms: numbers,
            negated: sentence.negated,
            trust,
            time,
        });
    }

    fn number(&mut self, term: String) -> u32 {
        let next = u32::try_from(self.by_term.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(term).or_insert(next);
        if number == next {
            self.by_term.push(Vec::new());
        }
        number
    }

    /// Least trust of a sentence's sources; `None` if it has none. `share` is the part of its
    /// terms, in percent, that they must have. Files that are likely to be its sources (`lineage`)
    /// are asked first, the whole directory only if they do not suffice.
    pub(super) fn support(
        &self,
        sentence: &Sentence,
        share: f64,
        side: Side,
        lineage: &[SafePath],
    ) -> Option<Trust> {
        let needed: Vec<&String> = sentence
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
        let needed = self.needed(&needed);
        let near = lineage.iter().filter_map(|path| self.by_file.get(path));
        // Of a memory that hundreds were merged into, the terms lead to the source faster.
        let near: Vec<u32> = near.flatten().copied().take(MOST_NEAR + 1).collect();
        let found = if near.len() > MOST_NEAR {
            None
        } else {
            self.pieced(sentence, &needed, (share, side), |_| near.clone())
        };
        found.or_else(|| {
            let choice = |missing: &[u32]| self.sharing(missing);
            self.pieced(sentence, &needed, (share, side), choice)
        })
    }

    fn needed(&self, terms: &[&String]) -> Needed {
        let mut needed = Needed {
            numbers: Vec::new(),
            all: terms.len(),
            lost_figure: false,
            figures: HashSet::new(),
        };
        for term in terms {
            match self.numbers.get(*term) {
                Some(number) => {
                    needed.numbers.push(*number);
                    if is_figure(term) {
                        needed.figures.insert(*number);
                    }
                }
                None => needed.lost_figure |= is_figure(term),
            }
        }
        needed
    }

    /// Trust of a sentence that is pieced together from some of the ground's.
    fn pieced(
        &self,
        sentence: &Sentence,
        needed: &Needed,
        (share, side): (f64, Side),
        choice: impl Fn(&[u32]) -> Vec<u32>,
    ) -> Option<Trust> {
        // A number is never a matter of degree.
        if needed.lost_figure {
            return None;
        }
        let mut missing = needed.numbers.clone();
        let lacking = needed.all - missing.len();
        let mut trust = Trust::User;
        for round in 0..MOST_PICKS {
            // A denial needs one source that denies; the others may only supply words. An
            // affirmation must not borrow a word from a denial.
            let denials = if round == 0 || !sentence.negated {
                Some(sentence.negated)
            } else {
                None
            };
            let chosen = choice(&missing);
            let Some(id) = self.best(&chosen, needed, &missing, (denials, side)) else {
                break;
            };
            let known = &self.known[id as usize];
            missing.retain(|term| known.terms.binary_search(term).is_err());
            trust = trust.min(known.trust);
            if missing.is_empty() {
                break;
            }
        }
        let figures = missing.iter().any(|term| needed.figures.contains(term));
        let found = needed.all - lacking - missing.len();
        (!figures && percent(found, needed.all) >= share).then_some(trust)
    }

    /// Sentences that share a term, from the rarest term on, so that words of every second memory
    /// do not make each question a walk through the directory.
    fn sharing(&self, missing: &[u32]) -> Vec<u32> {
        let mut lists: Vec<&Vec<u32>> = missing
            .iter()
            .filter_map(|term| self.by_term.get(*term as usize))
            .collect();
        lists.sort_by_key(|list| list.len());
        let mut ids: Vec<u32> = Vec::new();
        for list in lists {
            let room = MOST_WEIGHED.saturating_sub(ids.len());
            ids.extend(list.iter().take(room));
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Sentence that has most of the missing terms, of the sign asked for; of equals, the most
    /// trusted. A number alone makes no source.
    fn best(
        &self,
        chosen: &[u32],
        needed: &Needed,
        missing: &[u32],
        (negated, side): (Option<bool>, Side),
    ) -> Option<u32> {
        tally::add(Step::Weighed, chosen.len());
        let is_word = |term: &u32| !needed.figures.contains(term);
        let worded = needed.numbers.iter().any(is_word) || needed.all > needed.numbers.len();
        let candidates = chosen.iter().filter_map(|id| {
            let known = &self.known[*id as usize];
            let has = |term: &&u32| known.terms.binary_search(term).is_ok();
            let shared = missing.iter().filter(has).count();
            // Otherwise "port 8080" could be supported by any sentence with an 8080 in it.
            let related = !worded
                || needed
                    .numbers
                    .iter()
                    .filter(|n| is_word(n))
                    .any(|n| has(&n));
            let there = match side {
                Side::Before => known.time != Time::After,
                Side::After => known.time != Time::Before,
            };
            let signed = negated.is_none_or(|sign| sign == known.negated);
            (shared > 0 && related && there && signed).then_some((shared, known.trust, *id))
        });
        let best = candidates.max_by_key(|(shared, trust, id)| (*shared, *trust, Reverse(*id)));
        best.map(|(_, _, id)| id)
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
