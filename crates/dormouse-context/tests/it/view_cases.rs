//! What each record does to the prompt, case by case.

use dormouse_context::compact::{Compaction, SummaryPlace};
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_context::undo::{self, UndoError};
use dormouse_context::validate;
use dormouse_context::view::View;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, RecordId, Seq};
use dormouse_core::models::{ModelTable, ThinkingBinding};
use dormouse_core::record::{
    Body, Boundary, BoundaryKind, ClearedBlock, Clearing, ClearingPlace, FoldSpan, Folding,
    FragmentKind, Message, MessageOrigin, Replacement, ReplacementDecision, SeqRange, Snip,
    Trigger,
};
use dormouse_core::units::Tokens;
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result, thinking, unsigned_thinking};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

pub(crate) fn target() -> Target {
    Target::new(&Arc::new(ModelTable::builtin().clone()), "model")
}

pub(crate) fn show(view: &View) -> String {
    let mut lines = Vec::new();
    for segment in view.segments().iter() {
        let block = &segment.block;
        let what = match (block.tool(), block.call(), block.readable_text()) {
            (Some(tool), Some(call), _) => format!("calls {tool} ({call})"),
            (None, Some(call), Some(text)) => format!("result of {call}: {text}"),
            (_, _, Some(text)) if block.kind().is_thinking() => format!("thinks {text}"),
            (_, _, Some(text)) => text,
            _ => format!("{block:?}"),
        };
        lines.push(format!("{}: {what}", segment.role.as_str()));
    }
    lines.join("\n")
}

fn check_for(log: &LogBuilder, target: Target, expected: &str) {
    let records = path(log.records(), Leaf::Newest);
    let view = undo::fold_path(&records, target);
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(show(&view), expected.join("\n"));
    assert_eq!(validate::consistent(view.segments().iter()), Ok(()));
}

fn check(log: &LogBuilder, expected: &str) {
    check_for(log, target(), expected);
}

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

#[test]
fn results_come_first_then_fragments_then_words() {
    let mut log = LogBuilder::new();
    log.user("go");
    log.assistant(
        "m1",
        vec![
            call("c1", "Bash", &json!({})),
            call("c2", "Bash", &json!({})),
        ],
    );
    log.user("and hurry");
    log.fragment(FragmentKind::Status, "it is Tuesday");
    log.user_blocks(vec![result("c2", "two")]);
    log.user_blocks(vec![result("c1", "one")]);
    check(
        &log,
        "user: go
         assistant: calls Bash (c1)
         assistant: calls Bash (c2)
         user: result of c2: two
         user: result of c1: one
         user: it is Tuesday
         user: and hurry",
    );
    let system = Target {
        system_messages: true,
        ..target()
    };
    check_for(
        &log,
        system,
        "user: go
         assistant: calls Bash (c1)
         assistant: calls Bash (c2)
         user: result of c2: two
         user: result of c1: one
         user: and hurry
         system: it is Tuesday",
    );
}

#[test]
fn lines_of_one_response_are_one_turn_even_with_results_between() {
    let mut log = LogBuilder::new();
    log.user("go");
    log.assistant("m1", vec![call("c1", "Bash", &json!({}))]);
    log.user_blocks(vec![result("c1", "one")]);
    log.assistant("m1", vec![call("c2", "Bash", &json!({}))]);
    log.user_blocks(vec![result("c2", "two")]);
    check(
        &log,
        "user: go
         assistant: calls Bash (c1)
         assistant: calls Bash (c2)
         user: result of c1: one
         user: result of c2: two",
    );
}

#[test]
fn an_interrupted_call_is_answered_and_a_late_result_becomes_text() {
    let mut log = LogBuilder::new();
    log.user("go");
    log.assistant("m1", vec![call("c1", "Bash", &json!({}))]);
    log.user("never mind");
    log.assistant("m2", vec![Block::text("fine")]);
    log.user_blocks(vec![result("c1", "finally")]);
    check(
        &log,
        "user: go
         assistant: calls Bash (c1)
         user: result of c1: [No result: the call was interrupted before it returned.]
         user: never mind
         assistant: fine
         user: [Late result of the tool call c1]
         finally",
    );
}

#[test]
fn the_first_result_wins() {
    let mut log = LogBuilder::new();
    log.user("go");
    log.assistant("m1", vec![call("c1", "Bash", &json!({}))]);
    log.user_blocks(vec![result("c1", "first")]);
    log.user_blocks(vec![result("c1", "first")]);
    log.user_blocks(vec![result("c1", "second")]);
    check(
        &log,
        "user: go
         assistant: calls Bash (c1)
         user: result of c1: first
         user: [Late result of the tool call c1]
         second",
    );
}

#[test]
fn what_the_api_refuses_is_left_out() {
    let mut log = LogBuilder::new();
    log.user_blocks(vec![Block::text(""), Block::text("go")]);
    log.assistant(
        "m1",
        vec![
            unsigned_thinking("cut off"),
            Block::text("ok"),
            thinking("unfinished"),
        ],
    );
    log.user("next");
    check(
        &log,
        "user: go
         assistant: ok
         user: next",
    );
}

#[test]
fn records_that_are_not_for_the_model_stay_out() {
    let mut log = LogBuilder::new();
    log.user("go");
    let error = Message {
        origin: MessageOrigin::ApiError,
        ..Message::assistant(
            "m1".into(),
            "<synthetic>",
            vec![Block::text("API Error: overloaded")],
        )
    };
    log.push(Body::Message(error));
    check(&log, "user: go");
}

#[test]
fn a_conversation_never_begins_with_the_assistant() {
    let mut log = LogBuilder::new();
    log.assistant("m1", vec![Block::text("as I said")]);
    log.user("go on");
    check(
        &log,
        "user: [The conversation continues below.]
         assistant: as I said
         user: go on",
    );
}

#[test]
fn thinking_of_another_family_is_left_out() {
    let mut log = LogBuilder::new();
    log.user("go");
    let message = Message::assistant(
        "m1".into(),
        "claude-fable-5-1",
        vec![thinking("deep"), Block::text("done")],
    );
    log.push(Body::Message(message));
    log.user("next");
    let models = Arc::new(ModelTable::builtin().clone());
    check_for(
        &log,
        Target::new(&models, "claude-fable-5-1"),
        "user: go
         assistant: thinks deep
         assistant: done
         user: next",
    );
    check_for(
        &log,
        Target::new(&models, "claude-opus-4-6"),
        "user: go
         assistant: done
         user: next",
    );
}

#[test]
fn a_preview_replaces_what_was_not_sent_and_nothing_else() {
    let mut log = LogBuilder::new();
    log.user("go");
    log.assistant("m1", vec![call("c1", "Bash", &json!({}))]);
    let seq = log.user_blocks(vec![result("c1", "very long")]).seq;
    let decision = ReplacementDecision::Replaced {
        preview: result("c1", "preview"),
        blob: Hash::of(b"very long"),
    };
    let replacement = Body::Replacement(Replacement {
        key: BlockKey::new(seq, 0),
        decision,
    });
    let mut early = log.clone();
    early.push(replacement.clone());
    check(
        &early,
        "user: go
         assistant: calls Bash (c1)
         user: result of c1: preview",
    );
    log.assistant("m2", vec![Block::text("seen it")]);
    log.push(replacement);
    check(
        &log,
        "user: go
         assistant: calls Bash (c1)
         user: result of c1: very long
         assistant: seen it",
    );
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
    // What the provider clears is an observation.
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
        keep: &[keep],
        place,
    });
    let boundary = Boundary {
        trigger: Trigger::Auto,
        kind: BoundaryKind::Full,
        pre_tokens: None,
        post_tokens: None,
        summary: summary.to_vec(),
        restored: restored.to_vec(),
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
    let hook = dormouse_core::record::Fragment {
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
    // Everything after the boundary stays, except what the boundary caused.
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
