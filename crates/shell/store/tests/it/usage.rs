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
fn a_response_counts_once_with_its_largest_figures() {
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

fn of_files(contents: &[&[Value]]) -> UsageTotals {
    let mut book = UsageBook::new();
    for lines in contents {
        scan_usage(&log(&put(lines), LOG), &mut book).unwrap();
    }
    book.totals(ModelTable::builtin())
}

/// Requests, input, cache reads, output.
fn figures(totals: &UsageTotals) -> [u64; 4] {
    let usage = totals.all.usage;
    [
        totals.all.responses,
        usage.input.get(),
        usage.cache_read.get(),
        usage.output.get(),
    ]
}

fn codex_header(id: &str) -> Value {
    json!({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta",
        "payload": {"id": id, "cwd": "/p"}})
}

fn codex_words(text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text}]);
    json!({"timestamp": "2026-01-01T00:00:01Z", "type": "response_item",
        "payload": {"type": "message", "role": "assistant", "content": content}})
}

/// A `token_count` event: totals and last figures as input, cached input, output.
fn codex_count(at: &str, total: [u64; 3], last: [u64; 3]) -> Value {
    let usage = |[input, cached, output]: [u64; 3]| json!({"input_tokens": input, "cached_input_tokens": cached, "output_tokens": output});
    let info = json!({"total_token_usage": usage(total), "last_token_usage": usage(last)});
    json!({"timestamp": at, "type": "event_msg",
        "payload": {"type": "token_count", "info": info}})
}

#[test]
fn codex_reports_totals_again_and_again_and_each_response_counts_once() {
    let lines = [
        codex_header("one"),
        codex_words("first"),
        codex_count("2026-01-01T00:00:02Z", [100, 40, 10], [100, 40, 10]),
        codex_count("2026-01-01T00:00:03Z", [100, 40, 10], [100, 40, 10]),
        codex_words("second"),
        codex_count("2026-01-01T00:00:04Z", [250, 120, 30], [150, 80, 20]),
    ];
    assert_eq!(figures(&of_files(&[&lines])), [2, 130, 120, 30]);
    // The report of the first response is lost: the totals still hold it from the second on.
    let mut lost = lines.to_vec();
    lost.push(codex_words("third"));
    lost.push(codex_count(
        "2026-01-01T00:00:06Z",
        [700, 320, 90],
        [200, 100, 25],
    ));
    assert_eq!(figures(&of_files(&[&lost])), [3, 380, 320, 90]);
}

#[test]
fn a_codex_fork_repeats_its_parent_under_new_times_and_counts_only_its_own() {
    let parent = [
        codex_header("one"),
        codex_words("first"),
        codex_count("2026-01-01T00:00:02Z", [100, 40, 10], [100, 40, 10]),
    ];
    let fork = [
        codex_header("two"),
        codex_words("first"),
        codex_count("2026-02-02T00:00:00Z", [100, 40, 10], [100, 40, 10]),
        codex_words("other"),
        codex_count("2026-02-02T00:00:05Z", [180, 100, 15], [80, 60, 5]),
    ];
    assert_eq!(figures(&of_files(&[&parent])), [1, 60, 40, 10]);
    assert_eq!(figures(&of_files(&[&parent, &fork])), [2, 80, 100, 15]);
    // A fork without the history has its parent's totals from the start; they are not its own.
    let bare = [
        codex_header("three"),
        codex_count("2026-02-02T00:00:00Z", [100, 40, 10], [0, 0, 0]),
        codex_words("new"),
        codex_count("2026-02-02T00:00:05Z", [160, 90, 12], [60, 50, 2]),
    ];
    assert_eq!(figures(&of_files(&[&bare])), [1, 10, 50, 2]);
    // Two sessions of their own with the same figures are two.
    let stranger = [
        codex_header("four"),
        codex_words("something else"),
        codex_count("2026-01-01T00:00:02Z", [100, 40, 10], [100, 40, 10]),
    ];
    assert_eq!(figures(&of_files(&[&parent, &stranger])), [2, 120, 80, 20]);
}

#[test]
fn pi_sessions_count_each_response_once_across_branches_that_became_files() {
    let header = |id: &str| json!({"type": "session", "id": id, "timestamp": "2026-01-01T00:00:00Z", "cwd": "/p"});
    let answer = |id: &str, at: &str, output: u64| {
        let usage = json!({"input": 10, "output": output, "cacheRead": 5, "cacheWrite": 2});
        json!({"type": "message", "id": id, "parentId": null, "timestamp": at, "message": {
            "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage,
            "content": [{"type": "text", "text": "x"}]}})
    };
    let first = [
        header("a"),
        answer("e1", "2026-01-01T00:00:01Z", 7),
        answer("e2", "2026-01-01T00:00:02Z", 8),
    ];
    let branch = [
        header("b"),
        answer("e1", "2026-01-01T00:00:01Z", 7),
        answer("e3", "2026-01-01T00:00:09Z", 9),
    ];
    assert_eq!(figures(&of_files(&[&first])), [2, 20, 10, 15]);
    let both = of_files(&[&first, &branch]);
    assert_eq!(figures(&both), [3, 30, 15, 24]);
    assert!(both.all.cost > dormouse_core::usage::Usd::ZERO);
}

#[test]
fn real_sessions_of_codex_and_pi_have_the_figures_counted_by_hand() {
    let Some(root) = dormouse_testkit::material::material("transcripts") else {
        return;
    };
    let pi = "pi-mono-mit/packages/coding-agent/test/fixtures";
    let codex = "agent-sessions-mit/Resources/Fixtures";
    for (file, expected) in [
        (
            format!("{pi}/large-session.jsonl"),
            [439, 1_049, 43_229_469, 83_156],
        ),
        (
            format!("{pi}/before-compaction.jsonl"),
            [471, 3_689, 54_693_675, 187_895],
        ),
        (
            format!("{codex}/codex_051_usage.jsonl"),
            [2, 2_460, 1_800, 2_430],
        ),
        (
            format!("{codex}/codex_053_rate_limit.jsonl"),
            [1, 1_211, 10_880, 182],
        ),
    ] {
        let path = root.join(&file);
        let log = dormouse_store::LogFile::open(&dormouse_system::RealFiles, &path).unwrap();
        let mut book = UsageBook::new();
        scan_usage(&log, &mut book).unwrap();
        assert_eq!(
            figures(&book.totals(ModelTable::builtin())),
            expected,
            "{file}"
        );
    }
}

#[test]
fn slash_commands_are_titles_as_they_were_typed() {
    let user = |text: &str| json!({"type": "user", "uuid": text, "message": {"role": "user", "content": text}});
    let command = |name: &str, arguments: &str| {
        user(&format!(
            "<command-name>{name}</command-name>\n<command-message>x</command-message>\n<command-args>{arguments}</command-args>"
        ))
    };
    let title = |lines: &[Value]| summarise(&log(&put(lines), LOG)).unwrap().title;
    let said = |text: &str| Some(text.to_owned());
    assert_eq!(title(&[command("/fix", "the hive")]), said("/fix the hive"));
    assert_eq!(
        title(&[command("/clear", ""), user("count the bees")]),
        said("count the bees")
    );
    assert_eq!(title(&[command("/clear", "")]), said("/clear"));
}
