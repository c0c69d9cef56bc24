//! Usage scans and summaries of sessions.

use crate::kit::{LOG, log};
use dormouse_core::models::ModelTable;
use dormouse_core::units::Tokens;
use dormouse_core::usage_book::{UsageBook, UsageTotals};
use dormouse_store::{scan_usage, summarise};
use dormouse_system::MemorySystem;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn put(lines: &[Value]) -> MemorySystem {
    let memory = MemorySystem::new();
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    memory.files.put(LOG, text.join("\n"));
    memory
}

fn totals(lines: &[Value]) -> UsageTotals {
    let mut book = UsageBook::new();
    scan_usage(&log(&put(lines), LOG), &mut book).unwrap();
    book.totals(ModelTable::builtin())
}

fn answer(id: &Value, model: &str, input: u64, output: u64) -> Value {
    let usage = json!({ "input_tokens": input, "output_tokens": output });
    json!({ "type": "assistant", "uuid": format!("u{input}-{output}"), "message": { "id": id, "model": model, "usage": usage } })
}

#[test]
fn a_response_counts_once_and_its_last_line_stands() {
    let totals = totals(&[
        answer(&json!("m1"), "claude-sonnet-4-5", 10, 1),
        answer(&json!("m2"), "claude-sonnet-4-5", 5, 5),
        answer(&json!("m1"), "claude-sonnet-4-5", 10, 300),
        answer(&json!("m3"), "<synthetic>", 0, 0),
    ]);
    assert_eq!((totals.all.responses, totals.synthetic), (2, 1));
    let usage = totals.all.usage;
    assert_eq!((usage.input, usage.output), (Tokens(15), Tokens(305)));
}

#[test]
fn without_a_message_id_the_request_or_the_record_is_the_response() {
    let mut first = answer(&Value::Null, "m", 1, 1);
    let mut second = answer(&Value::Null, "m", 2, 2);
    first["requestId"] = "req".into();
    second["requestId"] = "req".into();
    let lone = answer(&Value::Null, "m", 4, 4);
    let mut nameless = answer(&Value::Null, "m", 8, 8);
    nameless.as_object_mut().unwrap().remove("uuid");
    let totals = totals(&[
        first,
        second,
        lone.clone(),
        lone,
        nameless.clone(),
        nameless,
    ]);
    assert_eq!(
        (totals.all.responses, totals.all.usage.input),
        (4, Tokens(2 + 4 + 8 + 8))
    );
}

#[test]
fn figures_that_lie_deeper_do_not_count() {
    let nested = answer(&json!("m9"), "m", 100, 100);
    let mut in_result = json!({ "type": "user", "message": { "role": "user", "content": "x" } });
    in_result["toolUseResult"] = nested["message"].clone();
    let mut in_content = answer(&json!("m1"), "m", 1, 1);
    in_content["message"]["content"] =
        json!([{ "type": "tool_use", "input": { "usage": { "input_tokens": 50 } } }]);
    let progress = json!({ "type": "progress", "data": { "message": nested } });
    let odd = json!({ "type": "assistant", "message": "usage", "usage": {} });
    let text = json!({ "type": "assistant", "message": { "usage": "none", "id": "m7" } });
    let totals = totals(&[in_result, in_content, progress, odd, text]);
    assert_eq!(
        (totals.all.responses, totals.all.usage.input),
        (1, Tokens(1))
    );
}

#[test]
fn our_own_usage_records_and_messages_are_one_response() {
    let report = |message: Value, input: u64| {
        let zero = 0;
        json!({ "type": "dormouse", "subtype": "usage", "uuid": format!("r{input}"), "version": "dormouse/1",
            "dormouse": { "message": message, "model": "m", "usage": {
                "input": input, "cache_read": zero, "cache_write_5m": zero, "cache_write_1h": zero, "output": zero } } })
    };
    let mut nameless = answer(&Value::Null, "m", 7, 0);
    nameless["version"] = "dormouse/1".into();
    let totals = totals(&[
        answer(&json!("m1"), "m", 1, 0),
        report(json!("m1"), 3),
        nameless,
        report(Value::Null, 7),
    ]);
    assert_eq!(
        (totals.all.responses, totals.all.usage.input),
        (2, Tokens(10))
    );
}

#[test]
fn several_files_share_one_book() {
    let memory = put(&[answer(&json!("m1"), "m", 1, 1)]);
    memory
        .files
        .put("/other", answer(&json!("m1"), "m", 1, 9).to_string());
    let mut book = UsageBook::new();
    scan_usage(&log(&memory, LOG), &mut book).unwrap();
    scan_usage(&log(&memory, "/other"), &mut book).unwrap();
    let all = book.totals(ModelTable::builtin()).all;
    assert_eq!((all.responses, all.usage.output), (1, Tokens(9)));
}

#[test]
fn a_summary_says_what_the_session_is_about() {
    let at = |second: u32| format!("2026-02-12T14:11:{second:02}.000Z");
    let user = |content: Value, second: u32| {
        json!({ "type": "user", "sessionId": "sess", "cwd": "/p", "gitBranch": "main", "version": "2.1", "timestamp": at(second),
            "message": { "role": "user", "content": content } })
    };
    let mut meta = user(json!("caveat"), 1);
    meta["isMeta"] = true.into();
    let mut side = user(json!("side"), 2);
    side["isSidechain"] = true.into();
    let mut lines = vec![
        meta,
        side,
        user(json!([{ "type": "text", "text": "Fix\nthe   bug" }]), 5),
        answer(&json!("m1"), "opus", 1, 1),
        answer(&json!("m1"), "opus", 1, 2),
        user(
            json!([{ "type": "tool_result", "tool_use_id": "t", "content": "r" }]),
            7,
        ),
        user(
            json!([{ "type": "text", "text": "a" }, { "type": "tool_result", "tool_use_id": "t" }]),
            7,
        ),
        json!({ "type": "system", "subtype": "compact_boundary", "uuid": "b", "compactMetadata": { "trigger": "manual", "preTokens": 9 } }),
        user(json!("more"), 9),
    ];
    let summary = summarise(&log(&put(&lines), LOG)).unwrap();
    assert_eq!(summary.title.as_deref(), Some("Fix the bug"));
    assert_eq!(summary.session.unwrap().as_str(), "sess");
    assert_eq!((summary.human_messages, summary.assistant_messages), (2, 1));
    assert_eq!((summary.side_chain_lines, summary.lines), (1, 9));
    assert_eq!(summary.first.unwrap().to_string(), at(1));
    assert_eq!(summary.last.unwrap().to_string(), at(9));
    assert_eq!(summary.boundaries[0].pre_tokens, Some(Tokens(9)));
    assert_eq!(summary.boundaries[0].trigger.as_deref(), Some("manual"));
    assert_eq!(
        summary.models.into_iter().collect::<Vec<_>>(),
        [("opus".to_owned(), 1)]
    );
    let titles = [
        json!({ "type": "summary", "summary": "from a summary" }),
        json!({ "type": "ai-title", "aiTitle": "found by a model" }),
        json!({ "type": "custom-title", "customTitle": "chosen" }),
    ];
    for (line, expected) in titles
        .into_iter()
        .zip(["from a summary", "found by a model", "chosen"])
    {
        lines.insert(0, line);
        let summary = summarise(&log(&put(&lines), LOG)).unwrap();
        assert_eq!(summary.title.as_deref(), Some(expected));
    }
}
