//! Cost of applying a rewrite, for two lengths of the conversation in one run.
//!
//! `cargo bench -p dormouse-context --bench rewrite` prints divan's table and then the ratio that
//! the project promises: ten times the results may cost about ten times as much, not a hundred.

#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock and prints"
)]

use divan::{Bencher, black_box};
use dormouse_context::conversation::Conversation;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, ClearedBlock, Clearing, Record};
use dormouse_testkit::conversation::{Shape, session};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The length the issue names: a conversation that clears fifty thousand results at once.
const MANY: usize = 50_000;

/// A tenth of it: far enough apart that linear and quadratic cost cannot be confused.
const FEW: usize = MANY / 10;

/// A conversation of so many tool rounds, and the record that clears every result in it.
struct Fixture {
    conversation: Conversation,
    clearing: Record,
}

impl Fixture {
    fn new(results: usize) -> Self {
        let mut log = session(Shape {
            messages: results * 2,
            // Short texts: a rewrite handles blocks by pointer, so their length plays no part.
            result_chars: 100,
            text_chars: 20,
        });
        let target = Target::new(&Arc::new(ModelTable::builtin().clone()), "model");
        let conversation = Conversation::fold(&path(log.records(), Leaf::Newest), target);
        let segments = conversation.view().segments();
        let results = segments
            .iter()
            .filter(|segment| segment.block.kind() == BlockKind::ToolResult);
        let blocks = results
            .map(|segment| ClearedBlock {
                key: segment.origin,
                block: Block::tool_result(
                    segment.block.call().expect("a call"),
                    "[cleared]",
                    false,
                ),
            })
            .collect();
        let clearing = log.push(Body::Cleared(Clearing {
            blocks,
            ..Clearing::default()
        }));
        Self {
            conversation,
            clearing: clearing.clone(),
        }
    }

    /// The conversation behind the clearing. The clone is part of the figure: it copies pointers.
    fn clear(&self) -> Conversation {
        let mut conversation = self.conversation.clone();
        conversation.apply(black_box(&self.clearing));
        conversation
    }
}

#[divan::bench(args = [FEW, MANY], sample_count = 20)]
fn clear_results(bencher: Bencher<'_, '_>, results: usize) {
    let fixture = Fixture::new(results);
    bencher.bench_local(|| fixture.clear());
}

fn median(runs: usize, fixture: &Fixture) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            let cleared = black_box(fixture.clear());
            let taken = start.elapsed();
            drop(cleared);
            taken
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}

fn main() {
    divan::main();
    let (few, many) = (Fixture::new(FEW), Fixture::new(MANY));
    let (short, long) = (median(21, &few), median(21, &many));
    println!(
        "\nclearing {MANY} results: {long:?}   (promised ≤ 50 ms)\n\
         clearing {MANY} results / clearing {FEW}: {:.1}×   (promised ≤ 20; {short:?})",
        long.as_secs_f64() / short.as_secs_f64()
    );
}
