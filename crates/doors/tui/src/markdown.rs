//! Markdown of an answer while it arrives, line by line.
//!
//! # Model
//! A line of the source becomes a [`Block`] as soon as it is complete, and blocks never change
//! afterwards: they can go into the scrollback while the answer goes on. Only tables wait for their
//! last row, because the columns depend on it. Line breaks of the source are kept, as models mean
//! them. Emphasis that goes over a line break is shown as it was written.

use crate::line::{Line, Role, Span};
use crate::syntax::{self, Painter};
use crate::text::{clean, width, wrap};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Rows after which a table is shown with the columns known so far: longer ones are data.
const LONGEST_TABLE: usize = 200;
/// Columns that a table's column keeps when it gives way.
const NARROWEST: usize = 6;

/// One line of the source, or a table, ready to be laid out at any width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Empty line between two blocks.
    Blank,
    /// Heading of any level, without its signs.
    Heading(String),
    /// Line of running text or of a list, with its indentation and marker.
    Text {
        /// Columns in front of the marker.
        indent: usize,
        /// Marker of a list with the space behind it.
        marker: String,
        /// Words of the line, with Markdown inside it.
        text: String,
    },
    /// Line of a quotation.
    Quote(String),
    /// Name of a code block's language.
    Language(String),
    /// Line inside a code block, shown as it is: pieces of it, by colour.
    Code(Vec<Span>),
    /// Rows of cells; the first is the head.
    Table(Vec<Vec<String>>),
    /// Horizontal rule between two parts.
    Rule,
}

/// Reader of Markdown that arrives in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    /// Line that is not complete.
    partial: String,
    /// Marker of the code block that is open.
    fence: Option<String>,
    painter: Painter,
    /// True if code gets no colours: the terminal shows none.
    colourless: bool,
    /// Rows of the table that is open, as written.
    table: Vec<String>,
    /// Blank lines at the beginning of an answer are left out.
    begun: bool,
    /// A blank line waits for text behind it: at the end of an answer there is none.
    blank: bool,
}

impl Reader {
    /// A reader that paints code, or not.
    pub(crate) fn new(colourless: bool) -> Self {
        Self {
            colourless,
            ..Self::default()
        }
    }

    /// True if code gets no colours.
    pub(crate) const fn is_colourless(&self) -> bool {
        self.colourless
    }

    /// Gives code of later blocks colours, or none.
    pub(crate) const fn set_colourless(&mut self, colourless: bool) {
        self.colourless = colourless;
    }

    /// Takes a piece and returns the blocks that are complete.
    pub(crate) fn push(&mut self, piece: &str) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut text = std::mem::take(&mut self.partial);
        text.push_str(piece);
        let end = text.rfind('\n').map_or(0, |end| end + 1);
        for line in text[..end].lines() {
            self.line(line, &mut blocks);
        }
        text.drain(..end);
        self.partial = text;
        blocks
    }

    /// Ends the answer and returns what is left.
    pub(crate) fn finish(&mut self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let line = std::mem::take(&mut self.partial);
        if !line.is_empty() {
            self.line(&line, &mut blocks);
        }
        self.end_table(&mut blocks);
        *self = Self::new(self.colourless);
        blocks
    }

    /// Blocks that would follow if the answer ended here, for the live part of the screen.
    pub(crate) fn tail(&self) -> Vec<Block> {
        if self.partial.is_empty() && self.table.is_empty() {
            return Vec::new();
        }
        self.clone().finish()
    }

    fn line(&mut self, line: &str, blocks: &mut Vec<Block>) {
        let trimmed = line.trim_start();
        if let Some(fence) = &self.fence {
            if trimmed.starts_with(fence.as_str())
                && trimmed
                    .trim_end()
                    .chars()
                    .all(|mark| fence.starts_with(mark))
            {
                self.fence = None;
            } else {
                blocks.push(Block::Code(self.painter.line(&clean(line))));
            }
            return;
        }
        if trimmed.starts_with('|') {
            if self.table.is_empty() {
                self.put_blank(blocks);
            }
            self.table.push(clean(trimmed));
            if self.table.len() >= LONGEST_TABLE {
                self.end_table(blocks);
            }
            self.begun = true;
            return;
        }
        self.end_table(blocks);
        if trimmed.is_empty() {
            self.blank = self.begun;
            return;
        }
        self.begun = true;
        self.put_blank(blocks);
        if let Some(fence) = fence(trimmed) {
            let language = clean(trimmed[fence.len()..].trim());
            self.fence = Some(fence.to_owned());
            self.painter = if self.colourless {
                Painter::default()
            } else {
                Painter::of(&language)
            };
            if !language.is_empty() {
                blocks.push(Block::Language(language));
            }
            return;
        }
        blocks.push(prose(line));
    }

    fn put_blank(&mut self, blocks: &mut Vec<Block>) {
        if std::mem::take(&mut self.blank) {
            blocks.push(Block::Blank);
        }
    }

    fn end_table(&mut self, blocks: &mut Vec<Block>) {
        let rows = std::mem::take(&mut self.table);
        if rows.get(1).is_none_or(|row| !is_separator(row)) {
            blocks.extend(rows.iter().map(|row| prose(row)));
            return;
        }
        let cells = |row: &String| {
            let row = row.trim().trim_start_matches('|').trim_end_matches('|');
            row.split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let content = rows.iter().enumerate().filter(|(at, _)| *at != 1);
        blocks.push(Block::Table(content.map(|(_, row)| cells(row)).collect()));
    }
}

/// Marker of a code block at the beginning of a line.
fn fence(line: &str) -> Option<&str> {
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let end = line.find(|other| other != mark).unwrap_or(line.len());
    let is_code_span = mark == '`' && line[end..].contains('`');
    (end >= 3 && !is_code_span).then(|| &line[..end])
}

fn is_separator(row: &str) -> bool {
    row.contains('-')
        && row
            .chars()
            .all(|mark| matches!(mark, '|' | '-' | ':' | ' '))
}

/// A line outside of code and tables.
fn prose(line: &str) -> Block {
    let line = clean(line);
    let trimmed = line.trim_start();
    let indent = (line.len() - trimmed.len()).min(20);
    let level = trimmed.chars().take_while(|mark| *mark == '#').count();
    if (1..=6).contains(&level) && trimmed[level..].starts_with(' ') {
        return Block::Heading(
            trimmed[level..]
                .trim()
                .trim_end_matches('#')
                .trim_end()
                .to_owned(),
        );
    }
    if let Some(rest) = trimmed.strip_prefix('>') {
        return Block::Quote(rest.trim_start().to_owned());
    }
    let unspaced: String = trimmed.chars().filter(|mark| *mark != ' ').collect();
    let mut marks = unspaced.chars();
    if unspaced.len() >= 3
        && let Some(mark) = marks.next().filter(|mark| matches!(mark, '-' | '*' | '_'))
        && marks.all(|other| other == mark)
    {
        return Block::Rule;
    }
    let (marker, text) = list_marker(trimmed).unwrap_or((String::new(), trimmed));
    Block::Text {
        indent,
        marker,
        text: text.to_owned(),
    }
}

/// Marker of a list as it is shown, and the text behind it.
fn list_marker(line: &str) -> Option<(String, &str)> {
    for bullet in ["- ", "* ", "+ "] {
        if let Some(rest) = line.strip_prefix(bullet) {
            let (done, rest) = match rest.get(..4) {
                Some("[ ] ") => ("☐ ", &rest[4..]),
                Some("[x] " | "[X] ") => ("☑ ", &rest[4..]),
                _ => ("• ", rest),
            };
            return Some((done.to_owned(), rest));
        }
    }
    let digits = line
        .find(|mark: char| !mark.is_ascii_digit())
        .filter(|digits| (1..=6).contains(digits))?;
    let rest = line[digits..].strip_prefix(['.', ')'])?.strip_prefix(' ')?;
    Some((format!("{} ", &line[..=digits]), rest))
}

/// Inline Markdown of one line, as pieces of text.
pub(crate) fn inline(text: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut roles = vec![Role::Plain];
    let mut link: Option<(String, usize)> = None;
    let mut put = |text: &str, role: Role| match spans.last_mut() {
        Some(last) if last.role == role => last.text.push_str(text),
        _ => spans.push(Span::new(text, role)),
    };
    for (event, range) in Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH).into_offset_iter() {
        let role = roles.last().copied().unwrap_or_default();
        match event {
            Event::Start(Tag::Strong) => roles.push(Role::Strong),
            Event::Start(Tag::Emphasis) => roles.push(Role::Emphasis),
            Event::Start(Tag::Link { dest_url, .. }) => {
                link = Some((dest_url.to_string(), range.start));
            }
            Event::End(TagEnd::Strong | TagEnd::Emphasis) => {
                roles.pop();
            }
            Event::End(TagEnd::Link) => {
                // The address is shown unless it is the text.
                if let Some((address, start)) = link.take()
                    && !text[start..]
                        .trim_start_matches(['[', '<'])
                        .starts_with(&address)
                {
                    put(&format!(" ({})", clean(&address)), Role::Dim);
                }
            }
            Event::Text(text) => put(&clean(&text), role),
            Event::Code(code) => put(&clean(&code), Role::Code),
            Event::Html(html) | Event::InlineHtml(html) => put(&clean(html.trim_end()), role),
            Event::SoftBreak | Event::HardBreak => put(" ", role),
            _ => {}
        }
    }
    // A line that Markdown takes for structure only, such as `1.`, is shown as written.
    if spans.is_empty() && !text.trim().is_empty() {
        spans.push(Span::plain(text));
    }
    spans
}

impl Block {
    /// The block at a width.
    pub fn lines(&self, columns: usize) -> Vec<Line> {
        match self {
            Self::Blank => vec![Line::default()],
            Self::Heading(text) => {
                let spans = inline(text).into_iter();
                let spans: Vec<Span> = spans
                    .map(|span| Span::new(span.text, Role::Heading))
                    .collect();
                wrap(&spans, columns, 0)
            }
            Self::Text {
                indent,
                marker,
                text,
            } => {
                let mut spans = Vec::new();
                if indent + marker.len() > 0 {
                    spans.push(Span::plain(format!("{}{marker}", " ".repeat(*indent))));
                }
                spans.extend(inline(text));
                wrap(&spans, columns, indent + width(marker))
            }
            Self::Quote(text) => {
                let lines = wrap(&inline(text), columns.saturating_sub(2), 0).into_iter();
                let quoted = |mut line: Line| {
                    line.spans.insert(0, Span::new("│ ", Role::Dim));
                    line
                };
                lines.map(quoted).collect()
            }
            Self::Language(name) => vec![Line::of(format!("  {name}"), Role::Dim)],
            Self::Code(spans) => syntax::folded(spans, columns),
            Self::Table(rows) => table(rows, columns),
            Self::Rule => vec![Line::of("─".repeat(columns.min(40)), Role::Dim)],
        }
    }
}

fn table(rows: &[Vec<String>], columns: usize) -> Vec<Line> {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let spans: Vec<Vec<Vec<Span>>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| inline(cell)).collect())
        .collect();
    let size = |cell: &Vec<Span>| cell.iter().map(|span| width(&span.text)).sum::<usize>();
    let mut widths: Vec<usize> = (0..count)
        .map(|at| {
            spans
                .iter()
                .filter_map(|row| row.get(at))
                .map(size)
                .max()
                .unwrap_or_default()
        })
        .collect();
    let gaps = count.saturating_sub(1) * 2;
    while widths.iter().sum::<usize>() + gaps > columns {
        let Some(widest) = widths
            .iter_mut()
            .max()
            .filter(|widest| **widest > NARROWEST)
        else {
            break;
        };
        *widest -= 1;
    }
    let mut lines = Vec::new();
    for (nth, row) in spans.iter().enumerate() {
        let cells: Vec<Vec<Line>> = widths
            .iter()
            .enumerate()
            .map(|(at, size)| {
                wrap(
                    row.get(at).map(Vec::as_slice).unwrap_or_default(),
                    (*size).max(1),
                    0,
                )
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        for part in 0..height {
            let mut line = Line::default();
            for (cell, size) in cells.iter().zip(&widths) {
                let used = line.width();
                let empty = Line::default();
                let piece = cell.get(part).unwrap_or(&empty);
                for span in &piece.spans {
                    let role = if nth == 0 { Role::Strong } else { span.role };
                    line = line.with(span.text.clone(), role);
                }
                let pad = (used + size + 2).saturating_sub(line.width());
                line = line.with(" ".repeat(pad), Role::Plain);
            }
            line.trim_end();
            lines.push(crate::text::clip_line(line, columns));
        }
        if nth == 0 {
            let rule: Vec<String> = widths.iter().map(|size| "─".repeat(*size)).collect();
            lines.push(crate::text::clip_line(
                Line::of(rule.join("  "), Role::Dim),
                columns,
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const ANSWER: &str = "\n# Plan **A**\n\nFirst *this*, then `that`; see [docs](https://x.org/d) or <https://y.org>.\n- one\n  - [x] two\n12. twelve\n> said\n\n```rust\nfn main() {\n\n    let a = \"```\";\n}\n```\n| a | long head |\n|---|:--|\n| 1 | **2** |\n---\n1.\nend";

    fn shown(source: &str, columns: usize) -> String {
        let mut reader = Reader::default();
        let mut blocks = reader.push(source);
        blocks.extend(reader.finish());
        let lines = blocks.iter().flat_map(|block| block.lines(columns));
        lines.map(|line| line.text() + "\n").collect()
    }

    #[test]
    fn an_answer_is_laid_out() {
        insta::assert_snapshot!(shown(ANSWER, 40));
    }

    #[test]
    fn pieces_give_the_same_blocks_as_the_whole() {
        let mut whole = Reader::default();
        let mut expected = whole.push(ANSWER);
        expected.extend(whole.finish());
        for size in 1..9 {
            let mut reader = Reader::default();
            let mut blocks = Vec::new();
            let characters: Vec<char> = ANSWER.chars().collect();
            for piece in characters.chunks(size) {
                blocks.extend(reader.push(&piece.iter().collect::<String>()));
                // Looking at the tail changes nothing.
                drop(reader.tail());
            }
            blocks.extend(reader.finish());
            assert_eq!(blocks, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn no_block_is_wider_than_the_screen() {
        for columns in 8..60 {
            for line in shown(ANSWER, columns).lines() {
                assert!(width(line) <= columns, "{line:?} at {columns}");
            }
        }
    }
}
