//! Inputs of the tools, as the model gives them. Unknown fields are ignored: models invent some,
//! and a call that is otherwise clear should not fail for it.

use crate::reply::Failure;
use dormouse_drive::ToolCall;
use serde::Deserialize;
use serde::de::DeserializeOwned;

#[derive(Debug, Deserialize)]
pub(crate) struct Read {
    pub(crate) file_path: String,
    pub(crate) offset: Option<u64>,
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Grep {
    pub(crate) pattern: String,
    pub(crate) path: Option<String>,
    pub(crate) glob: Option<String>,
    #[serde(default)]
    pub(crate) output_mode: Mode,
    #[serde(rename = "-i", default)]
    pub(crate) ignore_case: bool,
    #[serde(rename = "-n")]
    pub(crate) numbers: Option<bool>,
    #[serde(rename = "-A")]
    pub(crate) after: Option<u64>,
    #[serde(rename = "-B")]
    pub(crate) before: Option<u64>,
    #[serde(rename = "-C")]
    pub(crate) around: Option<u64>,
    #[serde(default)]
    pub(crate) multiline: bool,
    pub(crate) head_limit: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Glob {
    pub(crate) pattern: String,
    pub(crate) path: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Bash {
    pub(crate) command: String,
    pub(crate) timeout: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Edit {
    pub(crate) file_path: String,
    pub(crate) old_string: String,
    pub(crate) new_string: String,
    #[serde(default)]
    pub(crate) replace_all: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Write {
    pub(crate) file_path: String,
    pub(crate) content: String,
}

/// Input of a call, in the shape its tool wants.
pub(crate) fn parse<T: DeserializeOwned>(call: &ToolCall) -> Result<T, Failure> {
    #[derive(Deserialize)]
    struct Envelope<T> {
        input: T,
    }
    let envelope: Envelope<T> = serde_json::from_slice(call.block.bytes())
        .map_err(|error| Failure::failed(format!("The input does not fit the tool: {error}")))?;
    Ok(envelope.input)
}

/// Count from the model, not above `most`.
pub(crate) fn bounded(count: u64, most: usize) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX).min(most)
}
