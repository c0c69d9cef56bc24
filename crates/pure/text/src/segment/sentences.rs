//! Detection of sentence ends.
//!
//! Unicode's sentence rules (UAX #29) know the marks of all scripts and closing quotes, but neither
//! abbreviations nor file names nor text without capitals. Their boundaries are therefore
//! candidates: one after a dot is checked, one at a wrapped line is dropped, and a dot before a
//! lower-case word, which Unicode never treats as an end, is added when nothing contradicts it.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Abbreviations, whose dot is part of the word. Case-insensitive, without the trailing dot.
#[rustfmt::skip]
const ABBREVIATIONS: &[&str] = &[
    // English
    "e.g", "i.e", "etc", "vs", "cf", "al", "approx", "resp", "fig", "figs", "eq", "sec", "no", "nos", "vol", "pp",
    "ca", "mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr", "inc", "ltd", "co", "corp", "dept", "est", "min",
    "max", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "mon", "tue",
    "wed", "thu", "fri", "sat", "a.m", "p.m", "u.s", "ph.d", "incl", "excl", "misc", "dir", "ver", "rev",
    // German
    "z.b", "d.h", "u.a", "o.ä", "usw", "bzw", "ggf", "evtl", "vgl", "nr", "abs", "art", "bsp", "inkl", "exkl",
    "ca", "sog", "u.u", "i.d.r", "z.t", "mio", "mrd", "str", "tel",
    // French, Spanish
    "p.ex", "env", "av", "mme", "p.ej", "sra", "ud", "uds", "pág", "núm",
];

/// Splits a run of lines into sentences; the ranges cover all of it.
pub(super) fn split(text: &str) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut end = 0;
    for piece in text.split_sentence_bounds() {
        let from = end;
        end += piece.len();
        for low in low_starts(piece) {
            sentences.push(start..from + low);
            start = from + low;
        }
        if end < text.len() && is_end(&text[start..end], &text[end..]) {
            sentences.push(start..end);
            start = end;
        }
    }
    if start < text.len() {
        sentences.push(start..text.len());
    }
    sentences
}

/// True if a boundary proposed by Unicode is a sentence end. `before` includes the blanks.
fn is_end(before: &str, after: &str) -> bool {
    let said = before.trim_end();
    let closed = said.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»', '*', '_', '`']);
    let Some(mark) = closed.chars().next_back() else {
        return false;
    };
    // The number of a list item belongs to the words after it. Eight bytes hold a number with
    // brackets and markup.
    if said.len() <= 8 && !said.chars().any(char::is_alphabetic) {
        return false;
    }
    let spaced = said.len() < before.len();
    match mark {
        '.' => spaced && !is_abbreviation(closed, after) && !is_ordinal(closed, after),
        // `a?b:c`, `Vec::new()!` and URLs contain these marks without a blank after them.
        '!' | '?' => spaced,
        // An ellipsis before a lower-case word is a pause. The marks below belong to scripts that
        // put no blank after them.
        '…' => spaced && !after.starts_with(char::is_lowercase),
        _ => is_terminator(mark),
    }
}

fn is_terminator(mark: char) -> bool {
    // Full-width and half-width marks, danda, Arabic, Armenian, Ethiopic, Khmer, Myanmar.
    matches!(
        mark,
        '。' | '！'
            | '？'
            | '．'
            | '｡'
            | '‼'
            | '⁇'
            | '⁈'
            | '⁉'
            | '।'
            | '॥'
            | '؟'
            | '۔'
            | '։'
            | '።'
            | '។'
            | '၊'
            | '။'
    )
}

/// Positions after a dot at which a sentence begins in lower case.
fn low_starts(piece: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    for (at, _) in piece.match_indices(". ") {
        let after = piece[at + 1..].trim_start();
        let begin = piece.len() - after.len();
        let word = last_word(&piece[..at]);
        // A single letter or a number before the dot is an initial or an ordinal.
        let plain = word.chars().count() > 1 && word.chars().all(char::is_alphabetic);
        if plain
            && after.starts_with(char::is_lowercase)
            && !is_abbreviation(&piece[..=at], after)
            && starts.last() != Some(&begin)
        {
            starts.push(begin);
        }
    }
    starts
}

fn is_abbreviation(closed: &str, after: &str) -> bool {
    let word = last_word(closed.trim_end_matches('.'));
    let lower = word.to_lowercase();
    if ABBREVIATIONS.contains(&lower.as_str()) {
        // Some abbreviations are words as well ("no", "min"); for those a capital after the dot
        // means a sentence end.
        let doubles_as_word = matches!(
            lower.as_str(),
            "no" | "art" | "sat" | "min" | "max" | "co" | "etc" | "usw"
        );
        return !(doubles_as_word && after.starts_with(char::is_uppercase));
    }
    // Initial: "J. Smith".
    let mut letters = word.chars();
    matches!((letters.next(), letters.next()), (Some(letter), None) if letter.is_uppercase() && letter != 'I')
        && after.starts_with(char::is_uppercase)
}

/// True if the dot marks a German ordinal: "12. März", "am 3. Tag".
fn is_ordinal(closed: &str, after: &str) -> bool {
    let word = last_word(closed.trim_end_matches('.'));
    (1..=2).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_digit())
        && (after.starts_with(char::is_lowercase) || crate::dates::starts_with_month(after))
}

fn last_word(text: &str) -> &str {
    text.rsplit(|found: char| found.is_whitespace() || matches!(found, '(' | '[' | '"' | '/' | ','))
        .next()
        .unwrap_or_default()
}
