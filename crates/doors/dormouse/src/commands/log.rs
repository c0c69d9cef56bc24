//! `dormouse log`: the records of a transcript.

use crate::app::App;
use crate::describe;
use crate::error::Outcome;
use crate::output::{Cell, Column, Format, Role, Table, figures};
use dormouse_core::record::Record;
use dormouse_store::{LogFile, ReadIssue};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

const HELP: &str = "\
Kinds: user, assistant, request, usage, prefix, fragment, replacement, cleared,
notes, boundary, snip, fold, undo, checkpoint, session, agent, mail, fact, …;
for lines of other tools their own type. `--kinds` counts what is there.

Examples:
  dormouse log session.jsonl --kind boundary
  dormouse log session.jsonl --kind user --kind assistant --last 20
  dormouse log session.jsonl --issues

JSON:
  {\"records\": [{\"line\", \"seq\", \"kind\", \"id\", \"parent\", \"at\", \"side_chain\",
    \"agent\", \"caused_by\", \"blocks\", \"bytes\", \"text\"}],
   \"kinds\": {kind: count}, \"issues\": [{\"line\", \"offset\", \"what\"}],
   \"issue_count\", \"lines\", \"torn_tail\"}";

/// Arguments of `log`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A transcript
    file: PathBuf,
    /// Only records of this kind; may be repeated
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Only the last N records
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Count the kinds instead of listing records
    #[arg(long)]
    kinds: bool,
    /// List what could not be read
    #[arg(long)]
    issues: bool,
}

#[derive(Serialize)]
struct Report {
    records: Vec<Row>,
    kinds: BTreeMap<String, u64>,
    issues: Vec<Issue>,
    issue_count: u64,
    lines: u64,
    torn_tail: bool,
}

#[derive(Serialize)]
struct Row {
    line: u64,
    seq: String,
    kind: String,
    id: String,
    parent: Option<String>,
    at: Option<String>,
    side_chain: bool,
    agent: Option<String>,
    caused_by: Option<String>,
    blocks: usize,
    bytes: usize,
    text: String,
}

#[derive(Serialize)]
struct Issue {
    line: Option<u64>,
    offset: u64,
    what: String,
}

impl Issue {
    fn of(issue: &ReadIssue) -> Self {
        let causes = crate::error::causes(&issue.what);
        let what = std::iter::once(issue.what.to_string()).chain(causes);
        Self {
            line: issue.line,
            offset: issue.offset,
            what: what.collect::<Vec<_>>().join(": "),
        }
    }
}

/// Lists records.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let log = LogFile::open(&*app.system.files, &args.file)?;
    let mut records = std::collections::VecDeque::new();
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let wanted = |record: &Record| {
        let kind = record.body.kind();
        args.kind.is_empty() || args.kind.iter().any(|wanted| wanted == kind)
    };
    let scanned = log.for_each_of_any(|record, line| {
        *kinds.entry(record.body.kind().to_owned()).or_default() += 1;
        if !args.kinds && wanted(&record) {
            records.push_back(row(&record, line));
            if args.last.is_some_and(|last| records.len() > last) {
                records.pop_front();
            }
        }
        ControlFlow::Continue(())
    })?;
    let report = Report {
        records: records.into(),
        kinds,
        issues: scanned.issues.list().iter().map(Issue::of).collect(),
        issue_count: scanned.issues.total(),
        lines: scanned.lines,
        torn_tail: scanned.torn_tail,
    };
    match app.out.format() {
        Format::Json => Ok(app.out.json(&report)?),
        Format::Text if args.issues => show_issues(&report, app),
        Format::Text if args.kinds => show_kinds(&report, app),
        Format::Text => show_records(&report, args, app),
    }
}

fn row(record: &Record, line: u64) -> Row {
    let text = |id: &dyn std::fmt::Display| id.to_string();
    let blocks = record.body.blocks();
    Row {
        line,
        seq: text(&record.seq),
        kind: record.body.kind().to_owned(),
        id: text(&record.id),
        parent: record.parent.as_ref().map(|id| text(id)),
        at: record.at.map(|at| text(&at)),
        side_chain: record.side_chain,
        agent: record.agent.as_ref().map(|id| text(id)),
        caused_by: record.caused_by.as_ref().map(|id| text(id)),
        blocks: blocks.len(),
        bytes: blocks.iter().map(|block| block.bytes().len()).sum(),
        text: describe::record(record),
    }
}

fn show_records(report: &Report, args: &Args, app: &mut App) -> Outcome {
    let mut table = Table::new([
        Column::right("LINE"),
        Column::left("TIME"),
        Column::left("KIND"),
        Column::right("SIZE"),
        Column::left("WHAT").gives_way(),
    ]);
    for row in &report.records {
        let kind = if row.side_chain {
            Cell::with_role(Role::Dim, format!("{} (side)", row.kind))
        } else {
            Cell::new(&row.kind)
        };
        let time = row
            .at
            .as_deref()
            .and_then(|at| at.get(..19))
            .unwrap_or_default();
        let size = if row.bytes == 0 {
            String::new()
        } else {
            figures::bytes(row.bytes as u64)
        };
        table.row([
            figures::thousands(row.line).into(),
            Cell::with_role(Role::Dim, time.replace('T', " ")),
            kind,
            size.into(),
            Cell::new(&row.text),
        ]);
    }
    if report.records.is_empty() {
        let kinds: Vec<&str> = report.kinds.keys().map(String::as_str).collect();
        let wanted = args.kind.join(", ");
        app.out.line(format!(
            "No record of kind {wanted}. There are: {}.",
            kinds.join(", ")
        ))?;
    } else {
        app.out.table(&table)?;
    }
    if report.issue_count > 0 {
        let count = figures::thousands(report.issue_count);
        app.note(&format!(
            "{count} lines could not be read in full; --issues lists them"
        ));
    }
    Ok(())
}

fn show_kinds(report: &Report, app: &mut App) -> Outcome {
    let mut table = Table::new([Column::left("KIND"), Column::right("RECORDS")]);
    for (kind, count) in &report.kinds {
        table.row([Cell::new(kind), figures::thousands(*count).into()]);
    }
    Ok(app.out.table(&table)?)
}

fn show_issues(report: &Report, app: &mut App) -> Outcome {
    if report.issues.is_empty() {
        let lines = figures::thousands(report.lines);
        return Ok(app.out.line(format!("All {lines} lines could be read."))?);
    }
    let mut table = Table::new([
        Column::right("LINE"),
        Column::right("OFFSET"),
        Column::left("WHAT").gives_way(),
    ]);
    for issue in &report.issues {
        let line = issue.line.map(figures::thousands).unwrap_or_default();
        table.row([
            line.into(),
            figures::thousands(issue.offset).into(),
            Cell::new(&issue.what),
        ]);
    }
    app.out.table(&table)?;
    let more = report.issue_count - report.issues.len() as u64;
    if more > 0 {
        app.out
            .line(format!("and {} more", figures::thousands(more)))?;
    }
    Ok(())
}
