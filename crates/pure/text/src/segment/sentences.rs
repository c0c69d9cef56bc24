//! Where a sentence ends.
//!
//! Unicode's sentence rules (UAX #29) know the marks of all scripts and closing quotes; they do not
//! know abbreviations, file names or people who do not capitalise. So their boundaries are
//! candidates: one that follows a dot is checked, one at a wrapped line is dropped, and a dot
//! before a lower-case word, which Unicode never takes for an end, is added when nothing speaks
//! against it.

use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Words whose dot is part of them. Compared without case; a trailing dot is implied.
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

/// Cuts a run of lines into sentences; the ranges cover all of it.
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

/// Whether a boundary that Unicode proposes is one. `before` ends with the blank space.
fn is_end(before: &str, after: &str) -> bool {
    let said = before.trim_end();
    let closed = said.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»', '*', '_', '`']);
    let Some(mark) = closed.chars().next_back() else {
        return false;
    };
    // A list's figure stands before its words, not for itself.
    if said.len() <= 8 && !said.chars().any(char::is_alphabetic) {
        return false;
    }
    let spaced = said.len() < before.len();
    match mark {
        '.' => spaced && !is_abbreviation(closed, after) && !is_ordinal(closed, after),
        // "a?b:c", "Vec::new()!" and URLs have these without a blank behind them.
        '!' | '?' => spaced,
        // Marks of scripts that put no blank behind them, and those of other scripts.
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

/// Starts of sentences behind a dot that begin in lower case.
fn low_starts(piece: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    for (at, _) in piece.match_indices(". ") {
        let after = piece[at + 1..].trim_start();
        let begin = piece.len() - after.len();
        let word = last_word(&piece[..at]);
        // A single letter or a figure before the dot is an initial or a number.
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
        // Some of them are words as well ("no", "min"); then a capital behind them decides, except
        // before names and figures, which always have one.
        let doubles_as_word = matches!(
            lower.as_str(),
            "no" | "art" | "sat" | "min" | "max" | "co" | "etc" | "usw"
        );
        return !(doubles_as_word && after.starts_with(char::is_uppercase));
    }
    // An initial: "J. Smith", but not "Plan B. Then" before a longer word in a sentence.
    let mut letters = word.chars();
    matches!((letters.next(), letters.next()), (Some(letter), None) if letter.is_uppercase() && letter != 'I')
        && after.starts_with(char::is_uppercase)
}

/// "12. März", "am 3. Tag": in German a figure with a dot is an ordinal.
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
