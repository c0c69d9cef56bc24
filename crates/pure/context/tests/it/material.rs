//! The engine over real transcripts, read by path; skipped where they are absent.

use bytes::Bytes;
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_context::tokens::Basis;
use dormouse_context::validate;
use dormouse_core::block::BlockKind;
use dormouse_core::id::{CallId, RecordId};
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, Record, Role, Trigger};
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;
use dormouse_testkit::material::{material, sample, transcripts};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

#[expect(clippy::disallowed_methods, reason = "a test reads material by path")]
pub(crate) fn read(file: &Path) -> Vec<Record> {
    let text = Bytes::from(std::fs::read(file).unwrap());
    let mut records = Vec::new();
    let mut offset = 0;
    for line in text.split(|byte| *byte == b'\n') {
        if let Ok(parsed) = Record::parse(&text.slice_ref(line), offset) {
            records.push(parsed.record);
        }
        offset += line.len() as u64 + 1;
    }
    records
}

fn target() -> Target {
    Target::new(&Arc::new(ModelTable::builtin().clone()), "claude-opus-4-6")
}

/// Leaves of the main conversation: the newest record, and the last one before each compaction.
fn leaves(records: &[Record]) -> Vec<RecordId> {
    let mut leaves = Vec::new();
    let mut last: Option<&Record> = None;
    for record in records.iter().filter(|record| !record.side_chain) {
        match record.body {
            Body::Boundary(_) => leaves.extend(last.map(|record| record.id.clone())),
            Body::Message(_) => last = Some(record),
            _ => {}
        }
    }
    leaves.extend(last.map(|record| record.id.clone()));
    leaves
}

fn calls<'a>(
    records: impl Iterator<Item = &'a Record>,
    role: Role,
    kind: BlockKind,
) -> BTreeSet<&'a CallId> {
    records
        .filter_map(|record| match &record.body {
            Body::Message(message) if message.role == role => Some(&message.content),
            _ => None,
        })
        .flatten()
        .filter(|block| block.kind() == kind)
        .filter_map(|block| block.call())
        .collect()
}

#[test]
fn no_result_of_a_parallel_call_is_lost() {
    let Some(root) = material("transcripts") else {
        return;
    };
    let (mut found, mut asked) = (0, 0);
    for file in [
        "spotter-mit/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl",
        "spotter-mit/258c7280-ae70-4798-800f-63464d01a85d.jsonl",
    ] {
        let records = read(&root.join(file));
        let main = || records.iter().filter(|record| !record.side_chain);
        let results = calls(main(), Role::User, BlockKind::ToolResult);
        let made = calls(main(), Role::Assistant, BlockKind::ToolUse);
        let mut seen = BTreeSet::new();
        for leaf in leaves(&records) {
            let records = path(&records, Leaf::Record(&leaf));
            seen.extend(
                calls(records.into_iter(), Role::User, BlockKind::ToolResult)
                    .into_iter()
                    .cloned(),
            );
        }
        let lost: Vec<_> = results
            .iter()
            .filter(|call| !seen.contains(**call))
            .collect();
        assert!(lost.is_empty(), "{file}: lost {lost:?}");
        found += seen.len();
        asked += made.len();
    }
    assert!(found > 300, "found {found} results for {asked} calls");
}

#[test]
fn the_sample_loses_no_result_and_shows_its_compaction() {
    let session = "transcripts/nest-box/0b7d1c52-4f0e-4c7e-9a39-6d2f0c5e8a11.jsonl";
    let records = read(&sample(session));
    let mut seen = BTreeSet::new();
    for leaf in leaves(&records) {
        let path = path(&records, Leaf::Record(&leaf)).into_iter();
        seen.extend(calls(path, Role::User, BlockKind::ToolResult));
    }
    let all = calls(records.iter(), Role::User, BlockKind::ToolResult);
    assert_eq!((all.len(), seen), (30, all));
    let boundaries: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.body {
            Body::Boundary(boundary) => Some((boundary.trigger, boundary.pre_tokens)),
            _ => None,
        })
        .collect();
    assert_eq!(boundaries, [(Trigger::Auto, Some(Tokens(25_041)))]);
}

#[test]
fn compactions_are_found_with_their_figures() {
    let Some(root) = material("transcripts") else {
        return;
    };
    let cases = [
        (
            "spotter-mit/ae4a77f8-aedd-4bc1-888f-c94edc91af04.jsonl",
            Trigger::Manual,
            142_431,
        ),
        (
            "spotter-mit/258c7280-ae70-4798-800f-63464d01a85d.jsonl",
            Trigger::Auto,
            167_094,
        ),
    ];
    for (file, trigger, tokens) in cases {
        let records = read(&root.join(file));
        let boundaries: Vec<_> = records
            .iter()
            .filter_map(|record| match &record.body {
                Body::Boundary(boundary) => Some((boundary.trigger, boundary.pre_tokens)),
                _ => None,
            })
            .collect();
        assert_eq!(boundaries, [(trigger, Some(Tokens(tokens)))], "{file}");
        // The engine's count before the compaction equals the figure the tool recorded.
        let leaf = &leaves(&records)[0];
        let conversation = Conversation::fold(&path(&records, Leaf::Record(leaf)), target());
        let count = conversation.count(&Weight::default());
        let off = count.tokens.get().abs_diff(tokens);
        assert!(
            off * 100 < tokens * 3,
            "{file}: counted {count:?}, recorded {tokens}"
        );
        assert_eq!(count.basis, Basis::Measured);
    }
}

#[test]
fn every_transcript_gives_an_acceptable_view() {
    for file in transcripts() {
        let records = read(&file);
        for leaf in leaves(&records) {
            let conversation = Conversation::fold(&path(&records, Leaf::Record(&leaf)), target());
            let segments = conversation.view().segments();
            assert_eq!(
                validate::consistent(segments.iter()),
                Ok(()),
                "{} at {leaf}",
                file.display()
            );
        }
    }
}
