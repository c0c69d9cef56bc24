//! `dormouse gc`: files in the folders of sessions that nothing refers to any more.

use crate::app::App;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Cell, Column, Line, Out, OutResult, Report, Role, Table, figures};
use dormouse_core::id::SessionId;
use dormouse_host::{Garbage, GarbageFile, GcReport};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

const HELP: &str = "\
Beside its log a session keeps long tool results and blobs. They live as long as
the log names them; this command shows what no log names, what was left when a
log was deleted, and what interrupted writes left behind, in every folder of the
memories too. A fork keeps what its parent holds. Sessions that are open, files younger than an hour, links, and
everything else in the folders are left alone.

Nothing is removed without --delete.

Examples:
  dormouse gc                  All projects
  dormouse gc .                The project in this folder
  dormouse gc ~/notes/memory   A memory directory
  dormouse gc --files          Every file by name
  dormouse gc --delete

JSON:
  {\"projects\", \"deleted\", \"total_files\", \"total_bytes\",
   \"files\": [{\"project\", \"session\", \"path\", \"bytes\", \"why\"}],
   \"left_alone\": [{\"project\", \"session\", \"why\"}],
   \"failed\": [{\"path\", \"error\"}]}
\"why\" is unreferenced, log_gone or interrupted for files, in_use or unreadable
for sessions.";

/// Arguments of `dormouse gc`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Projects, folders and logs of sessions in Dormouse's home, or memory directories anywhere;
    /// all that are known if none is given
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Remove the files that are shown
    #[arg(long, conflicts_with = "dry_run")]
    delete: bool,
    /// Only show; this is what happens without --delete
    #[arg(long)]
    dry_run: bool,
    /// List every file by name instead of sums per session
    #[arg(long)]
    files: bool,
}

/// The report of the host, and the form of its list.
#[derive(Serialize)]
#[serde(transparent)]
struct GcScreen {
    report: GcReport,
    #[serde(skip)]
    list_files: bool,
}

/// Shows the files that can go, and removes them with `--delete`.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let garbage = if args.delete {
        Garbage::Remove
    } else {
        Garbage::Show
    };
    // `--dry-run` is the default and only there to be said; the parser has excluded both at once.
    let report = app.host()?.gc(&args.paths, garbage)?;
    let list_files = args.files;
    app.tell(&GcScreen { report, list_files })
}

impl Report for GcScreen {
    fn text(&self, out: &mut Out) -> Outcome {
        Ok(show(&self.report, self.list_files, out)?)
    }

    // A file that could not be removed does not stop the others; the exit code tells of it at the
    // end.
    fn verdict(&self) -> Outcome {
        let failed = &self.report.failed;
        if failed.is_empty() {
            return Ok(());
        }
        let files = figures::count(failed.len(), "file", "files");
        let mut error = UserError::new(Exit::Unexpected, format!("{files} could not be removed"));
        error.causes = failed.iter().map(|file| file.error.clone()).collect();
        Err(error.hint("check who may write there").into())
    }
}

/// The reason behind a file, from its code in the JSON.
fn why_text(why: &str) -> &'static str {
    match why {
        "unreferenced" => "no log refers to them",
        "log_gone" => "the session's log is gone",
        _ => "left by interrupted writes",
    }
}

fn show(report: &GcReport, list_files: bool, out: &mut Out) -> OutResult {
    // The report is grouped by project already.
    for found in report.files.chunk_by(|a, b| a.project == b.project) {
        let project = found.first().map_or("", |file| file.project.as_str());
        out.line(Line::new().role(Role::Strong, project))?;
        if list_files {
            out.table(&by_file(found, project))?;
        } else {
            out.table(&by_session(found))?;
        }
        out.blank()?;
    }
    for left in &report.left_alone {
        let why = match left.why {
            "in_use" => "it is open",
            _ => "a log in its project cannot be read to its end",
        };
        out.paragraph(
            Role::Dim,
            &format!("{} was left alone: {why}.", left.session),
            2,
        )?;
    }
    let found = format!(
        "{}, {}",
        figures::count(report.total_files, "file", "files"),
        figures::bytes(report.total_bytes)
    );
    match (report.total_files, report.deleted) {
        (0, _) => out.line(format!(
            "There is nothing to remove in {}.",
            report.projects
        )),
        (_, true) => out.line(
            Line::new()
                .role(Role::Good, "Removed")
                .text(format!(" {found}.")),
        ),
        (_, false) => {
            out.line(Line::new().role(Role::Strong, &found).text(" can go."))?;
            out.line(
                Line::new()
                    .text("Nothing was removed; ")
                    .role(Role::Hint, "dormouse gc --delete")
                    .text(" does it."),
            )
        }
    }
}

fn by_session(found: &[GarbageFile]) -> Table {
    let mut groups: BTreeMap<(Option<&SessionId>, &str), (usize, u64)> = BTreeMap::new();
    for file in found {
        let group = groups.entry((file.session.as_ref(), file.why)).or_default();
        group.0 += 1;
        group.1 += file.bytes;
    }
    let mut table = Table::new([
        Column::left("SESSION").gives_way(),
        Column::right("FILES"),
        Column::right("SIZE"),
        Column::left("WHY"),
    ]);
    for ((session, why), (number, bytes)) in groups {
        table.row([
            session.map_or_else(|| Cell::with_role(Role::Dim, "–"), Cell::new),
            figures::thousands(number as u64).into(),
            figures::bytes(bytes).into(),
            why_text(why).into(),
        ]);
    }
    table
}

fn by_file(found: &[GarbageFile], project: &str) -> Table {
    let mut table = Table::new([
        Column::left("FILE").gives_way(),
        Column::right("SIZE"),
        Column::left("WHY"),
    ]);
    for file in found {
        // The project's folder is the heading already; below it, relative paths are short enough.
        let short = file.path.strip_prefix(project).unwrap_or(&file.path);
        table.row([
            short.trim_start_matches('/').into(),
            figures::bytes(file.bytes).into(),
            why_text(file.why).into(),
        ]);
    }
    table
}
