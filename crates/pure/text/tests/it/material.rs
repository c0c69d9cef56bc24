//! Notes and sessions for tests; see `dormouse_testkit::material`.
#![expect(clippy::disallowed_methods, reason = "transcripts are read by path")]

use dormouse_testkit::material;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Texts of short technical notes, by path. Files at the top of the folder are about the folder.
pub(crate) fn notes() -> Vec<String> {
    let notes = material::texts_below(material::notes().path());
    let in_topic = |name: &str| Path::new(name).components().count() == 2;
    notes
        .into_iter()
        .filter(|(name, _)| in_topic(name))
        .map(|(_, text)| text)
        .collect()
}

/// Utterance of a session.
pub(crate) struct Said {
    pub(crate) role: Role,
    pub(crate) text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    Tool,
}

/// Utterances of a Claude Code session, in the order of its lines.
pub(crate) fn session(path: &Path) -> Vec<Said> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.flat_map(|line| said(&line)).collect()
}

fn said(line: &Value) -> Vec<Said> {
    let role = match line["type"].as_str() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => return Vec::new(),
    };
    let content = &line["message"]["content"];
    if let Some(text) = content.as_str() {
        return vec![Said {
            role,
            text: text.to_owned(),
        }];
    }
    let blocks = content.as_array().into_iter().flatten();
    blocks
        .filter_map(|block| match block["type"].as_str()? {
            "text" => Some(Said {
                role,
                text: block["text"].as_str()?.to_owned(),
            }),
            "tool_result" => Some(Said {
                role: Role::Tool,
                text: block["content"].as_str()?.to_owned(),
            }),
            _ => None,
        })
        .collect()
}
