//! `dormouse rewind`: a session goes back to a prompt, with its conversation, its files, or both.

use super::print;
use crate::app::App;
use crate::error::{Exit, Failure, Outcome, UserError};
use crate::output::{Column, Line, Out, Report, Role, Table, figures};
use dormouse_agent::{
    RewindAsk, RewindError, RewindPart, RewindPoint, Rewound, rewind, rewind_points,
};
use serde::Serialize;

const HELP: &str = "\
Without --to: the prompts of the session, each with the files that were changed
after it. With --to N the session goes back to the moment before prompt N. Only
changes by Write and Edit are known; those of commands are not covered. A file
that changed after the agent's last change is left as it is and named.

Examples:
  dormouse rewind                      Points of the newest session
  dormouse rewind --to 3 --dry-run
  dormouse rewind --to 3 --files       The conversation stays
  dormouse rewind --undo               Take the last rewind of files back

JSON: {\"session\", \"points\": [{\"number\", \"prompt\", \"to\", \"words\", \"files\"}]}, or
{\"session\", \"dry_run\", \"conversation\", \"files\": [{\"path\", \"done\", \"why\"}]}";

/// Arguments of `dormouse rewind`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each flag of the command line is one"
)]
pub struct Args {
    /// The session: its id or the beginning of it, a file, or `latest`; the newest if none is given
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Go back to the moment before this prompt
    #[arg(long, value_name = "N")]
    to: Option<usize>,
    /// Only files go back; the conversation stays
    #[arg(long, requires = "to", conflicts_with_all = ["conversation", "both"])]
    files: bool,
    /// Only the conversation goes back; files stay
    #[arg(long, requires = "to", conflicts_with = "both")]
    conversation: bool,
    /// Conversation and files go back; this is what happens without a choice
    #[arg(long, requires = "to")]
    both: bool,
    /// Take the last rewind of files back
    #[arg(long, conflicts_with = "to")]
    undo: bool,
    /// Only show what would happen
    #[arg(long)]
    dry_run: bool,
}

/// Lists points, or goes back to one.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let host = app.host()?;
    if args.to.is_none() && !args.undo {
        let found = rewind_points(&host, args.session.as_deref());
        let (session, points) = found.map_err(failed)?;
        return app.tell(&Points { session, points });
    }
    let ask = RewindAsk {
        session: args.session.clone(),
        to: args.to,
        part: match (args.files, args.conversation) {
            (true, _) => RewindPart::Files,
            (_, true) => RewindPart::Conversation,
            _ => RewindPart::Both,
        },
        dry_run: args.dry_run,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| UserError::of(Exit::Unexpected, &error))?;
    let rewound = runtime.block_on(rewind(&host, &ask)).map_err(failed)?;
    app.tell(&Screen(rewound))
}

fn failed(error: RewindError) -> Failure {
    match error {
        RewindError::Agent(error) => print::failed(error),
        RewindError::NoPoint { .. } => UserError::of(Exit::Usage, &error)
            .hint("`dormouse rewind` lists them")
            .into(),
        RewindError::NothingToUndo => UserError::of(Exit::Refused, &error).into(),
        RewindError::NoSession => UserError::of(Exit::Unreadable, &error).into(),
    }
}

/// Points of a session.
#[derive(Serialize)]
struct Points {
    session: String,
    points: Vec<RewindPoint>,
}

impl Report for Points {
    fn text(&self, out: &mut Out) -> Outcome {
        if self.points.is_empty() {
            out.line(format!("{} has no prompt to go back to.", self.session))?;
            return Ok(());
        }
        let mut table = Table::new([
            Column::right("TO"),
            Column::left("PROMPT").gives_way(),
            Column::left("CHANGED AFTER IT"),
        ]);
        for point in &self.points {
            let names: Vec<&str> = point.files.iter().map(|path| short(path)).collect();
            table.row([
                point.number.to_string().into(),
                point.words.as_str().into(),
                names.join(", ").into(),
            ]);
        }
        out.table(&table)?;
        Ok(())
    }
}

/// Name of a file without its folders.
fn short(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A rewind that was made, or would be.
#[derive(Serialize)]
#[serde(transparent)]
struct Screen(Rewound);

impl Report for Screen {
    fn text(&self, out: &mut Out) -> Outcome {
        let Self(rewound) = self;
        if let Some(words) = &rewound.conversation {
            let verb = if rewound.dry_run { "would end" } else { "ends" };
            out.line(format!("The conversation {verb} before: {words}"))?;
        }
        for file in &rewound.files {
            let role = if file.done == "refused" {
                Role::Warning
            } else {
                Role::Plain
            };
            let why = file.why.as_ref().map(|why| format!(": {why}"));
            let rest = format!(" {}{}", file.path, why.unwrap_or_default());
            out.line(Line::new().role(role, file.done).text(rest))?;
        }
        if rewound.files.is_empty() && rewound.conversation.is_none() {
            out.line("No file was changed since.")?;
        }
        if rewound.dry_run {
            out.line("Nothing was changed: this is a dry run.")?;
        }
        Ok(())
    }

    // Others go back all the same; the exit code tells that not all did.
    fn verdict(&self) -> Outcome {
        let refused = self.0.files.iter().filter(|file| file.done == "refused");
        let count = refused.count();
        if count == 0 {
            return Ok(());
        }
        let files = figures::count(count, "file", "files");
        let error = UserError::new(Exit::Refused, format!("{files} did not go back"));
        Err(error
            .hint("compare them by hand; the rest went back")
            .into())
    }
}
