//! Terms that may stand for a word of the query.
//!
//! # Model
//! Other forms of a word are found by its beginning. In a store small enough to read its words
//! through, compounds, abbreviations and misspellings are found as well, and the general tables
//! ([`crate::glossary`]) tell synonyms, phrases, kinds and the halves of a compound.
//!
//! # Not here
//! The weight of a word (`plan`).

use super::plan::{Having, Lookup};
use crate::analyse::QueryTerm;
use crate::glossary::{LONGEST, Stand};
use crate::searcher::Searcher;
use std::collections::{BTreeMap, BTreeSet};

/// Most letters by which another form of a word may be longer or shorter: the longest common
/// endings.
const VARIANT_LETTERS: usize = 6;
/// Count of a synonym beside the word itself.
const SYNONYM: f32 = 0.5;
/// Evidence of a misspelt word, of the long form of a short one, and of a compound.
const MISSPELT: f32 = 0.9;
const ABBREVIATED: f32 = 0.8;
const COMPOUND: f32 = 0.6;
/// Evidence of a stand-in that is itself only a part: of a phrase, or of a compound.
const IN_PHRASE: f32 = 0.85;
const IN_COMPOUND: f32 = 0.75;
/// Least letters of a word that is looked for inside others: "test" is in "latest", and means
/// nothing there.
const INSIDE: usize = 5;

/// Terms that stand for a word, and the number of documents that have them.
#[derive(Default)]
pub(super) struct StandIns {
    pub(super) lookups: Vec<Lookup>,
    pub(super) having: Having,
    /// Evidence of the best of them.
    pub(super) best: f32,
}

impl StandIns {
    fn add(&mut self, (lookups, having): (Vec<Lookup>, Having), cover: f32) {
        if having.documents > 0 {
            self.best = self.best.max(cover);
        }
        self.lookups.extend(lookups);
        self.having.documents += having.documents;
        self.having.units += having.units;
    }
}

impl Searcher {
    /// Groups of the general tables that the phrases of a query lead to, by the place of each of
    /// their words.
    pub(super) fn phrases(&self, words: &[&QueryTerm]) -> Vec<Vec<Stand>> {
        let mut found = vec![Vec::new(); words.len()];
        if !self.is_small() {
            return found;
        }
        let glossary = self.analyser.glossary();
        for length in 2..=LONGEST {
            for (at, phrase) in words.windows(length).enumerate() {
                let texts: Vec<&str> = phrase.iter().map(|word| word.text.as_str()).collect();
                for stand in glossary.stands(&texts.join(" ")) {
                    for place in &mut found[at..at + length] {
                        place.push(stand);
                    }
                }
            }
        }
        found
    }

    /// Members of the general tables that stand for a word.
    pub(super) fn stand_ins(&self, term: &QueryTerm, phrases: &[Stand], absent: bool) -> StandIns {
        let mut found = StandIns::default();
        let small = self.is_small();
        // A large collection has most words itself, and others for them only blur its order.
        if !small && !absent {
            return found;
        }
        let glossary = self.analyser.glossary();
        let share = if absent { 1.0 } else { SYNONYM };
        let own = glossary.stands(&term.text).chain(phrases.iter().copied());
        for stand in own.filter(|stand| small || stand.same) {
            self.add_group(stand, &term.text, (share, 1.0), &mut found);
        }
        if absent && small {
            for half in glossary.halves(&term.word).into_iter().flatten() {
                found.add(self.find(&half, share, COMPOUND), COMPOUND);
                for stand in glossary.stands(&half).filter(|stand| stand.same) {
                    self.add_group(stand, &half, (share, IN_COMPOUND), &mut found);
                }
            }
        }
        found
    }

    fn add_group(&self, stand: Stand, own: &str, (share, part): (f32, f32), found: &mut StandIns) {
        let cover = stand.cover * part;
        for member in self.analyser.glossary().group(stand) {
            match member.as_slice() {
                [single] if *single == own => {}
                [single] => {
                    let direct = self.find(single, share, cover);
                    let nowhere = direct.1.documents == 0;
                    found.add(direct, cover);
                    if nowhere && self.is_small() && single.chars().count() >= INSIDE {
                        let cover = cover * IN_COMPOUND;
                        for text in self.ending_in(single) {
                            found.add(self.find(&text, share, cover), cover);
                        }
                    }
                }
                // The rarest part stands for the phrase, as far as the documents that have it have
                // the other parts as well.
                parts if self.is_small() => {
                    let rarest = parts
                        .iter()
                        .min_by_key(|part| self.find(part, share, cover).1.documents);
                    let Some(rarest) = rarest else { continue };
                    let together = self.together(parts);
                    let (_, having) = self.find(rarest, share, cover);
                    if together > 0 {
                        #[expect(clippy::cast_precision_loss, reason = "counts of documents")]
                        let part = together as f32 / having.documents.max(together) as f32;
                        let cover = cover * IN_PHRASE * part;
                        found.add(self.find(rarest, share, cover), cover);
                    }
                }
                _ => {}
            }
        }
    }

    /// Number of documents that have every one of some terms.
    fn together(&self, terms: &[&str]) -> usize {
        let mut left: Option<BTreeSet<u32>> = None;
        for term in terms {
            let mut having = BTreeSet::new();
            for part in &self.parts {
                let Some(number) = part.segment.find(term) else {
                    continue;
                };
                for posting in part.segment.postings(number).iter() {
                    let document = part.segment.unit(posting.unit).0 + part.first_document;
                    if self.gone.get(document as usize) == Some(&false) {
                        having.insert(document);
                    }
                }
            }
            let both = match left {
                Some(left) => left.intersection(&having).copied().collect(),
                None => having,
            };
            if both.is_empty() {
                return 0;
            }
            left = Some(both);
        }
        left.map_or(0, |left| left.len())
    }

    /// Words of the store that end in another: compounds of it.
    fn ending_in(&self, word: &str) -> Vec<String> {
        let ending: String = word.chars().rev().collect();
        let words = self.backwards();
        let first = words.partition_point(|text| text.as_str() < ending.as_str());
        let alike = words[first..].iter();
        let alike = alike.take_while(|text| text.starts_with(&ending));
        let longer = alike.filter(|text| text.len() > ending.len());
        longer.map(|text| text.chars().rev().collect()).collect()
    }

    fn backwards(&self) -> &[String] {
        self.backwards.get_or_init(|| {
            let terms = self.parts.iter().flat_map(|part| {
                let numbers = 0..part.segment.terms();
                numbers.map(|number| part.segment.term_text(number))
            });
            let words = terms.filter_map(|text| {
                let text = std::str::from_utf8(&text).ok()?;
                let is_word = text.chars().all(char::is_alphabetic);
                is_word.then(|| text.chars().rev().collect())
            });
            let mut words: Vec<String> = words.collect();
            words.sort_unstable();
            words.dedup();
            words
        })
    }

    /// Terms that mean about the same as one, with their share.
    pub(super) fn relatives(&self, term: &str, absent: bool) -> BTreeMap<String, Relative> {
        let mut found = BTreeMap::new();
        if self.weights.variant > 0.0 || absent {
            self.variants(term, absent, &mut found);
        }
        if self.is_small() {
            self.own_words(term, absent, &mut found);
        }
        found
    }

    /// Words of the directory itself that a word of the query may be written for: compounds of it,
    /// words it abbreviates, and words it misspells. Reads the whole vocabulary, which only a small
    /// store permits.
    fn own_words(&self, term: &str, absent: bool, found: &mut BTreeMap<String, Relative>) {
        let letters = term.chars().count();
        if letters < 3
            || !term.chars().all(char::is_alphabetic)
            || term.chars().any(|c| !c.is_alphabetic() || c > '\u{24F}')
        {
            return;
        }
        let share = if absent { 1.0 } else { self.weights.variant };
        let known = self.analyser.glossary().is_general(term);
        for part in &self.parts {
            for number in 0..part.segment.terms() {
                let text = part.segment.term_text(number);
                let Ok(text) = std::str::from_utf8(&text) else {
                    continue;
                };
                let length = text.chars().count();
                if text == term || !text.chars().all(char::is_alphabetic) {
                    continue;
                }
                let compound = letters >= INSIDE
                    && length > letters
                    && (text.starts_with(term) || text.ends_with(term));
                let inside = length >= INSIDE
                    && letters > length
                    && (term.starts_with(text) || term.ends_with(text));
                let abbreviates =
                    absent && letters <= 5 && length > letters && text.starts_with(term);
                let most = if letters >= 9 { 2 } else { 1 };
                // A word that people know is no slip of the pen: "charge" is not "change".
                let misspelt = absent
                    && !known
                    && letters >= 5
                    && length >= 5
                    && length.abs_diff(letters) <= most
                    && strsim::osa_distance(term, text) <= most;
                let cover = match () {
                    () if misspelt => MISSPELT,
                    () if abbreviates => ABBREVIATED,
                    () if compound || inside => COMPOUND,
                    () => continue,
                };
                let relative = Relative { share, cover };
                let entry = found.entry(text.to_owned()).or_insert(relative);
                entry.cover = entry.cover.max(cover);
            }
        }
    }

    /// Terms that begin alike: longer forms, shorter forms, and for one that is nowhere those that
    /// share most of it.
    fn variants(&self, term: &str, absent: bool, found: &mut BTreeMap<String, Relative>) {
        let letters = term.chars().count();
        // Short words and identifiers have no endings; "car" is no form of "carpet".
        if letters < 4 || !term.chars().all(char::is_alphabetic) {
            return;
        }
        let share = if absent { 1.0 } else { self.weights.variant };
        let keep = if absent {
            // Three quarters: a misspelt ending still finds its word.
            (letters * 3).div_ceil(4).max(4)
        } else {
            letters
        };
        let stem: String = term.chars().take(keep).collect();
        for part in &self.parts {
            let first = part.segment.first_at_least(&stem);
            for number in first..part.segment.terms() {
                let text = part.segment.term_text(number);
                let Ok(text) = std::str::from_utf8(&text) else {
                    break;
                };
                if !text.starts_with(&stem) {
                    break;
                }
                let longer = text.chars().count().saturating_sub(letters);
                let fine = longer <= VARIANT_LETTERS && text.chars().all(char::is_alphabetic);
                if fine && text != term {
                    let cover = inflected(text.chars().count().abs_diff(letters), letters);
                    found
                        .entry(text.to_owned())
                        .or_insert(Relative { share, cover });
                }
            }
        }
        if !absent {
            for length in letters.saturating_sub(VARIANT_LETTERS).max(4)..letters {
                let short: String = term.chars().take(length).collect();
                let cover = inflected(letters - length, letters);
                found.entry(short).or_insert(Relative { share, cover });
            }
        }
    }
}

/// Another word for one of the query's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relative {
    pub(super) share: f32,
    pub(super) cover: f32,
}

/// Evidence of a form that is so many letters longer or shorter: up to three are an ending.
/// A short word has short ones: "portal" is no form of "port".
fn inflected(letters: usize, of: usize) -> f32 {
    let ending = if of <= 4 { 1 } else { 3 };
    if letters <= ending { 0.9 } else { 0.5 }
}
