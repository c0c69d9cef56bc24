//! Reading of a segment in place.
//!
//! # Model
//! Opening checks header, checksum and sizes once. Every later read is an offset computed from a
//! number, and an offset outside the bytes reads as zero or nothing, so that a forged index cannot
//! crash a search.
//!
//! # Not here
//! Writing (`build`); documents that were removed or added since ([`crate::Searcher`]).

use super::{
    CHECKED_FROM, DOCUMENT, DOCUMENTS, HEADER, MAGIC, PAYLOAD_ENDS, PAYLOADS, POSTING, POSTINGS,
    SECTIONS, TERM, TERMS, TEXTS, UNIT, UNITS, VERSION, WORD, WORDS,
};
use crate::bytes::{f32_at, u16_at, u32_at, u64_at};
use bytes::Bytes;
use dormouse_text::words::Language;
use std::ops::Range;
use twox_hash::XxHash3_128;

/// Reason why bytes are not an index. The remedy is always to build it anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Other file, or cut off in the header.
    #[error("not an index")]
    NotAnIndex,
    /// Version that this program does not know.
    #[error("an index of version {found}; this program reads version {VERSION}")]
    OtherVersion {
        /// Version in the header.
        found: u32,
    },
    /// Wrong checksum or sizes.
    #[error("a damaged index")]
    Damaged,
}

/// Index of some documents; cheap to clone, since the bytes are shared.
#[derive(Clone, Debug)]
pub struct Segment {
    bytes: Bytes,
    language: Language,
    documents: u32,
    units: u32,
    terms: u32,
    sections: [Range<usize>; SECTIONS],
}

/// Stored facts of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DocumentEntry {
    pub(crate) first_unit: u32,
    pub(crate) name: u32,
    pub(crate) description: u32,
    pub(crate) body: u32,
    /// Key of the parent; 0 is none.
    pub(crate) parent: u64,
    pub(crate) order: u32,
    pub(crate) time: i64,
    pub(crate) prior: f32,
    pub(crate) standing: f32,
}

/// Counts of a term in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) unit: u32,
    pub(crate) body: u8,
    pub(crate) name: u8,
    pub(crate) description: u8,
}

/// Postings of a term, ordered by unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Postings<'a> {
    bytes: &'a [u8],
    /// Number of documents that have the term.
    pub(crate) documents: u32,
}

impl<'a> Postings<'a> {
    /// Number of units that have the term.
    pub(crate) fn units(&self) -> usize {
        self.bytes.len() / POSTING
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Posting> + use<'a> {
        let (records, _) = self.bytes.as_chunks::<POSTING>();
        records.iter().map(|[a, b, c, d, body, head]| Posting {
            unit: u32::from_le_bytes([*a, *b, *c, *d]),
            body: *body,
            name: head >> 4,
            description: head & 15,
        })
    }

    /// Number of postings in a range of units.
    pub(crate) fn within(&self, units: Range<u32>) -> usize {
        let (records, _) = self.bytes.as_chunks::<POSTING>();
        let unit = |record: &[u8; POSTING]| u32_at(record, 0);
        // Sorted by unit, so a removed document costs a binary search and not a scan.
        let from = records.partition_point(|record| unit(record) < units.start);
        let rest = records.get(from..).unwrap_or_default();
        rest.iter()
            .take_while(|record| unit(record) < units.end)
            .count()
    }
}

impl Segment {
    /// Opens the bytes that [`Segment::build`] made. Costs a look at the header and the checksum.
    pub fn open(bytes: Bytes) -> Result<Self, OpenError> {
        if bytes.get(..4) != Some(&MAGIC[..]) || bytes.len() < 8 {
            return Err(OpenError::NotAnIndex);
        }
        // Before the checksum: an index of another version may be checked in another way.
        let found = u32_at(&bytes, 4);
        if found != VERSION {
            return Err(OpenError::OtherVersion { found });
        }
        // A file cut off in the header has no checksum to compare.
        let checked = bytes.get(CHECKED_FROM..).ok_or(OpenError::NotAnIndex)?;
        let checksum = XxHash3_128::oneshot(checked).to_le_bytes();
        if bytes.len() < HEADER || bytes.get(CHECKED_FROM - 16..CHECKED_FROM) != Some(&checksum[..])
        {
            return Err(OpenError::Damaged);
        }
        let language = language(bytes[CHECKED_FROM]).ok_or(OpenError::Damaged)?;
        let number = |index: usize| u32_at(&bytes, CHECKED_FROM + 4 + 4 * index);
        let mut start = HEADER;
        let mut sections: [Range<usize>; SECTIONS] = Default::default();
        for (index, section) in sections.iter_mut().enumerate() {
            let end = number(3 + index) as usize;
            // The checksum guards against damage, not against forgery; every range must lie inside.
            if end < start || end > bytes.len() {
                return Err(OpenError::Damaged);
            }
            *section = start..end;
            start = end;
        }
        let segment = Self {
            language,
            documents: number(0),
            units: number(1),
            terms: number(2),
            sections,
            bytes,
        };
        let holds = |section: usize, count: u32, size: usize| {
            segment.sections[section].len() == count as usize * size
        };
        // Counts are read from the header, so they must agree with the sizes before numbers are
        // trusted.
        let whole = holds(DOCUMENTS, segment.documents, DOCUMENT)
            && holds(UNITS, segment.units, UNIT)
            && holds(TERMS, segment.terms, TERM)
            && holds(PAYLOAD_ENDS, segment.documents, 4);
        if whole {
            Ok(segment)
        } else {
            Err(OpenError::Damaged)
        }
    }

    /// Number of documents, empty ones included.
    pub fn len(&self) -> usize {
        self.documents as usize
    }

    /// True for an index without documents.
    pub fn is_empty(&self) -> bool {
        self.documents == 0
    }

    /// Language whose endings are cut.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Bytes that the caller stored with a document; empty if there is no such document.
    pub fn payload(&self, document: usize) -> &[u8] {
        let ends = self.section(PAYLOAD_ENDS);
        let start = document
            .checked_sub(1)
            .map_or(0, |before| u32_at(ends, 4 * before));
        let end = u32_at(ends, 4 * document);
        let range = start as usize..end as usize;
        self.section(PAYLOADS).get(range).unwrap_or_default()
    }

    pub(crate) fn units(&self) -> u32 {
        self.units
    }

    pub(crate) fn document(&self, document: u32) -> DocumentEntry {
        let start = document as usize * DOCUMENT;
        let entry = self
            .section(DOCUMENTS)
            .get(start..start + DOCUMENT)
            .unwrap_or_default();
        DocumentEntry {
            first_unit: u32_at(entry, 0),
            name: u16_at(entry, 4).into(),
            description: u16_at(entry, 6).into(),
            body: u32_at(entry, 8),
            parent: u64_at(entry, 12),
            order: u32_at(entry, 20),
            time: u64_at(entry, 24).cast_signed(),
            prior: f32_at(entry, 32),
            standing: f32_at(entry, 36),
        }
    }

    /// Units of a document.
    pub(crate) fn units_of(&self, document: u32) -> Range<u32> {
        let first = self.document(document).first_unit;
        let end = if document + 1 < self.documents {
            self.document(document + 1).first_unit
        } else {
            self.units
        };
        // A forged entry may point backwards; the range must not.
        first..end.clamp(first, self.units.max(first))
    }

    /// Document of a unit and the unit's length.
    pub(crate) fn unit(&self, unit: u32) -> (u32, u32) {
        let start = unit as usize * UNIT;
        let units = self.section(UNITS);
        (u32_at(units, start), u32_at(units, start + 4))
    }

    /// Words of some units, as numbers of terms.
    pub(crate) fn words(&self, units: Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let ends = self.section(UNITS);
        let end_of = |unit: u32| u32_at(ends, unit as usize * UNIT + 8) as usize;
        let start = units.start.checked_sub(1).map_or(0, end_of);
        let end = units.end.checked_sub(1).map_or(0, end_of);
        // A range out of order reads as no words.
        let words = self.section(WORDS).get(start * WORD..end * WORD);
        let (words, _) = words.unwrap_or_default().as_chunks::<WORD>();
        words
            .iter()
            .map(|[a, b, c]| u32::from_le_bytes([*a, *b, *c, 0]))
    }

    /// Number of a term.
    pub(crate) fn find(&self, term: &str) -> Option<u32> {
        let place = self.first_at_least(term);
        (place < self.terms && self.term_text(place) == term.as_bytes()).then_some(place)
    }

    /// First term that is not before `text`.
    pub(crate) fn first_at_least(&self, text: &str) -> u32 {
        let (mut low, mut high) = (0, self.terms);
        while low < high {
            let middle = low.midpoint(high);
            if self.term_text(middle) < text.as_bytes() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Number of different terms.
    pub(crate) fn terms(&self) -> u32 {
        self.terms
    }

    /// Text of a term.
    pub(crate) fn term_text(&self, term: u32) -> &[u8] {
        let (start, end) = self.ends(term, 0);
        self.section(TEXTS).get(start..end).unwrap_or_default()
    }

    /// Postings of a term.
    pub(crate) fn postings(&self, term: u32) -> Postings<'_> {
        let (start, end) = self.ends(term, 4);
        let bytes = self.section(POSTINGS).get(start * POSTING..end * POSTING);
        Postings {
            bytes: bytes.unwrap_or_default(),
            documents: u32_at(self.section(TERMS), term as usize * TERM + 8),
        }
    }

    /// Start and end of a term's text or postings; only ends are stored.
    fn ends(&self, term: u32, offset: usize) -> (usize, usize) {
        let entries = self.section(TERMS);
        let end_of = |term: u32| u32_at(entries, term as usize * TERM + offset) as usize;
        (term.checked_sub(1).map_or(0, end_of), end_of(term))
    }

    fn section(&self, section: usize) -> &[u8] {
        self.bytes
            .get(self.sections[section].clone())
            .unwrap_or_default()
    }
}

/// Byte of a language in the header. Never renumber: old indexes would be cut in another language.
pub(super) fn code(language: Language) -> u8 {
    match language {
        Language::English => 1,
        Language::German => 2,
        Language::French => 3,
        Language::Spanish => 4,
    }
}

fn language(code: u8) -> Option<Language> {
    match code {
        1 => Some(Language::English),
        2 => Some(Language::German),
        3 => Some(Language::French),
        4 => Some(Language::Spanish),
        _ => None,
    }
}
