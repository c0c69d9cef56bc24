//! Rewrites on models that bind thinking to the prompt in front of it.
//!
//! Some models refuse a thinking block if anything before it has changed. A local rewrite then has
//! to remove all thinking behind it, and is allowed only between turns: within a turn the provider
//! requires the thinking back. A turn is over when its response makes no calls; user messages
//! waiting behind it begin the next one.
//!
//! Not here: the provider's own compaction, which is allowed within a turn ([`crate::compaction`]).

use crate::segment::Segment;
use crate::view::View;
use dormouse_core::block::BlockKind;
use dormouse_core::id::BlockKey;
use dormouse_core::record::Role;

/// Answer to whether a local rewrite is allowed now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewriteVerdict {
    /// Allowed, with these thinking blocks removed along with it.
    Allowed {
        /// Keys of the blocks, in prompt order; empty if thinking is not bound.
        thinking: Vec<BlockKey>,
    },
    /// Not before the end of the turn, unless the provider makes it.
    Wait {
        /// Reason for screens and logs.
        reason: &'static str,
    },
}

/// Decides about a rewrite whose first change is at position `first` of the segments. Called
/// between requests only: during a response nothing is rewritten, whatever the model.
pub fn local_rewrite(view: &View, first: usize) -> RewriteVerdict {
    if !view.target().binds_to_prefix() {
        return RewriteVerdict::Allowed {
            thinking: Vec::new(),
        };
    }
    let thinking = thinking_behind(view, first);
    // Nothing behind the change is bound, so it is safe within a turn too.
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

/// True if the last turn is over: its response makes no calls, and only user messages arrived
/// since, no results. User messages that were sent and not answered (the request was refused or
/// broke off) count like unsent ones.
fn between_turns(view: &View) -> bool {
    let tail = view.tail();
    let result = |segment: &Segment| segment.block.kind() == BlockKind::ToolResult;
    // Open calls, or results that no response has answered: the turn goes on.
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

/// Thinking blocks at or behind a position, in the frozen part and in the response.
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
