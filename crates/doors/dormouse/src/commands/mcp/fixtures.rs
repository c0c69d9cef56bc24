//! Tools and resources that the public conformance suite asks for, behind a hidden option.
//!
//! Words and names are those of the suite (`.ci/mcp/run`); none of them is there for a client.

use rmcp::model::{
    CallToolResult, ContentBlock, Resource, ResourceContents, ResourceTemplate, Tool,
};
use serde_json::{Value, json};
use std::sync::Arc;

/// A picture of one pixel, encoded.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/// Resource that never changes and can be subscribed to.
const WATCHED: &str = "test://watched-resource";

/// Definitions of the tools.
pub(super) fn tools() -> Vec<Tool> {
    let tool = |name: &'static str, about: &'static str, schema: Value| {
        let schema = schema.as_object().cloned().unwrap_or_default();
        Tool::new(name, about, Arc::new(schema))
    };
    let none = || json!({ "type": "object", "properties": {} });
    vec![
        tool("test_simple_text", "Returns a text", none()),
        tool("test_error_handling", "Always fails", none()),
        tool(
            "json_schema_2020_12_tool",
            "Tool with JSON Schema 2020-12 features",
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "$defs": { "address": {
                    "$anchor": "addressDef",
                    "type": "object",
                    "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
                } },
                "properties": {
                    "name": { "type": "string" },
                    "address": { "$ref": "#/$defs/address" },
                    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
                    "phone": { "type": "string" },
                    "email": { "type": "string" },
                },
                "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
                "if": {
                    "properties": { "contactMethod": { "const": "phone" } },
                    "required": ["contactMethod"],
                },
                "then": { "required": ["phone"] },
                "else": { "required": ["email"] },
                "additionalProperties": false,
            }),
        ),
    ]
}

/// Answer of a tool; `None` if it is none of these.
pub(super) fn call(name: &str) -> Option<CallToolResult> {
    let text = |words: &str| vec![ContentBlock::text(words)];
    Some(match name {
        "test_simple_text" => {
            CallToolResult::success(text("This is a simple text response for testing."))
        }
        "test_error_handling" => {
            CallToolResult::error(text("This tool intentionally returns an error for testing"))
        }
        "json_schema_2020_12_tool" => CallToolResult::success(text("called")),
        _ => return None,
    })
}

/// Resources that are listed.
pub(super) fn resources() -> Vec<Resource> {
    let named = |uri: &str, kind: &str| Resource::new(uri, uri).with_mime_type(kind);
    vec![
        named("test://static-text", "text/plain"),
        named("test://static-binary", "image/png"),
        named(WATCHED, "text/plain"),
    ]
}

/// Families of resources that the conformance suite asks for.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![ResourceTemplate::new(
        "test://template/{id}/data",
        "template",
    )]
}

/// Content of a resource; `None` if it is none of these.
pub(super) fn read(uri: &str) -> Option<ResourceContents> {
    let text = |words: String, kind: &str| {
        ResourceContents::text(words, uri.to_owned()).with_mime_type(kind)
    };
    match uri {
        "test://static-text" => {
            let words = "This is the content of the static text resource.";
            Some(text(words.to_owned(), "text/plain"))
        }
        "test://static-binary" => {
            Some(ResourceContents::blob(PIXEL, uri.to_owned()).with_mime_type("image/png"))
        }
        WATCHED => Some(text("Watched.".to_owned(), "text/plain")),
        _ => {
            let id = uri
                .strip_prefix("test://template/")?
                .strip_suffix("/data")?;
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Some(text(data.to_string(), "application/json"))
        }
    }
}
