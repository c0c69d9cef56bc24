//! `dormouse memory check`: drift between index and files, front matter, secrets, length.

use crate::app::App;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Line, Out, Report, Role, figures};
use dormouse_host::{Check, Finding, Remedy, Which};
use serde::{Serialize, Serializer};
use serde_json::json;

const HELP: &str = "\
Exit code 4 if there is a problem. Remarks are no problems.

JSON: {\"directory\", \"memories\", \"problems\": [{\"path\", \"line\", \"what\", \"remedy\"}],
\"remarks\": [the same]}";

/// Arguments of `memory check`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {}

/// Looks for problems and prints each with its remedy.
pub(super) fn run(_: &Args, which: &Which, app: &mut App) -> Outcome {
    let check = app.host()?.check(which)?;
    app.tell(&CheckScreen(check))
}

/// The findings, with remedies in the words of this program.
struct CheckScreen(Check);

impl Serialize for CheckScreen {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = |finding: &Finding| {
            json!({
                "path": finding.path,
                "line": finding.line,
                "what": finding.what,
                "remedy": words(finding.remedy),
            })
        };
        let check = &self.0;
        json!({
            "directory": check.directory,
            "memories": check.memories,
            "problems": check.problems.iter().map(row).collect::<Vec<_>>(),
            "remarks": check.remarks.iter().map(row).collect::<Vec<_>>(),
        })
        .serialize(serializer)
    }
}

/// The command or step that mends a finding. The host names a remedy; commands are ours.
fn words(remedy: Remedy) -> &'static str {
    match remedy {
        Remedy::MendIndex => "dormouse memory index",
        Remedy::ShortenLine => "shorten the line; detail belongs into the file",
        Remedy::BringBack => {
            "wait if the folder is still being synced; else bring the file back, or remove such lines: \
             `dormouse memory index --remove-missing`"
        }
        Remedy::ShortenIndex => "shorten or remove lines of your own; they alone fill it",
        Remedy::UpdateLine => "change or remove the line, if you like",
        Remedy::NoLineNeeded => "nothing to do; recall finds them",
        Remedy::RemoveCredential => {
            "remove it, then `dormouse memory forget --purge` if it was journalled; change the \
             credential"
        }
        Remedy::Split => "split it",
        Remedy::WriteFrontMatter => "dormouse memory edit NAME --description TEXT --type TYPE",
        Remedy::Describe => "dormouse memory edit NAME --description TEXT",
        Remedy::SetType => "dormouse memory edit NAME --type TYPE",
    }
}

impl Report for CheckScreen {
    fn text(&self, out: &mut Out) -> Outcome {
        let Check {
            memories,
            problems,
            remarks,
            ..
        } = &self.0;
        // Problems first: the list may be longer than the screen.
        let lists = [(Role::Error, problems), (Role::Dim, remarks)];
        for (role, list) in lists {
            for finding in list {
                let place = match finding.line {
                    // The form that editors and terminals open at the line.
                    Some(line) => format!("{}:{line}", finding.path),
                    None => finding.path.clone(),
                };
                out.line(
                    Line::new()
                        .role(role, place)
                        .text(format!(" {}", finding.what)),
                )?;
                out.line(
                    Line::new()
                        .text("  ")
                        .role(Role::Hint, words(finding.remedy)),
                )?;
            }
        }
        if problems.is_empty() {
            let count = figures::count(*memories, "memory", "memories");
            out.line(
                Line::new()
                    .role(Role::Good, "No problems")
                    .text(format!(" in {count}.")),
            )?;
        }
        Ok(())
    }

    // The findings are printed already; the error adds the exit code and the number.
    fn verdict(&self) -> Outcome {
        let Check {
            directory,
            problems,
            ..
        } = &self.0;
        if problems.is_empty() {
            return Ok(());
        }
        let what = figures::count(problems.len(), "problem", "problems");
        let message = format!("{what} in {directory}");
        Err(UserError::new(Exit::Unsuitable, message).into())
    }
}
