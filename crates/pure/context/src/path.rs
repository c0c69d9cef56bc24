//! The path through a log: the records that a view is folded from.
//!
//! A log is a tree: each record names its parent, and a rewind starts a branch. The path of a leaf
//! is the chain of its parents. In transcripts of other tools the chain alone is not enough: a
//! response is written as several lines, and the results of parallel calls hang beside the chain.
//! There the path also takes every line that shares a message id with the chain, and the results of
//! all calls made on it, in file order.
//!
//! Lines that could not be read leave gaps; [`Links`] bridges them, and [`trace`] says where.
//!
//! Not here: undo records, which remove records from a path ([`crate::undo`]).

use dormouse_core::block::BlockKind;
use dormouse_core::id::{CallId, MessageId, RecordId};
use dormouse_core::record::{Body, Bridge, Links, Record, Role, Walk};
use std::collections::HashSet;

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
    trace(records, leaf).records
}

/// Path to a leaf, and the gaps on it.
#[derive(Debug, Default)]
pub struct Path<'a> {
    /// Records on the path, oldest first. Empty if the leaf is not in the log.
    pub records: Vec<&'a Record>,
    /// Parents that were missing or led round in a cycle, newest first. Each lost the path one
    /// record or more, whose lines could not be read.
    pub bridges: Vec<Bridge<'a>>,
}

/// Traces the path to a leaf across lost records.
pub fn trace<'a>(records: impl IntoIterator<Item = &'a Record>, leaf: Leaf<'_>) -> Path<'a> {
    let index = Index {
        links: Links::new(records.into_iter().collect()),
    };
    let Some(leaf) = index.leaf(leaf) else {
        return Path::default();
    };
    let walk = index.links.walk(leaf);
    let mut on_path = index.chain(&walk);
    on_path.extend(index.beside(&walk));
    index.add_parallel(&mut on_path);
    // File order equals chain order for a chain, and puts parallel lines between their neighbours.
    let mut order: Vec<usize> = on_path.into_iter().collect();
    order.sort_unstable();
    let records = index.links.records();
    Path {
        records: order.into_iter().map(|at| records[at]).collect(),
        bridges: walk.bridges,
    }
}

/// Records of a log with their links.
struct Index<'a> {
    links: Links<'a>,
}

impl<'a> Index<'a> {
    fn leaf(&self, leaf: Leaf<'_>) -> Option<usize> {
        let records = self.links.records();
        match leaf {
            Leaf::Record(id) => self.links.find(id),
            Leaf::Newest => {
                // Other tools write lines of bookkeeping behind the last message; these end no
                // path.
                let counts = |record: &Record| {
                    record.own || matches!(record.body, Body::Message(_) | Body::Boundary(_))
                };
                let main = |record: &Record| counts(record) && !record.side_chain;
                let newest =
                    |is: &dyn Fn(&Record) -> bool| records.iter().rposition(|record| is(record));
                let at = newest(&main).or_else(|| newest(&counts))?;
                if self.links.counts(at) {
                    return Some(at);
                }
                self.links.find(&records[at].id)
            }
        }
    }

    /// Positions on a walk, with the ranges that its boundaries preserved.
    fn chain(&self, walk: &Walk<'a>) -> HashSet<usize> {
        let mut chain: HashSet<usize> = walk.positions.iter().copied().collect();
        for at in &walk.positions {
            if let Body::Boundary(boundary) = &self.links.records()[*at].body
                && let Some(preserved) = &boundary.preserved
            {
                self.add_preserved(*at, &preserved.head, &preserved.tail, &mut chain);
            }
        }
        chain
    }

    /// Lines of other tools whose response began with a line that is lost.
    fn beside(&self, walk: &Walk<'a>) -> Vec<usize> {
        let beside = self.links.beside(walk).into_iter();
        beside.filter(|at| !self.links.records()[*at].own).collect()
    }

    /// Adds the records from `tail` back to `head` that a foreign boundary at `boundary` kept.
    fn add_preserved(
        &self,
        boundary: usize,
        head: &RecordId,
        tail: &RecordId,
        chain: &mut HashSet<usize>,
    ) {
        let records = self.links.records();
        let head_at = self.links.before(head, boundary);
        // A lost tail stood right before the boundary: the kept range was the newest then.
        let tail_at = self.links.before(tail, boundary);
        let lost_tail = || {
            let stand_in = self.links.stand_in(boundary, |at| !chain.contains(&at));
            // Without either end nothing says how far the range reached.
            stand_in.filter(|_| head_at.is_some())
        };
        let Some(tail_at) = tail_at.or_else(lost_tail) else {
            return;
        };
        for at in self.links.walk(tail_at).positions {
            // Reached what is on the path already: some tools write the range again behind the
            // boundary.
            if !chain.insert(at) || head_at == Some(at) {
                break;
            }
            // The head is lost: its child is the first record that is left of the range.
            if head_at.is_none() && records[at].parent.as_ref() == Some(head) {
                break;
            }
        }
    }

    /// Adds other tools' lines that belong to responses on the path, and the results of their
    /// calls.
    fn add_parallel(&self, on_path: &mut HashSet<usize>) {
        let records = self.links.records();
        let foreign = |at: &usize| !records[*at].own;
        let responses: HashSet<&MessageId> = on_path
            .iter()
            .filter(|at| foreign(at))
            .filter_map(|at| message_id(records[*at]))
            .collect();
        if responses.is_empty() {
            return;
        }
        // Lines before the path's first record belong to what a boundary removed.
        let first = on_path.iter().min().copied().unwrap_or(0);
        let rest = || (first..records.len()).filter(foreign);
        let lines: Vec<usize> = rest()
            .filter(|at| message_id(records[*at]).is_some_and(|id| responses.contains(id)))
            .filter(|at| self.joins(*at, on_path))
            .collect();
        on_path.extend(lines);
        let calls: HashSet<&CallId> = on_path
            .iter()
            .filter(|at| foreign(at))
            .flat_map(|at| blocks(records[*at], Role::Assistant, BlockKind::ToolUse))
            .collect();
        let results: Vec<usize> = rest()
            .filter(|at| {
                blocks(records[*at], Role::User, BlockKind::ToolResult)
                    .any(|call| calls.contains(call))
            })
            .filter(|at| self.joins(*at, on_path))
            .collect();
        on_path.extend(results);
    }

    /// True if a line beside the path may join it: a copied line counts only at its first position,
    /// and of different records with one id the path has chosen.
    fn joins(&self, at: usize, on_path: &HashSet<usize>) -> bool {
        let records = self.links.records();
        let id = &records[at].id;
        let chosen = || on_path.iter().any(|other| records[*other].id == *id);
        self.links.counts(at) && (!self.links.is_ambiguous(id) || !chosen())
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
