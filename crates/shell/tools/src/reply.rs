//! Results of tools, and the bounded text they are put into.

use crate::limits::{LONGEST_RESULT, LONGEST_TARGET};
use dormouse_core::show;
use dormouse_system::FileError;
use std::fmt;

/// Text for the model, or the failure.
pub(crate) type Reply = Result<String, Failure>;

/// Failure of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Denied: the call asked for something that is not allowed.
    Denied {
        /// Path or command line that was asked for, shortened.
        target: String,
        /// Reason, and what is allowed instead.
        reason: String,
    },
    /// Failed for another reason; the text is for the model.
    Failed(String),
}

impl Failure {
    pub(crate) fn denied(target: &str, reason: impl Into<String>) -> Self {
        Self::Denied {
            // A command line may hold a whole file; the log needs its beginning only.
            target: shorten(target, LONGEST_TARGET).to_owned(),
            reason: reason.into(),
        }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        Self::Failed(show::chain(&error))
    }
}

/// Call that was not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Name of the tool.
    pub tool: String,
    /// Path or command line that was asked for, shortened.
    pub target: String,
    /// Reason, as the model was told.
    pub reason: String,
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of `{}`: {}", self.tool, self.target, self.reason)
    }
}

/// First bytes of a text, cut between characters.
pub(crate) fn shorten(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Text that does not grow over the limit of a result.
#[derive(Debug, Default)]
pub(crate) struct Page {
    text: String,
    full: bool,
}

impl Page {
    /// Adds a line; returns false if there is no more room.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        // Full for good: a shorter line behind a gap would look as if nothing were missing.
        if self.full || self.text.len() + line.len() >= LONGEST_RESULT {
            self.full = true;
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Adds as much of a text as there is room for.
    pub(crate) fn text(&mut self, text: &str) {
        // One byte for the newline that `line` adds.
        let room = LONGEST_RESULT.saturating_sub(self.text.len() + 1);
        let fitting = shorten(text, room);
        if self.line(fitting) {
            self.full = fitting.len() < text.len();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Text, with remarks in brackets at the end.
    pub(crate) fn finish(mut self, notes: impl IntoIterator<Item = String>) -> String {
        if self.full {
            let note = format!("[cut: a result holds at most {LONGEST_RESULT} bytes]\n");
            self.text.push_str(&note);
        }
        for note in notes {
            self.text.push('[');
            self.text.push_str(&note);
            self.text.push_str("]\n");
        }
        // A trailing newline costs tokens and says nothing.
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stays_within_its_limit_and_says_so() {
        let mut page = Page::default();
        let line = "x".repeat(999);
        let fitted = (0..100).take_while(|_| page.line(&line)).count();
        assert_eq!(fitted, 60);
        assert!(!page.line("short"), "what is full stays full");
        let text = page.finish(["a note".to_owned()]);
        assert!(text.ends_with("[cut: a result holds at most 60000 bytes]\n[a note]"));
    }

    #[test]
    fn of_a_long_text_the_beginning_is_kept() {
        let mut page = Page::default();
        page.line("first");
        page.text(&"ä".repeat(LONGEST_RESULT));
        page.text("no more");
        let text = page.finish(None);
        assert!(text.starts_with("first\nääää") && text.contains("ä\n[cut: "));
        assert!(!text.contains("no more"));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(shorten("aäb", 2), "a");
        assert_eq!(shorten("aäb", 3), "aä");
        assert_eq!(shorten("a", 9), "a");
    }
}
