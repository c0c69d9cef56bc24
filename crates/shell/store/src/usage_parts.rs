//! Calls, results and compactions of a transcript, for the meters of its conversations.
//!
//! # Model
//! A file can hold a main conversation and, in old formats, those of sub-agents between its lines:
//! each side has a [`Meter`] of its own. Of a message's content only calls and results are read.
//!
//! # Not here
//! Figures of usage: [`crate::scan_usage`]. The division of a prompt: [`Meter`].

use crate::chunks::as_u64;
use crate::scan_line::ScanLine;
use dormouse_core::json::Text;
use dormouse_core::meter::{Meter, PromptParts};
use dormouse_core::models::{ModelTable, Ratio};
use dormouse_core::usage::TokenUsage;
use dormouse_core::usage_book::ResponseKey;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Bytes that stand for a picture in a result: about 1,500 tokens, whatever its encoding takes.
const PICTURE: u64 = 6_000;

/// Names of tools that read a file, in the spelling of the agents that have them.
pub(crate) const READERS: [&str; 6] = [
    "Read",
    "read",
    "read_file",
    "NotebookRead",
    "view_file",
    "ReadFile",
];

/// Follows the conversations of one file.
#[derive(Debug)]
pub(crate) struct Follower<'m> {
    models: &'m ModelTable,
    /// The main conversation, and those beside it.
    meters: [Meter; 2],
    /// Response seen last on each side: its further lines are no responses of their own.
    last: [Option<ResponseKey>; 2],
    /// Model and ratio of the last response: looking a name up takes longer than all else.
    ratio: Option<(String, Ratio)>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_use_id: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

impl<'m> Follower<'m> {
    pub(crate) fn new(models: &'m ModelTable) -> Self {
        Self {
            models,
            meters: Default::default(),
            last: Default::default(),
            ratio: None,
        }
    }

    /// Divides the prompt of a response at its first line; `None` at its further ones.
    pub(crate) fn response(
        &mut self,
        key: &ResponseKey,
        model: &str,
        usage: &TokenUsage,
        beside: bool,
    ) -> Option<PromptParts> {
        let side = usize::from(beside);
        if self.last[side].as_ref() == Some(key) {
            return None;
        }
        self.last[side] = Some(key.clone());
        let ratio = self.ratio(model);
        Some(self.meters[side].response(usage, ratio))
    }

    fn ratio(&mut self, model: &str) -> Ratio {
        if let Some((known, ratio)) = &self.ratio
            && known == model
        {
            return *ratio;
        }
        let ratio = self.models.lookup(model).info.bytes_per_token.text;
        self.ratio = Some((model.to_owned(), ratio));
        ratio
    }

    /// Takes the calls of an assistant's line.
    pub(crate) fn calls(&mut self, line: &ScanLine<'_>) {
        let side = usize::from(line.is_sidechain.0);
        for part in parts(line) {
            if part.kind.0.as_deref() != Some("tool_use") {
                continue;
            }
            if let (Some(id), Some(name)) = (part.id.0.as_deref(), part.name.0.as_deref()) {
                let input = part.input.filter(|_| READERS.contains(&name));
                self.meters[side].call(id, name, input.map(RawValue::get));
            }
        }
    }

    /// Takes a line without figures: results, or a compaction.
    pub(crate) fn line(&mut self, line: &ScanLine<'_>) {
        let side = usize::from(line.is_sidechain.0);
        match (line.kind.0.as_deref(), line.subtype.0.as_deref()) {
            (_, Some("compact_boundary")) => self.meters[side].compacted(),
            (Some("user"), _) => {
                for part in parts(line) {
                    if let Some(call) = part.tool_use_id.0.as_deref() {
                        self.meters[side].result(call, part.content.map_or(0, length));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Blocks of a line's message; none if its content is plain text.
fn parts<'a>(line: &ScanLine<'a>) -> Vec<Part<'a>> {
    let content = line.message().and_then(|message| message.content);
    content
        .filter(|raw| raw.get().starts_with('['))
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

/// Bytes of a result's text, as written; pictures count as what they come to in tokens.
fn length(content: &RawValue) -> u64 {
    let raw = content.get();
    if !raw.starts_with('[') {
        return as_u64(raw.len());
    }
    let parts: Vec<Part<'_>> = serde_json::from_str(raw).unwrap_or_default();
    let part = |part: &Part<'_>| match (part.kind.0.as_deref(), part.text) {
        (Some("image"), _) => PICTURE,
        (_, Some(text)) => as_u64(text.get().len()),
        (_, None) => 0,
    };
    parts.iter().map(part).sum()
}
