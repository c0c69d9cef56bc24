//! `dormouse usage`: what a session or a folder of sessions has used.

use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Cell, Column, Format, Line, Role, Table, figures};
use dormouse_core::models::ModelTable;
use dormouse_core::usage_book::{UsageBook, UsageSum, UsageTotals};
use dormouse_store::{LogFile, ReadError, discover, scan_usage};
use dormouse_system::FileKind;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const HELP: &str = "\
A response counts once, however many lines tell of it; the last one counts. In
a folder it also counts once when several files tell of it (a session that was
forked repeats its beginning). A folder includes its sub-agents' transcripts.

Examples:
  dormouse usage session.jsonl
  dormouse usage ~/.claude/projects
  dormouse usage . --json | jq .cost_usd

JSON:
  {\"requests\", \"input_tokens\", \"cache_read_input_tokens\",
   \"cache_creation_input_tokens\", \"output_tokens\", \"cost_usd\",
   \"by_model\": {model: the same fields}, \"cache_hit_rate\",
   \"unpriced_requests\", \"files\", \"skipped_lines\", \"unreadable_files\"}
cost_usd leaves out requests whose price is not known (unpriced_requests); it
is null where no price is known at all.";

/// Arguments of `usage`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A transcript, or a folder with transcripts
    path: PathBuf,
}

#[derive(Serialize)]
struct Report {
    requests: u64,
    input_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    output_tokens: u64,
    cost_usd: Option<f64>,
    by_model: BTreeMap<String, Row>,
    cache_hit_rate: Option<f64>,
    unpriced_requests: u64,
    files: u64,
    skipped_lines: u64,
    unreadable_files: u64,
}

#[derive(Serialize)]
struct Row {
    requests: u64,
    input_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    output_tokens: u64,
    cost_usd: Option<f64>,
}

impl Row {
    fn of(sum: &UsageSum) -> Self {
        let usage = sum.usage;
        Self {
            requests: sum.responses,
            input_tokens: usage.input.get(),
            cache_read_input_tokens: usage.cache_read.get(),
            cache_creation_input_tokens: (usage.cache_write_5m + usage.cache_write_1h).get(),
            output_tokens: usage.output.get(),
            cost_usd: cost(sum),
        }
    }
}

/// Money, unless no price is known.
fn cost(sum: &UsageSum) -> Option<f64> {
    let nothing_priced = sum.responses > 0 && sum.unpriced == sum.responses;
    (!nothing_priced).then(|| sum.cost.as_f64())
}

/// What was read.
#[derive(Default)]
struct Scan {
    book: UsageBook,
    files: u64,
    skipped_lines: u64,
    unreadable: u64,
}

/// Adds up what was used.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let config = app.config()?;
    let scan = scan(&args.path, app)?;
    let totals = scan.book.totals(&config.loaded.models);
    match app.out.format() {
        Format::Json => Ok(app.out.json(&report(&scan, &totals))?),
        Format::Text => show(&scan, &totals, &config.loaded.models, app),
    }
}

fn scan(path: &Path, app: &mut App) -> Result<Scan, Failure> {
    let mut scan = Scan::default();
    let files = std::sync::Arc::clone(&app.system.files);
    let is_folder = files
        .metadata(path)
        .is_ok_and(|metadata| metadata.kind == FileKind::Directory);
    if !is_folder {
        let log = LogFile::open(&*files, path)?;
        let read = scan_usage(&log, &mut scan.book)?;
        scan.files = 1;
        scan.skipped_lines = read.skipped;
        return Ok(scan);
    }
    let found = discover(&*files, path)?;
    for refused in &found.refused {
        scan.unreadable += 1;
        app.note(&refused.to_string());
    }
    if found.logs.is_empty() {
        let message = format!(
            "there is no transcript (*.jsonl) below `{}`",
            path.display()
        );
        let hint = "Claude Code keeps its transcripts in ~/.claude/projects";
        return Err(UserError::new(Exit::Unsuitable, message).hint(hint).into());
    }
    for found in &found.logs {
        let read =
            LogFile::open(&*files, &found.path).and_then(|log| scan_usage(&log, &mut scan.book));
        match read {
            Ok(read) => {
                scan.files += 1;
                scan.skipped_lines += read.skipped;
            }
            // An empty file has used nothing.
            Err(ReadError::Empty { .. }) => scan.files += 1,
            Err(error) => {
                scan.unreadable += 1;
                app.note(&format!("left out: {error}"));
            }
        }
    }
    Ok(scan)
}

#[expect(clippy::cast_precision_loss, reason = "a share for people and scripts")]
fn hit_rate(sum: &UsageSum) -> Option<f64> {
    let prompt = sum.usage.prompt().get();
    (prompt > 0).then(|| sum.usage.cache_read.get() as f64 / prompt as f64)
}

fn report(scan: &Scan, totals: &UsageTotals) -> Report {
    let all = Row::of(&totals.all);
    let by_model = totals.by_model.iter();
    Report {
        requests: all.requests,
        input_tokens: all.input_tokens,
        cache_read_input_tokens: all.cache_read_input_tokens,
        cache_creation_input_tokens: all.cache_creation_input_tokens,
        output_tokens: all.output_tokens,
        cost_usd: all.cost_usd,
        by_model: by_model
            .map(|(model, sum)| (model.to_string(), Row::of(sum)))
            .collect(),
        cache_hit_rate: hit_rate(&totals.all),
        unpriced_requests: totals.all.unpriced,
        files: scan.files,
        skipped_lines: scan.skipped_lines,
        unreadable_files: scan.unreadable,
    }
}

fn show(scan: &Scan, totals: &UsageTotals, models: &ModelTable, app: &mut App) -> Outcome {
    let out = &mut app.out;
    let mut table = Table::new([
        Column::left("MODEL").gives_way(),
        Column::right("REQUESTS"),
        Column::right("INPUT"),
        Column::right("CACHE READ"),
        Column::right("CACHE WRITE"),
        Column::right("OUTPUT"),
        Column::right("COST"),
    ]);
    let row = |name: Cell, sum: &UsageSum| {
        let usage = sum.usage;
        let number = |tokens: u64| Cell::new(figures::thousands(tokens));
        let money = match cost(sum) {
            Some(_) => sum.cost.to_string(),
            None => "unknown".to_owned(),
        };
        [
            name,
            number(sum.responses),
            number(usage.input.get()),
            number(usage.cache_read.get()),
            number((usage.cache_write_5m + usage.cache_write_1h).get()),
            number(usage.output.get()),
            money.into(),
        ]
    };
    for (model, sum) in &totals.by_model {
        table.row(row(Cell::new(model), sum));
    }
    if totals.by_model.len() != 1 {
        table.row(row(Cell::with_role(Role::Strong, "all"), &totals.all));
    }
    out.table(&table)?;
    out.blank()?;
    if let Some(rate) = hit_rate(&totals.all) {
        let files = if scan.files == 1 {
            "1 file".to_owned()
        } else {
            format!("{} files", figures::thousands(scan.files))
        };
        let rate = format!(
            "{:.1} % of the prompt tokens came from the cache",
            rate * 100.0
        );
        out.line(
            Line::new()
                .text(rate)
                .role(Role::Dim, format!(" · {files}")),
        )?;
    }
    let unpriced = totals
        .by_model
        .keys()
        .filter(|model| models.lookup(model).info.prices.is_none());
    let unpriced: Vec<&str> = unpriced.map(|model| &**model).collect();
    if !unpriced.is_empty() {
        out.line(format!(
            "no price is known for {}; add it to models.toml in Dormouse's home",
            unpriced.join(", ")
        ))?;
    }
    if scan.skipped_lines > 0 {
        let lines = figures::thousands(scan.skipped_lines);
        out.line(format!(
            "{lines} lines that speak of usage could not be read"
        ))?;
    }
    Ok(())
}
