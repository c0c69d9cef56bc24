use super::codex_tests::{read, told};
use super::*;
use dormouse_core::record::Body;
use pretty_assertions::assert_eq;
use serde_json::json;

const AT: &str = "2026-01-02T03:04:05.000Z";

fn header() -> Value {
    json!({"type": "session", "id": "s-2", "timestamp": AT, "cwd": "/p"})
}

fn says(message: impl Into<Value>) -> Value {
    json!({"type": "message", "timestamp": AT, "message": message.into()})
}

fn user(text: &str) -> Value {
    says(json!({"role": "user", "content": [{"type": "text", "text": text}]}))
}

/// An entry of a tree.
fn entry(id: &str, parent: Option<&str>, mut line: Value) -> Value {
    line["id"] = json!(id);
    line["parentId"] = json!(parent);
    line
}

fn the_boundary(records: &[Record]) -> (String, String) {
    let preserved = records.iter().find_map(|record| match &record.body {
        Body::Boundary(boundary) => boundary.preserved.clone(),
        _ => None,
    });
    let preserved = preserved.unwrap();
    (preserved.head.to_string(), preserved.tail.to_string())
}

#[test]
fn messages_calls_and_results_come_over() {
    let log = read(&[
        header(),
        json!({"type": "model_change", "timestamp": AT, "modelId": "m", "provider": "p"}),
        user("Always run the tests."),
        says(
            json!({"role": "assistant", "model": "m", "stopReason": "toolUse",
            "usage": {"input": 3, "output": 5, "cacheRead": 7, "cacheWrite": 11},
            "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "x"},
                {"type": "text", "text": "I run them."},
                {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "make"}}]}),
        ),
        says(
            json!({"role": "toolResult", "toolCallId": "c1", "toolName": "bash", "isError": true,
            "content": [{"type": "text", "text": "boom"}]}),
        ),
        says(
            json!({"role": "assistant", "model": "m", "stopReason": "aborted",
            "content": [{"type": "toolCall", "id": "c2", "name": "bash", "arguments": {}}]}),
        ),
        says(json!({"role": "bashExecution", "command": "ls", "output": "a.txt"})),
        json!({"type": "custom_message", "timestamp": AT, "content": "a hook says"}),
        user("<skill name=\"x\">Always obey.</skill>\n\nfor the parser"),
    ]);
    assert_eq!(
        (log.format, log.about.cwd.as_deref()),
        (ForeignFormat::Pi, Some("/p"))
    );
    assert_eq!(
        told(&log.read.records),
        [
            "user: Always run the tests.",
            "assistant: I run them. | bash(c1) make",
            "user: result(c1) failed boom",
            "user meta: $ ls\na.txt",
            "user meta: a hook says",
            "user meta: <skill name=\"x\">Always obey.</skill>",
            "user: for the parser",
        ]
    );
    let usage = log
        .read
        .records
        .iter()
        .find_map(|record| match &record.body {
            Body::Message(message) => message.usage,
            _ => None,
        });
    assert_eq!(usage.unwrap().total().get(), 26);
}

#[test]
fn a_flat_compaction_keeps_what_follows_the_named_entry() {
    let log = read(&[
        header(),
        user("one"),
        json!({"type": "model_change", "timestamp": AT, "modelId": "m"}),
        user("two"),
        user("three"),
        json!({"type": "compaction", "timestamp": AT, "summary": "They counted.",
            "firstKeptEntryIndex": 2, "tokensBefore": 9}),
        user("four"),
    ]);
    let expected = [
        "user: one",
        "user: two",
        "user: three",
        "boundary",
        "user summary: They counted.",
        "user: four",
    ];
    assert_eq!(told(&log.read.records), expected);
    let records = &log.read.records;
    let (head, tail) = (records[3].id.to_string(), records[4].id.to_string());
    assert_eq!(the_boundary(records), (head, tail));
}

#[test]
fn a_tree_hangs_as_it_says_and_a_lost_parent_is_the_entry_before() {
    let compaction = json!({"type": "compaction", "timestamp": AT, "summary": "s",
        "firstKeptEntryId": "b"});
    let log = read(&[
        header(),
        entry("a", None, user("one")),
        entry("b", Some("a"), user("two")),
        entry("c", Some("a"), user("other two")),
        entry("d", Some("b"), compaction),
        entry("e", Some("d"), user("three")),
        entry("f", Some("lost"), user("four")),
    ]);
    let parent = |id: &str| {
        let record = log
            .read
            .records
            .iter()
            .find(|record| record.id.as_str() == id);
        record.unwrap().parent.as_ref().map(ToString::to_string)
    };
    let hung = ["a", "b", "c", "e", "f"].map(parent);
    let expected = [None, Some("a"), Some("a"), Some("d"), Some("e")];
    assert_eq!(hung, expected.map(|id| id.map(str::to_owned)));
    assert_eq!(
        parent(&parent("d").unwrap()).as_deref(),
        Some("b"),
        "through the boundary"
    );
    assert_eq!(
        the_boundary(&log.read.records),
        ("b".to_owned(), "b".to_owned())
    );
}
