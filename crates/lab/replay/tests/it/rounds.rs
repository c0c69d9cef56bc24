//! One response with thousands of calls, whose results arrive one by one.
//!
//! Two lengths are timed in one run and compared with each other, so that neither machine nor build
//! matters.

#![expect(
    clippy::disallowed_methods,
    reason = "compares two durations of one run with each other"
)]

use dormouse_context::offload::ToolOutput;
use dormouse_context::policy::Classic;
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Message;
use dormouse_core::units::{Millis, Tokens};
use dormouse_replay::{Input, RunOptions, Scenario, Script, Step, run_policy};
use dormouse_system::{Clock, MemorySystem};
use dormouse_testkit::blocks::{call, result};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls in the shorter response: enough that the calls dominate everything else.
const FEW: usize = 400;
/// Tenfold, so that linear cost gives a ratio of ten and quadratic cost one of a hundred.
const MANY: usize = 10 * FEW;
/// Largest accepted ratio. Where every result counted those before it again, it was about 50: the
/// linear part of the cost hides half of the hundred.
const MOST: f64 = 25.0;

fn script(calls: usize) -> Script {
    let ids: Vec<String> = (0..calls).map(|nth| format!("call_{nth}")).collect();
    let text = "line ".repeat(20);
    let step = |inputs, answer| Step {
        at: Millis(0),
        inputs,
        answer,
        output: Tokens(10),
    };
    let results = ids.iter().map(|id| {
        let output = ToolOutput::of_block(CallId::new(id.as_str()), result(id, &text));
        Input::Results(vec![("Bash".to_owned(), output)])
    });
    let calls = ids.iter().map(|id| call(id, "Bash", &json!({})));
    let said = Input::Message(Message::user(vec![Block::text("all at once")]));
    let steps = vec![
        step(vec![said], calls.collect()),
        step(results.collect(), vec![Block::text("all of them")]),
    ];
    Script {
        steps,
        ..Scenario::default().script()
    }
}

fn time(script: &Script, clock: &Arc<dyn Clock>) -> Duration {
    let models = Arc::new(ModelTable::builtin().clone());
    let options = RunOptions::new(Arc::new(Classic));
    let begin = Instant::now();
    let run = run_policy(script, &options, &models, clock).unwrap();
    let taken = begin.elapsed();
    assert!(run.finished(), "{:?}", run.lost);
    taken
}

#[test]
fn the_results_of_one_response_cost_the_same_each() {
    let clock: Arc<dyn Clock> = MemorySystem::new().system().clock;
    let (few, many) = (script(FEW), script(MANY));
    let mut ratio = f64::MAX;
    // The best of three: a busy machine interrupts some runs, and never makes quadratic cost linear.
    for _ in 0..3 {
        let few = time(&few, &clock).as_secs_f64();
        ratio = ratio.min(time(&many, &clock).as_secs_f64() / few);
    }
    assert!(ratio < MOST, "tenfold calls took {ratio:.0} times as long");
}
