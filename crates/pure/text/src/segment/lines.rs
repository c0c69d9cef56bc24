//! Sorting lines into kinds.
//!
//! A line is judged by its own shape and by what came before it: inside a fence everything is code,
//! an indented line continues a list item or, after a blank line, is code.

use super::Kind;

/// Lines at least this long were probably broken by a margin, so that the sentence goes on.
const WRAPPED: usize = 50;

/// What is known of a line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) kind: Kind,
    start: Start,
    end: End,
}

/// How a line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// With a list marker, a quotation mark or the like.
    Marker,
    /// With a small letter: it may go on from the line before.
    Low,
    Other,
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// At a margin: the sentence probably goes on.
    Margin,
    /// Before a margin: it goes on if the next line begins in lower case.
    Short,
    /// With a colon: what follows stands for itself.
    Colon,
}

impl Line {
    /// Whether the line is to be cut into sentences.
    pub(super) fn has_sentences(&self) -> bool {
        matches!(self.kind, Kind::Prose | Kind::ListItem | Kind::Quote)
    }

    /// Whether a sentence may run over from the line before.
    pub(super) fn continues(&self, before: &Self) -> bool {
        // Each line of a quotation has its mark; elsewhere a mark opens something new.
        let open = self.kind == Kind::Quote || self.start != Start::Marker;
        let runs_over = match before.end {
            End::Margin => true,
            End::Short => self.start == Start::Low,
            End::Colon => false,
        };
        self.has_sentences() && before.kind == self.kind && open && runs_over
    }
}

/// Sorts line after line.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// The mark that closes the code block the lines are in.
    fence: Option<(char, usize)>,
    before: Option<Kind>,
    in_list: bool,
    after_blank: bool,
}

impl Sorter {
    pub(super) fn sort(&mut self, line: &str) -> Line {
        let trimmed = line.trim();
        let kind = self.kind(line, trimmed);
        if kind == Kind::Blank {
            self.after_blank = true;
        } else {
            self.in_list = kind == Kind::ListItem;
            self.after_blank = false;
            self.before = Some(kind);
        }
        let words = without_marker(trimmed);
        let start = if words.len() != trimmed.len() {
            Start::Marker
        } else if words.starts_with(char::is_lowercase) {
            Start::Low
        } else {
            Start::Other
        };
        let end = if trimmed.ends_with([':', '：']) {
            End::Colon
        } else if trimmed.len() >= WRAPPED {
            End::Margin
        } else {
            End::Short
        };
        Line { kind, start, end }
    }

    fn kind(&mut self, line: &str, trimmed: &str) -> Kind {
        if let Some((mark, length)) = self.fence {
            if run(trimmed, mark) >= length && trimmed.trim_start_matches(mark).is_empty() {
                self.fence = None;
                return Kind::Fence;
            }
            return Kind::Code;
        }
        for mark in ['`', '~'] {
            let length = run(trimmed, mark);
            // Inline code may open a line; a fence has no further mark behind it.
            if length >= 3 && !trimmed[length..].contains(mark) {
                self.fence = Some((mark, length));
                return Kind::Fence;
            }
        }
        if trimmed.is_empty() {
            return Kind::Blank;
        }
        if is_rule(trimmed) {
            return Kind::Fence;
        }
        if is_heading(trimmed) {
            return Kind::Heading;
        }
        if trimmed.starts_with('|') {
            return Kind::TableRow;
        }
        if is_trace(trimmed) {
            return Kind::Trace;
        }
        if is_log(trimmed) {
            return Kind::Log;
        }
        let indent = indent(line);
        let marked = without_marker(trimmed).len() != trimmed.len();
        if trimmed.starts_with('>') {
            return Kind::Quote;
        }
        if marked || (self.in_list && indent >= 2) {
            return Kind::ListItem;
        }
        let fresh = self.after_blank || matches!(self.before, None | Some(Kind::Code));
        if indent >= 4 && fresh {
            return Kind::Code;
        }
        Kind::Prose
    }
}

fn run(text: &str, mark: char) -> usize {
    text.chars().take_while(|found| *found == mark).count()
}

fn indent(line: &str) -> usize {
    line.chars()
        .map_while(|found| match found {
            ' ' => Some(1),
            '\t' => Some(4),
            _ => None,
        })
        .sum()
}

fn is_rule(trimmed: &str) -> bool {
    trimmed.len() >= 3
        && ['-', '=', '*', '_', '─', '━', '═']
            .iter()
            .any(|mark| trimmed.chars().all(|found| found == *mark))
}

fn is_heading(trimmed: &str) -> bool {
    let level = run(trimmed, '#');
    (1..=6).contains(&level) && trimmed[level..].starts_with([' ', '\t'])
}

/// The words behind a list marker, a check box or a quotation mark.
pub(super) fn without_marker(trimmed: &str) -> &str {
    let bullet = trimmed
        .strip_prefix(['-', '*', '+', '•', '>'])
        .or_else(|| {
            let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
            (1..=3)
                .contains(&digits)
                .then(|| trimmed[digits..].strip_prefix(['.', ')']))
                .flatten()
        })
        .filter(|rest| rest.starts_with([' ', '\t']));
    let Some(rest) = bullet else { return trimmed };
    let rest = rest.trim_start();
    ["[ ] ", "[x] ", "[X] "]
        .iter()
        .find_map(|mark| rest.strip_prefix(mark))
        .unwrap_or(rest)
}

fn is_log(trimmed: &str) -> bool {
    const LEVELS: [&str; 10] = [
        "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL",
        "PANIC",
    ];
    let Some(first) = trimmed.split_whitespace().next() else {
        return false;
    };
    if matches!(first, "$" | "%" | "❯" | ">>>") {
        return true;
    }
    let bare = first.trim_matches(['[', ']', '(', ')', ':', ',']);
    LEVELS.contains(&bare) || is_stamp(bare)
}

/// A time of day, alone or behind a date, as logs print it.
fn is_stamp(word: &str) -> bool {
    let time = word.split_once('T').map_or(word, |(_, time)| time);
    let mut parts = time.splitn(3, ':');
    let two = |part: Option<&str>| {
        part.is_some_and(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let dated = word.len() == 10
        && word.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => matches!(byte, b'-' | b'/'),
            _ => byte.is_ascii_digit(),
        });
    // "2026-03-12 …" opens a log line, and also a sentence now and then; both are kept as a line.
    dated || (two(parts.next()) && two(parts.next()) && parts.next().is_some())
}

fn is_trace(trimmed: &str) -> bool {
    const STARTS: [&str; 6] = [
        "Traceback (most recent",
        "Caused by:",
        "goroutine ",
        "--> ",
        "stack backtrace:",
        "File \"",
    ];
    if STARTS.iter().any(|start| trimmed.starts_with(start)) {
        return true;
    }
    // "at fn (file:3:4)", "at ./src/main.rs:3:4"
    if let Some(rest) = trimmed.strip_prefix("at ") {
        return has_position(rest) || rest.ends_with(')');
    }
    // "12: core::panicking::panic"
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0
        && trimmed[digits..]
            .strip_prefix(": ")
            .is_some_and(|rest| rest.contains("::") && !rest.contains(". "))
}

fn has_position(text: &str) -> bool {
    text.split(':')
        .skip(1)
        .any(|part| part.starts_with(|found: char| found.is_ascii_digit()))
}
