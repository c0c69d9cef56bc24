//! Blocks for tests, one line each.

use dormouse_core::block::Block;
use serde_json::{Value, json};

/// Any JSON object as a block.
pub fn block(value: &Value) -> Block {
    Block::from_value(value).expect("the value is a block")
}

/// A tool call with an id of the test's choice.
pub fn call(id: &str, tool: &str, input: &Value) -> Block {
    block(&json!({ "type": "tool_use", "id": id, "name": tool, "input": input }))
}

/// A tool result of one text, without an error.
pub fn result(id: &str, text: &str) -> Block {
    Block::tool_result(&id.into(), text, false)
}

/// Thinking with a signature that follows from its length, so that equal texts have equal blocks.
pub fn thinking(text: &str) -> Block {
    block(
        &json!({ "type": "thinking", "thinking": text, "signature": format!("sig-{}", text.len()) }),
    )
}

/// Thinking whose signature never came.
pub fn unsigned_thinking(text: &str) -> Block {
    block(&json!({ "type": "thinking", "thinking": text, "signature": "" }))
}
