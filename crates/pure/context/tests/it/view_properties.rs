//! Invariants of the view, over random logs.

use crate::random_log::{Op, Session, branching_ops, late_ops, ops, targets};
use bytes::Bytes;
use dormouse_context::conversation::Conversation;
use dormouse_context::files_read::FilesRead;
use dormouse_context::path::{Leaf, path};
use dormouse_context::segment::SegmentList;
use dormouse_context::target::Target;
use dormouse_context::undo;
use dormouse_context::validate;
use dormouse_context::view::{View, ViewIssue};
use dormouse_core::block::BlockKind;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, SessionId};
use dormouse_core::models::ThinkingBinding;
use dormouse_core::record::{
    Body, Checkpoint, FORMAT, LineContext, Record, Role, SessionStart, encode,
};
use dormouse_core::weight::Weight;
use dormouse_testkit::LogBuilder;
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

/// Content of a request, as far as the view decides it.
pub(crate) fn wire(list: &SegmentList) -> Vec<(Role, Bytes)> {
    list.iter()
        .map(|segment| (segment.role, segment.block.bytes().clone()))
        .collect()
}

/// Resumes as the store does: from the newest record with a manifest.
pub(crate) fn resume(path: &[&Record], session: &Session) -> Option<Conversation> {
    let at = path
        .iter()
        .rposition(|record| record.body.manifest().is_some())?;
    let carrier = path[at];
    let in_ranges = in_ranges(session.log.records(), carrier);
    let kept = in_ranges.map(|record| (None, record));
    let mut conversation = Conversation::resume(carrier, kept, session.target.clone());
    for record in &path[at + 1..] {
        conversation.apply(record);
    }
    Some(conversation)
}

/// Records of a log that a manifest names.
fn in_ranges<'a>(records: &'a [Record], carrier: &Record) -> impl Iterator<Item = &'a Record> {
    let ranges = carrier
        .body
        .manifest()
        .map(|manifest| manifest.ranges.clone());
    records.iter().filter(move |record| {
        ranges
            .iter()
            .flatten()
            .any(|range| (range.first..=range.last).contains(&record.seq))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_view_is_acceptable(ops in ops(60), target in targets()) {
        let mut session = Session::new(target);
        for op in &ops {
            session.step(op);
            let view = session.view();
            let list = view.segments();
            prop_assert_eq!(validate::consistent(list.iter()), Ok(()), "after {:?}: {:#?}", op, wire(&list));
            if let Some(Body::Request(_)) = session.path().last().map(|record| &record.body)
                && list.last().is_some_and(|segment| segment.role != Role::Assistant)
            {
                prop_assert_eq!(validate::sendable(list.iter()), Ok(()));
            }
        }
    }

    #[test]
    fn what_a_request_contained_is_frozen(ops in late_ops(60), target in targets()) {
        let mut session = Session::new(target);
        let mut sent: Option<Vec<(Role, Bytes)>> = None;
        for op in &ops {
            let before = session.view();
            let happened = session.step(op);
            if op.is_rewrite() && happened {
                sent = None;
                continue;
            }
            let view = session.view();
            let now = wire(&view.segments());
            if let Some(sent) = &sent {
                prop_assert!(now.starts_with(sent), "{:?} changed what was sent\n{:#?}\n{:#?}", op, sent, now);
            }
            // The frozen part only grows, with or without a request record.
            let (old, new) = (wire(before.frozen()), wire(view.frozen()));
            prop_assert!(new.starts_with(&old), "{:?} thawed\n{:#?}\n{:#?}", op, old, new);
            // Without a request record, a new response implies that everything before it was sent.
            if op.is_new_response() && !before.is_awaiting_response() {
                let settled = wire(&before.segments());
                prop_assert!(now.starts_with(&settled), "{:?} answers something else\n{:#?}\n{:#?}", op, settled, now);
            }
            if let Some(Body::Request(_)) = session.path().last().map(|record| &record.body) {
                prop_assert_eq!(&new, &now, "a request leaves nothing open");
                sent = Some(now);
            }
        }
    }

    #[test]
    fn bound_thinking_never_follows_a_change(ops in ops(60), target in targets()) {
        let target = Target { binding: ThinkingBinding::Prefix, ..target };
        let mut session = Session::new(target);
        // Hash of the prompt in front of each thinking block when it first appeared.
        let mut bound: HashMap<BlockKey, Hash> = HashMap::new();
        for op in &ops {
            session.step(op);
            if matches!(op, Op::Rewind { .. }) {
                // Another branch: thinking of the old one was checked there.
                bound.clear();
                continue;
            }
            let list = session.view().segments();
            for (at, segment) in list.iter().enumerate() {
                if segment.block.kind().is_thinking() {
                    let front = *bound.entry(segment.origin).or_insert_with(|| list.chain(at));
                    prop_assert_eq!(front, list.chain(at), "{:?} moved bound thinking", op);
                }
            }
        }
    }

    #[test]
    fn recorded_requests_are_rebuilt_exactly(ops in ops(60), target in targets()) {
        let mut session = Session::new(target);
        for op in &ops {
            session.step(op);
        }
        // Each request as a leaf of its own: later branches, undo and boundaries do not matter.
        for record in session.log.records() {
            if let Body::Request(request) = &record.body {
                let path = dormouse_context::path::path(
                    session.log.records(),
                    dormouse_context::path::Leaf::Record(&record.id),
                );
                let view = undo::fold_path(&path, session.target.clone());
                prop_assert_eq!(view.extent(), (request.segments, request.chain));
            }
        }
    }

    #[test]
    fn resuming_gives_the_unbroken_view(ops in ops(60), target in targets()) {
        let mut session = Session::new(target);
        for op in &ops {
            session.step(op);
            let path = session.path();
            if let Some(resumed) = resume(&path, &session) {
                let unbroken = session.conversation();
                let known = unbroken.view().issues();
                let new = resumed.view().issues().iter().find(|issue| !known.contains(issue));
                prop_assert_eq!(new, None);
                prop_assert_eq!(wire(&resumed.view().segments()), wire(&unbroken.view().segments()));
                prop_assert_eq!(resumed.view().extent(), unbroken.view().extent());
                prop_assert_eq!(resumed.state(), unbroken.state());
                prop_assert_eq!(resumed.count(&Weight::default()), unbroken.count(&Weight::default()));
            }
        }
    }

    #[test]
    fn a_resumed_log_is_the_fold_of_its_newest_path(ops in branching_ops(60), target in targets()) {
        let mut session = Session::new(target.clone());
        for op in &ops {
            session.step(op);
            let records = session.log.records();
            let whole = path(records, Leaf::Newest);
            let unbroken = Conversation::fold(&whole, target.clone());
            let carries = |record: &&&Record| record.body.manifest().is_some();
            let carrier = whole.iter().rfind(carries).copied();
            // By position, as a store reads a file: abandoned branches are in the tail, too.
            let behind = records.partition_point(|record| carrier.is_some_and(|at| record.seq <= at.seq));
            let kept = carrier.into_iter().flat_map(|carrier| in_ranges(records, carrier));
            let kept = kept.map(|record| (None, record));
            let resumed = Conversation::resumed(carrier, kept, &records[behind..], target.clone());
            prop_assert_eq!(resumed.head(), unbroken.head());
            prop_assert_eq!(wire(&resumed.view().segments()), wire(&unbroken.view().segments()));
            prop_assert_eq!(resumed.view().extent(), unbroken.view().extent());
            prop_assert_eq!(resumed.state(), unbroken.state());
            prop_assert_eq!(resumed.economy(), unbroken.economy());
            prop_assert_eq!(resumed.count(&Weight::default()), unbroken.count(&Weight::default()));
        }
    }

    #[test]
    fn a_view_grows_record_by_record(ops in ops(60), target in targets()) {
        // Folding the whole path equals applying its records one at a time, unless something is
        // undone (an undo reads the log again).
        let mut session = Session::new(target.clone());
        for op in &ops {
            session.step(op);
        }
        let path = session.path();
        if path.iter().all(|record| !matches!(record.body, Body::Undo(_))) {
            let grown = View::fold(path.iter().copied(), target);
            prop_assert_eq!(wire(&grown.segments()), wire(&session.view().segments()));
            let mismatch = grown.issues().iter().find(|issue| matches!(issue, ViewIssue::RequestMismatch { .. }));
            prop_assert_eq!(mismatch, None);
        }
    }

    #[test]
    fn files_read_are_those_that_a_walk_finds(
        ops in ops(60),
        target in targets(),
        asked in prop::collection::vec(any::<bool>(), 60),
    ) {
        let mut session = Session::new(target);
        let mut files = FilesRead::default();
        let reads_files = |tool: &str| matches!(tool, "Read" | "View");
        for (op, is_asked) in ops.iter().zip(asked) {
            session.step(op);
            // Checked at random steps: a view may have grown, shrunk and grown again in between.
            if is_asked {
                let view = session.view();
                files.update(&view, reads_files);
                let segments = view.segments();
                let calls = segments.iter().map(|segment| &segment.block).filter(|block| {
                    block.kind() == BlockKind::ToolUse && block.tool().is_some_and(reads_files)
                });
                let walked: BTreeSet<String> = calls
                    .filter_map(|call| call.input_text("file_path").or_else(|| call.input_text("path")))
                    .collect();
                let indexed: BTreeSet<String> = files.paths().iter().map(str::to_owned).collect();
                prop_assert_eq!(indexed, walked);
            }
        }
    }

    #[test]
    fn logs_round_trip(ops in ops(40), target in targets()) {
        let mut session = Session::new(target);
        for op in &ops {
            session.step(op);
        }
        for record in session.log.records() {
            let mut line = encode(record, &LineContext::default()).unwrap();
            line.pop();
            let read = Record::parse(&Bytes::from(line), record.offset).unwrap();
            prop_assert!(read.issues.is_empty());
            prop_assert_eq!(&read.record, record);
        }
    }

    #[test]
    fn a_fork_shares_everything(ops in ops(60), target in targets()) {
        let mut session = Session::new(target);
        for op in &ops {
            session.step(op);
        }
        let view = session.view();
        let fork = view.clone();
        for (ours, theirs) in view.frozen().iter().zip(fork.frozen().iter()) {
            prop_assert!(ours.block.shares_bytes_with(&theirs.block));
        }
    }

    #[test]
    fn a_fork_begins_with_its_parents_prompt(ops in ops(40), target in targets()) {
        let mut session = Session::new(target.clone());
        for op in &ops {
            session.step(op);
        }
        let Some(head) = session.path().last().map(|record| (record.id.clone(), record.seq)) else {
            return Ok(());
        };
        let parent = session.conversation();
        let parent_id = SessionId::from("session");
        let lineage = parent.lineage(&parent_id, (&head.0, head.1), "take notes");
        let mut log = LogBuilder::starting_at(head.1.next(), "f");
        log.push(Body::Session(Box::new(SessionStart {
            format: FORMAT,
            project: String::new(),
            lineage: Some(lineage),
        })));
        let start = log.records()[0].clone();
        let kept = in_ranges(session.log.records(), &start).map(|record| (Some(&parent_id), record));
        let mut fork = Conversation::resume(&start, kept, target.clone());
        prop_assert_eq!(wire(&fork.view().segments()), wire(&parent.view().segments()));
        prop_assert_eq!(fork.view().extent(), parent.view().extent());

        // The fork continues in its own log and is resumed from a checkpoint that refers to both.
        fork.apply(log.user("the directive"));
        let manifest = fork.manifest();
        log.push(Body::Checkpoint(Box::new(Checkpoint { manifest })));
        let carrier = &log.records()[2];
        let from_parent = in_ranges(session.log.records(), carrier)
            .filter(|record| record.seq <= head.1)
            .map(|record| (Some(&parent_id), record));
        let own = in_ranges(log.records(), carrier).map(|record| (None, record));
        let resumed = Conversation::resume(carrier, from_parent.chain(own), target);
        prop_assert!(resumed.view().issues().is_empty(), "{:?}", resumed.view().issues());
        prop_assert_eq!(wire(&resumed.view().segments()), wire(&fork.view().segments()));
        prop_assert_eq!(resumed.state(), fork.state());
    }
}
