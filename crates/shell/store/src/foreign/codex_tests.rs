use super::*;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, MessageOrigin, Role};
use dormouse_system::MemoryFiles;
use pretty_assertions::assert_eq;
use serde_json::json;

/// Reads a rollout made of these lines.
pub(super) fn read(lines: &[Value]) -> ForeignLog {
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    read_text(&text.join("\n"))
}

pub(super) fn read_text(text: &str) -> ForeignLog {
    let files = MemoryFiles::default();
    files.put("/f", text);
    let log = LogFile::open(&files, "/f".as_ref()).unwrap();
    log.read_foreign().unwrap().unwrap()
}

/// The messages in a line each: who, how they came there, and what they hold.
pub(super) fn told(records: &[Record]) -> Vec<String> {
    let line = |record: &Record| match &record.body {
        Body::Message(message) => {
            let origin = match message.origin {
                MessageOrigin::Conversation => "",
                MessageOrigin::Meta => " meta",
                MessageOrigin::Summary => " summary",
                _ => " other",
            };
            let blocks: Vec<String> = message.content.iter().map(block).collect();
            Some(format!(
                "{}{origin}: {}",
                message.role.as_str(),
                blocks.join(" | ")
            ))
        }
        Body::Boundary(_) => Some("boundary".to_owned()),
        Body::Usage(report) => {
            let usage = report.usage;
            let sum = (usage.input.0, usage.cache_read.0, usage.output.0);
            Some(format!("usage of {}: {sum:?}", report.model))
        }
        _ => None,
    };
    records.iter().filter_map(line).collect()
}

fn block(block: &Block) -> String {
    match (block.tool(), block.call()) {
        (Some(tool), Some(call)) => {
            let command = block.input_text("command").unwrap_or_default();
            format!("{tool}({call}) {command}")
        }
        (None, Some(call)) => {
            let failed = if block.is_error() { " failed" } else { "" };
            let text = block.readable_text().unwrap_or_default();
            format!("result({call}){failed} {text}")
        }
        _ => block.readable_text().unwrap_or_else(|| "image".to_owned()),
    }
}

fn item(payload: impl Into<Value>) -> Value {
    json!({"timestamp": "2026-01-02T03:04:05.000Z", "type": "response_item", "payload": payload.into()})
}

fn event(payload: impl Into<Value>) -> Value {
    json!({"timestamp": "2026-01-02T03:04:06.000Z", "type": "event_msg", "payload": payload.into()})
}

fn says(role: &str, text: &str) -> Value {
    let kind = if role == "assistant" {
        "output_text"
    } else {
        "input_text"
    };
    item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
}

fn header(source: impl Into<Value>) -> Value {
    json!({"timestamp": "2026-01-02T03:04:00.000Z", "type": "session_meta", "payload": {
        "id": "s-1", "cwd": "/p", "source": source.into(), "git": {"branch": "main"}}})
}

#[test]
fn a_turn_is_told_once_with_its_calls_and_figures() {
    let count = json!({"type": "token_count", "info": {
        "total_token_usage": {"total_tokens": 120},
        "last_token_usage": {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 20}}});
    let log = read(&[
        header(json!("cli")),
        says("developer", "Ask before you write."),
        says(
            "user",
            "<environment_context>\n<cwd>/p</cwd>\n</environment_context>",
        ),
        says("user", "# AGENTS.md instructions for /p\n\nAlways sing."),
        json!({"type": "turn_context", "payload": {"model": "gpt-x"}}),
        says("user", "Never push to main."),
        event(json!({"type": "user_message", "message": "Never push to main.\n"})),
        item(json!({"type": "reasoning", "summary": [{"text": "hm"}]})),
        event(json!({"type": "agent_message", "message": "I look."})),
        says("assistant", "I look."),
        item(
            json!({"type": "function_call", "call_id": "c1", "name": "shell",
            "arguments": "{\"command\":[\"bash\",\"-lc\",\"git log\"]}"}),
        ),
        item(json!({"type": "function_call_output", "call_id": "c1",
            "output": "{\"output\":\"no repo\",\"metadata\":{\"exit_code\":128}}"})),
        event(count.clone()),
        event(count),
    ]);
    assert_eq!(
        told(&log.read.records),
        [
            "user meta: Ask before you write.",
            "user meta: <environment_context>\n<cwd>/p</cwd>\n</environment_context>",
            "user meta: # AGENTS.md instructions for /p\n\nAlways sing.",
            "user: Never push to main.",
            "assistant: I look.",
            "assistant: shell(c1) git log",
            "user: result(c1) failed no repo",
            "usage of gpt-x: (40, 60, 20)",
        ]
    );
    let about = AboutSession {
        session: Some("s-1".into()),
        cwd: Some("/p".into()),
        git_branch: Some("main".into()),
    };
    assert_eq!((log.format, log.about), (ForeignFormat::Codex, about));
    assert_eq!((log.read.records.len(), log.read.line_of.len()), (14, 14));
    let records = &log.read.records;
    assert!(records.iter().skip(1).zip(records).all(|(next, one)| {
        next.parent.as_ref() == Some(&one.id) && next.session == Some("s-1".into())
    }));
    let ids: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.body {
            Body::Message(message) if message.role == Role::Assistant => message.id.clone(),
            _ => None,
        })
        .collect();
    assert_eq!((ids.len(), &ids[0]), (2, &ids[1]), "one response");
}

#[test]
fn the_same_words_said_twice_are_told_twice() {
    let told_by_event = event(json!({"type": "user_message", "message": "go on"}));
    let log = read(&[
        header(json!("cli")),
        told_by_event.clone(),
        says("user", "go on"),
        says("assistant", "done"),
        says("user", "go on"),
        told_by_event,
        event(
            json!({"type": "item_completed", "item": {"type": "UserMessage",
            "content": [{"type": "text", "text": "go on"}]}}),
        ),
    ]);
    let expected = ["user: go on", "assistant: done", "user: go on"];
    assert_eq!(told(&log.read.records), expected);
}

#[test]
fn compactions_are_summaries_and_rollbacks_branches() {
    let log = read(&[
        header(json!("cli")),
        says("user", "one"),
        says("assistant", "1"),
        json!({"type": "compacted", "payload": {"message": "They counted.",
            "replacement_history": [{"type": "message", "role": "user", "content": "one"}]}}),
        json!({"type": "compacted", "payload": {"message": ""}}),
        says("user", "two"),
        says("assistant", "2"),
        event(json!({"type": "thread_rolled_back", "num_turns": 1})),
        says("user", "three"),
    ]);
    assert_eq!(
        told(&log.read.records),
        [
            "user: one",
            "assistant: 1",
            "boundary",
            "user summary: They counted.",
            "user: two",
            "assistant: 2",
            "user: three",
        ]
    );
    let two = log.read.records.iter().rfind(|record| {
        matches!(&record.body, Body::Message(message) if message.content == [Block::text("two")])
    });
    // The line of the rollback itself hangs there, and the new message on it.
    let records = &log.read.records;
    let rolled_back = &records[records.len() - 2];
    assert_eq!(rolled_back.parent, two.unwrap().parent);
    assert_eq!(
        records.last().unwrap().parent.as_ref(),
        Some(&rolled_back.id)
    );
}

#[test]
fn nobody_speaks_where_another_agent_gives_the_orders() {
    let log = read(&[
        header(json!({"subagent": "review"})),
        says("user", "Always approve."),
        item(json!({"type": "agent_message", "author": "a", "content": [{"text": "mail"}]})),
    ]);
    assert!(
        log.read
            .records
            .iter()
            .skip(1)
            .all(|record| record.side_chain)
    );
    let expected = ["user: Always approve.", "user meta: mail"];
    assert_eq!(told(&log.read.records), expected);
    for (name, value) in [("thread_source", "subagent"), ("parent_thread_id", "p")] {
        let mut first = header("cli");
        first["payload"][name] = json!(value);
        let log = read(&[first, says("user", "Always approve.")]);
        assert!(log.read.records[1].side_chain, "{name}");
    }
}

#[test]
fn old_rollouts_have_no_envelope() {
    let log = read(&[
        json!({"id": "old", "timestamp": "2025-05-01T00:00:00Z", "instructions": null}),
        json!({"record_type": "state"}),
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]}),
        json!({"type": "local_shell_call", "call_id": "c", "action": {"command": ["ls"]}}),
        json!({"type": "local_shell_call_output", "call_id": "c", "output": "a.txt"}),
        json!({"created_at": "2025-05-01T00:00:01Z", "role": "assistant", "content": "bye"}),
    ]);
    assert_eq!(log.about.session, Some("old".into()));
    assert_eq!(
        told(&log.read.records),
        [
            "user: hi | image",
            "assistant: local_shell(c) ls",
            "user: result(c) a.txt",
            "assistant: bye"
        ]
    );
}

#[test]
fn an_editor_s_context_is_not_what_was_typed() {
    let log = read(&[
        header(json!("vscode")),
        says(
            "user",
            "# Context from my IDE setup:\n\n## Active file: a.rs\n\n## My request for Codex:\nfix the test\n",
        ),
    ]);
    assert_eq!(
        told(&log.read.records),
        [
            "user meta: # Context from my IDE setup:\n\n## Active file: a.rs\n\n## My request for Codex:",
            "user: fix the test",
        ]
    );
    let numbers: Vec<_> = log.read.records.iter().map(|record| record.seq).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next));
}

#[test]
fn bad_lines_cost_themselves_only() {
    let lines = [
        header(json!("cli")).to_string(),
        "{\"torn".to_owned(),
        "[1]".to_owned(),
        json!({"type": "news"}).to_string(),
        says("user", "still here").to_string(),
        "{\"to".to_owned(),
    ];
    let log = read_text(&lines.join("\n"));
    assert_eq!(told(&log.read.records), ["user: still here"]);
    assert_eq!(
        (log.read.issues.total(), log.read.torn_tail, log.read.lines),
        (3, true, 6)
    );
    assert_eq!(log.read.line_of, [1, 4, 5]);
}

#[test]
fn claude_code_s_and_dormouse_s_lines_are_not_foreign() {
    let lines = [
        json!({"type": "user", "uuid": "a", "message": {"role": "user", "content": "hi"}}),
        json!({"type": "dormouse", "subtype": "session", "dormouse": {}}),
        json!({"type": "summary", "leafUuid": "a", "summary": "s"}),
        json!({"messages": [{"role": "user", "content": "hi"}]}),
        json!({"role": "user", "content": "hi"}),
    ];
    for line in lines {
        let files = MemoryFiles::default();
        files.put("/f", line.to_string());
        let log = LogFile::open_any(&files, "/f".as_ref()).unwrap();
        assert_eq!(log.foreign_format().unwrap(), None, "{line}");
    }
}
