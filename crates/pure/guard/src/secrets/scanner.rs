//! Scanner: keywords first, then the patterns of the rules they belong to.

use super::Finding;
use super::entropy::bits_per_byte;
use super::filter;
use super::rule::{Reach, Rule};
use super::statement;
use super::table;
use super::vocabulary::Noun;
use aho_corasick::{AhoCorasick, MatchKind};
use regex::{Regex, RegexBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// Longest piece of a line in bytes that a rule sees at once; bounds the time on minified files.
pub const LONGEST_PIECE: usize = 16 * 1024;
/// Overlap of the pieces of a long line in bytes: more than the longest key on one line.
pub const OVERLAP: usize = 2 * 1024;
/// Longest block of several lines in bytes, such as a private key; an RSA key of 16,384 bits takes
/// less than half of it.
pub const LONGEST_BLOCK: usize = 32 * 1024;
/// Size limit of a compiled pattern in bytes. Long repetitions in some formats exceed the library's
/// default of 10 MiB.
const PATTERN_SIZE: usize = 64 * 1024 * 1024;

/// Table in executable form.
pub(super) struct Scanner {
    rules: Vec<Prepared>,
    keywords: Option<AhoCorasick>,
    /// Index of the rule of each keyword.
    owners: Vec<usize>,
}

struct Prepared {
    rule: &'static Rule,
    pattern: OnceLock<Option<Regex>>,
}

/// Intermediate results of a scan.
#[derive(Default)]
struct Found {
    candidates: Vec<Candidate>,
    /// End of the last block by rule: another cannot begin inside it.
    blocks: BTreeMap<usize, usize>,
}

/// Match before overlaps are resolved.
struct Candidate {
    rule: usize,
    range: Range<usize>,
}

/// Shared scanner, built on first use.
pub(super) fn shared() -> &'static Scanner {
    static SHARED: LazyLock<Scanner> = LazyLock::new(Scanner::new);
    &SHARED
}

impl Scanner {
    fn new() -> Self {
        let rules: Vec<Prepared> = table::all()
            .iter()
            .map(|rule| Prepared {
                rule,
                pattern: OnceLock::new(),
            })
            .collect();
        let mut words = Vec::new();
        let mut owners = Vec::new();
        for (at, prepared) in rules.iter().enumerate() {
            words.extend(prepared.rule.keywords.iter());
            owners.resize(words.len(), at);
        }
        // Building fails only for tables far larger than this one; a test builds it.
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            // Required for overlapping matches: one keyword may contain another.
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
                rule: self.name(candidate.rule),
                line: lines.line_of(candidate.range.start),
                range: candidate.range,
            })
            .collect()
    }

    /// Name of a rule by its index; statements follow the rules of the table.
    fn name(&self, rule: usize) -> &'static str {
        match self.rules.get(rule) {
            Some(prepared) => prepared.rule.name(),
            None => Noun::ALL[rule - self.rules.len()].rule(),
        }
    }

    /// Tries every rule with a keyword in this piece of a line, then looks for statements.
    fn scan_piece(&self, text: &str, piece: Range<usize>, found: &mut Found) {
        self.rules_of_piece(text, piece.clone(), found);
        for stated in statement::find(&text[piece.clone()]) {
            let order = Noun::ALL.iter().position(|noun| *noun == stated.noun);
            let range = piece.start + stated.range.start..piece.start + stated.range.end;
            found.candidates.push(Candidate {
                rule: self.rules.len() + order.unwrap_or(0),
                range,
            });
        }
    }

    fn rules_of_piece(&self, text: &str, piece: Range<usize>, found: &mut Found) {
        let Some(keywords) = &self.keywords else {
            return;
        };
        let mut on_line = BTreeSet::new();
        let mut blocks = Vec::new();
        for hit in keywords.find_overlapping_iter(&text[piece.clone()]) {
            let rule = self.owners[hit.pattern().as_usize()];
            match self.rules[rule].rule.reach {
                // Once per line, however often its keywords occur.
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
            // A block rule begins at its keyword; the next block has a keyword of its own.
            if rule.reach == Reach::Block {
                break;
            }
        }
    }
}

impl Prepared {
    fn pattern(&self) -> Option<&Regex> {
        // Keys are ASCII, and ASCII patterns are far smaller. Only patterns with "anything but"
        // classes need Unicode, and fail to compile without.
        let compile = |unicode: bool| {
            let mut builder = RegexBuilder::new(&self.rule.pattern);
            builder
                .unicode(unicode)
                .size_limit(PATTERN_SIZE)
                .build()
                .ok()
        };
        // A test compiles every pattern of the table, so that none is missing here.
        let compile = || compile(false).or_else(|| compile(true));
        self.pattern.get_or_init(compile).as_ref()
    }
}

/// Resolves overlaps: the rule that is first in the table wins, being more specific.
fn settle(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by_key(|candidate| (candidate.range.start, candidate.rule));
    let mut settled: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        match settled.last_mut() {
            Some(last) if candidate.range.start < last.range.end => {
                // Merged, so that redaction leaves no part of either.
                last.rule = last.rule.min(candidate.rule);
                last.range.end = last.range.end.max(candidate.range.end);
            }
            _ => settled.push(candidate),
        }
    }
    settled
}

/// Overlapping pieces of a line, each of bounded length.
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

/// Nearest character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

/// Line numbers for positions in ascending order, in one pass over the text.
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
            assert!(prepared.pattern().is_some(), "{}", prepared.rule.name());
            assert!(
                !prepared.rule.keywords.is_empty(),
                "{}",
                prepared.rule.name()
            );
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
