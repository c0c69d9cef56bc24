//! Cost of the policies, on a generated session and on every real one.
//!
//! Heavy: hundreds of prompts of up to a million tokens each. `.ci/run` runs them in release:
//! `cargo test --release -p dormouse-replay --test policies -- --ignored --nocapture`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod generated;
mod used;

use dormouse_core::models::ModelTable;
use dormouse_core::record::Purpose;
use dormouse_core::units::Tokens;
use dormouse_drive::Notice;
use dormouse_replay::{PolicyRun, Recording, RunOptions, Scenario, Script, policies, run_policy};
use dormouse_store::LogFile;
use dormouse_system::{Clock, RealClock, RealFiles};
use dormouse_testkit::material::transcripts;
use std::path::Path;
use std::sync::Arc;

fn models() -> Arc<ModelTable> {
    Arc::new(ModelTable::builtin().clone())
}

fn run(script: &Script, policy: &str, window: Option<u64>) -> PolicyRun {
    let models = models();
    let ticks: Arc<dyn Clock> = Arc::new(RealClock::new());
    let options = RunOptions {
        window: window.map(Tokens),
        ..RunOptions::new(policies::named(policy).unwrap())
    };
    run_policy(script, &options, &models, &ticks).unwrap()
}

fn dollars(run: &PolicyRun) -> f64 {
    run.total.cost.as_f64()
}

fn script_of(path: &Path) -> Option<Script> {
    let models = models();
    let log = LogFile::open(&RealFiles, path).ok()?.read_all().ok()?;
    let recording = Recording::new(&log.records, &models).ok()?;
    Some(Script::of(&log.records, &recording, &models))
}

fn name(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name.chars().take(12).collect()
}

#[test]
#[ignore = "heavy: run in release by .ci/run"]
fn the_generated_session_costs_less_under_economic() {
    let script = Scenario::default().script();
    for (window, most) in [(200_000, 0.9), (1_000_000, 0.5)] {
        let classic = run(&script, "classic", Some(window));
        let economic = run(&script, "economic", Some(window));
        let ratio = dollars(&economic) / dollars(&classic);
        println!(
            "window {window}: classic ${:.3}, economic ${:.3}, {ratio:.3}",
            dollars(&classic),
            dollars(&economic)
        );
        assert!(classic.finished() && economic.finished());
        assert!(ratio <= most, "{ratio} of {most}");
    }
    // For models with still cheaper reading, the figures are stated and not barred.
    for model in ["claude-opus-5-5", "claude-fable-5-1"] {
        let scenario = Scenario {
            model: model.to_owned(),
            ..Scenario::default()
        };
        let script = scenario.script();
        let costs = ["classic", "economic"].map(|policy| dollars(&run(&script, policy, None)));
        println!("{model}: {:.3} of classic", costs[1] / costs[0]);
    }
}

#[test]
#[ignore = "heavy: run in release by .ci/run"]
fn no_peer_is_cheaper_than_economic_on_the_generated_session() {
    let script = Scenario::default().script();
    let economic = dollars(&run(&script, "economic", Some(200_000)));
    for peer in ["codex", "opencode", "openhands", "gemini", "qwen"] {
        let cost = dollars(&run(&script, peer, Some(200_000)));
        println!("{peer}: {:.2} times economic", cost / economic);
        assert!(cost >= economic, "{peer} is cheaper");
    }
}

#[test]
#[ignore = "heavy: run in release by .ci/run"]
fn real_sessions_finish_and_economic_is_never_dearer_than_classic() {
    let mut compared = 0;
    for path in transcripts() {
        let Some(script) = script_of(&path) else {
            continue;
        };
        let [none, classic, economic] =
            ["none", "classic", "economic"].map(|policy| run(&script, policy, None));
        assert!(classic.finished(), "{}: {:?}", path.display(), classic.lost);
        assert!(
            economic.finished(),
            "{}: {:?}",
            path.display(),
            economic.lost
        );
        let ratio = dollars(&economic) / dollars(&classic).max(f64::MIN_POSITIVE);
        if dollars(&classic) > 0.0 {
            compared += 1;
            assert!(ratio <= 1.0 + 1e-9, "{}: {ratio}", path.display());
        }
        if script.steps.len() > 10 {
            let notes = classic.by_purpose.get(&Purpose::Notes);
            let notes = notes.map_or(0.0, |sums| sums.cost.as_f64());
            let against = if none.finished() {
                format!(
                    "classic {:.3} of none (notes {:+.3}, the rest {:+.3})",
                    dollars(&classic) / dollars(&none),
                    notes / dollars(&none),
                    (dollars(&classic) - notes) / dollars(&none) - 1.0
                )
            } else {
                "none is lost to the window".to_owned()
            };
            println!(
                "{:12} economic {ratio:.3} of classic; {against}",
                name(&path)
            );
        }
    }
    println!("{compared} sessions compared");
}

/// A fork of a warm session reads what the conversation's last request left in the cache.
#[test]
#[ignore = "heavy: run in release by .ci/run"]
fn forks_of_warm_sessions_read_the_cache() {
    let mut scripts = vec![Scenario::default().script()];
    scripts.extend(transcripts().iter().filter_map(|path| script_of(path)));
    let mut forks = 0;
    for script in scripts.iter().filter(|script| script.steps.len() > 10) {
        for policy in ["classic", "economic"] {
            let run = run(script, policy, None);
            let lapsed = lapsed(script);
            for (purpose, step, read) in run.fork_reads() {
                // A summary asked for after a pause finds nothing to read.
                if purpose == Purpose::Compaction && lapsed.contains(&step) {
                    continue;
                }
                forks += 1;
                assert!(read >= 0.99, "{policy} {purpose:?} at step {step}: {read}");
            }
        }
    }
    println!("{forks} forks");
    assert!(forks > 50);
}

/// Steps, from one, in front of which the cache had lapsed.
fn lapsed(script: &Script) -> Vec<usize> {
    /// Lifetime of a cache entry, in milliseconds.
    const FIVE_MINUTES: u64 = 5 * 60 * 1_000;
    let times: Vec<_> = script.steps.iter().map(|step| step.at).collect();
    let pauses = times.windows(2).enumerate();
    pauses
        .filter(|(_, pair)| pair[1].since(pair[0]) > FIVE_MINUTES)
        .map(|(at, _)| at + 2)
        .collect()
}

/// Requests grow at their end only, but for rewrites that were told.
#[test]
#[ignore = "heavy: run in release by .ci/run"]
fn prompts_shrink_only_where_a_rewrite_was_told() {
    for path in transcripts() {
        let Some(script) = script_of(&path).filter(|script| script.steps.len() > 10) else {
            continue;
        };
        for policy in ["classic", "economic"] {
            let run = run(&script, policy, None);
            for (at, pair) in run.steps.windows(2).enumerate() {
                let told = run.notices.iter().any(|(step, notice)| {
                    (*step == at + 1 || *step == at + 2)
                        && matches!(notice, Notice::Compacted { .. } | Notice::Cleared { .. })
                });
                assert!(
                    pair[1].prompt >= pair[0].prompt || told,
                    "{} {policy}: step {} shrank",
                    path.display(),
                    at + 2
                );
            }
        }
    }
}
