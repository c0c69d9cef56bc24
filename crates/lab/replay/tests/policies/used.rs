//! Values that real sessions used later, under every policy.

use crate::{models, name, script_of};
use dormouse_core::models::ModelTable;
use dormouse_replay::fidelity::Tally;
use dormouse_replay::fidelity::used::{Used, measure_used, uses};
use dormouse_replay::{RunOptions, Script, policies};
use dormouse_system::{Clock, RealClock};
use dormouse_testkit::material::transcripts;
use std::sync::Arc;

/// Requests from which a session counts as long.
const LONG: usize = 50;

fn measured(script: &Script, policy: &str, models: &Arc<ModelTable>) -> Used {
    let ticks: Arc<dyn Clock> = Arc::new(RealClock::new());
    let options = RunOptions::new(policies::named(policy).unwrap());
    measure_used(script, &uses(script), &options, models, &ticks).unwrap()
}

/// Per cent in the prompt, and in the prompt or one call away.
#[expect(clippy::cast_precision_loss, reason = "counts of a few hundred")]
fn shares(tally: &Tally) -> (f64, f64) {
    let all = tally.all().max(1) as f64;
    let in_prompt = tally.in_prompt as f64;
    let reached = in_prompt + tally.one_call_away as f64;
    (100.0 * in_prompt / all, 100.0 * reached / all)
}

/// The search that is asked is the product's own; its budget is 2,000 tokens.
#[test]
#[ignore = "heavy: run in release by .ci/run"]
fn long_sessions_find_again_what_they_used_later() {
    let models = models();
    let mut shorter = Used::default();
    for path in transcripts() {
        let Some(script) = script_of(&path) else {
            continue;
        };
        let requests = script.steps.len();
        if requests < LONG {
            shorter.merge(&measured(&script, "economic", &models));
            continue;
        }
        for policy in policies::NAMES {
            let used = measured(&script, policy, &models);
            let (in_prompt, reached) = shares(&used.total);
            println!(
                "| {} | {requests} | {} | {policy} | {in_prompt:.1} / {reached:.1} | ${:.2}{} |",
                name(&path),
                used.total.all(),
                used.cost.as_f64(),
                if used.ended_early.is_some() {
                    ", lost"
                } else {
                    ""
                }
            );
            if policy == "economic" {
                assert!(reached >= 90.0, "{}: {reached}", path.display());
            }
        }
    }
    let (in_prompt, reached) = shares(&shorter.total);
    println!(
        "shorter sessions: {} uses, economic {in_prompt:.1} / {reached:.1}",
        shorter.total.all()
    );
}
