//! The notes as the summary of a compaction.
//!
//! Empty sections are left out, and so are the italic lines, which instruct the writer. A section
//! that is too long is cut at a line end, and a mark states how much is missing; the file keeps it
//! all.

use super::document::Notes;
use super::limits::{Limits, shared, tokens_of};
use dormouse_core::models::BytesPerToken;
use dormouse_core::show::Grouped;
use dormouse_core::units::Tokens;

/// Notes as a summary within the limits; empty if they are blank.
pub(crate) fn as_summary(notes: &Notes, limits: Limits, bytes: BytesPerToken) -> String {
    let written: Vec<(&str, &str)> = notes
        .template()
        .sections()
        .iter()
        .zip(notes.sections())
        .filter(|(_, (_, body))| !body.is_empty())
        .map(|(section, (_, body))| (section.heading(), body))
        .collect();
    let sizes: Vec<Tokens> = written
        .iter()
        .map(|(_, body)| tokens_of(body, bytes))
        .collect();
    let frame: Tokens = written
        .iter()
        .map(|(heading, _)| tokens_of(&framed(heading, ""), bytes))
        .sum();
    let limit = shared(&sizes, limits.total - frame).min(limits.section);
    let mut summary = String::new();
    let mut left = limits.total;
    for (heading, body) in written {
        let section = framed(heading, &cut(body, limit, bytes));
        let size = tokens_of(&section, bytes);
        // Reached only with limits so small that not even the marks of the cuts fit.
        if size > left {
            continue;
        }
        left = left - size;
        summary.push_str(&section);
    }
    summary.truncate(summary.trim_end().len());
    summary
}

fn framed(heading: &str, body: &str) -> String {
    format!("{heading}\n{body}\n\n")
}

/// Mark at the place of a cut. Part of the prompt: the text must stay the same.
fn mark(missing: Tokens) -> String {
    format!("[cut here: about {} tokens more]", Grouped(missing.get()))
}

/// Body within the limit, cut at a line end and marked if it is longer.
fn cut(body: &str, limit: Tokens, bytes: BytesPerToken) -> String {
    let size = tokens_of(body, bytes);
    if size <= limit {
        return body.to_owned();
    }
    // Reserve room for the longest possible mark; the real one states a smaller number.
    let room = limit - tokens_of(&format!("\n{}", mark(size)), bytes);
    let kept = prefix(body, room, bytes);
    let mark = mark(size - tokens_of(kept, bytes));
    if kept.is_empty() {
        mark
    } else {
        format!("{kept}\n{mark}")
    }
}

/// Longest prefix that fits and ends with a line; within a single long line, with a word.
fn prefix(body: &str, room: Tokens, bytes: BytesPerToken) -> &str {
    let has_room = |end: &usize| tokens_of(body.get(..*end).unwrap_or_default(), bytes) <= room;
    let last_with_room = |ends: Vec<usize>| {
        let count = ends.partition_point(has_room);
        count
            .checked_sub(1)
            .and_then(|last| ends.get(last).copied())
    };
    let ends_of =
        |pattern: fn(char) -> bool| body.match_indices(pattern).map(|(at, _)| at).collect();
    // Prefer whole lines, then whole words, then whole characters.
    let end = last_with_room(ends_of(|c| c == '\n'))
        .or_else(|| last_with_room(ends_of(char::is_whitespace)))
        .or_else(|| last_with_room(body.char_indices().map(|(at, _)| at).collect()))
        .unwrap_or(0);
    body.get(..end).unwrap_or_default().trim_end()
}
