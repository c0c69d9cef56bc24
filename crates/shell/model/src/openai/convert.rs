//! A prompt in the shape of the Messages API, as chat messages.
//!
//! # Model
//! One pass over the body; the same bytes always give the same bytes, and a longer conversation
//! gives a longer list of messages that begins with the same ones, so that automatic prefix caches
//! hit. Tool calls and results become their counterparts; thinking is dropped (no server of this
//! wire takes it back); content the wire cannot carry is counted as omitted and leaves a note in
//! its place, so that the model does not answer to nothing.
//!
//! # Not here
//! Members that only one provider knows: an unknown member of the parameters is dropped, except
//! those in [`PASSED`].

use super::content::{self, Omitted};
use dormouse_ask::Warning;
use dormouse_core::json::{ObjectWriter, RawJson, RawMembers};
use dormouse_core::units::Tokens;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Members that mean the same on both wires, or only on this one.
const PASSED: [&str; 9] = [
    "temperature",
    "top_p",
    "seed",
    "response_format",
    "prompt_cache_key",
    "reasoning_effort",
    "logit_bias",
    "presence_penalty",
    "frequency_penalty",
];

/// A translated body, with its omissions and its size.
#[derive(Debug)]
pub(super) struct Converted {
    pub(super) body: Vec<u8>,
    pub(super) warnings: Vec<Warning>,
    /// A rough estimate of the prompt's tokens, without images.
    pub(super) estimate: Tokens,
}

/// The name of the member that limits the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LengthMember {
    /// `max_tokens`: the name local servers know.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`: the name OpenAI's newer models insist on.
    MaxCompletionTokens,
}

#[derive(Deserialize)]
struct Message<'a> {
    role: String,
    #[serde(borrow)]
    content: &'a RawValue,
}

pub(super) fn convert(body: &[u8], length: LengthMember) -> Result<Converted, serde_json::Error> {
    let members: RawMembers<'_> = serde_json::from_slice(body)?;
    let find = |wanted: &str| {
        let found = members.0.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| *value)
    };
    let mut omitted = Omitted::default();
    let mut out = ObjectWriter::with_capacity(body.len() + body.len() / 8);
    if let Some(model) = find("model") {
        out.raw("model").extend_from_slice(model.get().as_bytes());
    }
    let mut messages = Vec::new();
    if let Some(system) = find("system") {
        let text = content::plain_text(system, &mut omitted)?;
        if !text.is_empty() {
            messages.push(json!({ "role": "system", "content": text }));
        }
    }
    if let Some(list) = find("messages") {
        for message in serde_json::from_str::<Vec<Message<'_>>>(list.get())? {
            match message.role.as_str() {
                "assistant" => content::assistant(message.content, &mut messages, &mut omitted)?,
                "system" => {
                    let text = content::plain_text(message.content, &mut omitted)?;
                    messages.push(json!({ "role": "system", "content": text }));
                }
                // Any unknown role is the user's side: dropping it would break the order of turns.
                _ => content::user(message.content, &mut messages, &mut omitted)?,
            }
        }
    }
    out.field("messages", &messages)?;
    let mut text_bytes: u64 = messages.iter().map(text_length).sum();
    if let Some(tools) = find("tools") {
        let tools = convert_tools(tools, &mut omitted)?;
        text_bytes += serde_json::to_vec(&tools)?.len() as u64;
        // An empty list of tools, or a choice without tools, is refused by some servers.
        if !tools.is_empty() {
            out.field("tools", &tools)?;
            if let Some(choice) = find("tool_choice") {
                convert_choice(choice, &mut out)?;
            }
        }
    }
    let limit = match length {
        LengthMember::MaxTokens => "max_tokens",
        LengthMember::MaxCompletionTokens => "max_completion_tokens",
    };
    for (from, to) in [("max_tokens", limit), ("stop_sequences", "stop")] {
        if let Some(value) = find(from) {
            out.raw(to).extend_from_slice(value.get().as_bytes());
        }
    }
    for name in PASSED {
        if let Some(value) = find(name) {
            out.raw(name).extend_from_slice(value.get().as_bytes());
        }
    }
    // A format in this wire's own words wins over the translated one.
    if let Some(config) = find("output_config").filter(|_| find("response_format").is_none()) {
        convert_format(config, &mut out)?;
    }
    if find("stream").is_some_and(|value| value.get() == "true") {
        out.field("stream", &true)?;
        // Without it most servers report no usage for a stream.
        out.field("stream_options", &json!({ "include_usage": true }))?;
    }
    Ok(Converted {
        body: out.finish(),
        warnings: omitted.warnings(),
        estimate: Tokens(text_bytes / BYTES_PER_TOKEN),
    })
}

/// Bytes of prose or code per token, for an estimate on the high side: it is used to notice that
/// far too little was read.
const BYTES_PER_TOKEN: u64 = 4;

/// Bytes of text in a chat message, without pictures.
fn text_length(message: &Value) -> u64 {
    let content = match &message["content"] {
        Value::String(text) => text.len(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .map(str::len)
            .sum(),
        _ => 0,
    };
    let calls = message["tool_calls"].as_array().map_or(0, |calls| {
        let length = |call: &Value| call["function"]["arguments"].as_str().map_or(0, str::len);
        calls.iter().map(length).sum()
    });
    (content + calls) as u64
}

#[derive(Deserialize)]
struct Tool<'a> {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(borrow, default)]
    input_schema: Option<&'a RawValue>,
    #[serde(default)]
    strict: Option<bool>,
}

fn convert_tools(
    tools: &RawValue,
    omitted: &mut Omitted,
) -> Result<Vec<RawJson>, serde_json::Error> {
    let mut converted = Vec::new();
    for tool in serde_json::from_str::<Vec<Tool<'_>>>(tools.get())? {
        // Only its own provider can run such a tool.
        if let Some(kind) = tool.kind.filter(|kind| kind != "custom") {
            omitted.add(&kind);
            continue;
        }
        let mut function = ObjectWriter::with_capacity(256);
        function.field("name", &tool.name)?;
        function.optional("description", tool.description.as_ref())?;
        let schema = tool.input_schema.map_or("{}", RawValue::get);
        function
            .raw("parameters")
            .extend_from_slice(schema.as_bytes());
        function.optional("strict", tool.strict.as_ref())?;
        let mut outer = ObjectWriter::with_capacity(320);
        outer.field("type", "function")?;
        outer.raw("function").extend_from_slice(&function.finish());
        converted.push(serde_json::from_slice(&outer.finish())?);
    }
    Ok(converted)
}

fn convert_choice(choice: &RawValue, out: &mut ObjectWriter) -> Result<(), serde_json::Error> {
    let choice: Value = serde_json::from_str(choice.get())?;
    let converted = match choice["type"].as_str() {
        Some("any") => json!("required"),
        Some("none") => json!("none"),
        Some("tool") => json!({ "type": "function", "function": { "name": choice["name"] } }),
        // The default of both wires.
        _ => json!("auto"),
    };
    out.field("tool_choice", &converted)?;
    if choice["disable_parallel_tool_use"] == true {
        out.field("parallel_tool_calls", &false)?;
    }
    Ok(())
}

/// `output_config.format` of the Messages wire.
fn convert_format(config: &RawValue, out: &mut ObjectWriter) -> Result<(), serde_json::Error> {
    #[derive(Deserialize)]
    struct Config {
        #[serde(default)]
        format: Option<Format>,
    }
    #[derive(Deserialize)]
    struct Format {
        schema: RawJson,
    }
    let config: Config = serde_json::from_str(config.get())?;
    let Some(format) = config.format else {
        return Ok(());
    };
    let mut schema = ObjectWriter::with_capacity(format.schema.bytes().len() + 64);
    schema.field("name", "answer")?;
    schema.field("strict", &true)?;
    schema.field("schema", &format.schema)?;
    let mut outer = ObjectWriter::with_capacity(256);
    outer.field("type", "json_schema")?;
    outer.raw("json_schema").extend_from_slice(&schema.finish());
    out.raw("response_format")
        .extend_from_slice(&outer.finish());
    Ok(())
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
