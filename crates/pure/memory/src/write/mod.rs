//! What people and programs want done to memory, as transactions.
//!
//! # Model
//! Each function takes a snapshot and a wish and returns a [`Transaction`] that does the whole of it:
//! the topic file, its line in the index, and marks on files that depended on what changed. Nothing
//! is written twice: a new memory is first compared with what there is ([`place`]).
//!
//! # Responsibilities
//! - A memory that is there already is not added again; one that is nearly there is merged.
//! - One that says the contrary of another is kept as such: what the user said last overtakes what
//!   was said before, and the older file keeps its text and says by what it was overtaken.
//! - The trust of a merge is the least of its parts.
//!
//! # Not here
//! Whether the wish may be granted ([`Transaction::vet`]), and where the wish comes from.

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

/// The index with a memory's line as its text now wants it.
pub(crate) fn listed(index_text: &str, path: &SafePath, text: &str) -> String {
    let topic = crate::topic::Topic::read(text);
    let name = path.file_name();
    let bare = name.get(..name.len().saturating_sub(3)).unwrap_or(name);
    let title = if topic.name.is_empty() {
        bare
    } else {
        &topic.name
    };
    if topic.superseded_by.is_some() {
        return index::without(index_text, path.as_str());
    }
    let known = index::entries(index_text)
        .into_iter()
        .find(|entry| entry.target == path.as_str());
    // A line that somebody wrote by hand stays, as long as the file says nothing of itself.
    if known.is_some() && topic.description.is_empty() {
        return index_text.to_owned();
    }
    index::with_entry(index_text, title, path.as_str(), &topic.description)
}
