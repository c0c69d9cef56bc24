//! Content blocks as parts of chat messages.
//!
//! # Not here
//! Tools and parameters ([`super::convert`]) and the way back ([`super::decode`]).

use dormouse_ask::Warning;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Content that the wire cannot carry, counted by type.
#[derive(Debug, Default)]
pub(super) struct Omitted(BTreeMap<String, usize>);

impl Omitted {
    pub(super) fn add(&mut self, what: &str) {
        *self.0.entry(what.to_owned()).or_default() += 1;
    }

    pub(super) fn warnings(self) -> Vec<Warning> {
        let warning = |(what, count)| Warning::Omitted { what, count };
        self.0.into_iter().map(warning).collect()
    }
}

/// A block, as far as this wire can use it.
#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    tool_use_id: Option<String>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default)]
    title: Option<String>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    source: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default, borrow)]
    data: Option<std::borrow::Cow<'a, str>>,
    #[serde(default)]
    url: Option<String>,
}

enum Part {
    Text(String),
    Image(String),
}

/// A string, or the blocks of an array.
fn blocks(raw: &RawValue) -> Result<Result<String, Vec<Block<'_>>>, serde_json::Error> {
    if raw.get().starts_with('"') {
        return serde_json::from_str(raw.get()).map(Ok);
    }
    serde_json::from_str(raw.get()).map(Err)
}

/// The text of a system prompt or of a tool result.
pub(super) fn plain_text(
    raw: &RawValue,
    omitted: &mut Omitted,
) -> Result<String, serde_json::Error> {
    let blocks = match blocks(raw)? {
        Ok(text) => return Ok(text),
        Err(blocks) => blocks,
    };
    let mut texts = Vec::new();
    for block in blocks {
        match part(block, omitted)? {
            Some(Part::Text(text)) => texts.push(text),
            // A system prompt or result is text only on this wire.
            Some(Part::Image(_)) => {
                omitted.add("image");
                texts.push(note("image"));
            }
            None => {}
        }
    }
    Ok(texts.join("\n\n"))
}

/// Stand-in for content that was left out.
fn note(what: &str) -> String {
    format!("[{what} left out: this model cannot receive it]")
}

fn left_out(what: &str, omitted: &mut Omitted) -> Part {
    omitted.add(what);
    Part::Text(note(what))
}

fn part(block: Block<'_>, omitted: &mut Omitted) -> Result<Option<Part>, serde_json::Error> {
    Ok(match block.kind.as_str() {
        "text" => block.text.map(Part::Text),
        // No server of this wire takes thinking back, so its absence is no warning.
        "thinking" | "redacted_thinking" => None,
        "image" => {
            let url = block.source.map(image).transpose()?.flatten();
            Some(url.map_or_else(|| left_out("image", omitted), Part::Image))
        }
        "document" => Some(Part::Text(document(&block, omitted)?)),
        "search_result" => {
            let text = block.content.map(|raw| plain_text(raw, omitted));
            let text = text.transpose()?.unwrap_or_default();
            let title = block.title.unwrap_or_default();
            Some(Part::Text(format!("{title}\n{text}")))
        }
        // A summary reads as text; the provider's signature means nothing here.
        "compaction" => match block.content {
            Some(raw) if raw.get() != "null" => Some(Part::Text(plain_text(raw, omitted)?)),
            _ => None,
        },
        // A kind of one provider, such as its own tools' results.
        other => {
            omitted.add(other);
            None
        }
    })
}

fn image(source: &RawValue) -> Result<Option<String>, serde_json::Error> {
    let source: Source<'_> = serde_json::from_str(source.get())?;
    Ok(match (source.kind.as_str(), source.data) {
        ("base64", Some(data)) => {
            let kind = source.media_type.as_deref().unwrap_or("image/png");
            Some(format!("data:{kind};base64,{data}"))
        }
        ("url", _) => source.url,
        _ => None,
    })
}

fn document(block: &Block<'_>, omitted: &mut Omitted) -> Result<String, serde_json::Error> {
    if let Some(raw) = block.source {
        let source: Source<'_> = serde_json::from_str(raw.get())?;
        if let ("text", Some(text)) = (source.kind.as_str(), source.data) {
            return Ok(match &block.title {
                Some(title) => format!("{title}\n{text}"),
                None => text.into_owned(),
            });
        }
    }
    omitted.add("document");
    Ok(note("document"))
}

/// A user turn: tool results first, each a message of its own, then the user's words.
pub(super) fn user(
    raw: &RawValue,
    messages: &mut Vec<Value>,
    omitted: &mut Omitted,
) -> Result<(), serde_json::Error> {
    let blocks = match blocks(raw)? {
        Ok(text) => {
            messages.push(json!({ "role": "user", "content": text }));
            return Ok(());
        }
        Err(blocks) => blocks,
    };
    let mut parts = Vec::new();
    for block in blocks {
        if block.kind == "tool_result" {
            let (text, pictures) = tool_result(&block, omitted)?;
            let id = block.tool_use_id.unwrap_or_default();
            messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
            parts.extend(pictures.into_iter().map(Part::Image));
        } else {
            parts.extend(part(block, omitted)?);
        }
    }
    if !parts.is_empty() {
        messages.push(json!({ "role": "user", "content": joined(parts) }));
    }
    Ok(())
}

/// Tool messages are text only on this wire; pictures follow in the user's message.
fn tool_result(
    block: &Block<'_>,
    omitted: &mut Omitted,
) -> Result<(String, Vec<String>), serde_json::Error> {
    let (mut texts, mut pictures) = (Vec::new(), Vec::new());
    match block.content.map(blocks).transpose()? {
        None => {}
        Some(Ok(text)) => texts.push(text),
        Some(Err(blocks)) => {
            for block in blocks {
                match part(block, omitted)? {
                    Some(Part::Text(text)) => texts.push(text),
                    Some(Part::Image(url)) => {
                        // A result without a word about it would leave the model without a hint.
                        texts.push("[image: see the next message]".to_owned());
                        pictures.push(url);
                    }
                    None => {}
                }
            }
        }
    }
    let text = texts.join("\n\n");
    Ok(match block.is_error {
        Some(true) => (format!("Error: {text}"), pictures),
        _ => (text, pictures),
    })
}

/// Text alone is a string, which every server takes; with pictures it is a list of parts.
fn joined(parts: Vec<Part>) -> Value {
    let only_text = parts.iter().all(|part| matches!(part, Part::Text(_)));
    if only_text {
        let texts = parts.into_iter().map(|part| match part {
            Part::Text(text) | Part::Image(text) => text,
        });
        return Value::String(texts.collect::<Vec<_>>().join("\n\n"));
    }
    let parts = parts.into_iter().map(|part| match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image(url) => json!({ "type": "image_url", "image_url": { "url": url } }),
    });
    Value::Array(parts.collect())
}

/// An assistant turn: its text and its calls in one message.
pub(super) fn assistant(
    raw: &RawValue,
    messages: &mut Vec<Value>,
    omitted: &mut Omitted,
) -> Result<(), serde_json::Error> {
    let blocks = match blocks(raw)? {
        Ok(text) => {
            messages.push(json!({ "role": "assistant", "content": text }));
            return Ok(());
        }
        Err(blocks) => blocks,
    };
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for block in blocks {
        if block.kind == "tool_use" {
            calls.push(json!({
                "id": block.id.unwrap_or_default(),
                "type": "function",
                "function": {
                    "name": block.name.unwrap_or_default(),
                    "arguments": block.input.map_or("{}", RawValue::get),
                },
            }));
        } else if let Some(Part::Text(text)) = part(block, omitted)? {
            texts.push(text);
        }
    }
    // An assistant message with neither text nor calls is refused by most servers.
    if texts.is_empty() && calls.is_empty() {
        return Ok(());
    }
    let mut message = json!({ "role": "assistant", "content": null });
    if !texts.is_empty() {
        message["content"] = Value::String(texts.join("\n\n"));
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    messages.push(message);
    Ok(())
}
