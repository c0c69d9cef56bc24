//! `dormouse extract`: memories from a recorded session.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Line, Out, Report, Role, figures};
use dormouse_guard::paths::SafePath;
use dormouse_host::{By, ExtractAsk, ExtractReport, ExtractedBy, ProposedMemory, Which};
use std::path::PathBuf;

const HELP: &str = "\
What the user said in so many words (rules, corrections, preferences, dates) becomes
a memory; what a tool printed never does by itself: it waits in the inbox. With a
model set up, the model reads the session, and every write of it is judged by the
same rules. Sessions of Dormouse, Claude Code, Codex and pi can be read.

Examples:
  dormouse extract session.jsonl --dry-run
  dormouse extract session.jsonl --offline

JSON: {\"by\", \"dry_run\", \"saved\": [paths], \"waiting\": [paths], \"refused\": [[name, why]],
\"denied\": [calls], \"proposals\": [{\"name\", \"type\", \"description\", \"words\"}]}";

/// Arguments of `dormouse extract`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A session: a transcript, an id or its beginning, `latest`, or - for a pipe
    #[arg(value_name = "SESSION")]
    file: PathBuf,
    /// Only show what rules without a model would propose
    #[arg(long)]
    dry_run: bool,
    /// Do not ask a model
    #[arg(long)]
    offline: bool,
    /// Save to the memory in DIR instead of the project's
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Extracts memories and prints which were saved, which wait, which were refused.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let ask = ExtractAsk {
        dry_run: args.dry_run,
        offline: args.offline,
    };
    let which = Which::of(args.dir.as_deref(), false);
    let file = app.session(Some(&args.file))?;
    let host = app.host()?;
    let report = host.extract(&which, &file, ask, |line| app.out.progress(line))?;
    app.tell(&report)
}

impl Report for ExtractReport {
    fn text(&self, out: &mut Out) -> Outcome {
        // A dry run has no writer: it shows proposals of the rules, before the judge has seen them.
        if self.dry_run {
            return proposed(&self.proposals, out);
        }
        // Rules and models find different things; the reader should know which of them looked.
        if let ExtractedBy::Written(By::Rules(why)) = &self.by {
            let by = format!("by rules without a model ({why})");
            out.line(Line::new().role(Role::Dim, by))?;
        }
        match notice(self) {
            Some(text) => out.line(Line::new().role(Role::Good, text))?,
            None => out.line("Nothing new in it is worth remembering.")?,
        }
        for (name, why) in &self.refused {
            let text = format!("not saved: {name}: {why}");
            out.paragraph(Role::Dim, &text, 2)?;
        }
        for call in &self.denied {
            out.paragraph(Role::Dim, &format!("denied: {call}"), 2)?;
        }
        Ok(())
    }
}

/// The line about memories that are new or wait. None if the session had nothing to remember.
fn notice(report: &ExtractReport) -> Option<String> {
    let names: Vec<&str> = report.saved.iter().map(SafePath::as_str).collect();
    let saved = (!names.is_empty()).then(|| format!("Memory saved: {}", names.join(", ")));
    let many = report.waiting.len();
    let waiting = (many > 0).then(|| {
        let wait = figures::count(many, "memory waits", "memories wait");
        format!("{wait} for approval (`dormouse memory inbox`)")
    });
    match (saved, waiting) {
        (Some(saved), Some(waiting)) => Some(format!("{saved}; {waiting}")),
        (saved, waiting) => saved.or(waiting),
    }
}

fn proposed(proposals: &[ProposedMemory], out: &mut Out) -> Outcome {
    if proposals.is_empty() {
        return Ok(out.line("Nothing in it is worth remembering.")?);
    }
    for proposal in proposals {
        let line = Line::new().role(Role::Strong, &proposal.name).text("  ");
        out.line(line.role(Role::Dim, proposal.kind.unwrap_or("-")))?;
        out.paragraph(Role::Plain, &proposal.words, 2)?;
    }
    Ok(out.line("Nothing was saved; without --dry-run it is.")?)
}
