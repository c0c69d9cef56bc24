//! `replay --sessions`: many generated sessions, and how `economic` stands among the policies.
//!
//! # Not here
//! Generating and comparing: `dormouse_replay::{corpus, study}`. One session in detail: `policies`.

use super::Args;
use super::play::Conditions;
use crate::app::App;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Cell, Column, Line, Out, Report, Role, Table};
use clap::ValueEnum;
use dormouse_replay::corpus::{self, Half, Shape};
use dormouse_replay::study::{Row, Standing};
use dormouse_replay::{RunOptions, policies};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The policy whose standing is told.
const OURS: &str = "economic";

/// Numbers of generated sessions, the last one not included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    from: u32,
    to: u32,
}

/// Reads `140` (the first 140) or `140..280`.
pub(super) fn numbers(text: &str) -> Result<Numbers, String> {
    let (from, to) = text.split_once("..").unwrap_or(("0", text));
    let parsed = from.parse().ok().zip(to.parse().ok());
    let fits = |(from, to): &(u32, u32)| from < to && *to <= corpus::SESSIONS;
    let (from, to) = parsed.filter(fits).ok_or_else(|| {
        format!(
            "write a number up to {0}, or a range like 140..{0}",
            corpus::SESSIONS
        )
    })?;
    Ok(Numbers { from, to })
}

/// Half of the generated sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WhichHalf {
    /// Sessions that a policy may be tuned on
    Seen,
    /// Sessions that only report
    Unseen,
}

#[derive(Serialize)]
struct Study {
    groups: Vec<Group>,
    sessions: Vec<SessionReport>,
}

#[derive(Serialize)]
struct Group {
    half: &'static str,
    shape: &'static str,
    sessions: usize,
    cost_usd: f64,
    of_classic: Option<f64>,
    hardest: Option<&'static str>,
    of_hardest: Option<f64>,
    median: Option<f64>,
    p95: Option<f64>,
    worst: Option<f64>,
    worst_session: Option<String>,
    lost: usize,
}

#[derive(Serialize)]
struct SessionReport {
    number: u32,
    half: &'static str,
    shape: &'static str,
    requests: usize,
    costs_usd: BTreeMap<&'static str, Option<f64>>,
    compactions: BTreeMap<&'static str, usize>,
}

/// Plays the sessions and tells the standing by half and shape.
pub(super) fn run(
    args: &Args,
    numbers: Numbers,
    conditions: &Conditions,
    app: &mut App,
) -> Outcome {
    let clock = Arc::clone(&app.system.clock);
    let named = if args.policy.is_empty() {
        // A standing needs all the others.
        policies::NAMES
            .into_iter()
            .filter_map(policies::named)
            .collect()
    } else {
        args.policies()
    };
    let model = args.model.as_deref().unwrap_or(corpus::MODEL);
    let mut rows: Vec<(Half, Row)> = Vec::new();
    let mut sessions = Vec::new();
    for number in numbers.from..numbers.to {
        let session = corpus::session(number, model);
        let wanted = match args.half {
            None => true,
            Some(WhichHalf::Seen) => session.half == Half::Seen,
            Some(WhichHalf::Unseen) => session.half == Half::Unseen,
        };
        if !wanted {
            continue;
        }
        app.out
            .progress(&format!("playing session {number} of {}", numbers.to));
        let options: Vec<RunOptions> = named
            .iter()
            .map(|policy| conditions.options(policy, args.window.window.unwrap_or(session.window)))
            .collect();
        let named = (format!("#{number}"), session.shape.name());
        let row = Row::play(named, &session.script, &options, &conditions.models, &clock)
            .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
        sessions.push(SessionReport {
            number,
            half: session.half.name(),
            shape: row.group,
            requests: row.requests,
            costs_usd: row.costs.iter().copied().collect(),
            compactions: row
                .costs
                .iter()
                .zip(&row.compactions)
                .map(|((name, _), count)| (*name, *count))
                .collect(),
        });
        rows.push((session.half, row));
    }
    app.out.progress("");
    let mut groups = Vec::new();
    for half in [Half::Seen, Half::Unseen] {
        let of_half = rows.iter().filter(|(which, _)| *which == half);
        for shape in Shape::ALL.map(Shape::name) {
            let of_shape = of_half.clone().filter(|(_, row)| row.group == shape);
            groups.extend(Group::of(half, shape, &of_shape.map(|(_, row)| row)));
        }
        groups.extend(Group::of(half, "all", &of_half.map(|(_, row)| row)));
    }
    app.tell(&Study { groups, sessions })
}

impl Group {
    /// The standing of a group; none without sessions.
    fn of<'a>(
        half: Half,
        shape: &'static str,
        rows: &(impl Iterator<Item = &'a Row> + Clone),
    ) -> Option<Self> {
        let standing = Standing::of(OURS, rows);
        let hardest = standing.hardest();
        (standing.sessions > 0).then(|| Self {
            half: half.name(),
            shape,
            sessions: standing.sessions,
            cost_usd: standing.cost,
            of_classic: standing.against("classic"),
            hardest: hardest.map(|(name, _)| name),
            of_hardest: hardest.map(|(_, ratio)| ratio),
            median: standing.percentile(0.5),
            p95: standing.percentile(0.95),
            worst: standing.worst.as_ref().map(|worst| worst.1),
            worst_session: standing
                .worst
                .as_ref()
                .map(|worst| format!("{} against {}", worst.0, worst.2)),
            lost: standing.lost,
        })
    }
}

impl Report for Study {
    fn text(&self, out: &mut Out) -> Outcome {
        let title = format!("{} generated sessions under `{OURS}`", self.sessions.len());
        out.line(Line::new().role(Role::Strong, title))?;
        out.blank()?;
        out.table(&self.table())?;
        out.blank()?;
        out.paragraph(
            Role::Dim,
            "OF CLASSIC and OF NEXT compare sums, with classic and with the policy that comes out \
             cheapest beside it, over the sessions that both finished. MEDIAN, 95 % and WORST are \
             of the ratio to the cheapest other policy that finished, session by session.",
            0,
        )?;
        Ok(())
    }
}

impl Study {
    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::left("HALF"),
            Column::left("SHAPE"),
            Column::right("SESSIONS"),
            Column::right("COST"),
            Column::right("OF CLASSIC"),
            Column::right("OF NEXT"),
            Column::right("MEDIAN"),
            Column::right("95 %"),
            Column::right("WORST"),
            Column::right("LOST"),
            Column::left("WORST SESSION").can_go(),
        ]);
        let ratio =
            |ratio: Option<f64>| ratio.map_or_else(|| "–".to_owned(), |r| format!("{r:.3}"));
        for group in &self.groups {
            table.cells(vec![
                Cell::new(group.half.to_owned()),
                Cell::with_role(Role::Strong, group.shape),
                group.sessions.into(),
                format!("${:.2}", group.cost_usd).into(),
                ratio(group.of_classic).into(),
                ratio(group.of_hardest).into(),
                ratio(group.median).into(),
                ratio(group.p95).into(),
                ratio(group.worst).into(),
                group.lost.into(),
                group.worst_session.clone().unwrap_or_default().into(),
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_a_count_or_a_range() {
        assert_eq!(numbers("140"), Ok(Numbers { from: 0, to: 140 }));
        assert_eq!(
            numbers("70..1000"),
            Ok(Numbers {
                from: 70,
                to: 1_000
            })
        );
        for bad in ["", "0", "10001", "9..3", "a..b", "-1"] {
            assert!(numbers(bad).is_err(), "{bad}");
        }
    }
}
