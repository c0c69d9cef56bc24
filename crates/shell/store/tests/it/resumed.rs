//! A session that is resumed from a log, in a file or in memory, is the one that folding the whole
//! log gives, whatever was rewound on the way.

use crate::kit::{LOG, draft, says, session};
use dormouse_context::boundary::{Compaction, SummaryPlace};
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::models::ModelTable;
use dormouse_core::record::{
    Body, Boundary, BoundaryKind, Checkpoint, KeptRange, LineContext, Manifest, Message, Record,
    SeqRange, Snip, Trigger,
};
use dormouse_core::units::Tokens;
use dormouse_store::{FileLog, MemoryLog, Resumed, SessionLog};
use dormouse_system::MemorySystem;
use dormouse_testkit::blocks::{call, result};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

#[derive(Clone, Debug)]
enum Happens {
    Say,
    /// The model calls a tool.
    Call,
    /// The newest call is answered.
    Result,
    Checkpoint,
    Compact {
        keep: u64,
    },
    Snip {
        back: u64,
    },
    Undo,
}

/// An event, and how many records before the newest it goes on from.
type Step = (Happens, usize);

fn step() -> impl Strategy<Value = Step> {
    let happens = prop_oneof![
        4 => Just(Happens::Say),
        3 => Just(Happens::Call),
        3 => Just(Happens::Result),
        2 => Just(Happens::Checkpoint),
        1 => (0_u64..6).prop_map(|keep| Happens::Compact { keep }),
        1 => (1_u64..6).prop_map(|back| Happens::Snip { back }),
        1 => Just(Happens::Undo),
    ];
    (happens, prop_oneof![3 => Just(0), 1 => 1_usize..20])
}

fn target() -> Target {
    Target::new(&Arc::new(ModelTable::builtin().clone()), "model")
}

/// The same manifest with a range for every record, so that leaving one out cannot go unnoticed.
fn split(manifest: Manifest, records: &[Record]) -> Manifest {
    let is_named = |record: &&Record| {
        let mut ranges = manifest.ranges.iter();
        ranges.any(|range| (range.first..=range.last).contains(&record.seq))
    };
    let ranges = records.iter().filter(is_named).map(|record| KeptRange {
        session: None,
        first: record.seq,
        last: record.seq,
        offset: record.offset,
        last_offset: record.offset,
        first_id: record.id.clone(),
    });
    let ranges = ranges.collect();
    Manifest { ranges, ..manifest }
}

fn boundary(
    conversation: &Conversation,
    records: &[Record],
    id: RecordId,
    seq: Seq,
    keep: u64,
) -> Body {
    // Most lines stand in earlier boundaries too, as in real sections, and are referred to.
    let line = |n: u64| format!("- fact number {n}, in some more words than a few");
    let from = seq.get() / 12;
    let lines: Vec<String> = (from..from + 5).map(line).collect();
    let summary = [Block::text(&format!(
        "so far, at {seq}\n{}",
        lines.join("\n")
    ))];
    let spliced = conversation.view().spliced(seq, &summary);
    let compaction = Compaction {
        seq,
        id,
        summary: &summary,
        restored: &[],
        spliced: &spliced.blocks,
        keep: &[SeqRange {
            first: Seq::new(seq.get().saturating_sub(keep)),
            last: seq,
        }],
        place: SummaryPlace::Front,
    };
    let manifest = split(conversation.compacted(&compaction), records);
    Body::Boundary(Box::new(Boundary {
        trigger: Trigger::Manual,
        kind: BoundaryKind::Full,
        pre_tokens: None,
        post_tokens: None,
        fixed_tokens: None,
        summary_tokens: None,
        summary: Vec::new(),
        restored: Vec::new(),
        text: spliced.text,
        spliced: spliced.blocks,
        previous: None,
        manifest: Some(manifest),
        preserved: None,
    }))
}

/// The record that makes the event happen behind `parent`, if it can.
fn body(happens: &Happens, records: &[Record], parent: &RecordId, id: &RecordId) -> Option<Body> {
    let on_path = path(records, Leaf::Record(parent));
    let conversation = Conversation::fold(&on_path, target());
    let seq = records.last()?.seq.next();
    let newest_call = || {
        let blocks = on_path.iter().rev().flat_map(|record| record.body.blocks());
        let mut calls = blocks.filter(|block| block.tool().is_some());
        calls.next()?.call().cloned()
    };
    Some(match happens {
        Happens::Say => says(&format!("said in {id}")),
        Happens::Call => {
            let call = call(&format!("call_{id}"), "Bash", &json!({ "command": "ls" }));
            let message = format!("msg_{id}");
            let message = Message::assistant(message.as_str().into(), "model", vec![call]);
            Body::Message(message)
        }
        Happens::Result => {
            let result = result(newest_call()?.as_str(), &format!("result in {id}"));
            Body::Message(Message::user(vec![result]))
        }
        Happens::Checkpoint => {
            let manifest = split(conversation.manifest(), records);
            Body::Checkpoint(Box::new(Checkpoint { manifest }))
        }
        Happens::Compact { keep } => boundary(&conversation, records, id.clone(), seq, *keep),
        Happens::Snip { back } => {
            let at = Seq::new(seq.get().saturating_sub(*back));
            Body::Snip(Snip {
                ranges: vec![SeqRange {
                    first: at,
                    last: at,
                }],
                thinking: Vec::new(),
            })
        }
        Happens::Undo => {
            let undo = conversation.plan_undo(&on_path, None, Tokens(u64::MAX));
            let mut undo = undo.ok()?;
            undo.manifest = split(undo.manifest, records);
            Body::Undo(Box::new(undo))
        }
    })
}

fn conversation(resumed: &Resumed) -> Conversation {
    let kept = resumed.kept.iter();
    let kept = kept.map(|(session, record)| (session.as_ref(), record));
    Conversation::resumed(resumed.carrier.as_ref(), kept, &resumed.tail, target())
}

/// Everything that a session is, as far as its log decides it.
fn outcome(conversation: &Conversation) -> (Option<&RecordId>, (u64, Hash), String) {
    let view = conversation.view();
    let state = serde_json::to_string_pretty(conversation.state()).unwrap();
    (conversation.head(), view.extent(), state)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn resuming_gives_what_folding_gives(steps in prop::collection::vec(step(), 0..40)) {
        let memory = MemorySystem::new();
        let context = LineContext::default();
        let mut file = FileLog::open(&memory.system(), LOG.as_ref(), context, "s".into()).unwrap();
        let mut model = MemoryLog::new("s".into());
        let mut records = Vec::new();
        for (number, (happens, back)) in [(Happens::Say, 0)].iter().chain(&steps).enumerate() {
            let id = RecordId::from(format!("r{number}").as_str());
            let mut next = draft(id.as_str(), session());
            if let Some(at) = records.len().checked_sub(1) {
                let parent: &Record = &records[at - back % (at + 1)];
                let Some(body) = body(happens, &records, &parent.id, &id) else {
                    continue;
                };
                next.body = body;
                next = next.on(parent.id.clone());
            }
            let head = file.head().map(|head| head.id.clone());
            model.append(head.as_ref(), next.clone()).unwrap();
            records.push(file.append(head.as_ref(), next).unwrap());

            let whole = Conversation::fold(&path(&records, Leaf::Newest), target());
            for log in [&file as &dyn SessionLog, &model] {
                let resumed = log.resume().unwrap();
                prop_assert!(resumed.issues.is_empty());
                let resumed = conversation(&resumed);
                prop_assert!(resumed.view().issues().is_empty(), "{:?}", resumed.view().issues());
                prop_assert_eq!(outcome(&resumed), outcome(&whole));
            }
        }
    }
}
