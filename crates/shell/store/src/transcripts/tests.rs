//! Tests of the search in transcripts.

use super::*;
use crate::discover::discover;
use dormouse_system::{Fault, MemoryFiles, Operation};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;
use std::fmt::Write as _;
use std::io::ErrorKind;

fn history(files: &MemoryFiles, question: &str, limits: &SearchLimits) -> TranscriptHistory {
    let logs = discover(files, "/t".as_ref()).unwrap().logs;
    read_history(
        files,
        &logs,
        Some(question),
        limits,
        &AtomicBool::new(false),
    )
}

/// All matches, whatever their length.
fn search(files: &MemoryFiles, question: &str) -> Vec<TranscriptMatch> {
    let history = history(files, question, &SearchLimits::default());
    history.find(question, 1_000_000, usize::MAX, |_, _| true)
}

fn said_lines(found: &[TranscriptMatch]) -> Vec<(Said, String)> {
    found
        .iter()
        .map(|found| (found.passage.said, found.lines.join("|")))
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
    let found = search(&files, "needle");
    let mut said = said_lines(&found);
    said.sort();
    let expected = [
        (Said::User, "Where is the Needle?"),
        (Said::Assistant, "needle, codex"),
        (Said::Tool, "a needle in hay"),
        (Said::Tool, "needle out"),
        (Said::Tool, "pi needle"),
        (Said::Other, "an odd needle"),
    ];
    assert_eq!(said, expected.map(|(said, text)| (said, text.to_owned())));
    let mut records: Vec<Option<&str>> = found
        .iter()
        .map(|found| found.passage.record.as_deref())
        .collect();
    records.sort_unstable();
    assert_eq!(
        records,
        [None, None, Some("m3"), Some("p1"), Some("u1"), Some("u2")]
    );
    let odd = found
        .iter()
        .find(|found| found.passage.said == Said::Other)
        .unwrap();
    assert_eq!(odd.passage.time, Some(Millis(1_000_000)));
    let read = history(&files, "needle", &SearchLimits::default());
    assert_eq!((read.files, read.skipped, read.cancelled), (1, 0, false));
}

fn said(text: &str, second: u32) -> serde_json::Value {
    let at = format!("2026-01-01T00:00:{second:02}Z");
    json!({"type": "user", "timestamp": at, "message": {"role": "user", "content": text}})
}

#[test]
fn more_words_come_before_fewer_and_newer_lines_before_older() {
    let files = MemoryFiles::default();
    files.put(
        "/t/a.jsonl",
        lines(&[said("red fox", 1), said("red box", 9)]),
    );
    files.put(
        "/t/b.jsonl",
        lines(&[said("red hat", 5), said("a blue fox, red", 0)]),
    );
    let found = search(&files, "RED fox, blue red?");
    let shown: Vec<(usize, &str)> = found
        .iter()
        .map(|found| (found.words, found.lines[0].as_str()))
        .collect();
    assert_eq!(
        shown,
        [
            (3, "a blue fox, red"),
            (2, "red fox"),
            (1, "red box"),
            (1, "red hat")
        ]
    );
    assert!(search(&files, "").is_empty() && !has_words(" ?! ") && has_words("to be"));
    let history = history(&files, "red fox", &SearchLimits::default());
    assert_eq!(history.words("red fox"), 2);
    // Lines that the caller does not want make room for others.
    let others = history.find("red fox", 40, usize::MAX, |_, line| line != "red fox");
    assert_eq!(others.len(), 1);
}

#[test]
fn letters_of_all_scripts_are_found_raw_and_escaped() {
    let files = MemoryFiles::default();
    files.put(
        "/t/a.jsonl",
        "{\"text\":\"Die GRÖSSE und ÄRGER\"}\n{\"text\":\"\\u00c4rger\"}\n{\"text\":\"修复测试\"}\n{\"text\":\"\\u4fee\\u590D x\"}\n",
    );
    let count = |question: &str| search(&files, question).len();
    assert_eq!(count("ärger"), 2);
    assert_eq!(count("größe"), 0);
    assert_eq!(count("修复"), 2);
    assert_eq!(count("x"), 1);
}

#[test]
fn the_lines_that_matter_are_shown_in_their_order() {
    let files = MemoryFiles::default();
    let text = format!(
        "alpha first\n{}\n\tbeta  gamma\n{}",
        "x x\n".repeat(500),
        "y ".repeat(500)
    );
    files.put("/t/a.jsonl", lines(&[said(&text, 1)]));
    let history = history(&files, "alpha beta gamma", &SearchLimits::default());
    let found = history.find("alpha beta gamma", 80, 2, |_, _| true);
    assert_eq!(
        said_lines(&found),
        [(Said::User, "alpha first|beta  gamma".to_owned())]
    );
    assert_eq!(found[0].words, 3);
}

#[test]
fn forms_of_a_word_are_found_and_parts_where_no_text_has_it() {
    let files = MemoryFiles::default();
    files.put(
        "/t/a.jsonl",
        lines(&[said("it was happiness", 1), said("readHTTPHeader2", 2)]),
    );
    for (question, count) in [("happy", 1), ("header", 1), ("eader", 1), ("pin", 0)] {
        assert_eq!(search(&files, question).len(), count, "{question}");
    }
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
    let read = history(&files, "needle", &limits);
    let found = read.find("needle", 1_000, usize::MAX, |_, _| true);
    let mut said = said_lines(&found);
    said.sort();
    let expected = ["needle", "needle too"].map(|text| (Said::User, text.to_owned()));
    assert_eq!(said, expected);
    assert_eq!((read.files, read.skipped, read.refused.len()), (2, 3, 1));
    assert!(!read.cancelled);
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
    assert_eq!(search(&files, "needle").len(), 1);
}

#[test]
fn a_flag_ends_the_reading() {
    let files = MemoryFiles::default();
    for name in ["a", "b", "c"] {
        files.put(format!("/t/{name}.jsonl"), lines(&[said("needle", 1)]));
    }
    let logs = discover(&files, "/t".as_ref()).unwrap().logs;
    let limits = SearchLimits::default();
    let stop = AtomicBool::new(true);
    let read = read_history(&files, &logs, Some("needle"), &limits, &stop);
    assert_eq!((read.files, read.cancelled), (0, true));
    assert!(read.find("needle", 1_000, 1, |_, _| true).is_empty());
}

proptest! {
    /// The prefilter changes no answer: a history that knows its question finds what one that was
    /// read whole finds.
    #[test]
    fn needles_never_miss(
        texts in prop::collection::vec("[a-cÄäß修\"\\\\\n é]{0,12}", 1..8),
        question in "[a-cäßé]{2,4}( [a-c]{2,3})?|修[复é测]",
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
        for text in &texts {
            writeln!(log, "{{\"text\":{}}}", escape(text)).unwrap();
        }
        files.put("/t/a.jsonl", &log);
        let logs = discover(&files, "/t".as_ref()).unwrap().logs;
        let found = |known: Option<&str>| {
            let limits = SearchLimits::default();
            let read = read_history(&files, &logs, known, &limits, &AtomicBool::new(false));
            let mut found = said_lines(&read.find(&question, 10_000, usize::MAX, |_, _| true));
            found.sort();
            found
        };
        prop_assert_eq!(found(Some(&question)), found(None));
    }
}

#[test]
fn the_line_with_every_word_is_shown_however_late_it_stands() {
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
    let question = "warn queue after 20300 ms";
    let read = history(&files, question, &SearchLimits::default());
    let found = read.find(question, 200, usize::MAX, |_, _| true);
    let shown = said_lines(&found);
    assert!(shown[0].1.contains("src/part_2900.rs"), "{shown:?}");
}

#[test]
fn a_result_is_found_by_the_words_of_its_call() {
    let files = MemoryFiles::default();
    let mut log = Vec::new();
    for name in ["theme", "queue", "relay"] {
        let path = format!("/p/src/{name}.ts");
        let saved = format!("saved to /t/s/tool-results/{name}.txt");
        let call = json!([{"type": "tool_use", "id": name, "name": "Read",
            "input": {"file_path": path}}]);
        let result = json!([{"type": "tool_result", "tool_use_id": name, "content": saved}]);
        log.push(json!({"type": "assistant", "message": {"role": "assistant", "content": call}}));
        log.push(said("meanwhile", 3));
        log.push(json!({"type": "user", "message": {"role": "user", "content": result}}));
        let text = format!("export function {name}Start() {{\n  return 1;\n}}");
        files.put(format!("/t/s/tool-results/{name}.txt"), text);
    }
    files.put("/t/s.jsonl", lines(&log));
    for known in [Some("function in queue.ts"), None] {
        let logs = discover(&files, "/t".as_ref()).unwrap().logs;
        let limits = SearchLimits::default();
        let read = read_history(&files, &logs, known, &limits, &AtomicBool::new(false));
        let found = read.find("function in queue.ts", 120, 1, |passage, _| {
            passage.path.ends_with("queue.txt") || passage.path.ends_with("theme.txt")
        });
        assert!(found[0].lines[0].contains("queueStart"), "{found:?}");
    }
}

#[test]
fn long_results_beside_a_log_are_searched_with_it() {
    let files = MemoryFiles::default();
    files.put("/t/s.jsonl", lines(&[json!({"type": "user"})]));
    let text = format!(
        "{}000579  artifact-x  crc=cbf3\nlast\n",
        "first\n".repeat(400)
    );
    files.put("/t/s/tool-results/a.txt", text);
    let found = search(&files, "000579 crc=cbf3");
    let first = &found[0];
    assert_eq!((first.passage.said, first.words), (Said::Tool, 5));
    assert!(
        first
            .lines
            .contains(&"000579  artifact-x  crc=cbf3".to_owned())
    );
    assert!(first.passage.path.ends_with("a.txt"));
    assert!(first.passage.offset > 1_000, "{first:?}");
}
