//! A request as a page of text: the prompt in the order in which the model reads it.
//!
//! Snapshots of prompts are kept as such pages, so that a change of a prompt is read in a diff like
//! any other text. Long filler is shortened; prompts of Dormouse have no line of that length.
//!
//! # Not here
//! The bytes that are sent: tests of `dormouse-context` compare these.

use serde_json::Value;
use std::fmt::Write as _;

/// Characters of a line from which on it is filler: the longest line of our prompts has about 700.
const FILLER: usize = 1_200;
/// Characters of filler that are shown, enough to recognise it.
const SHOWN: usize = 80;

/// The page of a request's body: system prompt, names of tools, then message by message. A cache
/// marker is shown as `⚑` behind its block.
pub fn page(body: &Value) -> String {
    let mut page = String::new();
    for block in blocks(&body["system"]) {
        section(&mut page, "system", block);
    }
    let tools = body["tools"].as_array().into_iter().flatten();
    let names: Vec<&str> = tools.filter_map(|tool| tool["name"].as_str()).collect();
    if !names.is_empty() {
        let _ = writeln!(page, "━━ tools\n{}\n", names.join(", "));
    }
    for message in body["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or("?");
        for block in blocks(&message["content"]) {
            section(&mut page, role, block);
        }
    }
    page
}

/// Blocks of a content, which may be a plain string.
fn blocks(content: &Value) -> &[Value] {
    match content {
        Value::Array(blocks) => blocks,
        Value::Null => &[],
        text => std::slice::from_ref(text),
    }
}

fn section(page: &mut String, role: &str, block: &Value) {
    let flag = if block.get("cache_control").is_some() {
        " ⚑"
    } else {
        ""
    };
    let (kind, text) = match block["type"].as_str() {
        Some("tool_use") => {
            let name = block["name"].as_str().unwrap_or("?");
            (format!("calls {name}"), block["input"].to_string())
        }
        Some("tool_result") => ("result".to_owned(), content(&block["content"])),
        Some("text") => (String::new(), content(&block["text"])),
        Some(other) => (other.to_owned(), String::new()),
        None => (String::new(), content(block)),
    };
    let head = format!("━━ {role} {kind}");
    let _ = writeln!(page, "{}{flag}\n{text}\n", head.trim_end());
}

/// Text of a content, long lines shortened.
fn content(content: &Value) -> String {
    let whole = match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    };
    let lines = whole.lines().map(|line| match line.chars().count() {
        long if long > FILLER => {
            let shown: String = line.chars().take(SHOWN).collect();
            format!("{shown}[… {} characters more]", long - SHOWN)
        }
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
