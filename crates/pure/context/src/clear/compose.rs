//! From a selection to the record of a clearing.

use super::Selection;
use crate::offload;
use crate::segment::Segment;
use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::record::{ClearedBlock, Clearing, ClearingPlace};

/// What stands for a recalled memory that was cleared.
const CLEARED_MEMORY: &str = "[Old recalled memory cleared; it can be recalled again.]";

/// The text of a cleared result, to be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedResult {
    /// The name of its file.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A clearing, ready to be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    /// The record.
    pub clearing: Clearing,
    /// Texts that must be on disk before the record is written.
    pub saved: Vec<SavedResult>,
}

/// How every marker begins.
const MARKER: &str = "[Old tool result content cleared; full text: ";

/// What stands for a cleared result.
pub fn marker(path: &str) -> String {
    format!("{MARKER}{path}]")
}

/// Whether a result is nothing but a marker.
pub(crate) fn is_marker(text: &str) -> bool {
    text.starts_with(MARKER)
}

/// Makes the record. `folder` is where the texts will lie, as the model is shown it.
pub fn compose(view: &View, selection: &Selection, folder: &str) -> Composed {
    let mut saved = Vec::new();
    let segments = selection
        .positions
        .iter()
        .filter_map(|position| view.frozen().get(*position));
    let blocks = segments
        .map(|segment| ClearedBlock {
            key: segment.origin,
            block: cleared(segment, folder, &mut saved),
        })
        .collect();
    Composed {
        clearing: Clearing {
            place: ClearingPlace::Local,
            blocks,
            thinking: selection.thinking.clone(),
            reason: selection.reason.clone(),
            freed: selection.freed,
            blob: None,
        },
        saved,
    }
}

fn cleared(segment: &Segment, folder: &str, saved: &mut Vec<SavedResult>) -> Block {
    let Some(call) = segment
        .block
        .call()
        .filter(|_| segment.block.kind() == BlockKind::ToolResult)
    else {
        return Block::text(CLEARED_MEMORY);
    };
    let text = segment.block.readable_text().unwrap_or_default();
    // Of a preview, the whole text lies in a file already.
    if let Some(path) = offload::saved_at(&text, folder) {
        return Block::tool_result(call, &marker(path), segment.block.is_error());
    }
    let name = offload::file_name(call, &text, Hash::of(text.as_bytes()));
    let marker = marker(&format!("{folder}/{name}"));
    saved.push(SavedResult { name, text });
    Block::tool_result(call, &marker, segment.block.is_error())
}
