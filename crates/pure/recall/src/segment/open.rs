//! Reading of a segment in place.
//!
//! # Model
//! Opening checks the head and, of a whole index, every page. Every later read is an offset computed
//! from a number, and an offset outside the bytes reads as zero or nothing, so that a forged index
//! cannot crash a search.
//!
//! # Not here
//! Writing (`build`); documents that were removed or added since ([`crate::Searcher`]).

use super::pages::{Body, Pages, Source, sums};
use super::{
    CHECKED_FROM, DOCUMENT, DOCUMENTS, GAP, HEADER, MAGIC, PAGE, PAYLOAD_ENDS, PAYLOADS, PLACE,
    POSTING, POSTINGS, SECTIONS, SUM, TERM, TERMS, TEXTS, UNIT, UNITS, VERSION, WORD, WORDS,
};
use crate::bytes::{f32_at, u16_at, u32_at, u64_at};
use bytes::Bytes;
use dormouse_text::words::Language;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
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
    body: Body,
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
    /// Place of its payload among those of the segment, in order.
    pub(crate) place: u32,
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Postings<'a> {
    bytes: Cow<'a, [u8]>,
    /// Number of documents that have the term.
    pub(crate) documents: u32,
}

impl Postings<'_> {
    /// Number of units that have the term.
    pub(crate) fn units(&self) -> usize {
        self.bytes.len() / POSTING
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Posting> + '_ {
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

/// Fixed part of the head.
struct Header {
    bytes: [u8; HEADER],
    language: Language,
    sections: [Range<usize>; SECTIONS],
    /// Bytes of the body.
    length: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self, OpenError> {
        if bytes.get(..4) != Some(&MAGIC[..]) || bytes.len() < 8 {
            return Err(OpenError::NotAnIndex);
        }
        // Before the checksum: an index of another version may be checked in another way.
        let found = u32_at(bytes, 4);
        if found != VERSION {
            return Err(OpenError::OtherVersion { found });
        }
        let bytes: [u8; HEADER] = bytes
            .get(..HEADER)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(OpenError::NotAnIndex)?;
        let mut start = 0;
        let mut sections: [Range<usize>; SECTIONS] = Default::default();
        for (index, section) in sections.iter_mut().enumerate() {
            let end = number(&bytes, 3 + index) as usize;
            // The checksum guards against damage, not against forgery; sections lie in order.
            if end < start {
                return Err(OpenError::Damaged);
            }
            *section = start..end;
            start = end;
        }
        let language = language(bytes[CHECKED_FROM]).ok_or(OpenError::Damaged)?;
        Ok(Self {
            bytes,
            language,
            sections,
            length: start,
        })
    }

    fn pages(&self) -> usize {
        self.length.div_ceil(PAGE)
    }

    fn body_at(&self) -> usize {
        HEADER + self.pages() * SUM
    }

    /// Compares the checksum of the head.
    fn check(&self, checksums: &[u8]) -> Result<(), OpenError> {
        let mut hash = XxHash3_128::new();
        hash.write(&self.bytes[CHECKED_FROM..]);
        hash.write(checksums);
        let same = self.bytes[CHECKED_FROM - 16..CHECKED_FROM] == hash.finish_128().to_le_bytes();
        let whole = checksums.len() == self.pages() * SUM;
        if same && whole {
            Ok(())
        } else {
            Err(OpenError::Damaged)
        }
    }

    fn segment(self, body: Body) -> Result<Segment, OpenError> {
        let segment = Segment {
            body,
            language: self.language,
            documents: number(&self.bytes, 0),
            units: number(&self.bytes, 1),
            terms: number(&self.bytes, 2),
            sections: self.sections,
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
}

/// Number of the header, counted behind the language.
fn number(header: &[u8; HEADER], at: usize) -> u32 {
    u32_at(header, CHECKED_FROM + 4 + 4 * at)
}

impl Segment {
    /// Opens the bytes that [`Segment::build`] made, and checks all of them.
    pub fn open(bytes: Bytes) -> Result<Self, OpenError> {
        let header = Header::read(&bytes)?;
        if bytes.len() != header.body_at() + header.length {
            return Err(OpenError::Damaged);
        }
        let mut head = bytes;
        let body = head.split_off(header.body_at());
        let checksums = head.get(HEADER..).unwrap_or_default();
        header.check(checksums)?;
        if sums(&body) != checksums {
            return Err(OpenError::Damaged);
        }
        header.segment(Body::Whole(body))
    }

    /// Opens an index of which pages are read as they are asked for. Reads and checks the head; see
    /// [`Segment::is_damaged`] for the rest.
    pub fn open_parts(source: Arc<dyn Source>) -> Result<Self, OpenError> {
        let first = source.read(0, HEADER).ok_or(OpenError::NotAnIndex)?;
        let header = Header::read(&first)?;
        let checksums = source.read(HEADER as u64, header.pages() * SUM);
        let checksums = checksums.ok_or(OpenError::Damaged)?;
        header.check(&checksums)?;
        // A search weighs every document and unit.
        let lengths = (header.length, header.sections[UNITS].end);
        let pages = Pages::new(source, header.body_at() as u64, lengths, checksums);
        header.segment(Body::Paged(Arc::new(pages)))
    }

    /// True once a page was asked for that cannot be read or has another checksum. Answers that were
    /// made from the index since it was opened are worth nothing then.
    pub fn is_damaged(&self) -> bool {
        self.body.is_damaged()
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
    pub fn payload(&self, document: usize) -> Cow<'_, [u8]> {
        let end = |document: usize| self.number(PAYLOAD_ENDS, 4 * document) as usize;
        if document >= self.len() {
            return Cow::Borrowed(&[]);
        }
        let start = document.checked_sub(1).map_or(0, end);
        self.get(PAYLOADS, start..end(document))
    }

    pub(crate) fn units(&self) -> u32 {
        self.units
    }

    pub(crate) fn document(&self, document: u32) -> DocumentEntry {
        let start = document as usize * DOCUMENT;
        let entry = self.get(DOCUMENTS, start..start + DOCUMENT);
        let entry: &[u8] = &entry;
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
            place: u32_at(entry, PLACE),
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
        let entry = self.get(UNITS, start..start + UNIT);
        (u32_at(&entry, 0), u32_at(&entry, 4))
    }

    /// Words of some units, as numbers of terms.
    pub(crate) fn words(&self, units: Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let end_of = |unit: u32| self.number(UNITS, unit as usize * UNIT + 8) as usize;
        let start = units.start.checked_sub(1).map_or(0, end_of);
        let end = units.end.checked_sub(1).map_or(0, end_of);
        // A range out of order reads as no words.
        let words = self.get(WORDS, start * WORD..end * WORD);
        let count = words.len() / WORD;
        (0..count).map(move |at| match words.get(at * WORD..) {
            Some([a, b, c, ..]) => u32::from_le_bytes([*a, *b, *c, 0]),
            _ => GAP,
        })
    }

    /// Number of a term.
    pub(crate) fn find(&self, term: &str) -> Option<u32> {
        let place = self.first_at_least(term);
        (place < self.terms && *self.term_text(place) == *term.as_bytes()).then_some(place)
    }

    /// First term that is not before `text`.
    pub(crate) fn first_at_least(&self, text: &str) -> u32 {
        let (mut low, mut high) = (0, self.terms);
        while low < high {
            let middle = low.midpoint(high);
            if *self.term_text(middle) < *text.as_bytes() {
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
    pub(crate) fn term_text(&self, term: u32) -> Cow<'_, [u8]> {
        let (start, end) = self.ends(term, 0);
        self.get(TEXTS, start..end)
    }

    /// Postings of a term.
    pub(crate) fn postings(&self, term: u32) -> Postings<'_> {
        let (start, end) = self.ends(term, 4);
        Postings {
            bytes: self.get(POSTINGS, start * POSTING..end * POSTING),
            documents: self.number(TERMS, term as usize * TERM + 8),
        }
    }

    /// Start and end of a term's text or postings; only ends are stored.
    fn ends(&self, term: u32, offset: usize) -> (usize, usize) {
        let end_of = |term: u32| self.number(TERMS, term as usize * TERM + offset) as usize;
        (term.checked_sub(1).map_or(0, end_of), end_of(term))
    }

    /// Bytes of a section; empty if the range is out of order or leaves it.
    fn get(&self, section: usize, range: Range<usize>) -> Cow<'_, [u8]> {
        let Range { start, end } = self.sections[section].clone();
        if range.start > range.end || range.end > end - start {
            return Cow::Borrowed(&[]);
        }
        self.body.get(start + range.start..start + range.end)
    }

    /// Number of four bytes of a section; zero outside.
    fn number(&self, section: usize, at: usize) -> u32 {
        u32_at(&self.get(section, at..at.saturating_add(4)), 0)
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
