//! Parsing a line into a record, leniently.
//!
//! One reader serves Dormouse's own logs and Claude Code's transcripts of any age, because their
//! messages have the same shape. Odd types, unknown fields and unknown record kinds are skipped; a
//! line that is no JSON object is an error of that line alone, never of the log.
//!
//! Not here: other agents' formats (`store/src/foreign`).

use super::events::StateChange;
use super::message::{Message, MessageOrigin, Role};
use super::payload::{Boundary, BoundaryKind, Preserved, Trigger};
use super::{Body, Foreign, Record};
use crate::block::{Block, BlockError, BlockKind};
use crate::fragment::Speaker;
use crate::fragment::record::{RecordFields, origin_of, speaker};
use crate::id::{AgentId, MessageId, RecordId, Seq, SessionId};
use crate::json::{Flag, Number, OrElse, Text};
use crate::units::{Millis, Tokens};
use crate::usage::TokenUsage;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Reason why a line is not a record.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Text that is not JSON, such as a line cut off by a crash.
    #[error("the line is not JSON")]
    NotJson(#[source] serde_json::Error),
    /// JSON value other than an object.
    #[error("the line is JSON, but not an object")]
    NotAnObject,
    /// Object that names a member twice; two readers could take it for different records.
    #[error("the line is a JSON object that cannot be read as a record")]
    Ambiguous(#[source] serde_json::Error),
}

/// Part of a line that was dropped while the rest was read.
#[derive(Debug, thiserror::Error)]
pub enum LineIssue {
    /// Content block that was dropped from its message.
    #[error("content block {index} was left out")]
    Block {
        /// Zero-based position in the message.
        index: usize,
        /// Defect of the block.
        #[source]
        source: BlockError,
    },
    /// Message without a usable role or content; the line has no effect on the prompt.
    #[error("the message was left out: {what}")]
    Message {
        /// Defect of the message, as a clause.
        what: &'static str,
    },
    /// Record of Dormouse with an unreadable payload, perhaps of a newer version.
    #[error("the `{kind}` record cannot be read by this version")]
    Payload {
        /// Subtype of the record, as on disk.
        kind: String,
        /// Error of the JSON parser.
        #[source]
        source: serde_json::Error,
    },
}

/// Record, and the parts of its line that were dropped.
#[derive(Debug)]
pub struct ParsedLine {
    /// Record, complete except for the issues.
    pub record: Record,
    /// Dropped parts, in order of their appearance.
    pub issues: Vec<LineIssue>,
}

/// Envelope of a line. All fields are optional and of lenient types, so that deserialising fails
/// only on text that is no JSON object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    subtype: Text<'a>,
    #[serde(default)]
    seq: Number,
    #[serde(borrow, default)]
    uuid: Text<'a>,
    #[serde(borrow, default)]
    parent_uuid: Text<'a>,
    #[serde(borrow, default)]
    session_id: Text<'a>,
    #[serde(borrow, default)]
    timestamp: Text<'a>,
    #[serde(borrow, default)]
    version: Text<'a>,
    #[serde(borrow, default)]
    caused_by: Text<'a>,
    #[serde(default)]
    is_sidechain: Flag,
    #[serde(default)]
    is_meta: Flag,
    #[serde(default)]
    is_compact_summary: Flag,
    #[serde(default)]
    is_api_error_message: Flag,
    #[serde(default)]
    is_visible_in_transcript_only: Flag,
    #[serde(default)]
    tool_use_result: Option<IgnoredAny>,
    #[serde(default, rename = "sourceToolUseID")]
    source_tool_use_id: Option<IgnoredAny>,
    #[serde(borrow, default)]
    origin: Option<&'a RawValue>,
    #[serde(borrow, default)]
    prompt_source: Text<'a>,
    #[serde(borrow, default)]
    user_type: Text<'a>,
    #[serde(borrow, default)]
    agent_id: Text<'a>,
    #[serde(borrow, default)]
    summary: Text<'a>,
    #[serde(borrow, default)]
    custom_title: Text<'a>,
    #[serde(borrow, default)]
    ai_title: Text<'a>,
    #[serde(borrow, default)]
    message: Option<OrElse<WireMessage<'a>>>,
    #[serde(borrow, default)]
    compact_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    dormouse: Option<&'a RawValue>,
}

/// Envelope of a line without its blocks, for scans.
#[derive(Debug)]
pub struct Peek {
    /// `type` of the line; empty if absent.
    pub kind: String,
    /// `subtype` of the line, if present.
    pub subtype: Option<String>,
    /// True if the line belongs to a side conversation.
    pub side_chain: bool,
    /// Sequence number, if Dormouse wrote one into the line.
    pub seq: Option<Seq>,
    /// `uuid` of the line, if present.
    pub id: Option<RecordId>,
    /// True if the line carries a payload of Dormouse.
    pub own: bool,
}

/// Parses the envelope of a line without building its blocks; none if it is no JSON object.
pub fn peek(line: &[u8]) -> Option<Peek> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    Some(Peek {
        kind: line.kind.0.as_deref().unwrap_or_default().to_owned(),
        subtype: line.subtype.0.map(Into::into),
        side_chain: line.is_sidechain.0,
        seq: line.seq.0.map(Seq::new),
        id: line.uuid.0.as_deref().map(RecordId::from),
        own: line.dormouse.is_some(),
    })
}

impl Record {
    /// Parses one line (without its newline) that begins at `offset`.
    ///
    /// # Errors
    /// When the line is not a JSON object.
    pub fn parse(line: &Bytes, offset: u64) -> Result<ParsedLine, LineError> {
        // Serde would accept an array as the members in order.
        if line.trim_ascii_start().starts_with(b"[") {
            return Err(LineError::NotAnObject);
        }
        let parsed: Line<'_> = serde_json::from_slice(line).map_err(|error| {
            match (error.is_data(), line.trim_ascii_start().first()) {
                (false, _) => LineError::NotJson(error),
                (true, Some(b'{')) => LineError::Ambiguous(error),
                (true, _) => LineError::NotAnObject,
            }
        })?;
        let mut issues = Vec::new();
        let body = body(line, &parsed, &mut issues);
        let record = Self {
            seq: parsed
                .seq
                .0
                .map_or_else(|| Seq::from_offset(offset), Seq::new),
            offset,
            id: parsed.uuid.0.as_deref().map_or_else(
                // Lines without an id need one that is unique in the file and the same on every
                // read.
                || RecordId::new(format!("@{offset}")),
                RecordId::from,
            ),
            parent: parsed.parent_uuid.0.as_deref().map(RecordId::from),
            session: parsed.session_id.0.as_deref().map(SessionId::from),
            // A damaged timestamp costs the time of the record, not the record.
            at: parsed.timestamp.0.as_deref().and_then(Millis::parse),
            caused_by: parsed.caused_by.0.as_deref().map(RecordId::from),
            side_chain: parsed.is_sidechain.0,
            agent: parsed.agent_id.0.as_deref().map(AgentId::from),
            own: parsed
                .version
                .0
                .as_deref()
                .is_some_and(super::write::is_own_version),
            body,
        };
        Ok(ParsedLine { record, issues })
    }
}

fn body(line: &Bytes, parsed: &Line<'_>, issues: &mut Vec<LineIssue>) -> Body {
    let kind = parsed.kind.0.as_deref().unwrap_or_default();
    let subtype = parsed.subtype.0.as_deref();
    let read = match (kind, subtype) {
        ("dormouse", Some(subtype)) => own(subtype, parsed.dormouse, issues),
        ("system", Some("compact_boundary")) => boundary(parsed, issues),
        // Whatever the subtype: repairs are messages too.
        ("user" | "assistant", _) => message(line, parsed, issues).map(Body::Message),
        _ => None,
    };
    // Unreadable records of Dormouse end here too: a newer version's record must not stop an older
    // one from reading the log.
    read.unwrap_or_else(|| {
        let title = [&parsed.custom_title, &parsed.ai_title, &parsed.summary];
        Body::Foreign(Foreign {
            kind: kind.into(),
            subtype: subtype.map(Into::into),
            title: title
                .iter()
                .find_map(|text| text.0.as_deref())
                .map(Into::into),
        })
    })
}

/// Parses the payload of one of Dormouse's own records.
fn own(subtype: &str, payload: Option<&RawValue>, issues: &mut Vec<LineIssue>) -> Option<Body> {
    let text = payload.map_or("null", RawValue::get);
    let read = match subtype {
        "session" => typed(text).map(|start| Body::Session(Box::new(start))),
        // Reserved: messages are lines of type `user` or `assistant`, never of type `dormouse`.
        "message" => return None,
        "prefix" => typed(text).map(Body::Prefix),
        "request" => typed(text).map(|request| Body::Request(Box::new(request))),
        "usage" => typed(text).map(|usage| Body::Usage(Box::new(usage))),
        "fragment" => typed(text).map(Body::Fragment),
        "replacement" => typed(text).map(Body::Replacement),
        "distilled" => typed(text).map(|distilled| Body::Distilled(Box::new(distilled))),
        "cleared" => typed(text).map(Body::Cleared),
        "notes" => typed(text).map(Body::Notes),
        "snip" => typed(text).map(Body::Snip),
        "fold" => typed(text).map(Body::Fold),
        "undo" => typed(text).map(|undo| Body::Undo(Box::new(undo))),
        "checkpoint" => typed(text).map(|checkpoint| Body::Checkpoint(Box::new(checkpoint))),
        "chronicle" => typed(text).map(|page| Body::Chronicle(Box::new(page))),
        "agent" => typed(text).map(Body::Agent),
        "mail" => typed(text).map(Body::Mail),
        // An unknown subtype is no issue but a record of a newer version, kept as foreign.
        other => state_change(other, text)?.map(Body::State),
    };
    match read {
        Ok(body) => Some(body),
        Err(source) => {
            issues.push(LineIssue::Payload {
                kind: subtype.to_owned(),
                source,
            });
            None
        }
    }
}

fn typed<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text)
}

fn state_change(subtype: &str, text: &str) -> Option<Result<StateChange, serde_json::Error>> {
    #[derive(Deserialize)]
    struct ReadState {
        path: String,
        detail: serde_json::Value,
    }
    #[derive(Deserialize)]
    struct Cursor {
        name: String,
        at: Seq,
    }
    #[derive(Deserialize)]
    struct Fact {
        name: String,
        value: serde_json::Value,
    }
    Some(match subtype {
        "surfaced" => typed(text).map(|memories| StateChange::Surfaced { memories }),
        "read-state" => {
            typed(text).map(|ReadState { path, detail }| StateChange::ReadState { path, detail })
        }
        "memory-saved" => typed(text).map(|detail| StateChange::MemorySaved { detail }),
        "cursor" => typed(text).map(|Cursor { name, at }| StateChange::Cursor { name, at }),
        "dream" => typed(text).map(|detail| StateChange::Dream { detail }),
        "attempt" => typed(text).map(StateChange::Attempt),
        "fact" => typed(text).map(|Fact { name, value }| StateChange::Fact { name, value }),
        _ => return None,
    })
}

fn boundary(parsed: &Line<'_>, issues: &mut Vec<LineIssue>) -> Option<Body> {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Segment<'a> {
        #[serde(borrow)]
        head_uuid: Text<'a>,
        #[serde(borrow)]
        tail_uuid: Text<'a>,
    }
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Metadata<'a> {
        #[serde(borrow)]
        trigger: Text<'a>,
        pre_tokens: Number,
        post_tokens: Number,
        #[serde(borrow)]
        preserved_segment: Option<Segment<'a>>,
    }
    if let Some(payload) = parsed.dormouse {
        return match serde_json::from_str(payload.get()) {
            Ok(boundary) => Some(Body::Boundary(Box::new(boundary))),
            Err(source) => {
                issues.push(LineIssue::Payload {
                    kind: "boundary".to_owned(),
                    source,
                });
                None
            }
        };
    }
    // Boundary of another tool, without a manifest: the view takes the summary from the next
    // message.
    let metadata: Metadata<'_> = parsed
        .compact_metadata
        .and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default();
    let preserved = metadata.preserved_segment.and_then(|segment| {
        Some(Preserved {
            head: RecordId::from(segment.head_uuid.0.as_deref()?),
            tail: RecordId::from(segment.tail_uuid.0.as_deref()?),
        })
    });
    Some(Body::Boundary(Box::new(Boundary {
        trigger: match metadata.trigger.0.as_deref() {
            Some("auto") => Trigger::Auto,
            Some("manual") => Trigger::Manual,
            _ => Trigger::Unknown,
        },
        kind: BoundaryKind::Foreign,
        pre_tokens: metadata.pre_tokens.0.map(Tokens),
        post_tokens: metadata.post_tokens.0.map(Tokens),
        fixed_tokens: None,
        summary_tokens: None,
        summary: Vec::new(),
        restored: Vec::new(),
        text: Vec::new(),
        spliced: Vec::new(),
        previous: None,
        manifest: None,
        preserved,
    })))
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow, default)]
    role: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    stop_reason: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

fn message(line: &Bytes, parsed: &Line<'_>, issues: &mut Vec<LineIssue>) -> Option<Message> {
    let mut leave_out = |what| {
        issues.push(LineIssue::Message { what });
        None
    };
    let wire = match &parsed.message {
        None => return leave_out("it has no `message`"),
        Some(OrElse::Object(wire)) => wire,
        Some(OrElse::Other) => return leave_out("`message` is not an object"),
    };
    // Some writers omit the role inside the message; the `type` of the line has the same value.
    let role = wire
        .role
        .0
        .as_deref()
        .or(parsed.kind.0.as_deref())
        .and_then(Role::parse);
    let Some(role) = role else {
        return leave_out("its role is unknown");
    };
    let content = match wire.content {
        None => return leave_out("it has no content"),
        Some(raw) if raw.get().starts_with('"') => vec![Block::of_json_string(raw)],
        Some(raw) => match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
            Ok(parts) => blocks(line, &parts, issues),
            Err(_) => return leave_out("its content is neither text nor a list"),
        },
    };
    // A line may carry several marks; the first that applies decides.
    let origin = if parsed.is_compact_summary.0 {
        MessageOrigin::Summary
    } else if parsed.is_api_error_message.0 {
        MessageOrigin::ApiError
    } else if parsed.is_visible_in_transcript_only.0 {
        MessageOrigin::TranscriptOnly
    } else if parsed.subtype.0.as_deref() == Some("repair") {
        MessageOrigin::Repair
    } else if is_from_user(parsed, role, &content) {
        MessageOrigin::Conversation
    } else {
        MessageOrigin::Meta
    };
    Some(Message {
        role,
        content,
        id: wire.id.0.as_deref().map(MessageId::from),
        model: wire.model.0.as_deref().map(Arc::from),
        usage: wire.usage.and_then(|raw| TokenUsage::from_wire(raw.get())),
        stop_reason: wire.stop_reason.0.as_deref().map(Arc::from),
        origin,
    })
}

/// True if the words of a line are the conversation's: of a model, of a tool in its results, or of
/// the user.
fn is_from_user(parsed: &Line<'_>, role: Role, content: &[Block]) -> bool {
    if parsed.is_meta.0 {
        return false;
    }
    // Results are no words, and a response is marked by its role.
    if role != Role::User || content.iter().all(|block| block.kind() != BlockKind::Text) {
        return true;
    }
    let origin = parsed.origin.and_then(|raw| origin_of(raw.get()));
    let fields = RecordFields {
        role: role.as_str(),
        kind: parsed.kind.0.as_deref().unwrap_or_default(),
        is_from_tool: parsed.tool_use_result.is_some() || parsed.source_tool_use_id.is_some(),
        origin: origin.as_deref(),
        prompt_source: parsed.prompt_source.0.as_deref(),
        user_type: parsed.user_type.0.as_deref(),
        // Side conversations are told apart by the record itself.
        ..RecordFields::default()
    };
    speaker(&fields) == Speaker::User
}

fn blocks(line: &Bytes, parts: &[&RawValue], issues: &mut Vec<LineIssue>) -> Vec<Block> {
    let mut blocks = Vec::with_capacity(parts.len());
    for (index, part) in parts.iter().enumerate() {
        let parsed = if part.get().starts_with('"') {
            Ok(Block::of_json_string(part))
        } else {
            // Shares the bytes of the line: a transcript of many megabytes is not copied block by
            // block.
            Block::parse(&line.slice_ref(part.get().as_bytes()))
        };
        match parsed {
            Ok(block) => blocks.push(block),
            Err(source) => issues.push(LineIssue::Block { index, source }),
        }
    }
    blocks
}
