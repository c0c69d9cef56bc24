//! Splitting of identifiers into their words.
//!
//! `readHTTPHeader2` is `read`, `HTTP`, `Header`, `2`; `max_len` is `max`, `len`. A word of a
//! natural language has one part: itself.

use std::ops::Range;

/// Ranges of the parts of a word, in order; underscores belong to none.
pub fn parts(word: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &word[at..];
        let skipped = rest.len() - rest.trim_start_matches('_').len();
        let start = at + skipped;
        let part = &word[start..];
        if part.is_empty() {
            return None;
        }
        at = start + part_length(part);
        Some(start..at)
    })
}

fn part_length(part: &str) -> usize {
    // Most words: one pass over their bytes instead of a look at each letter and the one behind it.
    if part.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return part.len();
    }
    let mut letters = part.char_indices().peekable();
    let mut before = Sort::None;
    while let Some((at, letter)) = letters.next() {
        let sort = Sort::of(letter);
        let next = letters.peek().map(|(_, next)| Sort::of(*next));
        let starts_new = match (before, sort) {
            (Sort::None, _) => false,
            (_, Sort::None) | (Sort::Lower, Sort::Upper) => true,
            (Sort::Digit, other) | (other, Sort::Digit) => other != Sort::Digit,
            // The last capital of a run begins the next word: HTTPHeader.
            (Sort::Upper, Sort::Upper) => next == Some(Sort::Lower),
            _ => false,
        };
        if starts_new {
            return at;
        }
        before = sort;
    }
    part.len()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Start of the word, or an underscore.
    None,
    Upper,
    /// Lower-case letters, and letters of scripts without case.
    Lower,
    Digit,
}

impl Sort {
    fn of(letter: char) -> Self {
        match letter {
            '_' => Self::None,
            _ if letter.is_ascii_digit() => Self::Digit,
            _ if letter.is_uppercase() => Self::Upper,
            _ => Self::Lower,
        }
    }
}
