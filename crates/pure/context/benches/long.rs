//! Work on very long conversations, at two lengths in one run.
//!
//! `cargo bench -p dormouse-context --bench long` prints divan's table and then the figures that
//! the project promises: clearing ten times the results takes about ten times as long, not a
//! hundred; updating the list of files read costs what a round brought.

#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock and prints"
)]

use divan::{Bencher, black_box};
use dormouse_context::conversation::Conversation;
use dormouse_context::files_read::FilesRead;
use dormouse_context::path::{Leaf, path};
use dormouse_context::target::Target;
use dormouse_context::view::View;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, ClearedBlock, Clearing, Record};
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::call;
use dormouse_testkit::conversation::{Shape, session};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Results cleared at once: the length at which the quadratic version took seconds.
const MANY: usize = 50_000;

/// A tenth of it: far enough apart to tell linear from quadratic cost.
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
            // Short texts: a rewrite moves blocks by pointer, so their length has no effect.
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

    /// Conversation after the clearing. The clone is part of the figure: it copies pointers.
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

/// One more round: the view behind it, and the index before it.
fn round(fixture: &Fixture) -> (View, FilesRead) {
    let mut index = FilesRead::default();
    let mut view = fixture.conversation.view().clone();
    index.update(&view, reads_files);
    let mut log = LogBuilder::starting_at(fixture.clearing.seq, "n");
    let input = json!({ "file_path": "/src/new.rs" });
    view.apply(log.assistant("msg_new", vec![call("toolu_new", "Read", &input)]));
    (view, index)
}

fn reads_files(tool: &str) -> bool {
    tool == "Read"
}

/// Paths by a scan of every segment, the baseline for the index.
fn walk(view: &View) -> Vec<String> {
    let segments = view.segments();
    let calls = segments.iter().map(|segment| &segment.block);
    let reads = calls.filter(|block| {
        block.kind() == BlockKind::ToolUse && block.tool().is_some_and(reads_files)
    });
    reads
        .filter_map(|call| call.input_text("file_path"))
        .collect()
}

#[divan::bench(args = [FEW, MANY], sample_count = 20)]
fn files_read_after_a_round(bencher: Bencher<'_, '_>, results: usize) {
    let (view, index) = round(&Fixture::new(results));
    bencher
        .with_inputs(|| index.clone())
        .bench_local_values(|mut index| {
            index.update(&view, reads_files);
            (index.paths(), index)
        });
}

#[divan::bench(args = [FEW, MANY], sample_count = 20)]
fn files_read_by_a_walk(bencher: Bencher<'_, '_>, results: usize) {
    let (view, _) = round(&Fixture::new(results));
    bencher.bench_local(|| walk(&view));
}

/// Median time of many runs; `given` is made before the clock starts, and the result dropped after
/// it has stopped.
fn median<G, T>(runs: usize, given: impl Fn() -> G, run: impl Fn(G) -> T) -> Duration {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let given = given();
            let start = Instant::now();
            let out = black_box(run(given));
            let taken = start.elapsed();
            drop(out);
            taken
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}

fn main() {
    divan::main();
    let (few, many) = (Fixture::new(FEW), Fixture::new(MANY));
    let clearing = |fixture: &Fixture| median(41, || (), |()| fixture.clear());
    let (short, long) = (clearing(&few), clearing(&many));
    println!(
        "\nclearing {MANY} results: {long:?}   (promised ≤ 50 ms)\n\
         clearing {MANY} results / clearing {FEW}: {:.1}×   (promised ≤ 20; {short:?})",
        long.as_secs_f64() / short.as_secs_f64()
    );
    let (view, index) = round(&many);
    let following = median(
        41,
        || index.clone(),
        |mut index| {
            index.update(&view, reads_files);
            (index.paths(), index)
        },
    );
    let walking = median(11, || (), |()| walk(&view));
    println!(
        "files read after a round, {} messages: {following:?}   (a walk takes {walking:?})",
        MANY * 2
    );
}
