//! The path through a log: the records that a view is folded from.
//!
//! A log is a tree: each record names its parent, and a rewind starts a branch. The path of a leaf
//! is the chain of its parents. In transcripts of other tools the chain alone is not enough: a
//! response is written as several lines, and the results of parallel calls hang beside the chain.
//! There the path also takes every line that shares a message id with the chain, and the results of
//! all calls made on it, in file order.
//!
//! Not here: undo records, which remove records from a path ([`crate::undo`]).

use dormouse_core::block::BlockKind;
use dormouse_core::id::{CallId, MessageId, RecordId};
use dormouse_core::record::{Body, Record, Role};
use std::collections::{HashMap, HashSet};

/// End of a path.
#[derive(Clone, Copy, Debug, Default)]
pub enum Leaf<'a> {
    /// Newest record of the main conversation, or of the log if it has only side chains.
    #[default]
    Newest,
    /// Record with this id.
    Record(&'a RecordId),
}

/// Records on the path to a leaf, oldest first. Empty if the leaf is not in the log.
pub fn path<'a>(records: impl IntoIterator<Item = &'a Record>, leaf: Leaf<'_>) -> Vec<&'a Record> {
    let index = Index::of(records.into_iter().collect());
    let Some(leaf) = index.leaf(leaf) else {
        return Vec::new();
    };
    let mut on_path = index.chain(leaf);
    index.add_parallel(&mut on_path);
    // File order equals chain order for a chain, and puts parallel lines between their neighbours.
    let mut order: Vec<usize> = on_path.into_iter().collect();
    order.sort_unstable();
    order.into_iter().map(|at| index.records[at]).collect()
}

/// Records of a log with their positions by id.
struct Index<'a> {
    records: Vec<&'a Record>,
    by_id: HashMap<&'a RecordId, usize>,
}

impl<'a> Index<'a> {
    fn of(records: Vec<&'a Record>) -> Self {
        let mut by_id = HashMap::with_capacity(records.len());
        for (at, record) in records.iter().enumerate() {
            // Some tools copy lines when they resume a session; a copy is the same record.
            by_id.entry(&record.id).or_insert(at);
        }
        Self { records, by_id }
    }

    fn leaf(&self, leaf: Leaf<'_>) -> Option<usize> {
        match leaf {
            Leaf::Record(id) => self.by_id.get(id).copied(),
            Leaf::Newest => {
                // Other tools write lines of bookkeeping behind the last message; these end no
                // path.
                let counts = |record: &Record| {
                    record.own || matches!(record.body, Body::Message(_) | Body::Boundary(_))
                };
                let main = |record: &Record| counts(record) && !record.side_chain;
                let newest = |is: &dyn Fn(&Record) -> bool| {
                    self.records.iter().rposition(|record| is(record))
                };
                let at = newest(&main).or_else(|| newest(&counts))?;
                self.by_id.get(&self.records[at].id).copied()
            }
        }
    }

    /// Positions on the chain of parents from a leaf, with the ranges that boundaries preserved.
    fn chain(&self, leaf: usize) -> HashSet<usize> {
        let mut chain = HashSet::new();
        // A separate set guards against cycles: records preserved by a boundary are in `chain`
        // before the walk reaches them and must not end it.
        let mut walked = HashSet::new();
        let mut next = Some(leaf);
        while let Some(at) = next.filter(|at| walked.insert(*at)) {
            chain.insert(at);
            let record = self.records[at];
            if let Body::Boundary(boundary) = &record.body
                && let Some(preserved) = &boundary.preserved
            {
                self.add_preserved(&preserved.head, &preserved.tail, &mut chain);
            }
            next = record
                .parent
                .as_ref()
                .and_then(|parent| self.by_id.get(parent).copied());
        }
        chain
    }

    /// Adds the records from `tail` back to `head` that a foreign boundary kept.
    fn add_preserved(&self, head: &RecordId, tail: &RecordId, chain: &mut HashSet<usize>) {
        let mut next = self.by_id.get(tail).copied();
        while let Some(at) = next.filter(|at| chain.insert(*at)) {
            if self.records[at].id == *head {
                break;
            }
            let parent = self.records[at].parent.as_ref();
            next = parent.and_then(|parent| self.by_id.get(parent).copied());
        }
    }

    /// Adds other tools' lines that belong to responses on the path, and the results of their
    /// calls.
    fn add_parallel(&self, on_path: &mut HashSet<usize>) {
        let foreign = |at: &usize| !self.records[*at].own;
        let responses: HashSet<&MessageId> = on_path
            .iter()
            .filter(|at| foreign(at))
            .filter_map(|at| message_id(self.records[*at]))
            .collect();
        if responses.is_empty() {
            return;
        }
        // Lines before the path's first record belong to what a boundary removed.
        let first = on_path.iter().min().copied().unwrap_or(0);
        let rest = || (first..self.records.len()).filter(foreign);
        let lines: Vec<usize> = rest()
            .filter(|at| message_id(self.records[*at]).is_some_and(|id| responses.contains(id)))
            // A copied line counts only at its first position.
            .filter(|at| self.by_id.get(&self.records[*at].id) == Some(at))
            .collect();
        on_path.extend(lines);
        let calls: HashSet<&CallId> = on_path
            .iter()
            .filter(|at| foreign(at))
            .flat_map(|at| blocks(self.records[*at], Role::Assistant, BlockKind::ToolUse))
            .collect();
        let results: Vec<usize> = rest()
            .filter(|at| {
                blocks(self.records[*at], Role::User, BlockKind::ToolResult)
                    .any(|call| calls.contains(call))
            })
            .filter(|at| self.by_id.get(&self.records[*at].id) == Some(at))
            .collect();
        on_path.extend(results);
    }
}

/// Message id of an assistant message.
fn message_id(record: &Record) -> Option<&MessageId> {
    match &record.body {
        Body::Message(message) if message.role == Role::Assistant => message.id.as_ref(),
        _ => None,
    }
}

/// Call ids in the blocks of one kind in a message of one role.
fn blocks(record: &Record, role: Role, kind: BlockKind) -> impl Iterator<Item = &CallId> {
    let message = match &record.body {
        Body::Message(message) if message.role == role => Some(message),
        _ => None,
    };
    message
        .into_iter()
        .flat_map(|message| &message.content)
        .filter(move |block| block.kind() == kind)
        .filter_map(|block| block.call())
}
