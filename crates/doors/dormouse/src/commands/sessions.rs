//! `dormouse sessions`: the sessions below a folder.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Out, Report, Role, Table, figures};
use dormouse_core::units::Tokens;
use dormouse_host::{SessionList, SessionRow};
use serde::Serialize;
use std::path::PathBuf;

const HELP: &str = "\
Without DIR: the sessions of Dormouse's home. Newest first. TOKENS is what the
session holds now; COST includes its sub-agents.

Examples:
  dormouse sessions
  dormouse sessions ~/.claude/projects --limit 20
  dormouse sessions . --json | jq -r '.sessions[].file'

JSON:
  {\"sessions\": [{\"file\", \"session\", \"title\", \"first\", \"last\", \"messages\",
    \"tokens\", \"cost_usd\", \"model\", \"compactions\": [{\"at\", \"trigger\",
    \"pre_tokens\", \"post_tokens\"}], \"agents\", \"cwd\", \"git_branch\", \"bytes\",
    \"skipped_lines\"}], \"unreadable\": [message], \"other_files\"}";

/// Arguments of `dormouse sessions`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The folder to look in, with all folders below it
    dir: Option<PathBuf>,
    /// Show at most this many, the newest
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

/// Columns that a title keeps while figures can still be left out: three or four words.
const TITLE: usize = 20;

/// The list, and the folder that was looked in, for the message that it is empty.
#[derive(Serialize)]
#[serde(transparent)]
struct SessionsScreen {
    list: SessionList,
    #[serde(skip)]
    dir: PathBuf,
}

/// Lists sessions, newest first.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let host = app.host()?;
    let mut list = host.sessions_telling(args.dir.as_deref(), |text| app.out.progress(text))?;
    // After sorting by age: the newest stay.
    list.sessions.truncate(args.limit.unwrap_or(usize::MAX));
    let dir = args.dir.clone().unwrap_or_else(|| host.sessions_folder());
    app.tell(&SessionsScreen { list, dir })
}

impl Report for SessionsScreen {
    fn text(&self, out: &mut Out) -> Outcome {
        let now = out.now();
        // Files that are no conversations lie among transcripts; a row without messages helps no
        // reader.
        let (listed, silent): (Vec<&SessionRow>, Vec<&SessionRow>) =
            self.list.sessions.iter().partition(|row| row.messages > 0);
        if listed.is_empty() {
            out.line(format!("No session below `{}`.", self.dir.display()))?;
            out.line("Claude Code keeps its transcripts in ~/.claude/projects.")?;
        } else {
            let mut table = Table::new([
                // On a narrow screen the words that tell sessions apart stay, and the id to name one.
                Column::left("TITLE").gives_way_until(TITLE),
                Column::right("AGE"),
                Column::right("MESSAGES").can_go(),
                Column::right("TOKENS").can_go(),
                Column::right("COST"),
                Column::left("SESSION"),
            ]);
            for row in &listed {
                let title = match &row.title {
                    Some(title) => Cell::new(title),
                    None => Cell::with_role(Role::Dim, "(no title)"),
                };
                let cost = row
                    .cost_usd
                    .map_or_else(|| "unknown".to_owned(), |cost| format!("${cost:.2}"));
                table.row([
                    title,
                    figures::age(now, row.newest).into(),
                    figures::thousands(row.messages).into(),
                    figures::tokens(Tokens(row.tokens)).into(),
                    cost.into(),
                    // Eight characters tell sessions apart in practice; `--json` has the whole id.
                    Cell::with_role(Role::Dim, row.session.chars().take(8).collect::<String>()),
                ]);
            }
            out.table(&table)?;
        }
        let silent = silent.len() + usize::try_from(self.list.other_files).unwrap_or(usize::MAX);
        if silent > 0 {
            let files = plural(silent, "file holds", "files hold");
            out.note(&format!("{files} no message that Dormouse understands"));
        }
        let damaged = listed.iter().filter(|row| row.skipped_lines > 0).count();
        if damaged > 0 {
            let files = plural(damaged, "session has", "sessions have");
            out.note(&format!(
                "{files} lines that could not be read; see `dormouse log FILE --issues`"
            ));
        }
        for message in &self.list.unreadable {
            out.note(&format!("left out: {message}"));
        }
        Ok(())
    }
}

fn plural(count: usize, one: &str, many: &str) -> String {
    let figure = figures::thousands(count as u64);
    format!("{figure} {}", if count == 1 { one } else { many })
}
