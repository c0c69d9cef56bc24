//! Groups of responses, and of parts of them: their names, their sums, their order.
//!
//! # Not here
//! The question, and the sums over everything: the parent module.

use super::{Group, GroupFigures, Scan, UsageBy, UsageGroup};
use crate::days::Calendar;
use dormouse_core::meter::PartPrices;
use dormouse_core::usage::Usd;
use dormouse_core::usage_book::Booked;
use jiff::civil::Date;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the group for everything in a prompt that no tool brought, and for the answers.
const CONVERSATION: &str = "(conversation)";
/// Name of the group of responses without a time.
const UNDATED: &str = "(no time)";
/// Name of the group of responses whose transcript names no folder.
const NO_PROJECT: &str = "(no folder)";

/// Cost and results of one tool.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ToolSum {
    results: u64,
    tokens: u64,
    cost: Usd,
}

pub(super) fn group_name(
    by: UsageBy,
    response: &Booked<'_>,
    day: Option<Date>,
    scan: &Scan,
) -> String {
    let source = scan.sources.get(&response.told.source);
    let dated = |name: fn(Date) -> String| day.map_or_else(|| UNDATED.to_owned(), name);
    match by {
        UsageBy::Day => dated(|day| day.to_string()),
        UsageBy::Week => dated(|day| {
            let week = day.iso_week_date();
            format!("{:04}-W{:02}", week.year(), week.week())
        }),
        UsageBy::Project => source
            .and_then(|source| source.project.clone())
            .unwrap_or_else(|| NO_PROJECT.to_owned()),
        UsageBy::Session | UsageBy::Tool | UsageBy::Model => source
            .map(|source| source.session.clone())
            .unwrap_or_default(),
    }
}

/// Divides the cost of a response among the tools whose results its prompt held.
pub(super) fn by_tool(response: &Booked<'_>, tools: &mut BTreeMap<Arc<str>, ToolSum>) {
    let mut rest = response.cost.unwrap_or_default();
    if let (Some(parts), Some(prices)) = (response.parts, response.prices) {
        let prices = PartPrices::new(prices, &response.usage);
        for part in &parts.tools {
            let cost = prices.tool(part);
            rest = rest - cost;
            let tool = tools.entry(Arc::clone(&part.tool)).or_default();
            tool.results += part.results;
            tool.tokens += part.fresh.get();
            tool.cost += cost;
        }
    }
    tools.entry(Arc::from(CONVERSATION)).or_default().cost += rest;
}

pub(super) fn tool_groups(tools: BTreeMap<Arc<str>, ToolSum>) -> Vec<UsageGroup> {
    let mut groups: Vec<UsageGroup> = tools
        .into_iter()
        .map(|(name, sum)| UsageGroup {
            name: name.to_string(),
            figures: GroupFigures::Parts {
                results: sum.results,
                result_tokens: sum.tokens,
                cost_usd: sum.cost.as_f64(),
                cost: sum.cost,
            },
        })
        .collect();
    by_cost(&mut groups);
    groups
}

pub(super) fn response_groups<'g>(
    by: UsageBy,
    named: impl Iterator<Item = (String, &'g Group)>,
    scan: &Scan,
    calendar: &Calendar,
) -> Vec<UsageGroup> {
    let folders: BTreeMap<&str, &str> = scan
        .sources
        .values()
        .filter_map(|source| Some((source.session.as_str(), source.project.as_deref()?)))
        .collect();
    let mut groups: Vec<UsageGroup> = named
        .map(|(name, group)| {
            let is_session = by == UsageBy::Session;
            let project = folders.get(name.as_str()).filter(|_| is_session);
            let last = group.last.filter(|_| is_session);
            let figures = GroupFigures::Responses {
                figures: Box::new(group.figures()),
                project: project.map(ToString::to_string),
                last: last.map(|at| calendar.day(at).to_string()),
            };
            UsageGroup { name, figures }
        })
        .collect();
    // Days and weeks are in the order of their names already, which is that of time.
    if !matches!(by, UsageBy::Day | UsageBy::Week) {
        by_cost(&mut groups);
    }
    groups
}

/// Puts the dearest first; of two that cost the same, by name.
fn by_cost(groups: &mut [UsageGroup]) {
    groups.sort_by(|a, b| {
        let dearer = b.figures.cost().cmp(&a.figures.cost());
        dearer.then_with(|| a.name.cmp(&b.name))
    });
}
