//! Lines of a screen: text with roles. A theme gives roles their colours when they are painted.

use crate::text;
use std::fmt::Write as _;

/// Meaning of a piece of text on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// Running text without emphasis.
    #[default]
    Plain,
    /// Text that stands out.
    Strong,
    /// Stressed text inside a sentence.
    Emphasis,
    /// Text beside the subject.
    Dim,
    /// Words of the user, and places where he acts.
    Accent,
    /// Headings of an answer.
    Heading,
    /// Source code, paths and commands.
    Code,
    /// A success, and lines that are added.
    Good,
    /// A failure, and lines that are removed.
    Bad,
    /// Text that people should not miss.
    Warning,
    /// The chosen one of several.
    Chosen,
    /// Comments in source code.
    Comment,
    /// Words of a language itself.
    Keyword,
    /// Texts in quotation marks.
    Text,
    /// Numbers, escapes and other constants.
    Constant,
    /// Functions and macros.
    Function,
    /// Types, tags and attributes.
    Type,
}

/// Colours of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// For a dark background.
    #[default]
    Dark,
    /// For a light background.
    Light,
    /// Without colours: bold and underlined text only.
    Mono,
    /// Without any escape sequence.
    Flat,
}

impl Theme {
    /// True if roles have colours.
    pub(crate) const fn has_colours(self) -> bool {
        matches!(self, Self::Dark | Self::Light)
    }

    /// Parameters of the escape sequence that begins a role; none if it looks like running text.
    /// The sixteen colours of the terminal's own palette, so that a person's choice holds.
    const fn codes(self, role: Role) -> &'static str {
        match self {
            Self::Flat => "",
            Self::Mono => match role {
                Role::Plain
                | Role::Dim
                | Role::Code
                | Role::Comment
                | Role::Keyword
                | Role::Text
                | Role::Constant
                | Role::Function
                | Role::Type => "",
                Role::Emphasis => "3",
                Role::Chosen => "7",
                Role::Heading => "1;4",
                Role::Strong | Role::Accent | Role::Good | Role::Bad | Role::Warning => "1",
            },
            Self::Dark | Self::Light => match role {
                Role::Plain => "",
                Role::Strong => "1",
                Role::Emphasis => "3",
                Role::Dim | Role::Comment => "2",
                Role::Heading => "1;35",
                Role::Keyword => "35",
                Role::Good | Role::Text => "32",
                Role::Bad => "31",
                Role::Chosen | Role::Accent => self.of("1;36", "1;34"),
                Role::Code | Role::Type => self.of("36", "34"),
                // Plain blue cannot be read on black.
                Role::Function => self.of("94", "34"),
                Role::Constant => self.of("33", "31"),
                // Plain yellow cannot be read on white.
                Role::Warning => self.of("33", "1;33"),
            },
        }
    }

    const fn of(self, dark: &'static str, light: &'static str) -> &'static str {
        match self {
            Self::Light => light,
            Self::Dark | Self::Mono | Self::Flat => dark,
        }
    }
}

/// A piece of text with its role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Text without control characters.
    pub text: String,
    /// Meaning of the text.
    pub role: Role,
}

impl Span {
    /// A piece of text with a role. Control characters are replaced, so that no name or path that
    /// comes from outside steers the terminal.
    pub fn new(text: impl Into<String>, role: Role) -> Self {
        let mut text = text.into();
        if text.chars().any(char::is_control) {
            text = text::clean(&text);
        }
        Self { text, role }
    }

    /// A piece of running text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Role::Plain)
    }
}

/// A line of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Pieces from left to right.
    pub spans: Vec<Span>,
}

impl Line {
    /// A line of one piece.
    pub fn of(text: impl Into<String>, role: Role) -> Self {
        Self::default().with(text, role)
    }

    /// The line with a further piece.
    #[must_use]
    pub fn with(mut self, text: impl Into<String>, role: Role) -> Self {
        let span = Span::new(text, role);
        if !span.text.is_empty() {
            self.spans.push(span);
        }
        self
    }

    /// Columns that the line takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| text::width(&span.text)).sum()
    }

    /// The line's text without its roles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    pub(crate) fn trim_end(&mut self) {
        while let Some(last) = self.spans.last_mut() {
            last.text.truncate(last.text.trim_end_matches(' ').len());
            if !last.text.is_empty() {
                return;
            }
            self.spans.pop();
        }
    }

    /// Appends the line with the escape sequences of a theme.
    pub(crate) fn paint(&self, theme: Theme, out: &mut String) {
        for span in &self.spans {
            let codes = theme.codes(span.role);
            if codes.is_empty() {
                out.push_str(&span.text);
            } else {
                // Writing to a string cannot fail.
                let _infallible = write!(out, "\u{1b}[{codes}m{}\u{1b}[0m", span.text);
            }
        }
    }
}
