//! Chains of parents through a log, across lines that were lost.
//!
//! # Model
//! Each record names its parent, so the path of a record is the walk from parent to parent. A line
//! that cannot be read takes its record out of that walk; without a remedy everything before it
//! would be lost with it. [`Links`] therefore bridges: a parent that is missing, or that leads round
//! in a cycle, is replaced by the nearest earlier record of the same chain (main conversation, side
//! chain or agent). A record that already has a child is passed over while one without is near: of
//! two branches written in turns, the torn one is the one that ends.
//!
//! A lost line that still shows its ids stays in the list as [`super::unread`] record: it has no
//! content, but its parent says where a branch began.
//!
//! # Limits
//! A lost line that began a branch and shows no parent cannot be told from one that continued the
//! record before it; the branch then continues that record. A message that holds a summary replaces
//! everything before it, so that no bridge leads back from it.
//!
//! # Not here
//! Lines beside the chain and the ranges of boundaries: `dormouse-context::path`.

use super::{Body, MessageOrigin, Record, Role, UNREAD};
use crate::id::{MessageId, RecordId};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// Records looked at for one without a child before the nearest is taken. Branches that are written
/// in turns lie within a few lines of each other, while a record without a child further back is the
/// end of an abandoned branch.
const NEAR: usize = 16;

/// Records of a log in file order, with the links between them.
#[derive(Debug)]
pub struct Links<'a> {
    records: Vec<&'a Record>,
    by_id: HashMap<&'a RecordId, usize>,
    /// Positions of different records with one id, oldest first; the first is in `by_id` too.
    clashes: HashMap<&'a RecordId, Vec<usize>>,
    /// Made when the first gap is met.
    gaps: OnceCell<Gaps<'a>>,
}

/// Facts about the links of a log that has gaps.
#[derive(Debug)]
struct Gaps<'a> {
    /// For each record whether another one names it as its parent.
    has_child: Vec<bool>,
    /// For each missing parent the first record that names it.
    first_child: HashMap<&'a RecordId, usize>,
    /// For each missing parent the unread line without an id of its own that it probably is.
    unread: HashMap<&'a RecordId, usize>,
}

/// Walk from a record to the beginning of its chain.
#[derive(Debug, Default)]
pub struct Walk<'a> {
    /// Positions of the records, newest first.
    pub positions: Vec<usize>,
    /// Gaps that were bridged, newest first.
    pub bridges: Vec<Bridge<'a>>,
    /// Parent at which the walk ended because it was missing and could not be bridged.
    pub missing: Option<&'a RecordId>,
}

/// Parent that was missing and the record that stands in for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bridge<'a> {
    /// Record whose parent is missing, or leads round in a cycle.
    pub child: &'a RecordId,
    /// Parent that the record names.
    pub missing: &'a RecordId,
    /// Nearest earlier record of the chain, at which the walk went on.
    pub to: &'a RecordId,
}

impl<'a> Links<'a> {
    /// Links of records given in file order.
    pub fn new(records: Vec<&'a Record>) -> Self {
        let mut by_id: HashMap<&RecordId, usize> = HashMap::with_capacity(records.len());
        let mut clashes: HashMap<&RecordId, Vec<usize>> = HashMap::new();
        for (at, record) in records.iter().enumerate() {
            let first = *by_id.entry(&record.id).or_insert(at);
            // Some tools copy lines when they resume a session; a copy is the same record.
            if first != at && !is_copy(records[first], record) {
                clashes
                    .entry(&record.id)
                    .or_insert_with(|| vec![first])
                    .push(at);
            }
        }
        Self {
            records,
            by_id,
            clashes,
            gaps: OnceCell::new(),
        }
    }

    /// The records, in file order.
    pub fn records(&self) -> &[&'a Record] {
        &self.records
    }

    /// Position of a record; of several with this id, the newest.
    pub fn find(&self, id: &RecordId) -> Option<usize> {
        match self.clashes.get(id) {
            Some(positions) => positions.last().copied(),
            None => self.by_id.get(id).copied(),
        }
    }

    /// True for the position at which a record counts: its only one, or the first of its copies.
    pub fn counts(&self, at: usize) -> bool {
        let id = &self.records[at].id;
        self.by_id.get(id) == Some(&at)
            || self
                .clashes
                .get(id)
                .is_some_and(|positions| positions.binary_search(&at).is_ok())
    }

    /// True if different records have this id.
    pub fn is_ambiguous(&self, id: &RecordId) -> bool {
        self.clashes.contains_key(id)
    }

    /// Walks from a record to the beginning of its chain.
    pub fn walk(&self, leaf: usize) -> Walk<'a> {
        let mut walk = Walk::default();
        // Guards against cycles; every bridge leads further to the front.
        let mut walked = HashSet::new();
        let mut next = Some(leaf);
        while let Some(at) = next {
            walked.insert(at);
            walk.positions.push(at);
            next = self.step(at, &walked, &mut walk);
        }
        walk
    }

    /// Position behind `at` on the walk; none at its end.
    fn step(&self, at: usize, walked: &HashSet<usize>, walk: &mut Walk<'a>) -> Option<usize> {
        let record = self.records[at];
        let parent = record.parent.as_ref()?;
        let found = self.before(parent, at).filter(|at| !walked.contains(at));
        if found.is_some() {
            return found;
        }
        let stand_in = self.stand_in(at, |candidate| !walked.contains(&candidate));
        match stand_in {
            Some(to) => walk.bridges.push(Bridge {
                child: &record.id,
                missing: parent,
                to: &self.records[to].id,
            }),
            None => walk.missing = Some(parent),
        }
        stand_in
    }

    /// Position of the record that a record at `at` means by an id: of several, the newest before
    /// it.
    pub fn before(&self, id: &RecordId, at: usize) -> Option<usize> {
        if let Some(positions) = self.clashes.get(id) {
            let earlier = positions.partition_point(|position| *position < at);
            return positions.get(earlier.saturating_sub(1)).copied();
        }
        self.by_id.get(id).copied()
    }

    /// Record that stands in for the missing parent of the one at `at`.
    pub fn stand_in(&self, at: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
        let child = self.records[at];
        // The lost line was the boundary that removed everything before the summary.
        if is_summary(child) {
            return None;
        }
        let gaps = self.gaps.get_or_init(|| self.gaps());
        // The lost record stood before all its children: a branch that began at it hangs where the
        // first of them hangs, not on the branch that was written in between.
        let parent = child.parent.as_ref();
        let first = parent.and_then(|id| gaps.first_child.get(id));
        let at = first.map_or(at, |first| at.min(*first));
        let unread = parent.and_then(|id| gaps.unread.get(id)).copied();
        if let Some(unread) = unread.filter(|unread| may(*unread)) {
            return Some(unread);
        }
        let mut candidates = (0..at).rev().filter(|candidate| {
            let record = self.records[*candidate];
            is_link(record)
                && record.side_chain == child.side_chain
                && record.agent == child.agent
                && self.counts(*candidate)
                && may(*candidate)
        });
        let nearest = candidates.next()?;
        // Lines of one response follow each other; the results of its calls are children too.
        if response(child).is_some() && response(child) == response(self.records[nearest]) {
            return Some(nearest);
        }
        let ends = std::iter::once(nearest)
            .chain(candidates.take(NEAR))
            .find(|candidate| !gaps.has_child[*candidate]);
        Some(ends.unwrap_or(nearest))
    }

    fn gaps(&self) -> Gaps<'a> {
        let mut gaps = Gaps {
            has_child: vec![false; self.records.len()],
            first_child: HashMap::new(),
            unread: HashMap::new(),
        };
        // Unread lines whose own id is lost, in the order of the file, and not matched yet.
        let mut lost: Vec<usize> = Vec::new();
        for (at, record) in self.records.iter().enumerate() {
            if is_unread(record) && record.id.as_str().starts_with(UNREAD) {
                lost.push(at);
            }
            let Some(id) = record.parent.as_ref() else {
                continue;
            };
            match self.before(id, at) {
                // A record that names itself has no child by that.
                Some(parent) if parent == at => {}
                Some(parent) => gaps.has_child[parent] = true,
                None if gaps.first_child.contains_key(id) => {}
                None => {
                    gaps.first_child.insert(id, at);
                    let same = |lost: &usize| {
                        let lost = self.records[*lost];
                        lost.side_chain == record.side_chain && lost.agent == record.agent
                    };
                    // The newest one that no earlier gap has: lines are lost one by one.
                    let newest = lost.iter().rposition(|lost| *lost < at && same(lost));
                    if let Some(newest) = newest {
                        gaps.unread.insert(id, lost.remove(newest));
                    }
                }
            }
        }
        gaps
    }
}

fn is_copy(first: &Record, other: &Record) -> bool {
    first.parent == other.parent && first.body == other.body
}

/// True if a record is a link of a chain. Lines of bookkeeping have neither parent nor children.
fn is_link(record: &Record) -> bool {
    record.own
        || record.parent.is_some()
        || match &record.body {
            Body::Message(_) | Body::Boundary(_) => true,
            _ => is_unread(record),
        }
}

fn is_unread(record: &Record) -> bool {
    matches!(&record.body, Body::Foreign(foreign) if &*foreign.kind == UNREAD)
}

/// Response that a line of the assistant belongs to.
fn response(record: &Record) -> Option<&MessageId> {
    match &record.body {
        Body::Message(message) if message.role == Role::Assistant => message.id.as_ref(),
        _ => None,
    }
}

fn is_summary(record: &Record) -> bool {
    matches!(&record.body, Body::Message(message) if message.origin == MessageOrigin::Summary)
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
