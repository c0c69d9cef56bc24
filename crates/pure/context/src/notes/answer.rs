//! From the model's answer to edits.
//!
//! The fork that writes the notes has every tool of its parent in front of it, because another
//! tool list would miss the cache, and it may use none of them except to edit this one file. So an
//! answer may write its edits as tags in its text (`tags.rs`) or as calls of the editing
//! tools; a call of anything else, or on another file, makes the whole answer worthless. Nothing
//! is run: a call is read as the edit it asks for.
//!
//! Not here: whether an edit is good ([`super::update`]).

use super::tags;
use dormouse_core::block::{Block, BlockKind};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The tools whose calls are read as edits.
const EDIT: &str = "Edit";
const MULTI_EDIT: &str = "MultiEdit";
const WRITE: &str = "Write";

/// One step of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Gives a section a new body.
    Section {
        /// The section.
        title: String,
        /// What stands there from now on.
        body: String,
    },
    /// Adds to the end of a section.
    Append {
        /// The section.
        title: String,
        /// What is added.
        lines: String,
    },
    /// Replaces text anywhere in the file.
    Replace {
        /// What stands there.
        old: String,
        /// What shall stand there.
        new: String,
        /// Everywhere, not only in the one place.
        all: bool,
    },
    /// Replaces the whole file.
    Whole {
        /// Its new text.
        text: String,
    },
}

/// Why an answer gives no edits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It contains none.
    #[error("the answer contains no edit of the notes")]
    NoEdits,
    /// It calls a tool that edits nothing.
    #[error("the answer calls the tool `{tool}`; an update may only edit the notes")]
    OtherTool {
        /// The tool.
        tool: String,
    },
    /// It edits another file.
    #[error("the answer calls `{tool}` on `{path}`; an update may only edit the notes")]
    OtherFile {
        /// The tool.
        tool: String,
        /// The file.
        path: String,
    },
    /// A call whose arguments cannot be read.
    #[error(
        "the arguments of `{tool}` cannot be read: `{argument}` is missing or of the wrong type"
    )]
    Arguments {
        /// The tool.
        tool: String,
        /// The argument.
        argument: &'static str,
    },
    /// A tag that is not whole.
    #[error("the answer contains a broken tag: `{text}`")]
    BrokenTag {
        /// The line it stands in.
        text: String,
    },
    /// A block that does not end.
    #[error("the answer's `<{tag} title=\"{title}\">` is not closed")]
    Unclosed {
        /// The tag.
        tag: &'static str,
        /// The section.
        title: String,
    },
}

/// One edit of a `MultiEdit` call.
#[derive(Deserialize)]
struct Step {
    old_string: String,
    new_string: String,
    #[serde(default)]
    replace_all: bool,
}

/// The edits an answer asks for, in order. `notes_path` is how the notes file was named to the
/// model.
///
/// # Errors
/// When the answer does anything else, is not whole, or edits nothing.
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
            // A call that the provider ran by itself.
            (BlockKind::Other, Some(tool)) => return Err(other_tool(tool)),
            _ => {}
        }
    }
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
