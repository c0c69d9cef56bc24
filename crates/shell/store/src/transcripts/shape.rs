//! Text, speaker and time of a line of any shape.
//!
//! # Model
//! A line is JSON with text somewhere in it. Speaker, time and id are looked for where the known
//! tools put them; text is every string that is not a name, an id or data.
//!
//! # Not here
//! Translating a line into records: [`crate::foreign`] and `dormouse_core::record`.

use super::Said;
use dormouse_core::fragment::Speaker;
use dormouse_core::fragment::record::{self, RecordFields, origin_of};
use dormouse_core::units::Millis;
use serde_json::Value;

/// Members that hold no words: ids, paths of the session, versions, data that is no text. A match
/// in them would show the user a line that says nothing.
const NOT_SAID: [&str; 44] = [
    "uuid",
    "parentUuid",
    "logicalParentUuid",
    "sessionId",
    "session_id",
    "requestId",
    "leafUuid",
    "id",
    "parentId",
    "message_id",
    "messageId",
    "tool_use_id",
    "toolUseID",
    "toolUseId",
    "toolCallId",
    "call_id",
    "turn_id",
    "timestamp",
    "ts",
    "time",
    "type",
    "subtype",
    "role",
    "cwd",
    "version",
    "cli_version",
    "gitBranch",
    "userType",
    "entrypoint",
    "model",
    "modelId",
    "provider",
    "stop_reason",
    "stopReason",
    "signature",
    "thinkingSignature",
    "textSignature",
    "encrypted_content",
    "media_type",
    "mimeType",
    "data",
    "hash",
    "slug",
    "service_tier",
];
/// Bytes above which a string without blanks is data: base64 in a member of unknown name.
const LONGEST_WORD: usize = 2_000;
/// Levels of nesting that are searched; a bound on the recursion, well above what tools write.
const DEEPEST: usize = 24;

/// Text of a line, with its id and time.
#[derive(Debug)]
pub(super) struct Spoken<'a> {
    pub(super) record: Option<&'a str>,
    pub(super) time: Option<Millis>,
    /// Texts, each with its speaker.
    pub(super) texts: Vec<SpokenText<'a>>,
}

/// One text of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct SpokenText<'a> {
    pub(super) said: Said,
    pub(super) text: &'a str,
    /// The call that it belongs to: as an argument, or as its result.
    pub(super) call: Option<&'a str>,
}

/// Collects the texts of a line, each with its speaker.
pub(super) fn spoken(line: &Value) -> Spoken<'_> {
    let inner = ["payload", "message"]
        .into_iter()
        .find_map(|key| line.get(key));
    let first_string = |keys: &[&str]| {
        let found = keys.iter().find_map(|key| line.get(key)?.as_str());
        found.or_else(|| keys.iter().find_map(|key| inner?.get(key)?.as_str()))
    };
    let mut texts = Vec::new();
    let about = About {
        said: speaker(line, Said::Other),
        call: call(line),
    };
    collect(line, about, 0, &mut texts);
    if !by_user(line) {
        for text in texts.iter_mut().filter(|text| text.said == Said::User) {
            text.said = Said::Other;
        }
    }
    Spoken {
        record: first_string(&["uuid", "id"]),
        time: ["timestamp", "ts", "time", "created_at"]
            .into_iter()
            .find_map(|key| time(line.get(key)?))
            .or_else(|| time(inner?.get("timestamp")?)),
        texts,
    }
}

/// True if the fields of a line leave its words to the user.
fn by_user(line: &Value) -> bool {
    let flag = |name: &str| line.get(name) == Some(&Value::Bool(true));
    let has = |name: &str| line.get(name).is_some_and(|value| !value.is_null());
    let origin = line
        .get("origin")
        .and_then(|value| origin_of(&value.to_string()));
    let fields = RecordFields {
        role: "user",
        is_meta: flag("isMeta"),
        is_aside: flag("isSidechain"),
        is_summary: flag("isCompactSummary"),
        is_transcript_only: flag("isVisibleInTranscriptOnly"),
        is_api_error: flag("isApiErrorMessage"),
        is_from_tool: has("toolUseResult") || has("sourceToolUseID"),
        origin: origin.as_deref(),
        ..RecordFields::default()
    };
    record::speaker(&fields) == Speaker::User
}

/// RFC 3339, or a number of seconds or milliseconds.
fn time(value: &Value) -> Option<Millis> {
    if let Some(text) = value.as_str() {
        return Millis::parse(text);
    }
    let number = value.as_i64()?;
    // Seconds of this century have ten digits, milliseconds thirteen.
    let millis = if number.abs() < 100_000_000_000 {
        number.checked_mul(1_000)?
    } else {
        number
    };
    Some(Millis(millis))
}

/// Speaker of an object, as far as it names one; otherwise that of the object around it.
fn speaker(value: &Value, otherwise: Said) -> Said {
    let kind = value
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let role = value
        .get("role")
        .and_then(Value::as_str)
        .unwrap_or_default();
    // Before the role: results travel in messages of the role `user`, and the user did not say
    // them.
    if is_result(kind) {
        return Said::Tool;
    }
    match role {
        "user" => return Said::User,
        "assistant" => return Said::Assistant,
        "tool" | "toolResult" | "function" => return Said::Tool,
        _ => {}
    }
    match kind {
        "user" | "user_message" => Said::User,
        "assistant" | "agent_message" | "agent_reasoning" | "reasoning" => Said::Assistant,
        _ => otherwise,
    }
}

fn is_result(kind: &str) -> bool {
    matches!(kind, "tool_result" | "toolResult" | "tool_output")
        || kind.ends_with("_call_output")
        || kind.starts_with("exec_command_")
}

/// Facts that an object hands down to the texts in it.
#[derive(Clone, Copy)]
struct About<'a> {
    said: Said,
    call: Option<&'a str>,
}

impl<'a> About<'a> {
    /// Facts of an inner object: its own where it names them.
    fn of(self, inner: &'a Value) -> Self {
        Self {
            said: speaker(inner, self.said),
            call: call(inner).or(self.call),
        }
    }
}

/// Id of the call that an object is, or answers to.
fn call(value: &Value) -> Option<&str> {
    let named = |key: &str| value.get(key).and_then(Value::as_str);
    let kind = named("type").unwrap_or_default();
    let own = matches!(kind, "tool_use" | "toolCall").then(|| named("id"));
    own.flatten()
        .or_else(|| named("tool_use_id"))
        .or_else(|| named("toolCallId"))
        .or_else(|| named("call_id"))
}

fn collect<'a>(value: &'a Value, about: About<'a>, depth: usize, texts: &mut Vec<SpokenText<'a>>) {
    // Deeply nested input must not cost the stack.
    if depth > DEEPEST {
        return;
    }
    match value {
        Value::String(text) => {
            // Searching base64 finds short terms by chance.
            let data = text.len() > LONGEST_WORD && !text.contains(char::is_whitespace);
            if !text.is_empty() && !data {
                let About { said, call } = about;
                texts.push(SpokenText { said, text, call });
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, about.of(item), depth + 1, texts);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                // An object under such a key may still hold text: `message.id` is skipped, `data`
                // with parts is not.
                if NOT_SAID.contains(&key.as_str()) && !field.is_object() {
                    continue;
                }
                // A tool's result stands beside the message too, as its client saw it.
                let own = if matches!(key.as_str(), "toolUseResult" | "tool_result") {
                    Said::Tool
                } else {
                    about.said
                };
                let about = About { said: own, ..about };
                collect(field, about.of(field), depth + 1, texts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
