//! `dormouse stats`: the first-class figures, and whether they keep the limits of the settings.
//!
//! # Not here
//! Computing any of it: the host's statistics.

use super::usage::days;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome};
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures, wrapped};
use dormouse_core::units::Tokens;
use dormouse_host::{SessionStats, StatsAsk, StatsReport};
use std::fmt::Write as _;
use std::path::PathBuf;

const HELP: &str = "\
Without PATH: the sessions of all known agents on this machine, and the memories
of all projects. Sessions of other agents count as far as they have figures.

Without layers: an estimate of what the same turns would have cost with the freed
tokens in every later prompt of their session, read from the cache where the
request read any; the layers' own calls are left out. Facts: paths, identifiers
and numbers in your messages, looked for after each compaction in the summary and
the messages kept. Pollution: memories undone, rejected, stale or contradicted.

Limits come from the settings stats.min_hit_rate, stats.min_facts,
stats.max_pollution and stats.max_compactions. A figure that breaks one ends the
command with exit code 6; one that is not there keeps it.

Examples:
  dormouse stats
  dormouse stats --here --since 'last week'
  dormouse stats --by-project
  dormouse stats --gateway
  dormouse --set stats.min_hit_rate=90 stats --json

JSON: {\"sessions\", \"turns\", \"requests\", \"prompt_tokens\", \"cache_hit_rate\",
\"cost_usd\", \"layers_cost_usd\", \"cost_without_layers_usd\",
\"requests_beyond_window\", \"freed\": {LAYER: tokens}, \"acted\": {LAYER: times},
\"compactions_per_100_turns\", \"facts\": {\"before\", \"after\", \"share\"},
\"engine_ms\": {\"turns\", \"mean\", \"longest\"}, \"projects\": [{\"project\", the same}],
\"memory\": {\"written\", \"merged\", \"undone\", \"quarantined\", …}, \"recall\":
{\"candidates\", \"chosen\", \"shown\", \"used\"}, \"hooks\": {\"answers\", \"memories\",
\"tokens\", \"read_again\", \"cost_usd\"}, \"pollution\": {\"bad\",
\"per_100_written\", \"per_100_shown\"}, \"limits\": [{\"setting\", \"limit\", \"figure\",
\"kept\"}], \"since\", \"until\", \"files\", \"skipped_lines\", \"unreadable_files\"}

With --gateway: {\"requests\", \"failed\", \"prompt_tokens\", \"output_tokens\",
\"cache_hit_rate\", \"cost_usd\", \"cost_without_cache_usd\", \"unpriced\",
\"conversation_count\", \"relations\": {RELATION: requests}, \"conversations\":
[{\"conversation\", the same, \"models\", \"disturbed\", \"blocks\", \"first\", \"last\"}],
\"skipped_lines\"}";

/// Arguments of `dormouse stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Transcripts, folders with transcripts, ids of sessions, `latest`
    #[arg(value_name = "PATH", conflicts_with = "here")]
    paths: Vec<PathBuf>,
    /// Count this project alone
    #[arg(long)]
    here: bool,
    /// Add a line for each project
    #[arg(long)]
    by_project: bool,
    /// Leave out what was before: a date, `yesterday`, `last week`, `30 days`
    #[arg(long, value_name = "DAY")]
    since: Option<String>,
    /// Leave out what was after this day
    #[arg(long, value_name = "DAY")]
    until: Option<String>,
    /// Show the conversations that passed through the gateway instead
    #[arg(long, conflicts_with_all = ["paths", "here", "by_project", "since", "until"])]
    gateway: bool,
}

/// Columns of a label: the longest is "Compactions", and a gap sets the texts apart.
const LABEL: usize = 13;

/// Adds the figures up and compares them with the limits.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    if args.gateway {
        return super::gateway::figures::tell(app);
    }
    let host = app.host()?;
    let (since, until) = days(&host, args.since.as_deref(), args.until.as_deref())?;
    let paths = args.paths.iter().map(|path| app.session(Some(path)));
    let ask = StatsAsk {
        paths: paths.collect::<Result<_, _>>()?,
        here: args.here,
        since,
        until,
    };
    app.out.progress("reading sessions");
    let stats = host.stats(&ask);
    app.out.progress("");
    app.tell(&Told {
        report: stats?,
        by_project: args.by_project,
    })
}

#[derive(serde::Serialize)]
struct Told {
    #[serde(flatten)]
    report: StatsReport,
    #[serde(skip)]
    by_project: bool,
}

impl Report for Told {
    fn text(&self, out: &mut Out) -> Outcome {
        let report = &self.report;
        sessions(&report.all, out)?;
        memory(report, out)?;
        if self.by_project {
            out.blank()?;
            projects(report, out)?;
        }
        limits(report, out)?;
        if let (since, until) = (&report.since, &report.until)
            && (since.is_some() || until.is_some())
        {
            let since = since.as_deref().unwrap_or("the first day");
            let until = until.as_deref().unwrap_or("now");
            out.line(format!("from {since} to {until}"))?;
        }
        if report.skipped_lines > 0 {
            let lines = figures::thousands(report.skipped_lines);
            out.note(&format!(
                "{lines} lines could not be read in full; see `dormouse log FILE --issues`"
            ));
        }
        Ok(())
    }

    fn verdict(&self) -> Outcome {
        if self.report.limits.iter().all(|limit| limit.kept) {
            return Ok(());
        }
        Err(Failure::Told(Exit::Limit))
    }
}

fn sessions(all: &SessionStats, out: &mut Out) -> Outcome {
    let number = figures::thousands;
    let text = format!(
        "{}; {}, {}",
        number(all.sessions),
        count(all.turns, "turn", "turns"),
        count(all.requests, "request", "requests")
    );
    labelled("Sessions", &text, out)?;
    let hits = match all.cache_hit_rate {
        Some(rate) => format!(
            "{:.1} % of {} prompt tokens read",
            rate * 100.0,
            tokens(all.prompt_tokens)
        ),
        None => "no prompt".to_owned(),
    };
    labelled("Cache", &hits, out)?;
    let mut cost = match all.cost_usd {
        Some(cost) => format!("${cost:.2}"),
        None => "unknown".to_owned(),
    };
    if all.layers_cost_usd > 0.0 {
        let _ = write!(cost, ", ${:.2} of it for the layers", all.layers_cost_usd);
    }
    if let Some(without) = all.cost_without_layers_usd {
        let _ = write!(cost, "; without layers about ${without:.2}");
        if all.requests_beyond_window > 0 {
            let beyond = number(all.requests_beyond_window);
            let _ = write!(cost, ", {beyond} requests beyond the window");
        }
    }
    labelled("Cost", &cost, out)?;
    let (freed, acted) = (&all.freed, &all.acted);
    let layers = [
        ("files", freed.offload, acted.offloads),
        ("distilled", freed.distil, acted.distillations),
        ("cleared", freed.clear, acted.clearings),
        ("notes", freed.notes, acted.compactions_notes),
        (
            "compaction",
            freed.compaction,
            acted.compactions() - acted.compactions_notes,
        ),
    ];
    let layers = layers
        .iter()
        .filter(|(_, _, times)| *times > 0)
        .map(|(name, freed, times)| format!("{} {name} ({times})", tokens(*freed)));
    let layers: Vec<String> = layers.collect();
    let layers = if layers.is_empty() {
        "nothing".to_owned()
    } else {
        layers.join(", ")
    };
    labelled("Freed", &layers, out)?;
    compactions(all, out)?;
    if let Some(time) = &all.engine_ms {
        let text = format!("{:.1} ms a turn, longest {:.1} ms", time.mean, time.longest);
        labelled("Engine", &text, out)?;
    }
    Ok(())
}

fn compactions(all: &SessionStats, out: &mut Out) -> Outcome {
    let acted = &all.acted;
    let mut text = figures::thousands(acted.compactions());
    if let Some(rate) = all
        .compactions_per_100_turns
        .filter(|_| acted.compactions() > 0)
    {
        let by = [
            ("notes", acted.compactions_notes),
            ("model", acted.compactions_model),
            ("offline", acted.compactions_offline),
            ("other tools", acted.compactions_foreign),
        ];
        let by = by.iter().filter(|(_, times)| *times > 0);
        let by: Vec<String> = by.map(|(name, times)| format!("{times} {name}")).collect();
        let _ = write!(text, " ({}), {rate:.1} per 100 turns", by.join(", "));
    }
    labelled("Compactions", &text, out)?;
    if let Some(share) = all.facts.share {
        let text = format!(
            "{:.1} % of {} survived",
            share * 100.0,
            figures::thousands(all.facts.before)
        );
        labelled("Facts", &text, out)?;
    }
    let mut notes = format!("{} updates", figures::thousands(acted.notes_updates));
    if acted.dreams > 0 {
        let _ = write!(notes, "; {} dreams", figures::thousands(acted.dreams));
    }
    labelled("Notes", &notes, out)
}

fn memory(report: &StatsReport, out: &mut Out) -> Outcome {
    let number = figures::thousands;
    let memory = &report.memory;
    let text = format!(
        "{}; {} written ({} by extraction, {} by dreams), {} merged, {} undone, {} quarantined ({} \
         wait, {} rejected)",
        number(memory.living),
        number(memory.written),
        number(memory.written_by_extraction),
        number(memory.written_by_dreams),
        number(memory.merged),
        number(memory.undone),
        number(memory.quarantined),
        number(memory.waiting),
        number(memory.rejected)
    );
    labelled("Memories", &text, out)?;
    let recall = &report.recall;
    let text = format!(
        "{} candidates, {} chosen, {} shown, {} used",
        number(recall.candidates),
        number(recall.chosen),
        number(recall.shown),
        number(recall.used)
    );
    labelled("Recall", &text, out)?;
    let hooks = &report.hooks;
    if hooks.answers > 0 {
        let text = format!(
            "{}, {}, {} tokens given to other agents; {} read again, about ${:.2}",
            count(hooks.answers, "answer", "answers"),
            count(hooks.memories, "memory", "memories"),
            tokens(hooks.tokens),
            tokens(hooks.read_again),
            hooks.cost_usd
        );
        labelled("Hooks", &text, out)?;
    }
    let pollution = &report.pollution;
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"));
    let text = format!(
        "{} per 100 written, {} per 100 shown ({} undone, {} rejected, {} stale, {} contradicted)",
        rate(pollution.per_100_written),
        rate(pollution.per_100_shown),
        number(memory.undone),
        number(memory.rejected),
        number(memory.stale),
        number(memory.contradicted)
    );
    labelled("Pollution", &text, out)
}

fn projects(report: &StatsReport, out: &mut Out) -> Outcome {
    let mut table = Table::new([
        Column::left("PROJECT").gives_way_until(16),
        Column::right("TURNS").can_go(),
        Column::right("HITS").can_go(),
        Column::right("FREED").can_go(),
        Column::right("COST"),
    ]);
    for project in &report.projects {
        let stats = &project.stats;
        let freed = &stats.freed;
        let freed = freed.offload + freed.distil + freed.clear + freed.notes + freed.compaction;
        let hits = stats
            .cache_hit_rate
            .map(|rate| format!("{:.0} %", rate * 100.0));
        let cost = stats.cost_usd.map(|cost| format!("${cost:.2}"));
        table.row([
            Cell::new(project.project.as_deref().unwrap_or("(not told)")),
            figures::thousands(stats.turns).into(),
            hits.unwrap_or_default().into(),
            tokens(freed).into(),
            cost.unwrap_or_else(|| "unknown".to_owned()).into(),
        ]);
    }
    Ok(out.table(&table)?)
}

fn limits(report: &StatsReport, out: &mut Out) -> Outcome {
    for limit in &report.limits {
        let (role, word) = if limit.kept {
            (Role::Good, "kept")
        } else {
            (Role::Error, "broken")
        };
        let figure = limit
            .figure
            .map_or_else(|| "no figure".to_owned(), |figure| format!("{figure:.1}"));
        let text = format!(": {word} {} = {}", limit.setting, limit.limit);
        let line = Line::new().role(Role::Strong, "Limit");
        out.line(line.text(": ").text(figure).role(role, text))?;
    }
    Ok(())
}

fn count(number: u64, one: &str, many: &str) -> String {
    figures::count(usize::try_from(number).unwrap_or(usize::MAX), one, many)
}

fn tokens(number: u64) -> String {
    figures::tokens(Tokens(number))
}

/// Prints a label and a text that hangs behind it.
fn labelled(label: &str, text: &str, out: &mut Out) -> Outcome {
    let room = out.width().saturating_sub(LABEL);
    for (at, line) in wrapped(text, room).into_iter().enumerate() {
        let label = if at == 0 { label } else { "" };
        let head = Line::new().role(Role::Strong, format!("{label:<LABEL$}"));
        out.line(head.text(line))?;
    }
    Ok(())
}
