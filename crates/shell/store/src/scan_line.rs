//! A line of a transcript as the scans see it: a few members, no blocks.
//!
//! # Model
//! Every member is optional and of the wrong type at worst, since other tools write these files: a
//! scan goes on with what it can read. Content and figures stay raw until a scan wants them.
//!
//! # Not here
//! Lines as records, with everything that is in them: `dormouse_core::record`.

use crate::chunks::as_u64;
use crate::issue::{Issues, Trouble};
use crate::lines::Line;
use crate::log_file::is_object;
use crate::mend::{Damage, Part, divide};
use dormouse_core::json::{Flag, Number, OrElse, Text};
use dormouse_core::record::LineError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Reads a line, which usually is one object, and hands out every object on it with its offset.
/// Lost parts become issues, the same as a reader of records finds.
pub(crate) fn scan(
    line: &Line,
    number: u64,
    issues: &mut Issues,
    mut each: impl FnMut(&ScanLine<'_>, u64),
) {
    let (offset, bytes, ended) = match line {
        Line::Overlong { offset, bytes } => {
            issues.add(Some(number), *offset, Trouble::Overlong { bytes: *bytes });
            return;
        }
        Line::Text {
            offset,
            bytes,
            ended,
        } => (*offset, bytes, *ended),
    };
    if bytes.trim_ascii().is_empty() {
        return;
    }
    let error = match object(bytes) {
        Ok(line) => return each(&line, offset),
        Err(error) => error,
    };
    let divided = divide(bytes);
    let mut damage = Damage {
        records: 0,
        lost: 0,
        zeros: as_u64(divided.zeros),
        ended,
    };
    for part in divided.parts {
        match part {
            Part::Object(range) => match object(&bytes[range.clone()]) {
                Ok(line) => {
                    damage.records += 1;
                    each(&line, offset + as_u64(range.start));
                }
                Err(_) => damage.lost += as_u64(range.len()),
            },
            Part::Lost(range) => damage.lost += as_u64(range.len()),
        }
    }
    if let Some(what) = damage.trouble(bytes, || error) {
        issues.add(Some(number), offset, what);
    }
}

fn object(text: &[u8]) -> Result<ScanLine<'_>, LineError> {
    // Serde would accept an array as the members in order.
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(match serde_json::from_slice::<IgnoredAny>(text) {
            Ok(_) => LineError::NotAnObject,
            Err(error) => LineError::NotJson(error),
        });
    }
    serde_json::from_slice(text).map_err(|error| {
        // Valid JSON that does not fit the struct has a member twice: the reader of records refuses
        // it for the same reason.
        if is_object(text) {
            LineError::Ambiguous(error)
        } else {
            LineError::NotJson(error)
        }
    })
}

/// Members of a line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScanLine<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(crate) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(crate) subtype: Text<'a>,
    /// Number of a record of ours.
    #[serde(default)]
    pub(crate) seq: Number,
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
