//! The models endpoints.
//!
//! # Not here
//! The table itself: `dormouse_core::models`.

use crate::validate;
use dormouse_core::models::{ModelInfo, ModelTable, Tokenizer};
use serde_json::{Value, json};

/// Models of one page unless the query names another number, as at the provider.
const PAGE: usize = 20;

/// One model in the provider's shape.
pub(crate) fn one(model: &ModelInfo) -> Value {
    let line = ["haiku", "sonnet", "opus", "fable", "mythos"]
        .into_iter()
        .find(|line| model.id.contains(line));
    let newer = model.tokenizer == Tokenizer::New;
    let is = |supported: bool| json!({"supported": supported});
    let effort = model.default_effort.is_some();
    json!({
        "type": "model",
        "id": model.id,
        "display_name": model.id,
        "created_at": "2026-01-01T00:00:00Z",
        "lifecycle": if model.retired { "retired" } else { "active" },
        "line": line,
        "max_input_tokens": model.window,
        "max_tokens": model.max_output,
        "deprecated_at": null,
        "retires_at": null,
        "capabilities": {
            "batch": is(false),
            "citations": is(true),
            "code_execution": is(false),
            "context_management": {
                "supported": true,
                "clear_thinking_20251015": is(true),
                "clear_tool_uses_20250919": is(true),
                "compact_20260112": is(true),
            },
            "effort": {
                "supported": effort,
                "low": is(effort),
                "medium": is(effort),
                "high": is(effort),
                "xhigh": is(effort),
                "max": is(effort),
            },
            "image_input": is(true),
            "pdf_input": is(true),
            "server_tools": {
                "supported": false,
                "code_execution": is(false),
                "web_search": is(false),
            },
            "structured_outputs": is(false),
            "thinking": {
                "supported": true,
                "types": {
                    "adaptive": is(newer),
                    "between_tools": is(true),
                    "disabled": is(!validate::always_thinks(model)),
                    "enabled": is(true),
                },
            },
        },
    })
}

/// A page of all models that are served, newest names first.
pub(crate) fn list(table: &ModelTable, query: &str) -> Value {
    let parameter = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    };
    let mut models: Vec<&ModelInfo> = table.iter().filter(|model| !model.retired).collect();
    // The table lists oldest first; the provider newest first.
    models.reverse();
    let index = |id: &str| models.iter().position(|model| model.id == id);
    let start = parameter("after_id").and_then(index).map_or(0, |at| at + 1);
    let end = parameter("before_id")
        .and_then(index)
        .unwrap_or(models.len());
    let limit = parameter("limit")
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(PAGE);
    // Ids in the wrong order give an empty page, not a panic.
    let range = models.get(start..end.max(start)).unwrap_or_default();
    let page = &range[..range.len().min(limit)];
    json!({
        "data": page.iter().map(|model| one(model)).collect::<Vec<_>>(),
        "has_more": page.len() < range.len(),
        "first_id": page.first().map(|model| &model.id),
        "last_id": page.last().map(|model| &model.id),
    })
}

/// All models in the shape of the OpenAI face.
pub(crate) fn openai_list(table: &ModelTable) -> Value {
    let models = table.iter().filter(|model| !model.retired);
    json!({
        "object": "list",
        "data": models.map(|model| openai_one(&model.id)).collect::<Vec<_>>(),
    })
}

/// One model in the shape of the OpenAI face.
pub(crate) fn openai_one(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": 1_767_225_600, "owned_by": "dormouse-sim"})
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn capabilities_are_objects_as_official_clients_read_them() {
        let table = ModelTable::builtin();
        let info = one(table.lookup("claude-opus-5").info);
        for path in [
            "image_input",
            "context_management",
            "context_management/clear_tool_uses_20250919",
            "effort",
            "effort/low",
            "thinking",
            "thinking/types/disabled",
        ] {
            let path = format!("/capabilities/{path}/supported");
            assert_eq!(info.pointer(&path), Some(&json!(true)), "{path}");
        }
        let never_silent = one(table.lookup("claude-fable-5").info);
        let types = &never_silent["capabilities"]["thinking"]["types"];
        assert_eq!(types["disabled"], json!({"supported": false}));
    }
}
