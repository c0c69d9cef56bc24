//! The weight of a block: its text, JSON and media, by kind.
//!
//! # Not here
//! Tokens of a weight: [`crate::tokens`].

use crate::binding::ThinkingSeal;
use crate::blocks::{Kind, RawObject, text_of};
use crate::tokens::{Counter, Weight, unknown_media};
use serde_json::value::RawValue;

/// Facts found while weighing a block.
#[derive(Default)]
pub(crate) struct Seen<'a> {
    pub(crate) image: bool,
    pub(crate) citations: bool,
    pub(crate) inner_marker: Option<&'a RawValue>,
}

fn quoted_len(raw: Option<&RawValue>) -> usize {
    raw.map_or(0, |raw| raw.get().len().saturating_sub(2))
}

/// Weighs a block of a kind, and takes note of facts that its level's key asks for.
pub(crate) fn weigh<'a>(
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
