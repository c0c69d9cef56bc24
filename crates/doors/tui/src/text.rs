//! Text in terminal columns: cleaned, measured, cut and wrapped.

use crate::line::{Line, Role, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Columns of a tab, as editors and pagers agree for code.
const TAB: &str = "    ";

/// Columns that a text takes: two for a wide character, none for a combining one.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text without anything that steers a terminal, reorders a line or hides in it. Line breaks
/// become spaces: a caller splits lines first.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => cleaned.push_str(TAB),
            '\n' | '\r' => cleaned.push(' '),
            hidden if is_hidden(hidden) => cleaned.push('\u{fffd}'),
            visible => cleaned.push(visible),
        }
    }
    cleaned
}

/// Control characters, and marks that change the direction of a line. A joiner is part of emoji and
/// of several scripts and stays.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Lines of a text, each cleaned. A carriage return inside a line, as progress bars write it, keeps
/// what is behind the last one.
pub(crate) fn clean_lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(|line| {
        let line = line.trim_end_matches('\r');
        let shown = line.rsplit('\r').next().unwrap_or(line);
        clean(&without_escapes(shown))
    })
}

/// The text without escape sequences: commands colour their output, and a replaced byte would leave
/// the rest of each sequence as rubbish.
fn without_escapes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            kept.push(character);
            continue;
        }
        match characters.next() {
            Some('[') => {
                while characters
                    .next()
                    .is_some_and(|next| !('@'..='~').contains(&next))
                {}
            }
            Some(']') => {
                while let Some(next) = characters.next() {
                    if next == '\u{7}' {
                        break;
                    }
                    if next == '\u{1b}' && characters.next_if_eq(&'\\').is_some() {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
    kept
}

/// The text, cut at `columns` with an ellipsis if it is longer.
pub(crate) fn clip(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for grapheme in text.graphemes(true) {
        used += width(grapheme);
        if used + 1 > columns {
            break;
        }
        kept.push_str(grapheme);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// A line, cut at `columns`.
pub(crate) fn clip_line(line: Line, columns: usize) -> Line {
    if line.width() <= columns {
        return line;
    }
    let mut room = columns;
    let mut kept = Vec::new();
    for span in line.spans {
        let used = width(&span.text);
        if used < room {
            room -= used;
            kept.push(span);
            continue;
        }
        // Another span follows or the text is too long: either way an ellipsis stands here.
        let text = clip(&format!("{} ", span.text), room);
        kept.push(Span::new(text.trim_end(), span.role));
        break;
    }
    Line { spans: kept }
}

/// Spans in lines of at most `columns`, broken at spaces; a longer word is broken where it must be.
/// Lines behind the first begin with `hang` spaces.
pub(crate) fn wrap(spans: &[Span], columns: usize, hang: usize) -> Vec<Line> {
    let columns = columns.max(4);
    let hang = hang.min(columns / 2);
    let mut wrapping = Wrapping {
        lines: Vec::new(),
        line: Line::default(),
        used: 0,
        columns,
        hang,
    };
    for span in spans {
        for word in span.text.split_word_bounds() {
            wrapping.put(word, span.role);
        }
    }
    wrapping.end()
}

/// State of wrapping a paragraph.
struct Wrapping {
    lines: Vec<Line>,
    line: Line,
    used: usize,
    columns: usize,
    hang: usize,
}

impl Wrapping {
    fn put(&mut self, word: &str, role: Role) {
        let size = width(word);
        if self.used + size <= self.columns {
            self.push(word, role, size);
            return;
        }
        // A space at the break is the break.
        if word.trim().is_empty() {
            self.next();
            return;
        }
        // A part of a word, such as a full stop, stays with the part before it where that fits.
        let carried = self.carried(size);
        if self.used > self.hang_now() {
            self.next();
        }
        for span in carried {
            let size = width(&span.text);
            self.push(&span.text, span.role, size);
        }
        if self.used + size <= self.columns {
            self.push(word, role, size);
            return;
        }
        for grapheme in word.graphemes(true) {
            let size = width(grapheme);
            if self.used + size > self.columns {
                self.next();
            }
            self.push(grapheme, role, size);
        }
    }

    /// Takes back what stands behind the last space of the line, if both fit into one line.
    fn carried(&mut self, size: usize) -> Vec<Span> {
        let text: String = self
            .line
            .spans
            .iter()
            .map(|span| span.text.as_str())
            .collect();
        let Some(space) = text.rfind(' ') else {
            return Vec::new();
        };
        let tail = &text[space + 1..];
        let wide = tail
            .chars()
            .any(|character| width(character.encode_utf8(&mut [0; 4])) > 1);
        if tail.is_empty()
            || wide
            || space < self.hang
            || width(tail) + size + self.hang > self.columns
        {
            return Vec::new();
        }
        let mut left = tail.len();
        let mut carried = Vec::new();
        while left > 0 {
            let Some(mut last) = self.line.spans.pop() else {
                break;
            };
            if last.text.len() <= left {
                left -= last.text.len();
                carried.push(last);
            } else {
                let moved = last.text.split_off(last.text.len() - left);
                left = 0;
                carried.push(Span::new(moved, last.role));
                self.line.spans.push(last);
            }
        }
        carried.reverse();
        carried
    }

    const fn hang_now(&self) -> usize {
        if self.lines.is_empty() { 0 } else { self.hang }
    }

    fn push(&mut self, text: &str, role: Role, size: usize) {
        self.used += size;
        match self.line.spans.last_mut() {
            Some(last) if last.role == role => last.text.push_str(text),
            _ => self.line.spans.push(Span::new(text, role)),
        }
    }

    fn next(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        line.trim_end();
        self.lines.push(line);
        self.used = 0;
        if self.hang > 0 {
            let hang = " ".repeat(self.hang);
            self.push(&hang, Role::Plain, self.hang);
        }
    }

    fn end(mut self) -> Vec<Line> {
        self.line.trim_end();
        if !self.line.spans.is_empty() || self.lines.is_empty() {
            self.lines.push(self.line);
        }
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn wrapped(text: &str, columns: usize, hang: usize) -> Vec<String> {
        let lines = wrap(&[Span::plain(text)], columns, hang);
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn lines_break_at_spaces_and_long_words_anywhere() {
        assert_eq!(
            wrapped("the quick brown fox, jumps.", 10, 0),
            ["the quick", "brown fox,", "jumps."]
        );
        assert_eq!(wrapped("abcdefghijkl", 5, 0), ["abcde", "fghij", "kl"]);
        assert_eq!(wrapped("- one two three", 9, 2), ["- one two", "  three"]);
        assert_eq!(wrapped("", 9, 2), [""]);
    }

    #[test]
    fn no_line_is_wider_than_the_screen() {
        for columns in 4..40 {
            for text in [
                "日本語のテキストはここで折り返される。end",
                "a👨‍👩‍👧b word ü̈x https://example.org/a/b/c?d=e",
                "x  y   z",
            ] {
                for line in wrapped(text, columns, 3) {
                    assert!(width(&line) <= columns, "{line:?} at {columns}");
                }
            }
        }
    }

    #[test]
    fn nothing_in_a_text_steers_the_terminal() {
        let lines: Vec<String> =
            clean_lines("\u{1b}[31mred\u{1b}[0m\r\n50%\r100%\na\tb\u{202e}c\u{1b}]0;t\u{7}d\u{7}")
                .collect();
        assert_eq!(lines, ["red", "100%", "a    b\u{fffd}cd\u{fffd}"]);
    }

    #[test]
    fn a_clipped_text_ends_with_an_ellipsis() {
        assert_eq!(clip("日本語", 5), "日本…");
        assert_eq!(clip("日本語", 6), "日本語");
        assert_eq!(clip("abc", 0), "");
    }
}
