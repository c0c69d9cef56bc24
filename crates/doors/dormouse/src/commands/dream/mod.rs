//! `dormouse dream`: memory is merged, corrected and pruned.

use crate::app::App;
use crate::commands::keeper::{Opened, open, runtime};
use crate::commands::memory::diff;
use crate::commands::memory::place::Which;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Format, Line, Role, figures};
use clap::Subcommand;
use dormouse_keeper::dreaming::{DreamError, DreamWish, Dreamt, SharedTask};
use dormouse_keeper::extraction::By;
use dormouse_memory::journal::undone_by;
use dormouse_memory::transaction::Author;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::time::Duration;

/// How often the line of progress is made anew.
const PROGRESS_EVERY: Duration = Duration::from_millis(500);

const HELP: &str = "\
A dream merges memories that say the same, makes relative dates absolute, mends the
index, and marks what contradicts itself. It works on a copy; the result is checked
as a whole and put in place as one change, or thrown away. Pinned memories stay as
they are. Without a model it does what rules can do.

It happens by itself after a day and five sessions; this command says whether it
is time, and with --now dreams anyway.

Examples:
  dormouse dream --dry-run     What would change
  dormouse dream --now
  dormouse dream undo          Take the last dream back

JSON: {\"dreamt\", \"why_not\", \"by\", \"dry_run\", \"changes\": [{\"path\", \"what\", \"reason\", \"sources\"}],
\"files\": [{\"path\", \"before\", \"after\"}], \"dropped\": [{\"path\", \"because_of\"}], \"entry\", \"tokens\"}";

/// Arguments of `dream`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
pub struct Args {
    /// Dream even if it is not time yet
    #[arg(long)]
    now: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Do not ask a model
    #[arg(long)]
    offline: bool,
    /// Dream over the memory in DIR instead of the project's
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<DreamCommand>,
}

#[derive(Debug, Subcommand)]
enum DreamCommand {
    /// Take the last dream back
    #[command(after_help = "JSON: {\"undone\", \"entry\"}")]
    Undo {
        /// The memory in DIR instead of the project's
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Dreams.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    if let Some(DreamCommand::Undo { dir }) = &args.command {
        return undo(&Which::of(dir.as_deref(), false), app);
    }
    let which = Which::of(args.dir.as_deref(), false);
    let Opened { keeper, no_model } = open(&which, app)?;
    if !args.now && !args.dry_run {
        let mut gates = keeper.dream_gates();
        if let Err(reason) = keeper.dream_due(&mut gates, "") {
            return not_yet(&reason.to_string(), app);
        }
    }
    let wish = DreamWish {
        dry_run: args.dry_run,
        without_model: args.offline,
    };
    let task = keeper.dream_task();
    let runtime = runtime()?;
    let dreamt = runtime.block_on(async {
        let dream = keeper.dream(wish, std::sync::Arc::clone(&task));
        tokio::pin!(dream);
        let mut every = tokio::time::interval(PROGRESS_EVERY);
        loop {
            tokio::select! {
                ended = &mut dream => break Some(ended),
                _ = tokio::signal::ctrl_c() => break None,
                _ = every.tick() => progress(&task, app),
            }
        }
    });
    let Some(dreamt) = dreamt else {
        let error = UserError::new(Exit::Unexpected, "the dream was ended; nothing was changed");
        return Err(error.into());
    };
    let dreamt = dreamt.map_err(|error| failure(&error))?;
    if let (By::Rules(why), false) = (&dreamt.by, args.offline) {
        // Which setting is missing says more than that no model is there.
        let why = no_model.map_or_else(|| why.clone(), |missing| missing.to_string());
        app.note(&format!("without a model: {why}"));
    }
    report(&dreamt, args.dry_run, app)
}

fn progress(task: &SharedTask, app: &mut App) {
    let task = task.lock().unwrap_or_else(PoisonError::into_inner);
    app.out.progress(&task.line());
}

fn not_yet(why: &str, app: &mut App) -> Outcome {
    if app.out.format() == Format::Json {
        return Ok(app.out.json(&json!({"dreamt": false, "why_not": why}))?);
    }
    app.out.line(format!("It is not time to dream: {why}."))?;
    let hint = Line::new()
        .role(Role::Hint, "dormouse dream --now")
        .text(" dreams anyway.");
    Ok(app.out.line(hint)?)
}

fn failure(error: &DreamError) -> Failure {
    let kind = match error {
        DreamError::Lock(_) | DreamError::Lost(_) | DreamError::Refused(_) => Exit::Refused,
        DreamError::Directory(_) | DreamError::Staging(_) | DreamError::TooLong(_) => {
            Exit::Unexpected
        }
    };
    if let DreamError::Refused(objections) = error {
        let mut shown = UserError::new(
            kind,
            "the dream did not pass the check; nothing was changed",
        );
        shown.causes = objections.iter().map(ToString::to_string).collect();
        return shown
            .hint("`dormouse dream --now --offline` dreams without a model")
            .into();
    }
    UserError::of(kind, error).into()
}

fn report(dreamt: &Dreamt, dry_run: bool, app: &mut App) -> Outcome {
    if app.out.format() == Format::Json {
        return Ok(app.out.json(&as_json(dreamt, dry_run))?);
    }
    if dreamt.transaction.is_empty() {
        return Ok(app.out.line("Memory is in order; nothing had to change.")?);
    }
    for change in &dreamt.changes {
        let line = Line::new().role(Role::Strong, &change.path);
        app.out
            .line(line.text(format!("  {}: {}", name_of(change.what), change.reason)))?;
    }
    app.out.blank()?;
    for operation in &dreamt.transaction.operations {
        let before = dreamt
            .before
            .get(&operation.path)
            .map(|file| file.text().into_owned());
        let after = operation
            .content
            .as_ref()
            .map(|text| String::from_utf8_lossy(text).into_owned());
        diff::show(
            &mut app.out,
            operation.path.as_str(),
            before.as_deref(),
            after.as_deref(),
        )?;
        app.out.blank()?;
    }
    for dropped in &dreamt.dropped {
        let why = format!(
            "{} was left as it is: {} changed meanwhile.",
            dropped.path, dropped.because_of
        );
        app.out.paragraph(Role::Warning, &why, 0)?;
    }
    if dry_run {
        return Ok(app
            .out
            .line("Nothing was changed; without --dry-run it is.")?);
    }
    let used = dreamt.usage.prompt().get() + dreamt.usage.output.get();
    let used = if used == 0 {
        String::new()
    } else {
        format!(", {} tokens", figures::thousands(used))
    };
    let files = dreamt.entry.as_ref().map_or(0, |entry| entry.changes.len());
    let done = Line::new()
        .role(Role::Good, "Dreamt")
        .text(format!(": {files} files changed{used}. "));
    Ok(app.out.line(
        done.role(Role::Hint, "dormouse dream undo")
            .text(" takes it back."),
    )?)
}

fn name_of(what: dormouse_memory::dream::What) -> String {
    let name = serde_json::to_value(what).ok();
    name.as_ref()
        .and_then(Value::as_str)
        .unwrap_or("changed")
        .to_owned()
}

fn as_json(dreamt: &Dreamt, dry_run: bool) -> Value {
    let files: Vec<Value> = dreamt
        .transaction
        .operations
        .iter()
        .map(|operation| {
            let before = dreamt
                .before
                .get(&operation.path)
                .map(|file| file.text().into_owned());
            let after = operation
                .content
                .as_ref()
                .map(|text| String::from_utf8_lossy(text).into_owned());
            json!({"path": operation.path, "before": before, "after": after})
        })
        .collect();
    let changes: Vec<Value> = dreamt
        .changes
        .iter()
        .map(|change| {
            json!({"path": change.path, "what": change.what, "reason": change.reason, "sources": change.sources})
        })
        .collect();
    let dropped: Vec<Value> = dreamt
        .dropped
        .iter()
        .map(|dropped| json!({"path": dropped.path, "because_of": dropped.because_of}))
        .collect();
    json!({
        "dreamt": true,
        "why_not": null,
        "by": dreamt.by,
        "dry_run": dry_run,
        "changes": changes,
        "files": files,
        "dropped": dropped,
        "entry": dreamt.entry.as_ref().map(|entry| &entry.id),
        "tokens": dreamt.usage.prompt().get() + dreamt.usage.output.get(),
    })
}

/// Takes the newest dream back that stands.
fn undo(which: &Which, app: &mut App) -> Outcome {
    let found = crate::commands::memory::place::find(which, app)?;
    let nothing =
        || -> Failure { UserError::new(Exit::Unsuitable, "there is no dream to take back").into() };
    let dir = found.existing(app)?.ok_or_else(nothing)?;
    let entries = dir.history()?.entries;
    let stands = |entry: &&dormouse_memory::journal::Entry| {
        entry.author == Author::Dream && undone_by(&entry.id, &entries).is_none()
    };
    let dream = entries.iter().rev().find(stands).ok_or_else(nothing)?;
    let done = dir.undo(&dream.id)?;
    if app.out.format() == Format::Json {
        return Ok(app
            .out
            .json(&json!({"undone": dream.id, "entry": done.map(|entry| entry.id)}))?);
    }
    let age = figures::age(app.system.clock.now(), dream.time);
    let files = dream.changes.len();
    Ok(app.out.line(
        Line::new()
            .role(Role::Good, "Undone")
            .text(format!(": the dream of {age} ({files} files)")),
    )?)
}
