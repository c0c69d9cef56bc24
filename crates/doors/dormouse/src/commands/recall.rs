//! `dormouse recall`: which memories a question would bring in.

use super::memory::lookup::{Ranked, rank};
use super::memory::place::Which;
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Format, Line, Role};
use dormouse_core::settings::keys;
use dormouse_recall::CANDIDATES;
use serde::Serialize;
use std::path::PathBuf;

const HELP: &str = "\
Memories are ranked by their words; no model is asked. Only what is certain is
shown: nothing is better than noise. --all also shows the nearest of the rest, and
what was overtaken or is not trusted.

Examples:
  dormouse recall which port does staging use
  dormouse recall --all 'database tests'

JSON: {\"query\", \"abstained\", \"memories\": [{\"path\", \"name\", \"description\", \"type\",
\"trust\", \"modified\", \"score\", \"confidence\", \"words\", \"mark\", \"over\",
\"untrusted\", \"pinned\", \"team\"}], \"uncertain\": [the same, with --all]}";

/// Arguments of `recall`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The question
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,
    /// Memories at most; the setting `recall.files` if not given
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Also show what is not certain
    #[arg(long)]
    all: bool,
    /// Look in the memory in DIR instead of the project's
    #[arg(long, value_name = "DIR", conflicts_with = "team")]
    dir: Option<PathBuf>,
    /// Look only in the memory shared by the people of the project
    #[arg(long)]
    team: bool,
}

#[derive(Serialize)]
struct Report {
    query: String,
    abstained: bool,
    memories: Vec<Ranked>,
    uncertain: Vec<Ranked>,
}

/// Recalls.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let query = args.query.join(" ");
    let settings = app.config_without_aside()?.loaded.settings;
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let limit = args.limit.unwrap_or(size(settings.get(keys::RECALL_FILES)));
    let candidates = CANDIDATES.max(limit);
    let which = Which::of(args.dir.as_deref(), args.team);
    let ranked = rank(&query, candidates, limit, &which, app)?;
    let (mut memories, mut uncertain): (Vec<Ranked>, Vec<Ranked>) =
        ranked.into_iter().partition(Ranked::is_certain);
    memories.truncate(limit);
    // What shares no telling word with the question is not even near.
    uncertain.retain(|memory| !memory.words.is_empty());
    uncertain.truncate(if args.all { limit } else { 0 });
    let report = Report {
        abstained: memories.is_empty(),
        query,
        memories,
        uncertain,
    };
    match app.out.format() {
        Format::Json => Ok(app.out.json(&report)?),
        Format::Text => show(&report, args.all, app),
    }
}

fn show(report: &Report, all: bool, app: &mut App) -> Outcome {
    list(&report.memories, app)?;
    if report.abstained {
        app.out.line("No memory certainly answers this.")?;
        if !all {
            let line = Line::new()
                .role(Role::Hint, "`--all`")
                .text(" shows the nearest ones.");
            return Ok(app.out.line(line)?);
        }
    }
    if !report.uncertain.is_empty() {
        app.out.blank()?;
        app.out.line(Line::new().role(Role::Dim, "Not certain:"))?;
        list(&report.uncertain, app)?;
    } else if report.abstained {
        app.out.line("None comes near it either.")?;
    }
    Ok(())
}

/// Shows memories, two lines each and what they say.
pub(super) fn list(memories: &[Ranked], app: &mut App) -> Outcome {
    let now = app.system.clock.now();
    for memory in memories {
        app.out.line(Line::new().role(Role::Strong, &memory.path))?;
        app.out.indented(Role::Plain, memory.says(), 2)?;
        app.out.indented(Role::Dim, &memory.about(now), 2)?;
    }
    Ok(())
}
