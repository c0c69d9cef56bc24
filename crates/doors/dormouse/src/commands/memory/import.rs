//! `dormouse memory import`: memories of other tools, or a folder of notes.

use super::forget::undo_hint;
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use clap::ValueEnum;
use dormouse_host::{ImportAsk, ImportFormat, ImportReport, Which};
use serde::Serialize;
use std::path::PathBuf;

/// Rows of a table that are printed: about one screen; `--json` lists all.
const MOST_SHOWN: usize = 50;

const HELP: &str = "\
Folders are read with everything below them. What is known already is not added
again; files with a credential stay outside, the others are imported. One undo
takes the whole import back.

Examples:
  dormouse memory import ~/.claude/projects/-home-me-shop/memory
  dormouse memory import ~/notes --from markdown --dry-run

JSON: {\"dry_run\", \"entry\", \"added\": [{\"from\", \"path\", \"name\", \"type\"}],
\"skipped\": [{\"from\", \"why\"}]}";

/// Arguments of `memory import`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// Folders with all files below them, or single files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Tool that wrote them; told from the files if not given
    #[arg(long, value_name = "TOOL", value_enum)]
    from: Option<Tool>,
    /// Only show what would be imported
    #[arg(long)]
    dry_run: bool,
}

/// Tools whose memories can be read.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Tool {
    /// Claude Code: an index and a file for each memory
    ClaudeCode,
    /// Codex: plain files with a section for each memory
    Codex,
    /// Letta: a tree of blocks with a description each
    Letta,
    /// A folder of Markdown notes, one memory each
    Markdown,
}

impl Tool {
    const fn format(self) -> ImportFormat {
        match self {
            Self::ClaudeCode => ImportFormat::ClaudeCode,
            Self::Codex => ImportFormat::Codex,
            Self::Letta => ImportFormat::Letta,
            Self::Markdown => ImportFormat::Markdown,
        }
    }
}

/// The answer of the host, and the directory that the undo hint names.
#[derive(Serialize)]
#[serde(transparent)]
struct ImportScreen<'a> {
    report: ImportReport,
    #[serde(skip)]
    which: &'a Which,
}

/// Imports files in one change, or shows what a change would be.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let ask = ImportAsk {
        paths: args.paths.clone(),
        from: args.from.map(Tool::format),
        dry_run: args.dry_run,
    };
    let host = app.host()?;
    let report = host.import(which, &ask, |text| app.out.progress(text))?;
    app.tell(&ImportScreen { report, which })
}

/// Ends a table that may have been cut, with the number of rows left out.
fn more(all: usize, out: &mut Out) -> Outcome {
    if all > MOST_SHOWN {
        let text = format!("… and {} more; --json lists all", all - MOST_SHOWN);
        out.line(Line::new().role(Role::Dim, text))?;
    }
    Ok(out.blank()?)
}

impl Report for ImportScreen<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        let (report, which) = (&self.report, self.which);
        if !report.added.is_empty() {
            let mut table = Table::new([
                Column::left(if report.dry_run { "would add" } else { "added" }).gives_way(),
                Column::left("type").can_go(),
                Column::left("from").gives_way(),
            ]);
            for added in report.added.iter().take(MOST_SHOWN) {
                table.row([
                    Cell::new(&added.path),
                    Cell::with_role(Role::Dim, added.kind.unwrap_or("-")),
                    Cell::with_role(Role::Dim, &added.from),
                ]);
            }
            out.table(&table)?;
            more(report.added.len(), out)?;
        }
        if !report.skipped.is_empty() {
            let mut table = Table::new([
                Column::left("left out").gives_way(),
                Column::left("because").gives_way(),
            ]);
            for skipped in report.skipped.iter().take(MOST_SHOWN) {
                table.row([
                    Cell::new(&skipped.from),
                    Cell::with_role(Role::Warning, &skipped.why),
                ]);
            }
            out.table(&table)?;
            more(report.skipped.len(), out)?;
        }
        let added = figures::count(report.added.len(), "memory", "memories");
        let left = figures::count(report.skipped.len(), "file", "files");
        if report.dry_run {
            let text = format!("{added} would be added, {left} left out. Nothing was changed.");
            return Ok(out.line(text)?);
        }
        out.line(
            Line::new()
                .role(Role::Good, "Imported")
                .text(format!(": {added}; {left} left out.")),
        )?;
        // An import of nothing new writes no entry, and there is nothing to undo.
        if report.entry.is_some() {
            undo_hint(which, out)?;
        }
        Ok(())
    }
}
