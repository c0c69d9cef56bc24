//! One content block, tool or system block: kind, marker, digest and tokens, read in one pass.
//!
//! Members are borrowed from the body; nothing is copied that is not needed.
//!
//! # Not here
//! The meaning of a block for the conversation (pairs of calls and results, placement):
//! [`crate::validate`].

use crate::digest::{self, Digest};
use crate::error::ApiError;
use crate::tokens::{Counter, Weight};
use crate::weigh::{Seen, weigh};
use dormouse_core::units::Millis;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The members of a JSON object in their order, values untouched.
#[derive(Clone, Debug, Default)]
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
    pub(crate) fn of(name: &str, members: &RawObject<'_>) -> Self {
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

/// Form in which a block is at hand.
#[derive(Debug)]
enum Source<'a> {
    /// The members, as they were found.
    Members(RawObject<'a>),
    /// A message's content that is a plain string, as it would stand between its quotes.
    Plain(Cow<'a, str>),
    /// The bytes of a block that an earlier request had; taken apart again only when asked for.
    Known(&'a [u8]),
}

/// A block that has been read.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) kind: Kind,
    source: Source<'a>,
    pub(crate) digest: Digest,
    pub(crate) tokens: u64,
    pub(crate) marker: Option<Ttl>,
    pub(crate) has_image: bool,
    pub(crate) has_citations: bool,
    pub(crate) names: Names<'a>,
}

/// Short texts of a block that rules and edits ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names<'a> {
    /// Id of the call that a tool use makes or a result answers.
    pub(crate) call: Option<Cow<'a, str>>,
    /// Name of the tool a call names.
    pub(crate) tool: Option<Cow<'a, str>>,
    /// The seal of thinking or of a compaction.
    pub(crate) signature: Option<Cow<'a, str>>,
}

impl<'a> Names<'a> {
    fn of(kind: Kind, members: &RawObject<'a>) -> Self {
        match kind {
            Kind::ToolUse => Self {
                call: members.text("id"),
                tool: members.text("name"),
                signature: None,
            },
            Kind::ToolResult => Self {
                call: members.text("tool_use_id"),
                ..Self::default()
            },
            Kind::Thinking => Self {
                signature: members.text("signature").or_else(|| members.text("data")),
                ..Self::default()
            },
            Kind::Compaction => Self {
                signature: members.text("signature"),
                ..Self::default()
            },
            _ => Self::default(),
        }
    }

    fn borrowed(&self) -> Names<'_> {
        Names {
            call: self.call.as_deref().map(Cow::Borrowed),
            tool: self.tool.as_deref().map(Cow::Borrowed),
            signature: self.signature.as_deref().map(Cow::Borrowed),
        }
    }
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
            digest: digest::of_text(&text),
            tokens: counter.block(Weight::text(text.len())),
            marker: None,
            has_image: false,
            has_citations: false,
            names: Names::default(),
            source: Source::Plain(text),
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
            names: Names::of(kind, &members),
            source: Source::Members(members),
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
            names: Names::default(),
            source: Source::Members(members),
        }
    }

    /// The members; none for a plain string.
    pub(crate) fn members(&self) -> Cow<'_, RawObject<'a>> {
        match &self.source {
            Source::Members(members) => Cow::Borrowed(members),
            Source::Plain(_) => Cow::Owned(RawObject::default()),
            Source::Known(bytes) => Cow::Owned(serde_json::from_slice(bytes).unwrap_or_default()),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.members().text(name)
    }

    /// Text of a text block, with its escapes.
    pub(crate) fn raw_words(&self) -> &str {
        match &self.source {
            Source::Plain(text) => text,
            _ => self.members().get("text").map_or("", RawValue::get),
        }
    }

    /// Text of a text block, without escapes.
    pub(crate) fn words(&self) -> Option<Cow<'_, str>> {
        match &self.source {
            Source::Plain(text) if !text.contains('\\') => Some(Cow::Borrowed(text)),
            Source::Plain(text) => serde_json::from_str(&format!("\"{text}\"")).ok(),
            _ => self.text("text"),
        }
    }

    /// The block without its content, to be kept.
    pub(crate) fn facts(&self) -> Block<'static> {
        let owned = |text: &Option<Cow<'a, str>>| {
            let text = text.as_deref();
            text.map(|text| Cow::Owned(text.to_owned()))
        };
        let names = Names {
            call: owned(&self.names.call),
            tool: owned(&self.names.tool),
            signature: owned(&self.names.signature),
        };
        self.with(Source::Known(&[]), names)
    }

    /// A kept block, with its content in these bytes.
    pub(crate) fn again<'b>(&'b self, bytes: &'b [u8]) -> Block<'b> {
        self.with(Source::Known(bytes), self.names.borrowed())
    }

    fn with<'b>(&self, source: Source<'b>, names: Names<'b>) -> Block<'b> {
        Block {
            kind: self.kind,
            source,
            digest: self.digest,
            tokens: self.tokens,
            marker: self.marker,
            has_image: self.has_image,
            has_citations: self.has_citations,
            names,
        }
    }

    /// Place of the block in the text it was read from; `None` where that cannot be told.
    pub(crate) fn place_in(&self, text: &[u8]) -> Option<Range<usize>> {
        let Source::Members(RawObject(members)) = &self.source else {
            return None;
        };
        // A key with escapes was copied, so it does not say where it stood.
        let (Cow::Borrowed(key), _) = members.first()? else {
            return None;
        };
        let (_, value) = members.last()?;
        let first = offset(text, key.as_bytes())?.checked_sub(1)?;
        let last = offset(text, value.get().as_bytes())? + value.get().len();
        let before = text[..first].trim_ascii_end().len();
        let behind = text.len() - text[last..].trim_ascii_start().len();
        let braces = text[..before].ends_with(b"{") && text[behind..].starts_with(b"}");
        braces.then_some(before - 1..behind + 1)
    }
}

/// Position of a part in the text it was borrowed from.
fn offset(text: &[u8], part: &[u8]) -> Option<usize> {
    let at = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    (at + part.len() <= text.len()).then_some(at)
}
