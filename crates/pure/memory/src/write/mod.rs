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
pub use change::{Judgement, WriteError, dependents, edit, forget, judge, pin, retext, unpin};
pub(crate) use change::{links_to, supersede_in};

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
