//! General tables of words, in the terms of a collection.
//!
//! # Model
//! A group is words, or phrases, that people use for one another; a kind is a group with things of it
//! ("editor": Neovim). Members are cut into terms by the collection's own stemmer, so that a phrase
//! and a Chinese word of three characters are several terms in a row. A key is such a row, joined by
//! blanks, and leads to the groups that may stand for it.
//!
//! The build script cuts the tables once (`make`); a process searches them where they lie.
//!
//! # Not here
//! The tables (`dormouse_text::synonyms`); the use of a group in a search (`rank::plan`).

mod layout;
#[cfg(test)]
mod make;

pub(crate) use layout::{LONGEST, is_wide};

use crate::bytes::u32_at;
use dormouse_text::words::{Language, Stemming, StopWords, Tokeniser};
use layout::{HEAD, RELATION_BITS, Relation};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::OnceLock;

/// Evidence that a synonym, a thing of the kind asked for, and the kind of a thing are meant.
const SYNONYM: f32 = 0.8;
const OF_KIND: f32 = 0.7;
const KIND_OF: f32 = 0.55;
/// Least letters of a half of a compound: shorter ones are endings and prepositions.
const HALF: usize = 4;
/// Letters that German puts between the halves.
const JOINTS: [&str; 5] = ["", "s", "n", "en", "es"];

/// Groups of one language's terms, as the build script wrote them.
pub(crate) struct Glossary {
    bytes: &'static [u8],
    sections: [Range<usize>; 6],
    tokeniser: Tokeniser,
}

/// Places of the sections of a table; see `layout`.
const KEY_ENDS: usize = 0;
const STAND_ENDS: usize = 1;
const GROUP_ENDS: usize = 2;
const STANDS: usize = 3;
const MEMBERS: usize = 4;
const TEXTS: usize = 5;

/// Group that may stand for a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stand {
    group: usize,
    /// Evidence that the key is meant by a member, from 0 to 1.
    pub(crate) cover: f32,
    /// False for a relation between a kind and its things.
    pub(crate) same: bool,
}

impl Stand {
    fn read(number: usize) -> Self {
        let is = |relation: Relation| number & ((1 << RELATION_BITS) - 1) == relation as usize;
        let cover = match () {
            () if is(Relation::OfKind) => OF_KIND,
            () if is(Relation::KindOf) => KIND_OF,
            () => SYNONYM,
        };
        Self {
            group: number >> RELATION_BITS,
            cover,
            same: is(Relation::Synonym),
        }
    }
}

impl std::fmt::Debug for Glossary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Glossary")
            .field("keys", &self.count(KEY_ENDS))
            .finish_non_exhaustive()
    }
}

impl Glossary {
    /// The tables in the terms of a language's stemmer.
    pub(crate) fn of(language: Language) -> &'static Self {
        static TABLES: [OnceLock<Glossary>; 4] = [const { OnceLock::new() }; 4];
        // One for each language of the stemmer; the last serves any that may be added.
        let at = (language as usize).min(TABLES.len() - 1);
        TABLES[at].get_or_init(|| {
            let bytes: &[u8] = match language {
                Language::English => include_bytes!(concat!(env!("OUT_DIR"), "/english.words")),
                Language::German => include_bytes!(concat!(env!("OUT_DIR"), "/german.words")),
                Language::French => include_bytes!(concat!(env!("OUT_DIR"), "/french.words")),
                Language::Spanish => include_bytes!(concat!(env!("OUT_DIR"), "/spanish.words")),
            };
            Self::new(bytes, language)
        })
    }

    /// Looks at the head alone: the rest is read where a search needs it.
    fn new(bytes: &'static [u8], language: Language) -> Self {
        let [keys, groups, stands, members] = [0, 1, 2, 3].map(|at| u32_at(bytes, 4 * at) as usize);
        let mut start = 4 * HEAD;
        let mut next = |numbers: usize| {
            let section = start..start + 4 * numbers;
            start = section.end;
            section
        };
        let [key_ends, stand_ends, group_ends, stands, members] =
            [keys, keys, groups, stands, members].map(&mut next);
        Self {
            bytes,
            sections: [
                key_ends,
                stand_ends,
                group_ends,
                stands,
                members,
                start..bytes.len(),
            ],
            tokeniser: Tokeniser::new(Some(language), StopWords::Keep, Stemming::On),
        }
    }

    fn section(&self, section: usize) -> &'static [u8] {
        let range = self.sections[section].clone();
        self.bytes.get(range).unwrap_or_default()
    }

    fn count(&self, section: usize) -> usize {
        self.section(section).len() / 4
    }

    fn number(&self, section: usize, at: usize) -> usize {
        u32_at(self.section(section), 4 * at) as usize
    }

    /// Range that ends where a section says, and begins where the one before ends.
    fn range(&self, section: usize, at: usize) -> Range<usize> {
        let before = at.checked_sub(1);
        before.map_or(0, |before| self.number(section, before))..self.number(section, at)
    }

    fn key(&self, number: usize) -> &'static str {
        let text = self.section(TEXTS).get(self.range(KEY_ENDS, number));
        std::str::from_utf8(text.unwrap_or_default()).unwrap_or_default()
    }

    fn find(&self, key: &str) -> Option<usize> {
        let (mut low, mut high) = (0, self.count(KEY_ENDS));
        while low < high {
            let middle = low.midpoint(high);
            match self.key(middle).cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Groups that may stand for a term, or for several in a row joined by blanks.
    pub(crate) fn stands(&self, key: &str) -> impl Iterator<Item = Stand> + use<'_> {
        let range = self.find(key).map(|key| self.range(STAND_ENDS, key));
        let stands = range.unwrap_or_default();
        stands.map(|at| Stand::read(self.number(STANDS, at)))
    }

    /// Members of a group: the terms of each.
    pub(crate) fn group(&self, stand: Stand) -> impl Iterator<Item = Vec<&'static str>> + use<'_> {
        let members = self.range(GROUP_ENDS, stand.group);
        members.map(|at| self.key(self.number(MEMBERS, at)).split(' ').collect())
    }

    /// True for a word that people use in any project.
    pub(crate) fn is_general(&self, term: &str) -> bool {
        self.find(term).is_some()
    }

    /// Two words of the tables that a compound is made of, as terms.
    pub(crate) fn halves(&self, word: &str) -> Option<[String; 2]> {
        let known = |part: &str| {
            let mut terms = self.tokeniser.terms(part);
            let term = (terms.len() == 1).then(|| terms.remove(0))?;
            self.is_general(&term).then_some(term)
        };
        let ends = word.char_indices().map(|(at, _)| at);
        // The longest first half: "datenbank" rather than "daten".
        for cut in ends.rev() {
            let (first, second) = word.split_at(cut);
            if first.chars().count() < HALF || second.chars().count() < HALF {
                continue;
            }
            let Some(second) = known(second) else {
                continue;
            };
            for joint in JOINTS {
                let bare = first.strip_suffix(joint).unwrap_or_default();
                if bare.chars().count() >= HALF
                    && let Some(first) = known(bare)
                {
                    return Some([first, second]);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(from: &str, to: &[&str]) -> bool {
        let glossary = Glossary::of(Language::English);
        let mut members = glossary
            .stands(from)
            .flat_map(|stand| glossary.group(stand));
        members.any(|member| member == to)
    }

    #[test]
    fn phrases_chinese_words_and_kinds_are_keys_and_members() {
        assert!(leads("pr", &["pull", "request"]));
        assert!(leads("pull request", &["pr"]));
        assert!(leads("db", &["数据", "据库"]) && leads("数据 据库", &["db"]));
        assert!(leads("editor", &["neovim"]) && leads("neovim", &["editor"]));
        assert!(!leads("neovim", &["emac"]), "competitors are no synonyms");
    }

    /// All stands of a table, each key with its groups in full.
    fn told(glossary: &Glossary) -> Vec<String> {
        let keys = (0..glossary.count(KEY_ENDS)).map(|number| glossary.key(number));
        let lines = keys.flat_map(|key| {
            let stands = glossary.stands(key);
            stands.map(move |stand| {
                let members: Vec<String> = glossary
                    .group(stand)
                    .map(|member| member.join(" "))
                    .collect();
                format!("{key} {} {} {members:?}", stand.cover, stand.same)
            })
        });
        lines.collect()
    }

    #[test]
    fn every_word_of_the_tables_is_found_with_its_group() {
        for language in [
            Language::English,
            Language::German,
            Language::French,
            Language::Spanish,
        ] {
            let glossary = Glossary::of(language);
            // Keys are sorted and each is found by its own text.
            let keys: Vec<&str> = (0..glossary.count(KEY_ENDS))
                .map(|at| glossary.key(at))
                .collect();
            assert!(keys.is_sorted() && keys.len() > 1_000, "{language:?}");
            for (number, key) in keys.iter().enumerate() {
                assert_eq!(glossary.find(key), Some(number));
                assert!(glossary.stands(key).next().is_some(), "{key}");
                assert_eq!(glossary.find(&format!("{key}\u{1}")), None);
            }
            for group in dormouse_text::synonyms::groups() {
                let plain = group.filter(|word| word.chars().all(char::is_alphabetic));
                let terms: Vec<String> = plain
                    .filter_map(|word| {
                        let mut terms = glossary.tokeniser.terms(word);
                        (terms.len() == 1).then(|| terms.remove(0))
                    })
                    .collect();
                for pair in terms.windows(2) {
                    let mut members = glossary.stands(&pair[0]).flat_map(|at| glossary.group(at));
                    assert!(members.any(|member| member == [&pair[1]]), "{pair:?}");
                }
            }
        }
    }

    #[test]
    fn the_table_of_the_build_is_the_one_that_this_code_makes() {
        let made: &'static [u8] = Vec::leak(make::table(Language::English));
        let made = Glossary::new(made, Language::English);
        assert_eq!(told(&made), told(Glossary::of(Language::English)));
    }

    #[test]
    fn compounds_are_cut_into_words_of_the_tables() {
        let glossary = Glossary::of(Language::German);
        let halves = glossary.halves("datenbankpasswort");
        assert_eq!(halves.unwrap()[1], glossary.tokeniser.terms("passwort")[0]);
        assert!(glossary.halves("sicherheitsprüfung").is_some());
        assert_eq!(glossary.halves("quatschkopf"), None);
    }
}
