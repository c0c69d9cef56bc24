//! Text in terminal columns: measured, cut, wrapped, and kept from steering the terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Columns that a text takes: two for a wide character, none for a combining one.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text, cut at `columns` with an ellipsis if it is longer.
pub fn clipped(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else {
        // No column is left even for the ellipsis.
        return Cow::Borrowed("");
    };
    let mut used = 0;
    let mut kept = String::new();
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > room {
            break;
        }
        kept.push(character);
    }
    kept.push('…');
    Cow::Owned(kept)
}

/// The text in lines of at most `columns`, broken at spaces; a word that is longer stands alone.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.width() + 1 + word.width() > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// The text with everything that would steer a terminal or reorder a line made visible.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => result.push_str("\\n"),
            '\t' => result.push_str("\\t"),
            other if steers(other) => {
                // Writing to a string cannot fail.
                let _ = write!(result, "\\u{{{:x}}}", u32::from(other));
            }
            other => result.push(other),
        }
    }
    Cow::Owned(result)
}

/// True for control characters and those that reorder a line: an id from a file could hide its end
/// behind them, or paint over lines already printed.
fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn clipping_counts_columns_not_characters() {
        let cases = [
            ("dormouse", 8, "dormouse"),
            ("dormouse", 5, "dorm…"),
            ("睡鼠睡鼠", 8, "睡鼠睡鼠"),
            ("睡鼠睡鼠", 6, "睡鼠…"),
            ("睡鼠睡鼠", 7, "睡鼠睡…"),
            ("cafe\u{301}s", 5, "cafe\u{301}s"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ];
        for (text, columns, expected) in cases {
            assert_eq!(clipped(text, columns), expected, "{text} in {columns}");
            assert!(width(&clipped(text, columns)) <= columns);
        }
    }

    #[test]
    fn wrapping_breaks_at_spaces_and_loses_no_word() {
        assert_eq!(wrapped("", 10), Vec::<String>::new());
        assert_eq!(wrapped("a bc  def\nghi", 4), ["a bc", "def", "ghi"]);
        assert_eq!(wrapped("unbreakable it", 4), ["unbreakable", "it"]);
        assert_eq!(wrapped("睡鼠 睡鼠", 5), ["睡鼠", "睡鼠"]);
    }

    #[test]
    fn nothing_printed_steers_the_terminal() {
        let cases = [
            ("plain – ok 睡", "plain – ok 睡"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\nb\tc\r", "a\\nb\\tc\\u{d}"),
            ("x\u{202e}y\u{9b}", "x\\u{202e}y\\u{9b}"),
        ];
        for (text, expected) in cases {
            assert_eq!(printable(text), expected);
        }
    }
}
