//! A line of text in parts, each with a role that decides its looks.

use super::text::printable;
use std::fmt;

/// The kind of a piece of text. Colour is never its only sign: the words say it too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text, in the terminal's own colour.
    #[default]
    Plain,
    /// A heading, a name to find on the screen.
    Strong,
    /// Detail that may be skipped: units, ids, reasons.
    Dim,
    /// Something as it should be, or a change that succeeded.
    Good,
    /// Something to look at; the command succeeded nevertheless.
    Warning,
    /// Something that failed or was refused.
    Error,
    /// A command to type next.
    Hint,
    /// The nth category of a chart; colours repeat after six.
    Series(usize),
}

/// Colours of categories: six of the eight terminal colours. Black and white are left out, since
/// one of them is the background.
const SERIES: [&str; 6] = ["34", "32", "33", "35", "36", "31"];

impl Role {
    fn code(self) -> Option<&'static str> {
        Some(match self {
            Self::Plain => return None,
            Self::Strong => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Warning => "33",
            Self::Error => "1;31",
            Self::Hint => "36",
            Self::Series(nth) => SERIES[nth % SERIES.len()],
        })
    }
}

/// Escape codes on or off; off for pipes, `NO_COLOR` and `--color never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    On,
    Off,
}

/// One line of output, without its line break.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    parts: Vec<(Role, String)>,
}

impl Line {
    /// An empty line, to add parts to.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text in the terminal's own colour.
    #[must_use]
    pub fn text(self, text: impl fmt::Display) -> Self {
        self.role(Role::Plain, text)
    }

    /// Adds text with a role. Control characters in it are shown, not sent.
    #[must_use]
    pub fn role(mut self, role: Role, text: impl fmt::Display) -> Self {
        let text = text.to_string();
        self.parts.push((role, printable(&text).into_owned()));
        self
    }

    pub(super) fn render(&self, paint: Paint) -> String {
        self.parts
            .iter()
            .map(|(role, text)| painted(*role, text, paint))
            .collect()
    }
}

impl<T: fmt::Display> From<T> for Line {
    fn from(text: T) -> Self {
        Self::new().text(text)
    }
}

/// Text in the colours of its role. Empty text gets no codes, so that no line ends in an escape.
pub(super) fn painted(role: Role, text: &str, paint: Paint) -> String {
    match (role.code(), paint) {
        (Some(code), Paint::On) if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_added_only_where_wanted_and_text_cannot_bring_its_own() {
        let line = Line::new()
            .role(Role::Error, "error")
            .text(": \u{1b}[2J")
            .role(Role::Dim, "");
        assert_eq!(line.render(Paint::Off), "error: \\u{1b}[2J");
        assert_eq!(
            line.render(Paint::On),
            "\u{1b}[1;31merror\u{1b}[0m: \\u{1b}[2J"
        );
    }
}
