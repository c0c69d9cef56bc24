//! The provider's memory tool (`memory_20250818`): a model reads and writes its memory as files
//! below `/memories`.
//!
//! # Model
//! A JSON input becomes a [`Command`], and a command over a [`Tree`] becomes an [`CommandAnswer`]: the
//! text for the model, an error flag, and the changes to be made. Nothing is written here: the
//! caller applies [`CommandAnswer::operations`] as one transaction, and only then hands over the text.
//!
//! The texts are those the provider documents, byte for byte, because models are trained on them.
//! If the documentation is silent, the text names the argument and the way out.
//!
//! # Lines
//! A line end closes a line; it does not open another one. `"a\n"` has one line, an empty file has
//! none.
//!
//! # Not here
//! Secrets, pinned files, budgets and provenance ([`crate::transaction::Transaction::vet`], applied
//! by the caller). The capability that keeps a path inside its directory at the time of use is in
//! `dormouse-system`; here a path is checked as text.

mod answer;
mod command;
mod edit;
mod place;
mod remove;
mod text;
mod tree;
mod view;

pub use answer::{Change, CommandAnswer};
pub use command::{Command, InputError, LineRange, Overwrite};
pub use place::{ROOT, ToolPath};
pub use tree::{Tree, TreeEntry};

use serde_json::Value;

/// Reads an input and carries it out; the one call that a host of tools needs.
pub fn answer(input: &Value, tree: &dyn Tree, overwrite: Overwrite) -> CommandAnswer {
    match Command::parse(input) {
        Ok(command) => execute(&command, tree, overwrite),
        Err(error) => CommandAnswer::error(error.to_string()),
    }
}

/// Carries out a command: the text to answer, and the changes to make.
pub fn execute(command: &Command, tree: &dyn Tree, overwrite: Overwrite) -> CommandAnswer {
    let outcome = match command {
        Command::View { path, range } => view::view(tree, path, *range),
        Command::Create { path, file_text } => edit::create(tree, path, file_text, overwrite),
        Command::StrReplace {
            path,
            old_str,
            new_str,
        } => edit::str_replace(tree, path, old_str, new_str),
        Command::Insert {
            path,
            insert_line,
            insert_text,
        } => edit::insert(tree, path, *insert_line, insert_text),
        Command::Delete { path } => remove::delete(tree, path),
        Command::Rename { old_path, new_path } => remove::rename(tree, old_path, new_path),
    };
    outcome.unwrap_or_else(CommandAnswer::error)
}

#[cfg(test)]
mod tests;
