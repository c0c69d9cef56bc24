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
//! content, but its parent says where a branch began. A record whose own id was overwritten by that
//! of another one is known by the gap behind it: it is the record that its children name.
//!
//! # Limits
//! Two things are destroyed with a line and follow from nothing that is left:
//! - where a branch began, if the line began it and shows no parent: it cannot be told from a line
//!   that continued the record before it, so that the branch continues that record;
//! - which of two records a later line means, if one has the other's id and no child of its own: the
//!   nearer one is taken.
//!
//! Both bring an abandoned branch into the path and take nothing from it. A message that holds a
//! summary replaces everything before it, so that no bridge leads back from it.
//!
//! # Not here
//! Lines beside the chain and the ranges of boundaries: `dormouse-context::path`.

use super::{Body, MessageOrigin, Record, Role, UNREAD};
use crate::block::{Block, BlockKind};
use crate::id::{CallId, MessageId, RecordId};
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
    /// For each missing parent the records that name it, oldest first.
    children: HashMap<&'a RecordId, Vec<usize>>,
    /// For each missing parent the unread line without an id of its own that it probably is, or the
    /// record in front of its first child whose id is another record's.
    is: HashMap<&'a RecordId, usize>,
    /// Positions of records that go by the id of another one and are known by their children.
    renamed: HashSet<usize>,
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
            return newest_before(positions, at, &self.gaps().renamed);
        }
        self.by_id.get(id).copied()
    }

    /// First readable lines of responses whose beginning a walk has lost. A response brings its lines
    /// by its id; one that began with a lost line has none on the walk where the walk leaves it right
    /// behind that line.
    pub fn beside(&self, walk: &Walk<'a>) -> Vec<usize> {
        let mut found = Vec::new();
        let is_lost = |at: &usize| is_unread(self.records[*at]);
        if walk.bridges.is_empty() && !walk.positions.iter().any(is_lost) {
            return found;
        }
        for pair in walk.positions.windows(2) {
            let (child, at) = (self.records[pair[0]], pair[1]);
            let Some(missing) = child.parent.as_ref().filter(|_| response(child).is_none()) else {
                continue;
            };
            let mut children = self.lost_children(missing).to_vec();
            if is_lost(&at) {
                let own = Some(&self.records[at].id);
                let named = |child: &usize| self.records[*child].parent.as_ref() == own;
                children.extend((at..self.records.len()).filter(named));
            }
            let is_line = |child: &&usize| response(self.records[**child]).is_some();
            // A result that hangs on the lost line says that the line made its call.
            if let Some(line) = children.iter().find(is_line)
                && self.held_a_call(&children)
            {
                found.push(*line);
            }
        }
        found
    }

    fn lost_children(&self, missing: &RecordId) -> &[usize] {
        self.gaps().children.get(missing).map_or(&[], Vec::as_slice)
    }

    fn held_a_call(&self, children: &[usize]) -> bool {
        let answers = children
            .iter()
            .flat_map(|child| calls(self.records[*child], BlockKind::ToolResult));
        let answers: HashSet<&CallId> = answers.collect();
        let mut made = self
            .records
            .iter()
            .flat_map(|record| calls(record, BlockKind::ToolUse));
        !answers.is_empty() && !made.any(|call| answers.contains(call))
    }

    /// Record that stands in for the missing parent of the one at `at`.
    pub fn stand_in(&self, at: usize, may: impl Fn(usize) -> bool) -> Option<usize> {
        let child = self.records[at];
        // The lost line was the boundary that removed everything before the summary.
        if is_summary(child) {
            return None;
        }
        let gaps = self.gaps();
        // The lost record stood before all its children: a branch that began at it hangs where the
        // first of them hangs, not on the branch that was written in between.
        let parent = child.parent.as_ref();
        let first = parent.and_then(|id| gaps.children.get(id)?.first());
        let at = first.map_or(at, |first| at.min(*first));
        let lost = parent.and_then(|id| gaps.is.get(id)).copied();
        if let Some(lost) = lost.filter(|lost| may(*lost)) {
            return Some(lost);
        }
        let mut candidates = self
            .candidates(at, child)
            .filter(|candidate| may(*candidate));
        let nearest = candidates.next()?;
        // Lines of one response follow each other; the results of its calls are children too.
        let next = response(self.records[at]);
        if next.is_some() && next == response(self.records[nearest]) {
            return Some(nearest);
        }
        let ends = std::iter::once(nearest)
            .chain(candidates.take(NEAR))
            .find(|candidate| !gaps.has_child[*candidate]);
        Some(ends.unwrap_or(nearest))
    }

    /// Positions before `at` at which the lost parent of a record may have hung, nearest first.
    fn candidates(&self, at: usize, child: &'a Record) -> impl Iterator<Item = usize> {
        (0..at).rev().filter(move |candidate| {
            let record = self.records[*candidate];
            is_link(record)
                && record.side_chain == child.side_chain
                && record.agent == child.agent
                && self.counts(*candidate)
        })
    }

    fn gaps(&self) -> &Gaps<'a> {
        self.gaps.get_or_init(|| self.find_gaps())
    }

    fn find_gaps(&self) -> Gaps<'a> {
        let mut gaps = Gaps {
            has_child: vec![false; self.records.len()],
            children: HashMap::new(),
            is: HashMap::new(),
            renamed: HashSet::new(),
        };
        // Unread lines whose own id is lost, in the order of the file, and not matched yet.
        let mut lost: Vec<usize> = Vec::new();
        for (at, record) in self.records.iter().enumerate() {
            if is_unread(record) && record.id.as_str().starts_with(UNREAD) {
                lost.push(at);
            }
            let missing = record.parent.as_ref();
            let Some(id) = missing.filter(|id| !self.by_id.contains_key(id)) else {
                continue;
            };
            let children = gaps.children.entry(id).or_default();
            children.push(at);
            if children.len() > 1 {
                continue;
            }
            let same = |lost: &usize| {
                let lost = self.records[*lost];
                lost.side_chain == record.side_chain && lost.agent == record.agent
            };
            // The newest one that no earlier gap has: lines are lost one by one.
            let newest = lost.iter().rposition(|lost| *lost < at && same(lost));
            // A line beside the chain may be lost too, as the result of a parallel call. The chain
            // went on past it, so that the gap is another one.
            let nearest = self.candidates(at, record).next();
            let newest = newest.filter(|lost_at| !self.went_past(lost[*lost_at], nearest));
            if let Some(newest) = newest {
                gaps.is.insert(id, lost.remove(newest));
            } else if let Some(renamed) = self.renamed(at, record)
                && gaps.renamed.insert(renamed)
            {
                gaps.is.insert(id, renamed);
            }
        }
        for (at, record) in self.records.iter().enumerate() {
            let Some(id) = record.parent.as_ref() else {
                continue;
            };
            let parent = match self.clashes.get(id) {
                Some(positions) => newest_before(positions, at, &gaps.renamed),
                None => self.by_id.get(id).copied(),
            };
            // A record that names itself has no child by that.
            if let Some(parent) = parent.filter(|parent| *parent != at) {
                gaps.has_child[parent] = true;
            }
        }
        gaps
    }

    /// True if a record behind a lost line descends from that line's parent.
    fn went_past(&self, lost: usize, nearest: Option<usize>) -> bool {
        let position = |at: usize| {
            let parent = self.records[at].parent.as_ref()?;
            self.by_id.get(parent).copied()
        };
        let Some(origin) = position(lost) else {
            return false;
        };
        let mut at = nearest.filter(|nearest| *nearest > lost);
        while let Some(here) = at {
            // Parents stand before their children; anything else is damage.
            at = position(here).filter(|parent| *parent < here && *parent >= origin);
            if at == Some(origin) {
                // A result hangs on the line of its call, wherever the response goes on.
                let mut answers = calls(self.records[here], BlockKind::ToolResult);
                return answers.next().is_none();
            }
        }
        false
    }

    /// Record right before the first child of a missing one, if another record has its id too: the
    /// child names the id that it had.
    fn renamed(&self, first_child: usize, record: &'a Record) -> Option<usize> {
        let nearest = self.candidates(first_child, record).next()?;
        let positions = self.clashes.get(&self.records[nearest].id)?;
        // The first record with an id keeps it: it is the one that others named before.
        (positions.first() != Some(&nearest)).then_some(nearest)
    }
}

/// Newest of the positions before `at`, those left out that are other records; the first position
/// where none is before.
fn newest_before(positions: &[usize], at: usize, renamed: &HashSet<usize>) -> Option<usize> {
    let mut earlier = positions.iter().rev().filter(|it| !renamed.contains(it));
    let newest = earlier.find(|position| **position < at);
    newest.or_else(|| positions.first()).copied()
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

/// Calls that the blocks of one kind in a message make or answer.
fn calls(record: &Record, kind: BlockKind) -> impl Iterator<Item = &CallId> {
    let content: &[Block] = match &record.body {
        Body::Message(message) => &message.content,
        _ => &[],
    };
    let blocks = content.iter().filter(move |block| block.kind() == kind);
    blocks.filter_map(Block::call)
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
