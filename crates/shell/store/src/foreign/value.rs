//! Access to JSON of uncertain shape, and the blocks made of it.
//!
//! # Not here
//! The meaning of members: [`super::codex`] and [`super::pi`].

use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::CallId;
use dormouse_core::units::Millis;
use serde_json::{Value, json};

/// The string at `name`, unless it is missing or empty.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.is_empty())
}

/// The time at the first of `names` that holds one: RFC 3339, or milliseconds.
pub(super) fn time(value: &Value, names: &[&str]) -> Option<Millis> {
    names.iter().find_map(|name| match value.get(name)? {
        Value::String(text) => Millis::parse(text),
        number => number.as_i64().map(Millis),
    })
}

/// The number at `name`; negative and fractional ones count as missing.
pub(super) fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name)?.as_u64()
}

/// All readable text in some content: a string, a part, a list of parts.
pub(super) fn readable(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<String> = parts
                .iter()
                .map(readable)
                .filter(|text| !text.is_empty())
                .collect();
            texts.join("\n")
        }
        Value::Object(_) => ["text", "content", "output", "stdout"]
            .iter()
            .find_map(|name| content.get(name))
            .map_or_else(String::new, readable),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// The parts of some content as blocks: texts and images.
pub(super) fn parts(content: &Value) -> Vec<Block> {
    let one;
    let list = match content {
        Value::Array(list) => list.as_slice(),
        other => {
            one = [other.clone()];
            &one
        }
    };
    list.iter()
        .filter_map(|part| {
            image(part).or_else(|| {
                let text = readable(part);
                (!text.is_empty()).then(|| Block::text(&text))
            })
        })
        .collect()
}

/// An image with its data: pi has it in two members, Codex in a `data:` URL. Images elsewhere (a
/// file, the web) have no bytes here and are left out.
fn image(part: &Value) -> Option<Block> {
    let (media_type, data) = match (text(part, "mimeType"), text(part, "data")) {
        (Some(media_type), Some(data)) => (media_type, data),
        _ => text(part, "image_url")?
            .strip_prefix("data:")?
            .split_once(";base64,")?,
    };
    let source = json!({"type": "base64", "media_type": media_type, "data": data});
    Block::from_value(&json!({"type": "image", "source": source})).ok()
}

/// A call of a tool. The API accepts only objects as input, so any other value is wrapped.
pub(super) fn call(id: &str, name: &str, input: Value) -> Option<Block> {
    let input = match input {
        Value::Object(_) => input,
        // A call without arguments; the API wants an object all the same.
        Value::Null => json!({}),
        other => json!({"command": other}),
    };
    Block::from_value(&json!({"type": "tool_use", "id": id, "name": name, "input": input})).ok()
}

/// The result that answers a call; text alone as one string, images as blocks.
pub(super) fn result(id: &str, content: &Value, failed: bool) -> Option<Block> {
    let blocks = parts(content);
    if blocks.iter().all(|block| block.kind() == BlockKind::Text) {
        let id = CallId::from(id);
        return Some(Block::tool_result(&id, &readable(content), failed));
    }
    let mut value = json!({"type": "tool_result", "tool_use_id": id, "content": blocks});
    if failed {
        value["is_error"] = json!(true);
    }
    Block::from_value(&value).ok()
}
