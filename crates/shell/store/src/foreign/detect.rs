//! Recognises the tool that wrote a line.
//!
//! # Not here
//! Reading the lines: [`super::codex`] and [`super::pi`].

use super::ForeignFormat;
use serde_json::Value;

/// The tool whose transcript a line stands in: `None` if it does not tell, `Some(None)` if it is
/// Dormouse's or Claude Code's.
#[expect(
    clippy::option_option,
    reason = "the outer one is whether the line tells, the inner one what it tells"
)]
pub(super) fn verdict(line: &Value) -> Option<Option<ForeignFormat>> {
    let kind = text(line, "type").unwrap_or_default();
    let own = ["uuid", "sessionId", "parentUuid", "leafUuid"];
    // Members that only Dormouse and Claude Code write; one of them settles it.
    if kind == "dormouse" || own.iter().any(|name| line.get(name).is_some()) {
        return Some(None);
    }
    if is_pi(line, kind) {
        return Some(Some(ForeignFormat::Pi));
    }
    is_codex(line, kind).then_some(Some(ForeignFormat::Codex))
}

/// True if a line is one of a conversation in a format that is read: a message, a boundary, a record
/// of Dormouse, or any line of Codex or pi. Members such as `uuid` alone prove nothing; other data
/// has them too.
pub(crate) fn is_conversation(line: &Value) -> bool {
    let kind = text(line, "type").unwrap_or_default();
    let has = |name: &str| line.get("message").is_some_and(|it| it.get(name).is_some());
    let said = || has("content") || has("usage");
    match kind {
        "dormouse" => true,
        "user" | "assistant" => said(),
        "summary" => line.get("leafUuid").is_some(),
        "system" => text(line, "subtype") == Some("compact_boundary"),
        _ => matches!(verdict(line), Some(Some(_))),
    }
}

/// True if a line can stand in a transcript of Claude Code beside the messages.
pub(crate) fn is_bookkeeping(line: &Value) -> bool {
    text(line, "type").is_some() && verdict(line) == Some(None)
}

fn is_pi(line: &Value, kind: &str) -> bool {
    let timed = text(line, "timestamp").is_some();
    match kind {
        "session" => timed && text(line, "cwd").is_some() && text(line, "id").is_some(),
        "message" => {
            timed
                && line
                    .get("message")
                    .is_some_and(|it| text(it, "role").is_some())
        }
        "model_change" => timed && text(line, "modelId").is_some(),
        "thinking_level_change" => timed && text(line, "thinkingLevel").is_some(),
        _ => false,
    }
}

fn is_codex(line: &Value, kind: &str) -> bool {
    if line.get("payload").is_some_and(Value::is_object) {
        let kinds = [
            "session_meta",
            "response_item",
            "event_msg",
            "turn_context",
            "compacted",
            "world_state",
        ];
        return kinds.contains(&kind);
    }
    // Before there were payloads: a header without a type, then the items themselves.
    // Any JSON with an id and a time would pass otherwise.
    let header = text(line, "id").is_some()
        && text(line, "timestamp").is_some()
        && ["instructions", "git"]
            .iter()
            .any(|it| line.get(it).is_some());
    let dated = text(line, "timestamp").or_else(|| text(line, "created_at"));
    match kind {
        "" => {
            let role = text(line, "role").is_some() && dated.is_some();
            header || role || text(line, "record_type") == Some("state")
        }
        "message" => text(line, "role").is_some() && line.get("content").is_some(),
        "function_call" | "function_call_output" => text(line, "call_id").is_some(),
        _ => false,
    }
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}
