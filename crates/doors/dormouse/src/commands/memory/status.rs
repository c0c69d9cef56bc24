//! `dormouse memory status`: the memory that a session started here would load, and its upkeep.
//!
//! # Not here
//! Computing any of it: the host's status service.

use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Report, Role, Table, figures};
use dormouse_core::units::Tokens;
use dormouse_host::{Kept, MemoryStatus, Which};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const HELP: &str = "\
Nothing is loaded, made or changed by asking. Tokens are estimates.

JSON: {\"directory\", \"why\", \"exists\", \"off\", \"team\", \"team_exists\", \"memories\":
{\"total\", \"by_type\", \"by_trust\", \"pinned\", \"overtaken\"}, \"index\": {\"lines\",
\"bytes\", \"lines_loaded\", \"bytes_loaded\", \"cut\", \"warning\", \"drift\"}, \"prompt\":
{\"bytes\", \"tokens\"}, \"instructions\": [{\"path\", \"scope\", \"included_by\", \"bytes\",
\"tokens\", \"outcome\"}], \"load\": {\"loaded\": [{\"source\", \"name\", \"bytes\", \"why\"}],
\"cut\": [{\"source\", \"name\", \"bytes\", \"why\"}]}, \"tokens\", \"inbox\",
\"consolidation\": {\"last\", \"holder\", \"remark\"}, \"budget\": {\"day\", \"used_usd\",
\"usd\", \"used_tokens\", \"tokens\"}, \"pending\", \"skipped\": [{\"path\", \"why\"}]}";

/// Arguments of `memory status`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {}

/// Columns of a label: the longest is "Team memory", and a gap sets the texts apart.
const LABEL: usize = 15;

/// Prints the status; asking changes nothing.
pub(super) fn run(_: &Args, which: &Which, app: &mut App) -> Outcome {
    let status = app.host()?.status(which)?;
    app.tell(&status)
}

impl Report for MemoryStatus {
    fn text(&self, out: &mut Out) -> Outcome {
        place(self, out)?;
        if self.exists {
            memories(self, out)?;
            index(self, out)?;
            upkeep(self, out)?;
        }
        budget(self, out)?;
        loads(self, out)
    }
}

/// Prints a label and a text that hangs behind it.
fn labelled(label: &str, role: Role, text: &str, out: &mut Out) -> Outcome {
    let room = out.width().saturating_sub(LABEL);
    let mut lines = crate::output::wrapped(text, room).into_iter();
    let first = lines.next().unwrap_or_default();
    out.line(
        Line::new()
            .role(Role::Strong, format!("{label:<LABEL$}"))
            .role(role, first),
    )?;
    for line in lines {
        out.line(Line::new().text(" ".repeat(LABEL)).role(role, line))?;
    }
    Ok(())
}

fn place(report: &MemoryStatus, out: &mut Out) -> Outcome {
    // Without memory there is no directory to tell of; instructions still follow.
    if let Some(off) = &report.off {
        return labelled("Memory", Role::Warning, off, out);
    }
    let directory = report.directory.as_deref().unwrap_or_default();
    labelled("Memory", Role::Plain, directory, out)?;
    if let Some(why) = report.why {
        labelled("", Role::Dim, why, out)?;
    }
    if !report.exists {
        let text = "does not exist yet; `dormouse memory add 'TEXT'` makes it";
        labelled("", Role::Dim, text, out)?;
    }
    if let Some(team) = &report.team {
        labelled("Team memory", Role::Plain, team, out)?;
        if !report.team_exists {
            labelled("", Role::Dim, "does not exist yet", out)?;
        }
    }
    Ok(())
}

fn listed(counts: &BTreeMap<&'static str, usize>) -> String {
    let parts: Vec<String> = counts
        .iter()
        .map(|(name, number)| format!("{number} {name}"))
        .collect();
    parts.join(", ")
}

fn memories(report: &MemoryStatus, out: &mut Out) -> Outcome {
    let counts = &report.memories;
    let mut text = counts.total.to_string();
    if counts.total > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {}", listed(&counts.by_type));
    }
    if counts.pinned > 0 {
        let _ = write!(text, "; {} pinned", counts.pinned);
    }
    if counts.overtaken > 0 {
        let _ = write!(text, "; {} overtaken", counts.overtaken);
    }
    labelled("Memories", Role::Plain, &text, out)?;
    if counts.total > 0 {
        labelled("Trust", Role::Plain, &listed(&counts.by_trust), out)?;
    }
    for skipped in &report.skipped {
        let text = format!("{}: {}", skipped.path, skipped.why);
        labelled("Left out", Role::Warning, &text, out)?;
    }
    Ok(())
}

fn index(report: &MemoryStatus, out: &mut Out) -> Outcome {
    let index = &report.index;
    let lines = |number: usize| figures::thousands(number as u64);
    let text = if index.cut {
        format!(
            "{} of {} lines, {} of {} bytes loaded",
            lines(index.lines_loaded),
            lines(index.lines),
            lines(index.bytes_loaded),
            lines(index.bytes)
        )
    } else {
        format!(
            "{}, {} bytes, loaded whole",
            figures::count(index.lines, "line", "lines"),
            lines(index.bytes)
        )
    };
    let role = if index.cut {
        Role::Warning
    } else {
        Role::Plain
    };
    labelled("Index", role, &text, out)?;
    if let Some(warning) = &index.warning {
        // The sentence is the one that the model reads, where it is a quotation.
        let warning = warning.trim_start_matches("> ");
        labelled("", Role::Warning, warning, out)?;
    }
    if index.drift > 0 {
        let text = format!(
            "{} between index and files; `dormouse memory check` shows them",
            figures::count(index.drift, "difference", "differences")
        );
        labelled("", Role::Warning, &text, out)?;
    }
    Ok(())
}

fn upkeep(report: &MemoryStatus, out: &mut Out) -> Outcome {
    if report.inbox > 0 {
        let text = format!(
            "{} for approval; `dormouse memory inbox` shows them",
            figures::count(report.inbox, "memory waits", "memories wait")
        );
        labelled("Inbox", Role::Warning, &text, out)?;
    } else {
        labelled("Inbox", Role::Plain, "empty", out)?;
    }
    let last = report
        .consolidation
        .at
        .map_or_else(|| "never".to_owned(), |at| figures::age(report.now, at));
    let text = match report.consolidation.holder {
        Some(pid) => format!("{last}; process {pid} dreams now"),
        None => last,
    };
    labelled("Last dream", Role::Plain, &text, out)?;
    // "never" stands in the line above already.
    let never = report.consolidation.at.is_none();
    if let Some(remark) = report
        .consolidation
        .remark
        .as_ref()
        .filter(|remark| !(never && remark.starts_with("never")))
    {
        labelled("", Role::Warning, remark, out)?;
    }
    // Not repaired here: asking changes nothing, and the next write does it.
    if report.pending {
        let text = "a change is being made, or was cut off; the next write completes it";
        labelled("Pending", Role::Warning, text, out)?;
    }
    Ok(())
}

fn budget(report: &MemoryStatus, out: &mut Out) -> Outcome {
    let budget = &report.budget;
    let mut text = format!("${:.2} of ${:.2} used today", budget.used_usd, budget.usd);
    if let Some(tokens) = budget.tokens {
        let _ = write!(
            text,
            ", {} of {} tokens",
            figures::tokens(Tokens(budget.used_tokens)),
            figures::tokens(Tokens(tokens))
        );
    }
    labelled("Background", Role::Plain, &text, out)
}

/// Prints the instructions that a session would begin with, and the tokens they cost.
fn loads(report: &MemoryStatus, out: &mut Out) -> Outcome {
    out.blank()?;
    if report.instructions.is_empty() && report.prompt.is_none() {
        return Ok(out.line("A session here begins with no instructions.")?);
    }
    out.line(
        Line::new()
            .role(Role::Strong, "A session here begins with")
            .text(format!(
                " (about {} tokens)",
                figures::thousands(report.tokens)
            )),
    )?;
    let mut table = Table::new([
        Column::left("file").gives_way(),
        Column::right("tokens"),
        Column::left("outcome").gives_way(),
    ]);
    if let Some(prompt) = &report.prompt {
        let tokens = figures::thousands(prompt.tokens);
        table.row([
            "memory section of the system prompt".into(),
            tokens.into(),
            "loaded".into(),
        ]);
    }
    for file in &report.instructions {
        let role = match file.kept {
            Kept::Whole => Role::Plain,
            Kept::Later => Role::Dim,
            Kept::Part | Kept::Out => Role::Warning,
        };
        let tokens = match file.kept {
            Kept::Out => "–".to_owned(),
            Kept::Later => format!("({})", figures::thousands(file.tokens)),
            _ => figures::thousands(file.tokens),
        };
        let name = if file.included_by.is_some() {
            format!("  @{}", file.path)
        } else {
            file.path.clone()
        };
        table.row([
            Cell::new(name),
            Cell::new(tokens),
            Cell::with_role(role, &file.outcome),
        ]);
    }
    for cut in report
        .load
        .cut
        .iter()
        .filter(|cut| cut.name == MemoryStatus::ALL_FILES)
    {
        let why = Cell::with_role(Role::Warning, &cut.why);
        table.row([Cell::new(&cut.name), "–".into(), why]);
    }
    Ok(out.table(&table)?)
}
