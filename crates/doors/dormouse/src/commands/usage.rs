//! `dormouse usage`: tokens and dollars of a session or of a folder of sessions.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_core::usage_book::UsageSum;
use dormouse_host::UsageReport;
use std::path::PathBuf;

const HELP: &str = "\
Reads transcripts of Claude Code, Codex, pi and Dormouse. A response counts once,
however many lines tell of it; the largest figures count. In a folder it also
counts once when several files tell of it (a session that was forked repeats its
beginning). A folder includes its sub-agents' transcripts.

Examples:
  dormouse usage session.jsonl
  dormouse usage ~/.claude/projects
  dormouse usage . --json | jq .cost_usd

JSON:
  {\"requests\", \"input_tokens\", \"cache_read_input_tokens\",
   \"cache_creation_input_tokens\", \"output_tokens\", \"cost_usd\",
   \"by_model\": {model: the same fields}, \"cache_hit_rate\",
   \"unpriced_requests\", \"files\", \"skipped_lines\", \"unreadable_files\",
   \"other_files\"}
cost_usd leaves out requests whose price is not known (unpriced_requests); it
is null where no price is known at all.";

/// Arguments of `dormouse usage`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// A transcript, or a folder with transcripts
    path: PathBuf,
}

/// Adds up tokens and dollars, each response once.
pub fn run(args: &Args, app: &mut App) -> Outcome {
    let usage = app.host()?.usage(&args.path)?;
    app.tell(&usage)
}

impl Report for UsageReport {
    fn text(&self, out: &mut Out) -> Outcome {
        let mut table = Table::new([
            Column::left("MODEL").gives_way(),
            Column::right("REQUESTS"),
            Column::right("INPUT"),
            Column::right("CACHE READ"),
            Column::right("CACHE WRITE"),
            Column::right("OUTPUT"),
            Column::right("COST"),
        ]);
        let row = |name: Cell, sum: &UsageSum| {
            let usage = sum.usage;
            let number = |tokens: u64| Cell::new(figures::thousands(tokens));
            // A sum of nothing but unknown prices would be $0.00, which is false.
            let money = if sum.responses > 0 && sum.unpriced == sum.responses {
                "unknown".to_owned()
            } else {
                sum.cost.to_string()
            };
            [
                name,
                number(sum.responses),
                number(usage.input.get()),
                number(usage.cache_read.get()),
                number((usage.cache_write_5m + usage.cache_write_1h).get()),
                number(usage.output.get()),
                money.into(),
            ]
        };
        for (model, sum) in &self.sums.by_model {
            table.row(row(Cell::new(model), sum));
        }
        // With a single model the sum would repeat its row.
        if self.sums.by_model.len() != 1 {
            table.row(row(Cell::with_role(Role::Strong, "all"), &self.sums.all));
        }
        out.table(&table)?;
        out.blank()?;
        // Without a prompt there is no rate; 0 % would accuse the cache.
        if let Some(rate) = self.cache_hit_rate {
            let files = if self.files == 1 {
                "1 file".to_owned()
            } else {
                format!("{} files", figures::thousands(self.files))
            };
            let rate = format!(
                "{:.1} % of the prompt tokens came from the cache",
                rate * 100.0
            );
            out.line(
                Line::new()
                    .text(rate)
                    .role(Role::Dim, format!(" · {files}")),
            )?;
        }
        if !self.unpriced_models.is_empty() {
            out.line(format!(
                "no price is known for {}; add it to models.toml in Dormouse's home",
                self.unpriced_models.join(", ")
            ))?;
        }
        if self.skipped_lines > 0 {
            let lines = count(self.skipped_lines, "line", "lines");
            out.note(&format!(
                "{lines} could not be read in full; see `dormouse log FILE --issues`"
            ));
        }
        if self.other_files > 0 {
            let files = count(self.other_files, "file holds", "files hold");
            out.note(&format!("{files} no message that Dormouse understands"));
        }
        Ok(())
    }
}

fn count(number: u64, one: &str, many: &str) -> String {
    figures::count(usize::try_from(number).unwrap_or(usize::MAX), one, many)
}
