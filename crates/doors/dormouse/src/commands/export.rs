//! `dormouse export` and `dormouse convert`: between Dormouse's logs and other tools' transcripts.

mod talk;

use crate::app::App;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Out, Report, figures};
use clap::ValueEnum;
use dormouse_host::Converted;
use dormouse_system::Access;
use std::path::PathBuf;
use talk::Talk;

/// Arguments of `dormouse export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Prints the lines that tools made for Claude Code transcripts understand; what
only Dormouse knows is left out. Credentials become `[secret: rule]`; no other
byte changes, and the session itself stays as it is.

With --format md or html it prints the conversation for people instead: what was
said, the calls of tools, the beginnings of their results.

Examples:
  dormouse export session.jsonl > transcript.jsonl
  dormouse export latest --format html --output talk.html")]
pub struct ExportArgs {
    /// A session: a transcript, an id or its beginning, `latest`, or - for a pipe
    #[arg(value_name = "SESSION")]
    file: PathBuf,
    /// Lines of JSON for tools (jsonl), or the conversation for people (md, html)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "jsonl",
        hide_default_value = true
    )]
    format: ExportFormat,
    /// Write to FILE instead of the standard output; an existing one is not overwritten
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// Lines of JSON, as tools made for Claude Code read them.
    Jsonl,
    /// Markdown, for people.
    Md,
    /// A page, for people.
    Html,
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
    if args.format == ExportFormat::Jsonl && args.output.is_none() {
        transcripts.export(&file, |line| -> Outcome {
            app.out.bytes(line)?;
            Ok(app.out.bytes(b"\n")?)
        })?;
        app.note_all(&transcripts.take_remarks());
        return Ok(());
    }
    // From the exported lines, so that credentials are gone here as well.
    let mut talk = Talk::default();
    let mut lines = Vec::new();
    transcripts.export(&file, |line| -> Outcome {
        if args.format == ExportFormat::Jsonl {
            lines.extend_from_slice(line);
            lines.push(b'\n');
        } else {
            talk.take(line);
        }
        Ok(())
    })?;
    app.note_all(&transcripts.take_remarks());
    let text = match args.format {
        ExportFormat::Jsonl => lines,
        ExportFormat::Md => talk.markdown().into_bytes(),
        ExportFormat::Html => talk.html().into_bytes(),
    };
    let Some(output) = &args.output else {
        return Ok(app.out.bytes(&text)?);
    };
    let output = app
        .system
        .env
        .current_dir()
        .map_or_else(|_| output.clone(), |folder| folder.join(output));
    if app.system.files.metadata(&output).is_ok() {
        let what = format!("`{}` exists and is left as it is", output.display());
        return Err(UserError::new(Exit::Refused, what)
            .hint("name another file")
            .into());
    }
    app.system.files.replace(&output, &text, Access::Private)?;
    Ok(app.out.line(format!("written to `{}`", output.display()))?)
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
