//! Requests that the layers leave alone.

use crate::kit::{Client, Gateway, output};
use bytes::Bytes;
use dormouse_rewrite::{Body, NotDivided};
use pretty_assertions::assert_eq;

#[test]
fn short_histories_pass_byte_for_byte() {
    let mut client = Client::new("look around");
    let mut gateway = Gateway::new();
    for at in 0..6 {
        client.round("Bash", &output(8, at));
        let body = client.body();
        let passed = gateway.pass(&body);
        assert_eq!(passed.composed.body, body);
        assert!(passed.composed.acts.is_empty());
        assert_eq!(passed.composed.acts.words(), "on");
    }
}

#[test]
fn bodies_whose_messages_must_stay_are_not_divided() {
    for (body, member) in [
        (
            r#"{"messages":[{"role":"user","content":"a"}],"thread":{"type":"create"}}"#,
            "thread",
        ),
        (
            r#"{"messages":[{"role":"user","content":"a"}],"context_management":{"edits":[{"type":"compact_20260112"}]}}"#,
            "context_management",
        ),
        (
            r#"{"messages":[{"role":"assistant","content":[{"type":"compaction","content":"s"}]}]}"#,
            "compaction",
        ),
        (
            r#"{"messages":[{"role":"user","content":"a"}],"compaction":{"type":"summarize"}}"#,
            "compaction",
        ),
    ] {
        let read = Body::read(&Bytes::from_static(body.as_bytes()));
        assert!(
            matches!(read, Err(NotDivided::Member(name)) if name == member),
            "{body}"
        );
    }
    let thinking = r#"{"messages":[{"role":"user","content":"a"}],"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}}"#;
    assert!(Body::read(&Bytes::from_static(thinking.as_bytes())).is_ok());
    for body in [
        "",
        "{}",
        r#"{"messages":{}}"#,
        r#"{"messages":[1]}"#,
        r#"{"messages":[{"role":"user"}]}"#,
    ] {
        let read = Body::read(&Bytes::from_static(body.as_bytes()));
        assert!(matches!(read, Err(NotDivided::NotUnderstood(_))), "{body}");
    }
}

#[test]
fn files_and_errors_and_results_of_unknown_tools_stay_whole() {
    let long = output(150, 1);
    for tool in ["Read", "read_file", "mcp__db__query"] {
        let mut client = Client::new("look around");
        let mut gateway = Gateway::new();
        for _ in 0..4 {
            client.round(tool, &long);
            let body = client.body();
            assert_eq!(gateway.pass(&body).composed.body, body, "{tool}");
        }
    }
}

#[test]
fn a_client_that_cannot_open_files_keeps_its_results() {
    let mut client = Client::new("look around");
    let mut gateway = Gateway::new();
    gateway.local = false;
    for at in 0..4 {
        client.round("Bash", &output(700, at));
        let body = client.body();
        assert_eq!(gateway.pass(&body).composed.body, body);
    }
    assert!(gateway.saved.is_empty());
}
