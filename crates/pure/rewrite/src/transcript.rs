//! A client's messages in other forms: as plain text for the files that a model searches, as a
//! transcript that memories are drawn from, and the user's newest words.

use crate::body::{Body, Kind, Role};
use serde_json::json;
use serde_json::value::RawValue;
use std::fmt::Write as _;
use std::ops::Range;

/// Text of the turns that begin within a range of parts.
pub(crate) fn transcript(body: &Body, range: &Range<usize>) -> String {
    let mut out = String::new();
    for turn in body
        .turns
        .iter()
        .filter(|turn| range.contains(&turn.parts.start))
    {
        let who = match turn.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        };
        for at in turn.parts.clone() {
            let Some(part) = body.parts.get(at) else {
                continue;
            };
            // Writing to a string does not fail.
            let _ = match part.kind {
                // Reasoning is the model's own, and often cannot be read.
                Kind::Thinking => Ok(()),
                Kind::ToolUse => {
                    let tool = part.tool.as_deref().unwrap_or("tool");
                    let input = String::from_utf8_lossy(&part.raw);
                    writeln!(out, "## call of {tool}\n{input}\n")
                }
                Kind::ToolResult | Kind::Text | Kind::Compaction | Kind::Other => {
                    let text = part.block().and_then(|block| block.readable_text());
                    let head = if part.kind == Kind::ToolResult {
                        "result"
                    } else {
                        who
                    };
                    match text {
                        Some(text) => writeln!(out, "## {head}\n{}\n", text.trim_end()),
                        None => Ok(()),
                    }
                }
            };
        }
    }
    out
}

/// The user's newest words; `None` while results of tools are told, or where a program speaks last.
pub fn words(body: &Body) -> Option<String> {
    let turn = body.turns.last().filter(|turn| turn.role == Role::User)?;
    let parts = body.parts.get(turn.parts.clone())?;
    if parts.iter().any(|part| part.kind == Kind::ToolResult) {
        return None;
    }
    let texts = parts.iter().filter(|part| part.kind == Kind::Text);
    let texts: Vec<String> = texts
        .filter_map(|part| part.block()?.readable_text())
        .collect();
    Some(texts.join("\n")).filter(|text| !text.trim().is_empty())
}

/// The history as a transcript, a line for each message, in the shape of Claude Code's. A longer history
/// begins with the same lines.
pub fn session(body: &Body, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut parent: Option<String> = None;
    for (number, turn) in body.turns.iter().enumerate() {
        let parts = body.parts.get(turn.parts.clone()).unwrap_or_default();
        let blocks = parts.iter().filter_map(|part| {
            let block = part.block()?;
            serde_json::from_slice::<Box<RawValue>>(block.bytes()).ok()
        });
        let content: Vec<Box<RawValue>> = blocks.collect();
        let id = format!("{name}-{number}");
        let (kind, message) = match turn.role {
            Role::User => ("user", json!({"role": "user", "content": content})),
            Role::Assistant => (
                "assistant",
                json!({"id": id, "role": "assistant", "model": body.model, "content": content}),
            ),
            // Told by the client's program, not by a person.
            Role::System => continue,
        };
        let line = json!({"type": kind, "uuid": id, "parentUuid": parent, "sessionId": name,
            "message": message});
        out.extend_from_slice(line.to_string().as_bytes());
        out.push(b'\n');
        parent = Some(id);
    }
    out
}
