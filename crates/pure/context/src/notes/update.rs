//! Applying an update: all edits or none.
//!
//! Each edit applies to the result of the one before, and every result must be intact notes again.
//! The first failure rejects the update; the old notes are never modified.

use super::answer::Edit;
use super::document::{Notes, NotesError};
use super::template::plain_lines;

/// Largest size of the file in bytes. The limits in tokens are only requests to the model; this one
/// stops an answer that doubles the text repeatedly from exhausting memory. 1 MiB is twenty times
/// the default token limit.
const MOST_BYTES: usize = 1024 * 1024;

/// An update that was rejected as a whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edit {edit} of {of} was rejected")]
pub struct Rejected {
    /// Number of the edit that failed, from one.
    pub edit: usize,
    /// Number of edits in the update.
    pub of: usize,
    /// Reason of the failure.
    #[source]
    pub why: EditError,
}

/// Reasons why an edit cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// Title that the template does not have.
    #[error("there is no section `{title}`")]
    NoSuchSection {
        /// Title in the edit.
        title: String,
    },
    /// Empty text to replace, which would match everywhere.
    #[error("the text to be replaced is empty")]
    NothingNamed,
    /// Text to replace that is not in the notes.
    #[error("the text to be replaced is not in the notes")]
    NotFound,
    /// Text to replace that occurs more than once, without `replace_all`.
    #[error("the text to be replaced is in the notes {times} times; it must be unique")]
    NotUnique {
        /// Number of occurrences found.
        times: usize,
    },
    /// Result larger than 1 MiB.
    #[error("the notes would become longer than {most} bytes")]
    TooLong {
        /// Largest size in bytes.
        most: usize,
    },
    /// Result that breaks the frame of the template.
    #[error("the edit damages the notes")]
    Damage(#[from] NotesError),
}

/// Notes after an update.
///
/// # Errors
/// When an edit cannot be applied, or damages a heading or an italic line.
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
            // Tags usually stand on lines of their own, whose line ends are not content.
            let lines = lines.trim_matches('\n');
            let body = if body.is_empty() {
                lines.to_owned()
            } else {
                format!("{body}\n{lines}")
            };
            Ok(notes.with_body(at, &body)?)
        }
        Edit::Replace { old, new, all } => {
            // Parsed again, because a replacement may hit a heading or italic line.
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
    // Checked before replacing, so that the oversized text is never built.
    if text.len() + times.saturating_mul(new.len()) > MOST_BYTES {
        return Err(EditError::TooLong { most: MOST_BYTES });
    }
    Ok(text.replace(old, new))
}
