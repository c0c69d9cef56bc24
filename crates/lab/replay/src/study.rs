//! Many sessions under several policies, and one of the policies against all others.
//!
//! # Model
//! A [`Row`] is one session with its cost under every policy; a lost session has none. [`Standing`]
//! compares a policy with the rest over a group of rows: sums with one other policy at a time, over
//! the sessions that both finished, and session by session with the cheapest other that finished.
//!
//! # Not here
//! Generated sessions: [`crate::corpus`]. Tables: the `replay` command.

use crate::policy_run::{RunError, RunOptions, run_policy};
use crate::script::Script;
use dormouse_core::models::ModelTable;
use dormouse_system::Clock;
use std::sync::Arc;

/// One session under several policies.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the session.
    pub name: String,
    /// Group of sessions it belongs to.
    pub group: &'static str,
    /// Number of its requests.
    pub requests: usize,
    /// Dollars by policy; `None` where the session was lost.
    pub costs: Vec<(&'static str, Option<f64>)>,
    /// Compactions by policy, in the same order.
    pub compactions: Vec<usize>,
}

impl Row {
    /// Plays a session under every policy.
    ///
    /// # Errors
    /// When the simulator or the engine cannot be set up.
    pub fn play(
        (name, group): (String, &'static str),
        script: &Script,
        options: &[RunOptions],
        models: &Arc<ModelTable>,
        ticks: &Arc<dyn Clock>,
    ) -> Result<Self, RunError> {
        let mut row = Self {
            name,
            group,
            requests: script.steps.len(),
            costs: Vec::with_capacity(options.len()),
            compactions: Vec::with_capacity(options.len()),
        };
        for options in options {
            let run = run_policy(script, options, models, ticks)?;
            let cost = run.finished().then(|| run.total.cost.as_f64());
            row.costs.push((run.policy, cost));
            row.compactions.push(run.compactions().values().sum());
        }
        Ok(row)
    }

    /// Dollars under a policy, if the session finished.
    pub fn cost(&self, policy: &str) -> Option<f64> {
        let found = self.costs.iter().find(|(name, _)| *name == policy)?;
        found.1
    }

    /// Cost under a policy as a multiple of the cheapest other that finished, with its name.
    pub fn ratio(&self, policy: &str) -> Option<(f64, &'static str)> {
        let own = self.cost(policy)?;
        let others = self.costs.iter().filter(|(name, _)| *name != policy);
        let (name, least) = others
            .filter_map(|(name, cost)| Some((*name, (*cost)?)))
            .filter(|(_, cost)| *cost > 0.0)
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((own / least, name))
    }
}

/// A policy against all others over a group of sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Standing {
    /// Number of sessions that were summed.
    pub sessions: usize,
    /// Sessions that the policy lost.
    pub lost: usize,
    /// Dollars of the sessions that it finished.
    pub cost: f64,
    /// Its sum as a multiple of each other policy's, over the sessions that both finished.
    pub sums: Vec<(&'static str, f64)>,
    /// Ratio to the cheapest other policy of each session, sorted.
    pub ratios: Vec<f64>,
    /// Session with the largest ratio: its name, the ratio, and the policy that was cheapest.
    pub worst: Option<(String, f64, &'static str)>,
}

impl Standing {
    /// The standing of a policy over these rows.
    pub fn of<'a>(policy: &str, rows: &(impl Iterator<Item = &'a Row> + Clone)) -> Self {
        let mut standing = Self::default();
        for row in rows.clone() {
            standing.sessions += 1;
            match row.cost(policy) {
                Some(cost) => standing.cost += cost,
                None => standing.lost += 1,
            }
            let Some((ratio, by)) = row.ratio(policy) else {
                continue;
            };
            standing.ratios.push(ratio);
            if standing.worst.as_ref().is_none_or(|worst| ratio > worst.1) {
                standing.worst = Some((row.name.clone(), ratio, by));
            }
        }
        standing.ratios.sort_by(f64::total_cmp);
        let names = rows.clone().next().map(|row| row.costs.clone());
        let others = names.unwrap_or_default().into_iter().map(|(name, _)| name);
        standing.sums = others
            .filter(|name| *name != policy)
            .filter_map(|name| {
                let both = rows
                    .clone()
                    .filter_map(|row| Some((row.cost(policy)?, row.cost(name)?)));
                let (own, other) =
                    both.fold((0.0, 0.0), |sum, (own, other)| (sum.0 + own, sum.1 + other));
                (other > 0.0).then_some((name, own / other))
            })
            .collect();
        standing
    }

    /// The ratio that this share of the sessions does not exceed (nearest rank).
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank within a list"
    )]
    pub fn percentile(&self, share: f64) -> Option<f64> {
        let rank = (share * self.ratios.len() as f64).ceil() as usize;
        self.ratios.get(rank.max(1) - 1).copied()
    }

    /// The sum against one other policy.
    pub fn against(&self, other: &str) -> Option<f64> {
        let found = self.sums.iter().find(|(name, _)| *name == other)?;
        Some(found.1)
    }

    /// The other policy whose sum comes out cheapest beside this one's.
    pub fn hardest(&self) -> Option<(&'static str, f64)> {
        self.sums.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn row(name: &str, costs: [Option<f64>; 3]) -> Row {
        Row {
            name: name.to_owned(),
            group: "any",
            requests: 1,
            costs: ["none", "classic", "economic"]
                .into_iter()
                .zip(costs)
                .collect(),
            compactions: vec![0; 3],
        }
    }

    #[test]
    fn lost_sessions_are_compared_with_nothing() {
        let rows = [
            row("a", [None, Some(4.0), Some(2.0)]),
            row("b", [Some(1.0), Some(2.0), Some(1.1)]),
            row("c", [Some(1.0), None, None]),
        ];
        let standing = Standing::of("economic", &rows.iter());
        assert_eq!((standing.sessions, standing.lost), (3, 1));
        assert_eq!(standing.ratios, [0.5, 1.1]);
        assert_eq!(standing.worst, Some(("b".to_owned(), 1.1, "none")));
        assert_eq!(standing.hardest(), Some(("none", 1.1)));
        let classic = standing.against("classic").unwrap();
        assert!((classic - 3.1 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        let standing = Standing {
            ratios: (1..=20).map(f64::from).collect(),
            ..Standing::default()
        };
        assert_eq!(standing.percentile(0.5), Some(10.0));
        assert_eq!(standing.percentile(0.95), Some(19.0));
        assert_eq!(standing.percentile(1.0), Some(20.0));
        assert_eq!(Standing::default().percentile(0.5), None);
    }
}
