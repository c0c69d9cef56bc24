//! Tables of words cut into terms, as bytes that are searched where they lie.
//!
//! # Model
//! The build script runs this once for each stemmer, so that no process cuts thousands of words
//! before it answers, however large the tables grow.
//!
//! # Not here
//! The sections of a table (`layout`); reading it ([`super`]).

use super::layout::{HEAD, LONGEST, RELATION_BITS, Relation, is_wide};
use dormouse_text::synonyms::{groups, kinds};
use dormouse_text::words::{Language, Stemming, StopWords, Tokeniser};
use std::collections::BTreeMap;

/// Stand of a key: a group, and the relation to it.
type Stand = (usize, Relation);

/// Groups under construction: members are keys.
#[derive(Default)]
struct Maker {
    groups: Vec<Vec<String>>,
    by_key: BTreeMap<String, Vec<Stand>>,
}

/// Bytes of the tables in the terms of a language's stemmer.
pub(crate) fn table(language: Language) -> Vec<u8> {
    let tokeniser = Tokeniser::new(Some(language), StopWords::Keep, Stemming::On);
    let mut maker = Maker::default();
    for group in groups() {
        let at = maker.put(members(&tokeniser, group));
        maker.lead(at, (at, Relation::Synonym));
    }
    for (names, things) in kinds() {
        let names = maker.put(members(&tokeniser, names.split_whitespace()));
        let things = maker.put(members(&tokeniser, things.split_whitespace()));
        maker.lead(names, (names, Relation::Synonym));
        maker.lead(names, (things, Relation::OfKind));
        maker.lead(things, (names, Relation::KindOf));
    }
    maker.bytes()
}

/// Keys of some words: the terms of each, joined by blanks.
fn members<'a>(tokeniser: &Tokeniser, words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut members: Vec<String> = Vec::new();
    for word in words {
        let mut terms = Vec::new();
        for part in word.split('-').filter(|part| !part.is_empty()) {
            let cut = tokeniser.terms(part);
            // An identifier gives its parts and then itself: no word that people would say.
            let is_plain = cut.len() == 1 || part.chars().all(is_wide);
            if !is_plain {
                terms.clear();
                break;
            }
            terms.extend(cut);
        }
        let key = terms.join(" ");
        if (1..=LONGEST).contains(&terms.len()) && !members.contains(&key) {
            members.push(key);
        }
    }
    members
}

impl Maker {
    fn put(&mut self, members: Vec<String>) -> usize {
        self.groups.push(members);
        self.groups.len() - 1
    }

    /// Lets the members of one group lead to another.
    fn lead(&mut self, from: usize, stand: Stand) {
        for member in self.groups.get(from).into_iter().flatten() {
            let known = self.by_key.entry(member.clone()).or_default();
            if !known.contains(&stand) {
                known.push(stand);
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let numbers: BTreeMap<&str, usize> =
            self.by_key.keys().map(String::as_str).zip(0..).collect();
        let (mut key_ends, mut stand_ends, mut group_ends) = (Vec::new(), Vec::new(), Vec::new());
        let (mut stands, mut members, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (key, its) in &self.by_key {
            texts.extend_from_slice(key.as_bytes());
            key_ends.push(texts.len());
            stands.extend(
                its.iter()
                    .map(|(group, relation)| group << RELATION_BITS | *relation as usize),
            );
            stand_ends.push(stands.len());
        }
        for group in &self.groups {
            // Every member is a key: each group leads to itself or to its kind.
            members.extend(
                group
                    .iter()
                    .filter_map(|member| numbers.get(member.as_str())),
            );
            group_ends.push(members.len());
        }
        let head: [usize; HEAD] = [
            key_ends.len(),
            group_ends.len(),
            stands.len(),
            members.len(),
        ];
        let sections = [
            &head[..],
            &key_ends,
            &stand_ends,
            &group_ends,
            &stands,
            &members,
        ];
        let mut bytes = Vec::new();
        for number in sections.into_iter().flatten() {
            // A table of four gigabytes would not be built.
            bytes.extend_from_slice(&u32::try_from(*number).unwrap_or(u32::MAX).to_le_bytes());
        }
        bytes.extend_from_slice(&texts);
        bytes
    }
}
