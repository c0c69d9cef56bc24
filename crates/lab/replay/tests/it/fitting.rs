//! Rounds of any size in windows of any size: the request fits, or the error names the message of
//! the user that cannot.

use dormouse_context::offload::ToolOutput;
use dormouse_context::policy::{Classic, Economic, Policy};
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Message;
use dormouse_core::units::{Millis, Tokens};
use dormouse_replay::{Input, PolicyRun, RunOptions, Scenario, Script, Step, corpus, run_policy};
use dormouse_system::{Clock, ManualClock};
use dormouse_testkit::blocks::{call, result};
use dormouse_testkit::conversation::prose;
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

/// One round: permille of the window that each result has, and that the user's words have.
type Round = (Vec<(bool, u64)>, u64);

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    // From a few tokens to more than the whole window.
    let size = prop_oneof![4 => 0_u64..100, 2 => 100_u64..600, 1 => 600_u64..1_500];
    let words = prop_oneof![6 => 0_u64..30, 1 => 30_u64..300];
    let results = prop::collection::vec((any::<bool>(), size), 1..5);
    prop::collection::vec((results, words), 1..5)
}

/// Text of about this many tokens; four bytes each, as the simulator counts prose.
fn text(seed: usize, tokens: u64) -> String {
    prose(seed, usize::try_from(tokens * 4).unwrap())
}

fn script(window: u64, prefix: u64, rounds: &[Round]) -> Script {
    let share = |permille: u64| window * permille / 1_000;
    let mut steps = Vec::new();
    let mut inputs = vec![Input::Message(Message::user(vec![Block::text("Begin.")]))];
    for (at, (results, words)) in rounds.iter().enumerate() {
        let tools = results.iter().enumerate().map(|(nth, (reads, size))| {
            let tool = if *reads { "Read" } else { "Bash" };
            (format!("call_{at}_{nth}"), tool, *size)
        });
        let tools: Vec<(String, &str, u64)> = tools.collect();
        let calls = tools
            .iter()
            .map(|(id, tool, _)| call(id, tool, &json!({ "file_path": format!("/src/{id}.rs") })));
        steps.push(step(at, std::mem::take(&mut inputs), calls.collect()));
        let outputs = tools.iter().map(|(id, tool, size)| {
            let text = text(at, share(*size));
            let output = ToolOutput::of_block(CallId::new(id.as_str()), result(id, &text));
            ((*tool).to_owned(), output)
        });
        inputs.push(Input::Results(outputs.collect()));
        if *words > 0 {
            let words = text(at + 7, share(*words));
            inputs.push(Input::Message(Message::user(vec![Block::text(&words)])));
        }
    }
    steps.push(step(steps.len(), inputs, vec![Block::text("Done.")]));
    let system = Block::text(&text(3, share(prefix)));
    Script {
        steps,
        prefix: Arc::new(RenderedPrefix::new(
            Vec::new(),
            vec![Part::block("system", &system)],
            Vec::new(),
        )),
        ..Scenario::default().script()
    }
}

fn step(at: usize, inputs: Vec<Input>, answer: Vec<Block>) -> Step {
    Step {
        at: Millis(1_790_000_000_000 + i64::try_from(at).unwrap() * 20_000),
        inputs,
        answer,
        output: Tokens(20),
    }
}

fn run(policy: Arc<dyn Policy>, window: u64, script: &Script) -> PolicyRun {
    let options = RunOptions {
        window: Some(Tokens(window)),
        ..RunOptions::new(policy)
    };
    let models = Arc::new(ModelTable::builtin().clone());
    let ticks: Arc<dyn Clock> = Arc::new(ManualClock::default());
    run_policy(script, &options, &models, &ticks).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_round_fits(
        // From 8,000 to 1,000,000 tokens, evenly in the logarithm.
        exponent in 0.0_f64..1.0,
        prefix in 1_u64..250,
        rounds in rounds(),
        economic: bool,
    ) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a window")]
        let window = (8_000.0 * 125.0_f64.powf(exponent)) as u64;
        let policy: Arc<dyn Policy> = if economic { Arc::new(Economic) } else { Arc::new(Classic) };
        let run = run(policy, window, &script(window, prefix, &rounds));
        prop_assert_eq!(&run.lost, &None, "window {}", window);
        // A refusal is answered by a shorter prompt, but none is needed where sizes are known.
        let refused = run.bills.iter().filter(|bill| bill.rejected.is_some());
        prop_assert_eq!(refused.count(), 0);
    }
}

#[test]
fn a_message_that_no_window_holds_is_named() {
    let words = text(1, 30_000);
    let said = Input::Message(Message::user(vec![Block::text(&words)]));
    let mut script = script(20_000, 100, &[]);
    script.steps[0].inputs.push(said);
    let run = run(Arc::new(Economic), 20_000, &script);
    let lost = run.lost.unwrap();
    assert!(
        lost.starts_with("message ") && lost.contains("is too long"),
        "{lost}"
    );
    assert!(run.bills.is_empty(), "nothing is asked in vain");
}

/// Sessions of the generator that were lost to a single round.
#[test]
fn generated_sessions_with_huge_rounds_are_not_lost() {
    let huge = (0..corpus::SESSIONS).filter(|number| number % 7 == 3);
    for number in huge.take(12) {
        let session = corpus::session(number, corpus::MODEL);
        let run = run(Arc::new(Economic), session.window.get(), &session.script);
        assert_eq!(run.lost, None, "session {number}");
    }
}
