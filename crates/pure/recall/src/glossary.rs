//! General tables of words, in the terms of a collection.
//!
//! # Model
//! A group is words, or phrases, that people use for one another; a kind is a group with things of it
//! ("editor": Neovim). Members are cut into terms by the collection's own stemmer, so that a phrase
//! and a Chinese word of three characters are several terms in a row. A key is such a row, joined by
//! blanks, and leads to the groups that may stand for it.
//!
//! # Not here
//! The tables (`dormouse_text::synonyms`); the use of a group in a search (`rank::plan`).

use dormouse_text::synonyms::{groups, kinds};
use dormouse_text::words::{Language, Stemming, StopWords, Tokeniser};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Evidence that a synonym, a thing of the kind asked for, and the kind of a thing are meant.
const SYNONYM: f32 = 0.8;
const OF_KIND: f32 = 0.7;
const KIND_OF: f32 = 0.55;
/// Terms of the longest phrase.
pub(crate) const LONGEST: usize = 3;
/// Least letters of a half of a compound: shorter ones are endings and prepositions.
const HALF: usize = 4;
/// Letters that German puts between the halves.
const JOINTS: [&str; 5] = ["", "s", "n", "en", "es"];

/// Groups of one language's terms.
pub(crate) struct Glossary {
    /// Members of each group: one term each, or several in a row.
    groups: Vec<Vec<Vec<String>>>,
    by_key: HashMap<String, Vec<Stand>>,
    tokeniser: Tokeniser,
}

/// Group that may stand for a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stand {
    group: usize,
    /// Evidence that the key is meant by a member, from 0 to 1.
    pub(crate) cover: f32,
    /// False for a relation between a kind and its things.
    pub(crate) same: bool,
}

impl std::fmt::Debug for Glossary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Glossary")
            .field("groups", &self.groups.len())
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
            let tokeniser = Tokeniser::new(Some(language), StopWords::Keep, Stemming::On);
            Self::new(tokeniser)
        })
    }

    fn new(tokeniser: Tokeniser) -> Self {
        let mut glossary = Self {
            groups: Vec::new(),
            by_key: HashMap::new(),
            tokeniser,
        };
        for group in groups() {
            let members = glossary.members(group);
            let at = glossary.put(members);
            glossary.lead(at, at, SYNONYM, true);
        }
        for (names, things) in kinds() {
            let names = glossary.members(names.split_whitespace());
            let things = glossary.members(things.split_whitespace());
            let (names, things) = (glossary.put(names), glossary.put(things));
            glossary.lead(names, names, SYNONYM, true);
            glossary.lead(names, things, OF_KIND, false);
            glossary.lead(things, names, KIND_OF, false);
        }
        glossary
    }

    fn members<'a>(&self, words: impl Iterator<Item = &'a str>) -> Vec<Vec<String>> {
        let mut members: Vec<Vec<String>> = Vec::new();
        for word in words {
            let mut terms = Vec::new();
            for part in word.split('-').filter(|part| !part.is_empty()) {
                let cut = self.tokeniser.terms(part);
                // An identifier gives its parts and then itself: no word that people would say.
                let is_plain = cut.len() == 1 || part.chars().all(super::analyse::is_wide);
                if !is_plain {
                    terms.clear();
                    break;
                }
                terms.extend(cut);
            }
            if (1..=LONGEST).contains(&terms.len()) && !members.contains(&terms) {
                members.push(terms);
            }
        }
        members
    }

    fn put(&mut self, members: Vec<Vec<String>>) -> usize {
        self.groups.push(members);
        self.groups.len() - 1
    }

    /// Lets the members of one group lead to another.
    fn lead(&mut self, from: usize, to: usize, cover: f32, same: bool) {
        let stand = Stand {
            group: to,
            cover,
            same,
        };
        for member in &self.groups[from] {
            let known = self.by_key.entry(member.join(" ")).or_default();
            if !known.contains(&stand) {
                known.push(stand);
            }
        }
    }

    /// Groups that may stand for a term, or for several in a row joined by blanks.
    pub(crate) fn stands(&self, key: &str) -> &[Stand] {
        self.by_key.get(key).map_or(&[], Vec::as_slice)
    }

    /// Members of a group.
    pub(crate) fn group(&self, stand: Stand) -> &[Vec<String>] {
        &self.groups[stand.group]
    }

    /// True for a word that people use in any project.
    pub(crate) fn is_general(&self, term: &str) -> bool {
        self.by_key.contains_key(term)
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
        let stands = glossary.stands(from).iter();
        stands
            .flat_map(|stand| glossary.group(*stand))
            .any(|member| member == to)
    }

    #[test]
    fn phrases_chinese_words_and_kinds_are_keys_and_members() {
        assert!(leads("pr", &["pull", "request"]));
        assert!(leads("pull request", &["pr"]));
        assert!(leads("db", &["数据", "据库"]) && leads("数据 据库", &["db"]));
        assert!(leads("editor", &["neovim"]) && leads("neovim", &["editor"]));
        assert!(!leads("neovim", &["emac"]), "competitors are no synonyms");
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
