//! Invariants of the view, over sessions whose rewrites the layers planned.

use crate::layered_log::{Layered, Step, steps};
use crate::random_log::{Op, targets};
use crate::view_properties::{resume, wire};
use bytes::Bytes;
use dormouse_context::category::Category;
use dormouse_context::compaction::{STREAM_RETRIES, TOO_LONG_TRIES, cut, summaries_in};
use dormouse_context::evidence;
use dormouse_context::segment::SegmentList;
use dormouse_context::target::Target;
use dormouse_context::validate;
use dormouse_core::block::BlockKind;
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, CallId, Seq};
use dormouse_core::models::ThinkingBinding;
use dormouse_core::record::{Body, Role};
use dormouse_core::weight::Weight;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

/// Most requests for a summary in one compaction: the first, one per broken stream and per "too
/// long", and a cold one.
fn most_asked() -> usize {
    usize::try_from(STREAM_RETRIES + TOO_LONG_TRIES).expect("a small number") + 2
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn every_view_is_acceptable(steps in steps(50, true), target in targets()) {
        let mut layered = Layered::new(target);
        for step in &steps {
            layered.step(step);
            let view = layered.session.view();
            let list = view.segments();
            prop_assert_eq!(validate::consistent(list.iter()), Ok(()), "after {:?}: {:#?}", step, wire(&list));
            prop_assert!(layered.asked <= most_asked(), "{} questions", layered.asked);
        }
    }

    #[test]
    fn resuming_gives_the_unbroken_session(steps in steps(50, true), target in targets()) {
        let mut layered = Layered::new(target);
        for step in &steps {
            layered.step(step);
            let path = layered.session.path();
            if let Some(resumed) = resume(&path, &layered.session) {
                let unbroken = layered.conversation();
                prop_assert_eq!(wire(&resumed.view().segments()), wire(&unbroken.view().segments()));
                prop_assert_eq!(resumed.view().extent(), unbroken.view().extent());
                prop_assert_eq!(resumed.state(), unbroken.state());
                prop_assert_eq!(resumed.economy(), unbroken.economy());
                prop_assert_eq!(resumed.count(&Weight::default()), unbroken.count(&Weight::default()));
            }
        }
    }

    #[test]
    fn only_a_rewrite_changes_what_was_sent(steps in steps(50, false), target in targets()) {
        let mut layered = Layered::new(target);
        let mut sent: Option<Vec<(Role, Bytes)>> = None;
        for step in &steps {
            let happened = layered.step(step);
            if step.is_rewrite() && happened {
                sent = None;
                continue;
            }
            let now = wire(&layered.session.view().segments());
            if let Some(sent) = &sent {
                prop_assert!(now.starts_with(sent), "{:?} changed what was sent", step);
            }
            if let Some(Body::Request(_)) = layered.session.path().last().map(|record| &record.body) {
                sent = Some(now);
            }
        }
    }

    #[test]
    fn bound_thinking_never_stands_behind_a_change(steps in steps(50, false), target in targets()) {
        let target = Target { binding: ThinkingBinding::Prefix, ..target };
        let mut layered = Layered::new(target);
        let mut bound: HashMap<BlockKey, Hash> = HashMap::new();
        for step in &steps {
            layered.step(step);
            let list = layered.session.view().segments();
            for (at, segment) in list.iter().enumerate() {
                if segment.block.kind().is_thinking() {
                    let front = *bound.entry(segment.origin).or_insert_with(|| list.chain(at));
                    prop_assert_eq!(front, list.chain(at), "{:?} moved bound thinking", step);
                }
            }
        }
    }

    #[test]
    fn every_message_of_the_user_is_accounted_for(steps in steps(50, false), target in targets()) {
        let mut layered = Layered::new(target);
        for step in &steps {
            layered.step(step);
            let conversation = layered.conversation();
            let list = conversation.view().segments();
            let in_view: HashSet<Seq> = list.iter().map(|segment| segment.origin.record).collect();
            let waiting: HashSet<Seq> = conversation.view().waiting().map(|segment| segment.origin.record).collect();
            let text: Vec<String> = list
                .iter()
                .filter(|segment| segment.category == Category::Summary)
                .filter_map(|segment| segment.block.readable_text())
                .collect();
            let found = evidence::accounts_for_all(
                &conversation.state().chronicle,
                &text.join("\n"),
                |seq| in_view.contains(&seq) || waiting.contains(&seq),
            );
            prop_assert_eq!(found, Ok(()), "after {:?}", step);
        }
    }

    #[test]
    fn no_cut_parts_a_call_from_its_result(steps in steps(50, true), target in targets()) {
        let mut layered = Layered::new(target);
        for step in &steps {
            layered.step(step);
        }
        let list = layered.session.view().segments();
        let answered: HashMap<usize, usize> = pairs(&list);
        let cuts = cut::cuts(&list);
        prop_assert_eq!(cuts.first().copied(), (!list.is_empty()).then_some(0));
        for cut in cuts {
            for (call, result) in &answered {
                prop_assert_eq!(*call < cut, *result < cut, "a cut at {} parts {} from {}", cut, call, result);
            }
            // Ranges of the kept part name its records, and no record that is removed whole.
            let ranges = cut::ranges(&list, |at| at >= cut);
            let staying: HashSet<Seq> = list.iter().skip(cut).map(|segment| segment.origin.record).collect();
            for segment in list.iter() {
                let named = ranges.iter().any(|range| range.contains(segment.origin.record));
                prop_assert_eq!(named, staying.contains(&segment.origin.record));
            }
        }
    }

    #[test]
    fn a_summary_never_crowds_out_the_one_before(
        steps in steps(30, false),
        replies in crate::layered_log::replies(),
        target in targets(),
    ) {
        // The content of the first summary has to survive a second compaction without a model.
        let target = Target { binding: ThinkingBinding::None, ..target };
        let mut layered = Layered::new(target);
        for step in steps.iter().filter(|step| !step.is_rewrite()) {
            layered.step(step);
        }
        let compact = |allowed, replies| Step::Compact { scope: 0, at: 0, manual: true, allowed, policy: 0, replies };
        let good = vec![crate::layered_log::Reply::Good];
        layered.step(&compact(true, good));
        let list = layered.session.view().segments();
        if !summaries_in(list.iter()).concat().contains("port 8080") {
            return Ok(());
        }
        layered.step(&Step::Says(9_000));
        layered.step(&Step::Plain(Op::Request));
        layered.step(&Step::Plain(Op::Assistant { calls: 0, think: 0, text: true, same: false, usage: None }));
        if layered.step(&compact(false, replies)) {
            let list = layered.session.view().segments();
            let summaries = summaries_in(list.iter());
            prop_assert_eq!(summaries.len(), 1);
            prop_assert!(summaries[0].contains("port 8080"), "{}", summaries[0]);
        }
    }
}

/// Position of each call's result.
fn pairs(list: &SegmentList) -> HashMap<usize, usize> {
    let mut open: HashMap<CallId, usize> = HashMap::new();
    let mut pairs = HashMap::new();
    for (at, segment) in list.iter().enumerate() {
        match (segment.block.kind(), segment.block.call()) {
            (BlockKind::ToolUse, Some(call)) => {
                open.insert(call.clone(), at);
            }
            (BlockKind::ToolResult, Some(call)) => {
                pairs.extend(open.remove(call).map(|call| (call, at)));
            }
            _ => {}
        }
    }
    pairs
}

#[test]
fn the_settings_of_the_project_are_the_ones_tested() {
    // The bound on requests follows from two settings; both are small.
    assert_eq!(most_asked(), 7);
}
