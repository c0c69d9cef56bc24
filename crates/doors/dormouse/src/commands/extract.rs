//! `dormouse extract`: memories from a recorded session.

use crate::app::App;
use crate::commands::keeper::{Opened, open, runtime};
use crate::commands::memory::place::Which;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Format, Line, Role};
use crate::transcript::Opener;
use dormouse_core::record::Record;
use dormouse_keeper::extraction::{By, Extracted};
use dormouse_keeper::writes::Evidence;
use dormouse_memory::extract::{offline, spans};
use serde_json::json;
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
\"proposals\": [{\"name\", \"type\", \"description\", \"words\"}]}";

/// Arguments of `extract`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The session's log
    #[arg(value_name = "FILE")]
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

/// Extracts.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let models = app.config()?.loaded.models;
    let read = Opener::new(app, models, None).read(&args.file)?;
    // All that was said in the main conversation, also before compactions and rewinds: the user
    // said it, whatever became of the prompt.
    let main = |record: &Record| !record.side_chain && record.agent.is_none();
    let records: Vec<Record> = read.records.into_iter().filter(main).collect();
    let said = spans(&records, None);
    if said.is_empty() {
        let message = format!("nobody says anything in {}", args.file.display());
        return Err(UserError::new(Exit::Unsuitable, message).into());
    }
    let which = Which::of(args.dir.as_deref(), false);
    if args.dry_run {
        let found = crate::commands::memory::place::find(&which, app)?;
        let snapshot = found.snapshot(app)?;
        return proposed(&offline::extract(&said, &snapshot, &[]), app);
    }
    let Opened { keeper, no_model } = open(&which, app)?;
    let evidence = Evidence::new(said, Vec::new(), &keeper.settings());
    let extracted = match no_model {
        _ if args.offline => keeper.extract_by_rules(&evidence, None, "no model was wanted")?,
        Some(why) => {
            app.note(&format!("without a model: {why}"));
            keeper.extract_by_rules(&evidence, None, &why.to_string())?
        }
        None => {
            app.out.progress("the model reads the session");
            runtime()?.block_on(keeper.extract_recorded(evidence))?
        }
    };
    report(&extracted, app)
}

fn proposed(proposals: &[offline::Proposal], app: &mut App) -> Outcome {
    if app.out.format() == Format::Json {
        let rows: Vec<_> = proposals
            .iter()
            .map(|proposal| {
                let memory = &proposal.memory;
                json!({
                    "name": memory.name,
                    "type": memory.kind.map(dormouse_memory::topic::Kind::name),
                    "description": memory.description,
                    "words": proposal.words,
                })
            })
            .collect();
        let report = json!({"by": "rules", "dry_run": true, "saved": [], "waiting": [], "refused": [], "proposals": rows});
        return Ok(app.out.json(&report)?);
    }
    if proposals.is_empty() {
        return Ok(app.out.line("Nothing in it is worth remembering.")?);
    }
    for proposal in proposals {
        let kind = proposal
            .memory
            .kind
            .map_or("-", dormouse_memory::topic::Kind::name);
        app.out.line(
            Line::new()
                .role(Role::Strong, &proposal.memory.name)
                .text("  ")
                .role(Role::Dim, kind),
        )?;
        app.out.paragraph(Role::Plain, &proposal.words, 2)?;
    }
    Ok(app
        .out
        .line("Nothing was saved; without --dry-run it is.")?)
}

fn report(extracted: &Extracted, app: &mut App) -> Outcome {
    let written = &extracted.written;
    if app.out.format() == Format::Json {
        let report = json!({
            "by": extracted.by,
            "dry_run": false,
            "saved": written.saved,
            "waiting": written.waiting,
            "refused": written.refused,
            "proposals": [],
        });
        return Ok(app.out.json(&report)?);
    }
    if let By::Rules(why) = &extracted.by {
        app.out
            .line(Line::new().role(Role::Dim, format!("by rules without a model ({why})")))?;
    }
    match extracted.notice() {
        Some(text) => app.out.line(Line::new().role(Role::Good, text))?,
        None => app.out.line("Nothing new in it is worth remembering.")?,
    }
    if !written.waiting.is_empty() {
        app.out
            .line(Line::new().role(Role::Dim, "`dormouse memory inbox` shows what waits"))?;
    }
    for (name, why) in &written.refused {
        app.out
            .paragraph(Role::Dim, &format!("not saved: {name}: {why}"), 2)?;
    }
    Ok(())
}
