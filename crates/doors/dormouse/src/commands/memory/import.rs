//! `dormouse memory import`.
//!
//! # Model
//! Folders and files are read, memories made of them, and all are written in one transaction, so
//! that `memory undo` takes the whole import back. What cannot be imported is named with the reason
//! and keeps nothing else outside.

use super::forget::{count, undo_hint};
use super::place::{Which, find};
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Cell, Column, Format as OutFormat, Line, Role, Table};
use bytes::Bytes;
use clap::ValueEnum;
use dormouse_memory::import::{Foreign, Format, Import, Imported, import, plan};
use dormouse_memory::snapshot::{INDEX, Snapshot};
use dormouse_memory::transaction::{MOST_BYTES, Transaction};
use dormouse_system::{FileKind, Files, OptionalFile as _};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Files of one import; more is no folder of notes.
const MOST_FILES: usize = 20_000;

/// Rows of a table that a person reads.
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
    /// Folders or files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Whose memories they are; told from the files if not given
    #[arg(long, value_name = "TOOL", value_enum)]
    from: Option<Tool>,
    /// Only show what would be imported
    #[arg(long)]
    dry_run: bool,
}

/// Whose memories they are.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Tool {
    /// Claude Code: an index and a file for each memory
    ClaudeCode,
    /// Codex: plain files with a section for each memory
    Codex,
    /// Letta: a tree of blocks with a description each
    Letta,
    /// A folder of notes
    Markdown,
}

impl Tool {
    const fn format(self) -> Format {
        match self {
            Self::ClaudeCode => Format::ClaudeCode,
            Self::Codex => Format::Codex,
            Self::Letta => Format::Letta,
            Self::Markdown => Format::Markdown,
        }
    }
}

/// A file that was read.
struct File {
    path: String,
    content: Bytes,
}

/// What is read of one path.
#[derive(Default)]
struct Reading {
    files: Vec<File>,
    skipped: Vec<Skipped>,
}

#[derive(Serialize)]
struct Report {
    dry_run: bool,
    entry: Option<String>,
    added: Vec<Added>,
    skipped: Vec<Skipped>,
}

#[derive(Serialize)]
struct Added {
    from: String,
    path: String,
    name: String,
    #[serde(rename = "type")]
    kind: Option<&'static str>,
}

#[derive(Clone, Serialize)]
struct Skipped {
    from: String,
    why: String,
}

/// Imports.
pub(super) fn run(args: &Args, which: &Which, app: &mut App) -> Outcome {
    let mut found = find(which, app)?;
    let current = found.config.loader.places().current_dir.clone();
    let mut readings = Vec::new();
    for path in &args.paths {
        readings.push(read(path, &current.join(path), app)?);
    }
    let mut report = Report {
        dry_run: args.dry_run,
        entry: None,
        added: Vec::new(),
        skipped: readings
            .iter()
            .flat_map(|reading| reading.skipped.clone())
            .collect(),
    };
    if args.dry_run {
        let snapshot = found.snapshot(app)?;
        drop(planned(args, &readings, &snapshot, &mut report));
    } else {
        let entry = found.update(app, |snapshot| {
            Ok(planned(args, &readings, snapshot, &mut report))
        })?;
        report.entry = entry.map(|entry| entry.id);
    }
    match app.out.format() {
        OutFormat::Json => Ok(app.out.json(&report)?),
        OutFormat::Text => show(&report, which, app),
    }
}

fn planned(
    args: &Args,
    readings: &[Reading],
    snapshot: &Snapshot,
    report: &mut Report,
) -> Transaction {
    // What one path gives is known to the next, so that two copies of a folder give one.
    let mut known = snapshot.clone();
    let mut all: Vec<Imported> = Vec::new();
    for reading in readings {
        let files: Vec<Foreign<'_>> = reading
            .files
            .iter()
            .map(|file| Foreign {
                path: &file.path,
                content: &file.content,
            })
            .collect();
        let format = args.from.map_or_else(|| guessed(reading), Tool::format);
        let Import { memories, skipped } = import(format, &files, &known);
        known = plan(&known, &memories, "").applied(&known, dormouse_core::units::Millis(0));
        all.extend(memories);
        report
            .skipped
            .extend(skipped.into_iter().map(|skipped| Skipped {
                from: skipped.path,
                why: skipped.why.to_string(),
            }));
    }
    let names: Vec<String> = args
        .paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let change = plan(snapshot, &all, &format!("import {}", names.join(", ")));
    let paths = change
        .operations
        .iter()
        .map(|operation| operation.path.as_str())
        .filter(|path| *path != INDEX);
    report.added = all
        .iter()
        .zip(paths)
        .map(|(imported, path)| Added {
            from: imported.from.clone(),
            path: path.to_owned(),
            name: imported.memory.name.clone(),
            kind: imported.memory.kind.map(dormouse_memory::topic::Kind::name),
        })
        .collect();
    change
}

/// Whose a folder most likely is: an index at its top is Claude Code's way, `system/` Letta's.
fn guessed(reading: &Reading) -> Format {
    let has = |wanted: &dyn Fn(&str) -> bool| reading.files.iter().any(|file| wanted(&file.path));
    if has(&|path| path == "memory_summary.md" || path.starts_with("rollout_summaries/")) {
        Format::Codex
    } else if has(&|path| path == INDEX) {
        Format::ClaudeCode
    } else if has(&|path| path.starts_with("system/")) {
        Format::Letta
    } else {
        Format::Markdown
    }
}

fn read(given: &Path, path: &Path, app: &App) -> Result<Reading, Failure> {
    let files = &app.system.files;
    let Some(facts) = files.metadata(path).optional()? else {
        let message = format!("there is no file or folder `{}`", given.display());
        return Err(UserError::new(Exit::Unreadable, message)
            .hint("check the path")
            .into());
    };
    let mut reading = Reading::default();
    if facts.kind == FileKind::Directory {
        let hidden = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with('.')
        };
        let mut walked = files.walk(path, &hidden)?;
        walked.sort_by(|a, b| a.path.cmp(&b.path));
        if walked.len() > MOST_FILES {
            let message = format!("`{}` has {} files", given.display(), walked.len());
            return Err(UserError::new(Exit::Unsuitable, message)
                .hint("name the folder of the memories themselves")
                .into());
        }
        for walked in walked {
            reading.take(&**files, &path.join(&walked.path), &walked.path);
        }
    } else {
        let name = path.file_name().map(PathBuf::from).unwrap_or_default();
        reading.take(&**files, path, &name);
    }
    Ok(reading)
}

impl Reading {
    fn take(&mut self, files: &dyn Files, path: &Path, below: &Path) {
        let name = below.to_string_lossy().replace('\\', "/");
        match files.read(path, MOST_BYTES as u64) {
            Ok(content) => self.files.push(File {
                path: name,
                content,
            }),
            Err(error) => self.skipped.push(Skipped {
                from: name,
                why: if error.too_large() {
                    "too long for a memory".to_owned()
                } else {
                    error.to_string()
                },
            }),
        }
    }
}

/// Ends a table that may have been cut.
fn more(all: usize, app: &mut App) -> Outcome {
    if all > MOST_SHOWN {
        let text = format!("… and {} more; --json lists all", all - MOST_SHOWN);
        app.out.line(Line::new().role(Role::Dim, text))?;
    }
    Ok(app.out.blank()?)
}

fn show(report: &Report, which: &Which, app: &mut App) -> Outcome {
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
        app.out.table(&table)?;
        more(report.added.len(), app)?;
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
        app.out.table(&table)?;
        more(report.skipped.len(), app)?;
    }
    let added = count(report.added.len(), "memory", "memories");
    let left = count(report.skipped.len(), "file", "files");
    if report.dry_run {
        let text = format!("{added} would be added, {left} left out. Nothing was changed.");
        return Ok(app.out.line(text)?);
    }
    app.out.line(
        Line::new()
            .role(Role::Good, "Imported")
            .text(format!(": {added}; {left} left out.")),
    )?;
    if report.entry.is_some() {
        undo_hint(which, app)?;
    }
    Ok(())
}
