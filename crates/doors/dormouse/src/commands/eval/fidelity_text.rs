//! The tables of `dormouse eval fidelity`.

use super::fidelity::{Measurement, Missing, PolicyReport};
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Role, Table, figures};
use dormouse_core::units::Tokens;
use dormouse_replay::fidelity::FactKind;

/// Prints files, one table per summariser, notes, and the missing facts if asked for.
pub(super) fn show(report: &Measurement, out: &mut Out) -> Outcome {
    for file in &report.files {
        let count: usize = file.facts.values().sum();
        let kinds: Vec<String> = FactKind::ALL
            .into_iter()
            .filter_map(|kind| {
                // Kinds that a session lacks would only lengthen the line.
                let count = file.facts.get(kind.name()).filter(|count| **count > 0)?;
                Some(format!("{count} {}", kind.name().replace('_', " ")))
            })
            .collect();
        let facts = format!(
            ": {} facts ({})",
            figures::thousands(count as u64),
            kinds.join(", ")
        );
        let line = Line::new().role(Role::Strong, &file.file).text(facts);
        out.line(line)?;
    }
    // A table for each: rows of a model and of no model are not meant to be compared.
    for summariser in ["persona", "offline"] {
        let rows: Vec<&PolicyReport> = report
            .policies
            .iter()
            .filter(|policy| policy.summariser == summariser)
            .collect();
        if !rows.is_empty() {
            out.blank()?;
            out.line(Line::new().role(Role::Strong, format!("Summaries: {summariser}")))?;
            out.table(&table(&rows))?;
        }
    }
    out.blank()?;
    out.line(Line::new().role(
        Role::Dim,
        "per cent in the prompt / in the prompt or one call away; user messages: exact, by \
             reference, lost; the prompt's tokens on average, system prompt and tools included",
    ))?;
    for note in &report.notes {
        out.line(Line::new().role(Role::Dim, note))?;
    }
    if let Some(missing) = &report.missing {
        show_missing(missing, out)?;
    }
    Ok(())
}

fn table(rows: &[&PolicyReport]) -> Table {
    let mut table = Table::new([
        Column::left("POLICY"),
        Column::right("COMPACTIONS"),
        Column::right("PROMPT"),
        Column::right("RULES"),
        Column::right("NUMBERS"),
        Column::right("PATHS"),
        Column::right("COMMANDS"),
        Column::right("ERRORS"),
        Column::right("DECISIONS"),
        Column::right("ALL"),
        Column::right("USER MESSAGES"),
    ]);
    for row in rows {
        let kind = |kind: FactKind| {
            let places = row.kinds.get(kind.name()).copied();
            Cell::new(places.unwrap_or_default().share())
        };
        let users = row.user_messages;
        table.row([
            Cell::with_role(Role::Strong, row.name),
            row.compactions.into(),
            figures::tokens(Tokens(row.prompt_tokens)).into(),
            kind(FactKind::UserRule),
            kind(FactKind::UserNumber),
            kind(FactKind::FilePath),
            kind(FactKind::Command),
            kind(FactKind::ErrorText),
            kind(FactKind::Decision),
            row.total.share().into(),
            format!("{}, {}, {}", users.exact, users.by_reference, users.lost).into(),
        ]);
    }
    table
}

fn show_missing(missing: &[Missing], out: &mut Out) -> Outcome {
    let mut table = Table::new([
        Column::left("POLICY"),
        Column::left("SUMMARIES"),
        Column::right("COMPACTIONS"),
        Column::right("STEP"),
        Column::left("KIND"),
        Column::left("WHERE"),
        Column::left("VALUE").gives_way(),
    ]);
    for fact in missing {
        table.row([
            fact.name.into(),
            fact.summariser.into(),
            fact.compactions.into(),
            fact.step.into(),
            fact.kind.into(),
            fact.place.into(),
            fact.value.as_str().into(),
        ]);
    }
    if !table.is_empty() {
        out.blank()?;
        out.table(&table)?;
    }
    Ok(())
}
