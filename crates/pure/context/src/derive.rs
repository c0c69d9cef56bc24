//! Blocks that are not in the log but follow from one that is.
//!
//! Each is a pure function of its source block, so that every later view derives the same bytes.

use crate::category::Category;
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_core::record::{Derived, Role};

/// What the model is told about a call that never got its result.
pub const MISSING_RESULT: &str = "[No result: the call was interrupted before it returned.]";
const OPENING: &str = "[The conversation continues below.]";
const NO_RESPONSE: &str = "[No response: the request was interrupted.]";

/// Makes the derived block.
pub(crate) fn derive(derived: Derived, source: &Block) -> Block {
    match derived {
        Derived::MissingResult => {
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

/// Makes a derived block that is the same whatever its source.
pub(crate) fn without_source(derived: Derived) -> Option<Block> {
    match derived {
        Derived::MissingResult | Derived::LateResult => None,
        Derived::Opening => Some(Block::text(OPENING)),
        Derived::NoResponse => Some(Block::text(NO_RESPONSE)),
    }
}

/// The role of the derived block.
pub(crate) const fn role(derived: Derived) -> Role {
    match derived {
        Derived::MissingResult | Derived::LateResult | Derived::Opening => Role::User,
        Derived::NoResponse => Role::Assistant,
    }
}

/// What the derived block counts as.
pub(crate) const fn category(derived: Derived) -> Category {
    match derived {
        Derived::MissingResult | Derived::LateResult => Category::ToolResults,
        Derived::Opening | Derived::NoResponse => Category::Attachments,
    }
}
