//! Index of the tool results in a prompt that may be cleared: positions and sizes.
//!
//! Clearing needs to know before every request how much old results hold. The index follows the
//! view incrementally and visits each segment once, until a rewrite changes it. Each entry stores
//! the running sum, so that the size of a range of results is a subtraction. Results that are
//! already cleared are not in the index.
//!
//! Not here: which of them are cleared ([`crate::clear`]).

use crate::category::Category;
use crate::clear::is_marker;
use crate::segment::Segment;
use crate::tail::Tail;
use crate::tokens;
use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, CallId};
use dormouse_core::models::BytesPerToken;
use dormouse_core::units::Tokens;
use std::collections::HashSet;

/// One result or recalled memory in the frozen part of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultEntry {
    /// Position among the frozen segments.
    pub position: usize,
    /// Key of the block in the conversation.
    pub key: BlockKey,
    /// Estimated tokens, not calibrated.
    pub estimate: Tokens,
    /// Sum of the estimates of all entries up to and including this one.
    pub estimate_upto: Tokens,
    /// Length of the block in bytes.
    pub bytes: u64,
}

/// Results of certain tools, and recalled memories, in prompt order.
#[derive(Clone, Debug, Default)]
pub struct ResultIndex {
    /// Names of the tools whose results may be cleared, from the settings.
    tools: Vec<String>,
    bytes: BytesPerToken,
    results: Vec<ResultEntry>,
    memories: Vec<ResultEntry>,
    /// Ids of calls of these tools seen so far.
    calls: HashSet<CallId>,
    /// Frozen segments already indexed.
    seen: usize,
    /// Hash chain over these segments; another value means that a rewrite changed them.
    chain: Hash,
    /// Position of the newest call; results behind it belong to the newest round.
    last_round: usize,
}

impl ResultIndex {
    /// Follows the view; only results of `tools` count. Costs what is new, or everything after a
    /// rewrite or a change of the arguments.
    pub fn update(&mut self, view: &View, tools: &[String], bytes: BytesPerToken) {
        let frozen = view.frozen();
        // A rewrite changes the hash chain of the indexed part, even if its length stays.
        let changed = self.seen > frozen.len() || self.chain != frozen.chain(self.seen);
        if changed || self.tools != tools || self.bytes != bytes {
            *self = Self {
                tools: tools.to_vec(),
                bytes,
                ..Self::default()
            };
        }
        for position in self.seen..frozen.len() {
            if let Some(segment) = frozen.get(position) {
                self.take(position, segment);
            }
        }
        self.seen = frozen.len();
        self.chain = frozen.chain(self.seen);
    }

    /// All results, the newest round included.
    pub fn results(&self) -> &[ResultEntry] {
        &self.results
    }

    /// Results before the newest round. The newest is never cleared: the model has not answered it,
    /// or only just.
    pub(crate) fn old_results(&self, tail: &Tail) -> &[ResultEntry] {
        let answering = tail
            .incoming
            .iter()
            .any(|segment| segment.block.kind() == BlockKind::ToolResult);
        // The newest round is still in the tail, so every frozen result is older.
        if answering {
            return &self.results;
        }
        let old = self
            .results
            .partition_point(|entry| entry.position < self.last_round);
        &self.results[..old]
    }

    /// Recalled memories, oldest first.
    pub fn memories(&self) -> &[ResultEntry] {
        &self.memories
    }

    /// Number of results of these tools in the tail; they count among the newest that stay.
    pub fn waiting(&self, tail: &Tail) -> usize {
        let calls = tail.response.iter().map(|segment| &segment.block);
        let of_tools: HashSet<&CallId> = calls
            .filter(|block| self.is_of_tools(block))
            .filter_map(Block::call)
            .collect();
        let results = tail.incoming.iter().filter(|segment| {
            segment.block.kind() == BlockKind::ToolResult
                && segment
                    .block
                    .call()
                    .is_some_and(|call| of_tools.contains(call))
        });
        results.count()
    }

    fn is_of_tools(&self, call: &Block) -> bool {
        call.tool()
            .is_some_and(|tool| self.tools.iter().any(|name| name == tool))
    }

    fn take(&mut self, position: usize, segment: &Segment) {
        let block = &segment.block;
        match block.kind() {
            BlockKind::ToolUse => {
                self.last_round = position;
                match block.call() {
                    // Call ids repeat in some logs: the latest call before a result decides its
                    // tool.
                    Some(call) if self.is_of_tools(block) => self.calls.insert(call.clone()),
                    Some(call) => self.calls.remove(call),
                    None => false,
                };
            }
            // A cleared result is a marker; clearing it again frees nothing.
            _ if segment.is_rewritten() => {}
            BlockKind::ToolResult => {
                let wanted = block.call().is_some_and(|call| self.calls.contains(call));
                if wanted && segment.derived.is_none() && !is_cleared(segment) {
                    push(&mut self.results, position, segment, self.bytes);
                }
            }
            _ if segment.category == Category::Memory && !segment.is_rewritten() => {
                push(&mut self.memories, position, segment, self.bytes);
            }
            _ => {}
        }
    }
}

fn is_cleared(segment: &Segment) -> bool {
    segment.is_rewritten()
        && segment
            .block
            .readable_text()
            .is_some_and(|text| is_marker(&text))
}

/// Appends an entry with its running sum.
fn push(entries: &mut Vec<ResultEntry>, position: usize, segment: &Segment, bytes: BytesPerToken) {
    let estimate = tokens::estimate(segment.block.weight(), bytes);
    let before = entries.last().map(|before| before.estimate_upto);
    entries.push(ResultEntry {
        position,
        key: segment.origin,
        estimate,
        estimate_upto: before.unwrap_or_default() + estimate,
        bytes: segment.block.bytes().len() as u64,
    });
}
