//! Many sessions: how each policy stands, session by session, against the cheapest other.
//!
//! # Not here
//! Standings: `dormouse_replay::study`.

use super::play::{Played, short};
use crate::output::{Cell, Column, Role, Table};
use dormouse_replay::study::{Row, Standing};
use serde::Serialize;

/// The standing of one policy over all sessions.
#[derive(Serialize)]
pub(super) struct Spread {
    name: &'static str,
    sessions: usize,
    lost: usize,
    /// Dollars of the sessions it finished.
    cost_usd: f64,
    median: Option<f64>,
    p95: Option<f64>,
    worst: Option<f64>,
    worst_session: Option<String>,
}

/// The standings of all policies; none for a single session.
pub(super) fn spreads(played: &[Played]) -> Vec<Spread> {
    if played.len() < 2 {
        return Vec::new();
    }
    let rows: Vec<Row> = played.iter().map(row).collect();
    let names = rows
        .first()
        .map(|row| row.costs.clone())
        .unwrap_or_default();
    names
        .into_iter()
        .map(|(name, _)| {
            let standing = Standing::of(name, &rows.iter());
            Spread {
                name,
                sessions: standing.sessions,
                lost: standing.lost,
                cost_usd: standing.cost,
                median: standing.percentile(0.5),
                p95: standing.percentile(0.95),
                worst: standing.worst.as_ref().map(|worst| worst.1),
                worst_session: standing
                    .worst
                    .map(|(session, _, by)| format!("{} against {by}", short(&session))),
            }
        })
        .collect()
}

fn row(played: &Played) -> Row {
    let cost = |finished: bool, cost: f64| finished.then_some(cost);
    Row {
        name: played.name.clone(),
        group: "all",
        requests: played.steps(),
        costs: played
            .runs
            .iter()
            .map(|run| (run.policy, cost(run.finished(), run.total.cost.as_f64())))
            .collect(),
        compactions: played
            .runs
            .iter()
            .map(|run| run.compactions().values().sum())
            .collect(),
    }
}

/// The standings as a table.
pub(super) fn table(spreads: &[Spread]) -> Table {
    let mut table = Table::new([
        Column::left("POLICY"),
        Column::right("SESSIONS").can_go(),
        Column::right("LOST"),
        Column::right("MEDIAN"),
        Column::right("95 %"),
        Column::right("WORST"),
        Column::left("WORST SESSION").can_go(),
    ]);
    let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), |r| format!("{r:.2}"));
    for spread in spreads {
        table.cells(vec![
            Cell::with_role(Role::Strong, spread.name),
            spread.sessions.into(),
            match spread.lost {
                0 => Cell::with_role(Role::Dim, "–"),
                lost => Cell::with_role(Role::Warning, lost),
            },
            ratio(spread.median).into(),
            ratio(spread.p95).into(),
            ratio(spread.worst).into(),
            spread.worst_session.clone().unwrap_or_default().into(),
        ]);
    }
    table
}
