//! Undo: the view without certain rewrites.
//!
//! Rewrites are undone newest first; undoing an older one takes all newer ones with it. The view
//! that results is the fold of the path without the rewrites undone and without what they caused.
//! It is written into the undo record as a manifest, so that nobody has to fold twice.

use crate::target::Target;
use crate::view::View;
use dormouse_core::id::RecordId;
use dormouse_core::record::{Body, Record};
use std::collections::HashSet;

/// Why nothing can be undone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// There is no rewrite on this path.
    #[error("there is nothing to undo: no rewrite is in force")]
    NothingToUndo,
    /// The record is not a rewrite that is in force on this path.
    #[error("record {0} is not a rewrite that is in force here")]
    NotInForce(RecordId),
}

/// Rewrites in force on a path, oldest first.
pub fn in_force<'a>(path: &[&'a Record]) -> Vec<&'a Record> {
    let undone = undone(path);
    let rewrites = path.iter().filter(|record| {
        record.body.is_rewrite()
            && !matches!(record.body, Body::Undo(_))
            && !undone.contains(&record.id)
    });
    rewrites.copied().collect()
}

/// The rewrites that undoing `target` (or else the newest) takes back, oldest first.
///
/// # Errors
/// When there is none, or the target is not in force.
pub fn targets(path: &[&Record], target: Option<&RecordId>) -> Result<Vec<RecordId>, UndoError> {
    let rewrites = in_force(path);
    let from = match target {
        None => rewrites
            .len()
            .checked_sub(1)
            .ok_or(UndoError::NothingToUndo)?,
        Some(target) => rewrites
            .iter()
            .position(|record| record.id == *target)
            .ok_or_else(|| UndoError::NotInForce(target.clone()))?,
    };
    Ok(rewrites[from..]
        .iter()
        .map(|record| record.id.clone())
        .collect())
}

/// The view of a path without some rewrites and what they caused, on top of what the path itself
/// undoes.
pub fn fold_without(path: &[&Record], without: &[RecordId], target: Target) -> View {
    let mut undone = undone(path);
    undone.extend(without.iter().cloned());
    fold(path, &undone, target)
}

/// The view of a path, its undo records followed.
pub fn fold_path(path: &[&Record], target: Target) -> View {
    fold(path, &undone(path), target)
}

fn fold(path: &[&Record], undone: &HashSet<RecordId>, target: Target) -> View {
    let mut view = View::new(target);
    for record in kept(path, undone) {
        view.apply(record);
    }
    view
}

/// The records of a path that count: not undone, not caused by what is undone, no undo itself.
pub(crate) fn kept<'a>(path: &[&'a Record], undone: &HashSet<RecordId>) -> Vec<&'a Record> {
    let mut gone = undone.clone();
    let mut kept = Vec::with_capacity(path.len());
    for record in path {
        let caused = record
            .caused_by
            .as_ref()
            .is_some_and(|cause| gone.contains(cause));
        if caused || gone.contains(&record.id) {
            gone.insert(record.id.clone());
        } else if !matches!(record.body, Body::Undo(_)) {
            kept.push(*record);
        }
    }
    kept
}

/// What the undo records of a path take back. An undo that is itself undone takes nothing back.
pub(crate) fn undone(path: &[&Record]) -> HashSet<RecordId> {
    let mut undone = HashSet::new();
    for record in path.iter().rev() {
        if let Body::Undo(undo) = &record.body
            && !undone.contains(&record.id)
        {
            undone.extend(undo.targets.iter().cloned());
        }
    }
    undone
}
