//! A client's messages as plain text, for the files that a model searches.

use crate::body::{Body, Kind, Role};
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
