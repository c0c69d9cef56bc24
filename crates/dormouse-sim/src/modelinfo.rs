//! The models endpoints.

use dormouse_core::models::{ModelInfo, ModelTable, Tokenizer};
use serde_json::{Value, json};

const PAGE: usize = 20;

/// One model.
pub(crate) fn one(model: &ModelInfo) -> Value {
    let line = ["haiku", "sonnet", "opus", "fable", "mythos"]
        .into_iter()
        .find(|line| model.id.contains(line));
    let newer = model.tokenizer == Tokenizer::New;
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
            "batch": false,
            "citations": true,
            "code_execution": false,
            "context_management": {
                "clear_thinking_20251015": true,
                "clear_tool_uses_20250919": true,
                "compact_20260112": true,
            },
            "effort": model.default_effort.is_some(),
            "image_input": true,
            "pdf_input": true,
            "server_tools": false,
            "structured_outputs": false,
            "thinking": {"types": if newer { json!(["adaptive", "enabled"]) } else { json!(["enabled"]) }},
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
    models.reverse();
    let index = |id: &str| models.iter().position(|model| model.id == id);
    let start = parameter("after_id").and_then(index).map_or(0, |at| at + 1);
    let end = parameter("before_id")
        .and_then(index)
        .unwrap_or(models.len());
    let limit = parameter("limit")
        .and_then(|limit| limit.parse().ok())
        .unwrap_or(PAGE);
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
