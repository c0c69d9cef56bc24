//! Applying an update: all of it, or none.
//!
//! Each edit is applied to what the one before it left, and what it leaves must be whole notes
//! again. The first one that fails rejects the update; the old notes were never touched.

use super::answer::Edit;
use super::document::{Notes, NotesError};
use super::template::plain_lines;

/// Longest the file may become. Limits in tokens are wishes to the model; this one keeps an answer
/// that doubles the text again and again from filling the memory.
const MOST_BYTES: usize = 1024 * 1024;

/// An update that was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edit {edit} of {of} was rejected")]
pub struct Rejected {
    /// Which edit failed, counted from one.
    pub edit: usize,
    /// How many the update had.
    pub of: usize,
    /// Why.
    #[source]
    pub why: EditError,
}

/// Why an edit cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The template has no such section.
    #[error("there is no section `{title}`")]
    NoSuchSection {
        /// The title.
        title: String,
    },
    /// Nothing to be replaced was named.
    #[error("the text to be replaced is empty")]
    NothingNamed,
    /// The text to be replaced is not there.
    #[error("the text to be replaced is not in the notes")]
    NotFound,
    /// The text to be replaced is there more than once.
    #[error("the text to be replaced is in the notes {times} times; it must be unique")]
    NotUnique {
        /// How often.
        times: usize,
    },
    /// The notes would become far too long.
    #[error("the notes would become longer than {most} bytes")]
    TooLong {
        /// The most there may be.
        most: usize,
    },
    /// The edit breaks the frame of the template.
    #[error("the edit damages the notes")]
    Damage(#[from] NotesError),
}

/// The notes after an update.
///
/// # Errors
/// When any edit cannot be applied, or damages a heading or an italic line.
pub fn apply(notes: &Notes, edits: &[Edit]) -> Result<Notes, Rejected> {
    let of = edits.len();
    let mut now = notes.clone();
    for (edit, step) in (1..).zip(edits) {
        now = apply_one(&now, step).map_err(|why| Rejected { edit, of, why })?;
    }
    Ok(now)
}

fn apply_one(notes: &Notes, edit: &Edit) -> Result<Notes, EditError> {
    match edit {
        Edit::Section { title, body } => {
            let (at, _) = find(notes, title)?;
            Ok(notes.with_body(at, body)?)
        }
        Edit::Append { title, lines } => {
            let (at, body) = find(notes, title)?;
            let lines = plain_lines(lines);
            let lines = lines.trim_matches('\n');
            let body = if body.is_empty() {
                lines.to_owned()
            } else {
                format!("{body}\n{lines}")
            };
            Ok(notes.with_body(at, &body)?)
        }
        Edit::Replace { old, new, all } => {
            let text = replaced(&notes.text(), &plain_lines(old), &plain_lines(new), *all)?;
            Ok(Notes::parse(&text, notes.template())?)
        }
        Edit::Whole { text } => Ok(Notes::parse(text, notes.template())?),
    }
}

fn find<'a>(notes: &'a Notes, title: &str) -> Result<(usize, &'a str), EditError> {
    let at = notes.template().position(title);
    at.zip(notes.body(title))
        .ok_or_else(|| EditError::NoSuchSection {
            title: title.to_owned(),
        })
}

fn replaced(text: &str, old: &str, new: &str, all: bool) -> Result<String, EditError> {
    if old.is_empty() {
        return Err(EditError::NothingNamed);
    }
    let times = text.matches(old).count();
    if times == 0 {
        return Err(EditError::NotFound);
    }
    if times > 1 && !all {
        return Err(EditError::NotUnique { times });
    }
    if text.len() + times.saturating_mul(new.len()) > MOST_BYTES {
        return Err(EditError::TooLong { most: MOST_BYTES });
    }
    Ok(text.replace(old, new))
}
