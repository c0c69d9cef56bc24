//! `replay --ablate`: each layer off alone, and what that costs and loses.
//!
//! # Model
//! A session is played with all layers, then once for each layer without it. Beside the cost stands
//! what the session needed later: a layer that saves money by forgetting shows there.
//!
//! # Not here
//! The layers and their settings: `dormouse_replay::ABLATIONS`.

use super::Args;
use super::play::{Conditions, Order, failed, run_all, subjects};
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_core::units::Tokens;
use dormouse_replay::fidelity::used::{Used, judge, uses, wanted};
use dormouse_replay::{ABLATIONS, PolicyRun, RunOptions};
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize)]
struct Study {
    sessions: usize,
    requests: usize,
    policies: Vec<Ablated>,
}

#[derive(Serialize)]
struct Ablated {
    policy: &'static str,
    /// With all layers first, then without each.
    variants: Vec<Variant>,
}

#[derive(Default, Serialize)]
struct Variant {
    /// The layer that is off; none with all layers.
    without: Option<&'static str>,
    cost_usd: f64,
    /// Difference to all layers as a share of it; none where a session was lost.
    relative: Option<f64>,
    compactions: usize,
    peak_tokens: u64,
    lost: usize,
    /// Share of the values needed later that stood in the prompt.
    in_prompt: Option<f64>,
    /// Share that stood there or was one call away.
    within_reach: Option<f64>,
}

/// Plays every session with and without each layer.
pub(super) fn run(args: &Args, conditions: &Conditions, app: &mut App) -> Outcome {
    let subjects = subjects(args, conditions, app)?;
    let needed: Vec<_> = subjects
        .iter()
        .map(|subject| uses(&subject.script))
        .collect();
    let without = std::iter::once(None).chain(ABLATIONS.iter().map(Some));
    let variants: Vec<_> = without
        .map(|ablation| {
            let settings = match ablation {
                None => Arc::clone(&conditions.settings),
                Some(ablation) => Arc::new(conditions.settings.with(&ablation.settings())),
            };
            (ablation.map(|ablation| ablation.layer), settings)
        })
        .collect();
    let mut study = Study {
        sessions: subjects.len(),
        requests: subjects
            .iter()
            .map(|subject| subject.script.steps.len())
            .sum(),
        policies: Vec::new(),
    };
    for policy in args.policies() {
        let mut orders = Vec::new();
        for (layer, settings) in &variants {
            for (subject, needed) in subjects.iter().zip(&needed) {
                let without = layer.map_or_else(String::new, |layer| format!(" without {layer}"));
                orders.push(Order {
                    script: &subject.script,
                    options: RunOptions {
                        wanted: wanted(needed),
                        settings: Arc::clone(settings),
                        ..conditions.options(&policy, subject.window)
                    },
                    told: format!("playing {}{without}", policy.name()),
                });
            }
        }
        let mut runs = run_all(&orders, &conditions.models, app).into_iter();
        let mut ablated = Ablated {
            policy: policy.name(),
            variants: Vec::new(),
        };
        for (layer, _) in &variants {
            let mut variant = Variant {
                without: *layer,
                ..Variant::default()
            };
            let mut sum = Used::default();
            for (subject, needed) in subjects.iter().zip(&needed) {
                let Some(run) = runs.next() else { continue };
                let run = run.map_err(|error| failed(&subject.name, &error))?;
                let info = conditions.models.lookup(&subject.script.model).info;
                sum.merge(&judge(&run, needed, &*policy, info.bytes_per_token.text));
                variant.add(&run);
            }
            variant.judged(&sum);
            ablated.variants.push(variant);
        }
        ablated.compare();
        study.policies.push(ablated);
    }
    app.tell(&study)
}

impl Variant {
    fn add(&mut self, run: &PolicyRun) {
        self.cost_usd += run.total.cost.as_f64();
        self.compactions += run.compactions().values().sum::<usize>();
        self.peak_tokens = self.peak_tokens.max(run.total.peak.get());
        self.lost += usize::from(!run.finished());
    }

    #[expect(clippy::cast_precision_loss, reason = "shares for people and scripts")]
    fn judged(&mut self, used: &Used) {
        let total = used.total;
        let share = |part: usize| (total.all() > 0).then(|| part as f64 / total.all() as f64);
        self.in_prompt = share(total.in_prompt);
        self.within_reach = share(total.in_prompt + total.one_call_away);
    }
}

impl Ablated {
    fn compare(&mut self) {
        let base = self
            .variants
            .first()
            .filter(|all| all.lost == 0 && all.cost_usd > 0.0);
        let Some(base) = base.map(|all| all.cost_usd) else {
            return;
        };
        for variant in self.variants.iter_mut().filter(|variant| variant.lost == 0) {
            variant.relative = Some(variant.cost_usd / base - 1.0);
        }
    }
}

impl Report for Study {
    fn text(&self, out: &mut Out) -> Outcome {
        let told = format!(
            "{} of {}",
            figures::count(self.requests, "request", "requests"),
            figures::count(self.sessions, "session", "sessions")
        );
        out.line(Line::new().role(Role::Dim, told))?;
        for policy in &self.policies {
            out.blank()?;
            out.line(Line::new().role(
                Role::Strong,
                format!("`{}`, each layer off alone", policy.policy),
            ))?;
            out.table(&table(policy))?;
        }
        out.blank()?;
        out.paragraph(
            Role::Dim,
            "NEEDED is the share of values that the session used again three or more requests later: \
             in the prompt at that moment / in the prompt or one call away.",
            0,
        )?;
        Ok(())
    }
}

fn table(policy: &Ablated) -> Table {
    let mut table = Table::new([
        Column::left("WITHOUT"),
        Column::right("COST"),
        Column::right("VS ALL"),
        Column::right("COMPACTIONS").can_go(),
        Column::right("PEAK").can_go(),
        Column::right("NEEDED"),
        Column::right("LOST"),
    ]);
    for variant in &policy.variants {
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "–".to_owned(), |share| format!("{:.1}", share * 100.0))
        };
        table.row([
            variant.without.map_or_else(
                || Cell::with_role(Role::Dim, "–"),
                |layer| Cell::with_role(Role::Strong, layer),
            ),
            format!("${:.2}", variant.cost_usd).into(),
            match variant.relative {
                Some(_) if variant.without.is_none() => Cell::with_role(Role::Dim, "–"),
                Some(share) => super::screen::relative_cell(share),
                None => Cell::with_role(Role::Dim, "–"),
            },
            variant.compactions.into(),
            figures::tokens(Tokens(variant.peak_tokens)).into(),
            format!(
                "{} / {}",
                percent(variant.in_prompt),
                percent(variant.within_reach)
            )
            .into(),
            match variant.lost {
                0 => Cell::with_role(Role::Dim, "–"),
                lost => Cell::with_role(Role::Warning, lost),
            },
        ]);
    }
    table
}
