//! Tests of the search in transcripts.

use super::*;
use crate::discover::discover;
use dormouse_system::{Fault, MemoryFiles, Operation};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;
use std::fmt::Write as _;
use std::io::ErrorKind;

fn search(files: &MemoryFiles, terms: &[&str], limits: &SearchLimits) -> TranscriptSearch {
    let logs = discover(files, "/t".as_ref()).unwrap().logs;
    let query = TermQuery::new(terms);
    search_transcripts(files, &logs, &query, limits, &AtomicBool::new(false))
}

fn snippets(search: &TranscriptSearch) -> Vec<(Said, &str)> {
    search
        .matches
        .iter()
        .map(|found| (found.said, found.snippet.as_str()))
        .collect()
}

fn lines(lines: &[serde_json::Value]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

#[test]
fn every_shape_of_line_is_searched() {
    let files = MemoryFiles::default();
    files.put(
        "/t/s.jsonl",
        lines(&[
            json!({"type": "user", "uuid": "u1", "timestamp": "2026-01-01T00:00:05Z",
                "message": {"role": "user", "content": "Where is the Needle?"}}),
            json!({"type": "user", "uuid": "u2", "timestamp": "2026-01-01T00:00:04Z",
                "message": {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "needle", "content": "a needle in hay"}]}}),
            json!({"timestamp": "2026-01-01T00:00:03Z", "type": "response_item",
                "payload": {"type": "message", "role": "assistant", "id": "m3",
                    "content": [{"type": "output_text", "text": "needle, codex"}]}}),
            json!({"timestamp": "2026-01-01T00:00:02Z", "type": "response_item",
                "payload": {"type": "function_call_output", "call_id": "c", "output": "needle out"}}),
            json!({"type": "message", "id": "p1", "timestamp": "2026-01-01T00:00:01Z",
                "message": {"role": "toolResult", "content": [{"type": "text", "text": "pi needle"}]}}),
            json!({"odd": {"deep": [["an odd needle"]]}, "ts": 1_000}),
            json!({"type": "needle", "uuid": "needle", "cwd": "/needle"}),
        ]),
    );
    let found = search(
        &files,
        &["needle"],
        &SearchLimits {
            per_file: 9,
            ..SearchLimits::default()
        },
    );
    assert_eq!(
        snippets(&found),
        [
            (Said::User, "Where is the Needle?"),
            (Said::Tool, "a needle in hay"),
            (Said::Assistant, "needle, codex"),
            (Said::Tool, "needle out"),
            (Said::Tool, "pi needle"),
            (Said::Other, "an odd needle"),
        ]
    );
    let records: Vec<Option<&str>> = found.matches.iter().map(|m| m.record.as_deref()).collect();
    assert_eq!(
        records,
        [Some("u1"), Some("u2"), Some("m3"), None, Some("p1"), None]
    );
    assert_eq!(found.matches[5].time, Some(Millis(1_000_000)));
    assert_eq!((found.files, found.skipped, found.cancelled), (1, 0, false));
}

fn said(text: &str, second: u32) -> serde_json::Value {
    let at = format!("2026-01-01T00:00:{second:02}Z");
    json!({"type": "user", "timestamp": at, "message": {"role": "user", "content": text}})
}

#[test]
fn more_terms_come_before_newer_lines() {
    let files = MemoryFiles::default();
    files.put(
        "/t/a.jsonl",
        lines(&[said("red fox", 1), said("red red", 9)]),
    );
    files.put(
        "/t/b.jsonl",
        lines(&[said("a red box", 5), said("a blue fox, red", 0)]),
    );
    let found = search(
        &files,
        &["RED", "fox", "blue", "red", " "],
        &SearchLimits::default(),
    );
    assert_eq!(
        found
            .matches
            .iter()
            .map(|m| (m.terms, m.snippet.as_str()))
            .collect::<Vec<_>>(),
        [
            (3, "a blue fox, red"),
            (2, "red fox"),
            (1, "red red"),
            (1, "a red box")
        ]
    );
    let limits = SearchLimits {
        matches: 1,
        least_terms: 2,
        ..SearchLimits::default()
    };
    assert_eq!(search(&files, &["red", "fox"], &limits).matches.len(), 1);
    let one = SearchLimits {
        per_file: 1,
        ..SearchLimits::default()
    };
    assert_eq!(search(&files, &["red"], &one).matches.len(), 2);
    assert_eq!(search(&files, &[], &one).matches.len(), 0);
}

#[test]
fn letters_of_all_scripts_are_found_raw_and_escaped() {
    let files = MemoryFiles::default();
    files.put(
        "/t/a.jsonl",
        "{\"text\":\"Die GRÖSSE und ÄRGER\"}\n{\"text\":\"\\u00c4rger\"}\n{\"text\":\"修复测试\"}\n{\"text\":\"\\u4fee\\u590D x\"}\n",
    );
    let count = |term: &str| {
        search(&files, &[term], &SearchLimits::default())
            .matches
            .len()
    };
    assert_eq!(count("ärger"), 2);
    assert_eq!(count("größe"), 0);
    assert_eq!(count("修复"), 2);
    assert_eq!(count("ä"), 2);
    assert_eq!(count("x"), 1);
}

#[test]
fn a_snippet_shows_where_the_terms_are() {
    let files = MemoryFiles::default();
    let text = format!(
        "alpha {} alpha\n\tbeta  gamma {}",
        "x ".repeat(500),
        "y ".repeat(500)
    );
    files.put("/t/a.jsonl", lines(&[said(&text, 1)]));
    let limits = SearchLimits {
        snippet: 40,
        ..SearchLimits::default()
    };
    let found = search(&files, &["alpha", "beta", "gamma"], &limits);
    assert_eq!(
        found.matches[0].snippet,
        "…x x x alpha beta gamma y y y y y y y y y…"
    );
}

#[test]
fn short_terms_stand_at_the_beginning_of_words() {
    let files = MemoryFiles::default();
    files.put(
        "/t/a.jsonl",
        lines(&[said("forgotten", 1), said("a gotcha", 2), said("x_got", 3)]),
    );
    let found = search(&files, &["got"], &SearchLimits::default());
    assert_eq!(
        snippets(&found),
        [(Said::User, "x_got"), (Said::User, "a gotcha")]
    );
}

#[test]
fn bad_lines_and_files_cost_themselves_alone() {
    let files = MemoryFiles::default();
    files.put(
        "/t/a.jsonl",
        format!(
            "needle {{ no json\n{}{{\"text\": \"needle tor",
            lines(&[said("needle", 1)])
        ),
    );
    let long = lines(&[said(&"needle ".repeat(100), 1), said("needle too", 2)]);
    files.put("/t/b.jsonl", long);
    files.put("/t/c.jsonl", lines(&[said("needle", 1)]));
    files.inject(
        Fault::fail(ErrorKind::PermissionDenied)
            .on(Operation::Open)
            .at("/t/c.jsonl"),
    );
    let limits = SearchLimits {
        line_bytes: 300,
        ..SearchLimits::default()
    };
    let found = search(&files, &["needle"], &limits);
    assert_eq!(
        snippets(&found),
        [(Said::User, "needle too"), (Said::User, "needle")]
    );
    assert_eq!((found.files, found.skipped, found.refused.len()), (2, 3, 1));
    assert!(!found.cancelled);
}

#[test]
fn what_is_told_twice_is_found_once() {
    let files = MemoryFiles::default();
    files.put(
        "/t/a.jsonl",
        lines(&[
            json!({"type": "event_msg", "payload": {"type": "user_message", "message": "needle"}}),
            json!({"type": "response_item", "payload": {"role": "user", "content": "needle"}}),
        ]),
    );
    assert_eq!(
        search(&files, &["needle"], &SearchLimits::default())
            .matches
            .len(),
        1
    );
}

#[test]
fn a_flag_ends_it_and_matches_are_streamed() {
    let files = MemoryFiles::default();
    for name in ["a", "b", "c"] {
        files.put(format!("/t/{name}.jsonl"), lines(&[said("needle", 1)]));
    }
    let logs = discover(&files, "/t".as_ref()).unwrap().logs;
    let query = TermQuery::new(["needle"]);
    let stop = AtomicBool::new(false);
    let limits = SearchLimits {
        threads: 1,
        ..SearchLimits::default()
    };
    let seen = AtomicUsize::new(0);
    let report = stream_transcripts(&files, &logs, &query, &limits, &stop, &|_| {
        seen.fetch_add(1, Memory::Relaxed);
        stop.store(true, Memory::Relaxed);
    });
    assert_eq!(seen.load(Memory::Relaxed), 1);
    assert_eq!((report.files, report.cancelled), (1, true));
}

proptest! {
    #[test]
    fn needles_never_miss(
        texts in prop::collection::vec("[a-cÄäß修\"\\\\\n é]{0,12}", 1..8),
        term in "[a-cäß修é]{1,3}",
        ascii: bool,
    ) {
        let escape = |text: &str| {
            let quoted = serde_json::to_string(text).unwrap();
            if !ascii {
                return quoted;
            }
            let mut out = String::new();
            for letter in quoted.chars() {
                if letter.is_ascii() {
                    out.push(letter);
                } else {
                    let mut units = [0; 2];
                    for unit in letter.encode_utf16(&mut units) {
                        write!(out, "\\u{unit:04X}").unwrap();
                    }
                }
            }
            out
        };
        let files = MemoryFiles::default();
        let mut log = String::new();
        for (at, text) in texts.iter().enumerate() {
            writeln!(log, "{{\"n\":\"{at} \",\"text\":{}}}", escape(text)).unwrap();
        }
        files.put("/t/a.jsonl", &log);
        let limits = SearchLimits { per_file: 99, matches: 99, snippet: 99, ..SearchLimits::default() };
        let query = TermQuery::new([term.as_str()]);
        let expected: std::collections::BTreeSet<String> = texts
            .iter()
            .filter(|text| !snippet::places(text, query.terms()).is_empty())
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let found = search(&files, &[term.as_str()], &limits);
        let found: std::collections::BTreeSet<String> =
            found.matches.into_iter().map(|found| found.snippet).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn the_line_with_every_term_is_shown_however_late_it_stands() {
    let result: Vec<String> = (0..3_000)
        .map(|at| {
            format!(
                "src/part_{at}.rs:{at}: warn: queue route after {} ms",
                at * 7
            )
        })
        .collect();
    let files = MemoryFiles::default();
    let content =
        json!([{"type": "tool_result", "tool_use_id": "a", "content": result.join("\n")}]);
    let said = json!({"type": "user", "message": {"role": "user", "content": content}});
    files.put("/t/s.jsonl", lines(&[said]));
    let terms = ["warn", "queue", "after", "20300", "ms"];
    let found = search(&files, &terms, &SearchLimits::default());
    let [only] = found.matches.as_slice() else {
        panic!("{:?}", found.matches);
    };
    assert!(only.snippet.contains("src/part_2900.rs"), "{only:?}");
}

#[test]
fn long_results_beside_a_log_are_searched_with_it() {
    let files = MemoryFiles::default();
    files.put("/t/s.jsonl", lines(&[json!({"type": "user"})]));
    let text = "first\n000579  artifact-x  crc=cbf3\nlast\n";
    files.put("/t/s/tool-results/a.txt", text);
    let found = search(&files, &["000579", "crc=cbf3"], &SearchLimits::default());
    let [only] = found.matches.as_slice() else {
        panic!("{:?}", found.matches);
    };
    assert_eq!((only.said, only.terms), (Said::Tool, 2));
    assert!(only.snippet.contains("artifact-x") && only.path.ends_with("a.txt"));
}
