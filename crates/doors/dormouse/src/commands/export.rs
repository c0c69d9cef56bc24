//! `dormouse export` and `dormouse convert`: between Dormouse's logs and other tools' transcripts.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Format, figures};
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::record::LineContext;
use dormouse_store::{
    AboutSession, LogFile, NewLog, ProjectFolder, SessionSummary, convert, export, import,
    summarise,
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the lines that tools made for Claude Code transcripts understand; what
only Dormouse knows is left out. No other byte changes.

Example:
  dormouse export session.jsonl > transcript.jsonl")]
pub struct ExportArgs {
    /// A log
    file: PathBuf,
}

/// Arguments of `convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Makes a log of Dormouse's from a transcript of Claude Code, Codex or pi, so that a
session begun there can go on here. The transcript is not touched. Claude Code's
lines are taken over as they are and get a number; what the others wrote is put
into Dormouse's own words for it, without the reasoning.

Examples:
  dormouse convert ~/.claude/projects/-home-me-app/1b2c.jsonl
  dormouse convert transcript.jsonl --to log.jsonl

JSON:
  {\"file\", \"lines\", \"left_out\"}")]
pub struct ConvertArgs {
    /// A transcript
    file: PathBuf,
    /// Write here instead of into Dormouse's home
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// Prints a log for other tools.
pub fn run_export(args: &ExportArgs, app: &mut App) -> Outcome {
    let log = LogFile::open(&*app.system.files, &args.file)?;
    for line in export(&log)? {
        let line = line?;
        app.out.bytes(&line)?;
        app.out.bytes(b"\n")?;
    }
    Ok(())
}

fn told_by(summary: SessionSummary) -> AboutSession {
    AboutSession {
        session: summary.session,
        cwd: summary.cwd,
        git_branch: summary.git_branch,
    }
}

/// Makes a log from a transcript.
pub fn run_convert(args: &ConvertArgs, app: &mut App) -> Outcome {
    let config = app.config()?;
    let log = LogFile::open(&*app.system.files, &args.file)?;
    let foreign = log.read_foreign()?;
    let about = match &foreign {
        Some(foreign) => foreign.about.clone(),
        None => told_by(summarise(&log)?),
    };
    let fresh = app.system.ids.fresh();
    let session = about
        .session
        .unwrap_or_else(|| SessionId::new(fresh.as_str()));
    let cwd = about.cwd.unwrap_or_default();
    let target = if let Some(target) = &args.to {
        target.clone()
    } else {
        let home = &config.loader.places().home;
        let project = if cwd.is_empty() {
            Path::new("/")
        } else {
            Path::new(&cwd)
        };
        ProjectFolder::prepare(&*app.system.files, home, project)?.log(&session)?
    };
    let new = NewLog {
        session,
        id: RecordId::new(app.system.ids.fresh()),
        at: app.system.clock.now(),
        project: cwd.clone(),
        context: LineContext {
            cwd,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git_branch: about.git_branch.unwrap_or_default(),
        },
    };
    let converted = match foreign {
        Some(foreign) => import(foreign, &app.system, &target, new)?,
        None => convert(&log, &app.system, &target, new)?,
    };
    match app.out.format() {
        Format::Json => {
            let report = json!({
                "file": target.display().to_string(),
                "lines": converted.lines,
                "left_out": converted.left.total(),
            });
            app.out.json(&report)?;
        }
        Format::Text => {
            let lines = figures::thousands(converted.lines);
            app.out
                .line(format!("{lines} lines are now in `{}`", target.display()))?;
            if !converted.left.is_empty() {
                let left = figures::thousands(converted.left.total());
                app.note(&format!(
                    "{left} lines were left out; `dormouse log --issues` says why"
                ));
            }
        }
    }
    Ok(())
}
