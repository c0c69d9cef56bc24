//! A text in the user's own editor.

use crate::error::{Exit, Failure, UserError};
use dormouse_system::{Access, System};
use std::process::Command;

/// A text for the editor, with words for the case that it cannot be edited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draft<'a> {
    pub(super) text: &'a str,
    /// Beginning of the temporary file's name.
    pub(super) name: &'a str,
    /// Most bytes that are read back.
    pub(super) longest: u64,
    /// Remedy if no editor is set.
    pub(super) no_editor: &'a str,
    /// State of the text if the editor fails.
    pub(super) stays: &'a str,
}

/// The text after the user's editor has ended.
pub(super) fn edit(draft: Draft<'_>, system: &System) -> Result<String, Failure> {
    let env = &system.env;
    let editor = env
        .text("VISUAL")
        // The order of other tools: `VISUAL` is for editors that take the whole screen.
        .or_else(|| env.text("EDITOR"))
        .filter(|name| !name.trim().is_empty());
    let Some(editor) = editor else {
        let error = UserError::new(Exit::Usage, "no editor is set");
        return Err(error.hint(draft.no_editor).into());
    };
    let failed = |error: std::io::Error| -> Failure {
        UserError::of(Exit::Unexpected, &error)
            .hint(format!("the editor is `{editor}`"))
            .into()
    };
    let file = tempfile::Builder::new()
        .prefix(draft.name)
        // Editors choose their highlighting by the ending.
        .suffix(".md")
        .tempfile()
        .map_err(failed)?;
    // Readable by the owner alone: it may be private, and temporary folders are shared.
    let files = &system.files;
    files.replace(file.path(), draft.text.as_bytes(), Access::Private)?;
    // The variable may hold options, as in `code --wait`. Quotes are not understood.
    let mut words = editor.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    let status = command
        .args(words)
        .arg(file.path())
        .status()
        .map_err(failed)?;
    // An editor that was left by an error (`:cq`) means: change nothing.
    if !status.success() {
        let error = UserError::new(
            Exit::Unexpected,
            format!("the editor `{editor}` failed ({status})"),
        );
        return Err(error.hint(draft.stays).into());
    }
    let bytes = files.read(file.path(), draft.longest)?;
    String::from_utf8(bytes.to_vec()).map_err(|_| {
        UserError::new(Exit::Unsuitable, "the edited text is not UTF-8")
            .hint(draft.stays)
            .into()
    })
}
