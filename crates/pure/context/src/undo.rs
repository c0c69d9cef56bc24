//! Undo: the view without certain rewrites.
//!
//! Rewrites are undone newest first; undoing an older one takes all newer ones with it. The view
//! that results is the fold of the path without the rewrites undone and without what they caused.
//! It is written into the undo record as a manifest, so that nobody has to fold twice.

use crate::bound::{RewriteVerdict, local_rewrite};
use crate::rewrite;
use crate::target::Target;
use crate::view::View;
use dormouse_core::id::{BlockKey, RecordId};
use dormouse_core::record::{Body, Record};
use dormouse_core::units::Tokens;
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
    /// The model's thinking is bound to the prompt and the turn is not over.
    #[error("it must wait: {0}")]
    Wait(&'static str),
    /// What comes back is more than the window holds.
    #[error("undoing would need {needed} tokens, and the limit is {limit}")]
    DoesNotFit {
        /// Tokens of the restored prompt.
        needed: Tokens,
        /// The limit.
        limit: Tokens,
    },
}

/// What undoing gives.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The rewrites taken back, oldest first.
    pub targets: Vec<RecordId>,
    /// Thinking that has to go, because it was bound to the rewritten prompt.
    pub thinking: Vec<BlockKey>,
    /// The view without them.
    pub view: View,
}

/// Takes back a rewrite (or else the newest) with all newer ones.
///
/// # Errors
/// When there is none, the target is not in force, or the moment is wrong.
pub fn restore(
    path: &[&Record],
    target: Option<&RecordId>,
    model: &Target,
) -> Result<Restored, UndoError> {
    let targets = targets(path, target)?;
    let now = fold_path(path, model.clone());
    let mut view = fold_without(path, &targets, model.clone());
    let mut thinking = Vec::new();
    if model.binds_to_prefix() {
        // Targets are in the order of the path: the first was rewritten first.
        let oldest = targets.first();
        let rewritten_at = path.iter().find(|record| Some(&record.id) == oldest);
        let rewritten_at = rewritten_at.map(|record| record.seq).unwrap_or_default();
        let (before, after) = (now.segments(), view.segments());
        let same = before
            .iter()
            .zip(after.iter())
            .take_while(|(a, b)| a.same_prompt(b))
            .count();
        if let RewriteVerdict::Wait { reason } = local_rewrite(&now, same) {
            return Err(UndoError::Wait(reason));
        }
        // Older thinking is bound to the prompt that comes back; newer thinking never saw it.
        let newer = after.iter().skip(same).filter(|segment| {
            segment.block.kind().is_thinking() && segment.origin.record > rewritten_at
        });
        thinking = newer.map(|segment| segment.origin).collect();
        rewrite::drop_blocks(&mut view, &thinking);
    }
    Ok(Restored {
        targets,
        thinking,
        view,
    })
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
fn targets(path: &[&Record], target: Option<&RecordId>) -> Result<Vec<RecordId>, UndoError> {
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
fn fold_without(path: &[&Record], without: &[RecordId], target: Target) -> View {
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
    for (_, record) in kept(path, undone) {
        apply(&mut view, record);
    }
    view
}

/// Applies a record of a path whose undone rewrites are left out: of an undo, only the thinking it
/// takes away is left to do.
pub(crate) fn apply(view: &mut View, record: &Record) {
    match &record.body {
        Body::Undo(undo) => {
            // Requests made under the rewrite were other than what the path gives without it.
            view.forget_mismatches();
            rewrite::drop_blocks(view, &undo.thinking);
        }
        _ => view.apply(record),
    }
}

/// The records of a path that count, with their positions on it: not undone, not caused by what is
/// undone.
pub(crate) fn kept<'a>(
    path: &[&'a Record],
    undone: &HashSet<RecordId>,
) -> Vec<(usize, &'a Record)> {
    let mut gone = undone.clone();
    let mut kept = Vec::with_capacity(path.len());
    for (at, record) in path.iter().enumerate() {
        let caused = record
            .caused_by
            .as_ref()
            .is_some_and(|cause| gone.contains(cause));
        if caused || gone.contains(&record.id) {
            gone.insert(record.id.clone());
        } else {
            kept.push((at, *record));
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
