//! Words, numbers and marks with their places.

use std::ops::Range;

/// A word, a number or a single other character.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) range: Range<usize>,
    /// As written.
    pub(super) text: &'a str,
    /// No blank stands before it.
    pub(super) glued: bool,
    sort: Sort,
}

#[derive(Clone, Debug)]
enum Sort {
    /// In lower case.
    Word(String),
    Number(u32),
    Mark(char),
}

impl Token<'_> {
    pub(super) fn word(&self) -> Option<&str> {
        match &self.sort {
            Sort::Word(lower) => Some(lower),
            _ => None,
        }
    }

    /// The value, if it is written with so many digits.
    pub(super) fn number(&self, digits: Range<usize>) -> Option<u32> {
        match &self.sort {
            Sort::Number(value) => digits.contains(&self.text.len()).then_some(*value),
            _ => None,
        }
    }

    pub(super) fn is_mark(&self, mark: char) -> bool {
        matches!(&self.sort, Sort::Mark(found) if *found == mark)
    }

    pub(super) fn is_capitalised(&self) -> bool {
        self.text.starts_with(char::is_uppercase)
    }
}

pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut glued = false;
    while let Some(first) = text[at..].chars().next() {
        let start = at;
        let length = |inside: fn(char) -> bool| {
            text[start..]
                .find(|found| !inside(found))
                .unwrap_or(text.len() - start)
        };
        let sort = if first.is_whitespace() {
            at += first.len_utf8();
            glued = false;
            continue;
        } else if first.is_ascii_digit() {
            at += length(|found| found.is_ascii_digit());
            // Ten digits and more are no part of a date.
            Sort::Number(text[start..at].parse().unwrap_or(u32::MAX))
        } else if is_cjk(first) {
            at += first.len_utf8();
            Sort::Word(first.to_string())
        } else if first.is_alphabetic() {
            at += length(|found| found.is_alphabetic() && !is_cjk(found));
            // Longer words than any we know need no copy.
            let word = &text[start..at];
            Sort::Word(if word.len() <= 24 {
                word.to_lowercase()
            } else {
                String::new()
            })
        } else {
            at += first.len_utf8();
            Sort::Mark(first)
        };
        tokens.push(Token {
            range: start..at,
            text: &text[start..at],
            glued,
            sort,
        });
        glued = true;
    }
    tokens
}

fn is_cjk(found: char) -> bool {
    matches!(u32::from(found), 0x4E00..=0x9FFF)
}
