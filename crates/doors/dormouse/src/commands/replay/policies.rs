//! Sessions under policies: adding up what they cost.
//!
//! # Model
//! A [`Comparison`] is what all [`Played`] sessions come to, in the shape of the JSON; the screen
//! shows the same figures.
//!
//! # Not here
//! Playing ([`super::play`]), words and tables ([`super::screen`]).

use super::play::{Conditions, Played, made, play};
use super::remarks::{comparisons, notes};
use super::spread::{Spread, spreads};
use super::{Args, plot, screen};
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Out, Report};
use dormouse_core::record::Purpose;
use dormouse_drive::Notice;
use dormouse_replay::{PolicyRun, Sums};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Serialize)]
pub(super) struct Comparison {
    pub(super) base: &'static str,
    pub(super) policies: Vec<PolicyReport>,
    pub(super) files: Vec<FileReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) spread: Vec<Spread>,
    pub(super) remarks: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct PolicyReport {
    pub(super) name: &'static str,
    pub(super) cost_usd: Option<f64>,
    pub(super) relative: Option<f64>,
    pub(super) requests: u64,
    pub(super) prompt_tokens: u64,
    pub(super) cache_read_tokens: u64,
    pub(super) cache_write_tokens: u64,
    pub(super) uncached_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) hit_rate: f64,
    pub(super) peak_tokens: u64,
    pub(super) rejected: u64,
    pub(super) compactions: BTreeMap<&'static str, usize>,
    pub(super) clearings: usize,
    pub(super) notes_updates: usize,
    pub(super) offloaded: usize,
    pub(super) by_purpose: BTreeMap<&'static str, PurposeReport>,
    pub(super) against_none: Option<Causes>,
    pub(super) finished: bool,
    pub(super) lost: Vec<Lost>,
    pub(super) fork_reads: Vec<ForkRead>,
    pub(super) engine_ms: f64,
    pub(super) engine_us_per_step: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turns: Option<Vec<StepReport>>,
}

impl PolicyReport {
    /// Dollars spent on requests of a purpose.
    pub(super) fn spent(&self, purpose: Purpose) -> f64 {
        let found = self.by_purpose.get(purpose_name(purpose));
        found.and_then(|found| found.cost_usd).unwrap_or(0.0)
    }

    /// The cost of a session that got to its end; the cost of a lost one would make losing look
    /// cheap.
    fn comparable(&self) -> Option<f64> {
        self.cost_usd.filter(|_| self.finished)
    }
}

#[derive(Serialize)]
pub(super) struct PurposeReport {
    pub(super) requests: u64,
    pub(super) cost_usd: Option<f64>,
}

/// Parts of the difference to the policy that never forgets.
#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the names are those of the JSON, which states units"
)]
pub(super) struct Causes {
    pub(super) notes_usd: f64,
    pub(super) compaction_usd: f64,
    pub(super) shorter_prompts_usd: f64,
    pub(super) total_usd: f64,
}

#[derive(Serialize)]
pub(super) struct Lost {
    pub(super) file: String,
    pub(super) step: usize,
    pub(super) of: usize,
    pub(super) why: String,
}

#[derive(Serialize)]
pub(super) struct ForkRead {
    file: String,
    step: usize,
    purpose: &'static str,
    share: f64,
}

#[derive(Serialize)]
pub(super) struct StepReport {
    pub(super) file: String,
    pub(super) step: usize,
    pub(super) prompt_tokens: u64,
    pub(super) cost_usd: f64,
    pub(super) fork_cost_usd: f64,
    pub(super) events: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct FileReport {
    pub(super) file: String,
    pub(super) steps: usize,
    pub(super) tool_bytes: u64,
    pub(super) model: Arc<str>,
    pub(super) window: u64,
    pub(super) window_from: String,
    pub(super) plot: Option<String>,
    pub(super) policies: Vec<FilePolicy>,
}

#[derive(Serialize)]
pub(super) struct FilePolicy {
    pub(super) name: &'static str,
    pub(super) cost_usd: Option<f64>,
    pub(super) lost: Option<String>,
}

/// Plays every session under every policy and shows the comparison.
pub(super) fn run(args: &Args, conditions: &Conditions, app: &mut App) -> Outcome {
    let played = play(args, conditions, app)?;
    let plots = match &args.plot {
        None => vec![None; played.len()],
        Some(path) => plot::write_all(path, &played, conditions, app)?,
    };
    let report = report(args, &played, plots);
    app.tell(&report)
}

impl Report for Comparison {
    fn text(&self, out: &mut Out) -> Outcome {
        screen::show(self, out)
    }
}

/// Name of a purpose on screen and in JSON.
pub(super) const fn purpose_name(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Turn => "conversation",
        Purpose::Notes => "notes",
        Purpose::Compaction => "compaction",
        Purpose::KeepAlive => "keep-alive",
        Purpose::Provider => "provider",
        Purpose::Fork => "fork",
    }
}

fn report(args: &Args, played: &[Played], plots: Vec<Option<String>>) -> Comparison {
    let policies = args.policies();
    let mut policies: Vec<PolicyReport> = (0..policies.len())
        .filter_map(|at| policy_report(args, played, at))
        .collect();
    let names: Vec<&'static str> = policies.iter().map(|policy| policy.name).collect();
    let base = names
        .iter()
        .find(|name| **name == "classic")
        .or(names.first())
        .copied()
        .unwrap_or_default();
    let find = |name: &str| policies.iter().find(|policy| policy.name == name);
    let base_cost = find(base).and_then(PolicyReport::comparable);
    let none = find("none").and_then(|none| Some((none.comparable()?, none.spent(Purpose::Turn))));
    for policy in &mut policies {
        policy.relative = policy
            .comparable()
            // A share of nothing is not a number.
            .zip(base_cost.filter(|base| *base > 0.0))
            .map(|(cost, base)| cost / base - 1.0);
        policy.against_none = policy.comparable().zip(none).map(|(cost, none)| Causes {
            notes_usd: policy.spent(Purpose::Notes),
            compaction_usd: policy.spent(Purpose::Compaction),
            shorter_prompts_usd: policy.spent(Purpose::Turn) - none.1,
            total_usd: cost - none.0,
        });
    }
    Comparison {
        base,
        remarks: remarks(&policies),
        spread: spreads(played),
        files: played
            .iter()
            .zip(plots)
            .map(|(played, plot)| file_report(played, plot))
            .collect(),
        policies,
    }
}

fn policy_report(args: &Args, played: &[Played], at: usize) -> Option<PolicyReport> {
    let name = played.first()?.runs.get(at)?.policy;
    let mut sums = Sums::default();
    let mut purposes: BTreeMap<Purpose, Sums> = BTreeMap::new();
    let mut compactions = BTreeMap::new();
    let (mut clearings, mut notes_updates, mut offloaded) = (0, 0, 0);
    let mut engine = Duration::ZERO;
    let mut steps: usize = 0;
    let (mut lost, mut fork_reads, mut turns) = (Vec::new(), Vec::new(), Vec::new());
    for (session, run) in played.iter().filter_map(|s| Some((s, s.runs.get(at)?))) {
        sums.merge(&run.total);
        for (purpose, of_purpose) in &run.by_purpose {
            purposes.entry(*purpose).or_default().merge(of_purpose);
        }
        for (kind, count) in run.compactions() {
            *compactions.entry(kind).or_default() += count;
        }
        clearings += run.clearings();
        notes_updates += run.notes_updates();
        offloaded += run.offloaded();
        engine += run.engine;
        steps += made(run);
        lost.extend(run.lost.iter().map(|why| Lost {
            file: session.name.clone(),
            step: made(run) + 1,
            of: run.wanted,
            why: why.clone(),
        }));
        let reads = run.fork_reads();
        fork_reads.extend(reads.into_iter().map(|(purpose, step, share)| ForkRead {
            file: session.name.clone(),
            step,
            purpose: purpose_name(purpose),
            share,
        }));
        if args.turns {
            turns.extend(step_reports(session, run));
        }
    }
    let usage = sums.usage;
    let engine_us = engine.as_secs_f64() * 1_000_000.0;
    Some(PolicyReport {
        name,
        cost_usd: cost(&sums),
        relative: None,
        requests: sums.requests - sums.rejected,
        prompt_tokens: usage.prompt().get(),
        cache_read_tokens: usage.cache_read.get(),
        cache_write_tokens: (usage.cache_write_5m + usage.cache_write_1h).get(),
        uncached_tokens: usage.input.get(),
        output_tokens: usage.output.get(),
        hit_rate: sums.hit_rate(),
        peak_tokens: sums.peak.get(),
        rejected: sums.rejected,
        compactions,
        clearings,
        notes_updates,
        offloaded,
        by_purpose: purposes
            .iter()
            .map(|(purpose, sums)| {
                let report = PurposeReport {
                    requests: sums.requests - sums.rejected,
                    cost_usd: cost(sums),
                };
                (purpose_name(*purpose), report)
            })
            .collect(),
        against_none: None,
        // One lost session spoils the sum: it has fewer requests than the others.
        finished: lost.is_empty(),
        lost,
        fork_reads,
        engine_ms: engine_us / 1_000.0,
        engine_us_per_step: engine_us / count(steps.max(1)),
        turns: args.turns.then_some(turns),
    })
}

#[expect(clippy::cast_precision_loss, reason = "a count of steps")]
const fn count(steps: usize) -> f64 {
    steps as f64
}

/// Dollars, unless no price is known.
pub(super) fn cost(sums: &Sums) -> Option<f64> {
    let priced = sums.requests == 0 || sums.unpriced < sums.requests;
    priced.then(|| sums.cost.as_f64())
}

fn step_reports<'a>(
    session: &'a Played,
    run: &'a PolicyRun,
) -> impl Iterator<Item = StepReport> + 'a {
    (1..).zip(&run.steps).take(made(run)).map(|(step, bill)| {
        let happened = run.notices.iter().filter(|(at, _)| *at == step);
        StepReport {
            file: session.name.clone(),
            step,
            prompt_tokens: bill.prompt.get(),
            cost_usd: bill.cost.as_f64(),
            fork_cost_usd: bill.forks.as_f64(),
            events: happened.filter_map(|(_, notice)| event(notice)).collect(),
        }
    })
}

/// The text of a notice, if it has one.
pub(super) fn event(notice: &Notice) -> Option<String> {
    let text = notice.to_string();
    (!text.is_empty()).then_some(text)
}

fn file_report(played: &Played, plot: Option<String>) -> FileReport {
    FileReport {
        file: played.name.clone(),
        steps: played.steps(),
        tool_bytes: played.tool_bytes,
        model: Arc::clone(&played.model),
        window: played.window.get(),
        window_from: played.window_from.clone(),
        plot,
        policies: played
            .runs
            .iter()
            .map(|run| FilePolicy {
                name: run.policy,
                cost_usd: cost(&run.total),
                lost: run.lost.clone(),
            })
            .collect(),
    }
}

/// Remarks that spare the reader the comparison of figures, also those that speak against us.
fn remarks(policies: &[PolicyReport]) -> Vec<String> {
    let finished: Vec<(&str, f64)> = policies
        .iter()
        .filter_map(|policy| Some((policy.name, policy.comparable()?)))
        .collect();
    let mut remarks = comparisons(&finished);
    let none = finished.iter().find(|(name, _)| *name == "none");
    remarks.extend(policies.iter().filter_map(|policy| {
        let cost = policy.comparable()?;
        let spent = policy.spent(Purpose::Notes);
        notes(policy.name, cost, spent, none.map(|(_, cost)| *cost))
    }));
    if policies.iter().any(|policy| !policy.finished) {
        remarks.push(
            "The cost of a session that was lost is that of its first steps; it is compared with \
             nothing."
                .to_owned(),
        );
    }
    remarks
}
