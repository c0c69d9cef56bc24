//! A tool call of the model.

use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::CallId;
use serde_json::{Value, json};

/// Name of the tool by which a model calls tools of servers, whose definitions are not in its prompt.
pub const CALL_TOOL: &str = "CallTool";
/// Prefix of the tools that can be called so. Others stand in the prompt.
const CALLED: &str = "mcp__";

/// Tool call of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Id of the call; its result refers to it.
    pub id: CallId,
    /// Name of the tool, as called.
    pub tool: String,
    /// Whole block; tools read their input from it.
    pub block: Block,
}

impl ToolCall {
    /// Call contained in a block, if it is a `tool_use` with id and name. A call by way of
    /// [`CALL_TOOL`] is a call of the tool it names: rules and hooks judge what runs.
    pub fn of(block: &Block) -> Option<Self> {
        (block.kind() == BlockKind::ToolUse).then_some(())?;
        let call = Self {
            id: block.call()?.clone(),
            tool: block.tool()?.to_owned(),
            block: block.clone(),
        };
        let inner = if call.tool == CALL_TOOL {
            call.inner()
        } else {
            None
        };
        Some(inner.unwrap_or(call))
    }

    /// Call that this one names; `None` if it names none that can be called so.
    fn inner(&self) -> Option<Self> {
        let block: Value = serde_json::from_slice(self.block.bytes()).ok()?;
        let input = &block["input"];
        let tool = input["name"].as_str()?;
        let arguments = match &input["arguments"] {
            Value::Null => json!({}),
            given @ Value::Object(_) => given.clone(),
            // Some models write objects as texts.
            Value::String(text) => serde_json::from_str(text).ok()?,
            _ => return None,
        };
        (tool.starts_with(CALLED) && arguments.is_object()).then_some(())?;
        let block = json!({
            "type": "tool_use", "id": self.id.as_str(), "name": tool, "input": arguments,
        });
        Some(Self {
            id: self.id.clone(),
            tool: tool.to_owned(),
            block: Block::from_value(&block).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, input: &Value) -> ToolCall {
        let block = json!({ "type": "tool_use", "id": "c1", "name": name, "input": input });
        ToolCall::of(&Block::from_value(&block).unwrap()).unwrap()
    }

    fn input(call: &ToolCall) -> Value {
        let block: Value = serde_json::from_slice(call.block.bytes()).unwrap();
        block["input"].clone()
    }

    #[test]
    fn a_call_by_way_of_the_caller_is_a_call_of_the_tool_it_names() {
        for arguments in [json!({ "a": 1 }), json!("{\"a\":1}")] {
            let called = call(
                CALL_TOOL,
                &json!({ "name": "mcp__calc__add", "arguments": arguments }),
            );
            assert_eq!(called.tool, "mcp__calc__add");
            assert_eq!(input(&called), json!({ "a": 1 }));
            assert_eq!(called.id.as_str(), "c1");
        }
        let empty = call(CALL_TOOL, &json!({ "name": "mcp__calc__pid" }));
        assert_eq!(input(&empty), json!({}));
    }

    #[test]
    fn only_tools_of_servers_are_called_so() {
        for named in [
            json!({ "name": "Bash", "arguments": { "command": "true" } }),
            json!({ "name": CALL_TOOL, "arguments": { "name": "mcp__a__b" } }),
            json!({ "name": "mcp__a__b", "arguments": [1] }),
            json!({ "arguments": {} }),
            json!({}),
        ] {
            let called = call(CALL_TOOL, &named);
            assert_eq!((called.tool.as_str(), input(&called)), (CALL_TOOL, named));
        }
    }
}
