//! Rewrites and thinking that is bound to the prompt in front of it.
//!
//! Some models refuse a thinking block when anything before it has changed. A local rewrite must
//! then take all thinking behind it along, and may be made only where no turn is under way:
//! within a turn the provider wants its thinking back.

use crate::segment::Segment;
use crate::view::View;
use dormouse_core::block::BlockKind;
use dormouse_core::id::BlockKey;

/// Whether a local rewrite may be made now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewriteVerdict {
    /// It may; these thinking blocks must go with it.
    Allowed {
        /// The blocks, in order.
        thinking: Vec<BlockKey>,
    },
    /// It must wait for the end of the turn, or be made by the provider.
    Wait {
        /// Why.
        reason: &'static str,
    },
}

/// Decides about a rewrite whose first change is at position `first` of the segments.
pub fn local_rewrite(view: &View, first: usize) -> RewriteVerdict {
    if !view.target().binds_to_prefix() {
        return RewriteVerdict::Allowed {
            thinking: Vec::new(),
        };
    }
    let thinking = thinking_behind(view, first);
    if thinking.is_empty() {
        return RewriteVerdict::Allowed { thinking };
    }
    if view.is_awaiting_response() {
        return RewriteVerdict::Wait {
            reason: "a response is on its way and its thinking is bound",
        };
    }
    // Words of the user that wait behind a finished response begin the next turn.
    let tail = view.tail();
    let result = |segment: &Segment| segment.block.kind() == BlockKind::ToolResult;
    let finished = !tail.response.is_empty()
        && !tail.incoming.iter().any(result)
        && tail.open_calls().next().is_none();
    if finished {
        RewriteVerdict::Allowed { thinking }
    } else {
        RewriteVerdict::Wait {
            reason: "the turn is not finished and its thinking is bound",
        }
    }
}

fn thinking_behind(view: &View, first: usize) -> Vec<BlockKey> {
    let response = view.tail().response.iter();
    let is_thinking = |segment: &&Segment| segment.block.kind().is_thinking();
    view.frozen()
        .iter()
        .skip(first)
        .chain(response.skip(first.saturating_sub(view.frozen().len())))
        .filter(is_thinking)
        .map(|segment| segment.origin)
        .collect()
}
