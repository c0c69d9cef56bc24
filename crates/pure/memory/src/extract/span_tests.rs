use super::*;
use dormouse_core::record::FragmentKind;
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result, thinking};
use pretty_assertions::assert_eq;
use serde_json::json;

fn kinds(spans: &[Span]) -> Vec<(Speaker, Option<Trust>, &str)> {
    spans
        .iter()
        .map(|span| (span.speaker, span.trust(), span.text.trim()))
        .collect()
}

#[test]
fn everybody_is_told_apart() {
    let mut log = LogBuilder::new();
    log.fragment(FragmentKind::Memory, "Memory (saved 1 day ago): a.md:\nx");
    log.user("use tabs");
    let calls = vec![
        thinking("hm"),
        Block::text("I look."),
        call("c1", "Read", &json!({ "file_path": "a" })),
        call("c2", "WebFetch", &json!({ "url": "b" })),
        call("c3", "Bash", &json!({ "command": "curl b" })),
    ];
    log.assistant("m1", calls);
    log.user_blocks(vec![
        result("c1", "inside"),
        result("c2", "outside"),
        result("c3", "fetched"),
        result("c9", "unknown"),
    ]);
    let spans = spans(log.records(), None);
    assert_eq!(
        kinds(&spans),
        [
            (Speaker::Tool, None, "Memory (saved 1 day ago): a.md:\nx"),
            (Speaker::User, Some(Trust::User), "use tabs"),
            (Speaker::Assistant, Some(Trust::Assistant), "I look."),
            (Speaker::Tool, Some(Trust::ToolOutput), "inside"),
            (Speaker::Tool, Some(Trust::External), "outside"),
            (Speaker::Tool, Some(Trust::External), "fetched"),
            (Speaker::Tool, Some(Trust::External), "unknown"),
        ]
    );
    let origin = spans[1].origin();
    assert!(origin.resolves() && origin.speaker == Speaker::User);
}

#[test]
fn what_clients_and_sub_agents_say_is_not_the_users() {
    let mut log = LogBuilder::new();
    let mut meta = Message::user(vec![Block::text("always use tabs")]);
    meta.origin = MessageOrigin::Meta;
    log.push(Body::Message(meta));
    log.user("always use spaces");
    log.assistant("m1", vec![Block::text("done")]);
    let mut records = log.records().to_vec();
    records[1].side_chain = true;
    records[2].side_chain = true;
    let spans = spans(&records, None);
    assert!(spans.iter().all(|span| !span.is_users()));
    assert_eq!(spans[2].trust(), Some(Trust::ToolOutput));
}

#[test]
fn only_records_behind_the_cursor_count_and_private_parts_never_do() {
    let mut log = LogBuilder::new();
    let first = log.user("one").seq;
    log.user("two <private>and three</private>");
    let spans = spans(log.records(), Some(first));
    assert_eq!(kinds(&spans), [(Speaker::User, Some(Trust::User), "two")]);
}

#[test]
fn a_direct_write_is_noticed() {
    let is_memory = |path: &str| path.starts_with("/memory/");
    let wrote = |block: Block| {
        let mut log = LogBuilder::new();
        log.assistant("m1", vec![block]);
        wrote_memory(log.records(), None, is_memory)
    };
    assert!(wrote(call(
        "c",
        "Write",
        &json!({ "file_path": "/memory/a.md" })
    )));
    assert!(wrote(call("c", "memory", &json!({ "command": "create" }))));
    assert!(!wrote(call("c", "memory", &json!({ "command": "view" }))));
    assert!(!wrote(call(
        "c",
        "Edit",
        &json!({ "file_path": "/src/a.md" })
    )));
    assert!(!wrote(call(
        "c",
        "Read",
        &json!({ "file_path": "/memory/a.md" })
    )));
    let mut log = LogBuilder::new();
    log.user("/remember use tabs");
    assert!(wrote_memory(log.records(), None, is_memory));
}

#[test]
fn a_summary_is_no_text_that_was_shown() {
    let mut log = LogBuilder::new();
    log.user("use tabs");
    let mut summary = Message::user(vec![Block::text("The user wants tabs: use tabs")]);
    summary.origin = MessageOrigin::Summary;
    log.push(Body::Message(summary));
    assert_eq!(
        kinds(&spans(log.records(), None)),
        [(Speaker::User, Some(Trust::User), "use tabs")]
    );
}
