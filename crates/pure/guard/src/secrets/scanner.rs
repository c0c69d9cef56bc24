//! Keywords first, then the patterns of the rules they belong to.

use super::Finding;
use super::entropy::bits_per_byte;
use super::filter;
use super::rule::{Reach, Rule};
use super::table;
use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Regex, RegexBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// A rule sees at most this much of a line at a time, in bytes.
pub const LONGEST_PIECE: usize = 16 * 1024;
/// By how much the pieces of a long line overlap: more than the longest key on one line.
pub const OVERLAP: usize = 2 * 1024;
/// A block of several lines, such as a private key, ends after this many bytes.
pub const LONGEST_BLOCK: usize = 32 * 1024;
/// Room for a compiled pattern, in bytes. The long repetitions of some formats need more than the
/// library's default.
const PATTERN_SIZE: usize = 64 * 1024 * 1024;

/// The table, ready to be used.
pub(super) struct Scanner {
    rules: Vec<Prepared>,
    keywords: Option<AhoCorasick>,
    /// The rule each keyword belongs to.
    owners: Vec<usize>,
}

struct Prepared {
    rule: &'static Rule,
    pattern: OnceLock<Option<Regex>>,
}

/// What a scan has found so far.
#[derive(Default)]
struct Found {
    candidates: Vec<Candidate>,
    /// Where the last block of each rule ends: another cannot begin inside.
    blocks: BTreeMap<usize, usize>,
}

/// A match before overlaps are settled.
struct Candidate {
    rule: usize,
    range: Range<usize>,
}

/// The one scanner there is.
pub(super) fn shared() -> &'static Scanner {
    static SHARED: LazyLock<Scanner> = LazyLock::new(Scanner::new);
    &SHARED
}

impl Scanner {
    fn new() -> Self {
        let rules: Vec<Prepared> = table::all()
            .map(|rule| Prepared {
                rule,
                pattern: OnceLock::new(),
            })
            .collect();
        let mut words = Vec::new();
        let mut owners = Vec::new();
        for (at, prepared) in rules.iter().enumerate() {
            words.extend_from_slice(prepared.rule.keywords);
            owners.resize(words.len(), at);
        }
        // Building fails only for tables larger than any this crate could hold; a test builds it.
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(words)
            .ok();
        Self {
            rules,
            keywords,
            owners,
        }
    }

    pub(super) fn scan(&self, text: &str) -> Vec<Finding> {
        let mut found = Found::default();
        let mut start = 0;
        let mut lines = LineCounter::new(text);
        for line in text.split_inclusive('\n') {
            for piece in pieces(line) {
                self.scan_piece(text, start + piece.start..start + piece.end, &mut found);
            }
            start += line.len();
        }
        settle(found.candidates)
            .into_iter()
            .map(|candidate| Finding {
                rule: self.rules[candidate.rule].rule.name,
                line: lines.line_of(candidate.range.start),
                range: candidate.range,
            })
            .collect()
    }

    /// Tries every rule with a keyword in this piece of a line.
    fn scan_piece(&self, text: &str, piece: Range<usize>, found: &mut Found) {
        let Some(keywords) = &self.keywords else {
            return;
        };
        let mut on_line = BTreeSet::new();
        let mut blocks = Vec::new();
        for hit in keywords.find_overlapping_iter(&text[piece.clone()]) {
            let rule = self.owners[hit.pattern().as_usize()];
            match self.rules[rule].rule.reach {
                Reach::Line => _ = on_line.insert(rule),
                Reach::Block => blocks.push((rule, piece.start + hit.start())),
            }
        }
        for rule in on_line {
            self.matches(rule, text, piece.clone(), found);
        }
        for (rule, from) in blocks {
            if found.blocks.get(&rule).is_none_or(|end| *end <= from) {
                let end = boundary(text, from.saturating_add(LONGEST_BLOCK));
                self.matches(rule, text, from..end, found);
            }
        }
    }

    fn matches(&self, at: usize, text: &str, window: Range<usize>, found: &mut Found) {
        let prepared = &self.rules[at];
        let Some(pattern) = prepared.pattern() else {
            return;
        };
        for groups in pattern.captures_iter(&text[window.clone()]) {
            let Some(secret) = groups.name("secret").or_else(|| groups.get(0)) else {
                continue;
            };
            let rule = prepared.rule;
            let after = &text[window.start + secret.end()..];
            if bits_per_byte(secret.as_str()) >= rule.floor
                && filter::meets(rule.demand, secret.as_str(), after)
            {
                let range = window.start + secret.start()..window.start + secret.end();
                if rule.reach == Reach::Block {
                    found.blocks.insert(at, range.end);
                }
                found.candidates.push(Candidate { rule: at, range });
            }
            // A block rule begins at its keyword; what follows has a keyword of its own.
            if rule.reach == Reach::Block {
                break;
            }
        }
    }
}

impl Prepared {
    fn pattern(&self) -> Option<&Regex> {
        // Keys are ASCII, and patterns of ASCII are far smaller. Only those that take "anything but"
        // need to know other characters.
        let compile = |unicode: bool| {
            let mut builder = RegexBuilder::new(self.rule.pattern);
            builder
                .unicode(unicode)
                .size_limit(PATTERN_SIZE)
                .build()
                .ok()
        };
        // A test compiles every pattern of the table, so none is missing here.
        let compile = || compile(false).or_else(|| compile(true));
        self.pattern.get_or_init(compile).as_ref()
    }
}

/// Where two overlap, the rule that comes first in the table wins, being the more particular.
fn settle(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by_key(|candidate| (candidate.range.start, candidate.rule));
    let mut settled: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        match settled.last_mut() {
            Some(last) if candidate.range.start < last.range.end => {
                last.rule = last.rule.min(candidate.rule);
                last.range.end = last.range.end.max(candidate.range.end);
            }
            _ => settled.push(candidate),
        }
    }
    settled
}

/// A line in overlapping pieces of bearable length.
fn pieces(line: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    loop {
        let end = boundary(line, start + LONGEST_PIECE);
        pieces.push(start..end);
        if end == line.len() {
            return pieces;
        }
        start = boundary(line, end - OVERLAP);
    }
}

/// The nearest place at or before `at` where the text can be cut.
fn boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

/// Counts lines for places that come in order.
struct LineCounter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
        }
    }

    fn line_of(&mut self, place: usize) -> usize {
        let between = self.text.get(self.at..place).unwrap_or_default();
        self.line += between.matches('\n').count();
        self.at = place.max(self.at);
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_every_keyword_is_used() {
        let scanner = Scanner::new();
        assert!(scanner.keywords.is_some());
        for prepared in &scanner.rules {
            assert!(prepared.pattern().is_some(), "{}", prepared.rule.name);
            assert!(!prepared.rule.keywords.is_empty(), "{}", prepared.rule.name);
        }
    }

    #[test]
    fn long_lines_are_cut_with_an_overlap() {
        assert_eq!(pieces("abc").len(), 1);
        let line = "\u{e9}".repeat(LONGEST_PIECE);
        let pieces = pieces(&line);
        assert!(pieces.len() > 2);
        for pair in pieces.windows(2) {
            assert!(pair[0].len() <= LONGEST_PIECE);
            assert!(pair[1].start + OVERLAP >= pair[0].end && pair[1].start < pair[0].end);
        }
        assert_eq!(pieces.last().unwrap().end, line.len());
    }
}
