//! `MEMORY.md`: the list of memories that is always in the prompt.
//!
//! # Model
//! One line a memory, `- [Title](file.md) — hook`. People and other tools put headings and remarks
//! between the lines; those are theirs and stay. Loading cuts ([`load`]); everything else works on
//! lines: reading them ([`entries`]), putting one in or taking one out ([`with_entry`],
//! [`without`]), comparing with the files there are ([`drift`]), and mending ([`reconciled`]).
//!
//! # Not here
//! Contents of memories, which never stand in the index ([`crate::topic`]); the list that a model
//! is shown for extraction ([`crate::manifest`]).

mod drift;
mod load;
#[cfg(test)]
mod tests;

pub use drift::{Drift, Listed, drift, generated, listed, reconciled};
pub use load::{Cut, Limits, Loaded, load, nearness};

use dormouse_core::show;
use std::ops::Range;

/// Most characters of a line. Every session pays for every line of the index in its prompt; detail
/// belongs into the memory's body.
pub const LONGEST_LINE: usize = 150;

/// Line that points to a file of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// Text of the link.
    pub title: String,
    /// Target of the link as it is written, without a leading `./`.
    pub target: String,
    /// Text behind the link; empty if there is none.
    pub hook: String,
    /// Bytes of the line, newline included.
    pub range: Range<usize>,
    /// Line number, from 1.
    pub line: usize,
}

/// Lines that point to files of the directory; links to other places are not among them.
pub fn entries(text: &str) -> Vec<IndexEntry> {
    let mut at = 0;
    let mut found = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let range = at..at + line.len();
        at = range.end;
        if let Some((title, target, hook)) = parse(line) {
            found.push(IndexEntry {
                title,
                target,
                hook,
                range,
                line: number + 1,
            });
        }
    }
    found
}

/// Takes a line apart: a bullet, a link, the text behind it.
fn parse(line: &str) -> Option<(String, String, String)> {
    let rest = line.trim_start();
    let rest = rest.strip_prefix(['-', '*', '+'])?;
    let rest = rest.trim_start().strip_prefix('[')?;
    let (title, rest) = rest.split_once("](")?;
    let (target, hook) = rest.split_once(')')?;
    let target = target.trim().trim_start_matches("./");
    // People link to pages and headings as well; those are no memories and never dangle.
    let elsewhere = target.contains("://") || target.starts_with(['/', '#', '~']);
    if target.is_empty() || elsewhere {
        return None;
    }
    // Other tools separate with a hyphen, an en dash or a colon.
    let hook = hook.trim().trim_start_matches(['—', '–', '-', ':']).trim();
    Some((title.trim().to_owned(), target.to_owned(), hook.to_owned()))
}

/// Line of a memory, cut to [`LONGEST_LINE`] characters. A hook that only repeats the title is left
/// out, and so is a title at its beginning.
pub fn line(title: &str, target: &str, hook: &str) -> String {
    // A bracket in the title would end the link early.
    let title = show::flat(title).replace(['[', ']'], "");
    let mut line = format!("- [{title}]({target})");
    let hook = show::flat(hook);
    let hook = without_title(&hook, &title);
    if !hook.is_empty() {
        line.push_str(" — ");
        line.push_str(hook);
    }
    if line.chars().count() <= LONGEST_LINE {
        return line;
    }
    shortened(&line, target)
}

/// Part of a hook that the title does not say already.
fn without_title<'a>(hook: &'a str, title: &str) -> &'a str {
    // Closing marks belong to the title's last word and are kept.
    let ends = |c: char| c.is_ascii_punctuation() && !matches!(c, ')' | '`' | '"');
    let bare = title.trim_end_matches(ends);
    let begins = hook
        .get(..bare.len())
        .is_some_and(|head| !bare.is_empty() && head.eq_ignore_ascii_case(bare));
    if !begins {
        return hook;
    }
    let rest = &hook[bare.len()..];
    if rest.trim_matches(ends).is_empty() {
        return "";
    }
    // "Release freeze: no merges" says more behind the colon; "Release freezes" is another word.
    match rest.trim_start().strip_prefix([':', '—', '–']) {
        Some(more) if !more.trim().is_empty() => more.trim_start(),
        _ => hook,
    }
}

/// Cuts a line behind its link; the link itself must stay whole, or the memory is unreachable.
fn shortened(line: &str, target: &str) -> String {
    let link = format!("]({target})");
    let least = line
        .find(&link)
        .map_or(line.len(), |at| line[..at + link.len()].chars().count());
    let most = LONGEST_LINE.saturating_sub(1).max(least);
    if line.chars().count() <= most + 1 && most == least {
        return line.to_owned();
    }
    let mut cut: String = line.chars().take(most).collect();
    // Cut at a word, unless that would reach into the link.
    if cut.chars().count() > least {
        if let Some(space) = cut
            .rfind(' ')
            .filter(|at| cut[..*at].chars().count() >= least)
        {
            cut.truncate(space);
        }
        cut = cut.trim_end_matches([' ', '—', ',', ';', ':']).to_owned();
        cut.push('…');
    }
    cut
}

/// Index with a memory's line put in: in place of the line it had, otherwise at the end.
pub fn with_entry(text: &str, title: &str, target: &str, hook: &str) -> String {
    let line = line(title, target, hook);
    if let Some(old) = entries(text)
        .into_iter()
        .find(|entry| entry.target == target)
    {
        let mut out = text[..old.range.start].to_owned();
        out.push_str(&line);
        // A file with Windows line endings stays consistent.
        out.push_str(if text[old.range.clone()].ends_with("\r\n") {
            "\r\n"
        } else {
            "\n"
        });
        out.push_str(&text[old.range.end..]);
        return out;
    }
    let mut out = text.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&line);
    out.push('\n');
    out
}

/// Index without the lines that point to a file.
pub fn without(text: &str, target: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for entry in entries(text)
        .into_iter()
        .filter(|entry| entry.target == target)
    {
        out.push_str(&text[at..entry.range.start]);
        at = entry.range.end;
    }
    out.push_str(&text[at..]);
    out
}
