//! Resuming: which record it starts from, and what it brings along.

use crate::kit::{
    LOG, boundary, branch, carrier, checkpoint, ids, kept, log, open, open_at, push, range, resume,
    says, session,
};
use dormouse_core::block::Block;
use dormouse_core::record::{Body, FORMAT, KeptRange, Lineage, Manifest, Message, SessionStart};
use dormouse_store::Trouble;
use dormouse_system::MemorySystem;
use pretty_assertions::assert_eq;
use serde_json::json;

/// A log with records a1..a4, a boundary that keeps a2..a3, and two more.
fn compacted(hint: impl Fn(&mut KeptRange)) -> MemorySystem {
    let memory = MemorySystem::new();
    let mut writer = open(&memory).unwrap();
    push(&mut writer, "s", session());
    push(&mut writer, "a1", says(&"long ".repeat(40_000)));
    let first = push(&mut writer, "a2", says("two"));
    let last = push(&mut writer, "a3", says("three"));
    push(&mut writer, "a4", says(&"long ".repeat(40_000)));
    let mut range = range(&first, &last);
    hint(&mut range);
    push(&mut writer, "b", boundary(vec![range]));
    push(&mut writer, "c1", says("later"));
    push(&mut writer, "c2", says("latest"));
    memory
}

#[test]
fn a_resume_gives_the_carrier_what_it_keeps_and_the_tail() {
    let memory = compacted(|_| {});
    let resumed = resume(&memory);
    assert_eq!(carrier(&resumed), Some("b"));
    assert_eq!(kept(&resumed), [(None, "a2"), (None, "a3")]);
    assert_eq!(ids(&resumed.tail), ["c1", "c2"]);
    assert!(resumed.issues.is_empty());
    let whole = log(&memory, LOG).read_all().unwrap().records;
    assert_eq!(resumed.carrier.as_ref(), Some(&whole[5]));
    assert_eq!(resumed.tail, whole[6..]);
}

#[test]
fn every_range_of_a_manifest_is_read() {
    let memory = MemorySystem::new();
    let mut parent = open_at(&memory, "/home/projects/p/parent.jsonl", "parent").unwrap();
    push(&mut parent, "ps", session());
    let before = push(&mut parent, "p1", says("from the parent"));
    let mut writer = open(&memory).unwrap();
    push(&mut writer, "s", session());
    let records: Vec<_> = (1..=7)
        .map(|n| push(&mut writer, &format!("a{n}"), says(&n.to_string())))
        .collect();
    let mut of_parent = range(&before, &before);
    of_parent.session = Some("parent".into());
    let ranges = vec![
        range(&records[0], &records[0]),
        of_parent,
        range(&records[2], &records[3]),
        range(&records[5], &records[6]),
    ];
    push(&mut writer, "cp", checkpoint(ranges));
    let resumed = log(&memory, LOG)
        .resume(&|session| Some(log(&memory, &format!("/home/projects/p/{session}.jsonl"))))
        .unwrap();
    let expected = [
        (None, "a1"),
        (Some("parent"), "p1"),
        (None, "a3"),
        (None, "a4"),
        (None, "a6"),
        (None, "a7"),
    ];
    assert_eq!(kept(&resumed), expected);
    assert!(resumed.issues.is_empty());
}

#[test]
fn a_wrong_hint_is_noticed_and_the_records_are_found_by_number_or_id() {
    let wrong: [&dyn Fn(&mut KeptRange); 5] = [
        &|range| range.offset += 1,
        &|range| range.offset = 0,
        &|range| range.offset = u64::MAX / 2,
        &|range| (range.offset, range.last_offset) = (7, 3),
        // Neither place nor number is right: the id is.
        &|range| (range.offset, range.first) = (1, dormouse_core::id::Seq::new(90)),
    ];
    for hint in wrong {
        let resumed = resume(&compacted(hint));
        assert_eq!(kept(&resumed), [(None, "a2"), (None, "a3")]);
        assert!(resumed.issues.is_empty());
    }
    let resumed = resume(&compacted(|range| range.first_id = "nobody".into()));
    assert_eq!(kept(&resumed), []);
    assert!(matches!(
        resumed.issues.list()[0].what,
        Trouble::RangeNotFound { .. }
    ));
}

#[test]
fn a_manifest_on_another_branch_is_passed_by() {
    let memory = MemorySystem::new();
    let mut writer = open(&memory).unwrap();
    push(&mut writer, "s", session());
    push(&mut writer, "a", says("a"));
    push(&mut writer, "c1", checkpoint(Vec::new()));
    push(&mut writer, "b", says("b"));
    push(&mut writer, "c2", checkpoint(Vec::new()));
    push(&mut writer, "dead end", says("x"));
    branch(&mut writer, "d", "b", says("d"));
    let resumed = resume(&memory);
    assert_eq!(carrier(&resumed), Some("c1"));
    assert_eq!(ids(&resumed.tail), ["b", "c2", "dead end", "d"]);
    branch(&mut writer, "e", "a", says("e"));
    let resumed = resume(&memory);
    assert_eq!(carrier(&resumed), None, "no manifest lies on this path");
    assert_eq!(resumed.tail.len(), 8);
    branch(&mut writer, "f", "c2", says("f"));
    assert_eq!(carrier(&resume(&memory)), Some("c2"));
}

#[test]
fn a_checkpoint_after_a_boundary_is_where_it_starts() {
    let memory = compacted(|_| {});
    let mut writer = open(&memory).unwrap();
    let first = push(&mut writer, "d", says("d"));
    push(&mut writer, "cp", checkpoint(vec![range(&first, &first)]));
    let resumed = resume(&memory);
    assert_eq!((carrier(&resumed), resumed.tail.len()), (Some("cp"), 0));
    assert_eq!(kept(&resumed), [(None, "d")]);
}

#[test]
fn a_fork_reads_from_its_parents_log() {
    let memory = MemorySystem::new();
    let mut writer = open(&memory).unwrap();
    push(&mut writer, "s", session());
    let first = push(&mut writer, "a", says("a"));
    let last = push(&mut writer, "b", says("b"));
    let mut named = range(&first, &last);
    named.session = Some("s".into());
    let start = SessionStart {
        format: FORMAT,
        project: "/p".into(),
        lineage: Some(Lineage {
            session: "s".into(),
            record: last.id.clone(),
            seq: last.seq,
            prefix: None,
            directive: "look around".into(),
            manifest: Manifest {
                ranges: vec![named],
                ..Manifest::default()
            },
        }),
    };
    let path = "/home/projects/p/fork.jsonl";
    let mut fork = open_at(&memory, path, "fork").unwrap();
    let begun = push(&mut fork, "f", Body::Session(Box::new(start)));
    assert_eq!(begun.seq, last.seq.next());
    push(&mut fork, "g", says("g"));
    let resumed = log(&memory, path)
        .resume(&|session| Some(log(&memory, &format!("/home/projects/p/{session}.jsonl"))))
        .unwrap();
    assert_eq!(carrier(&resumed), Some("f"));
    assert_eq!(kept(&resumed), [(Some("s"), "a"), (Some("s"), "b")]);
    assert_eq!(ids(&resumed.tail), ["g"]);
    let alone = log(&memory, path).resume(&|_| None).unwrap();
    assert!(
        matches!(&alone.issues.list()[0].what, Trouble::LogMissing { session } if session.as_str() == "s")
    );
}

fn line(id: &str, parent: Option<&str>, text: &str) -> String {
    json!({ "type": "user", "uuid": id, "parentUuid": parent, "message": { "role": "user", "content": text } })
        .to_string()
}

fn foreign_boundary(id: &str, more: &serde_json::Value) -> String {
    let mut line = json!({
        "parentUuid": null, "type": "system", "subtype": "compact_boundary", "uuid": id,
        "isSidechain": false, "compactMetadata": { "trigger": "auto", "preTokens": 5 },
    });
    for (name, value) in more.as_object().unwrap() {
        line[name] = value.clone();
    }
    line.to_string()
}

fn put(lines: &[String]) -> MemorySystem {
    let memory = MemorySystem::new();
    memory.files.put(LOG, lines.join("\n") + "\n");
    memory
}

#[test]
fn another_tools_boundary_is_where_its_transcript_starts() {
    let memory = put(&[
        line("a", None, "a"),
        foreign_boundary("b", &json!({})),
        line("c", Some("b"), "c"),
    ]);
    let resumed = resume(&memory);
    assert_eq!(
        (carrier(&resumed), ids(&resumed.tail)),
        (Some("b"), vec!["c"])
    );
}

#[test]
fn words_in_a_tool_result_and_side_chains_do_not_pass_for_a_boundary() {
    let decoy = json!({
        "type": "user", "uuid": "x", "parentUuid": "c",
        "message": { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t", "content": "{\"type\":\"system\",\"subtype\":\"compact_boundary\"}" }] },
        "toolUseResult": { "type": "system", "subtype": "compact_boundary" },
    });
    let memory = put(&[
        line("a", None, "a"),
        foreign_boundary("b", &json!({})),
        line("c", Some("b"), "c"),
        decoy.to_string(),
        foreign_boundary("side", &json!({ "isSidechain": true })),
        line("d", Some("x"), "\"checkpoint\" and \"compact_boundary\""),
    ]);
    let resumed = resume(&memory);
    assert_eq!(carrier(&resumed), Some("b"));
    assert_eq!(ids(&resumed.tail), ["c", "x", "side", "d"]);
}

#[test]
fn a_preserved_stretch_is_found_before_the_boundary() {
    let preserved = json!({ "compactMetadata": { "preservedSegment": { "headUuid": "p1", "tailUuid": "p3" } } });
    let lines = [
        line("a", None, "p1 is named here"),
        line("p1", Some("a"), "1"),
        line("p2", Some("p1"), "2"),
        line("p3", Some("p2"), "3"),
        foreign_boundary("b", &preserved),
        line("c", Some("b"), "c"),
    ];
    let resumed = resume(&put(&lines));
    assert_eq!(carrier(&resumed), Some("b"));
    assert_eq!(kept(&resumed), [(None, "p1"), (None, "p2"), (None, "p3")]);
    assert!(resumed.issues.is_empty());
    let resumed = resume(&put(&[&lines[..1], &lines[2..]].concat()));
    assert!(
        matches!(&resumed.issues.list()[0].what, Trouble::PreservedNotFound { id } if id.as_str() == "p1")
    );
    assert_eq!(ids(&resumed.tail), ["c"]);
}

#[test]
fn without_any_manifest_everything_is_tail() {
    let memory = put(&[
        line("a", None, "a"),
        "garbage".into(),
        line("b", Some("a"), "b"),
    ]);
    let resumed = resume(&memory);
    assert_eq!(
        (carrier(&resumed), ids(&resumed.tail)),
        (None, vec!["a", "b"])
    );
    assert_eq!(resumed.issues.total(), 1);
}

#[test]
fn the_front_of_a_long_log_is_never_read() {
    let memory = MemorySystem::new();
    let mut writer = open(&memory).unwrap();
    push(&mut writer, "s", session());
    let first = push(&mut writer, "kept", says("kept"));
    for number in 0..200 {
        let block = Block::text(&"filler ".repeat(10_000));
        let body = Body::Message(Message::user(vec![block]));
        push(&mut writer, &format!("f{number}"), body);
    }
    push(&mut writer, "cp", checkpoint(vec![range(&first, &first)]));
    push(&mut writer, "tail", says("tail"));
    let log = log(&memory, LOG);
    let resumed = log.resume(&|_| None).unwrap();
    assert_eq!(
        (carrier(&resumed), kept(&resumed)),
        (Some("cp"), vec![(None, "kept")])
    );
    assert!(log.len().unwrap() > 10_000_000);
    assert!(
        resumed.bytes_read < 500_000,
        "{} bytes read",
        resumed.bytes_read
    );
}
