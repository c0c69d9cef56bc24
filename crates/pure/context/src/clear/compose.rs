//! The record of a clearing, composed from a selection.

use super::Selection;
use crate::offload;
use crate::segment::Segment;
use crate::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::record::{ClearedBlock, Clearing, ClearingPlace};

/// Replacement of a cleared memory. It names no file: recall can find the memory again.
const CLEARED_MEMORY: &str = "[Old recalled memory cleared; it can be recalled again.]";

/// Text of a cleared result, to save before the record is appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedResult {
    /// File name inside the session's folder of results.
    pub name: String,
    /// Whole text of the result.
    pub text: String,
}

/// A clearing, ready to be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Composed {
    /// Record to append once `saved` is on disk.
    pub clearing: Clearing,
    /// Texts that must be on disk before the record is appended.
    pub saved: Vec<SavedResult>,
}

/// Beginning of every marker; [`is_marker`] recognises it, so existing logs depend on it.
const MARKER: &str = "[Old tool result content cleared; full text: ";

/// Replacement of a cleared result, with the path of its full text.
pub fn marker(path: &str) -> String {
    format!("{MARKER}{path}]")
}

/// True if a result consists of a marker.
pub(crate) fn is_marker(text: &str) -> bool {
    text.starts_with(MARKER)
}

/// Composes the record. `folder` is the folder of results as the model is shown it.
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
            // Each text has a file of its own, named by its marker.
            blob: None,
        },
        saved,
    }
}

/// Replacement for a segment; the text of a result is added to `saved`.
fn cleared(segment: &Segment, folder: &str, saved: &mut Vec<SavedResult>) -> Block {
    let Some(call) = segment
        .block
        .call()
        .filter(|_| segment.block.kind() == BlockKind::ToolResult)
    else {
        return Block::text(CLEARED_MEMORY);
    };
    let text = segment.block.readable_text().unwrap_or_default();
    // The whole text of a preview is in a file already; name that one instead of saving the
    // preview.
    if let Some(path) = offload::saved_at(&text, folder) {
        return Block::tool_result(call, &marker(path), segment.block.is_error());
    }
    let name = offload::file_name(call, &text, Hash::of(text.as_bytes()));
    let marker = marker(&format!("{folder}/{name}"));
    saved.push(SavedResult { name, text });
    Block::tool_result(call, &marker, segment.block.is_error())
}
