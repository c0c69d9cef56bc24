//! `dormouse install` and `uninstall`: memory in other agents.
//!
//! # Not here
//! The plan, the edits and the receipt: `dormouse-host`.

use super::memory::diff;
use crate::app::App;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_host::{
    Client, ClientFile, ClientState, FileDiff, InstallAsk, InstallNote, InstallReport, InstallState,
};
use serde::Serialize;
use std::path::PathBuf;

const HELP: &str = "\
CLIENT: claude-code, codex, opencode, qwen, gemini, kimi, cursor, vscode, zed,
windsurf, pi. Without one, lists them.

Claude Code gets a plugin from a folder on this machine, through its own command:
hooks that bring rules and memories by themselves, the server of tools, the skills
/dormouse:remember, :recall and :dream, and a status line if there is none. Other
clients get an entry for the server of tools in their settings; every other byte of
the file stays, comments included. A file that cannot be parsed is refused. A copy
of each changed file is kept beside it.

`dormouse uninstall CLIENT` takes away what was added. Restart the client after
either.

Examples:
  dormouse install                          Clients that are there
  dormouse install claude-code --dry-run    What would change
  dormouse install codex

JSON:
  {\"client\", \"state\": installed|unchanged|removed, \"dry_run\",
   \"files\": [{\"path\", \"backup\", \"restored\"}], \"own_files\", \"commands\",
   \"notes\"}, without CLIENT {\"clients\": [{\"client\", \"title\", \"found\",
   \"installed\"}]}";

const UNINSTALL_HELP: &str = "\
A file in which nothing else has changed gets its old bytes back, and its backup
goes. In a file that has changed since, only the entries of Dormouse are removed.
Memories stay.

Examples:
  dormouse uninstall codex --dry-run
  dormouse uninstall claude-code

JSON: as that of `dormouse install`.";

/// Arguments of `dormouse install`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct InstallArgs {
    /// Agent or editor that gets memory
    #[arg(value_name = "CLIENT")]
    client: Option<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Program that the client starts, instead of this one
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
    /// Switch Claude Code's own memory off, whose rules take up to 3,200 tokens of each prompt
    #[arg(long)]
    instead: bool,
}

/// Arguments of `dormouse uninstall`.
#[derive(Debug, clap::Args)]
#[command(after_help = UNINSTALL_HELP)]
pub struct UninstallArgs {
    /// Agent or editor that loses memory
    #[arg(value_name = "CLIENT")]
    client: String,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct ClientList {
    clients: Vec<ClientState>,
}

/// Installs memory in a client, or lists the clients.
pub fn run_install(args: &InstallArgs, app: &mut App) -> Outcome {
    let host = app.host()?;
    let Some(name) = &args.client else {
        let clients = host.clients()?;
        return app.tell(&ClientList { clients });
    };
    let client = client(name)?;
    if args.instead && client != Client::ClaudeCode {
        let error = UserError::new(Exit::Usage, "--instead is for claude-code alone");
        return Err(error.hint("other clients have no such switch").into());
    }
    let program = match &args.program {
        Some(program) => program.clone(),
        None => std::env::current_exe().map_err(|error| {
            UserError::of(Exit::Unexpected, &error).hint("name the program with --program")
        })?,
    };
    let report = host.install(&InstallAsk {
        client,
        program,
        settings: app.pass_settings_on(),
        dry_run: args.dry_run,
        instead: args.instead,
    })?;
    app.tell(&report)
}

/// Takes memory out of a client.
pub fn run_uninstall(args: &UninstallArgs, app: &mut App) -> Outcome {
    let client = client(&args.client)?;
    let report = app.host()?.uninstall(client, args.dry_run)?;
    app.tell(&report)
}

fn client(name: &str) -> Result<Client, UserError> {
    Client::of(name).ok_or_else(|| {
        let names: Vec<&str> = Client::ALL.iter().map(|client| client.name()).collect();
        UserError::new(Exit::Usage, format!("there is no client `{name}`"))
            .hint(format!("one of {}", names.join(", ")))
    })
}

impl Report for ClientList {
    fn text(&self, out: &mut Out) -> Outcome {
        let mut table = Table::new([
            Column::left("CLIENT"),
            Column::left("NAME"),
            Column::left("STATE"),
        ]);
        for state in &self.clients {
            let (role, words) = match (state.installed, state.found) {
                (true, _) => (Role::Good, "installed"),
                (false, true) => (Role::Plain, "found here"),
                (false, false) => (Role::Dim, "not found"),
            };
            table.row([
                Cell::with_role(Role::Strong, state.client.name()),
                state.title.into(),
                Cell::with_role(role, words),
            ]);
        }
        out.table(&table)?;
        out.line(
            Line::new()
                .role(Role::Hint, "dormouse install CLIENT --dry-run")
                .text(" shows what would change."),
        )?;
        Ok(())
    }
}

impl Report for InstallReport {
    fn text(&self, out: &mut Out) -> Outcome {
        let title = self.client.title();
        if self.state == InstallState::Unchanged {
            out.line(format!("Memory is installed in {title} already."))?;
            return Ok(());
        }
        if self.dry_run {
            return Ok(planned(self, out)?);
        }
        let done = match self.state {
            InstallState::Removed => format!("Memory is taken out of {title}."),
            _ => format!("Memory is installed in {title}."),
        };
        out.line(Line::new().role(Role::Good, done))?;
        for file in &self.files {
            let line = match (self.state, &file.backup) {
                (InstallState::Removed, _) if file.restored => {
                    format!("{} is as it was before.", file.path)
                }
                (_, Some(backup)) => format!("{}, copy in {backup}", file.path),
                (_, None) => file.path.clone(),
            };
            out.paragraph(Role::Dim, &line, 2)?;
        }
        notes(self, out)?;
        out.line(format!("Restart {title} if it is running."))?;
        Ok(())
    }
}

fn planned(report: &InstallReport, out: &mut Out) -> crate::output::OutResult {
    out.line(Line::new().role(Role::Strong, "Nothing was changed. This would be done:"))?;
    for command in &report.commands {
        out.indented(Role::Plain, &format!("run {command}"), 2)?;
    }
    if !report.own_files.is_empty() {
        let files = figures::count(report.own_files.len(), "file", "files");
        let verb = match report.state {
            InstallState::Removed => "remove",
            _ => "write",
        };
        out.line(format!("{verb} {files} in Dormouse's home:"))?;
        for file in &report.own_files {
            out.indented(Role::Dim, file, 2)?;
        }
    }
    for file in &report.files {
        let ClientFile { before, after, .. } = file;
        if before == after {
            out.line(
                Line::new()
                    .role(Role::Strong, &file.path)
                    .text("  ")
                    .role(Role::Dim, "written by the client's command"),
            )?;
            continue;
        }
        let change = FileDiff {
            path: file.path.clone(),
            before: before.clone(),
            after: after.clone(),
        };
        diff::show(out, &change)?;
    }
    notes(report, out)
}

fn notes(report: &InstallReport, out: &mut Out) -> crate::output::OutResult {
    for note in &report.notes {
        let text = match note {
            InstallNote::StatusLineKept => {
                "There is a status line already, which stays; `dormouse top --line` prints ours."
                    .to_owned()
            }
            InstallNote::ClientNotFound => {
                format!("No sign of {} on this machine.", report.client.title())
            }
            InstallNote::NeedsAdapter(name) => format!(
                "{} reads this file only with its extension {name}.",
                report.client.title()
            ),
            InstallNote::ChangedSince(path) => {
                format!("{path} has changed since: only our entries went, the copy stays.")
            }
        };
        out.paragraph(Role::Warning, &text, 2)?;
    }
    Ok(())
}
