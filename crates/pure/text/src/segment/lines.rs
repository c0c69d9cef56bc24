//! Classification of lines.
//!
//! A line is classified by its own shape and by the lines before it: inside a fence everything is
//! code, an indented line continues a list item or, after a blank line, is code.

use super::Kind;

/// Bytes from which on a line was probably wrapped at a margin, so that its sentence continues.
/// Margins are at 72 or more; a wrapped line with a long next word may end well before it.
const WRAPPED: usize = 50;

/// Properties of a line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) kind: Kind,
    start: Start,
    end: End,
}

/// Beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// List marker, quotation mark or similar.
    Marker,
    /// Lower-case letter: possibly a continuation of the line before.
    Low,
    Other,
}

/// End of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Wrapped at a margin: the sentence probably continues.
    Margin,
    /// Before a margin: the sentence continues if the next line begins in lower case.
    Short,
    /// Colon: the next line stands for itself.
    Colon,
}

impl Line {
    /// True if the line is split into sentences.
    pub(super) fn has_sentences(&self) -> bool {
        matches!(self.kind, Kind::Prose | Kind::ListItem | Kind::Quote)
    }

    /// True if a sentence may continue from the line before.
    pub(super) fn continues(&self, before: &Self) -> bool {
        // Each line of a quotation has its mark; elsewhere a marker begins something new.
        let open = self.kind == Kind::Quote || self.start != Start::Marker;
        let runs_over = match before.end {
            End::Margin => true,
            End::Short => self.start == Start::Low,
            End::Colon => false,
        };
        self.has_sentences() && before.kind == self.kind && open && runs_over
    }
}

/// Classifier with the state between lines.
#[derive(Debug, Default)]
pub(super) struct Sorter {
    /// Character and length of the fence that closes the current code block.
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
            // Inline code may begin a line; a fence has no further mark after its first run.
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
        // Two blanks continue a list item in Markdown; four begin code, unless a paragraph is open.
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

/// Text after a list marker, a check box or a quotation mark.
pub(super) fn without_marker(trimmed: &str) -> &str {
    let bullet = trimmed
        .strip_prefix(['-', '*', '+', '•', '>'])
        .or_else(|| {
            let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
            // Up to three digits: `2026. ` ends a sentence, it does not number an item.
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
    // Prompts of shells and of Python: a pasted terminal session.
    if matches!(first, "$" | "%" | "❯" | ">>>") {
        return true;
    }
    let bare = first.trim_matches(['[', ']', '(', ')', ':', ',']);
    LEVELS.contains(&bare) || is_stamp(bare)
}

/// True if a word is a time of day, alone or after a date, as logs print it.
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
    // "2026-03-12 …" begins a log line, and sometimes a sentence; both are kept as one line.
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
    // `at fn (file:3:4)`, `at ./src/main.rs:3:4`
    if let Some(rest) = trimmed.strip_prefix("at ") {
        return has_position(rest) || rest.ends_with(')');
    }
    // `12: core::panicking::panic`
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
