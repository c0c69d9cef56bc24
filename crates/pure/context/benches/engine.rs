//! Engine time per turn, compared with memory copies measured in the same run.
//!
//! `cargo bench -p dormouse-context` prints divan's table and then the ratios that the project
//! promises: joining the body against copying the same bytes and against serialising typed blocks,
//! planning at 10,000 messages against 100, asking all layers in a nearly full window, bytes
//! serialised in a turn against bytes of new content, chunks copied by a fork.

#![expect(clippy::expect_used, reason = "a benchmark fails by panicking")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock and prints"
)]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use divan::{Bencher, black_box};
use dormouse_context::conversation::Conversation;
use dormouse_context::economy::{Prices, Rates};
use dormouse_context::layers::{
    self, LayerInputs, LayerSettings, LayerState, LayersPlan, Moment, NotesStatus,
};
use dormouse_context::ledger::{Ledger, MarkerTtls};
use dormouse_context::path::{Leaf, path};
use dormouse_context::plan::{RequestInputs, RequestPlan, plan_request};
use dormouse_context::policy::{Classic, Economic, Policy};
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_context::target::Target;
use dormouse_context::window::{Relief, Thresholds};
use dormouse_core::block::Block;
use dormouse_core::json::{self, RawJson};
use dormouse_core::models::ModelTable;
use dormouse_core::record::Ttl;
use dormouse_core::settings::{CacheTtl, Settings, WindowSettings};
use dormouse_core::units::{Millis, Tokens};
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result};
use dormouse_testkit::conversation::{Shape, prose, session};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// A model with prices, a window and a cache minimum in the table.
const MODEL: &str = "claude-opus-4-6";

struct Fixture {
    log: LogBuilder,
    conversation: Conversation,
    ledger: Ledger,
    prefix: Arc<RenderedPrefix>,
    params: RawJson,
    thresholds: Thresholds,
}

impl Fixture {
    fn new(shape: Shape) -> Self {
        let log = session(shape);
        let models = Arc::new(ModelTable::builtin().clone());
        let target = Target::new(&models, MODEL);
        let records = path(log.records(), Leaf::Newest);
        let conversation = Conversation::fold(&records, target);
        let tools = (0..20)
            .map(|n| {
                let description = prose(n, 400);
                Part::tool(&json!({ "name": format!("tool_{n}"), "description": description }))
            })
            .collect::<Result<Vec<_>, _>>()
            .expect("tools");
        let system = vec![Part::block("system", &Block::text(&prose(1, 8_000)))];
        let params = json!({ "model": MODEL, "max_tokens": 32_000, "stream": true });
        Self {
            log,
            conversation,
            ledger: Ledger::default(),
            prefix: Arc::new(RenderedPrefix::new(tools, system, Vec::new())),
            params: RawJson::from_value(&params).expect("parameters"),
            thresholds: Thresholds::new(
                Tokens(10_000_000),
                Tokens(128_000),
                &WindowSettings::default(),
            ),
        }
    }

    fn plan(&self) -> RequestPlan {
        self.plan_for(&self.conversation)
    }

    fn plan_for(&self, conversation: &Conversation) -> RequestPlan {
        plan_request(&RequestInputs {
            conversation,
            ledger: &self.ledger,
            prefix: &self.prefix,
            params: &self.params,
            thresholds: &self.thresholds,
            relief: Relief::Available,
            ttls: MarkerTtls {
                prefix: Ttl::OneHour,
                messages: Ttl::FiveMinutes,
            },
            now: Millis(1_770_000_000_000),
            cached: dormouse_context::plan::CachedPart::Whole,
            ending: dormouse_context::plan::Ending::User,
            distil: &[],
        })
    }

    /// Sends the conversation as it is, so that the ledger has a previous request to predict from.
    fn after_a_request(mut self) -> Self {
        let plan = self.plan();
        let markers = plan.markers.clone();
        self.ledger
            .sent(plan.into_shape(), markers, Millis(1_769_999_999_000));
        self
    }
}

/// The same content as typed values, as most clients hold it; the baseline for serialising.
#[derive(Serialize)]
struct TypedBody {
    model: &'static str,
    max_tokens: u32,
    tools: Vec<Value>,
    system: Vec<Value>,
    messages: Vec<TypedMessage>,
}

#[derive(Serialize)]
struct TypedMessage {
    role: &'static str,
    content: Vec<TypedBlock>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum TypedBlock {
    Text {
        text: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: String,
    },
}

fn typed(fixture: &Fixture) -> TypedBody {
    let plan = fixture.plan();
    let body: Value = serde_json::from_slice(&plan.body()).expect("a body");
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let block = |value: &Value| match value["type"].as_str() {
        Some("tool_use") => TypedBlock::ToolUse {
            id: text(value, "id"),
            name: text(value, "name"),
            input: value["input"].clone(),
        },
        Some("tool_result") => TypedBlock::ToolResult {
            tool_use_id: text(value, "tool_use_id"),
            content: text(value, "content"),
        },
        _ => TypedBlock::Text {
            text: text(value, "text"),
        },
    };
    let list = |name: &str| body[name].as_array().cloned().unwrap_or_default();
    let messages = list("messages").into_iter().map(|message| TypedMessage {
        role: if message["role"] == "user" {
            "user"
        } else {
            "assistant"
        },
        content: message["content"]
            .as_array()
            .into_iter()
            .flatten()
            .map(block)
            .collect(),
    });
    TypedBody {
        model: MODEL,
        max_tokens: 32_000,
        tools: list("tools"),
        system: list("system"),
        messages: messages.collect(),
    }
}

/// Shared by all benchmarks: building a million tokens takes longer than measuring them.
static MILLION: LazyLock<Fixture> =
    LazyLock::new(|| Fixture::new(Shape::MILLION_TOKENS).after_a_request());

#[divan::bench]
fn copy_the_same_bytes(bencher: Bencher<'_, '_>) {
    let body = MILLION.plan().body();
    bencher.bench_local(|| black_box(&body).clone());
}

#[divan::bench]
fn join_the_body(bencher: Bencher<'_, '_>) {
    let plan = MILLION.plan();
    bencher.bench_local(|| black_box(&plan).body());
}

#[divan::bench]
fn serialise_typed_blocks(bencher: Bencher<'_, '_>) {
    let body = typed(&MILLION);
    bencher.bench_local(|| serde_json::to_vec(black_box(&body)).expect("JSON"));
}

#[divan::bench(args = [100, 1_000, 10_000, 100_000])]
fn plan_next_request(bencher: Bencher<'_, '_>, messages: usize) {
    let shape = Shape {
        messages,
        result_chars: 20,
        text_chars: 20,
    };
    let fixture = Fixture::new(shape).after_a_request();
    bencher.bench_local(|| black_box(&fixture).plan());
}

/// Inputs of the layers' planner, as before every request.
struct Layers {
    policy: &'static dyn Policy,
    settings: LayerSettings,
    thresholds: Thresholds,
    rates: Rates,
    state: LayerState,
}

impl Layers {
    /// A nearly full window, in which no layer can decide at once. The first plan is made here, so
    /// that the benchmark measures the incremental one.
    fn new(policy: &'static dyn Policy, fixture: &Fixture) -> Self {
        let mut layers = Self {
            policy,
            settings: LayerSettings::new(&Settings::default()),
            thresholds: Thresholds::new(
                Tokens(1_000_000),
                Tokens(128_000),
                &WindowSettings::default(),
            ),
            rates: Prices::USUAL.rates(CacheTtl::OneHour, CacheTtl::FiveMinutes),
            state: LayerState::default(),
        };
        layers.ask(fixture);
        layers
    }

    fn ask(&mut self, fixture: &Fixture) -> LayersPlan {
        let inputs = LayerInputs {
            conversation: &fixture.conversation,
            prefix: fixture.prefix.weight(),
            policy: self.policy,
            settings: &self.settings,
            thresholds: &self.thresholds,
            rates: &self.rates,
            notes: NotesStatus::default(),
            moment: Moment::BeforeRequest,
            cold: false,
            provider_compacts: false,
        };
        layers::plan(&mut self.state, &inputs)
    }
}

/// About a million tokens in 10,000 messages.
fn ten_thousand_messages() -> Fixture {
    let shape = Shape {
        messages: 10_000,
        result_chars: 500,
        text_chars: 90,
    };
    Fixture::new(shape).after_a_request()
}

#[divan::bench(args = ["classic", "economic"])]
fn plan_all_layers_at_a_million_tokens(bencher: Bencher<'_, '_>, policy: &str) {
    let fixture = ten_thousand_messages();
    let policy: &dyn Policy = match policy {
        "classic" => &Classic,
        _ => &Economic,
    };
    let mut layers = Layers::new(policy, &fixture);
    bencher.bench_local(|| (layers.ask(&fixture), fixture.plan()));
}

#[divan::bench]
fn fork(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| black_box(&MILLION.conversation).clone());
}

#[divan::bench]
fn fold_the_whole_log(bencher: Bencher<'_, '_>) {
    let records = path(MILLION.log.records(), Leaf::Newest);
    let target = MILLION.conversation.view().target().clone();
    bencher.bench_local(|| Conversation::fold(black_box(&records), target.clone()));
}

/// As many tokens, all of them output of commands: every byte is mined for test results and errors.
fn commands() -> LogBuilder {
    let shape = Shape::MILLION_TOKENS;
    let mut log = LogBuilder::new();
    log.user(&prose(0, shape.text_chars));
    for turn in 1..=shape.messages / 2 {
        let id = format!("toolu_{turn:06}");
        let input = json!({ "command": format!("cargo test -p crate_{}", turn % 97) });
        let text = Block::text(&prose(turn, shape.text_chars));
        log.assistant(
            &format!("msg_{turn:06}"),
            vec![text, call(&id, "Bash", &input)],
        );
        let output = prose(turn + 1_000_000, shape.result_chars);
        let output = format!("{output}\ntest result: ok. {turn} passed; 0 failed\n");
        log.user_blocks(vec![result(&id, &output)]);
    }
    log
}

#[divan::bench]
fn fold_a_log_of_commands(bencher: Bencher<'_, '_>) {
    let log = commands();
    let records = path(log.records(), Leaf::Newest);
    let target = MILLION.conversation.view().target().clone();
    bencher.bench_local(|| Conversation::fold(black_box(&records), target.clone()));
}

fn timed<T>(mut run: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
}

/// Median time of many runs.
fn median<T>(runs: usize, mut run: impl FnMut() -> T) -> Duration {
    let mut times: Vec<Duration> = (0..runs).map(|_| timed(&mut run)).collect();
    times.sort_unstable();
    times[runs / 2]
}

/// Median times of two functions measured in turns, so that both meet the same load.
fn medians<A, B>(
    runs: usize,
    mut first: impl FnMut() -> A,
    mut second: impl FnMut() -> B,
) -> (Duration, Duration) {
    let times = (0..runs).map(|_| (timed(&mut first), timed(&mut second)));
    let (mut one, mut other): (Vec<Duration>, Vec<Duration>) = times.unzip();
    one.sort_unstable();
    other.sort_unstable();
    (one[runs / 2], other[runs / 2])
}

fn ratio(what: &str, a: Duration, b: Duration, promise: &str) {
    let figure = a.as_secs_f64() / b.as_secs_f64();
    println!("{what:<58} {figure:>8.2}×   (promised {promise}; {a:?} to {b:?})");
}

/// Bytes serialised in one turn (an answer of two blocks and a result arrive, the next request
/// leaves), and bytes of new content.
fn one_turn(fixture: &Fixture) -> (u64, usize) {
    let mut log = fixture.log.clone();
    let mut conversation = fixture.conversation.clone();
    let before = json::serialised_bytes();
    let calls = call("toolu_new", "Read", &json!({ "file_path": "/a" }));
    log.assistant("msg_new", vec![Block::text(&prose(7, 4_000)), calls]);
    log.user_blocks(vec![result("toolu_new", &prose(8, 12_000))]);
    let new = &log.records()[log.records().len() - 2..];
    for record in new {
        conversation.apply(record);
    }
    let plan = fixture.plan_for(&conversation);
    black_box(plan.body());
    let serialised = json::serialised_bytes() - before;
    let blocks = new.iter().flat_map(|record| record.body.blocks());
    (serialised, blocks.map(|block| block.bytes().len()).sum())
}

fn main() {
    divan::main();
    let fixture = &*MILLION;
    let plan = fixture.plan();
    let body = plan.body();
    let segments = fixture.conversation.view().segments();
    println!(
        "\nconversation: {} messages, {} blocks, {:.2} MB body, {} tokens",
        fixture.log.records().len(),
        segments.len(),
        body.len() as f64 / 1e6,
        plan.count.tokens,
    );
    let join = || plan.body();
    let (copying, joining) = medians(401, || body.clone(), join);
    // A copy in one piece beats any gather of thousands of blocks: the processor skips reading what
    // it overwrites, and prefetches perfectly.
    let gather = || {
        let mut out = Vec::with_capacity(body.len());
        for segment in segments.iter() {
            out.extend_from_slice(segment.block.bytes());
        }
        out
    };
    let (gathering, joining_again) = medians(401, gather, join);
    let typed_body = typed(fixture);
    let serialising = median(21, || serde_json::to_vec(&typed_body).expect("JSON"));
    ratio(
        "joining the body / copying its bytes",
        joining,
        copying,
        "≤ 2",
    );
    ratio(
        "joining the body / copying its blocks one by one",
        joining_again,
        gathering,
        "no promise",
    );
    ratio(
        "serialising typed blocks / joining",
        serialising,
        joining,
        "≥ 10",
    );

    let of = |messages| {
        let shape = Shape {
            messages,
            ..Shape::MILLION_TOKENS
        };
        Fixture::new(shape).after_a_request()
    };
    let (small, large) = (of(100), of(10_000));
    let (planning_small, planning_large) = medians(2_001, || small.plan(), || large.plan());
    ratio(
        "planning at 10,000 messages / at 100",
        planning_large,
        planning_small,
        "≤ 1.5",
    );
    println!("planning at 10,000 messages: {planning_large:?}   (promised ≤ 100 µs)");

    let full = ten_thousand_messages();
    let tokens = full.plan().count.tokens;
    for policy in [&Classic as &dyn Policy, &Economic] {
        let name = policy.name();
        let mut layers = Layers::new(policy, &full);
        let planning = median(2_001, || (layers.ask(&full), full.plan()));
        println!(
            "planning all layers at 10,000 messages and {tokens} tokens, {name}: {planning:?}   \
             (promised ≤ 100 µs)"
        );
    }

    let records = path(fixture.log.records(), Leaf::Newest);
    let target = fixture.conversation.view().target();
    let folding = median(51, || Conversation::fold(&records, target.clone()));
    let tokens = plan.count.tokens;
    println!("folding {tokens} tokens from their records: {folding:?}   (promised ≤ 8 ms)");
    let log = commands();
    let records = path(log.records(), Leaf::Newest);
    let folding = median(51, || Conversation::fold(&records, target.clone()));
    println!("the same where every result is the output of a command: {folding:?}");

    let (serialised, content) = one_turn(fixture);
    println!(
        "bytes serialised in a turn / new content: {:.3}×   (promised ≤ 1.1; {serialised} of {content})",
        serialised as f64 / content as f64
    );
    let fork = fixture.conversation.clone();
    let copied = fixture
        .conversation
        .view()
        .frozen()
        .iter()
        .zip(fork.view().frozen().iter())
        .filter(|(ours, theirs)| !ours.block.shares_bytes_with(&theirs.block))
        .count();
    println!("blocks a fork copies: {copied}   (promised 0)");
}
