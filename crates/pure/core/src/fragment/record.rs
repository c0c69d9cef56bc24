//! Authorship of a whole record, judged by its fields.
//!
//! # Model
//! Transcripts mark the lines that no person typed: by flags, by the tool that a line stems from,
//! by the source of a prompt, by role or kind of item. [`speaker`] is the one reader of these
//! marks, for all formats. A value it does not know is a mark too: in doubt words are not the
//! user's.
//!
//! # Not here
//! Text of the record ([`recognise`](super::recognise)).

use super::Speaker;

/// Fields of a record that tell who spoke, as far as its format has them.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of the transcript, and any of them may be set beside any other"
)]
pub struct RecordFields<'a> {
    /// `role` of the message: `user`, `developer`, `toolResult`, …
    pub role: &'a str,
    /// `type` of the line or item: `user`, `message`, `function_call_output`, …
    pub kind: &'a str,
    /// `isMeta`: inserted by the client.
    pub is_meta: bool,
    /// `isSidechain`, `agentId` or a session that another agent leads.
    pub is_aside: bool,
    /// `isCompactSummary`: written by a compaction.
    pub is_summary: bool,
    /// `isVisibleInTranscriptOnly`: shown to the user, not sent.
    pub is_transcript_only: bool,
    /// `isApiErrorMessage`: an error in the place of an answer.
    pub is_api_error: bool,
    /// `toolUseResult` or `sourceToolUseID`: a tool made the line.
    pub is_from_tool: bool,
    /// `origin.kind`, `origin` or Codex's `kind` of a user message.
    pub origin: Option<&'a str>,
    /// `promptSource`: the way by which a prompt arrived.
    pub prompt_source: Option<&'a str>,
    /// `userType`: a person, or a program that acts as one.
    pub user_type: Option<&'a str>,
}

/// Origins of words that a person typed.
const PERSONS: &str = "human|user|plain|keyboard|typed";
/// Ways by which a person's prompt arrives.
const SOURCES: &str = "typed|queued|sdk|user|cli|suggestion_accepted|suggestion|voice|paste";
/// Kinds of users who are no persons.
const MACHINES: &str = "agent|system|bot|automation|service|subagent";

/// Value of a line's `origin`: text, or the `kind` of an object. An object without one is not
/// known.
pub fn origin_of(raw: &str) -> Option<String> {
    match serde_json::from_str(raw) {
        Ok(serde_json::Value::String(text)) => Some(text),
        Ok(serde_json::Value::Object(object)) => {
            let kind = object.get("kind").and_then(serde_json::Value::as_str);
            // An empty origin is listed nowhere, so that the words count as the host's.
            Some(kind.unwrap_or_default().to_owned())
        }
        _ => None,
    }
}

/// Author of a record of the user's side.
pub fn speaker(fields: &RecordFields<'_>) -> Speaker {
    let listed = |list: &str, value: &str| list.split('|').any(|known| known == value);
    let tool_role = matches!(
        fields.role,
        "tool" | "toolResult" | "function" | "bashExecution"
    );
    let tool_kind = matches!(
        fields.kind,
        "tool_result" | "toolResult" | "function_result" | "tool_search_output"
    ) || fields.kind.ends_with("_call_output");
    // First: a tool's output stays a tool's, whatever the other marks say.
    if tool_role || tool_kind || fields.is_from_tool {
        return Speaker::Tool;
    }
    // Before the origin: a sub-agent's conversation has a "user", which is the agent above it.
    if fields.is_aside || fields.role == "assistant" || fields.kind == "agent_message" {
        return Speaker::OtherAgent;
    }
    let marked = fields.is_meta
        || fields.is_summary
        || fields.is_transcript_only
        || fields.is_api_error
        || fields.kind == "system"
        || fields.user_type.is_some_and(|kind| listed(MACHINES, kind))
        || fields
            .prompt_source
            .is_some_and(|source| !listed(SOURCES, source));
    match fields.origin {
        Some("peer" | "teammate" | "agent" | "channel" | "coordinator") => Speaker::OtherAgent,
        // An origin that is not known may be a new way to inject text.
        Some(origin) if !listed(PERSONS, origin) => Speaker::Host,
        // A role that is not known is no person's.
        _ if marked || fields.role != "user" => Speaker::Host,
        _ => Speaker::User,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const USER: RecordFields<'_> = RecordFields {
        role: "user",
        kind: "user",
        is_meta: false,
        is_aside: false,
        is_summary: false,
        is_transcript_only: false,
        is_api_error: false,
        is_from_tool: false,
        origin: None,
        prompt_source: None,
        user_type: None,
    };

    fn check(expected: Speaker, mark: impl FnOnce(&mut RecordFields<'_>)) {
        let mut fields = USER;
        mark(&mut fields);
        assert_eq!(speaker(&fields), expected, "{fields:?}");
    }

    #[test]
    fn every_mark_takes_the_words_from_the_user() {
        check(Speaker::Host, |it| it.is_meta = true);
        check(Speaker::Host, |it| it.is_summary = true);
        check(Speaker::Host, |it| it.is_transcript_only = true);
        check(Speaker::Host, |it| it.is_api_error = true);
        check(Speaker::Tool, |it| it.is_from_tool = true);
        check(Speaker::OtherAgent, |it| it.is_aside = true);
        check(Speaker::OtherAgent, |it| it.origin = Some("channel"));
        check(Speaker::Host, |it| it.origin = Some("task-notification"));
        check(Speaker::Host, |it| it.origin = Some("something new"));
        check(Speaker::Host, |it| it.prompt_source = Some("hook"));
        check(Speaker::Host, |it| it.user_type = Some("agent"));
        check(Speaker::Host, |it| it.kind = "system");
        check(Speaker::Host, |it| it.role = "developer");
        check(Speaker::Tool, |it| it.role = "toolResult");
        check(Speaker::Tool, |it| it.kind = "local_shell_call_output");
        check(Speaker::OtherAgent, |it| it.kind = "agent_message");
        check(Speaker::Host, |it| *it = RecordFields::default());
    }

    #[test]
    fn a_person_stays_a_person() {
        check(Speaker::User, |_| {});
        check(Speaker::User, |it| it.origin = Some("human"));
        check(Speaker::User, |it| it.prompt_source = Some("typed"));
        check(Speaker::User, |it| it.user_type = Some("external"));
    }

    #[test]
    fn an_origin_is_text_or_has_a_kind() {
        assert_eq!(origin_of("\"human\"").as_deref(), Some("human"));
        assert_eq!(origin_of("{\"kind\":\"peer\"}").as_deref(), Some("peer"));
        assert_eq!(origin_of("{\"from\":\"x\"}").as_deref(), Some(""));
        assert_eq!(origin_of("null"), None);
    }
}
