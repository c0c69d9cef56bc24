//! Undo: the view without certain rewrites.
//!
//! Rewrites are undone newest first; undoing an older one also undoes all newer ones. The result is
//! the fold of the path without these rewrites and without the records they caused. The undo record
//! stores it as a manifest, so that resuming does not have to fold twice. Distillations are passed
//! over.
//!
//! Not here: the token limit and the state after an undo ([`crate::conversation`]).

use crate::bound::{RewriteVerdict, local_rewrite};
use crate::rewrite;
use crate::segment::SegmentList;
use crate::target::Target;
use crate::view::View;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId};
use dormouse_core::record::{Body, Record};
use dormouse_core::units::Tokens;
use std::collections::{HashMap, HashSet};

/// Reasons why an undo is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndoError {
    /// No rewrite is in force on this path.
    #[error("there is nothing to undo: no rewrite is in force")]
    NothingToUndo,
    /// The record named is not a rewrite, or is undone already, or lies on another branch.
    #[error("record {0} is not a rewrite that is in force here")]
    NotInForce(RecordId),
    /// Thinking is bound to the prompt and the turn is not over.
    #[error("undo has to wait: {0}")]
    Wait(&'static str),
    /// The restored prompt would exceed the limit.
    #[error("undoing would need {needed} tokens, and the limit is {limit}")]
    DoesNotFit {
        /// Tokens of the restored prompt, estimated.
        needed: Tokens,
        /// Limit given by the caller: the blocking limit of the window.
        limit: Tokens,
    },
}

/// Result of an undo, not yet recorded.
#[derive(Clone, Debug)]
pub struct Restored {
    /// Rewrites undone, oldest first.
    pub targets: Vec<RecordId>,
    /// Thinking blocks to remove, because they are bound to the rewritten prompt.
    pub thinking: Vec<BlockKey>,
    /// View without the rewrites undone.
    pub view: View,
}

/// Undoes `target` (the newest rewrite if `None`) with all newer ones.
///
/// # Errors
/// When there is none, the target is not in force, or bound thinking forbids it now.
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
        // Targets are in path order, so the first is the oldest rewrite.
        let oldest = targets.first();
        let rewritten_at = path.iter().position(|record| Some(&record.id) == oldest);
        let then = fold_path(&path[..rewritten_at.unwrap_or_default()], model.clone());
        let (before, after) = (now.segments(), view.segments());
        let same = before
            .iter()
            .zip(after.iter())
            .take_while(|(a, b)| a.same_prompt(b))
            .count();
        if let RewriteVerdict::Wait { reason } = local_rewrite(&now, same) {
            return Err(UndoError::Wait(reason));
        }
        // Thinking stays valid where the prompt that comes back is the one it stood behind before
        // the rewrite. Newer thinking is bound to the rewritten prompt, and a distillation made
        // since then is not undone: both would be refused.
        let fronts = thinking_fronts(&then.segments());
        let moved = after.iter().enumerate().skip(same).filter(|(at, segment)| {
            segment.block.kind().is_thinking()
                && fronts.get(&segment.origin) != Some(&after.chain(*at))
        });
        thinking = moved.map(|(_, segment)| segment.origin).collect();
        rewrite::drop_blocks(&mut view, &thinking);
    }
    Ok(Restored {
        targets,
        thinking,
        view,
    })
}

/// Thinking blocks of a prompt, each with the hash of what stands in front of it.
fn thinking_fronts(list: &SegmentList) -> HashMap<BlockKey, Hash> {
    let thinking = list
        .iter()
        .enumerate()
        .filter(|(_, segment)| segment.block.kind().is_thinking());
    thinking
        .map(|(at, segment)| (segment.origin, list.chain(at)))
        .collect()
}

/// Rewrites in force on a path, oldest first; undo records are not among them.
pub fn in_force<'a>(path: &[&'a Record]) -> Vec<&'a Record> {
    let undone = undone(path);
    let rewrites = path.iter().filter(|record| {
        record.body.is_rewrite()
            // A distillate shows what an answered result said; undoing it would only cost the cache.
            && !matches!(record.body, Body::Undo(_) | Body::Distilled(_))
            && !undone.contains(&record.id)
    });
    rewrites.copied().collect()
}

/// Rewrites that an undo of `target` (the newest if `None`) takes back, oldest first.
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
    // Later rewrites were made on top of the target and make no sense without it.
    Ok(rewrites[from..]
        .iter()
        .map(|record| record.id.clone())
        .collect())
}

/// View of a path without certain rewrites and what they caused, in addition to those the path
/// itself undoes.
fn fold_without(path: &[&Record], without: &[RecordId], target: Target) -> View {
    let mut undone = undone(path);
    undone.extend(without.iter().cloned());
    fold(path, &undone, target)
}

/// View of a path, with its undo records followed.
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

/// Applies a record of a path from which undone rewrites are already removed. Of an undo only the
/// removal of thinking is left to do.
pub(crate) fn apply(view: &mut View, record: &Record) {
    match &record.body {
        Body::Undo(undo) => {
            // Requests made under the rewrite differ from this fold; that is no inconsistency of
            // the log.
            view.forget_mismatches();
            rewrite::drop_blocks(view, &undo.thinking);
        }
        _ => view.apply(record),
    }
}

/// Records of a path that count, with their positions: neither undone nor caused, directly or
/// indirectly, by an undone record.
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
            // Causes come before their effects, so marking on the way covers chains of them.
            gone.insert(record.id.clone());
        } else {
            kept.push((at, *record));
        }
    }
    kept
}

/// Rewrites that the undo records of a path take back. An undo that is itself undone has no effect.
pub(crate) fn undone(path: &[&Record]) -> HashSet<RecordId> {
    // Newest first: a later undo decides whether an earlier one counts.
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
