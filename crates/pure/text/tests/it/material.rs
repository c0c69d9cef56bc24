//! Access to real material beside the workspace; tests skip with a message where it is absent.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the material lies on the disk, and a skipped test says so"
)]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Folder of the material. `None`, with a message, if it is absent.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3)?;
    let path = root.join("../shared/material").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no material at ../shared/material/{name}");
    None
}

/// Strings that break parsers.
pub(crate) fn naughty_strings() -> Vec<String> {
    let Some(path) = folder("security/blns-mit/blns.json") else {
        return Vec::new();
    };
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Short technical notes, by path.
pub(crate) fn notes() -> Vec<String> {
    let Some(folder) = folder("memories/notes-jbranchaud-til-mit") else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    for topic in fs::read_dir(folder).unwrap() {
        let topic = topic.unwrap().path();
        if topic.is_dir() {
            paths.extend(
                fs::read_dir(topic)
                    .unwrap()
                    .map(|note| note.unwrap().path()),
            );
        }
    }
    paths.retain(|path| path.extension().is_some_and(|end| end == "md"));
    paths.sort();
    paths
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
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
pub(crate) fn session(name: &str) -> Vec<Said> {
    let Some(path) = folder(name) else {
        return Vec::new();
    };
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
