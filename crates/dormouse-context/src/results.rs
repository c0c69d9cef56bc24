//! The tool results in a prompt: where they are, whose they are, what they weigh.
//!
//! Clearing has to know how much old results hold before every request. The index is kept beside
//! the view and follows it: what was looked at once is not looked at again until a rewrite
//! changes it.

use crate::category::Category;
use crate::segment::Segment;
use crate::view::View;
use dormouse_core::block::BlockKind;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, CallId};
use dormouse_core::weight::Weight;
use std::collections::HashMap;
use std::sync::Arc;

/// What an entry stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The result of this tool.
    Tool(Arc<str>),
    /// A recalled memory.
    Memory,
}

/// One result or recalled memory in the fixed part of a view.
#[derive(Clone, Debug)]
pub struct ResultEntry {
    /// Its position among the segments.
    pub position: usize,
    /// Its place in the conversation.
    pub key: BlockKey,
    /// Where it comes from.
    pub source: Source,
    /// What it weighs.
    pub weight: Weight,
    /// Its bytes.
    pub bytes: u64,
}

/// Results in the order of the prompt.
#[derive(Clone, Debug, Default)]
pub struct ResultIndex {
    entries: Vec<ResultEntry>,
    tools: HashMap<CallId, Arc<str>>,
    names: HashMap<String, Arc<str>>,
    seen: usize,
    chain: Hash,
    last_round: usize,
}

impl ResultIndex {
    /// Follows the view. Costs what is new, or everything after a rewrite.
    pub fn update(&mut self, view: &View) {
        let frozen = view.frozen();
        if self.seen > frozen.len() || self.chain != frozen.chain(self.seen) {
            *self = Self::default();
        }
        for position in self.seen..frozen.len() {
            if let Some(segment) = frozen.get(position) {
                self.take(position, segment);
            }
        }
        self.seen = frozen.len();
        self.chain = frozen.chain(self.seen);
    }

    /// All entries.
    pub fn entries(&self) -> &[ResultEntry] {
        &self.entries
    }

    /// The position where the newest fixed round of results begins.
    pub fn newest_round(&self) -> usize {
        self.last_round
    }

    fn take(&mut self, position: usize, segment: &Segment) {
        match segment.block.kind() {
            BlockKind::ToolUse => {
                self.last_round = position;
                if let Some((call, tool)) = segment.block.call().zip(segment.block.tool()) {
                    let name = self.name(tool);
                    self.tools.insert(call.clone(), name);
                }
            }
            // What a clearing left is a marker: there is nothing more to take from it.
            _ if segment.is_rewritten() => {}
            BlockKind::ToolResult => {
                let tool = segment.block.call().and_then(|call| self.tools.get(call));
                if let Some(tool) = tool.cloned() {
                    self.push(position, segment, Source::Tool(tool));
                }
            }
            _ if segment.category == Category::Memory => {
                self.push(position, segment, Source::Memory);
            }
            _ => {}
        }
    }

    fn push(&mut self, position: usize, segment: &Segment, source: Source) {
        self.entries.push(ResultEntry {
            position,
            key: segment.origin,
            source,
            weight: *segment.block.weight(),
            bytes: segment.block.bytes().len() as u64,
        });
    }

    fn name(&mut self, tool: &str) -> Arc<str> {
        if let Some(name) = self.names.get(tool) {
            return Arc::clone(name);
        }
        let name: Arc<str> = tool.into();
        self.names.insert(tool.to_owned(), Arc::clone(&name));
        name
    }
}
