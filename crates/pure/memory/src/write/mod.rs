//! Wishes of people and programs, as transactions on memory.
//!
//! # Model
//! Each function takes a snapshot and a wish and returns a [`Transaction`] that does the whole of
//! it: the topic file, its line in the index, and marks on files that link to a changed one.
//! Nothing is written twice: a new memory is first compared with the known ones ([`place`]).
//!
//! # Responsibilities
//! - A memory that exists is not added again; a near duplicate is merged.
//! - A contradiction is kept as such: the user's newest word overtakes the older one, whose file
//!   keeps its text and names its successor.
//! - The trust of a merge is the least of its parts.
//!
//! # Not here
//! Permission ([`Transaction::vet`]); proposals from conversations ([`crate::extract`]) and dreams
//! ([`crate::dream`]).

mod add;
mod change;
#[cfg(test)]
mod tests;

pub use add::{Added, NewMemory, Placement, add, free_path, place, render};
pub(crate) use change::supersede_in;
pub use change::{WriteError, dependents, edit, forget, pin, retext, unpin};

use crate::index;
use crate::snapshot::{INDEX, Snapshot};
use crate::transaction::Transaction;
use dormouse_guard::paths::SafePath;

/// Puts the index into a transaction, unless it stays as it was.
pub(crate) fn put_index(transaction: &mut Transaction, snapshot: &Snapshot, text: String) {
    if text != snapshot.index()
        && let Ok(path) = SafePath::parse(INDEX)
    {
        transaction.put(snapshot, path, text);
    }
}

/// Index with the line of a memory as its text now wants it.
pub(crate) fn listed(index_text: &str, path: &SafePath, text: &str) -> String {
    let topic = crate::topic::Topic::read(text);
    let name = path.file_name();
    // Three bytes for `.md`; callers pass topic files only.
    let bare = name.get(..name.len().saturating_sub(3)).unwrap_or(name);
    let title = if topic.name.is_empty() {
        bare
    } else {
        &topic.name
    };
    // Overtaken memories are kept but not recalled; a line would still send the model to them.
    if topic.superseded_by.is_some() {
        return index::without(index_text, path.as_str());
    }
    let known = index::entries(index_text)
        .into_iter()
        .find(|entry| entry.target == path.as_str());
    // A hand-written line stays as long as the file has no description to replace it with.
    if known.is_some() && topic.description.is_empty() {
        return index_text.to_owned();
    }
    index::with_entry(index_text, title, path.as_str(), &topic.description)
}
