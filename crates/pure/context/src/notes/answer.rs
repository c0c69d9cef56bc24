//! Edits of the notes, read from a model's answer.
//!
//! The fork that writes the notes carries all tools of its parent, because another tool list would
//! miss the cache, and may use them only to edit this one file. An answer may therefore write its
//! edits as tags in its text (`tags.rs`) or as calls of the editing tools; a call of another tool,
//! or on another file, rejects the whole answer. No tool is run: a call is read as the edit it asks
//! for.
//!
//! Not here: whether an edit is valid ([`super::update`]).

use super::tags;
use dormouse_core::block::{Block, BlockKind};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Tools whose calls are read as edits, under the names that clients give them.
const EDIT: &str = "Edit";
const MULTI_EDIT: &str = "MultiEdit";
const WRITE: &str = "Write";

/// One edit of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Replaces the body of a section.
    Section {
        /// Title of the section.
        title: String,
        /// New body, which may be empty.
        body: String,
    },
    /// Appends to the body of a section.
    Append {
        /// Title of the section.
        title: String,
        /// Lines to append behind the present body.
        lines: String,
    },
    /// Replaces text anywhere in the file.
    Replace {
        /// Text to find, frame included.
        old: String,
        /// Text to put in its place.
        new: String,
        /// True if to replace every occurrence; otherwise `old` must be unique.
        all: bool,
    },
    /// Replaces the whole file.
    Whole {
        /// New text of the file.
        text: String,
    },
}

/// Reasons why an answer is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// No tag and no editing call in it.
    #[error("the answer contains no edit of the notes")]
    NoEdits,
    /// Call of a tool that is not an editing tool.
    #[error("the answer calls the tool `{tool}`; an update may only edit the notes")]
    OtherTool {
        /// Name of the tool.
        tool: String,
    },
    /// Edit of another file.
    #[error("the answer calls `{tool}` on `{path}`; an update may only edit the notes")]
    OtherFile {
        /// Name of the tool.
        tool: String,
        /// Path in its input.
        path: String,
    },
    /// Call whose input cannot be read.
    #[error(
        "the arguments of `{tool}` cannot be read: `{argument}` is missing or of the wrong type"
    )]
    Arguments {
        /// Name of the tool.
        tool: String,
        /// Input field that is missing or has the wrong type.
        argument: &'static str,
    },
    /// Tag that is incomplete or closes nothing.
    #[error("the answer contains a broken tag: `{text}`")]
    BrokenTag {
        /// Beginning of the line that holds it.
        text: String,
    },
    /// Block without its closing tag.
    #[error("the answer's `<{tag} title=\"{title}\">` is not closed")]
    Unclosed {
        /// Name of the tag.
        tag: &'static str,
        /// Title in the opening tag.
        title: String,
    },
}

/// One entry of a `MultiEdit` call.
#[derive(Deserialize)]
struct Step {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

/// Edits that an answer asks for, in order. `notes_path` is the path as the model was told.
///
/// # Errors
/// When the answer calls anything else, is incomplete, or contains no edit.
pub fn edits_of(blocks: &[Block], notes_path: &str) -> Result<Vec<Edit>, AnswerError> {
    let mut edits = Vec::new();
    for block in blocks {
        match (block.kind(), block.tool()) {
            (BlockKind::Text, _) => {
                let text = block.readable_text().unwrap_or_default();
                edits.extend(tags::edits_in(&text)?);
            }
            (BlockKind::ToolUse, tool) => {
                edits.extend(edits_of_call(block, tool.unwrap_or_default(), notes_path)?);
            }
            // A tool that the provider ran on its own side (such as a web search).
            (BlockKind::Other, Some(tool)) => return Err(other_tool(tool)),
            _ => {}
        }
    }
    // Accepting an empty answer would mark the notes as covering what they do not.
    if edits.is_empty() {
        return Err(AnswerError::NoEdits);
    }
    Ok(edits)
}

fn other_tool(tool: &str) -> AnswerError {
    AnswerError::OtherTool {
        tool: tool.to_owned(),
    }
}

fn edits_of_call(call: &Block, tool: &str, notes_path: &str) -> Result<Vec<Edit>, AnswerError> {
    if ![EDIT, MULTI_EDIT, WRITE].contains(&tool) {
        return Err(other_tool(tool));
    }
    let path: String = argument(call, tool, "file_path")?;
    // Compared literally: resolving paths needs the disk, and a wrong spelling costs one update.
    if path != notes_path {
        let tool = tool.to_owned();
        return Err(AnswerError::OtherFile { tool, path });
    }
    match tool {
        WRITE => Ok(vec![Edit::Whole {
            text: argument(call, tool, "content")?,
        }]),
        MULTI_EDIT => {
            let steps: Vec<Step> = argument(call, tool, "edits")?;
            Ok(steps.into_iter().map(Edit::from).collect())
        }
        _ => Ok(vec![Edit::Replace {
            old: argument(call, tool, "old_string")?,
            new: argument(call, tool, "new_string")?,
            all: optional(call, tool, "replace_all")?.unwrap_or(false),
        }]),
    }
}

fn argument<T: DeserializeOwned>(
    call: &Block,
    tool: &str,
    argument: &'static str,
) -> Result<T, AnswerError> {
    optional(call, tool, argument)?.ok_or_else(|| unreadable(tool, argument))
}

fn optional<T: DeserializeOwned>(
    call: &Block,
    tool: &str,
    argument: &'static str,
) -> Result<Option<T>, AnswerError> {
    let json = call.input_json(argument);
    json.map(|json| serde_json::from_str(&json).map_err(|_| unreadable(tool, argument)))
        .transpose()
}

fn unreadable(tool: &str, argument: &'static str) -> AnswerError {
    let tool = tool.to_owned();
    AnswerError::Arguments { tool, argument }
}

impl From<Step> for Edit {
    fn from(step: Step) -> Self {
        Self::Replace {
            old: step.old_string,
            new: step.new_string,
            all: step.replace_all,
        }
    }
}
