//! Which records a view is made of.
//!
//! A log is a tree: each record names its parent, and a rewind starts a branch. The path of a leaf
//! is the chain of its parents. In transcripts of other tools the chain alone is not enough: a
//! response is written as several lines, and when it calls tools in parallel the results hang
//! beside the chain. There the path also takes every line that shares a message id with the chain,
//! and the results of all calls made on it, in the order of the file.

use dormouse_core::block::BlockKind;
use dormouse_core::id::{CallId, MessageId, RecordId};
use dormouse_core::record::{Body, Record, Role};
use std::collections::{HashMap, HashSet};

/// The end of a path.
#[derive(Clone, Copy, Debug, Default)]
pub enum Leaf<'a> {
    /// The newest record of the main conversation (or of the log, if it has only side chains).
    #[default]
    Newest,
    /// A certain record.
    Record(&'a RecordId),
}

/// The records on the path to a leaf, oldest first. Empty when the leaf is not in the log.
pub fn path<'a>(records: impl IntoIterator<Item = &'a Record>, leaf: Leaf<'_>) -> Vec<&'a Record> {
    let index = Index::of(records.into_iter().collect());
    let Some(leaf) = index.leaf(leaf) else {
        return Vec::new();
    };
    let mut on_path = index.chain(leaf);
    index.add_parallel(&mut on_path);
    // The file's order, which for a chain is also the order of the chain.
    let mut order: Vec<usize> = on_path.into_iter().collect();
    order.sort_unstable();
    order.into_iter().map(|at| index.records[at]).collect()
}

struct Index<'a> {
    records: Vec<&'a Record>,
    by_id: HashMap<&'a RecordId, usize>,
}

impl<'a> Index<'a> {
    fn of(records: Vec<&'a Record>) -> Self {
        let mut by_id = HashMap::with_capacity(records.len());
        for (at, record) in records.iter().enumerate() {
            // A line that was copied later in the file is the same record.
            by_id.entry(&record.id).or_insert(at);
        }
        Self { records, by_id }
    }

    fn leaf(&self, leaf: Leaf<'_>) -> Option<usize> {
        match leaf {
            Leaf::Record(id) => self.by_id.get(id).copied(),
            Leaf::Newest => {
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

    fn chain(&self, leaf: usize) -> HashSet<usize> {
        let mut chain = HashSet::new();
        // What a boundary preserved is in the chain before the walk comes to it, and must not stop
        // the walk; a chain that bites its own tail must.
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

    /// Adds the lines of other tools that belong to responses on the path.
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
        let first = on_path.iter().min().copied().unwrap_or(0);
        let rest = || (first..self.records.len()).filter(foreign);
        let lines: Vec<usize> = rest()
            .filter(|at| message_id(self.records[*at]).is_some_and(|id| responses.contains(id)))
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

fn message_id(record: &Record) -> Option<&MessageId> {
    match &record.body {
        Body::Message(message) if message.role == Role::Assistant => message.id.as_ref(),
        _ => None,
    }
}

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
