//! `dormouse replay FILE`: the session as recorded, its bill compared with the simulator's.
//!
//! # Not here
//! Sending and fitting: `dormouse-replay`. Other policies: `policies`.

use super::{Args, recording};
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_core::models::ModelTable;
use dormouse_core::units::Tokens;
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_replay::{Replay, ReplayTurn, Sums, replay};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[derive(Serialize)]
struct Replayed {
    policies: Vec<Policy>,
    recorded: Policy,
    files: Vec<FileReport>,
}

#[derive(Serialize)]
struct Policy {
    name: &'static str,
    cost_usd: Option<f64>,
    requests: u64,
    prompt_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    uncached_tokens: u64,
    hit_rate: f64,
    compactions: usize,
    rejected: u64,
    peak_tokens: u64,
    engine_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<Vec<TurnReport>>,
}

#[derive(Serialize)]
struct TurnReport {
    file: String,
    turn: usize,
    gap_ms: u64,
    prompt_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    uncached_tokens: u64,
    cost_usd: Option<f64>,
    recorded_cache_read_tokens: u64,
    unlogged_tokens: u64,
    rejected: Option<String>,
}

#[derive(Serialize)]
struct FileReport {
    file: String,
    factor: f64,
    fitted_turns: usize,
    score: Score,
    differences: Vec<Difference>,
}

#[derive(Serialize)]
struct Score {
    hits: usize,
    matched: usize,
    breaks: usize,
    reproduced: usize,
}

#[derive(Serialize)]
struct Difference {
    turn: usize,
    recorded: u64,
    simulated: u64,
    why: &'static str,
}

/// Replays sessions as they were recorded.
pub(super) fn run(args: &Args, models: &Arc<ModelTable>, app: &mut App) -> Outcome {
    let mut replays = Vec::with_capacity(args.files.len());
    for (at, file) in args.files.iter().enumerate() {
        let of = args.files.len();
        app.out
            .progress(&format!("replaying session {} of {of}", at + 1));
        let replayed = one(file, models, app);
        app.out.progress("");
        replays.push((file.as_path(), replayed?));
    }
    let report = report(args, &replays);
    app.tell(&report)
}

impl Report for Replayed {
    fn text(&self, out: &mut Out) -> Outcome {
        show(self, out)
    }
}

fn one(file: &Path, models: &Arc<ModelTable>, app: &mut App) -> Result<Replay, Failure> {
    let (_, recording) = recording(file, models, app)?;
    let clock = Arc::clone(&app.system.clock);
    // Ticks, since the wall clock may be set while a long session is played.
    let start = clock.ticks();
    let ticks = || clock.ticks().since(start);
    replay(&recording, models, &ticks)
        .map_err(|error| Failure::from(UserError::of(Exit::Unexpected, &error)))
}

fn written(usage: &TokenUsage) -> Tokens {
    usage.cache_write_5m + usage.cache_write_1h
}

/// Sums over several sessions, for one row of the table.
#[derive(Default)]
struct Total {
    sums: Sums,
    compactions: usize,
    engine: Duration,
}

impl Total {
    fn add(&mut self, sums: &Sums, compactions: usize, engine: Duration) {
        self.sums.merge(sums);
        self.compactions += compactions;
        self.engine += engine;
    }

    fn into_policy(self, name: &'static str, turns: Option<Vec<TurnReport>>) -> Policy {
        let sums = self.sums;
        // Nothing sent costs nothing; something sent without a price is unknown.
        let priced = sums.requests == 0 || sums.unpriced < sums.requests;
        Policy {
            name,
            cost_usd: priced.then(|| sums.cost.as_f64()),
            requests: sums.requests,
            prompt_tokens: sums.usage.prompt().get(),
            cache_read_tokens: sums.usage.cache_read.get(),
            cache_write_tokens: written(&sums.usage).get(),
            uncached_tokens: sums.usage.input.get(),
            hit_rate: sums.hit_rate(),
            compactions: self.compactions,
            rejected: sums.rejected,
            peak_tokens: sums.peak.get(),
            engine_ms: self.engine.as_secs_f64() * 1_000.0,
            turns,
        }
    }
}

fn report(args: &Args, replays: &[(&Path, Replay)]) -> Replayed {
    let (mut simulated, mut recorded) = (Total::default(), Total::default());
    let mut files = Vec::new();
    let mut turns = Vec::new();
    for (file, replay) in replays {
        let file = file.display().to_string();
        simulated.add(&replay.simulated, replay.compactions, replay.engine);
        // The recording ran elsewhere; its engine's time is not known.
        recorded.add(&replay.recorded, replay.compactions, Duration::ZERO);
        turns.extend(
            replay
                .turns
                .iter()
                .zip(1..)
                .map(|(turn, number)| turn_report(&file, number, turn)),
        );
        let score = replay.comparison.score;
        files.push(FileReport {
            file,
            factor: f64::from(replay.fit.permille) / 1_000.0,
            fitted_turns: replay.fit.turns,
            score: Score {
                hits: score.hits,
                matched: score.matched,
                breaks: score.breaks,
                reproduced: score.reproduced,
            },
            differences: replay
                .comparison
                .differences
                .iter()
                .map(|difference| Difference {
                    turn: difference.turn,
                    recorded: difference.recorded.get(),
                    simulated: difference.simulated.get(),
                    why: difference.why,
                })
                .collect(),
        });
    }
    Replayed {
        policies: vec![simulated.into_policy("recorded", args.turns.then_some(turns))],
        recorded: recorded.into_policy("billed", None),
        files,
    }
}

fn turn_report(file: &str, number: usize, turn: &ReplayTurn) -> TurnReport {
    TurnReport {
        file: file.to_owned(),
        turn: number,
        gap_ms: turn.gap,
        prompt_tokens: turn.usage.prompt().get(),
        cache_read_tokens: turn.usage.cache_read.get(),
        cache_write_tokens: written(&turn.usage).get(),
        uncached_tokens: turn.usage.input.get(),
        cost_usd: turn.cost.map(Usd::as_f64),
        recorded_cache_read_tokens: turn.recorded.cache_read.get(),
        unlogged_tokens: turn.unlogged.get(),
        rejected: turn.rejected.clone(),
    }
}

fn show(report: &Replayed, out: &mut Out) -> Outcome {
    if let Some(turns) = report
        .policies
        .iter()
        .find_map(|policy| policy.turns.as_ref())
    {
        // Above the sums, so that these stay on the screen.
        show_turns(turns, out)?;
        out.blank()?;
    }
    let mut table = Table::new([
        Column::left("POLICY"),
        Column::right("REQUESTS"),
        Column::right("PROMPT"),
        Column::right("CACHE READ"),
        Column::right("CACHE WRITE"),
        Column::right("UNCACHED"),
        Column::right("HIT RATE"),
        Column::right("PEAK"),
        Column::right("COST"),
    ]);
    // The simulator's bill and the recorded one stand in neighbouring rows, so that they can be
    // compared.
    for policy in report.policies.iter().chain([&report.recorded]) {
        let number = |tokens: u64| Cell::new(figures::tokens(Tokens(tokens)));
        let cost = policy
            .cost_usd
            .map_or_else(|| "unknown".to_owned(), |cost| format!("${cost:.2}"));
        table.row([
            Cell::with_role(Role::Strong, policy.name),
            figures::thousands(policy.requests).into(),
            number(policy.prompt_tokens),
            number(policy.cache_read_tokens),
            number(policy.cache_write_tokens),
            number(policy.uncached_tokens),
            format!("{:.1} %", policy.hit_rate * 100.0).into(),
            number(policy.peak_tokens),
            cost.into(),
        ]);
    }
    out.table(&table)?;
    let replayed = &report.policies[0];
    let compactions = match replayed.compactions {
        1 => "1 compaction".to_owned(),
        many => format!("{} compactions", figures::thousands(many as u64)),
    };
    out.line(Line::new().role(
        Role::Dim,
        format!(
            "{compactions}, {} refused, engine {:.1} ms",
            replayed.rejected, replayed.engine_ms
        ),
    ))?;
    for file in &report.files {
        show_file(file, out)?;
    }
    Ok(())
}

fn show_file(file: &FileReport, out: &mut Out) -> Outcome {
    out.blank()?;
    out.line(Line::new().role(Role::Strong, &file.file))?;
    let score = &file.score;
    out.line(format!(
        "  factor {:.3}, fitted on the first {} requests and scored on the rest",
        file.factor, file.fitted_turns
    ))?;
    out.line(format!(
        "  {} of {} ordinary hits read within 5 % · {} of {} breaks reproduced",
        score.matched, score.hits, score.reproduced, score.breaks
    ))?;
    let mut table = Table::new([
        Column::right("REQUEST"),
        Column::right("RECORDED"),
        Column::right("SIMULATED"),
        Column::left("WHY THEY DIFFER").gives_way(),
    ]);
    for difference in &file.differences {
        table.row([
            difference.turn.into(),
            figures::thousands(difference.recorded).into(),
            figures::thousands(difference.simulated).into(),
            difference.why.into(),
        ]);
    }
    if !table.is_empty() {
        out.table(&table)?;
    }
    Ok(())
}

fn show_turns(turns: &[TurnReport], out: &mut Out) -> Outcome {
    let mut table = Table::new([
        Column::right("REQUEST"),
        Column::right("PAUSE"),
        Column::right("PROMPT"),
        Column::right("READ"),
        Column::right("WRITTEN"),
        Column::right("UNCACHED"),
        Column::right("RECORDED READ"),
        Column::right("COST"),
    ]);
    for turn in turns {
        let number = |tokens: u64| Cell::new(figures::thousands(tokens));
        let cost = turn
            .cost_usd
            .map_or_else(|| "unknown".to_owned(), |cost| format!("${cost:.4}"));
        table.row([
            turn.turn.into(),
            format!("{} s", turn.gap_ms / 1_000).into(),
            number(turn.prompt_tokens),
            number(turn.cache_read_tokens),
            number(turn.cache_write_tokens),
            number(turn.uncached_tokens),
            number(turn.recorded_cache_read_tokens),
            cost.into(),
        ]);
        // A refused request has no figures of its own; the reason stands below its row instead.
        if let Some(refusal) = &turn.rejected {
            table.note(refusal);
        }
    }
    Ok(out.table(&table)?)
}
