//! Distilling at the tail: cheaper sessions, accepted by the provider, resumed as they were.

use dormouse_context::clear::Measure;
use dormouse_context::distil::{distillate, names};
use dormouse_context::offload::ToolOutput;
use dormouse_context::policy::{Economic, Policy};
use dormouse_context::prefix::{Part, RenderedPrefix};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::CallId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Calibration, Message, Purpose};
use dormouse_core::settings::{Settings, Trust, flags_layer, keys, resolve};
use dormouse_core::units::{Millis, Tokens};
use dormouse_replay::fidelity::used::uses;
use dormouse_replay::{
    Input, PolicyRun, Recording, RunOptions, Scenario, Script, Step, corpus, run_policy,
};
use dormouse_sim::CacheMode;
use dormouse_system::{Clock, ManualClock};
use dormouse_testkit::blocks::{call, result};
use dormouse_testkit::material::{material, transcripts};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Output as the workload's commands print it: paths, numbers and ids.
fn output(seed: usize, bytes: usize) -> String {
    let mut out = String::with_capacity(bytes + 80);
    let mut state = seed as u64 + 1;
    let mut roll = |sides: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    };
    while out.len() < bytes {
        let words = [
            "parse", "render", "cache", "index", "token", "queue", "shard", "lease",
        ];
        let word = words[usize::try_from(roll(8)).unwrap()];
        let _ = writeln!(
            out,
            "src/{word}_{:02}/{word}_{:06x}.rs:{}: warn: {word} after {} ms (id={:08x})",
            roll(40),
            roll(1 << 24),
            roll(900),
            roll(9_000),
            roll(1 << 32),
        );
    }
    out.truncate(bytes);
    out
}

/// A workload of the comparison with other agents (prompts, shell lines, length of their output) as
/// a script, with a static prefix of so many tokens.
fn script(workload: &Value, prefix: usize, model: &str) -> Script {
    let mut steps = Vec::new();
    for turn in workload["turns"].as_array().unwrap() {
        let prompt = Block::text(turn["prompt"].as_str().unwrap());
        let mut inputs = vec![Input::Message(Message::user(vec![prompt]))];
        for line in turn["steps"].as_array().unwrap() {
            let at = steps.len();
            let id = format!("toolu_{at:04}");
            let asked = call(&id, "Bash", &json!({ "command": line["cmd"] }));
            steps.push(step(at, std::mem::take(&mut inputs), vec![asked]));
            let bytes = usize::try_from(line["bytes"].as_u64().unwrap()).unwrap();
            let text = output(at, bytes);
            let shown = ToolOutput::of_block(CallId::new(id.as_str()), result(&id, &text));
            inputs.push(Input::Results(vec![("Bash".to_owned(), shown)]));
        }
        let answer = vec![Block::text("All checks are done.")];
        steps.push(step(steps.len(), inputs, answer));
    }
    let system = Block::text(&output(7_777, prefix * 4));
    Script {
        steps,
        model: model.into(),
        prefix: Arc::new(RenderedPrefix::new(
            Vec::new(),
            vec![Part::block("system", &system)],
            Vec::new(),
        )),
        ..Scenario::default().script()
    }
}

/// Lets the model think before each of its answers.
fn think(script: &mut Script) {
    for (at, step) in script.steps.iter_mut().enumerate() {
        let thought = dormouse_testkit::blocks::thinking(&format!("thought {at}"));
        step.answer.insert(0, thought);
    }
}

fn step(at: usize, inputs: Vec<Input>, answer: Vec<Block>) -> Step {
    Step {
        at: Millis(1_790_000_000_000 + i64::try_from(at).unwrap() * 15_000),
        inputs,
        answer,
        output: Tokens(60),
    }
}

fn settings(flags: &[&str]) -> Arc<Settings> {
    let (layer, issues) = flags_layer(flags.iter().copied());
    assert_eq!(issues, []);
    Arc::new(resolve(&[layer], Trust::Trusted))
}

fn run(script: &Script, window: Tokens, flags: &[&str]) -> PolicyRun {
    run_at(script, window, flags, CacheMode::Marked)
}

fn run_at(script: &Script, window: Tokens, flags: &[&str], cache: CacheMode) -> PolicyRun {
    let policy: Arc<dyn Policy> = Arc::new(Economic);
    let options = RunOptions {
        window: Some(window),
        settings: settings(flags),
        cache,
        ..RunOptions::new(policy)
    };
    let models = match cache {
        CacheMode::Automatic => ModelTable::builtin().with_free_writes(),
        CacheMode::Marked | CacheMode::Perfect => ModelTable::builtin().clone(),
    };
    let models = Arc::new(models);
    let ticks: Arc<dyn Clock> = Arc::new(ManualClock::default());
    run_policy(script, &options, &models, &ticks).unwrap()
}

/// Cost of the prompts in tokens of uncached input, as the comparison counts it.
#[expect(clippy::cast_precision_loss, reason = "a sum for people")]
fn prompts(run: &PolicyRun) -> f64 {
    let bills = run.bills.iter().map(|bill| {
        let usage = &bill.usage;
        let written = (usage.cache_write_5m + usage.cache_write_1h).get() as f64;
        usage.input.get() as f64 + 1.25 * written + 0.1 * usage.cache_read.get() as f64
    });
    bills.sum()
}

#[test]
fn the_workload_costs_less_with_distillates() {
    let Some(file) = material("../tools/headtohead/w1.json") else {
        return;
    };
    #[expect(clippy::disallowed_methods, reason = "a test reads material by path")]
    let workload: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let script = script(&workload, 5_000, corpus::MODEL);
    let off = run(&script, Tokens(200_000), &["distil=false"]);
    let on = run(&script, Tokens(200_000), &[]);
    for run in [&off, &on] {
        assert_eq!(run.lost, None);
        assert!(run.bills.iter().all(|bill| bill.rejected.is_none()));
    }
    println!(
        "w1: {:.0} without, {:.0} with; compactions {:?} {:?}; distilled {}",
        prompts(&off),
        prompts(&on),
        off.compactions(),
        on.compactions(),
        on.distilled()
    );
    assert!(prompts(&on) <= 430_000.0, "{:.0}", prompts(&on));
    assert!(prompts(&on) < 0.95 * prompts(&off));
}

/// Where thinking is bound nothing is distilled within a turn, and where the cache is automatic the
/// first look at a result is written in any case: neither may make the session dearer.
#[test]
fn the_workload_costs_no_more_where_thinking_is_bound_or_the_cache_automatic() {
    let script_for = |model: &str| match material("../tools/headtohead/w1.json") {
        Some(file) => {
            #[expect(clippy::disallowed_methods, reason = "a test reads material by path")]
            let workload: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
            script(&workload, 5_000, model)
        }
        None => script(&shell_session(60), 5_000, model),
    };
    for (model, cache) in [
        ("claude-sonnet-5-5", CacheMode::Marked),
        (corpus::MODEL, CacheMode::Automatic),
    ] {
        let mut script = script_for(model);
        if model != corpus::MODEL {
            think(&mut script);
        }
        let off = run_at(&script, Tokens(200_000), &["distil=false"], cache);
        let on = run_at(&script, Tokens(200_000), &[], cache);
        assert_eq!((&on.lost, &off.lost), (&None, &None));
        println!(
            "w1, {model}, {cache:?}: {:.0} without, {:.0} with; distilled {}",
            prompts(&off),
            prompts(&on),
            on.distilled()
        );
        assert!(prompts(&on) <= prompts(&off), "{model}, {cache:?}");
    }
}

/// A session of shell lines with output of many lengths, for checkouts without the material.
fn shell_session(steps: usize) -> Value {
    let lines = (0..steps).map(|at| {
        // Some below the cache's minimum, some above the limit of layer 1.
        let bytes = [900, 21_000, 2_500, 28_000, 6_000, 24_000, 17_000, 90_000][at % 8];
        json!({ "cmd": format!("make check-{at}"), "bytes": bytes })
    });
    let steps: Vec<Value> = lines.collect();
    json!({ "turns": [{ "prompt": "Run all checks.", "steps": steps }] })
}

#[test]
fn a_session_of_shell_lines_costs_less_with_distillates() {
    let script = script(&shell_session(60), 5_000, corpus::MODEL);
    let off = run(&script, Tokens(200_000), &["distil=false"]);
    let on = run(&script, Tokens(200_000), &[]);
    assert_eq!((&on.lost, &off.lost), (&None, &None));
    assert!(on.bills.iter().all(|bill| bill.rejected.is_none()));
    assert!(on.distilled() > 20, "{}", on.distilled());
    assert_eq!((on.not_distilled(), off.distilled()), (0, 0));
    let (on, off) = (prompts(&on), prompts(&off));
    assert!(on < 0.95 * off, "{on:.0} of {off:.0}");
}

/// Sessions of the generator, with and without: cheaper in sum, none lost, none refused.
#[test]
fn generated_sessions_cost_no_more_with_distillates() {
    let (mut sum_on, mut sum_off, mut distilled) = (0.0, 0.0, 0);
    for number in (0..corpus::SESSIONS).step_by(41) {
        let session = corpus::session(number, corpus::MODEL);
        let off = run(&session.script, session.window, &["distil=false"]);
        let on = run(&session.script, session.window, &[]);
        assert_eq!((&on.lost, &off.lost), (&None, &None), "session {number}");
        assert!(on.bills.iter().all(|bill| bill.rejected.is_none()));
        let (on_cost, off_cost) = (on.total.cost.as_f64(), off.total.cost.as_f64());
        assert!(
            on_cost <= 1.05 * off_cost,
            "session {number}: {on_cost} of {off_cost}"
        );
        distilled += on.distilled();
        sum_on += on_cost;
        sum_off += off_cost;
    }
    assert!(distilled > 0);
    assert!(sum_on < sum_off, "{sum_on} of {sum_off}");
}

/// Forks read what the parent's last marker covers.
#[test]
fn forks_read_what_was_marked() {
    let script = script(&shell_session(120), 5_000, corpus::MODEL);
    let on = run(&script, Tokens(200_000), &[]);
    let forks = on.fork_reads();
    assert!(on.distilled() > 0 && !forks.is_empty());
    for (purpose, step, read) in forks {
        assert_eq!(purpose, Purpose::Compaction);
        assert!(read >= 0.99, "step {step}: {read}");
    }
}

/// A model that binds thinking distils while no answer thinks, and nothing once one does.
#[test]
fn bound_thinking_keeps_results_whole() {
    let mut script = script(&shell_session(40), 5_000, "claude-opus-5-5");
    let off = run(&script, Tokens(200_000), &["distil=false"]);
    let on = run(&script, Tokens(200_000), &[]);
    assert_eq!(on.lost, None);
    assert!(on.distilled() > 0);
    assert!(prompts(&on) <= prompts(&off));
    think(&mut script);
    let whole = run(&script, Tokens(200_000), &["distil=false"]);
    let bound = run(&script, Tokens(200_000), &[]);
    assert_eq!((bound.distilled(), bound.not_distilled()), (0, 0));
    assert!(prompts(&bound) <= prompts(&whole));
}

/// Values that recorded sessions used three or more requests later: how many a distillate keeps, by
/// the tool that brought them.
#[test]
fn distillates_keep_what_is_used_later() {
    let models = Arc::new(ModelTable::builtin().clone());
    let bytes = models.lookup(corpus::MODEL).info.bytes_per_token;
    let measure = Measure {
        bytes,
        calibration: Calibration::default(),
    };
    let mut tally: BTreeMap<String, (usize, usize, usize)> = BTreeMap::new();
    for file in transcripts() {
        let records = crate::read(&file);
        let Ok(recording) = Recording::new(&records, &models) else {
            continue;
        };
        let script = Script::of(&records, &recording, &models);
        let uses = uses(&script);
        for (at, step) in (1..).zip(&script.steps) {
            let results = step.inputs.iter().flat_map(|input| match input {
                Input::Results(results) => results.as_slice(),
                Input::Message(_) => &[],
            });
            for (tool, output) in results {
                let whole = output.whole();
                if measure.tokens(whole.weight()) < Tokens(1_500) {
                    continue;
                }
                let answer: Vec<String> = step.answer.iter().map(said).collect();
                let named = names(answer.iter().map(String::as_str));
                let limit = (Tokens(600), measure);
                let Some(short) = distillate(&whole, &named, "/results", limit) else {
                    continue;
                };
                let text = short.block.readable_text().unwrap();
                let entry = tally.entry(tool.clone()).or_default();
                entry.0 += 1;
                let later = uses.iter().filter(|one| {
                    one.step - one.age == at
                        && one.tool.as_deref() == Some(tool)
                        && output.text.contains(&one.value)
                });
                for one in later {
                    entry.1 += 1;
                    entry.2 += usize::from(text.contains(&one.value));
                }
            }
        }
    }
    for (tool, (results, uses, kept)) in &tally {
        println!("{tool}: {results} results, {kept} of {uses} values kept");
    }
    // Four in five: what is lost is one call away, and that call is priced.
    for tool in Settings::default().get(keys::DISTIL_TOOLS) {
        let (_, uses, kept) = tally.get(&tool).copied().unwrap_or_default();
        assert!(kept * 5 >= uses * 4, "{tool}: {kept} of {uses}");
    }
}

fn said(block: &Block) -> String {
    match block.kind() {
        BlockKind::Text => block.readable_text().unwrap_or_default(),
        _ => String::from_utf8_lossy(block.bytes()).replace(['"', '\\', ','], " "),
    }
}
