//! Token accounting over whole logs.

use dormouse_context::breakdown::breakdown;
use dormouse_context::category::Category;
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_context::tokens::{Basis, Count};
use dormouse_core::block::Block;
use dormouse_core::id::{BlockKey, Seq};
use dormouse_core::models::ModelTable;
use dormouse_core::record::{
    Body, ClearedBlock, Clearing, FragmentKind, Message, Purpose, UsageReport,
};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_core::weight::Weight;
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

/// A model with prices in the table, so that costs are known.
const MODEL: &str = "claude-opus-4-6";

fn usage(prompt: u64, output: u64) -> TokenUsage {
    TokenUsage {
        cache_read: Tokens(prompt),
        output: Tokens(output),
        ..TokenUsage::default()
    }
}

fn answer(log: &mut LogBuilder, id: &str, text: &str, usage: TokenUsage) {
    let mut message = Message::assistant(id.into(), MODEL, vec![Block::text(text)]);
    message.usage = Some(usage);
    log.push(Body::Message(message));
}

fn fold(log: &LogBuilder) -> Conversation {
    let target = Target::new(&Arc::new(ModelTable::builtin().clone()), MODEL);
    Conversation::fold(&path(log.records(), Leaf::Newest), target)
}

fn count(log: &LogBuilder) -> Count {
    fold(log).count(&Weight::default())
}

#[test]
fn before_any_measurement_the_estimate_is_a_third_more() {
    let mut log = LogBuilder::new();
    log.user(&"x".repeat(4_000));
    let expected = Count {
        tokens: Tokens(1_334),
        basis: Basis::Estimated,
    };
    assert_eq!(count(&log), expected);
}

#[test]
fn measured_plus_what_was_appended_since() {
    let mut log = LogBuilder::new();
    log.user("go");
    answer(&mut log, "m1", "ok", usage(50_000, 100));
    let measured = Count {
        tokens: Tokens(50_100),
        basis: Basis::Measured,
    };
    assert_eq!(count(&log), measured);
    log.user(&"x".repeat(4_000));
    assert_eq!(count(&log).tokens, Tokens(51_100));
}

#[test]
fn records_of_one_response_count_once_and_the_last_wins() {
    let mut log = LogBuilder::new();
    log.user("go");
    answer(&mut log, "m1", "one", usage(50_000, 1));
    answer(&mut log, "m1", "two", usage(50_000, 300));
    log.push(Body::Usage(Box::new(UsageReport {
        message: Some("m1".into()),
        model: MODEL.to_owned(),
        usage: usage(50_000, 301),
        purpose: Purpose::Turn,
        cache: None,
    })));
    assert_eq!(count(&log).tokens, Tokens(50_301));
    let conversation = fold(&log);
    let sums = conversation.state().totals.sums(ModelTable::builtin());
    let total = sums.get(MODEL).copied().unwrap_or_default();
    assert_eq!((total.responses, total.usage), (1, usage(50_000, 301)));
}

#[test]
fn many_responses_settle_and_still_count_once() {
    let mut log = LogBuilder::new();
    for n in 0..200 {
        log.user("go");
        answer(&mut log, &format!("m{n}"), "a", usage(1_000, 1));
        answer(&mut log, &format!("m{n}"), "b", usage(1_000, 10));
    }
    let sums = fold(&log).state().totals.sums(ModelTable::builtin());
    let total = sums.get(MODEL).copied().unwrap_or_default();
    assert_eq!((total.responses, total.usage), (200, usage(200_000, 2_000)));
    // 200,000 tokens read at $0.50 and 2,000 written at $25 a million.
    assert_eq!(total.cost.to_string(), "$0.1500");
}

#[test]
fn a_rewrite_makes_the_figure_an_estimate_until_the_next_response() {
    let mut log = LogBuilder::new();
    log.user("go");
    let mut message = Message::assistant("m1".into(), MODEL, vec![call("c1", "Bash", &json!({}))]);
    message.usage = Some(usage(10_000, 0));
    log.push(Body::Message(message));
    log.user_blocks(vec![result("c1", &"x".repeat(40_000))]);
    answer(&mut log, "m2", "seen", usage(20_000, 0));
    log.push(Body::Cleared(Clearing {
        blocks: vec![ClearedBlock {
            key: BlockKey::new(Seq::new(3), 0),
            block: result("c1", "gone"),
        }],
        ..Clearing::default()
    }));
    let after = count(&log);
    assert_eq!(after.basis, Basis::Estimated);
    assert!(
        (Tokens(9_900)..Tokens(10_100)).contains(&after.tokens),
        "{after:?}"
    );
    log.user("next");
    answer(&mut log, "m3", "ok", usage(10_020, 5));
    assert_eq!(
        count(&log),
        Count {
            tokens: Tokens(10_025),
            basis: Basis::Measured
        }
    );
}

#[test]
fn estimates_learn_from_what_was_measured() {
    let mut log = LogBuilder::new();
    let mut prompt = 20_000;
    for n in 0..10 {
        log.user(&"x".repeat(8_000));
        // 2,000 tokens by the table, 3,000 by the provider.
        prompt += 3_000;
        answer(&mut log, &format!("m{n}"), "", usage(prompt, 0));
    }
    let conversation = fold(&log);
    let calibration = conversation.state().calibration[MODEL];
    assert_eq!(calibration.thousandths(), 1_500);
    assert_eq!(calibration.drift_percent(), 50);
    log.user(&"x".repeat(8_000));
    assert_eq!(count(&log).tokens, Tokens(prompt + 3_000));
}

#[test]
fn categories_add_up_to_the_count() {
    let mut log = LogBuilder::new();
    log.user(&"x".repeat(4_000));
    log.fragment(FragmentKind::Memory, &"m".repeat(400));
    let reads = json!({ "file_path": "/a.rs" });
    for n in 0..3 {
        let id = format!("c{n}");
        log.assistant(&format!("m{n}"), vec![call(&id, "Read", &reads)]);
        log.user_blocks(vec![result(&id, &"y".repeat(4_000))]);
    }
    answer(&mut log, "m9", "done", usage(40_000, 100));
    let conversation = fold(&log);
    let used = conversation.count(&Weight::default()).tokens;
    let parts = breakdown(&conversation, None, used);
    assert_eq!(parts.categories.values().copied().sum::<Tokens>(), used);
    assert!(parts.prefix_inferred);
    assert_eq!(parts.categories[&Category::Human], Tokens(1_000));
    assert_eq!(parts.categories[&Category::Memory], Tokens(100));
    assert_eq!(parts.categories[&Category::ToolResults], Tokens(3_000));
    assert_eq!(
        parts.duplicate_reads,
        Tokens(2_000),
        "two earlier copies of the same file"
    );
    assert!(parts.categories[&Category::System] > Tokens(35_000));
}
