//! Derived blocks: content that is not in the log but follows from a recorded block.
//!
//! Each is a pure function of its source block, so that every later view derives the same bytes and
//! the prompt cache stays valid. The texts below are therefore frozen: changing one changes the
//! prompts of existing sessions.

use crate::category::Category;
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_core::record::{Derived, Role};

/// Content of the result that stands in for one that never arrived.
pub const MISSING_RESULT: &str = "[No result: the call was interrupted before it returned.]";
/// User turn in front of a conversation that would begin with the assistant.
const OPENING: &str = "[The conversation continues below.]";
/// Assistant turn between a system message that got no answer and the user turn behind it.
const NO_RESPONSE: &str = "[No response: the request was interrupted.]";

/// Makes the derived block from its source.
pub(crate) fn derive(derived: Derived, source: &Block) -> Block {
    match derived {
        Derived::MissingResult => {
            // A call without an id cannot be answered; the empty id only keeps the function total.
            let unnamed = CallId::from("");
            Block::tool_result(source.call().unwrap_or(&unnamed), MISSING_RESULT, true)
        }
        Derived::LateResult => {
            let call = source.call().map_or("unknown", CallId::as_str);
            let text = source.readable_text().unwrap_or_default();
            Block::text(&format!("[Late result of the tool call {call}]\n{text}"))
        }
        Derived::Opening => Block::text(OPENING),
        Derived::NoResponse => Block::text(NO_RESPONSE),
    }
}

/// Makes a derived block that does not depend on its source, if it is of such a kind.
pub(crate) fn without_source(derived: Derived) -> Option<Block> {
    match derived {
        Derived::MissingResult | Derived::LateResult => None,
        Derived::Opening => Some(Block::text(OPENING)),
        Derived::NoResponse => Some(Block::text(NO_RESPONSE)),
    }
}

/// Role in which the derived block is sent.
pub(crate) const fn role(derived: Derived) -> Role {
    match derived {
        Derived::MissingResult | Derived::LateResult | Derived::Opening => Role::User,
        Derived::NoResponse => Role::Assistant,
    }
}

/// Category under which the derived block is counted.
pub(crate) const fn category(derived: Derived) -> Category {
    match derived {
        Derived::MissingResult | Derived::LateResult => Category::ToolResults,
        Derived::Opening | Derived::NoResponse => Category::Attachments,
    }
}
