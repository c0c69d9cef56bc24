//! The status as text.

use super::super::forget::count;
use super::{Kept, Report};
use crate::app::App;
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Role, Table, figures};
use dormouse_core::units::Tokens;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How far the text behind a label stands in.
const LABEL: usize = 15;

/// Shows all of it.
pub(super) fn show(report: &Report, app: &mut App) -> Outcome {
    place(report, app)?;
    if report.exists {
        memories(report, app)?;
        index(report, app)?;
        upkeep(report, app)?;
    }
    budget(report, app)?;
    loads(report, app)
}

fn labelled(label: &str, role: Role, text: &str, app: &mut App) -> Outcome {
    let room = app.out.width().saturating_sub(LABEL);
    let mut lines = crate::output::wrapped(text, room).into_iter();
    let first = lines.next().unwrap_or_default();
    app.out.line(
        Line::new()
            .role(Role::Strong, format!("{label:<LABEL$}"))
            .role(role, first),
    )?;
    for line in lines {
        app.out
            .line(Line::new().text(" ".repeat(LABEL)).role(role, line))?;
    }
    Ok(())
}

fn place(report: &Report, app: &mut App) -> Outcome {
    if let Some(off) = &report.off {
        return labelled("Memory", Role::Warning, off, app);
    }
    let directory = report.directory.as_deref().unwrap_or_default();
    labelled("Memory", Role::Plain, directory, app)?;
    if let Some(why) = report.why {
        labelled("", Role::Dim, why, app)?;
    }
    if !report.exists {
        let text = "does not exist yet; `dormouse memory add 'TEXT'` makes it";
        labelled("", Role::Dim, text, app)?;
    }
    if let Some(team) = &report.team {
        labelled("Team memory", Role::Plain, team, app)?;
        if !report.team_exists {
            labelled("", Role::Dim, "does not exist yet", app)?;
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

fn memories(report: &Report, app: &mut App) -> Outcome {
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
    labelled("Memories", Role::Plain, &text, app)?;
    if counts.total > 0 {
        labelled("Trust", Role::Plain, &listed(&counts.by_trust), app)?;
    }
    for skipped in &report.skipped {
        let text = format!("{}: {}", skipped.path, skipped.why);
        labelled("Left out", Role::Warning, &text, app)?;
    }
    Ok(())
}

fn index(report: &Report, app: &mut App) -> Outcome {
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
            count(index.lines, "line", "lines"),
            lines(index.bytes)
        )
    };
    let role = if index.cut {
        Role::Warning
    } else {
        Role::Plain
    };
    labelled("Index", role, &text, app)?;
    if let Some(warning) = &index.warning {
        let warning = warning.trim_start_matches("> ");
        labelled("", Role::Warning, warning, app)?;
    }
    if index.drift > 0 {
        let text = format!(
            "{} between index and files; `dormouse memory check` shows them",
            count(index.drift, "difference", "differences")
        );
        labelled("", Role::Warning, &text, app)?;
    }
    Ok(())
}

fn upkeep(report: &Report, app: &mut App) -> Outcome {
    if report.inbox > 0 {
        let text = format!(
            "{} for approval; `dormouse memory inbox` shows them",
            count(report.inbox, "memory waits", "memories wait")
        );
        labelled("Inbox", Role::Warning, &text, app)?;
    } else {
        labelled("Inbox", Role::Plain, "empty", app)?;
    }
    let last = report
        .consolidation
        .at
        .map_or_else(|| "never".to_owned(), |at| figures::age(report.now, at));
    let text = match report.consolidation.holder {
        Some(pid) => format!("{last}; process {pid} dreams now"),
        None => last,
    };
    labelled("Last dream", Role::Plain, &text, app)?;
    let never = report.consolidation.at.is_none();
    if let Some(remark) = report
        .consolidation
        .remark
        .as_ref()
        .filter(|remark| !(never && remark.starts_with("never")))
    {
        labelled("", Role::Warning, remark, app)?;
    }
    if report.pending {
        let text = "a change is being made, or was cut off; the next write completes it";
        labelled("Pending", Role::Warning, text, app)?;
    }
    Ok(())
}

fn budget(report: &Report, app: &mut App) -> Outcome {
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
    labelled("Background", Role::Plain, &text, app)
}

/// What a session would begin with.
fn loads(report: &Report, app: &mut App) -> Outcome {
    app.out.blank()?;
    if report.instructions.is_empty() && report.prompt.is_none() {
        return Ok(app
            .out
            .line("A session here begins with no instructions.")?);
    }
    app.out.line(
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
        .filter(|cut| cut.name == super::ALL_FILES)
    {
        let why = Cell::with_role(Role::Warning, &cut.why);
        table.row([Cell::new(&cut.name), "–".into(), why]);
    }
    Ok(app.out.table(&table)?)
}
