//! A line of a transcript as the scans see it: a few members, no blocks.
//!
//! # Model
//! Every member is optional and of the wrong type at worst, since other tools write these files: a
//! scan goes on with what it can read. Content and figures stay raw until a scan wants them.
//!
//! # Not here
//! Lines as records, with everything that is in them: `dormouse_core::record`.

use dormouse_core::json::{Flag, OrElse, Text};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Members of a line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScanLine<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) subtype: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) uuid: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) request_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) session_id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) timestamp: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) cwd: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) git_branch: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) version: Text<'a>,
    #[serde(default)]
    pub(crate) is_sidechain: Flag,
    #[serde(default)]
    pub(crate) is_meta: Flag,
    #[serde(default)]
    pub(crate) is_compact_summary: Flag,
    #[serde(default)]
    pub(crate) is_api_error_message: Flag,
    /// Present in lines that carry a tool's result.
    #[serde(default)]
    pub(crate) tool_use_result: Option<IgnoredAny>,
    /// Present in lines that a tool made.
    #[serde(default, rename = "sourceToolUseID")]
    pub(crate) source_tool_use_id: Option<IgnoredAny>,
    /// Speaker as the client names it, in one of several shapes.
    #[serde(borrow, default)]
    pub(crate) origin: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) custom_title: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) ai_title: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) summary: Text<'a>,
    #[serde(borrow, default)]
    message: Option<OrElse<ScanMessage<'a>>>,
    #[serde(borrow, default)]
    pub(crate) compact_metadata: Option<&'a RawValue>,
    /// Content of a record of ours.
    #[serde(borrow, default)]
    pub(crate) dormouse: Option<&'a RawValue>,
}

impl<'a> ScanLine<'a> {
    /// The message, if it is an object.
    pub(crate) fn message(&self) -> Option<&ScanMessage<'a>> {
        self.message.as_ref().and_then(OrElse::object)
    }
}

/// Members of a line's message.
#[derive(Deserialize)]
pub(crate) struct ScanMessage<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) model: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) usage: Option<&'a RawValue>,
}
