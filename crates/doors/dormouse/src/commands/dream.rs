//! `dormouse dream`: memory is merged, corrected and pruned.

use crate::app::App;
use crate::arguments::which_options;
use crate::commands::memory::diff;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Line, Out, Report, Role, figures};
use clap::Subcommand;
use dormouse_host::{DreamAnswer, DreamAsk, DreamReport, NotDreamt, Undone, Which};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

const HELP: &str = "\
A dream merges memories that say the same, makes relative dates absolute, mends the
index, and marks what contradicts itself. It works on a copy; the result is checked
as a whole and put in place as one change, or thrown away. Pinned memories stay as
they are. Without a model it does what rules can do.

It is time to dream once a day has passed and five sessions were held since the last
one. The agent then dreams by itself, beside the conversation; this command dreams if
it is time, with --now anyway.

Examples:
  dormouse dream --dry-run     What would change
  dormouse dream --now
  dormouse dream undo          Take the last dream back

JSON: {\"dreamt\", \"why_not\", \"by\", \"dry_run\", \"changes\": [{\"path\", \"what\", \"reason\", \"sources\"}],
\"files\": [{\"path\", \"before\", \"after\"}], \"dropped\": [{\"path\", \"because_of\"}], \"never_used\": [{\"path\", \"shown\"}],
\"entry\", \"tokens\"}";

/// Arguments of `dormouse dream`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag of the command line is one"
)]
pub struct Args {
    /// Dream even if it is not time yet
    #[arg(long)]
    now: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Print lines for systemd, launchd and cron that dream every night, and do nothing else
    #[arg(long, conflicts_with_all = ["now", "dry_run", "dir"])]
    schedule: bool,
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

/// Prints what a scheduler needs to dream in this project every night.
fn schedule(app: &mut App) -> Outcome {
    let host = app.host()?;
    let folder = host.places().current_dir.display().to_string();
    let program = std::env::current_exe().unwrap_or_else(|_| "dormouse".into());
    let program = program.display().to_string();
    app.tell(&Schedule {
        cron: format!("17 3 * * * cd '{folder}' && '{program}' dream"),
        systemd: format!(
            "[Service]\nType=oneshot\nWorkingDirectory={folder}\nExecStart=\"{program}\" dream\n\n[Timer]\n\
             OnCalendar=*-*-* 03:17\nPersistent=true"
        ),
        launchd: format!(
            "<key>ProgramArguments</key><array><string>{program}</string><string>dream</string></array>\n\
             <key>WorkingDirectory</key><string>{folder}</string>\n\
             <key>StartCalendarInterval</key><dict><key>Hour</key><integer>3</integer>\
             <key>Minute</key><integer>17</integer></dict>"
        ),
    })
}

/// Lines for schedulers. A dream that is not due ends at once, so that every night is not too often.
#[derive(Serialize)]
struct Schedule {
    cron: String,
    systemd: String,
    launchd: String,
}

impl Report for Schedule {
    fn text(&self, out: &mut Out) -> Outcome {
        for (name, text) in [
            ("cron (crontab -e)", &self.cron),
            ("systemd (dormouse-dream.service and .timer)", &self.systemd),
            (
                "launchd (inside the <dict> of a property list)",
                &self.launchd,
            ),
        ] {
            out.line(Line::new().role(Role::Strong, name))?;
            for line in text.lines() {
                out.line(line)?;
            }
            out.blank()?;
        }
        Ok(())
    }
}

/// Dreams, or takes the last dream back.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    if let Some(DreamCommand::Undo { dir }) = &args.command {
        let undone = app.host()?.undo_dream(&Which::of(dir.as_deref(), false))?;
        return app.tell(&UndoneDream(undone));
    }
    if args.schedule {
        return schedule(app);
    }
    let which = Which::of(args.dir.as_deref(), false);
    let ask = DreamAsk {
        now: args.now,
        dry_run: args.dry_run,
        offline: args.offline,
    };
    let host = app.host()?;
    // Ctrl-C drops the copy that the dream works on; memory is as before.
    let interrupt = || async {
        // Without a way to hear of it, an interrupt ends the program as usual.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let answer = host.dream(&which, ask, interrupt, |line| app.out.progress(line))?;
    // An interrupt is no success for a script, though nothing was harmed.
    if answer == DreamAnswer::Ended {
        let error = UserError::new(Exit::Unexpected, "the dream was ended; nothing was changed");
        return Err(error.into());
    }
    app.tell(&DreamScreen {
        answer,
        which: &which,
    })
}

/// The answer of the host, for the screen.
#[derive(Serialize)]
#[serde(transparent)]
struct DreamScreen<'a> {
    answer: DreamAnswer,
    /// The memory that was asked about: hints lead to the same one.
    #[serde(skip)]
    which: &'a Which,
}

impl Report for DreamScreen<'_> {
    fn text(&self, out: &mut Out) -> Outcome {
        let place = which_options(self.which);
        match &self.answer {
            DreamAnswer::NotYet(NotDreamt { why_not, .. }) => {
                out.line(format!("It is not time to dream: {why_not}."))?;
                let hint = Line::new()
                    .role(Role::Hint, format!("dormouse dream --now{place}"))
                    .text(" dreams anyway.");
                Ok(out.line(hint)?)
            }
            DreamAnswer::Dreamt(dreamt) => show(dreamt, &place, out),
            // Never printed: `run` has turned it into an error.
            DreamAnswer::Ended => Ok(()),
        }
    }
}

fn show(dreamt: &DreamReport, place: &str, out: &mut Out) -> Outcome {
    if dreamt.files.is_empty() {
        out.line("Memory is in order; nothing had to change.")?;
        return never_used(dreamt, place, out);
    }
    for change in &dreamt.changes {
        let line = Line::new().role(Role::Strong, &change.path);
        // The word for a change is the one of the JSON, so that both outputs say the same.
        let what = serde_json::to_value(change.what).ok();
        let what = what.as_ref().and_then(Value::as_str).unwrap_or("changed");
        out.line(line.text(format!("  {what}: {}", change.reason)))?;
    }
    out.blank()?;
    for file in &dreamt.files {
        diff::show(out, file)?;
        out.blank()?;
    }
    for dropped in &dreamt.dropped {
        let why = format!(
            "{} was left as it is: {} changed meanwhile.",
            dropped.path, dropped.because_of
        );
        out.paragraph(Role::Warning, &why, 0)?;
    }
    never_used(dreamt, place, out)?;
    if dreamt.dry_run {
        return Ok(out.line("Nothing was changed; without --dry-run it is.")?);
    }
    let used = match dreamt.tokens {
        0 => String::new(),
        used => format!(", {} tokens", figures::thousands(used)),
    };
    let files = figures::count(dreamt.changed_files, "file", "files");
    let done = Line::new()
        .role(Role::Good, "Dreamt")
        .text(format!(": {files} changed{used}. "));
    let undo = done.role(Role::Hint, format!("dormouse dream undo{place}"));
    Ok(out.line(undo.text(" takes it back."))?)
}

/// Proposes memories for forgetting: a dream never forgets by itself.
fn never_used(dreamt: &DreamReport, place: &str, out: &mut Out) -> Outcome {
    if dreamt.never_used.is_empty() {
        return Ok(());
    }
    out.line("Shown often and never of use:")?;
    for unused in &dreamt.never_used {
        let times = figures::count(unused.shown as usize, "time", "times");
        let line = Line::new().role(Role::Strong, format!("  {}", unused.path));
        out.line(line.text(format!("  shown {times}")))?;
    }
    let line = Line::new()
        .role(Role::Hint, format!("`dormouse memory{place} forget NAME`"))
        .text(" forgets one, ");
    let line = line.role(Role::Hint, format!("`dormouse memory{place} useful NAME`"));
    Ok(out.line(line.text(" keeps it off this list."))?)
}

#[derive(Serialize)]
struct UndoneDream(Undone);

impl Report for UndoneDream {
    fn text(&self, out: &mut Out) -> Outcome {
        let dream = &self.0.was;
        let age = figures::age(out.now(), dream.at);
        let files = figures::count(dream.changes.len(), "file", "files");
        let line = Line::new().role(Role::Good, "Undone");
        Ok(out.line(line.text(format!(": the dream of {age} ({files})")))?)
    }
}
