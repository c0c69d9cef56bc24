//! Rewrites and thinking that is bound to the prompt in front of it.
//!
//! Some models refuse a thinking block when anything before it has changed. A local rewrite must
//! then take all thinking behind it along, and may be made only where no turn is under way:
//! within a turn the provider wants its thinking back. A turn is over when its response calls
//! nothing; words of the user that wait behind it begin the next one.

use crate::segment::Segment;
use crate::view::View;
use dormouse_core::block::BlockKind;
use dormouse_core::id::BlockKey;
use dormouse_core::record::Role;

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

/// Decides about a rewrite whose first change is at position `first` of the segments. Asked
/// between requests: while a response is on its way nothing is rewritten on any model.
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
    if between_turns(view) {
        RewriteVerdict::Allowed { thinking }
    } else {
        RewriteVerdict::Wait {
            reason: "the turn is not finished and its thinking is bound",
        }
    }
}

/// Whether the turn before is over: its response calls nothing, and what came in since are words,
/// not results. Words that were sent and not answered (the request was refused, or broke off)
/// wait like those that were not sent.
fn between_turns(view: &View) -> bool {
    let tail = view.tail();
    let result = |segment: &Segment| segment.block.kind() == BlockKind::ToolResult;
    if tail.open_calls().next().is_some() || tail.incoming.iter().any(result) {
        return false;
    }
    let mut unanswered = view
        .frozen()
        .iter()
        .rev()
        .take_while(|segment| segment.role != Role::Assistant);
    !tail.response.is_empty() || !unanswered.any(result)
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
