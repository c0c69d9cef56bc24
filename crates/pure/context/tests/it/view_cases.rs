//! Effects of each kind of record on the prompt, case by case.

use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_context::undo;
use dormouse_context::validate;
use dormouse_context::view::View;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::BlockKey;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{
    Body, FragmentKind, Message, MessageOrigin, Replacement, ReplacementDecision,
};
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

pub(crate) fn check_for(log: &LogBuilder, target: Target, expected: &str) {
    let records = path(log.records(), Leaf::Newest);
    let view = undo::fold_path(&records, target);
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(show(&view), expected.join("\n"));
    assert_eq!(validate::consistent(view.segments().iter()), Ok(()));
}

pub(crate) fn check(log: &LogBuilder, expected: &str) {
    check_for(log, target(), expected);
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
        file: None,
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
