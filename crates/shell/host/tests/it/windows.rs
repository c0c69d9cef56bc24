//! The window that a log proves: generated logs, and the window each of them was written under.
//!
//! The expectations were written before the rules. Half of the cases, those marked
//! [`Half::Unseen`], were not looked at while the rules were made.

use crate::kit::Kit;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const FILE: &str = "project/session.jsonl";

/// Listed with a window of 200,000 tokens; a million is offered under a beta header.
const SMALL: &str = "claude-sonnet-4-5-20250929";
/// Listed with a window of a million tokens.
const LARGE: &str = "claude-opus-4-6";
/// Listed with a window of 200,000 tokens, and no other offered.
const LITTLE: &str = "claude-haiku-4-5-20251001";
/// Not in the table.
const UNLISTED: &str = "qwen-house-blend";

/// One thing that happens in a session.
#[derive(Clone, Copy)]
enum Event {
    /// A request of so many tokens, answered by the model.
    Answered(&'static str, u64),
    /// A request of so many tokens that a sub-agent made beside the conversation.
    Beside(&'static str, u64),
    /// A compaction that began by itself, with the prompt's length before it.
    Automatic(u64),
    /// A compaction that the user asked for.
    Manual(u64),
}
use Event::{Answered, Automatic, Beside, Manual};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    Tuning,
    Unseen,
}
use Half::{Tuning, Unseen};

struct Case {
    name: &'static str,
    half: Half,
    log: Vec<String>,
    flags: &'static [&'static str],
    expected: u64,
}

fn case(name: &'static str, half: Half, log: Vec<String>, expected: u64) -> Case {
    Case {
        name,
        half,
        log,
        flags: &[],
        expected,
    }
}

/// A transcript of Claude Code's.
fn claude(events: &[Event]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut parent = Value::Null;
    let mut add = |value: Value| {
        let at = lines.len();
        let mut value = value;
        let id = format!("u{at}");
        value["uuid"] = json!(id);
        value["sessionId"] = json!("s");
        value["timestamp"] = json!(format!("2026-01-01T10:{:02}:{:02}Z", at / 60, at % 60));
        if value["isSidechain"] == json!(true) {
            value["parentUuid"] = Value::Null;
        } else {
            value["parentUuid"] = parent.clone();
            parent = json!(id);
        }
        lines.push(value.to_string());
    };
    for (at, event) in events.iter().enumerate() {
        match event {
            Answered(model, tokens) | Beside(model, tokens) => {
                let side = matches!(event, Beside(..));
                add(json!({
                    "type": "user",
                    "isSidechain": side,
                    "message": {"role": "user", "content": format!("go on {at}")},
                }));
                add(json!({
                    "type": "assistant",
                    "isSidechain": side,
                    "message": {
                        "role": "assistant",
                        "id": format!("msg_{at}"),
                        "model": model,
                        "content": [{"type": "text", "text": "done"}],
                        "usage": {
                            "input_tokens": 10,
                            "cache_read_input_tokens": tokens - 10,
                            "output_tokens": 50,
                        },
                    },
                }));
            }
            Automatic(before) | Manual(before) => {
                let trigger = if matches!(event, Automatic(_)) {
                    "auto"
                } else {
                    "manual"
                };
                add(json!({
                    "type": "system",
                    "subtype": "compact_boundary",
                    "compactMetadata": {"trigger": trigger, "preTokens": before},
                }));
                add(json!({
                    "type": "user",
                    "isCompactSummary": true,
                    "message": {"role": "user", "content": "Summary: all is well."},
                }));
            }
        }
    }
    lines
}

/// A rollout of Codex, which names the window with every count; 0 is no window.
fn codex(turns: &[(&str, u64, u64)]) -> Vec<String> {
    let at = "2026-01-01T10:00:00Z";
    let line = |kind: &str, payload: Value| {
        json!({"timestamp": at, "type": kind, "payload": payload}).to_string()
    };
    let mut lines = vec![line(
        "session_meta",
        json!({"id": "c", "cwd": "/app", "timestamp": at}),
    )];
    let mut total = 0;
    for (model, tokens, window) in turns {
        total += tokens;
        let said = |role: &str, kind: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": format!("{role} {total}")}]});
        lines.push(line("turn_context", json!({"model": model, "cwd": "/app"})));
        lines.push(line("response_item", said("user", "input_text")));
        lines.push(line("response_item", said("assistant", "output_text")));
        let count = |tokens: u64| json!({"input_tokens": tokens, "cached_input_tokens": 0, "output_tokens": 5, "total_tokens": tokens + 5});
        let mut info =
            json!({"total_token_usage": count(total), "last_token_usage": count(*tokens)});
        info["model_context_window"] = json!(window);
        lines.push(line(
            "event_msg",
            json!({"type": "token_count", "info": info}),
        ));
    }
    lines
}

#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn cases() -> Vec<Case> {
    vec![
        case(
            "a prompt longer than the table's window was answered",
            Tuning,
            claude(&[Answered(SMALL, 30_000), Answered(SMALL, 535_000)]),
            1_000_000,
        ),
        case(
            "the long prompt lies before a manual compaction",
            Tuning,
            claude(&[
                Answered(SMALL, 535_000),
                Manual(536_000),
                Answered(SMALL, 40_000),
            ]),
            1_000_000,
        ),
        case(
            "the long prompt lies before two manual compactions",
            Unseen,
            claude(&[
                Answered(SMALL, 535_000),
                Manual(536_000),
                Answered(SMALL, 90_000),
                Manual(91_000),
                Answered(SMALL, 40_000),
            ]),
            1_000_000,
        ),
        case(
            "an automatic compaction at 167k of a model listed with a million",
            Tuning,
            claude(&[
                Answered(LARGE, 166_500),
                Automatic(167_094),
                Answered(LARGE, 40_000),
            ]),
            200_000,
        ),
        case(
            "an automatic compaction after a large result, above the window",
            Unseen,
            claude(&[
                Answered(LARGE, 165_000),
                Automatic(206_000),
                Answered(LARGE, 41_000),
            ]),
            200_000,
        ),
        case(
            "an automatic compaction at 967k",
            Tuning,
            claude(&[
                Answered(SMALL, 960_000),
                Automatic(967_300),
                Answered(SMALL, 41_000),
            ]),
            1_000_000,
        ),
        case(
            "a compaction that a percentage brought forward",
            Unseen,
            claude(&[
                Answered(LARGE, 89_000),
                Automatic(90_500),
                Answered(LARGE, 41_000),
            ]),
            200_000,
        ),
        case(
            "only a manual compaction: it proves no limit",
            Tuning,
            claude(&[
                Answered(LARGE, 166_500),
                Manual(167_000),
                Answered(LARGE, 40_000),
            ]),
            1_000_000,
        ),
        case(
            "a manual compaction of a small window proves nothing else",
            Unseen,
            claude(&[
                Answered(SMALL, 120_000),
                Manual(121_000),
                Answered(SMALL, 40_000),
            ]),
            200_000,
        ),
        case(
            "the model was switched behind the long prompt",
            Tuning,
            claude(&[Answered(LARGE, 535_000), Answered(LITTLE, 60_000)]),
            200_000,
        ),
        case(
            "the model was switched at a compaction",
            Unseen,
            claude(&[
                Answered(LARGE, 535_000),
                Manual(536_000),
                Answered(LITTLE, 60_000),
            ]),
            200_000,
        ),
        case(
            "a resumed session with another model, which compacted before",
            Tuning,
            claude(&[
                Answered(LITTLE, 166_000),
                Automatic(167_000),
                Answered(LARGE, 60_000),
            ]),
            1_000_000,
        ),
        case(
            "the model was switched there and back",
            Unseen,
            claude(&[
                Answered(SMALL, 300_000),
                Answered(LITTLE, 60_000),
                Answered(SMALL, 61_000),
            ]),
            1_000_000,
        ),
        case(
            "a dated and an undated name are one model",
            Unseen,
            claude(&[
                Answered("claude-sonnet-4-5", 300_000),
                Answered(SMALL, 61_000),
            ]),
            1_000_000,
        ),
        case(
            "contradiction: first long, later compacted early",
            Tuning,
            claude(&[
                Answered(SMALL, 535_000),
                Manual(536_000),
                Answered(SMALL, 166_000),
                Automatic(167_000),
                Answered(SMALL, 30_000),
            ]),
            200_000,
        ),
        case(
            "contradiction: first compacted early, later long",
            Unseen,
            claude(&[
                Answered(LARGE, 166_000),
                Automatic(167_000),
                Answered(LARGE, 30_000),
                Answered(LARGE, 410_000),
            ]),
            1_000_000,
        ),
        case(
            "a sub-agent's prompt is none of the conversation",
            Unseen,
            claude(&[
                Answered(SMALL, 30_000),
                Beside(SMALL, 400_000),
                Answered(SMALL, 31_000),
            ]),
            200_000,
        ),
        case(
            "the suffix of a model that the log names",
            Tuning,
            claude(&[Answered("claude-sonnet-4-5[1m]", 30_000)]),
            1_000_000,
        ),
        case(
            "the suffix against an automatic compaction at 167k",
            Unseen,
            claude(&[
                Answered("claude-sonnet-4-5[1m]", 166_000),
                Automatic(167_000),
                Answered("claude-sonnet-4-5[1m]", 30_000),
            ]),
            200_000,
        ),
        case(
            "a model that the table does not list",
            Tuning,
            claude(&[Answered(UNLISTED, 30_000)]),
            200_000,
        ),
        case(
            "an unlisted model that took a long prompt",
            Unseen,
            claude(&[Answered(UNLISTED, 230_000)]),
            256_000,
        ),
        case(
            "Codex names the window",
            Tuning,
            codex(&[("gpt-5.1-codex", 20_000, 258_400)]),
            258_400,
        ),
        case(
            "Codex names another window after a switch",
            Unseen,
            codex(&[
                ("gpt-5.1-codex", 20_000, 258_400),
                ("gpt-5.1-mini", 20_000, 121_600),
            ]),
            121_600,
        ),
        case(
            "Codex names no window",
            Tuning,
            codex(&[("gpt-5.1-codex", 20_000, 0)]),
            200_000,
        ),
        case(
            "Codex names a window and a longer prompt was answered",
            Unseen,
            codex(&[("gpt-5.1-codex", 270_000, 258_400)]),
            400_000,
        ),
        Case {
            flags: &["context.window=300000"],
            ..case(
                "the setting comes before the table",
                Tuning,
                claude(&[Answered(LARGE, 30_000)]),
                300_000,
            )
        },
        Case {
            flags: &["context.window=300000"],
            ..case(
                "the setting comes before what the log proves",
                Unseen,
                claude(&[Answered(SMALL, 535_000)]),
                300_000,
            )
        },
        Case {
            flags: &["context.window=300000"],
            ..case(
                "the setting comes before the window that Codex names",
                Unseen,
                codex(&[("gpt-5.1-codex", 20_000, 258_400)]),
                300_000,
            )
        },
    ]
}

fn found(case: &Case) -> u64 {
    let kit = Kit::new();
    kit.put(FILE, &(case.log.join("\n") + "\n"), 1);
    let flags = case.flags.iter().map(ToString::to_string).collect();
    let host = dormouse_host::Host::open(&kit.system(), flags).unwrap();
    let transcript = host.transcripts().live(&kit.path(FILE)).unwrap();
    host.window(&transcript).window.get()
}

/// Cases of a half that come out as expected, and all of them.
fn score(half: Half) -> (usize, usize, Vec<String>) {
    let cases: Vec<Case> = cases()
        .into_iter()
        .filter(|case| case.half == half)
        .collect();
    let mut wrong = Vec::new();
    for case in &cases {
        let found = found(case);
        if found != case.expected {
            wrong.push(format!("{}: {found} for {}", case.name, case.expected));
        }
    }
    (cases.len() - wrong.len(), cases.len(), wrong)
}

#[test]
fn the_window_is_the_one_that_the_log_was_written_under() {
    for half in [Tuning, Unseen] {
        let (right, of, wrong) = score(half);
        assert_eq!(right, of, "{wrong:#?}");
    }
}
