//! Second look at a candidate, word by word: the query's words it has, and those that stand
//! together as in the query.
//!
//! # Not here
//! The pairs of the query (`plan`); the use of the result (`confidence` and the search itself).

use super::plan::{CLASSES, Class, Plan};
use crate::searcher::Searcher;
use crate::segment::GAP;
use serde::Serialize;
use std::collections::HashMap;

/// Most words between two words that still count as together: about a clause.
const REACH: usize = 6;
/// Share of two words in the other order: "memory leak" and "leak of memory" mean mostly the same.
const REVERSED: f32 = 0.5;
/// Cover from which a word counts as found: below it are only parts of compounds and phrases.
const FOUND: f32 = 0.5;
/// Slots of the filter before the lookup: a query has a few dozen words, so most slots stay empty,
/// and it fits into a cache.
const FILTER: u32 = 1024;

/// Words of the query as numbers of one part's terms.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Number, place in the query, share, cover; sorted by number.
    entries: Vec<(u32, usize, f32, f32)>,
    /// Fast reject: most words of a document are none of the query's.
    filter: [bool; FILTER as usize],
}

/// Findings of a second look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Look {
    /// Worth of the words that stand together.
    pub(super) near: f32,
    /// Worth of the words found, without stop words.
    pub(super) covered: f32,
    /// The same, as evidence that the document is meant.
    pub(super) meant: f32,
    /// Worth found by class of word.
    pub(super) found: [f32; CLASSES],
    /// Number of the telling words that were found, themselves or by a stand-in.
    pub(super) words: f32,
    /// Worth of the single word that tells most.
    pub(super) single: f32,
    /// Share of the document's name that the query speaks of, by the worth of its words.
    pub(super) named: f32,
    /// The same of the whole document.
    pub(super) spoken: f32,
    /// Cover of the thing that is asked for; the least of several.
    pub(super) focus: f32,
}

/// Buffers for looking, used again for the next document.
#[derive(Debug, Default)]
pub(super) struct Eyes {
    /// By word of the query: its last place.
    seen: Vec<Option<usize>>,
    /// By word: the best share of it that was seen.
    share: Vec<f32>,
    /// By word: the best evidence of it that was seen.
    cover: Vec<f32>,
    /// By pair: the best closeness.
    close: Vec<f32>,
    /// Worth of words of documents, by part and number: most stand in several documents.
    worths: HashMap<(usize, u32), f32>,
}

impl Wanted {
    pub(super) fn new(plan: &Plan, part: usize) -> Self {
        let terms = plan.terms.iter();
        let mut entries: Vec<(u32, usize, f32, f32)> = terms
            .flat_map(|term| term.lookups.iter().map(|lookup| (lookup, term.word)))
            .filter(|(lookup, _)| lookup.part == part)
            .map(|(lookup, word)| (lookup.number, word, lookup.share, lookup.cover))
            .collect();
        entries.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)));
        // A term may stand for several words, for each with its best share.
        entries.dedup_by_key(|entry| (entry.0, entry.1));
        let mut filter = [false; FILTER as usize];
        for (number, ..) in &entries {
            filter[(number % FILTER) as usize] = true;
        }
        Self { entries, filter }
    }

    /// Words that a term stands for, each with its share and cover.
    fn words(&self, number: u32) -> impl Iterator<Item = (usize, f32, f32)> {
        let first = if self.filter[(number % FILTER) as usize] {
            self.entries.partition_point(|entry| entry.0 < number)
        } else {
            self.entries.len()
        };
        let found = self.entries[first..].iter();
        let found = found.take_while(move |entry| entry.0 == number);
        found.map(|(_, word, share, cover)| (*word, *share, *cover))
    }
}

impl Searcher {
    /// Evidence of identifiers by document: they have no place among the words that are read. For a
    /// small store only.
    pub(super) fn wholes(&self, plan: &Plan) -> HashMap<u32, Vec<(usize, f32)>> {
        let mut found: HashMap<u32, Vec<(usize, f32)>> = HashMap::new();
        if !self.is_small() {
            return found;
        }
        for term in &plan.terms {
            for lookup in &term.lookups {
                let Some(part) = self.parts.get(lookup.part) else {
                    continue;
                };
                for posting in part.segment.postings(lookup.number).iter() {
                    let document = part.segment.unit(posting.unit).0 + part.first_document;
                    let entry = found.entry(document).or_default();
                    entry.push((term.word, lookup.cover));
                }
            }
        }
        found
    }

    /// Reads a document with the query in mind.
    pub(super) fn look(
        &self,
        document: u32,
        plan: &Plan,
        wanted: &[Wanted],
        wholes: &HashMap<u32, Vec<(usize, f32)>>,
        eyes: &mut Eyes,
    ) -> Look {
        let (at, local) = self.place(document);
        let (Some(part), Some(wanted)) = (self.parts.get(at), wanted.get(at)) else {
            return Look::default();
        };
        eyes.open(plan);
        let (mut place, mut field) = (0, 0);
        let (mut name, mut whole) = (Spoken::default(), Spoken::default());
        for number in part.segment.words(part.segment.units_of(local)) {
            place += 1;
            if number == GAP {
                // Words of different fields must not count as neighbours.
                place += REACH;
                field += 1;
                continue;
            }
            let mut meant = false;
            for (word, share, cover) in wanted.words(number) {
                eyes.cover[word] = eyes.cover[word].max(cover);
                eyes.see(plan, word, share, place);
                meant |= cover > 0.0 && plan.words[word].worth > 0.0;
            }
            // Only a small store is judged by it, and the postings are read for each word.
            if self.is_small() {
                let worth = *(eyes.worths.entry((at, number))).or_insert_with(|| {
                    let text = part.segment.term_text(number);
                    let text = std::str::from_utf8(&text).unwrap_or_default();
                    // In all parts, so that the index may have grown in any order.
                    self.rarity(self.find(text, 1.0, 1.0).1.documents)
                });
                whole.add(worth, meant);
                if field == 0 {
                    name.add(worth, meant);
                }
            }
        }
        for (word, cover) in wholes.get(&document).into_iter().flatten() {
            eyes.cover[*word] = eyes.cover[*word].max(*cover);
        }
        Look {
            named: name.share(),
            spoken: whole.share(),
            ..eyes.sum(plan)
        }
    }
}

/// Worth of a text's words, and of those that a query speaks of.
#[derive(Clone, Copy, Default)]
struct Spoken {
    all: f32,
    meant: f32,
}

impl Spoken {
    fn add(&mut self, worth: f32, meant: bool) {
        self.all += worth;
        if meant {
            self.meant += worth;
        }
    }

    fn share(self) -> f32 {
        if self.all > 0.0 {
            self.meant / self.all
        } else {
            0.0
        }
    }
}

/// Word of a query, and its evidence in one document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ground {
    /// Word of the query, without case.
    pub word: String,
    /// Term of the document that stands for it; `None` if it has none.
    pub found: Option<String>,
    /// Share of the question that the word is, from 0 to 1.
    pub weight: f32,
    /// Evidence that it is meant, from 0 to 1.
    pub cover: f32,
}

impl Searcher {
    /// Words of a query that tell something, with their evidence in a document. Empty for a document
    /// that is gone.
    pub fn grounds(&self, query: &str, document: usize) -> Vec<Ground> {
        let plan = self.plan(query);
        let whole: f32 = plan.words.iter().map(|word| word.worth).sum();
        let mut best: Vec<(f32, Option<String>)> = vec![(0.0, None); plan.words.len()];
        let number = u32::try_from(document).ok();
        let number = number.filter(|_| self.gone.get(document) == Some(&false));
        if let Some(document) = number {
            let (at, local) = self.place(document);
            if let Some(part) = self.parts.get(at) {
                let wanted = Wanted::new(&plan, at);
                for number in part.segment.words(part.segment.units_of(local)) {
                    if number == GAP {
                        continue;
                    }
                    for (word, _, cover) in wanted.words(number) {
                        if cover > best[word].0 {
                            let text = part.segment.term_text(number);
                            let text = String::from_utf8_lossy(&text);
                            best[word] = (cover, Some(text.into_owned()));
                        }
                    }
                }
            }
        }
        let words = plan.words.iter().zip(plan.texts).zip(best);
        let told = words.filter(|((word, _), _)| word.worth > 0.0);
        told.map(|((word, text), (cover, found))| Ground {
            word: text,
            found,
            weight: if whole > 0.0 { word.worth / whole } else { 0.0 },
            cover,
        })
        .collect()
    }
}

impl Eyes {
    /// Forgets what belongs to the collection of an earlier search.
    pub(super) fn rest(&mut self) {
        self.worths.clear();
    }

    fn open(&mut self, plan: &Plan) {
        self.seen.clear();
        self.seen.resize(plan.words.len(), None);
        self.share.clear();
        self.share.resize(plan.words.len(), 0.0);
        self.cover.clear();
        self.cover.resize(plan.words.len(), 0.0);
        self.close.clear();
        self.close.resize(plan.pairs.len(), 0.0);
    }

    fn see(&mut self, plan: &Plan, word: usize, share: f32, place: usize) {
        self.seen[word] = Some(place);
        self.share[word] = self.share[word].max(share);
        for index in &plan.pairs_of[word] {
            let pair = plan.pairs[*index];
            let (other, order) = if word == pair.1 {
                (pair.0, 1.0)
            } else {
                (pair.1, REVERSED)
            };
            if let Some(at) = self.seen[other] {
                let close = share * order * closeness(place - at);
                self.close[*index] = self.close[*index].max(close);
            }
        }
    }

    fn found(&self, plan: &Plan) -> [f32; CLASSES] {
        let mut found = [0.0; CLASSES];
        for (word, cover) in plan.words.iter().zip(&self.cover) {
            found[word.class as usize] += word.worth * cover;
        }
        found
    }

    fn focus(&self, plan: &Plan) -> f32 {
        let words = plan.words.iter().zip(&self.cover);
        let asked = words.filter(|(word, _)| word.focus && word.class != Class::Weak);
        asked.map(|(_, cover)| *cover).fold(1.0, f32::min)
    }

    fn single(&self, plan: &Plan) -> f32 {
        let words = plan.words.iter().zip(&self.cover);
        let worths = words.map(|(word, cover)| word.worth * cover);
        worths.fold(0.0, f32::max)
    }

    fn words(&self, plan: &Plan) -> f32 {
        let words = plan.words.iter().zip(&self.cover);
        let found = words.filter(|(word, cover)| word.worth > 0.0 && **cover > FOUND);
        found.map(|_| 1.0).sum()
    }

    fn sum(&self, plan: &Plan) -> Look {
        let pairs = plan.pairs.iter().zip(&self.close);
        let speaking = plan.words.iter().zip(&self.share);
        let speaking = speaking.filter(|(word, _)| !word.stops);
        Look {
            near: pairs
                .map(|(pair, close)| {
                    plan.words[pair.0].rarity.min(plan.words[pair.1].rarity) * close
                })
                .sum(),
            covered: speaking.map(|(word, share)| word.rarity * share).sum(),
            found: self.found(plan),
            focus: self.focus(plan),
            words: self.words(plan),
            single: self.single(plan),
            named: 0.0,
            spoken: 0.0,
            meant: plan
                .words
                .iter()
                .zip(&self.cover)
                .map(|(word, cover)| word.worth * cover)
                .sum(),
        }
    }
}

/// Worth of a distance between two words. It falls off fast, since adjacent words are a phrase and
/// those six words apart merely share a clause.
fn closeness(distance: usize) -> f32 {
    match distance {
        1 => 1.0,
        2 => 0.6,
        3 => 0.4,
        4 => 0.25,
        5 | REACH => 0.15,
        _ => 0.0,
    }
}
