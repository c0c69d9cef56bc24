//! The cost of a rewrite grows linearly with the conversation.
//!
//! Two lengths are timed in turns within one run and compared with each other, so that neither
//! machine nor build matters. Tenfold length takes about ten times as long if each segment costs
//! the same, and about a hundred times if it is searched for in a list.

#![expect(
    clippy::disallowed_methods,
    reason = "compares two durations of one run with each other"
)]

use dormouse_context::boundary::{Compaction, SummaryPlace};
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{BlockKey, Seq};
use dormouse_core::models::ModelTable;
use dormouse_core::record::{
    Body, ClearedBlock, Clearing, FoldSpan, Folding, Record, Replacement, ReplacementDecision,
    SeqRange, Snip,
};
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result};
use dormouse_testkit::conversation::{Shape, session};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Length of the shorter conversation: enough that a quadratic search dominates everything else.
const FEW: usize = 1_000;
/// Tenfold, so that linear cost gives a ratio of ten and quadratic cost one of a hundred.
const MANY: usize = 10 * FEW;

/// Largest accepted ratio, between ten for linear and a hundred for quadratic cost. Wide to both
/// sides: a longer conversation also leaves the caches, and a busy machine interrupts it more
/// often.
const MOST: f64 = 40.0;

/// Fewest and most runs of each length. The shortest run counts, because it was interrupted least;
/// on a busy machine it takes more runs to find it. Linear cost shows sooner or later, quadratic
/// cost never does.
const RUNS: std::ops::RangeInclusive<usize> = 3..=20;

struct Given {
    log: LogBuilder,
    conversation: Conversation,
}

impl Given {
    fn rounds(results: usize) -> Self {
        let shape = Shape {
            messages: results * 2,
            result_chars: 8,
            text_chars: 8,
        };
        Self::of(session(shape))
    }

    /// All calls in one response.
    fn parallel(results: usize) -> Self {
        let ids: Vec<String> = (0..results).map(|n| format!("call_{n}")).collect();
        let calls = ids.iter().map(|id| call(id, "Bash", &json!({})));
        let mut log = LogBuilder::new();
        log.user("all at once");
        log.assistant("msg_1", calls.collect());
        // In reverse order, so that a scan never finds a result at once.
        log.user_blocks(ids.iter().rev().map(|id| result(id, "done")).collect());
        log.assistant("msg_2", vec![Block::text("all of them")]);
        Self::of(log)
    }

    fn of(log: LogBuilder) -> Self {
        let target = Target::new(&Arc::new(ModelTable::builtin().clone()), "model");
        let conversation = Conversation::fold(&path(log.records(), Leaf::Newest), target);
        Self { log, conversation }
    }

    fn results(&self) -> Vec<BlockKey> {
        let segments = self.conversation.view().segments();
        let results = segments
            .iter()
            .filter(|segment| segment.block.kind() == BlockKind::ToolResult);
        results.map(|segment| segment.origin).collect()
    }

    /// Every second message as a range of its own.
    fn ranges(&self) -> impl Iterator<Item = SeqRange> {
        let last = self.log.next_seq().get();
        (2..last).step_by(4).map(|seq| SeqRange {
            first: Seq::new(seq),
            last: Seq::new(seq + 1),
        })
    }

    fn clearing(&self) -> Body {
        let results = self.results().into_iter();
        let blocks = results.map(|key| ClearedBlock {
            key,
            block: Block::text("cleared"),
        });
        Body::Cleared(Clearing {
            blocks: blocks.collect(),
            ..Clearing::default()
        })
    }
}

fn timed(given: &Given, run: &impl Fn(&Given, Conversation)) -> Duration {
    let conversation = given.conversation.clone();
    let start = Instant::now();
    run(given, conversation);
    start.elapsed()
}

fn check(name: &str, given: impl Fn(usize) -> Given, run: impl Fn(&Given, Conversation)) {
    let (few, many) = (given(FEW), given(MANY));
    let (mut short, mut long) = (Duration::MAX, Duration::MAX);
    let mut ratio = f64::MAX;
    for run_number in 1..=*RUNS.end() {
        short = short.min(timed(&few, &run));
        long = long.min(timed(&many, &run));
        ratio = long.as_secs_f64() / short.as_secs_f64();
        if run_number >= *RUNS.start() && ratio < MOST {
            return;
        }
    }
    panic!("{name}: {ratio:.1} times for tenfold length");
}

/// Makes a record for the shorter and the longer conversation, and times applying it.
fn check_record(name: &str, given: impl Fn(usize) -> Given, body: impl Fn(&Given) -> Body) {
    let with_record = |results| {
        let mut given = given(results);
        let body = body(&given);
        given.log.push(body);
        given
    };
    check(name, with_record, |given, mut conversation| {
        let newest: Option<&Record> = given.log.records().last();
        conversation.apply(newest.expect("a record"));
    });
}

#[test]
fn rewrites_are_linear() {
    check_record("clearing", Given::rounds, Given::clearing);
    check_record("clearing of one round", Given::parallel, Given::clearing);
    check_record("taking blocks out", Given::rounds, |given| {
        Body::Cleared(Clearing {
            thinking: given.results(),
            ..Clearing::default()
        })
    });
    check_record("snip", Given::rounds, |given| {
        Body::Snip(Snip {
            ranges: given.ranges().collect(),
            thinking: given.results(),
        })
    });
    check_record("fold", Given::rounds, |given| {
        let spans = given.ranges().map(|range| FoldSpan {
            range,
            block: Block::text("folded"),
        });
        Body::Fold(Folding {
            spans: spans.collect(),
            thinking: given.results(),
        })
    });
}

#[test]
fn composing_a_boundary_is_linear() {
    check("boundary", Given::rounds, |given, conversation| {
        let keep: Vec<SeqRange> = given.ranges().collect();
        let compaction = Compaction {
            seq: given.log.next_seq(),
            id: given.log.next_id(),
            summary: &[Block::text("summary")],
            restored: &[],
            spliced: &[],
            keep: &keep,
            place: SummaryPlace::Front,
        };
        conversation.compacted(&compaction);
    });
}

#[test]
fn folding_one_round_of_many_calls_is_linear() {
    check("one round", Given::parallel, |given, conversation| {
        let target = conversation.view().target().clone();
        Conversation::fold(&path(given.log.records(), Leaf::Newest), target);
    });
}

#[test]
fn previews_decided_before_their_message_are_linear() {
    check("previews", Given::rounds, |given, mut conversation| {
        let first = given.log.next_seq().get();
        let mut log = LogBuilder::starting_at(Seq::new(first), "p");
        // One preview for every ten messages that are already there.
        for n in 0..given.log.records().len() as u64 / 10 {
            let decision = ReplacementDecision::Replaced {
                preview: result("call", "preview"),
                blob: Hash::of(b"whole"),
                file: None,
            };
            let key = BlockKey::new(Seq::new(first + 10_000_000 + n), 0);
            let record = log.push(Body::Replacement(Replacement { key, decision }));
            conversation.apply(record);
        }
    });
}
