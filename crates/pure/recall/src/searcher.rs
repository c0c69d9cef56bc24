//! Index that changes: a large segment, a small one with changes since, and removals.
//!
//! # Model
//! Documents are numbered through: those of the base, then those of the delta. All figures the
//! ranker needs (how many documents, how long, how many have a word) are those of the documents
//! that are left, so that the hits are the ones a fresh index would give.
//!
//! # Not here
//! The time to rebuild the base: the caller decides, with [`Searcher::changed`].

use crate::analyse::Analyser;
use crate::document::Document;
use crate::rank::Weights;
use crate::segment::{DocumentEntry, Postings, Segment, TooLarge};
use bytes::Bytes;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// No document, no unit, no parent: a number that no segment can reach.
pub(crate) const NONE: u32 = u32::MAX;

/// Documents ready to be searched.
#[derive(Debug)]
pub struct Searcher {
    pub(crate) analyser: Analyser,
    pub(crate) weights: Weights,
    pub(crate) parts: Vec<Part>,
    /// Words of all parts written backwards, in order, to find those that end alike; made when it is
    /// first asked for.
    pub(crate) backwards: OnceLock<Vec<String>>,
    /// By document: true if it was removed.
    pub(crate) gone: Vec<bool>,
    /// Number of documents that are left.
    pub(crate) live: u32,
    /// Number of units that are left.
    pub(crate) live_units: u32,
    /// Share of documents with something beside them, from 0 to 1.
    pub(crate) context: f32,
    /// By document: divisor for its words, which grows with its length.
    pub(crate) norms: Vec<f32>,
    /// Documents that sound like standing instructions, with their strength.
    pub(crate) rules: Vec<(u32, f32)>,
    /// Present if some documents are long or have neighbours.
    pub(crate) passages: Option<Passages>,
    /// Present if some documents are pieces of something.
    pub(crate) family: Option<Family>,
}

/// Segment with the first of its numbers.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) segment: Segment,
    pub(crate) first_document: u32,
    pub(crate) first_unit: u32,
    /// Documents of this segment that are gone, by the segment's own numbers.
    gone: Vec<u32>,
}

/// Units with those before and behind them.
#[derive(Debug)]
pub(crate) struct Passages {
    /// By unit: its neighbours; [`NONE`] at both ends.
    pub(crate) before: Vec<u32>,
    pub(crate) behind: Vec<u32>,
    /// Divisors for the words of a unit with its neighbours, by their length.
    pub(crate) norms: Vec<f32>,
    /// By unit: its document; [`NONE`] if that is gone.
    pub(crate) document: Vec<u32>,
}

/// Wholes that documents are pieces of.
#[derive(Debug)]
pub(crate) struct Family {
    /// By document: its parent; [`NONE`] for one that stands alone.
    pub(crate) parent: Vec<u32>,
    /// By parent: divisor for its words.
    pub(crate) norms: Vec<f32>,
}

impl Searcher {
    /// Searcher over all documents of a segment.
    pub fn new(base: Segment) -> Self {
        Self::of(vec![base], &[], Weights::default())
    }

    /// Searcher over a segment without those `removed` (numbers outside it are ignored), and some
    /// new documents, whose numbers follow the base's.
    pub fn with_changes<'a>(
        base: Segment,
        removed: &[usize],
        added: impl IntoIterator<Item = Document<'a>>,
    ) -> Result<Self, TooLarge> {
        // The base's language, because terms cut in another way would not be found.
        let delta = Segment::build(base.language(), added)?;
        let delta = Segment::open(Bytes::from(delta)).map_err(|_| TooLarge)?;
        Ok(Self::of(vec![base, delta], removed, Weights::default()))
    }

    /// Same documents with other weights; for measurements.
    #[must_use]
    pub fn weighing(self, weights: Weights) -> Self {
        let segments = self.parts.into_iter().map(|part| part.segment).collect();
        let gone: Vec<usize> = self
            .gone
            .iter()
            .enumerate()
            .filter_map(|(document, gone)| gone.then_some(document))
            .collect();
        Self::of(segments, &gone, weights)
    }

    /// Same documents without some, as a fresh index of the others would answer. Numbers stay.
    #[must_use]
    pub fn without(&self, hidden: impl IntoIterator<Item = usize>) -> Self {
        let segments = self.parts.iter().map(|part| part.segment.clone());
        let gone = self.gone.iter().enumerate();
        let gone = gone.filter_map(|(document, gone)| gone.then_some(document));
        let removed: Vec<usize> = gone.chain(hidden).collect();
        Self::of(segments.collect(), &removed, self.weights)
    }

    fn of(segments: Vec<Segment>, removed: &[usize], weights: Weights) -> Self {
        let language = segments.first().map(Segment::language);
        // Without a segment nothing is found, in any language.
        let language = language.unwrap_or(dormouse_text::words::Language::English);
        let mut parts: Vec<Part> = Vec::new();
        let (mut first_document, mut first_unit) = (0, 0);
        for segment in segments {
            let documents = u32::try_from(segment.len()).unwrap_or(NONE);
            let units = segment.units();
            parts.push(Part {
                segment,
                first_document,
                first_unit,
                gone: Vec::new(),
            });
            first_document += documents;
            first_unit += units;
        }
        let mut gone = vec![false; first_document as usize];
        for document in removed {
            if let Some(gone) = gone.get_mut(*document) {
                *gone = true;
            }
        }
        for part in &mut parts {
            let documents = 0..u32::try_from(part.segment.len()).unwrap_or(NONE);
            let first = part.first_document;
            part.gone = documents
                .filter(|document| gone[(first + document) as usize])
                .collect();
        }
        let mut searcher = Self {
            analyser: Analyser::new(language),
            weights,
            parts,
            backwards: OnceLock::new(),
            live: first_document,
            live_units: first_unit,
            context: 0.0,
            rules: Vec::new(),
            norms: Vec::new(),
            passages: None,
            family: None,
            gone,
        };
        // After the removals, since averages and counts must be those of the rest.
        searcher.measure();
        searcher
    }

    /// Number of documents that are left.
    pub fn len(&self) -> usize {
        self.live as usize
    }

    /// True if a document is left.
    pub fn has(&self, document: usize) -> bool {
        self.gone.get(document) == Some(&false)
    }

    /// True if none is left.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Number of documents that differ from the base: removed ones and new ones.
    pub fn changed(&self) -> usize {
        let gone = self.gone.iter().filter(|gone| **gone).count();
        let new: usize = self
            .parts
            .iter()
            .skip(1)
            .map(|part| part.segment.len())
            .sum();
        gone + new
    }

    /// Bytes that the caller stored with a document; empty if there is no such document.
    pub fn payload(&self, document: usize) -> Cow<'_, [u8]> {
        let Ok(document) = u32::try_from(document) else {
            return Cow::default();
        };
        let (part, local) = self.place(document);
        let part = self.parts.get(part);
        part.map_or_else(Cow::default, |part| part.segment.payload(local as usize))
    }

    /// Order of two documents by their payloads; the first of equals is that of the lower number.
    pub(crate) fn payload_order(&self, a: u32, b: u32) -> Ordering {
        let ((part_a, local_a), (part_b, local_b)) = (self.place(a), self.place(b));
        let payloads = match self.parts.get(part_a) {
            // Within a part their places are known, and no payload has to be read.
            Some(part) if part_a == part_b => {
                let place = |local: u32| part.segment.document(local).place;
                place(local_a).cmp(&place(local_b))
            }
            _ => self.payload(a as usize).cmp(&self.payload(b as usize)),
        };
        payloads.then(a.cmp(&b))
    }

    /// All documents that are left, with their payloads.
    pub fn payloads(&self) -> impl Iterator<Item = (usize, Cow<'_, [u8]>)> + '_ {
        let left = self.gone.iter().enumerate().filter(|(_, gone)| !**gone);
        left.map(|(document, _)| (document, self.payload(document)))
    }

    /// Part of a document, and its number there.
    pub(crate) fn place(&self, document: u32) -> (usize, u32) {
        let part = self
            .parts
            .iter()
            .rposition(|part| part.first_document <= document);
        let part = part.unwrap_or_default();
        let first = self.parts.get(part).map_or(0, |part| part.first_document);
        (part, document - first)
    }

    pub(crate) fn entry(&self, document: u32) -> DocumentEntry {
        let (part, local) = self.place(document);
        let part = self.parts.get(part);
        part.map_or_else(DocumentEntry::default, |part| part.segment.document(local))
    }

    /// Units of a document, numbered through.
    pub(crate) fn units_of(&self, document: u32) -> Range<u32> {
        let (part, local) = self.place(document);
        self.parts.get(part).map_or(0..0, |part| {
            let units = part.segment.units_of(local);
            units.start + part.first_unit..units.end + part.first_unit
        })
    }

    /// Documents that are left.
    pub(crate) fn documents(&self) -> impl Iterator<Item = u32> + '_ {
        let numbered = (0_u32..).zip(&self.gone);
        numbered
            .filter(|(_, gone)| !**gone)
            .map(|(document, _)| document)
    }

    fn measure(&mut self) {
        let entries: Vec<(u32, DocumentEntry)> = self
            .documents()
            .map(|document| (document, self.entry(document)))
            .collect();
        self.live = u32::try_from(entries.len()).unwrap_or(NONE);
        let rules = entries.iter().filter(|(_, entry)| entry.standing > 0.0);
        self.rules = rules
            .map(|(document, entry)| (*document, entry.standing))
            .collect();
        let units = entries
            .iter()
            .map(|(document, _)| self.units_of(*document).len());
        self.live_units = u32::try_from(units.sum::<usize>()).unwrap_or(NONE);
        let has_parents = entries.iter().any(|(_, entry)| entry.parent != 0);
        // Notes that stand alone need neither pass, and a search over them costs less.
        if self.live_units > self.live || has_parents {
            let passages = self.passages(&entries);
            self.context = passages.context(self.live);
            self.passages = Some(passages);
        }
        if has_parents {
            self.family = Some(self.family(&entries));
        }
        let total = entries.iter().map(|(_, entry)| u64::from(entry.body)).sum();
        let average = average(total, entries.len());
        let b = self.weights.length.at(self.context);
        self.norms = vec![1.0; self.gone.len()];
        for (document, entry) in &entries {
            self.norms[*document as usize] = norm(entry.body, average, b);
        }
    }

    fn family(&self, entries: &[(u32, DocumentEntry)]) -> Family {
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let mut lengths: Vec<u32> = Vec::new();
        let mut parent = vec![NONE; self.gone.len()];
        for (document, entry) in entries.iter().filter(|(_, entry)| entry.parent != 0) {
            let number = *numbers.entry(entry.parent).or_insert_with(|| {
                lengths.push(0);
                u32::try_from(lengths.len() - 1).unwrap_or(NONE)
            });
            parent[*document as usize] = number;
            if let Some(length) = lengths.get_mut(number as usize) {
                *length += entry.body;
            }
        }
        let total = lengths.iter().map(|length| u64::from(*length)).sum();
        let average = average(total, lengths.len());
        let b = self.weights.passage_length;
        let norms = lengths
            .iter()
            .map(|length| norm(*length, average, b))
            .collect();
        Family { parent, norms }
    }

    fn passages(&self, entries: &[(u32, DocumentEntry)]) -> Passages {
        let all = self
            .parts
            .last()
            .map_or(0, |part| part.first_unit + part.segment.units());
        let mut passages = Passages {
            before: vec![NONE; all as usize],
            behind: vec![NONE; all as usize],
            norms: vec![1.0; all as usize],
            document: vec![NONE; all as usize],
        };
        let mut pieces: Vec<(u64, u32, Cow<'_, [u8]>, u32)> = Vec::new();
        for (document, entry) in entries {
            let units = self.units_of(*document);
            for unit in units.clone() {
                passages.document[unit as usize] = *document;
            }
            for unit in units.clone().skip(1) {
                passages.join(unit - 1, unit);
            }
            if entry.parent != 0 && !units.is_empty() {
                let payload = self.payload(*document as usize);
                pieces.push((entry.parent, entry.order, payload, *document));
            }
        }
        // By parent, order and payload, never by number: the delta would otherwise break
        // conversations.
        pieces.sort_unstable();
        for pair in pieces.windows(2) {
            if let [before, behind] = pair
                && before.0 == behind.0
                // A gap in the order is a removed turn; its neighbours never stood together.
                && before.1 + 1 == behind.1
            {
                let (last, first) = (
                    self.units_of(before.3).end - 1,
                    self.units_of(behind.3).start,
                );
                passages.join(last, first);
            }
        }
        let lengths: Vec<u32> = self.unit_lengths();
        let length = |unit: u32| lengths.get(unit as usize).copied().unwrap_or_default();
        let whole: Vec<u32> = (0..all)
            .map(|unit| {
                let neighbours = [
                    passages.before[unit as usize],
                    passages.behind[unit as usize],
                ];
                length(unit) + neighbours.into_iter().map(length).sum::<u32>()
            })
            .collect();
        let live = |unit: &usize| passages.document[*unit] != NONE;
        let total = (0..whole.len())
            .filter(live)
            .map(|unit| u64::from(whole[unit]))
            .sum();
        let average = average(total, self.live_units as usize);
        let b = self.weights.passage_length;
        passages.norms = whole
            .iter()
            .map(|length| norm(*length, average, b))
            .collect();
        passages
    }

    fn unit_lengths(&self) -> Vec<u32> {
        let parts = self.parts.iter();
        parts
            .flat_map(|part| (0..part.segment.units()).map(|unit| part.segment.unit(unit).1))
            .collect()
    }
}

impl Passages {
    /// Share of documents with something beside them.
    #[expect(
        clippy::cast_precision_loss,
        reason = "numbers of documents are far below 2^23"
    )]
    fn context(&self, documents: u32) -> f32 {
        let mut count = 0;
        let mut last = NONE;
        let neighbours = self.before.iter().zip(&self.behind);
        for (document, (before, behind)) in self.document.iter().zip(neighbours) {
            let beside = *before != NONE || *behind != NONE;
            if *document != NONE && *document != last && beside {
                count += 1;
                last = *document;
            }
        }
        count as f32 / documents.max(1) as f32
    }

    fn join(&mut self, before: u32, behind: u32) {
        self.behind[before as usize] = behind;
        self.before[behind as usize] = before;
    }
}

impl Part {
    /// Numbers of documents and units that are left and have a term.
    pub(crate) fn having(&self, postings: &Postings<'_>) -> (u32, usize) {
        let mut documents = postings.documents;
        let mut units = postings.units();
        // Removed ones are subtracted by lookup: there are few, and rewriting postings costs more.
        for document in &self.gone {
            let lost = postings.within(self.segment.units_of(*document));
            documents = documents.saturating_sub(u32::from(lost > 0));
            units -= lost;
        }
        (documents, units)
    }
}

#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52")]
fn average(total: u64, count: usize) -> f64 {
    // At least one word: empty bodies would divide by zero.
    (total as f64 / count.max(1) as f64).max(1.0)
}

#[expect(clippy::cast_possible_truncation, reason = "a ratio near one")]
fn norm(length: u32, average: f64, b: f32) -> f32 {
    1.0 - b + b * (f64::from(length) / average) as f32
}
