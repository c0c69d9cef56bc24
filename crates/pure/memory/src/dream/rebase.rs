//! A dream's change, on a directory that others changed in the meantime.
//!
//! # Model
//! What others wrote wins. A file that is no longer as it was staged keeps what it has, and with it
//! everything of the dream falls that belongs together with that file: the files it was merged with,
//! those whose links followed, those that were marked because of it. The index is made anew from
//! what is there.

use super::carry::contradicted;
use super::{CheckLimits, Merge, tidy};
use crate::snapshot::{INDEX, Snapshot};
use crate::topic::Topic;
use crate::transaction::{Expected, Operation, Transaction};
use crate::write::dependents;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use std::collections::{BTreeMap, BTreeSet};

/// A part of a dream that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The file that stays as it is.
    pub path: SafePath,
    /// The file whose change made it so; often itself.
    pub because_of: SafePath,
}

/// The part of a checked change that still applies, and what was left out. `merges` are those the
/// dream declared.
pub fn rebase(
    transaction: &Transaction,
    merges: &[Merge],
    before: &Snapshot,
    now: &Snapshot,
    limits: &CheckLimits,
) -> (Transaction, Vec<Dropped>) {
    let is_index = |operation: &&Operation| operation.path.as_str() == INDEX;
    let files: Vec<&Operation> = transaction
        .operations
        .iter()
        .filter(|operation| !is_index(operation))
        .collect();
    let bonds = bonds(&files, merges, before);
    let moved = |path: &SafePath| {
        before.get(path).map(|file| &file.content) != now.get(path).map(|file| &file.content)
    };
    // Everything that can be reached from a file that moved falls with it.
    let mut reasons: BTreeMap<SafePath, SafePath> = BTreeMap::new();
    let all: BTreeSet<&SafePath> = bonds.keys().collect();
    for start in all.into_iter().filter(|path| moved(path)) {
        let mut open = vec![start.clone()];
        while let Some(path) = open.pop() {
            if reasons.contains_key(&path) {
                continue;
            }
            open.extend(bonds.get(&path).into_iter().flatten().cloned());
            reasons.insert(path, start.clone());
        }
    }
    let mut rebased = Transaction {
        operations: Vec::new(),
        ..transaction.clone()
    };
    let mut dropped = Vec::new();
    for operation in files {
        match reasons.get(&operation.path) {
            Some(cause) => dropped.push(Dropped {
                path: operation.path.clone(),
                because_of: cause.clone(),
            }),
            None => rebased.operations.push(operation.clone()),
        }
    }
    let theirs = before.index() != now.index() || !dropped.is_empty();
    put_index(&mut rebased, transaction, now, theirs, limits);
    (rebased.without_idle(now), dropped)
}

/// Which files stand and fall together.
fn bonds(
    files: &[&Operation],
    merges: &[Merge],
    before: &Snapshot,
) -> BTreeMap<SafePath, BTreeSet<SafePath>> {
    let mut bonds: BTreeMap<SafePath, BTreeSet<SafePath>> = BTreeMap::new();
    let mut bind = |a: &SafePath, b: &SafePath| {
        bonds.entry(a.clone()).or_default().insert(b.clone());
        bonds.entry(b.clone()).or_default().insert(a.clone());
    };
    for merge in merges {
        for source in &merge.sources {
            bind(&merge.into, source);
        }
    }
    for operation in files {
        let path = &operation.path;
        bind(path, path);
        match &operation.content {
            Some(content) => {
                let text = String::from_utf8_lossy(content);
                let topic = Topic::read(&text);
                let named = topic.sources.iter().chain(&topic.superseded_by).cloned();
                for name in named.chain(contradicted(&text)) {
                    if let Ok(other) = SafePath::parse(&name) {
                        bind(path, &other);
                    }
                }
            }
            None => {
                for other in dependents(before, path) {
                    if files.iter().any(|changed| changed.path == *other) {
                        bind(path, other);
                    }
                }
            }
        }
    }
    bonds
}

/// The index: the dream's if all of the dream stands and nobody touched it, else the present one;
/// mended in both cases.
fn put_index(
    rebased: &mut Transaction,
    transaction: &Transaction,
    now: &Snapshot,
    theirs: bool,
    limits: &CheckLimits,
) {
    let Ok(path) = SafePath::parse(INDEX) else {
        return;
    };
    let mut result = rebased.applied(now, Millis::default());
    let staged = transaction
        .operations
        .iter()
        .find(|operation| operation.path == path);
    if !theirs && let Some(content) = staged.and_then(|operation| operation.content.as_deref()) {
        tidy::put(&mut result, String::from_utf8_lossy(content).into_owned());
    }
    let nothing = rebased.operations.is_empty() && staged.is_none();
    let text = tidy::settled(&result, limits.today, limits.index);
    if !nothing && text != now.index() {
        rebased.operations.push(Operation {
            expected: Expected::now(now, &path),
            path,
            content: Some(text.into()),
        });
    }
}
