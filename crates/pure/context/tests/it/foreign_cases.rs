//! Transcripts of other tools: paths, parallel results, compactions.

use crate::view_cases::{show, target};
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::view::View;
use dormouse_core::id::RecordId;
use dormouse_core::record::{Record, Role};
use pretty_assertions::assert_eq;

/// Lines as Claude Code writes them: one per block, results beside the chain.
fn foreign(lines: &[&str]) -> Vec<Record> {
    let mut offset = 0;
    lines
        .iter()
        .map(|line| {
            let read = Record::parse(&bytes::Bytes::from((*line).to_owned()), offset).unwrap();
            offset += line.len() as u64 + 1;
            read.record
        })
        .collect()
}

#[test]
fn results_of_parallel_calls_are_found_beside_the_trunk() {
    let records = foreign(&[
        r#"{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"go"}}"#,
        r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c1","name":"Read","input":{}}]}}"#,
        r#"{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"c2","name":"Read","input":{}}]}}"#,
        r#"{"type":"user","uuid":"r1","parentUuid":"a1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"one"}]}}"#,
        r#"{"type":"progress","uuid":"p1","parentUuid":"a2"}"#,
        r#"{"type":"user","uuid":"r2","parentUuid":"p1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c2","content":"two"}]}}"#,
        r#"{"type":"user","uuid":"s1","parentUuid":null,"isSidechain":true,"message":{"role":"user","content":"a sub-agent"}}"#,
        r#"{"type":"assistant","uuid":"a3","parentUuid":"r2","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"done"}]}}"#,
    ]);
    let view = View::fold(path(&records, Leaf::Newest), target());
    assert_eq!(
        show(&view),
        "user: go\nassistant: calls Read (c1)\nassistant: calls Read (c2)\nuser: result of c1: one\nuser: result of c2: two\nassistant: done"
    );
    let side = RecordId::from("s1");
    let view = View::fold(path(&records, Leaf::Record(&side)), target());
    assert_eq!(show(&view), "user: a sub-agent");
    assert!(
        view.segments()
            .iter()
            .all(|segment| segment.role == Role::User)
    );
}

#[test]
fn a_foreign_boundary_starts_afresh_and_keeps_what_it_preserved() {
    let mut lines = vec![
        r#"{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"old"}}"#,
        r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"older"}]}}"#,
        r#"{"type":"user","uuid":"u2","parentUuid":"a1","message":{"role":"user","content":"kept words"}}"#,
        r#"{"type":"system","subtype":"compact_boundary","uuid":"b1","parentUuid":null,"compactMetadata":{"trigger":"auto","preTokens":10}}"#,
        r#"{"type":"user","uuid":"u3","parentUuid":"b1","isCompactSummary":true,"message":{"role":"user","content":"summary"}}"#,
    ];
    let shown = |lines: &[&str]| {
        let records = foreign(lines);
        show(&View::fold(path(&records, Leaf::Newest), target()))
    };
    assert_eq!(shown(&lines), "user: summary");
    lines[3] = r#"{"type":"system","subtype":"compact_boundary","uuid":"b1","parentUuid":null,"compactMetadata":{"trigger":"auto","preTokens":10,"preservedSegment":{"headUuid":"u2","anchorUuid":"b1","tailUuid":"u2"}}}"#;
    assert_eq!(shown(&lines), "user: kept words\nuser: summary");
}

#[test]
fn what_a_boundary_preserved_is_passed_on_the_way_to_what_was_before() {
    let records = foreign(&[
        r#"{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"old"}}"#,
        r#"{"type":"user","uuid":"u2","parentUuid":"u1","message":{"role":"user","content":"kept"}}"#,
        r#"{"type":"system","subtype":"compact_boundary","uuid":"b1","parentUuid":"u2","compactMetadata":{"preservedSegment":{"headUuid":"u2","tailUuid":"u2"}}}"#,
        r#"{"type":"user","uuid":"u3","parentUuid":"b1","message":{"role":"user","content":"new"}}"#,
    ]);
    let on_path = path(&records, Leaf::Newest);
    let ids: Vec<&str> = on_path.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(ids, ["u1", "u2", "b1", "u3"]);
    assert_eq!(
        show(&View::fold(on_path, target())),
        "user: kept\nuser: new"
    );
}

#[test]
fn a_resumed_transcript_keeps_what_was_preserved_and_leaves_out_other_branches() {
    let records = foreign(&[
        r#"{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"kept"}}"#,
        r#"{"type":"user","uuid":"s1","parentUuid":null,"isSidechain":true,"message":{"role":"user","content":"a sub-agent"}}"#,
        r#"{"type":"user","uuid":"u2","parentUuid":"u1","message":{"role":"user","content":"kept, too"}}"#,
        r#"{"type":"system","subtype":"compact_boundary","uuid":"b1","parentUuid":null,"compactMetadata":{"preservedSegment":{"headUuid":"u1","tailUuid":"u2"}}}"#,
        r#"{"type":"user","uuid":"u3","parentUuid":"b1","message":{"role":"user","content":"rewound"}}"#,
        r#"{"type":"user","uuid":"u4","parentUuid":"b1","message":{"role":"user","content":"instead"}}"#,
    ]);
    let kept = records[..3].iter().map(|record| (None, record));
    let resumed = Conversation::resumed(Some(&records[3]), kept, &records[4..], target());
    assert_eq!(
        show(resumed.view()),
        "user: kept\nuser: kept, too\nuser: instead"
    );
    let whole = Conversation::fold(&path(&records, Leaf::Newest), target());
    assert_eq!(show(resumed.view()), show(whole.view()));
}
