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

/// The text with everything that would steer a terminal, reorder a line or hide in it made visible.
pub fn printable(text: &str) -> Cow<'_, str> {
    shown(text, Breaks::Shown)
}

/// Text of several lines as [`printable`] gives it, with its line breaks left in.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    shown(text, Breaks::Kept)
}

/// JSON with everything in it escaped that [`printable`] would make visible. Outside of strings JSON
/// has no such character, so that the text means the same.
pub(super) fn printable_json(json: &str) -> Cow<'_, str> {
    // Line breaks and tabs between the members are JSON's own; inside strings they are escaped.
    let hides = |character| !matches!(character, '\n' | '\t') && hides(character);
    if !json.contains(hides) {
        return Cow::Borrowed(json);
    }
    let mut result = String::with_capacity(json.len());
    for character in json.chars() {
        if hides(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(result, "\\u{unit:04x}");
            }
        } else {
            result.push(character);
        }
    }
    Cow::Owned(result)
}

/// Treatment of line breaks in a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    /// Made visible: the text belongs on one line.
    Shown,
    /// Left as they are.
    Kept,
}

fn shown(text: &str, breaks: Breaks) -> Cow<'_, str> {
    let kept = |character: char| character == '\n' && breaks == Breaks::Kept;
    // Nearly every text is harmless; only the others are copied.
    if !text.contains(|character| hides(character) && !kept(character)) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            other if kept(other) => result.push(other),
            '\n' => result.push_str("\\n"),
            '\t' => result.push_str("\\t"),
            joint if is_joint(before, joint, rest.clone().next()) => result.push(joint),
            other if hides(other) => {
                // Writing to a string cannot fail.
                let _ = write!(result, "\\u{{{:x}}}", u32::from(other));
            }
            other => result.push(other),
        }
        before = Some(character);
    }
    Cow::Owned(result)
}

/// True for characters that a terminal obeys or does not show: controls (C0, DEL, C1), those that
/// reorder a line, those without width, fillers and tags. A name from a file could hide its end
/// behind them, look like another name, or paint over lines already printed.
fn hides(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
                | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// True for a character without width that makes one picture of its neighbours, or chooses between
/// two pictures: emoji are written so, and nothing hides behind it.
fn is_joint(before: Option<char>, joint: char, after: Option<char>) -> bool {
    let picture = |character: Option<char>| {
        character.is_some_and(|character| {
            matches!(character, '\u{2190}'..='\u{2bff}' | '\u{3030}'..='\u{303d}' | '\u{1f000}'..='\u{1faff}')
        })
    };
    match joint {
        '\u{fe0f}' => picture(before),
        '\u{200d}' => (picture(before) || before == Some('\u{fe0f}')) && picture(after),
        _ => false,
    }
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
            ("pay\u{200b}pal\u{feff}", "pay\\u{200b}pal\\u{feff}"),
            ("a\u{200d}b \u{fe0f}", "a\\u{200d}b \\u{fe0f}"),
            ("\u{7f}\u{e0041}", "\\u{7f}\\u{e0041}"),
            // Pictures of several characters stay pictures.
            (
                "\u{1f469}\u{200d}\u{1f4bb} \u{2764}\u{fe0f}",
                "\u{1f469}\u{200d}\u{1f4bb} \u{2764}\u{fe0f}",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(printable(text), expected);
        }
    }

    #[test]
    fn lines_stay_lines_where_they_may() {
        assert_eq!(printable_lines("a\nb\u{9b}2J"), "a\nb\\u{9b}2J");
        // Harmless ones are passed on as they are, so that callers may colour them.
        assert!(matches!(printable_lines("a\nb"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_means_the_same_and_hides_nothing() {
        let text = "a\u{7f}\u{85}\u{9b}\u{202e}\u{200b}\u{e0041}\u{1f469}\u{200d}\u{1f4bb}\n\t";
        let json = serde_json::to_string_pretty(&[text]).unwrap();
        let safe = printable_json(&json);
        assert!(
            !safe.contains(|character| hides(character) && character != '\n'),
            "{safe}"
        );
        assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), [text]);
        assert!(matches!(printable_json("{\n \"a\": 1}"), Cow::Borrowed(_)));
    }
}
