//! `dormouse stats --gateway`: conversations that passed through the gateway, and their cost.

use super::book_failure;
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_relay::{BookReport, folder, read_book};
use serde::Serialize;

/// Conversations listed on the screen; JSON has all of them.
const SHOWN: usize = 12;
/// Digits of a conversation's id on the screen: enough to tell a day's conversations apart.
const DIGITS: usize = 8;

/// Reads the book and tells it.
pub fn tell(app: &mut App) -> Outcome {
    let host = app.host()?;
    let folder = folder(&host.places().home);
    let report = read_book(&app.system, &folder, &host.models()).map_err(book_failure)?;
    app.tell(&Told(report))
}

#[derive(Serialize)]
struct Told(BookReport);

impl Report for Told {
    fn text(&self, out: &mut Out) -> Outcome {
        let Self(report) = self;
        let all = &report.all;
        if all.requests == 0 {
            return Ok(out.line("No request has passed through the gateway yet.")?);
        }
        let number = figures::thousands;
        let label = |name: &str| Line::new().role(Role::Strong, format!("{name:<13}"));
        let text = format!(
            "{}; {} requests, {} failed",
            number(report.conversation_count),
            number(all.requests),
            number(all.failed)
        );
        out.line(label("Conversations").text("  ").text(text))?;
        let hits = match all.cache_hit_rate {
            Some(rate) => format!(
                "{:.1} % of {} prompt tokens read",
                rate * 100.0,
                figures::tokens(all.prompt_tokens)
            ),
            None => "no prompt".to_owned(),
        };
        out.line(label("Cache").text("  ").text(hits))?;
        let mut cost = format!(
            "${:.2}; ${:.2} without a cache",
            all.cost_usd.as_f64(),
            all.cost_without_cache_usd.as_f64()
        );
        if all.cost_untouched_usd != all.cost_usd {
            let untouched = all.cost_untouched_usd.as_f64();
            cost = format!("{cost}; about ${untouched:.2} untouched by the layers");
        }
        if all.unpriced > 0 {
            cost = format!("{cost}; {} requests of unknown cost", number(all.unpriced));
        }
        out.line(label("Cost").text("  ").text(cost))?;
        let relations = report.relations.iter();
        let relations: Vec<String> = relations
            .map(|(name, count)| format!("{} {}", number(*count), name.replace('_', " ")))
            .collect();
        out.line(label("Requests").text("  ").text(relations.join(", ")))?;
        out.blank()?;
        out.table(&table(report, out))?;
        let more = report.conversations.len().saturating_sub(SHOWN);
        if more > 0 {
            out.line(format!("and {more} more; --json has them all"))?;
        }
        if report.skipped_lines > 0 {
            let lines = number(report.skipped_lines);
            out.note(&format!("{lines} lines of the book could not be read"));
        }
        Ok(())
    }
}

fn table(report: &BookReport, out: &Out) -> Table {
    let mut table = Table::new([
        Column::left("CONVERSATION"),
        Column::right("REQUESTS"),
        Column::right("PROMPT").can_go(),
        Column::right("HITS").can_go(),
        Column::right("COST"),
        Column::right("UNTOUCHED").can_go(),
        Column::left("LAST").can_go(),
        Column::left("MODEL").gives_way_until(12),
    ]);
    for one in report.conversations.iter().take(SHOWN) {
        let mut id = one.conversation.to_string();
        id.truncate(DIGITS);
        let hits = one.sums.cache_hit_rate;
        let hits = hits.map(|rate| format!("{:.0} %", rate * 100.0));
        let models: Vec<&str> = one.models.iter().map(String::as_str).collect();
        table.row([
            Cell::new(id),
            figures::thousands(one.sums.requests).into(),
            figures::tokens(one.sums.prompt_tokens).into(),
            hits.unwrap_or_default().into(),
            format!("${:.2}", one.sums.cost_usd.as_f64()).into(),
            format!("${:.2}", one.sums.cost_untouched_usd.as_f64()).into(),
            figures::age(out.now(), one.last).into(),
            models.join(", ").into(),
        ]);
    }
    table
}
