//! Files whose reading is in the prompt.
//!
//! Recall must not show what the agent has read itself. The index follows a view: segments that
//! were looked at once are not looked at again until a rewrite changes them, so that a round costs
//! what is new.

use crate::segment::Segment;
use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Paths of files that calls in the prompt have read.
#[derive(Clone, Debug, Default)]
pub struct FilesRead {
    /// Those of the fixed part. Shared with readers; copied only while one still holds it.
    frozen: Arc<BTreeSet<String>>,
    seen: usize,
    chain: Hash,
}

impl FilesRead {
    /// Follows the view and returns the files. `reads` says whether a tool reads files. Costs what
    /// is new, or everything after a rewrite.
    pub fn follow(&mut self, view: &View, reads: impl Fn(&str) -> bool) -> Arc<BTreeSet<String>> {
        let frozen = view.frozen();
        if self.seen > frozen.len() || self.chain != frozen.chain(self.seen) {
            *self = Self::default();
        }
        let path = |segment: &Segment| path_of(&segment.block, &reads);
        for position in self.seen..frozen.len() {
            if let Some(path) = frozen.get(position).and_then(path) {
                Arc::make_mut(&mut self.frozen).insert(path);
            }
        }
        self.seen = frozen.len();
        self.chain = frozen.chain(self.seen);
        let tail = view.tail().response().iter().filter_map(path);
        let new: Vec<String> = tail.filter(|path| !self.frozen.contains(path)).collect();
        if new.is_empty() {
            return Arc::clone(&self.frozen);
        }
        let mut files = (*self.frozen).clone();
        files.extend(new);
        Arc::new(files)
    }
}

fn path_of(block: &Block, reads: impl Fn(&str) -> bool) -> Option<String> {
    let call = block.kind() == BlockKind::ToolUse && block.tool().is_some_and(reads);
    call.then(|| {
        let path = block.input_text("file_path");
        path.or_else(|| block.input_text("path"))
    })?
}
