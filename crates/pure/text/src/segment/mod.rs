//! Segmentation of text into sentences and lines.
//!
//! # Model
//! Text of coding sessions is mixed. Its lines are classified first (`lines`); code, logs, stack
//! traces, tables and headings stay lines, while neighbouring lines of prose are joined and split
//! into sentences (`sentences`). Every byte belongs to exactly one [`Segment`]: blanks belong to
//! the segment before them, so that joining all ranges restores the text.
//!
//! # Not here
//! The value of a sentence ([`crate::summary`]). Markdown is not parsed: nesting, links and inline
//! markup do not change where a sentence ends.

mod lines;
mod sentences;
#[cfg(test)]
mod tests;

use lines::{Line, Sorter};
use std::ops::Range;

/// Longest segment in bytes. A minified file or a base64 blob is one line of any length, and a
/// summary can only take whole segments.
pub const LONGEST: usize = 1_000;

/// Kind of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Sentence of running text.
    Prose,
    /// Heading in Markdown, with one to six `#`.
    Heading,
    /// Sentence in a list item.
    ListItem,
    /// Sentence in a quotation.
    Quote,
    /// Row of a table.
    TableRow,
    /// Line of code, in a fence or indented.
    Code,
    /// Line that opens or closes a code block, or a horizontal rule.
    Fence,
    /// Line of a log.
    Log,
    /// Line of a stack trace or a compiler's pointer into a file.
    Trace,
    /// Blanks only; used only when the whole text is blank.
    Blank,
}

/// Sentence or line with its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Bytes it covers, blanks after it included.
    pub range: Range<usize>,
    /// Kind of the segment.
    pub kind: Kind,
}

impl Segment {
    /// Range without surrounding blanks.
    pub fn trimmed(&self, text: &str) -> Range<usize> {
        trim(text, self.range.clone())
    }
}

/// Splits a text. The ranges are adjacent and cover all of it.
pub fn segment(text: &str) -> Vec<Segment> {
    let mut out = Segments { text, list: vec![] };
    let mut sorter = Sorter::default();
    // Run of lines that may share sentences.
    let mut open: Option<(Range<usize>, Kind, Line)> = None;
    for range in line_ranges(text) {
        let line = sorter.sort(&text[range.clone()]);
        match &mut open {
            Some((run, _, last)) if line.continues(last) => {
                run.end = range.end;
                *last = line;
            }
            _ => {
                if let Some((run, kind, _)) = open.take() {
                    out.sentences(run, kind);
                }
                if line.has_sentences() {
                    open = Some((range, line.kind, line));
                } else {
                    out.push(range, line.kind);
                }
            }
        }
    }
    if let Some((run, kind, _)) = open {
        out.sentences(run, kind);
    }
    out.list
}

struct Segments<'a> {
    text: &'a str,
    list: Vec<Segment>,
}

impl Segments<'_> {
    fn sentences(&mut self, run: Range<usize>, kind: Kind) {
        for sentence in sentences::split(&self.text[run.clone()]) {
            self.push(run.start + sentence.start..run.start + sentence.end, kind);
        }
    }

    fn push(&mut self, range: Range<usize>, kind: Kind) {
        let blank = self.text[range.clone()].trim().is_empty();
        match self.list.last_mut() {
            Some(last) if blank => last.range.end = range.end,
            // Blanks before the first segment become part of it.
            Some(last) if last.kind == Kind::Blank => {
                last.range.end = range.end;
                last.kind = kind;
            }
            _ if blank => self.list.push(Segment {
                range,
                kind: Kind::Blank,
            }),
            _ => self.list.extend(
                pieces(self.text, range)
                    .into_iter()
                    .map(|range| Segment { range, kind }),
            ),
        }
    }
}

/// Ranges of the lines of a text, line ends included.
fn line_ranges(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let range = start..start + line.len();
        start = range.end;
        range
    })
}

/// Splits a range longer than [`LONGEST`], at a blank if possible.
fn pieces(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = range.start;
    while range.end - start > LONGEST {
        let limit = text.floor_char_boundary(start + LONGEST);
        let window = &text[start..limit];
        let at = window
            .rfind(char::is_whitespace)
            // A blank in the first half would give a tiny piece.
            .filter(|at| *at > LONGEST / 2)
            .and_then(|at| Some(at + window[at..].chars().next()?.len_utf8()))
            .unwrap_or(window.len());
        pieces.push(start..start + at);
        start += at;
    }
    pieces.push(start..range.end);
    // Trailing blanks are no piece of their own.
    if let [.., before, last] = &mut pieces[..]
        && text[last.clone()].trim().is_empty()
    {
        before.end = last.end;
        pieces.pop();
    }
    pieces
}

pub(crate) fn trim(text: &str, range: Range<usize>) -> Range<usize> {
    let part = &text[range.clone()];
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}
