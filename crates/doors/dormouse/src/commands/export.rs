//! `dormouse export` and `dormouse convert`: between Dormouse's logs and other tools' transcripts.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Out, Report, figures};
use dormouse_host::Converted;
use std::path::PathBuf;

/// Arguments of `dormouse export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the lines that tools made for Claude Code transcripts understand; what
only Dormouse knows is left out. Credentials become `[secret: rule]`; no other
byte changes, and the session itself stays as it is.

Example:
  dormouse export session.jsonl > transcript.jsonl")]
pub struct ExportArgs {
    /// A session: a transcript, an id or its beginning, `latest`, or - for a pipe
    #[arg(value_name = "SESSION")]
    file: PathBuf,
}

/// Arguments of `dormouse convert`.
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
    /// A session: a transcript, an id or its beginning, `latest`, or - for a pipe
    #[arg(value_name = "SESSION")]
    file: PathBuf,
    /// Write here instead of into Dormouse's home
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// Prints a log for other tools, line by line: a log need not fit into memory.
pub fn run_export(args: &ExportArgs, app: &mut App) -> Outcome {
    // No home is needed: exporting reads one file and writes to stdout.
    let file = app.session(Some(&args.file))?;
    let transcripts = app.transcripts();
    transcripts.export(&file, |line| -> Outcome {
        app.out.bytes(line)?;
        Ok(app.out.bytes(b"\n")?)
    })?;
    app.note_all(&transcripts.take_remarks());
    Ok(())
}

/// Makes a log from a transcript; refuses to write over one that exists.
pub fn run_convert(args: &ConvertArgs, app: &mut App) -> Outcome {
    let file = app.session(Some(&args.file))?;
    let converted = app.host()?.convert(&file, args.to.as_deref())?;
    app.tell(&converted)
}

impl Report for Converted {
    fn text(&self, out: &mut Out) -> Outcome {
        let lines = figures::thousands(self.lines);
        out.line(format!("{lines} lines are now in `{}`", self.file))?;
        if self.left_out > 0 {
            let left = figures::thousands(self.left_out);
            // A note, not an error: the log is complete as far as the transcript could be read.
            out.note(&format!(
                "{left} lines were left out; `dormouse log --issues` says why"
            ));
        }
        Ok(())
    }
}
