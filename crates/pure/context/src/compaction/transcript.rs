//! A conversation as plain text, for a call that does not ride the cache.

use crate::category::Category;
use crate::segment::Segment;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::fragment::{CONVERSATION, close, defuse, open};
use dormouse_core::record::Role;
use std::fmt::Write as _;

/// Segments as text: images and documents by name, thinking and listings left out. With `clamp`,
/// every tool result is cut to so many characters.
pub fn transcript<'a>(
    segments: impl IntoIterator<Item = &'a Segment>,
    clamp: Option<usize>,
) -> String {
    let mut out = format!("{}\n", open(&CONVERSATION));
    for segment in segments {
        let Some(text) = said(segment, clamp) else {
            continue;
        };
        let who = match (segment.role, segment.block.kind()) {
            (_, BlockKind::ToolResult) => "tool result",
            (Role::Assistant, BlockKind::ToolUse) => "tool call",
            (Role::Assistant, _) => "assistant",
            (Role::User | Role::System, _) => "user",
        };
        // Content that quotes the closing tag must not end the transcript.
        let text = defuse(&CONVERSATION, &text);
        // Writing to a string does not fail.
        let _ = write!(out, "[{who}]\n{text}\n\n");
    }
    out.push_str(&close(&CONVERSATION));
    out.push('\n');
    out
}

fn said(segment: &Segment, clamp: Option<usize>) -> Option<String> {
    let block = &segment.block;
    match block.kind() {
        BlockKind::Image => Some("[image]".to_owned()),
        BlockKind::Document => Some("[document]".to_owned()),
        BlockKind::Thinking | BlockKind::RedactedThinking => None,
        BlockKind::ToolUse => {
            let input = input_of(block.bytes());
            Some(format!("{} {input}", block.tool().unwrap_or("tool")))
        }
        BlockKind::ToolResult => {
            let text = result_text(block);
            Some(match clamp {
                Some(most) => text.chars().take(most).collect(),
                None => text,
            })
        }
        // Listings are restored after the compaction; a summary of them is of no use.
        _ if segment.category == Category::Attachments => None,
        _ => block.readable_text(),
    }
}

/// Text of a result, with a placeholder such as `[image]` for each part that is not text.
fn result_text(block: &Block) -> String {
    #[derive(serde::Deserialize)]
    struct Outcome {
        content: Vec<serde_json::Value>,
    }
    let Ok(outcome) = serde_json::from_slice::<Outcome>(block.bytes()) else {
        return block.readable_text().unwrap_or_default();
    };
    let named = outcome.content.iter().filter_map(|part| {
        let text = part["text"].as_str().map(str::to_owned);
        text.or_else(|| Some(format!("[{}]", part["type"].as_str()?)))
    });
    named.collect::<Vec<_>>().join("\n")
}

/// Input of a call, as the raw JSON that was recorded.
fn input_of(bytes: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Call<'a> {
        #[serde(borrow)]
        input: Option<&'a serde_json::value::RawValue>,
    }
    let call: Option<Call<'_>> = serde_json::from_slice(bytes).ok();
    call.and_then(|call| call.input)
        .map_or_else(String::new, |input| input.get().to_owned())
}
