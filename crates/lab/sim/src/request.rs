//! A messages request, taken apart: roles, blocks, tools and options, each of the right type.
//!
//! Rules between the parts are checked later (see [`crate::validate`]).

use crate::blocks::{Block, Place, RawObject, Ttl};
use crate::envelope::{Content, Envelope, RawMessage};
use crate::error::ApiError;
use crate::explain;
use crate::known::Before;
use crate::tokens::Counter;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Version of the API a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    Classic,
    October2026,
}

/// Purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Message,
    Count,
}

/// Speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    /// The name on the wire.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

/// A message with its blocks.
#[derive(Debug)]
pub(crate) struct Message<'a> {
    pub(crate) role: Role,
    pub(crate) content: Vec<Block<'a>>,
}

/// A tool definition with its cost and its marker.
#[derive(Debug)]
pub(crate) struct Tool<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) raw: &'a RawValue,
    pub(crate) block: Block<'a>,
    /// Not part of the prompt until it is asked for.
    pub(crate) deferred: bool,
    /// Rendered with the system prompt, not with the tools.
    pub(crate) web: bool,
}

/// Freedom of the model in choosing tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ToolChoice {
    #[default]
    Auto,
    None,
    Any,
    Tool(String),
}

/// Thinking that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thinking {
    /// The request does not say.
    Unset,
    Disabled,
    Enabled {
        budget: u64,
    },
    Adaptive,
    BetweenTools,
}

/// Cache diagnostics that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Unasked,
    /// This is the first message.
    WithNothing,
    With(String),
}

/// A request whose shape is right.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent options of a request, not states"
)]
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) max_tokens: u64,
    pub(crate) messages: Vec<Message<'a>>,
    pub(crate) system: Vec<Block<'a>>,
    pub(crate) tools: Vec<Tool<'a>>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) parallel_tools: bool,
    pub(crate) thinking: Thinking,
    pub(crate) thinking_omitted: bool,
    pub(crate) drop_moved_thinking: bool,
    pub(crate) effort: Option<String>,
    pub(crate) output_format: bool,
    pub(crate) auto_marker: Option<Ttl>,
    pub(crate) diagnostics: Comparison,
    pub(crate) fast: bool,
    /// Served in the United States only, which costs more.
    pub(crate) domestic: bool,
    pub(crate) stop_sequences: Vec<String>,
    pub(crate) stream: bool,
    pub(crate) context_management: Option<Value>,
    pub(crate) compaction: Option<Value>,
    pub(crate) thread: Option<Value>,
}

fn value(members: &RawObject<'_>, name: &str) -> Option<Value> {
    serde_json::from_str(members.get(name)?.get()).ok()
}

fn wrong(path: &str, expected: &str) -> ApiError {
    ApiError::invalid(format!("{path}: Input should be {expected}"))
}

impl<'a> Request<'a> {
    /// Takes the envelope apart.
    pub(crate) fn read(
        envelope: Envelope<'a>,
        purpose: Purpose,
        counter: &Counter,
        before: Option<&Before<'a>>,
    ) -> Result<Self, ApiError> {
        let members = &envelope.members;
        // A second list replaces the first, and with it the messages that are known.
        if before.is_some() && envelope.lists > 1 {
            return Err(ApiError::extra("messages"));
        }
        let messages = envelope
            .messages
            .ok_or_else(|| ApiError::invalid("messages: Field required"))?;
        if messages.is_empty() {
            return Err(ApiError::invalid(
                "messages: at least one message is required",
            ));
        }
        // The provider's limit; a list that long would also take the validator's time.
        if messages.len() + before.map_or(0, Before::messages) > 100_000 {
            return Err(ApiError::invalid(
                "messages: List should have at most 100000 items",
            ));
        }
        let max_tokens = match (members.get("max_tokens"), purpose) {
            // Counting takes no answer, so the field is refused there and any value does.
            (_, Purpose::Count) => 1,
            (None, Purpose::Message) => {
                return Err(ApiError::invalid("max_tokens: Field required"));
            }
            // Parsed from its text: `1.0` and `"1"` are refused, as at the provider.
            (Some(raw), Purpose::Message) => raw
                .get()
                .parse()
                .map_err(|_| wrong("max_tokens", "a valid integer, at least 0"))?,
        };
        let choice = value(members, "tool_choice").unwrap_or_default();
        let thinking = value(members, "thinking").unwrap_or_default();
        let output = value(members, "output_config").unwrap_or_default();
        Ok(Self {
            max_tokens,
            messages: read_messages(messages, counter, before)?,
            system: read_system(members.get("system"), counter)?,
            tools: read_tools(members.get("tools"), counter)?,
            tool_choice: read_choice(&choice)?,
            parallel_tools: choice["disable_parallel_tool_use"] != true,
            thinking: read_thinking(&thinking)?,
            thinking_omitted: thinking["display"] == "omitted",
            drop_moved_thinking: thinking["block_binding"]["prefix_mismatch_behavior"]
                == "drop_block",
            effort: output["effort"].as_str().map(str::to_owned),
            output_format: !output["format"].is_null() || members.get("output_format").is_some(),
            auto_marker: members.get("cache_control").map(read_auto).transpose()?,
            diagnostics: read_diagnostics(members)?,
            fast: members.text("speed").as_deref() == Some("fast"),
            domestic: members.text("inference_geo").as_deref() == Some("us"),
            stop_sequences: read_strings(members, "stop_sequences")?,
            stream: read_bool(members, "stream")?,
            context_management: value(members, "context_management"),
            compaction: value(members, "compaction"),
            thread: value(members, "thread"),
        })
    }

    /// All blocks with their places, in the order of rendering.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (Place, &Block<'a>)> {
        let tools = self.tools.iter().map(|tool| &tool.block).enumerate();
        let system = self.system.iter().enumerate();
        let messages = self.messages.iter().enumerate();
        tools
            .map(|(at, block)| (Place::Tool(at), block))
            .chain(system.map(|(at, block)| (Place::System(at), block)))
            .chain(messages.flat_map(|(message, each)| {
                let blocks = each.content.iter().enumerate();
                blocks.map(move |(block, each)| (Place::Block { message, block }, each))
            }))
    }
}

fn read_auto(raw: &RawValue) -> Result<Ttl, ApiError> {
    // The texts name a path; at the top level there is none before the field.
    Ttl::read(raw, &"").map_err(|error| ApiError {
        message: error.message.trim_start_matches('.').to_owned(),
        ..error
    })
}

fn read_diagnostics(members: &RawObject<'_>) -> Result<Comparison, ApiError> {
    let Some(asked) = value(members, "diagnostics") else {
        return Ok(Comparison::Unasked);
    };
    match &asked["previous_message_id"] {
        Value::Null => Ok(Comparison::WithNothing),
        Value::String(id) => Ok(Comparison::With(id.clone())),
        _ => Err(wrong(
            "diagnostics.previous_message_id",
            "a valid string or null",
        )),
    }
}

fn read_bool(members: &RawObject<'_>, name: &str) -> Result<bool, ApiError> {
    match members.get(name).map(RawValue::get) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(wrong(name, "a valid boolean")),
    }
}

fn read_strings(members: &RawObject<'_>, name: &str) -> Result<Vec<String>, ApiError> {
    let Some(raw) = members.get(name) else {
        return Ok(Vec::new());
    };
    serde_json::from_str(raw.get()).map_err(|_| wrong(name, "a valid list of strings"))
}

fn read_choice(choice: &Value) -> Result<ToolChoice, ApiError> {
    if choice.is_null() {
        return Ok(ToolChoice::Auto);
    }
    Ok(match choice["type"].as_str() {
        Some("auto") => ToolChoice::Auto,
        Some("none") => ToolChoice::None,
        Some("any") => ToolChoice::Any,
        Some("tool") => ToolChoice::Tool(
            choice["name"]
                .as_str()
                .ok_or_else(|| ApiError::invalid("tool_choice.name: Field required"))?
                .to_owned(),
        ),
        _ => {
            return Err(wrong("tool_choice.type", "'auto', 'any', 'none' or 'tool'"));
        }
    })
}

fn read_thinking(thinking: &Value) -> Result<Thinking, ApiError> {
    if thinking.is_null() {
        return Ok(Thinking::Unset);
    }
    Ok(match thinking["type"].as_str() {
        Some("disabled") => Thinking::Disabled,
        Some("adaptive") => Thinking::Adaptive,
        Some("between_tools") => Thinking::BetweenTools,
        Some("enabled") => Thinking::Enabled {
            budget: thinking["budget_tokens"]
                .as_u64()
                .ok_or_else(|| ApiError::invalid("thinking.budget_tokens: Field required"))?,
        },
        _ => {
            return Err(wrong(
                "thinking.type",
                "'enabled', 'disabled', 'adaptive' or 'between_tools'",
            ));
        }
    })
}

fn read_messages<'a>(
    messages: Vec<RawMessage<'a>>,
    counter: &Counter,
    before: Option<&Before<'a>>,
) -> Result<Vec<Message<'a>>, ApiError> {
    let mut read = before.map_or_else(Vec::new, Before::read);
    // The first message that was sent now goes on with the last one that is known.
    let mut open = read.pop();
    read.reserve(messages.len());
    for (at, message) in messages.into_iter().enumerate() {
        let repeats = message.contents > 1;
        let role = match message.role.as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => {
                return Err(wrong(
                    &format!("messages.{at}.role"),
                    "'user', 'assistant' or 'system'",
                ));
            }
        };
        let Some(content) = message.content else {
            return Err(ApiError::invalid(format!(
                "messages.{at}.content: Field required"
            )));
        };
        let place = |block| Place::Block { message: at, block };
        let mut content = read_content(content, counter, &place)?;
        if let Some(known) = open.take() {
            // A second content replaces the first, and with it the blocks that are known.
            if repeats {
                return Err(ApiError::extra(&format!("messages.{at}.content")));
            }
            let more = std::mem::replace(&mut content, known.content);
            content.extend(more);
        }
        read.push(Message { role, content });
    }
    Ok(read)
}

fn read_system<'a>(
    raw: Option<&'a RawValue>,
    counter: &Counter,
) -> Result<Vec<Block<'a>>, ApiError> {
    let Some(raw) = raw else {
        return Ok(Vec::new());
    };
    let content =
        serde_json::from_str(raw.get()).map_err(|_| explain::content(raw.get(), "system"))?;
    read_content(content, counter, &Place::System)
}

fn read_content<'a>(
    content: Content<'a>,
    counter: &Counter,
    place: &dyn Fn(usize) -> Place,
) -> Result<Vec<Block<'a>>, ApiError> {
    match content {
        Content::Text(text) => Ok(vec![Block::of_string(text, counter)]),
        Content::Blocks(blocks) => {
            let blocks = blocks.into_iter().enumerate();
            blocks
                .map(|(at, members)| Block::read(members, place(at), counter))
                .collect()
        }
    }
}

fn read_tools<'a>(raw: Option<&'a RawValue>, counter: &Counter) -> Result<Vec<Tool<'a>>, ApiError> {
    let Some(raw) = raw else {
        return Ok(Vec::new());
    };
    let raws: Vec<&'a RawValue> =
        serde_json::from_str(raw.get()).map_err(|_| wrong("tools", "a valid list"))?;
    let mut tools = Vec::with_capacity(raws.len());
    for (at, raw) in raws.into_iter().enumerate() {
        let place = Place::Tool(at);
        let members: RawObject<'a> =
            serde_json::from_str(raw.get()).map_err(|_| wrong(&place.to_string(), "an object"))?;
        let kind = members.text("type").unwrap_or(Cow::Borrowed("custom"));
        let name = match members.text("name") {
            Some(name) => name,
            // A toolset has no name of its own.
            None if kind.contains("toolset") => Cow::Borrowed(""),
            None => return Err(ApiError::invalid(format!("{place}.name: Field required"))),
        };
        if kind == "custom"
            // Only tools of the client have a schema; the provider knows its own.
            && !members
                .get("input_schema")
                .is_some_and(|schema| schema.get().starts_with('{'))
        {
            return Err(ApiError::invalid(format!(
                "{place}.input_schema: Field required"
            )));
        }
        let marker = members
            .get("cache_control")
            .map(|marker| Ttl::read(marker, &place))
            .transpose()?;
        tools.push(Tool {
            raw,
            deferred: members.flag("defer_loading"),
            web: kind.starts_with("web_search_") || kind.starts_with("web_fetch_"),
            block: Block::tool(members, marker, counter),
            name,
        });
    }
    Ok(tools)
}
