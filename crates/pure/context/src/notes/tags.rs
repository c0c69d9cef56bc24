//! Edits written as tags in the text of an answer.
//!
//! `<section title="T">…</section>` replaces a section's body, `<append title="T">…</append>`
//! appends to it. A tag opens at the beginning of a line or right behind a closing one, and closes
//! where nothing else follows on the line; text around the tags is ignored. An incomplete tag is an
//! error, because guessing where a body ends could lose notes.

use super::answer::{AnswerError, Edit};
use dormouse_core::show;

/// The two kinds of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Section,
    Append,
}

impl Tag {
    /// All kinds, for trying each at a position.
    const ALL: [Self; 2] = [Self::Section, Self::Append];

    fn name(self) -> &'static str {
        match self {
            Self::Section => "section",
            Self::Append => "append",
        }
    }

    fn closing(self) -> &'static str {
        match self {
            Self::Section => "</section>",
            Self::Append => "</append>",
        }
    }

    fn edit(self, title: &str, body: &str) -> Edit {
        let (title, body) = (title.to_owned(), body.to_owned());
        match self {
            Self::Section => Edit::Section { title, body },
            Self::Append => Edit::Append { title, lines: body },
        }
    }
}

/// Beginning of the text at a position where a tag may stand.
enum Start<'a> {
    /// A complete opening tag: kind, title, and the rest behind it.
    Opening(Tag, &'a str, &'a str),
    /// A fragment of a tag, such as a closing tag without an opening one.
    Broken,
    /// Ordinary text, to be skipped up to the line's end.
    Words,
}

/// Edits in a text, in order.
pub(super) fn edits_in(text: &str) -> Result<Vec<Edit>, AnswerError> {
    let mut edits = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        // A tag counts only at the beginning of a line, so text is skipped line by line.
        rest = match start_of(rest) {
            Start::Opening(tag, title, behind) => {
                let (body, behind) = split_body(tag, title, behind)?;
                edits.push(tag.edit(title, body));
                behind
            }
            Start::Broken => {
                let line = rest.lines().next().unwrap_or_default();
                return Err(AnswerError::BrokenTag { text: short(line) });
            }
            Start::Words => rest.split_once('\n').map_or("", |(_, behind)| behind),
        }
        .trim_start();
    }
    Ok(edits)
}

fn start_of(text: &str) -> Start<'_> {
    for tag in Tag::ALL {
        // A closing tag without an opening one: the opening tag was misspelled or lost.
        if text.starts_with(tag.closing()) {
            return Start::Broken;
        }
        let named = text
            .strip_prefix('<')
            .and_then(|text| text.strip_prefix(tag.name()));
        // `<sections>` or `<section-x>` is another element.
        let named =
            named.filter(|text| !text.starts_with(|c: char| c.is_alphanumeric() || c == '-'));
        if let Some(attributes) = named {
            return match title_of(attributes) {
                Some((title, behind)) => Start::Opening(tag, title, behind),
                None => Start::Broken,
            };
        }
    }
    Start::Words
}

/// Title in ` title="T">`, and the rest behind it.
fn title_of(attributes: &str) -> Option<(&str, &str)> {
    let value = attributes.trim_start().strip_prefix("title")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (title, behind) = value.strip_prefix(quote)?.split_once(quote)?;
    let behind = behind.trim_start().strip_prefix('>')?;
    (!title.contains('\n')).then_some((title, behind))
}

/// Body up to the closing tag, and the rest behind that.
fn split_body<'a>(tag: Tag, title: &str, text: &'a str) -> Result<(&'a str, &'a str), AnswerError> {
    let unclosed = || AnswerError::Unclosed {
        tag: tag.name(),
        title: title.to_owned(),
    };
    let closing = tag.closing();
    let (at, behind) = text
        .match_indices(closing)
        .map(|(at, _)| (at, text.get(at + closing.len()..).unwrap_or_default()))
        .find(|(_, behind)| ends_block(behind))
        .ok_or_else(unclosed)?;
    let body = text.get(..at).unwrap_or_default();
    // An opening tag inside the body means that this one was never closed.
    let opens_another = |line: &str| matches!(start_of(line.trim_start()), Start::Opening(..));
    if body.lines().any(opens_another) {
        return Err(unclosed());
    }
    Ok((body, behind))
}

/// True if a block can end in front of this text: the line is over, or the next tag begins.
fn ends_block(behind: &str) -> bool {
    let behind = behind.trim_start_matches([' ', '\t', '\r']);
    behind.is_empty() || behind.starts_with('\n') || matches!(start_of(behind), Start::Opening(..))
}

/// Beginning of a line for an error message.
fn short(line: &str) -> String {
    /// Characters shown: enough to find the line, short enough for one line of a terminal.
    const CHARS: usize = 60;
    show::shortened(line, CHARS).into_owned()
}
