//! Words that people use for one another, and words that say nothing about a subject.
//!
//! # Model
//! Tables in `data`, written for software work in general, in English, German and
//! Chinese. A project's own expressions are not in them.
//!
//! # Not here
//! Endings ([`crate::words`]); the worth of a word in a search (`dormouse-recall`).

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

const GROUPS: &str = include_str!("../data/synonyms.txt");
const KINDS: &str = include_str!("../data/kinds.txt");
const WEAK: &str = include_str!("../data/weak.txt");
const WEAK_HAN: &str = include_str!("../data/weak_han.txt");

/// Groups of words that stand for one another, in lower case.
pub fn groups() -> impl Iterator<Item = impl Iterator<Item = &'static str> + Clone> {
    rows(GROUPS).map(str::split_whitespace)
}

/// Kinds of things: the words for the kind, and things of it, each separated by blanks.
pub fn kinds() -> impl Iterator<Item = (&'static str, &'static str)> {
    rows(KINDS).filter_map(|row| row.split_once(" : "))
}

/// True if a folded word says nothing about the subject of a question.
pub fn is_weak(word: &str) -> bool {
    static TABLE: OnceLock<HashSet<&'static str>> = OnceLock::new();
    let table = TABLE.get_or_init(|| rows(WEAK).flat_map(str::split_whitespace).collect());
    table.contains(word)
}

/// Byte ranges of a text in Chinese words that ask rather than name.
pub fn weak_han(text: &str) -> Vec<std::ops::Range<usize>> {
    // By first character: a text has few of them, and each begins a handful of words.
    static TABLE: OnceLock<HashMap<char, Vec<&'static str>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: HashMap<char, Vec<&'static str>> = HashMap::new();
        for word in rows(WEAK_HAN).flat_map(str::split_whitespace) {
            if let Some(first) = word.chars().next() {
                table.entry(first).or_default().push(word);
            }
        }
        for words in table.values_mut() {
            words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        }
        table
    });
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let words = table.get(&letter);
        let word = words.and_then(|words| words.iter().find(|word| text[at..].starts_with(**word)));
        let length = word.map_or(letter.len_utf8(), |word| word.len());
        if word.is_some() {
            found.push(at..at + length);
        }
        at += length;
    }
    found
}

fn rows(table: &'static str) -> impl Iterator<Item = &'static str> {
    let lines = table.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_lower_case_and_every_group_has_a_second_word() {
        for mut group in groups() {
            let words: Vec<&str> = group.by_ref().collect();
            assert!(words.len() > 1, "{words:?}");
            for word in words {
                assert_eq!(word, word.to_lowercase());
            }
        }
        for (names, things) in kinds() {
            assert!(!names.is_empty() && things.split_whitespace().count() > 1);
            assert_eq!(things, things.to_lowercase());
        }
        assert_eq!(kinds().count(), rows(KINDS).count());
        assert!(is_weak("find") && !is_weak("port"));
    }

    #[test]
    fn chinese_question_words_are_found_by_the_longest_that_fits() {
        let text = "密码什么时候换";
        let found: Vec<&str> = weak_han(text).into_iter().map(|at| &text[at]).collect();
        assert_eq!(found, ["什么时候"]);
    }
}
