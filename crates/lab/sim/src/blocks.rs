//! One content block, tool or system block: kind, marker, digest and tokens, read in one pass.
//!
//! Members are borrowed from the body; nothing is copied that is not needed.
//!
//! # Not here
//! The meaning of a block for the conversation (pairs of calls and results, placement):
//! [`crate::validate`].

use crate::binding::ThinkingSeal;
use crate::digest::{self, Digest};
use crate::error::ApiError;
use crate::tokens::{Counter, Weight, unknown_media};
use dormouse_core::units::Millis;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The members of a JSON object in their order, values untouched.
#[derive(Debug, Default)]
pub(crate) struct RawObject<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

/// A JSON string, borrowed where it has no escapes.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

impl<'a> RawObject<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        // The last one of a name counts, as with most parsers.
        let found = self.0.iter().rev().find(|(known, _)| known == name);
        found
            .map(|(_, value)| *value)
            // Clients send null for absent; the provider treats both alike.
            .filter(|value| value.get() != "null")
    }

    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text_of(self.get(name)?)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.get() == "true")
    }
}

pub(crate) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw.get())
        .ok()
        .map(|text| text.0)
}

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
            type Value = RawObject<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(4);
                while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
                    members.push((key, map.next_value::<&'de RawValue>()?));
                }
                Ok(RawObject(members))
            }
        }
        deserializer.deserialize_map(Members(std::marker::PhantomData))
    }
}

/// Position in a request, as error texts name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Tool(usize),
    System(usize),
    Block { message: usize, block: usize },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(at) => write!(f, "tools.{at}"),
            Self::System(at) => write!(f, "system.{at}"),
            Self::Block { message, block } => write!(f, "messages.{message}.content.{block}"),
        }
    }
}

/// Lifetime of a cache entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ttl {
    FiveMinutes,
    OneHour,
}

impl Ttl {
    /// Time at which an entry used at that moment dies.
    pub(crate) const fn after(self, now: Millis) -> Millis {
        Millis(now.0.saturating_add(match self {
            Self::FiveMinutes => 5 * 60 * 1_000,
            Self::OneHour => 60 * 60 * 1_000,
        }))
    }

    /// Reads the lifetime from a `cache_control`.
    pub(crate) fn read(raw: &RawValue, path: &dyn fmt::Display) -> Result<Self, ApiError> {
        let wrong = |text: &str| Err(ApiError::invalid(format!("{path}.cache_control{text}")));
        let Ok(members) = serde_json::from_str::<RawObject<'_>>(raw.get()) else {
            return wrong(": Input should be an object");
        };
        if members.text("type").as_deref() != Some("ephemeral") {
            return wrong(".type: Input should be 'ephemeral'");
        }
        match (members.get("ttl"), members.text("ttl").as_deref()) {
            (None, _) | (_, Some("5m")) => Ok(Self::FiveMinutes),
            (_, Some("1h")) => Ok(Self::OneHour),
            _ => wrong(".ttl: Input should be '5m' or '1h'"),
        }
    }
}

/// Kind of a block, as far as it is treated differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    EmptyText,
    Thinking,
    ToolUse,
    ToolResult,
    Image,
    Document,
    SearchResult,
    Compaction,
    ServerToolResult,
    Other,
}

impl Kind {
    fn of(name: &str, members: &RawObject<'_>) -> Self {
        match name {
            // Empty texts take no marker and are told apart for that.
            "text" if members.get("text").is_none_or(|text| text.get() == "\"\"") => {
                Self::EmptyText
            }
            "text" => Self::Text,
            "thinking" | "redacted_thinking" => Self::Thinking,
            "tool_use" => Self::ToolUse,
            "tool_result" => Self::ToolResult,
            "image" => Self::Image,
            "document" => Self::Document,
            "search_result" => Self::SearchResult,
            "compaction" => Self::Compaction,
            // Results of the provider's own tools have names of their own.
            name if name.ends_with("_tool_result") => Self::ServerToolResult,
            _ => Self::Other,
        }
    }

    pub(crate) const fn takes_marker(self) -> bool {
        !matches!(self, Self::Thinking | Self::EmptyText)
    }
}

/// A block that has been read.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) kind: Kind,
    /// Empty for a message whose content is a plain string.
    pub(crate) members: RawObject<'a>,
    /// That string, as it would stand between its quotes.
    plain: Option<Cow<'a, str>>,
    pub(crate) digest: Digest,
    pub(crate) tokens: u64,
    pub(crate) marker: Option<Ttl>,
    pub(crate) has_image: bool,
    pub(crate) has_citations: bool,
}

impl<'a> Block<'a> {
    /// The text block that a plain string stands for; `text` is the string between its quotes.
    pub(crate) fn of_string(text: Cow<'a, str>, counter: &Counter) -> Self {
        Self {
            kind: if text.is_empty() {
                Kind::EmptyText
            } else {
                Kind::Text
            },
            members: RawObject::default(),
            digest: digest::of_text(&text),
            tokens: counter.block(Weight::text(text.len())),
            marker: None,
            has_image: false,
            has_citations: false,
            plain: Some(text),
        }
    }

    pub(crate) fn read(
        members: RawObject<'a>,
        place: Place,
        counter: &Counter,
    ) -> Result<Self, ApiError> {
        let Some(name) = members.text("type") else {
            return Err(ApiError::invalid(format!("{place}.type: Field required")));
        };
        let kind = Kind::of(&name, &members);
        let mut marker = match members.get("cache_control") {
            None => None,
            // By the provider's rule thinking takes no marker.
            Some(_) if kind == Kind::Thinking => {
                return Err(ApiError::extra(&format!("{place}.{name}.cache_control")));
            }
            Some(_) if kind == Kind::EmptyText => {
                return Err(ApiError::invalid(format!(
                    "{place}.text: cache_control cannot be set for empty text blocks"
                )));
            }
            Some(raw) => Some(Ttl::read(raw, &place)?),
        };
        let mut seen = Seen::default();
        let mut weight = weigh(kind, &members, counter, &mut seen);
        let (digest, saved) = digest::of_members(&members.0);
        // Escapes that were not needed do not count: the model reads the characters.
        weight.text_bytes = weight.text_bytes.saturating_sub(saved as u64);
        // A marker on a part of a result counts for the whole block, the longer lifetime winning.
        if let Some(raw) = seen.inner_marker {
            let inner = Ttl::read(raw, &place)?;
            marker = Some(marker.map_or(inner, |outer| outer.max(inner)));
        }
        Ok(Self {
            kind,
            digest,
            tokens: counter.block(weight),
            marker,
            has_image: seen.image,
            has_citations: seen.citations,
            members,
            plain: None,
        })
    }

    /// A tool definition, which is a position like a block.
    pub(crate) fn tool(members: RawObject<'a>, marker: Option<Ttl>, counter: &Counter) -> Self {
        let weight = weigh(Kind::Other, &members, counter, &mut Seen::default());
        Self {
            kind: Kind::Other,
            digest: digest::of_members(&members.0).0,
            tokens: counter.block(weight),
            marker,
            has_image: false,
            has_citations: false,
            members,
            plain: None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.members.text(name)
    }

    /// Text of a text block, with its escapes.
    pub(crate) fn raw_words(&self) -> &str {
        let member = || self.members.get("text").map_or("", RawValue::get);
        self.plain.as_deref().unwrap_or_else(member)
    }

    /// Text of a text block, without escapes.
    pub(crate) fn words(&self) -> Option<Cow<'_, str>> {
        match &self.plain {
            None => self.text("text"),
            Some(text) if !text.contains('\\') => Some(Cow::Borrowed(text)),
            Some(text) => serde_json::from_str(&format!("\"{text}\"")).ok(),
        }
    }
}

/// Facts found while weighing a block.
#[derive(Default)]
struct Seen<'a> {
    image: bool,
    citations: bool,
    inner_marker: Option<&'a RawValue>,
}

fn quoted_len(raw: Option<&RawValue>) -> usize {
    raw.map_or(0, |raw| raw.get().len().saturating_sub(2))
}

fn weigh<'a>(
    kind: Kind,
    members: &RawObject<'a>,
    counter: &Counter,
    seen: &mut Seen<'a>,
) -> Weight {
    match kind {
        Kind::Text | Kind::EmptyText => Weight::text(quoted_len(members.get("text"))),
        Kind::Thinking => thinking(members),
        Kind::ToolUse => {
            let mut weight = Weight::json(members.get("input").map_or(0, |raw| raw.get().len()));
            weight += Weight::text(quoted_len(members.get("name")));
            weight
        }
        Kind::ToolResult => content(members.get("content"), counter, seen),
        Kind::Image => {
            seen.image = true;
            image(members, counter)
        }
        Kind::Document => {
            seen.citations |= enables_citations(members);
            document(members, counter, seen)
        }
        Kind::SearchResult => {
            seen.citations |= enables_citations(members);
            content(members.get("content"), counter, seen)
        }
        // The encrypted part is the same text again and is not counted.
        Kind::Compaction => Weight::text(quoted_len(members.get("content"))),
        Kind::ServerToolResult | Kind::Other => Weight::json(
            members
                .0
                .iter()
                .filter(|(name, _)| name != "cache_control")
                .map(|(name, value)| name.len() + value.get().len())
                .sum(),
        ),
    }
}

/// Reasoning counts in full: by the seal, or the text, or the hidden part.
fn thinking(members: &RawObject<'_>) -> Weight {
    let signature = members.get("signature").or_else(|| members.get("data"));
    if let Some(seal) = signature
        .and_then(text_of)
        .and_then(|text| ThinkingSeal::parse(&text))
    {
        return Weight::tokens(seal.tokens);
    }
    match quoted_len(members.get("thinking")) {
        // Hidden reasoning travels in base64: three bytes in four characters.
        0 => Weight::text(quoted_len(signature) / 4 * 3),
        bytes => Weight::text(bytes),
    }
}

fn content<'a>(raw: Option<&'a RawValue>, counter: &Counter, seen: &mut Seen<'a>) -> Weight {
    let Some(raw) = raw else {
        return Weight::default();
    };
    if raw.get().starts_with('"') {
        return Weight::text(quoted_len(Some(raw)));
    }
    let Ok(parts) = serde_json::from_str::<Vec<RawObject<'a>>>(raw.get()) else {
        // A shape that is not known is counted by its bytes; the validator judges it.
        return Weight::json(raw.get().len());
    };
    let mut sum = Weight::default();
    for part in &parts {
        if let Some(marker) = part.get("cache_control") {
            seen.inner_marker = Some(marker);
        }
        let kind = Kind::of(&part.text("type").unwrap_or_default(), part);
        sum += match kind {
            // Results do not nest; one that does is weighed as the JSON it is.
            Kind::ToolResult => Weight::json(raw.get().len()),
            kind => weigh(kind, part, counter, seen),
        };
    }
    sum
}

fn source<'a>(members: &RawObject<'a>) -> Option<RawObject<'a>> {
    serde_json::from_str(members.get("source")?.get()).ok()
}

fn image(members: &RawObject<'_>, counter: &Counter) -> Weight {
    source(members)
        .filter(|source| source.text("type").as_deref() == Some("base64"))
        .and_then(|source| source.text("data"))
        .map_or_else(unknown_media, |data| counter.image(&data))
}

fn document<'a>(members: &RawObject<'a>, counter: &Counter, seen: &mut Seen<'a>) -> Weight {
    let Some(source) = source(members) else {
        return unknown_media();
    };
    match source.text("type").as_deref() {
        Some("text") => Weight::text(quoted_len(source.get("data"))),
        Some("content") => content(source.get("content"), counter, seen),
        _ => unknown_media(),
    }
}

fn enables_citations(members: &RawObject<'_>) -> bool {
    members
        .get("citations")
        .and_then(|raw| serde_json::from_str::<RawObject<'_>>(raw.get()).ok())
        .is_some_and(|citations| citations.flag("enabled"))
}
