//! Serialising a record into a line, strictly.
//!
//! The envelope comes first and has the members that readers of Claude Code transcripts expect.
//! Block bytes are copied into the line unchanged.
//!
//! Not here: numbering and appending (the driver and the store).

use super::events::StateChange;
use super::message::{Message, MessageOrigin, Role};
use super::{Body, Record};
use crate::json::ObjectWriter;
use crate::usage::TokenUsage;
use serde::Serialize;
use serde_json::json;

/// End of `version` in Dormouse's own lines. A number comes first, because tools that add up tokens
/// leave out lines whose version begins with anything else.
const WRITER: &str = "+dormouse";
/// Beginning of `version` in lines of earlier versions.
const EARLIER_WRITER: &str = "dormouse/";

/// True if the line with this version is Dormouse's own.
pub fn is_own_version(version: &str) -> bool {
    version.ends_with(WRITER) || version.starts_with(EARLIER_WRITER)
}

/// Members repeated in every line for readers of other tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineContext {
    /// Working directory of the session.
    pub cwd: String,
    /// Version of the program, without its name.
    pub version: String,
    /// Git branch of the project; empty where unknown.
    pub git_branch: String,
}

/// Encodes a record as one line, newline included.
///
/// # Errors
/// When a payload cannot be serialised.
pub fn encode(record: &Record, context: &LineContext) -> Result<Vec<u8>, serde_json::Error> {
    let size: usize = record
        .body
        .blocks()
        .iter()
        .map(|block| block.bytes().len())
        .sum();
    // 512 bytes hold the envelope with its ids, so that the buffer rarely grows.
    let mut line = ObjectWriter::with_capacity(size + 512);
    let (kind, subtype) = names(&record.body);
    line.field("type", kind)?;
    line.optional("subtype", subtype.as_ref())?;
    line.field("seq", &record.seq)?;
    line.field("uuid", &record.id)?;
    // Null for the first record, not absent: other readers expect the member.
    line.field("parentUuid", &record.parent)?;
    line.optional("sessionId", record.session.as_ref())?;
    line.optional("timestamp", record.at.map(|at| at.to_string()).as_ref())?;
    line.optional("causedBy", record.caused_by.as_ref())?;
    line.field("isSidechain", &record.side_chain)?;
    line.optional("agentId", record.agent.as_ref())?;
    line.field("cwd", &context.cwd)?;
    line.field("version", &format!("{}{WRITER}", context.version))?;
    line.field("gitBranch", &context.git_branch)?;
    payload(&mut line, &record.body)?;
    let mut bytes = line.finish();
    bytes.push(b'\n');
    Ok(bytes)
}

/// Adds Dormouse's sequence number to the line of another tool and keeps every other byte.
///
/// None when the line is not an object, or already has a number.
pub fn with_seq(line: &[u8], seq: crate::id::Seq) -> Option<Vec<u8>> {
    let line = line.trim_ascii_end();
    let open = line.strip_suffix(b"}").filter(|_| line.starts_with(b"{"))?;
    if super::peek(line).is_none_or(|peek| peek.seq.is_some()) {
        return None;
    }
    // `{}` has no member that a comma could follow.
    let comma = if open.trim_ascii_end().len() > 1 {
        ","
    } else {
        ""
    };
    let mut out = open.to_vec();
    out.extend_from_slice(format!("{comma}\"seq\":{}}}\n", seq.get()).as_bytes());
    Some(out)
}

fn names(body: &Body) -> (&str, Option<&str>) {
    match body {
        // Other readers ignore the subtype and see an ordinary message.
        Body::Message(message) if message.origin == MessageOrigin::Repair => {
            (message.role.as_str(), Some("repair"))
        }
        Body::Message(message) => (message.role.as_str(), None),
        Body::Boundary(_) => ("system", Some("compact_boundary")),
        Body::Foreign(foreign) => (&foreign.kind, foreign.subtype.as_deref()),
        other => ("dormouse", Some(other.kind())),
    }
}

fn payload(line: &mut ObjectWriter, body: &Body) -> Result<(), serde_json::Error> {
    match body {
        Body::Message(message) => write_message(line, message),
        Body::Boundary(boundary) => {
            // Members that readers of Claude Code transcripts look for; the payload follows beside
            // them.
            line.field("content", "Conversation compacted")?;
            let metadata = json!({
                "trigger": boundary.trigger,
                "preTokens": boundary.pre_tokens,
                "postTokens": boundary.post_tokens,
            });
            line.field("compactMetadata", &metadata)?;
            line.field("dormouse", boundary)
        }
        Body::Session(payload) => line.field("dormouse", payload),
        Body::Prefix(payload) => line.field("dormouse", payload),
        Body::Request(payload) => line.field("dormouse", payload),
        Body::Usage(payload) => line.field("dormouse", payload),
        Body::Fragment(payload) => line.field("dormouse", payload),
        Body::Replacement(payload) => line.field("dormouse", payload),
        Body::Distilled(payload) => line.field("dormouse", payload),
        Body::Cleared(payload) => line.field("dormouse", payload),
        Body::Notes(payload) => line.field("dormouse", payload),
        Body::Snip(payload) => line.field("dormouse", payload),
        Body::Fold(payload) => line.field("dormouse", payload),
        Body::Undo(payload) => line.field("dormouse", payload),
        Body::Checkpoint(payload) => line.field("dormouse", payload),
        Body::Chronicle(payload) => line.field("dormouse", payload),
        Body::State(change) => write_state(line, change),
        Body::Agent(payload) => line.field("dormouse", payload),
        Body::Mail(payload) => line.field("dormouse", payload),
        Body::Foreign(foreign) => line.optional("summary", foreign.title.as_ref()),
    }
}

fn write_state(line: &mut ObjectWriter, change: &StateChange) -> Result<(), serde_json::Error> {
    match change {
        StateChange::Surfaced { memories } => line.field("dormouse", memories),
        StateChange::ReadState { path, detail } => {
            line.field("dormouse", &json!({ "path": path, "detail": detail }))
        }
        StateChange::MemorySaved { detail } | StateChange::Dream { detail } => {
            line.field("dormouse", detail)
        }
        StateChange::Cursor { name, at } => {
            line.field("dormouse", &json!({ "name": name, "at": at }))
        }
        StateChange::Attempt(attempt) => line.field("dormouse", attempt),
        StateChange::Fact { name, value } => {
            line.field("dormouse", &json!({ "name": name, "value": value }))
        }
    }
}

fn write_message(line: &mut ObjectWriter, message: &Message) -> Result<(), serde_json::Error> {
    match message.origin {
        MessageOrigin::Meta => line.field("isMeta", &true)?,
        MessageOrigin::Summary => line.field("isCompactSummary", &true)?,
        MessageOrigin::ApiError => line.field("isApiErrorMessage", &true)?,
        MessageOrigin::TranscriptOnly => line.field("isVisibleInTranscriptOnly", &true)?,
        MessageOrigin::Conversation | MessageOrigin::Repair => {}
    }
    if message.role == Role::Assistant && message.usage.is_some() {
        // Tools that add up tokens count a response once only if its lines share this, too.
        line.optional("requestId", message.id.as_ref())?;
    }
    let mut wire = ObjectWriter::with_capacity(256);
    wire.field("role", message.role.as_str())?;
    wire.optional("id", message.id.as_ref())?;
    wire.optional("model", message.model.as_ref())?;
    let content = wire.raw("content");
    content.push(b'[');
    for (index, block) in message.content.iter().enumerate() {
        if index > 0 {
            content.push(b',');
        }
        content.extend_from_slice(block.bytes());
    }
    content.push(b']');
    wire.optional("stop_reason", message.stop_reason.as_ref())?;
    wire.optional("usage", message.usage.map(WireUsage::from).as_ref())?;
    let wire = wire.finish();
    line.raw("message").extend_from_slice(&wire);
    Ok(())
}

#[derive(Serialize)]
struct WireUsage {
    input_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation: WireWrites,
    output_tokens: u64,
}

#[derive(Serialize)]
struct WireWrites {
    ephemeral_5m_input_tokens: u64,
    ephemeral_1h_input_tokens: u64,
}

impl From<TokenUsage> for WireUsage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            input_tokens: usage.input.get(),
            cache_creation_input_tokens: (usage.cache_write_5m + usage.cache_write_1h).get(),
            cache_read_input_tokens: usage.cache_read.get(),
            cache_creation: WireWrites {
                ephemeral_5m_input_tokens: usage.cache_write_5m.get(),
                ephemeral_1h_input_tokens: usage.cache_write_1h.get(),
            },
            output_tokens: usage.output.get(),
        }
    }
}
