//! What stands in a prompt for a result that was put into a file.

use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::CallId;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use std::fmt::Write as _;

/// Stands for a result without content.
pub const EMPTY_RESULT: &str = "[The tool finished without any output.]";

/// The element around a preview.
pub const CONTAINER: &str = "persisted-output";

/// Hexadecimal digits of a hash in a file's name.
const NAME_DIGITS: usize = 16;

/// The name of the file for a result. The id comes from a model, so only its hash is used; ids
/// such as `call_0` repeat, so the content's hash is part of the name.
pub fn file_name(call: &CallId, text: &str, content: Hash) -> String {
    let id = Hash::of(call.as_str().as_bytes()).to_string();
    let content = content.to_string();
    let kind = if is_json(text) { "json" } else { "txt" };
    format!(
        "{}-{}.{kind}",
        &id[..NAME_DIGITS.min(id.len())],
        &content[..NAME_DIGITS.min(content.len())]
    )
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The text that stands for a result whose whole text lies at `path`.
pub fn preview(text: &str, path: &str, bytes: u64) -> String {
    let head = head(text, bytes);
    let mut out = format!(
        "<{CONTAINER}>\nThe output is {} characters ({} lines) long. All of it is in the file\n\
         {path}\nwhich can be read or searched. It begins:\n\n{head}",
        text.chars().count(),
        lines(text),
    );
    let rest = text.len() - head.len();
    if rest > 0 {
        // Writing to a string does not fail.
        let _ = write!(out, "\n[… {rest} more bytes in the file]");
    }
    let _ = write!(out, "\n</{CONTAINER}>");
    out
}

/// The file in `folder` that a preview made by [`preview`] names.
pub fn saved_at<'a>(text: &'a str, folder: &str) -> Option<&'a str> {
    let inside = text.strip_prefix(&format!("<{CONTAINER}>\n"))?;
    let path = inside.lines().nth(1)?;
    let name = path.strip_prefix(folder)?.strip_prefix('/')?;
    let plain = !name.is_empty() && !name.contains(['/', '\\', ']']);
    plain.then_some(path)
}

/// The text that stands for a result that could not be put into a file.
pub fn truncated(text: &str, why: &str, bytes: u64) -> String {
    let head = head(text, bytes);
    format!(
        "{head}\n[Cut here: the output is {} characters long and could not be saved to a file \
         ({why}). What is missing is not kept anywhere; run the tool again with less output if \
         it is needed.]",
        text.chars().count()
    )
}

/// How many lines a text has. It may be megabytes: ends of lines are counted, lines are not made.
fn lines(text: &str) -> usize {
    let ends = text.bytes().filter(|byte| *byte == b'\n').count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The first bytes of a text, cut behind a line where there is one, else between characters.
fn head(text: &str, bytes: u64) -> &str {
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    if text.len() <= most {
        return text;
    }
    let end = text.floor_char_boundary(most);
    // A first line that alone is longer than the preview is cut inside.
    let line_end = text[..end].rfind('\n').filter(|at| *at >= most / 2);
    &text[..line_end.unwrap_or(end)]
}

/// A tool result of text and media.
pub fn result_block(call: &CallId, text: &str, media: &[Block], is_error: bool) -> Block {
    if media.is_empty() {
        return Block::tool_result(call, text, is_error);
    }
    let mut content = Vec::with_capacity(media.len() + 1);
    if !text.is_empty() {
        content.push(Block::text(text));
    }
    content.extend_from_slice(media);
    let mut value = json!({
        "type": "tool_result",
        "tool_use_id": call.as_str(),
        "content": content,
    });
    if is_error {
        value["is_error"] = true.into();
    }
    Block::from_value(&value).unwrap_or_else(|_| Block::tool_result(call, text, is_error))
}

/// The images and documents of a tool result.
pub(super) fn media_of(result: &Block) -> Vec<Block> {
    #[derive(Deserialize)]
    struct Content {
        #[serde(default)]
        content: Option<OneOrMany>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        Many(Vec<Block>),
        One(IgnoredAny),
    }
    let content: Option<Content> = serde_json::from_slice(result.bytes()).ok();
    match content.and_then(|content| content.content) {
        Some(OneOrMany::Many(parts)) => parts
            .into_iter()
            .filter(|part| matches!(part.kind(), BlockKind::Image | BlockKind::Document))
            .collect(),
        _ => Vec::new(),
    }
}
