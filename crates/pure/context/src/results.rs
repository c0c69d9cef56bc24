//! The tool results in a prompt that may be cleared: where they are and what they weigh.
//!
//! Clearing has to know how much old results hold before every request. The index is kept beside
//! the view and follows it: what was looked at once is not looked at again until a rewrite
//! changes it. Beside each entry stands the sum up to it, so that what a run of results holds is a
//! subtraction. What is cleared already is not in it.

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

/// One result or recalled memory in the fixed part of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultEntry {
    /// Its position among the segments.
    pub position: usize,
    /// Its place in the conversation.
    pub key: BlockKey,
    /// Its size as estimated, not corrected by what was measured.
    pub estimate: Tokens,
    /// The estimates of all entries up to this one.
    pub estimate_upto: Tokens,
    /// Its bytes.
    pub bytes: u64,
}

/// Results of certain tools, and recalled memories, in the order of the prompt.
#[derive(Clone, Debug, Default)]
pub struct ResultIndex {
    tools: Vec<String>,
    bytes: BytesPerToken,
    results: Vec<ResultEntry>,
    memories: Vec<ResultEntry>,
    calls: HashSet<CallId>,
    seen: usize,
    chain: Hash,
    last_round: usize,
}

impl ResultIndex {
    /// Follows the view; only results of these tools count. Costs what is new, or everything after
    /// a rewrite or a change of what is asked.
    pub fn update(&mut self, view: &View, tools: &[String], bytes: BytesPerToken) {
        let frozen = view.frozen();
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

    /// The results.
    pub fn results(&self) -> &[ResultEntry] {
        &self.results
    }

    /// The results before the newest round: those the model has had time to use.
    pub fn old_results(&self, tail: &Tail) -> &[ResultEntry] {
        let answering = tail
            .incoming
            .iter()
            .any(|segment| segment.block.kind() == BlockKind::ToolResult);
        if answering {
            return &self.results;
        }
        let old = self
            .results
            .partition_point(|entry| entry.position < self.last_round);
        &self.results[..old]
    }

    /// Recalled memories.
    pub fn memories(&self) -> &[ResultEntry] {
        &self.memories
    }

    /// How many results of these tools wait for the next request.
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
                    // Ids repeat: what counts is the call before the result.
                    Some(call) if self.is_of_tools(block) => self.calls.insert(call.clone()),
                    Some(call) => self.calls.remove(call),
                    None => false,
                };
            }
            // What a clearing left is a marker: there is nothing more to take from it.
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
