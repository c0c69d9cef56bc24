//! Effects of rewrites on the prompt, case by case: clearing, snips, folds, boundaries, undo.

use crate::view_cases::{check, check_for, show, target};
use dormouse_context::boundary::{Compaction, SummaryPlace};
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_context::undo::{self, UndoError};
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId, Seq};
use dormouse_core::models::ThinkingBinding;
use dormouse_core::record::{
    Body, Boundary, BoundaryKind, ClearedBlock, Clearing, ClearingPlace, Distillation,
    DistilledBlock, FoldSpan, Folding, Fragment, FragmentKind, SeqRange, Snip, Trigger,
};
use dormouse_core::units::Tokens;
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result, thinking};
use pretty_assertions::assert_eq;
use serde_json::json;

fn two_tool_rounds() -> LogBuilder {
    let mut log = LogBuilder::new();
    log.user("find the bug");
    log.assistant(
        "m1",
        vec![Block::text("looking"), call("c1", "Read", &json!({}))],
    );
    log.user_blocks(vec![result("c1", "file one")]);
    log.assistant("m2", vec![call("c2", "Grep", &json!({}))]);
    log.user_blocks(vec![result("c2", "three hits")]);
    log.assistant("m3", vec![Block::text("it is here")]);
    log
}

fn clearing(key: BlockKey, place: ClearingPlace) -> Body {
    Body::Cleared(Clearing {
        place,
        blocks: vec![ClearedBlock {
            key,
            block: result("c1", "[cleared]"),
        }],
        ..Clearing::default()
    })
}

#[test]
fn clearing_changes_the_bytes_and_not_the_place() {
    let key = BlockKey::new(Seq::new(3), 0);
    let mut log = two_tool_rounds();
    log.push(clearing(key, ClearingPlace::Local));
    check(
        &log,
        "user: find the bug
         assistant: looking
         assistant: calls Read (c1)
         user: result of c1: [cleared]
         assistant: calls Grep (c2)
         user: result of c2: three hits
         assistant: it is here",
    );
    // A clearing by the provider is an observation and changes no local bytes.
    let mut observed = two_tool_rounds();
    let before = show(&undo::fold_path(
        &path(observed.records(), Leaf::Newest),
        target(),
    ));
    observed.push(clearing(key, ClearingPlace::Server));
    check(&observed, &before);
}

#[test]
fn snipped_ranges_leave_and_pairs_stay_whole() {
    let mut log = two_tool_rounds();
    let ranges = vec![SeqRange {
        first: Seq::new(2),
        last: Seq::new(2),
    }];
    log.push(Body::Snip(Snip {
        ranges,
        thinking: vec![],
    }));
    check(
        &log,
        "user: find the bug
         assistant: calls Grep (c2)
         user: result of c2: three hits
         assistant: it is here",
    );
}

#[test]
fn responses_that_a_snip_joins_name_no_call_twice() {
    let mut log = LogBuilder::new();
    log.user("find the bug");
    log.assistant("m1", vec![call("c1", "Read", &json!({}))]);
    log.user_blocks(vec![result("c1", "file one")]);
    log.assistant(
        "m2",
        vec![call("c1", "Grep", &json!({})), Block::text("on")],
    );
    log.user_blocks(vec![result("c1", "three hits")]);
    log.assistant("m3", vec![Block::text("it is here")]);
    log.push(Body::Snip(Snip {
        ranges: vec![SeqRange {
            first: Seq::new(3),
            last: Seq::new(3),
        }],
        thinking: vec![],
    }));
    check(
        &log,
        "user: find the bug
         assistant: calls Read (c1)
         assistant: on
         user: result of c1: three hits
         assistant: it is here",
    );
}

#[test]
fn a_folded_span_becomes_one_line() {
    let mut log = two_tool_rounds();
    let span = FoldSpan {
        range: SeqRange {
            first: Seq::new(2),
            last: Seq::new(5),
        },
        block: Block::text("[read file one, three hits]"),
    };
    log.push(Body::Fold(Folding {
        spans: vec![span],
        thinking: vec![],
    }));
    check(
        &log,
        "user: find the bug
         user: [read file one, three hits]
         assistant: it is here",
    );
}

fn compact(log: &mut LogBuilder, keep: SeqRange, place: SummaryPlace, target: &Target) -> RecordId {
    let records = path(log.records(), Leaf::Newest);
    let conversation = Conversation::fold(&records, target.clone());
    let summary = [Block::text("what happened so far")];
    let restored = [Block::text("file one as it is now")];
    let manifest = conversation.compacted(&Compaction {
        seq: log.next_seq(),
        id: log.next_id(),
        summary: &summary,
        restored: &restored,
        spliced: &[],
        keep: &[keep],
        place,
    });
    let boundary = Boundary {
        trigger: Trigger::Auto,
        kind: BoundaryKind::Full,
        pre_tokens: None,
        post_tokens: None,
        fixed_tokens: None,
        summary_tokens: None,
        summary: summary.to_vec(),
        restored: restored.to_vec(),
        text: Vec::new(),
        spliced: Vec::new(),
        previous: None,
        manifest: Some(manifest),
        preserved: None,
    };
    log.push(Body::Boundary(Box::new(boundary))).id.clone()
}

#[test]
fn a_boundary_keeps_what_it_names_and_undo_brings_the_rest_back() {
    let mut log = two_tool_rounds();
    let before = show(&undo::fold_path(
        &path(log.records(), Leaf::Newest),
        target(),
    ));
    let keep = SeqRange {
        first: Seq::new(4),
        last: Seq::new(99),
    };
    let boundary = compact(&mut log, keep, SummaryPlace::Front, &target());
    let hook = Fragment {
        kind: FragmentKind::Hook,
        block: Block::text("hook after compaction"),
    };
    log.push_caused_by(Body::Fragment(hook), Some(boundary.clone()));
    log.user("go on");
    check(
        &log,
        "user: what happened so far
         user: file one as it is now
         assistant: calls Grep (c2)
         user: result of c2: three hits
         assistant: it is here
         user: hook after compaction
         user: go on",
    );
    let records = path(log.records(), Leaf::Newest);
    let conversation = Conversation::fold(&records, target());
    let undo = conversation
        .plan_undo(&records, None, Tokens(100_000))
        .unwrap();
    assert_eq!(undo.targets, [boundary]);
    let refused = conversation
        .plan_undo(&records, None, Tokens(10))
        .unwrap_err();
    assert!(matches!(
        refused,
        UndoError::DoesNotFit {
            limit: Tokens(10),
            ..
        }
    ));
    log.push(Body::Undo(Box::new(undo)));
    // Records after the boundary stay, except those that it caused.
    check(&log, &format!("{before}\nuser: go on"));
}

#[test]
fn a_summary_behind_what_is_kept_leaves_the_prefix_alone() {
    let mut log = two_tool_rounds();
    log.user("thanks");
    let keep = SeqRange {
        first: Seq::new(1),
        last: Seq::new(3),
    };
    compact(&mut log, keep, SummaryPlace::Back, &target());
    check(
        &log,
        "user: find the bug
         assistant: looking
         assistant: calls Read (c1)
         user: result of c1: file one
         user: what happened so far
         user: file one as it is now
         user: thanks",
    );
}

#[test]
fn bound_thinking_behind_a_rewrite_goes_with_it() {
    let mut log = LogBuilder::new();
    log.user("go");
    log.assistant("m1", vec![thinking("one"), Block::text("first")]);
    log.user("more");
    log.assistant("m2", vec![thinking("two"), Block::text("second")]);
    let bound = Target {
        binding: ThinkingBinding::Prefix,
        ..target()
    };
    let keep = SeqRange {
        first: Seq::new(3),
        last: Seq::new(99),
    };
    compact(&mut log, keep, SummaryPlace::Front, &bound);
    check_for(
        &log,
        bound,
        "user: what happened so far
         user: file one as it is now
         user: more
         assistant: second",
    );
}

#[test]
fn undo_leaves_thinking_out_that_a_later_distillate_unbound() {
    let mut log = LogBuilder::new();
    log.user("go");
    let calls = vec![
        call("c1", "Read", &json!({})),
        call("c2", "Grep", &json!({})),
    ];
    log.assistant("m1", calls);
    log.user_blocks(vec![result("c1", "file one")]);
    log.user_blocks(vec![result("c2", "three hits")]);
    log.assistant("m2", vec![thinking("hm"), Block::text("found")]);
    log.user("thanks");
    log.assistant("m3", vec![Block::text("welcome")]);
    let bound = Target {
        binding: ThinkingBinding::Prefix,
        ..target()
    };
    let seq_of = |at: usize| log.records()[at].seq;
    let (first, second, thought) = (seq_of(2), seq_of(3), seq_of(4));
    let Body::Cleared(clearing) = clearing(BlockKey::new(first, 0), ClearingPlace::Local) else {
        unreachable!("a clearing");
    };
    log.push(Body::Cleared(Clearing {
        thinking: vec![BlockKey::new(thought, 0)],
        ..clearing
    }));
    log.push(Body::Distilled(Box::new(Distillation {
        blocks: vec![DistilledBlock {
            key: BlockKey::new(second, 0),
            block: result("c2", "[short]"),
            blob: Hash::of(b"three hits"),
            file: None,
        }],
        ..Distillation::default()
    })));
    let records = path(log.records(), Leaf::Newest);
    let undo = Conversation::fold(&records, bound.clone())
        .plan_undo(&records, None, Tokens(u64::MAX))
        .expect("the clearing is in force");
    log.push(Body::Undo(Box::new(undo)));
    check_for(
        &log,
        bound,
        "user: go
         assistant: calls Read (c1)
         assistant: calls Grep (c2)
         user: result of c1: file one
         user: result of c2: [short]
         assistant: found
         user: thanks
         assistant: welcome",
    );
}

#[test]
fn a_branch_sees_only_the_rewrites_on_its_own_path() {
    let mut log = two_tool_rounds();
    let fork_at = log.head().unwrap().clone();
    log.push(clearing(
        BlockKey::new(Seq::new(3), 0),
        ClearingPlace::Local,
    ));
    log.user("left");
    let left = log.head().unwrap().clone();
    log.rewind_to(&fork_at);
    log.user("right");
    let show_leaf = |leaf: &RecordId| {
        show(&undo::fold_path(
            &path(log.records(), Leaf::Record(leaf)),
            target(),
        ))
    };
    assert!(show_leaf(&left).contains("[cleared]"));
    let right = show_leaf(log.head().unwrap());
    assert!(
        !right.contains("[cleared]") && right.ends_with("user: right"),
        "{right}"
    );
}
