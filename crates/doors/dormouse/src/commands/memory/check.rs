//! `dormouse memory check`.

use crate::app::App;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Line, Out, Report, Role};
use dormouse_host::{Check, Which};

const HELP: &str = "\
Exit code 4 if there is a problem. Remarks are no problems.

JSON: {\"directory\", \"memories\", \"problems\": [{\"path\", \"line\", \"what\", \"remedy\"}],
\"remarks\": [the same]}";

/// Arguments of `memory check`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {}

/// Looks for problems.
pub(super) fn run(_: &Args, which: &Which, app: &mut App) -> Outcome {
    let check = app.host()?.check(which)?;
    app.tell(&check)
}

impl Report for Check {
    fn text(&self, out: &mut Out) -> Outcome {
        let lists = [(Role::Error, &self.problems), (Role::Dim, &self.remarks)];
        for (role, list) in lists {
            for finding in list {
                let place = match finding.line {
                    Some(line) => format!("{}:{line}", finding.path),
                    None => finding.path.clone(),
                };
                out.line(
                    Line::new()
                        .role(role, place)
                        .text(format!(" {}", finding.what)),
                )?;
                out.line(Line::new().text("  ").role(Role::Hint, finding.remedy))?;
            }
        }
        if self.problems.is_empty() {
            let count = super::forget::count(self.memories, "memory", "memories");
            out.line(
                Line::new()
                    .role(Role::Good, "No problems")
                    .text(format!(" in {count}.")),
            )?;
        }
        Ok(())
    }

    fn verdict(&self) -> Outcome {
        if self.problems.is_empty() {
            return Ok(());
        }
        let what = super::forget::count(self.problems.len(), "problem", "problems");
        let message = format!("{what} in {}", self.directory);
        Err(UserError::new(Exit::Unsuitable, message).into())
    }
}
