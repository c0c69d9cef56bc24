//! Lexer for dates: words, numbers and marks with their ranges.

use std::ops::Range;

/// Word, number or single other character.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) range: Range<usize>,
    /// Text as written, for case-sensitive rules.
    pub(super) text: &'a str,
    /// True if no blank precedes it.
    pub(super) glued: bool,
    sort: Sort,
}

#[derive(Clone, Debug)]
enum Sort {
    /// Word in lower case.
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

    /// Value, if the number of digits lies in the range.
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
            // Ten digits and more are no part of a date; the value is never used.
            Sort::Number(text[start..at].parse().unwrap_or(u32::MAX))
        // One character each: these scripts put no blanks between number and unit.
        } else if is_cjk(first) {
            at += first.len_utf8();
            Sort::Word(first.to_string())
        } else if first.is_alphabetic() {
            at += length(|found| found.is_alphabetic() && !is_cjk(found));
            // Longer than any known word (24 bytes): not worth a copy.
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
