//! Replacements for offloaded results: previews, file names, truncated texts.

use dormouse_core::block::{Block, BlockKind};
use dormouse_core::fragment::PERSISTED_OUTPUT;
use dormouse_core::hash::Hash;
use dormouse_core::id::CallId;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use std::fmt::Write as _;

/// Content of the marker for a result without content.
pub const EMPTY_RESULT: &str = "[The tool finished without any output.]";

/// Element name around a preview; existing logs depend on it.
pub(crate) static CONTAINER: &str = PERSISTED_OUTPUT.tag;

/// Hexadecimal digits of each hash in a file name: 64 bits, so that collisions within a session are
/// out of the question and names stay short.
const NAME_DIGITS: usize = 16;

/// File name for a result. The call id is chosen by a model and could be a path, so only its hash
/// is used; ids such as `call_0` repeat, so the content's hash is part of the name.
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

/// Preview of a result whose whole text is at `path`.
pub fn preview(text: &str, path: &str, bytes: u64) -> String {
    let head = head(text, bytes);
    let mut out = format!(
        "<{CONTAINER}>\n{}\n{path}\nwhich can be read or searched. It begins:\n\n{head}",
        length(text),
    );
    let rest = text.len() - head.len();
    if rest > 0 {
        // Writing to a string does not fail.
        let _ = write!(out, "\n[… {rest} more bytes in the file]");
    }
    let _ = write!(out, "\n</{CONTAINER}>");
    out
}

/// Text of a result that was shown whole before and is a file now: `body` says what of it matters.
pub(crate) fn stored(text: &str, path: &str, body: &str) -> String {
    format!(
        "<{CONTAINER}>\n{}\n{path}\nwhich can be read or searched. It was shown whole before; what \
         matters of it:\n\n{}\n</{CONTAINER}>",
        length(text),
        body.trim_end(),
    )
}

/// Line in place of a result whose preview does not fit the window either.
pub(super) fn line(text: &str, path: &str) -> String {
    let inside = text.strip_prefix(&format!("<{CONTAINER}>\n"));
    // A preview may become a line; its first line says how long the whole output is.
    let length = match inside.and_then(|inside| inside.lines().next()) {
        Some(length) => length.to_owned(),
        None => length(text),
    };
    format!("<{CONTAINER}>\n{length}\n{path}\n</{CONTAINER}>")
}

/// First line of a preview.
fn length(text: &str) -> String {
    format!(
        "The output is {} characters ({} lines) long. All of it is in the file",
        text.chars().count(),
        lines(text),
    )
}

/// Path in `folder` that a preview made by [`preview`] names.
pub(crate) fn saved_at<'a>(text: &'a str, folder: &str) -> Option<&'a str> {
    let inside = text.strip_prefix(&format!("<{CONTAINER}>\n"))?;
    let path = inside.lines().nth(1)?;
    let name = path.strip_prefix(folder)?.strip_prefix('/')?;
    // A tool's own output may imitate a preview; only a plain name inside the folder is accepted.
    let plain = !name.is_empty() && !name.contains(['/', '\\', ']']);
    plain.then_some(path)
}

/// Replacement of a result that is too long and could not be saved.
pub fn truncated(text: &str, why: &str, bytes: u64) -> String {
    let head = head(text, bytes);
    format!(
        "{head}\n[Cut here: the output is {} characters long and could not be saved to a file \
         ({why}). What is missing is not kept anywhere; run the tool again with less output if \
         it is needed.]",
        text.chars().count()
    )
}

/// Number of lines of a text. It may be megabytes, so line ends are counted without splitting.
fn lines(text: &str) -> usize {
    let ends = text.bytes().filter(|byte| *byte == b'\n').count();
    ends + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Beginning of a text, cut behind a line if there is one, else between characters.
fn head(text: &str, bytes: u64) -> &str {
    let most = usize::try_from(bytes).unwrap_or(usize::MAX);
    if text.len() <= most {
        return text;
    }
    let end = text.floor_char_boundary(most);
    // A first line longer than half of the preview is cut inside.
    let line_end = text[..end].rfind('\n').filter(|at| *at >= most / 2);
    &text[..line_end.unwrap_or(end)]
}

/// A tool result of text and media, media behind the text.
pub fn result_block(call: &CallId, text: &str, media: &[Block], is_error: bool) -> Block {
    if media.is_empty() {
        return Block::tool_result(call, text, is_error);
    }
    let mut content = Vec::with_capacity(media.len() + 1);
    // The API refuses empty text blocks.
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

/// Images and documents of a tool result.
pub(super) fn media_of(result: &Block) -> Vec<Block> {
    #[derive(Deserialize)]
    struct Content {
        #[serde(default)]
        content: Option<OneOrMany>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        // The content of a result is a string or a list of blocks.
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
