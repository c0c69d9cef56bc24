//! A dream's change, moved onto a directory that others changed in the meantime.
//!
//! # Model
//! Changes of others win. A file that is no longer as it was staged keeps its content, and with it
//! falls everything of the dream that belongs together with that file: the files it was merged
//! with, those whose links followed, those that were marked because of it. The index is made anew
//! from the files there are.
//!
//! # Not here
//! Detecting the change and swapping the rest in (`dormouse-memdir`).

use super::carry::contradicted;
use super::desk::Links;
use super::{CheckLimits, Merge};
use crate::index::{self, IndexFacts, Missing};
use crate::snapshot::{INDEX, Snapshot};
use crate::topic::Topic;
use crate::transaction::{Expected, Operation, Transaction};
use crate::write::{dependents, links_to};
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Part of a dream that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// File that stays as it is.
    pub path: SafePath,
    /// File whose change made it so; often itself.
    pub because_of: SafePath,
}

/// Part of a checked change that still applies, and the parts left out. `merges` are those that the
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
    // Everything reachable from a moved file falls with it: half a merge would lose the other half.
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
    // An index made for files that fell would list memories that are not there.
    let theirs = before.index() != now.index() || !dropped.is_empty();
    put_index(&mut rebased, transaction, now, theirs, limits);
    (rebased.without_idle(now), dropped)
}

/// Files that stand and fall together.
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
    let changed: HashSet<&SafePath> = files.iter().map(|operation| &operation.path).collect();
    let links = Links::of(before);
    for operation in files {
        let path = &operation.path;
        // Alone, too: a changed file must be a key to be looked at.
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
                for other in linking(before, &links, path) {
                    if changed.contains(&other) {
                        bind(path, &other);
                    }
                }
            }
        }
    }
    bonds
}

/// Memories that link to a file.
fn linking(snapshot: &Snapshot, links: &Links, path: &SafePath) -> Vec<SafePath> {
    let Some(mentions) = links.to(path) else {
        return dependents(snapshot, path).into_iter().cloned().collect();
    };
    let links = |other: &&SafePath| {
        let file = snapshot.get(other);
        *other != path && file.is_some_and(|file| links_to(&file.text(), path))
    };
    mentions.filter(links).cloned().collect()
}

/// Index of the dream if all of the dream stands and no other process touched the index, otherwise
/// the present one; mended in both cases.
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
        index::put(&mut result, String::from_utf8_lossy(content).into_owned());
    }
    // A dream that changes nothing any more must not tidy the index in passing.
    let nothing = rebased.operations.is_empty() && staged.is_none();
    let past = limits.past.after(now, &result);
    let facts = IndexFacts {
        today: limits.today,
        limits: limits.index,
        past: &past,
        missing: Missing::Keep,
    };
    let text = index::mended(&result, &facts);
    if !nothing && text != now.index() {
        rebased.operations.push(Operation {
            expected: Expected::now(now, &path),
            path,
            content: Some(text.into()),
        });
    }
}
