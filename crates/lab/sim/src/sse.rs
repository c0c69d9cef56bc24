//! A message as server-sent events.
//!
//! # Not here
//! Faults in the stream: [`crate::fault`].

use crate::config::SimConfig;
use crate::http::{Frame, Piece};
use crate::simulator::SettledMessage;
use crate::write;
use bytes::Bytes;
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use serde_json::{Value, json};

/// Tokens of output that the first event reports: the answer is not written yet, and the provider
/// reports about one.
const FIRST_OUTPUT_TOKENS: u64 = 1;

/// Collects events with their pauses.
struct Events {
    frames: Vec<Frame>,
    first_ms: u64,
    piece_ms: u64,
}

impl Events {
    fn push(&mut self, event: &Value) {
        let name = event["type"].as_str().unwrap_or_default();
        let text = format!("event: {name}\ndata: {event}\n\n");
        let after = if self.frames.is_empty() {
            self.first_ms
        } else {
            self.piece_ms
        };
        self.frames.push(Frame {
            after,
            piece: Piece::Bytes(Bytes::from(text)),
        });
    }
}

/// All events of an answer.
pub(crate) fn frames(
    config: &SimConfig,
    settled: &SettledMessage,
    usage: &TokenUsage,
) -> Vec<Frame> {
    let mut events = Events {
        frames: Vec::new(),
        first_ms: config.first_byte_ms,
        piece_ms: config.piece_ms,
    };
    let first = TokenUsage {
        // A set usage of zero stays zero.
        output: usage.output.min(Tokens(FIRST_OUTPUT_TOKENS)),
        ..*usage
    };
    let message = write::head(settled, write::usage(&first, 0));
    events.push(&json!({"type": "message_start", "message": message}));
    events.push(&json!({"type": "ping"}));
    for (index, block) in settled.spoken.blocks.iter().enumerate() {
        push_block(&mut events, index, block, config.piece_chars.max(1));
    }
    let spoken = &settled.spoken;
    let mut last = json!({
        "type": "message_delta",
        "delta": {
            "stop_reason": spoken.stop_reason.name(),
            "stop_sequence": spoken.stop_sequence,
            "stop_details": null,
            "container": null,
        },
        "usage": write::final_usage(settled, usage),
    });
    if let Some(management) = write::context_management(settled) {
        last["context_management"] = management;
    }
    events.push(&last);
    events.push(&json!({"type": "message_stop"}));
    events.frames
}

fn push_block(events: &mut Events, index: usize, block: &Value, chars: usize) {
    let text = |name: &str| block[name].as_str().unwrap_or_default();
    let mut start = block.clone();
    let mut deltas = Vec::new();
    match block["type"].as_str() {
        Some("text") => {
            start["text"] = json!("");
            for piece in pieces(text("text"), chars) {
                deltas.push(json!({"type": "text_delta", "text": piece}));
            }
        }
        Some("thinking") => {
            start["thinking"] = json!("");
            // The signature comes in a delta of its own, at the end.
            start["signature"] = json!("");
            for piece in pieces(text("thinking"), chars) {
                deltas.push(json!({"type": "thinking_delta", "thinking": piece}));
            }
            deltas.push(json!({"type": "signature_delta", "signature": block["signature"]}));
        }
        Some("tool_use") => {
            start["input"] = json!({});
            // The provider begins every input with an empty piece; clients must cope.
            deltas.push(json!({"type": "input_json_delta", "partial_json": ""}));
            // An empty object is sent as no text at all.
            if block["input"] != json!({}) {
                for piece in pieces(&block["input"].to_string(), chars) {
                    deltas.push(json!({"type": "input_json_delta", "partial_json": piece}));
                }
            }
        }
        Some("compaction") => {
            start = json!({"type": "compaction", "content": null});
            let mut delta = block.clone();
            delta["type"] = json!("compaction_delta");
            deltas.push(delta);
        }
        // Any other block arrives whole.
        _ => {}
    }
    events.push(&json!({"type": "content_block_start", "index": index, "content_block": start}));
    for delta in deltas {
        events.push(&json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }
    events.push(&json!({"type": "content_block_stop", "index": index}));
}

/// Cuts a text into pieces of so many characters.
pub(crate) fn pieces(text: &str, chars: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // By characters: a piece must never cut one in two.
        let end = rest
            .char_indices()
            .nth(chars)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        Some(piece)
    })
}
