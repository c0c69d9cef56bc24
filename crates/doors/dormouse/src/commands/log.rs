//! `dormouse log`: the records of a transcript.

use crate::app::App;
use crate::describe;
use crate::error::Outcome;
use crate::output::{Cell, Column, Out, Report, Role, Table, figures};
use dormouse_host::{LogFilter, LogList};
use serde::Serialize;
use std::path::PathBuf;

const HELP: &str = "\
Kinds: user, assistant, request, usage, prefix, fragment, replacement, cleared,
notes, boundary, snip, fold, undo, checkpoint, chronicle, session, agent, mail,
fact, …; for lines of other tools their own type. `--kinds` counts what is there.

Examples:
  dormouse log session.jsonl --kind boundary
  dormouse log session.jsonl --kind user --kind assistant --last 20
  dormouse log session.jsonl --issues

JSON:
  {\"records\": [{\"line\", \"line_from_end\", \"seq\", \"kind\", \"id\", \"parent\",
    \"at\", \"side_chain\", \"agent\", \"caused_by\", \"blocks\", \"bytes\", \"text\"}],
   \"kinds\": {kind: count}, \"issues\": [{\"line\", \"offset\", \"what\"}],
   \"issue_count\", \"lines\", \"torn_tail\"}
With --last only the end of a long file is read: lines are then counted from the
end (-1 is the last), and \"lines\" is null.";

/// Arguments of `dormouse log`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A session: a transcript, an id or its beginning, `latest`, or - for a pipe;
    /// without one the newest of this folder
    #[arg(value_name = "SESSION")]
    file: Option<PathBuf>,
    /// Only records of this kind; may be repeated
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Only the last N records
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Count the kinds instead of listing records
    #[arg(long)]
    kinds: bool,
    /// List the lines that could not be read, and why
    #[arg(long)]
    issues: bool,
}

/// The list, and the options that choose the part of it on the screen.
#[derive(Serialize)]
#[serde(transparent)]
struct LogScreen<'a> {
    list: LogList,
    #[serde(skip)]
    args: &'a Args,
}

/// Lists records, their kinds or the lines that could not be read.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let filter = LogFilter {
        kinds: args.kind.clone(),
        // Kinds and issues are those of the whole file; no record has to be kept for that.
        last: if args.kinds || args.issues {
            Some(0)
        } else {
            args.last
        },
    };
    let file = app.session(args.file.as_deref())?;
    let transcripts = app.transcripts();
    let list = transcripts.list(&file, &filter, describe::record)?;
    app.tell(&LogScreen { list, args })
}

impl Report for LogScreen<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        if self.args.issues {
            show_issues(&self.list, out)
        } else if self.args.kinds {
            show_kinds(&self.list, out)
        } else {
            show_records(&self.list, &self.args.kind, out)
        }
    }
}

fn show_records(report: &LogList, wanted: &[String], out: &mut Out) -> Outcome {
    let mut table = Table::new([
        Column::right("LINE"),
        Column::left("TIME"),
        Column::left("KIND"),
        Column::right("SIZE"),
        Column::left("WHAT").gives_way(),
    ]);
    for row in &report.records {
        // Lines of sub-agents lie between those of the main conversation in some logs.
        let kind = if row.side_chain {
            Cell::with_role(Role::Dim, format!("{} (side)", row.kind))
        } else {
            Cell::new(&row.kind)
        };
        let time = row
            .at
            .as_deref()
            // Seconds are enough to find a record; the zone and the fraction would cost a column.
            .and_then(|at| at.get(..19))
            .unwrap_or_default();
        // Records without blocks have no size of their own.
        let size = if row.bytes == 0 {
            String::new()
        } else {
            figures::bytes(row.bytes as u64)
        };
        // Counted from the end where the lines before were not read.
        let from_end = row
            .line_from_end
            .map(|line| format!("-{}", figures::thousands(line)));
        let line = row.line.map(figures::thousands).or(from_end);
        table.row([
            line.unwrap_or_default().into(),
            Cell::with_role(Role::Dim, time.replace('T', " ")),
            kind,
            size.into(),
            Cell::new(&row.text),
        ]);
    }
    // An unknown kind is most likely misspelt: the kinds that exist are listed.
    if report.records.is_empty() {
        let kinds: Vec<&str> = report.kinds.keys().map(String::as_str).collect();
        let wanted = wanted.join(", ");
        out.line(format!(
            "No record of kind {wanted}. There are: {}.",
            kinds.join(", ")
        ))?;
    } else {
        out.table(&table)?;
    }
    if report.issue_count > 0 {
        let count = figures::thousands(report.issue_count);
        out.note(&format!(
            "{count} lines could not be read in full; --issues lists them"
        ));
    }
    Ok(())
}

fn show_kinds(report: &LogList, out: &mut Out) -> Outcome {
    let mut table = Table::new([Column::left("KIND"), Column::right("RECORDS")]);
    for (kind, count) in &report.kinds {
        table.row([Cell::new(kind), figures::thousands(*count).into()]);
    }
    Ok(out.table(&table)?)
}

fn show_issues(report: &LogList, out: &mut Out) -> Outcome {
    if report.issues.is_empty() {
        let lines = figures::thousands(report.lines.unwrap_or_default());
        return Ok(out.line(format!("All {lines} lines could be read."))?);
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
    out.table(&table)?;
    // The list is capped when a file is read; the count is not.
    let more = report.issue_count - report.issues.len() as u64;
    if more > 0 {
        out.line(format!("and {} more", figures::thousands(more)))?;
    }
    Ok(())
}
