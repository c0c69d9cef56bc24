//! The composer: text that a person writes, with history, a kill ring and chips for long pastes and images.
//!
//! A chip is one private-use character in the text; it moves and is deleted as one, is shown as
//! `[pasted 5,000 lines]`, and becomes its text when the prompt is sent.

use crate::chip::{Chip, chip};
use crate::text::{clean, width};
use unicode_segmentation::UnicodeSegmentation as _;

/// Longest paste that stands in the composer as text, in characters and in lines.
const LONGEST_PASTE: (usize, usize) = (1_000, 8);
/// Prompts that the history keeps: some days of work.
const LONGEST_HISTORY: usize = 1_000;

/// Text under a cursor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Composer {
    pub(crate) text: String,
    /// Byte index of the cursor, at the boundary of a grapheme.
    pub(crate) cursor: usize,
    /// Chips by the order of their characters.
    pub(crate) chips: Vec<Chip>,
    killed: String,
    history: Vec<String>,
    /// Place in the history, and the draft that waits behind it.
    looking: Option<(usize, String)>,
}

/// The composer's text on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Rows at the width that was asked for.
    pub(crate) rows: Vec<String>,
    /// Row and column of the cursor.
    pub(crate) cursor: (usize, usize),
}

impl Composer {
    /// True if nothing is written.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Text as written, with a character for each paste.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Takes the prompt out, pastes included, and remembers it.
    pub(crate) fn take(&mut self) -> String {
        let prompt = self.whole();
        self.remember(&prompt);
        self.clear();
        prompt
    }

    /// Empties the composer; the text can be taken back with the key that yanks.
    pub(crate) fn clear(&mut self) {
        if !self.text.is_empty() {
            self.killed = self.whole();
        }
        self.text.clear();
        self.chips.clear();
        self.cursor = 0;
        self.looking = None;
    }

    /// Adds a prompt to the history.
    pub(crate) fn remember(&mut self, prompt: &str) {
        if prompt.trim().is_empty() || self.history.last().is_some_and(|last| last == prompt) {
            return;
        }
        self.history.push(prompt.to_owned());
        if self.history.len() > LONGEST_HISTORY {
            self.history.remove(0);
        }
    }

    /// Replaces the draft, its pasted parts too; the cursor goes to the end.
    pub(crate) fn set(&mut self, text: &str) {
        self.text = own(text);
        self.chips.clear();
        self.cursor = self.text.len();
    }

    /// The word before the cursor, if it begins with a sign; without the sign.
    pub(crate) fn begun(&self, sign: char) -> Option<&str> {
        let before = &self.text[..self.cursor];
        before
            .rsplit(char::is_whitespace)
            .next()?
            .strip_prefix(sign)
    }

    /// Puts a text in place of the word before the cursor.
    pub(crate) fn finish_word(&mut self, text: &str) {
        let before = &self.text[..self.cursor];
        let word = before.rsplit(char::is_whitespace).next();
        self.cut(self.cursor - word.map_or(0, str::len), self.cursor);
        self.insert(text);
    }

    /// Text with its pastes.
    pub(crate) fn whole(&self) -> String {
        let mut whole = String::new();
        for character in self.text.chars() {
            match chip(character) {
                Some(at) => whole.push_str(&self.chips.get(at).map(Chip::text).unwrap_or_default()),
                None => whole.push(character),
            }
        }
        whole
    }

    /// Writes text at the cursor.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = own(text);
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        // A combining mark joins the grapheme before it.
        self.cursor = self.boundary(self.cursor);
    }

    /// Pastes a text; a long one becomes a chip.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines = text.lines().count();
        let long = lines > LONGEST_PASTE.1 || text.chars().count() > LONGEST_PASTE.0;
        if !long || !self.put_chip(Chip::Paste(text.clone())) {
            self.insert(&text);
        }
    }

    pub(crate) fn boundary(&self, at: usize) -> usize {
        let starts = self.text.grapheme_indices(true).map(|(start, _)| start);
        starts
            .chain([self.text.len()])
            .find(|start| *start >= at)
            .unwrap_or(self.text.len())
    }

    fn before(&self) -> usize {
        let last = self.text[..self.cursor].grapheme_indices(true).next_back();
        last.map_or(0, |(start, _)| start)
    }

    fn after(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn word_before(&self) -> usize {
        let mut words = self.text[..self.cursor].unicode_word_indices();
        words.next_back().map_or(0, |(start, _)| start)
    }

    fn word_after(&self) -> usize {
        let mut words = self.text[self.cursor..].unicode_word_indices();
        words.next().map_or(self.text.len(), |(start, word)| {
            self.cursor + start + word.len()
        })
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..]
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at)
    }

    fn cut(&mut self, from: usize, to: usize) -> String {
        let cut: String = self.text.drain(from..to).collect();
        self.cursor = from;
        cut
    }

    fn kill(&mut self, from: usize, to: usize) {
        let cut = self.cut(from, to);
        if !cut.is_empty() {
            // A chip cannot come back under another number: its text does.
            let text = |character: char| match chip(character) {
                Some(at) => self.chips.get(at).map(Chip::text).unwrap_or_default(),
                None => character.to_string(),
            };
            self.killed = cut.chars().map(text).collect();
        }
    }

    /// Carries out a movement or a change.
    pub(crate) fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Left => self.cursor = self.before(),
            Edit::Right => self.cursor = self.after(),
            Edit::WordLeft => self.cursor = self.word_before(),
            Edit::WordRight => self.cursor = self.word_after(),
            Edit::Home => self.cursor = self.line_start(),
            Edit::End => self.cursor = self.line_end(),
            Edit::Backspace => {
                self.cut(self.before(), self.cursor);
            }
            Edit::Delete => {
                let from = self.cursor;
                self.cut(from, self.after());
            }
            Edit::KillWordLeft => self.kill(self.word_before(), self.cursor),
            Edit::KillWordRight => self.kill(self.cursor, self.word_after()),
            Edit::KillToEnd => self.kill(self.cursor, self.line_end()),
            Edit::KillToStart => self.kill(self.line_start(), self.cursor),
            Edit::Yank => {
                let killed = self.killed.clone();
                self.paste(&killed);
            }
        }
    }

    /// Moves a line up; false if the cursor is in the first one.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.line_start();
        if start == 0 {
            return false;
        }
        let column = width(&self.text[start..self.cursor]);
        self.cursor = start - 1;
        self.go_to_column(column);
        true
    }

    /// Moves a line down; false if the cursor is in the last one.
    pub(crate) fn down(&mut self) -> bool {
        let end = self.line_end();
        if end == self.text.len() {
            return false;
        }
        let column = width(&self.text[self.line_start()..self.cursor]);
        self.cursor = end + 1;
        self.go_to_column(column);
        true
    }

    /// Moves the cursor inside its line to a column.
    fn go_to_column(&mut self, column: usize) {
        let (start, end) = (self.line_start(), self.line_end());
        let mut used = 0;
        for (at, grapheme) in self.text[start..end].grapheme_indices(true) {
            used += width(grapheme);
            if used > column {
                self.cursor = start + at;
                return;
            }
        }
        self.cursor = end;
    }

    /// Shows an earlier prompt in place of the draft.
    pub(crate) fn earlier(&mut self) {
        let (at, draft) = match self.looking.take() {
            Some((at, draft)) => (at, draft),
            None => (self.history.len(), self.whole()),
        };
        if let Some(prompt) = at
            .checked_sub(1)
            .and_then(|at| self.history.get(at))
            .cloned()
        {
            self.set(&prompt);
            self.looking = Some((at - 1, draft));
        } else if at < self.history.len() {
            self.looking = Some((at, draft));
        }
    }

    /// Shows a later prompt, or the draft behind the last.
    pub(crate) fn later(&mut self) {
        let Some((at, draft)) = self.looking.take() else {
            return;
        };
        if let Some(prompt) = self.history.get(at + 1).cloned() {
            self.set(&prompt);
            self.looking = Some((at + 1, draft));
        } else {
            self.set("");
            self.paste(&draft);
        }
    }

    /// Newest earlier prompt that contains a text, before a place in the history.
    pub(crate) fn search(&self, text: &str, before: usize) -> Option<(usize, &str)> {
        let found = self.history.iter().enumerate().take(before).rev();
        let mut found = found.filter(|(_, prompt)| prompt.contains(text));
        found.next().map(|(at, prompt)| (at, prompt.as_str()))
    }

    /// Number of prompts in the history.
    pub(crate) fn remembered(&self) -> usize {
        self.history.len()
    }

    /// The text at a width.
    pub(crate) fn shown(&self, columns: usize) -> Shown {
        let columns = columns.max(4);
        let mut shown = Shown {
            rows: vec![String::new()],
            cursor: (0, 0),
        };
        let mut used = 0;
        for (at, grapheme) in self.text.grapheme_indices(true) {
            let label = self.label(grapheme);
            let text = label.as_deref().unwrap_or(grapheme);
            let size = width(text).min(columns);
            if grapheme != "\n" && used + size > columns {
                shown.rows.push(String::new());
                used = 0;
            }
            if at == self.cursor {
                shown.cursor = (shown.rows.len() - 1, used);
            }
            if grapheme == "\n" {
                shown.rows.push(String::new());
                used = 0;
                continue;
            }
            used += size;
            if let Some(row) = shown.rows.last_mut() {
                row.push_str(&crate::text::clip(text, columns));
            }
        }
        if self.cursor >= self.text.len() {
            // Behind a full row the cursor stands on the next.
            if used >= columns {
                shown.rows.push(String::new());
                used = 0;
            }
            shown.cursor = (shown.rows.len() - 1, used);
        }
        shown
    }

    /// Words in place of a chip.
    fn label(&self, grapheme: &str) -> Option<String> {
        let at = grapheme.chars().next().and_then(chip)?;
        self.chips.get(at).map(Chip::label)
    }
}

/// Movements and changes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// A character to the left.
    Left,
    /// A character to the right.
    Right,
    /// To the beginning of the word.
    WordLeft,
    /// To the end of the word.
    WordRight,
    /// To the beginning of the line.
    Home,
    /// To the end of the line.
    End,
    /// Deletes the character before the cursor.
    Backspace,
    /// Deletes the character behind the cursor.
    Delete,
    /// Cuts the word before the cursor.
    KillWordLeft,
    /// Cuts the word behind the cursor.
    KillWordRight,
    /// Cuts the rest of the line.
    KillToEnd,
    /// Cuts the line up to the cursor.
    KillToStart,
    /// Writes what was cut last.
    Yank,
}

/// Text without characters that stand for pastes, and without control characters but line breaks.
pub(crate) fn own(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<String> = text.split('\n').map(clean).collect();
    lines
        .join("\n")
        .replace(|character| chip(character).is_some(), "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn with(text: &str) -> Composer {
        let mut composer = Composer::default();
        composer.insert(text);
        composer
    }

    #[test]
    fn words_and_lines_are_moved_over_and_cut() {
        let mut composer = with("one two\nthree 四五");
        composer.edit(Edit::WordLeft);
        composer.edit(Edit::KillToEnd);
        assert_eq!(composer.text(), "one two\nthree 四");
        composer.edit(Edit::Home);
        composer.edit(Edit::Yank);
        assert_eq!(composer.text(), "one two\n五three 四");
        assert!(composer.up());
        composer.edit(Edit::KillToStart);
        assert_eq!(composer.text(), "e two\n五three 四");
        assert!(!composer.up());
        assert!(composer.down());
        assert!(!composer.down());
    }

    #[test]
    fn a_long_paste_is_one_character_until_it_is_sent() {
        let long = "line\n".repeat(5_000);
        let mut composer = with("see ");
        composer.paste(&long);
        composer.insert(" end");
        assert_eq!(composer.shown(60).rows, ["see [pasted 5,000 lines] end"]);
        composer.edit(Edit::Home);
        for _ in 0..5 {
            composer.edit(Edit::Right);
        }
        composer.edit(Edit::Backspace);
        assert_eq!(composer.shown(60).rows, ["see  end"]);
        composer.paste(&long);
        assert_eq!(composer.take(), format!("see {long} end"));
        assert!(composer.is_empty());
    }

    #[test]
    fn a_draft_waits_behind_the_history() {
        let mut composer = Composer::default();
        composer.remember("first");
        composer.remember("second");
        composer.insert("draft");
        composer.earlier();
        composer.earlier();
        composer.earlier();
        assert_eq!(composer.text(), "first");
        composer.later();
        composer.later();
        assert_eq!(composer.text(), "draft");
        assert_eq!(composer.search("irs", 2), Some((0, "first")));
    }

    #[test]
    fn wide_characters_and_full_rows_keep_the_cursor_on_the_screen() {
        let composer = with("日本語日本");
        let shown = composer.shown(5);
        assert_eq!(shown.rows, ["日本", "語日", "本"]);
        assert_eq!(shown.cursor, (2, 2));
        assert_eq!(with("abcd").shown(4).cursor, (1, 0));
    }

    #[test]
    fn a_text_cannot_hold_a_chip_or_steer_the_screen() {
        let composer = with("a\u{100000}b\u{1b}[2J\r\nc");
        assert_eq!(composer.text(), "a\u{fffd}b\u{fffd}[2J\nc");
    }
}
