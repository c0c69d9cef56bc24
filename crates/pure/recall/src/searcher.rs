//! An index that changes: a large segment, a small one with what changed since, and what is gone.
//!
//! # Model
//! Documents are numbered through: those of the base, then those of the delta. All figures the
//! ranker needs (how many documents, how long, how many have a word) are those of the documents
//! that are left, so that the hits are the ones a fresh index would give.
//!
//! # Not here
//! When to build the base anew: the caller decides, with [`Searcher::changed`].

use crate::analyse::Analyser;
use crate::document::Document;
use crate::rank::Weights;
use crate::segment::{DocumentEntry, Postings, Segment, TooLarge};
use bytes::Bytes;
use std::collections::HashMap;
use std::ops::Range;

/// No document, no unit, no parent.
pub(crate) const NONE: u32 = u32::MAX;

/// Documents ready to be searched.
#[derive(Debug)]
pub struct Searcher {
    pub(crate) analyser: Analyser,
    pub(crate) weights: Weights,
    pub(crate) parts: Vec<Part>,
    /// By document.
    pub(crate) gone: Vec<bool>,
    /// Documents that are left.
    pub(crate) live: u32,
    /// Units that are left.
    pub(crate) live_units: u32,
    /// The share of documents with something beside them.
    pub(crate) context: f32,
    /// How a document's length marks down its words; by document.
    pub(crate) norms: Vec<f32>,
    /// Documents that sound like standing instructions, and how much.
    pub(crate) rules: Vec<(u32, f32)>,
    /// There if some documents are long or have neighbours.
    pub(crate) passages: Option<Passages>,
    /// There if some documents are pieces of something.
    pub(crate) family: Option<Family>,
}

/// A segment and where its numbers begin.
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
    /// By unit.
    pub(crate) before: Vec<u32>,
    pub(crate) behind: Vec<u32>,
    /// How the length of a unit with its neighbours marks down its words.
    pub(crate) norms: Vec<f32>,
    /// By unit; [`NONE`] if it is gone.
    pub(crate) document: Vec<u32>,
}

/// What documents are pieces of.
#[derive(Debug)]
pub(crate) struct Family {
    /// By document; [`NONE`] for one that stands alone.
    pub(crate) parent: Vec<u32>,
    /// By parent.
    pub(crate) norms: Vec<f32>,
}

impl Searcher {
    /// All documents of a segment.
    pub fn new(base: Segment) -> Self {
        Self::of(vec![base], &[], Weights::default())
    }

    /// The documents of a segment without those `removed` (numbers outside it are ignored), and
    /// some new ones, whose numbers follow the base's.
    pub fn with_changes<'a>(
        base: Segment,
        removed: &[usize],
        added: impl IntoIterator<Item = Document<'a>>,
    ) -> Result<Self, TooLarge> {
        let delta = Segment::build(base.language(), added)?;
        let delta = Segment::open(Bytes::from(delta)).map_err(|_| TooLarge)?;
        Ok(Self::of(vec![base, delta], removed, Weights::default()))
    }

    /// The same with other weights; for measurements.
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

    fn of(segments: Vec<Segment>, removed: &[usize], weights: Weights) -> Self {
        let language = segments.first().map(Segment::language);
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
            live: first_document,
            live_units: first_unit,
            context: 0.0,
            rules: Vec::new(),
            norms: Vec::new(),
            passages: None,
            family: None,
            gone,
        };
        searcher.measure();
        searcher
    }

    /// How many documents are left.
    pub fn len(&self) -> usize {
        self.live as usize
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// How many documents differ from the base: those that are gone and those that are new.
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

    /// What the caller stored with a document; nothing if there is no such document.
    pub fn payload(&self, document: usize) -> &[u8] {
        let Ok(document) = u32::try_from(document) else {
            return &[];
        };
        let (part, local) = self.place(document);
        let part = self.parts.get(part);
        part.map_or(&[], |part| part.segment.payload(local as usize))
    }

    /// All documents that are left, with their payloads.
    pub fn payloads(&self) -> impl Iterator<Item = (usize, &[u8])> + '_ {
        let left = self.gone.iter().enumerate().filter(|(_, gone)| !**gone);
        left.map(|(document, _)| (document, self.payload(document)))
    }

    /// The part of a document, and its number there.
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

    /// The units of a document, numbered through.
    pub(crate) fn units_of(&self, document: u32) -> Range<u32> {
        let (part, local) = self.place(document);
        self.parts.get(part).map_or(0..0, |part| {
            let units = part.segment.units_of(local);
            units.start + part.first_unit..units.end + part.first_unit
        })
    }

    /// The documents that are left.
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
        let mut pieces: Vec<(u64, u32, &[u8], u32)> = Vec::new();
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
        pieces.sort_unstable();
        for pair in pieces.windows(2) {
            if let [before, behind] = pair
                && before.0 == behind.0
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
    /// The share of documents with something beside them.
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
    /// In how many of the documents and units that are left a term is.
    pub(crate) fn having(&self, postings: &Postings<'_>) -> (u32, usize) {
        let mut documents = postings.documents;
        let mut units = postings.units();
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
    (total as f64 / count.max(1) as f64).max(1.0)
}

#[expect(clippy::cast_possible_truncation, reason = "a ratio near one")]
fn norm(length: u32, average: f64, b: f32) -> f32 {
    1.0 - b + b * (f64::from(length) / average) as f32
}
