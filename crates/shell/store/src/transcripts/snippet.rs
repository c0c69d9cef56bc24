//! Terms that occur in a text, and the words around them.

use super::MOST_TERMS;

/// Places of one term recorded in one text: more than the longest results have lines. A lower bound
/// would pass over the one line that has every term, behind hundreds that have the common ones.
const MOST_PLACES: usize = 65_536;
/// Bytes from which a term counts inside a word too: a shorter one ("art") would match in too many.
const LONG_ENOUGH: usize = 4;

/// Lower case without changing the length of anything, so that offsets in the folded text hold in
/// the original.
pub(super) fn fold(text: &str) -> String {
    text.chars()
        .map(|letter| {
            let mut lower = letter.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(one), None) if one.len_utf8() == letter.len_utf8() => one,
                // Some letters change length with their case; folding them would shift every
                // offset.
                _ => letter,
            }
        })
        .collect()
}

/// Offsets of terms in a text, each with the number of the term, in order of offsets.
pub(super) fn places(text: &str, terms: &[String]) -> Vec<(usize, usize)> {
    let folded = fold(text);
    let mut found = Vec::new();
    for (number, term) in terms.iter().enumerate() {
        let places = folded
            .match_indices(term.as_str())
            .map(|(at, _)| at)
            .filter(|at| counts(&folded, *at, term));
        found.extend(places.take(MOST_PLACES).map(|at| (at, number)));
    }
    found.sort_unstable();
    found
}

fn counts(folded: &str, at: usize, term: &str) -> bool {
    term.len() >= LONG_ENOUGH
        || !folded[..at].ends_with(|before: char| before.is_ascii_alphanumeric())
}

/// At most `most` characters around the places where most terms stand, on one line.
pub(super) fn snippet(text: &str, places: &[(usize, usize)], most: usize) -> String {
    let from = densest(places, most);
    // A fifth of the width before the first term, so that the reader sees the beginning of the
    // sentence.
    let lead = most / 5;
    let start = text[..from]
        .char_indices()
        .rev()
        .nth(lead.saturating_sub(1))
        .map_or(0, |(at, _)| at);
    let start = word_start(text, start, from);
    let mut out = String::new();
    if start > 0 {
        out.push('…');
    }
    let mut left = most;
    let mut blank = false;
    for letter in text[start..].chars() {
        if letter.is_whitespace() || letter.is_control() {
            // White space at the beginning is dropped, and every later run becomes one blank.
            blank = left < most;
            continue;
        }
        let needed = 1 + usize::from(blank);
        if left < needed {
            out.push('…');
            break;
        }
        left -= needed;
        if blank {
            out.push(' ');
        }
        blank = false;
        out.push(letter);
    }
    out
}

/// Offset from which a window has most of the terms. A term that is rare in the text counts for more
/// than one that stands in every line.
fn densest(places: &[(usize, usize)], width: usize) -> usize {
    let mut counts = [0_u32; MOST_TERMS];
    for (_, number) in places {
        counts[number % MOST_TERMS] += 1;
    }
    let total = f64::from(u32::try_from(places.len()).unwrap_or(u32::MAX));
    let weight = |number: usize| (1.0 + total / f64::from(counts[number].max(1))).ln();
    let mut best = (places.first().map_or(0, |(at, _)| *at), 0.0, usize::MAX);
    for (index, (start, _)) in places.iter().enumerate() {
        let (mut seen, mut sum, mut span) = (0_u32, 0.0, 0);
        for (at, number) in &places[index..] {
            if *at > start + width {
                break;
            }
            let number = number % MOST_TERMS;
            if seen & (1 << number) == 0 {
                seen |= 1 << number;
                sum += weight(number);
                span = at - start;
            }
        }
        // Of equal windows the tightest: the terms of one line belong together.
        if sum > best.1 || (sum >= best.1 && span < best.2) {
            best = (*start, sum, span);
        }
    }
    best.0
}

/// The first beginning of a word behind a place, not behind `from`.
fn word_start(text: &str, start: usize, from: usize) -> usize {
    if start == 0 {
        return 0;
    }
    text[start..from]
        .find(char::is_whitespace)
        .map_or(start, |at| start + at)
}
