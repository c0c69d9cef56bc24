//! Writing of a segment.
//!
//! # Model
//! Documents are added one by one; terms are numbered by first use and renumbered in sorted order
//! at the end. Everything is counted before it is written, and too much text is an error, not a
//! broken index.
//!
//! # Not here
//! Reading (`open`); the analysis of text (`analyse`).

use super::pages::sums;
use super::{CHECKED_FROM, DOCUMENT, GAP, HEADER, MAGIC, PLACE, SECTIONS, Segment, VERSION};
use crate::analyse::{Analyser, Sort, Term, UnitEvent};
use crate::bytes::u32_at;
use crate::cues;
use crate::document::Document;
use dormouse_text::words::{Language, Stems};
use std::collections::HashMap;
use twox_hash::XxHash3_128;

/// More text than the format has room for: four gigabytes, or sixteen million different words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too much text for one index")]
pub struct TooLarge;

impl Segment {
    /// Bytes of an index of these documents, numbered in the order given.
    pub fn build<'a>(
        language: Language,
        documents: impl IntoIterator<Item = Document<'a>>,
    ) -> Result<Vec<u8>, TooLarge> {
        let mut builder = Builder::new(language);
        let analyser = Analyser::new(language);
        let mut stems = Stems::default();
        for document in documents {
            builder.add(&document, &analyser, &mut stems)?;
        }
        builder.finish()
    }
}

#[derive(Clone, Copy, Default)]
struct Count {
    unit: u32,
    body: u8,
    name: u8,
    description: u8,
}

#[derive(Clone, Copy)]
enum Field {
    Name,
    Description,
    Body,
}

struct Builder {
    language: Language,
    numbers: HashMap<String, u32>,
    postings: Vec<Vec<Count>>,
    documents: Vec<u8>,
    document_count: u32,
    units: Vec<Unit>,
    words: Vec<u32>,
    payload_ends: Vec<u8>,
    payloads: Vec<u8>,
}

struct Unit {
    document: u32,
    length: u32,
    words_end: u32,
}

impl Builder {
    fn new(language: Language) -> Self {
        Self {
            language,
            numbers: HashMap::new(),
            postings: Vec::new(),
            documents: Vec::new(),
            document_count: 0,
            units: Vec::new(),
            words: Vec::new(),
            payload_ends: Vec::new(),
            payloads: Vec::new(),
        }
    }

    fn add(
        &mut self,
        document: &Document<'_>,
        analyser: &Analyser,
        stems: &mut Stems,
    ) -> Result<(), TooLarge> {
        let first_unit = fits(self.units.len())?;
        self.open_unit()?;
        let mut lengths = [0_u32; 3];
        // Collected, because a closure of the analyser cannot return early.
        let mut full = false;
        for (field, text) in [
            (Field::Name, document.name),
            (Field::Description, document.description),
        ] {
            analyser.each(text, stems, |term| {
                full |= self.count(term, field, 1).is_err();
                lengths[field as usize] += u32::from(term.sort != Sort::Form);
            });
            // Otherwise the last word of a title and the first of the body would stand together.
            if !text.is_empty() {
                self.words.push(GAP);
            }
        }
        analyser.units(document.body, stems, |event| match event {
            UnitEvent::Next => full |= self.open_unit().is_err(),
            UnitEvent::Term(term, count) => {
                full |= self.count(term, Field::Body, count).is_err();
                // The form of a word is its second term; counted too, lengths would double.
                let length = if term.sort == Sort::Form {
                    0
                } else {
                    u32::from(count)
                };
                lengths[Field::Body as usize] += length;
                if let Some(unit) = self.units.last_mut() {
                    unit.length += length;
                }
            }
        });
        if full {
            return Err(TooLarge);
        }
        self.close_unit()?;
        self.entry(document, first_unit, lengths);
        self.payloads.extend_from_slice(document.payload);
        let end = fits(self.payloads.len())?;
        self.payload_ends.extend_from_slice(&end.to_le_bytes());
        self.document_count = self.document_count.checked_add(1).ok_or(TooLarge)?;
        Ok(())
    }

    fn open_unit(&mut self) -> Result<(), TooLarge> {
        self.close_unit()?;
        fits(self.units.len())?;
        self.units.push(Unit {
            document: self.document_count,
            length: 0,
            words_end: 0,
        });
        Ok(())
    }

    fn close_unit(&mut self) -> Result<(), TooLarge> {
        let end = fits(self.words.len())?;
        if let Some(unit) = self.units.last_mut() {
            unit.words_end = end;
        }
        Ok(())
    }

    fn count(&mut self, term: Term<'_>, field: Field, count: u8) -> Result<(), TooLarge> {
        let number = self.number(term.text)?;
        if term.sort == Sort::Stem {
            self.words.push(number);
        }
        let unit = fits(self.units.len().saturating_sub(1))?;
        let Some(list) = self.postings.get_mut(number as usize) else {
            return Err(TooLarge);
        };
        if list.last().is_none_or(|last| last.unit != unit) {
            list.push(Count {
                unit,
                ..Count::default()
            });
        }
        if let Some(last) = list.last_mut() {
            match field {
                // Four bits: more repetitions of a word in a title change nothing.
                Field::Name => last.name = (last.name + 1).min(15),
                Field::Description => last.description = (last.description + 1).min(15),
                Field::Body => last.body = last.body.saturating_add(count),
            }
        }
        Ok(())
    }

    /// Number of a term, in the order of first use.
    fn number(&mut self, term: &str) -> Result<u32, TooLarge> {
        if let Some(number) = self.numbers.get(term) {
            return Ok(*number);
        }
        let number = fits(self.postings.len())?;
        // The largest number is taken by the gap.
        if number >= GAP {
            return Err(TooLarge);
        }
        self.numbers.insert(term.to_owned(), number);
        self.postings.push(Vec::new());
        Ok(number)
    }

    fn entry(&mut self, document: &Document<'_>, first_unit: u32, lengths: [u32; 3]) {
        let out = &mut self.documents;
        // Titles of more than 65,535 words differ in nothing that ranking could use.
        let short = |length: u32| u16::try_from(length).unwrap_or(u16::MAX);
        out.extend_from_slice(&first_unit.to_le_bytes());
        out.extend_from_slice(&short(lengths[0]).to_le_bytes());
        out.extend_from_slice(&short(lengths[1]).to_le_bytes());
        out.extend_from_slice(&lengths[2].to_le_bytes());
        out.extend_from_slice(&document.parent.map_or(0, parent_key).to_le_bytes());
        out.extend_from_slice(&document.order.to_le_bytes());
        out.extend_from_slice(&document.time.to_le_bytes());
        // A caller's prior outside the range would drown every query.
        out.extend_from_slice(&document.prior.clamp(0.0, 1.0).to_le_bytes());
        out.extend_from_slice(&cues::standing(document.body).to_le_bytes());
        // Room for the place of the payload, which is known at the end.
        out.extend_from_slice(&[0; DOCUMENT - PLACE]);
    }

    /// Notes for each document the place of its payload among all, so that a search orders equal
    /// hits without reading payloads. Equal payloads have one place.
    fn place_payloads(&mut self) -> Result<(), TooLarge> {
        let end = |document: usize| u32_at(&self.payload_ends, 4 * document) as usize;
        let payload = |document: usize| {
            let start = document.checked_sub(1).map_or(0, end);
            self.payloads.get(start..end(document)).unwrap_or_default()
        };
        let mut order: Vec<usize> = (0..self.document_count as usize).collect();
        order.sort_unstable_by_key(|document| payload(*document));
        let mut places = vec![0; order.len()];
        let mut place = 0;
        for pair in order.windows(2) {
            place += usize::from(payload(pair[0]) != payload(pair[1]));
            places[pair[1]] = place;
        }
        for (entry, place) in self.documents.chunks_exact_mut(DOCUMENT).zip(places) {
            entry[PLACE..].copy_from_slice(&fits(place)?.to_le_bytes());
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u8>, TooLarge> {
        self.place_payloads()?;
        let mut terms: Vec<(&str, u32)> = self
            .numbers
            .iter()
            .map(|(text, number)| (text.as_str(), *number))
            .collect();
        // Sorted for binary search, and so that equal documents give equal bytes.
        terms.sort_unstable();
        let mut places = vec![0_u32; terms.len()];
        let (mut entries, mut texts, mut postings) = (Vec::new(), Vec::new(), Vec::new());
        for (place, (text, number)) in terms.iter().enumerate() {
            let list = self.postings.get(*number as usize).ok_or(TooLarge)?;
            *places.get_mut(*number as usize).ok_or(TooLarge)? = fits(place)?;
            texts.extend_from_slice(text.as_bytes());
            let mut having = 0_u32;
            // No document has this number: `document_count` is checked.
            let mut last = u32::MAX;
            for count in list {
                postings.extend_from_slice(&count.unit.to_le_bytes());
                postings.push(count.body);
                postings.push(count.name << 4 | count.description);
                let document = self
                    .units
                    .get(count.unit as usize)
                    .map(|unit| unit.document);
                let document = document.ok_or(TooLarge)?;
                having += u32::from(document != last);
                last = document;
            }
            entries.extend_from_slice(&fits(texts.len())?.to_le_bytes());
            entries.extend_from_slice(&fits(postings.len() / super::POSTING)?.to_le_bytes());
            entries.extend_from_slice(&having.to_le_bytes());
        }
        let mut words = Vec::with_capacity(self.words.len() * super::WORD);
        for word in &self.words {
            // The gap is no term and maps to itself.
            let place = places.get(*word as usize).copied().unwrap_or(GAP);
            words.extend_from_slice(&place.to_le_bytes()[..super::WORD]);
        }
        let mut units = Vec::with_capacity(self.units.len() * super::UNIT);
        for unit in &self.units {
            for value in [unit.document, unit.length, unit.words_end] {
                units.extend_from_slice(&value.to_le_bytes());
            }
        }
        let counts = [
            self.document_count,
            fits(self.units.len())?,
            fits(terms.len())?,
        ];
        let sections: [&[u8]; SECTIONS] = [
            &self.documents,
            &units,
            &entries,
            &texts,
            &postings,
            &words,
            &self.payload_ends,
            &self.payloads,
        ];
        assemble(self.language, counts, &sections)
    }
}

fn assemble(
    language: Language,
    counts: [u32; 3],
    sections: &[&[u8]; SECTIONS],
) -> Result<Vec<u8>, TooLarge> {
    let length: usize = sections.iter().map(|section| section.len()).sum();
    let mut body = Vec::with_capacity(length);
    let mut ends = Vec::with_capacity(SECTIONS);
    for section in sections {
        body.extend_from_slice(section);
        ends.push(fits(body.len())?);
    }
    let sums = sums(&body);
    let mut out = Vec::with_capacity(HEADER + sums.len() + body.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    // Room for the checksum, which is computed over the rest of the head.
    out.extend_from_slice(&[0; 16]);
    out.extend_from_slice(&[super::open::code(language), 0, 0, 0]);
    for number in counts.into_iter().chain(ends) {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&sums);
    let checksum = XxHash3_128::oneshot(&out[CHECKED_FROM..]);
    out[CHECKED_FROM - 16..CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
    out.extend_from_slice(&body);
    Ok(out)
}

/// Parent as a number; never 0, which means none.
fn parent_key(parent: &str) -> u64 {
    let [low @ .., _, _, _, _, _, _, _, _] = XxHash3_128::oneshot(parent.as_bytes()).to_le_bytes();
    u64::from_le_bytes(low).max(1)
}

fn fits(number: usize) -> Result<u32, TooLarge> {
    u32::try_from(number).map_err(|_| TooLarge)
}
