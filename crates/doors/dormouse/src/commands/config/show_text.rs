//! `dormouse config show` as text.
//!
//! # Not here
//! The figures and their JSON: `show`.

use super::show::{FileReport, Row, Selection, Shown, readable};
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, OutResult, Role, Table, clipped, width};

/// Columns of a value in a list: a longer one would push the origin off most screens. One setting
/// by itself is shown in full.
const VALUE_COLUMNS: usize = 36;

/// Prints the report as the selection asks for.
pub(super) fn show(report: &Shown<'_>, selection: Selection, out: &mut Out) -> Outcome {
    match (selection, report.settings.as_slice()) {
        (Selection::One, [row]) => return Ok(show_one(row, out)?),
        (Selection::Group | Selection::One, rows) => return Ok(out.table(&list(rows.iter()))?),
        (Selection::All, rows) => {
            show_places(report, out)?;
            out.blank()?;
            out.table(&list(rows.iter()))?;
        }
        (Selection::Notable, rows) => {
            show_places(report, out)?;
            out.blank()?;
            show_notable(rows, out)?;
        }
    }
    Ok(show_issues(report, out)?)
}

fn show_places(report: &Shown<'_>, out: &mut Out) -> OutResult {
    let mut table = Table::new([Column::left(""), Column::left("")]);
    table.row(["home".into(), Cell::new(&report.home)]);
    let trust = if report.project.trusted {
        "trusted"
    } else {
        "not trusted"
    };
    table.row([
        "project".into(),
        Cell::new(format!("{} ({trust})", report.project.root)),
    ]);
    // Files of settings are named even where there is none yet, so that a person knows where to
    // write; the others, and the administrator's, only where they say something.
    let told = |file: &&FileReport<'_>| {
        file.state != "missing" || !matches!(file.name, "managed" | "models" | "trust")
    };
    for file in report.files.iter().filter(told) {
        let path = match file.state {
            "unusable" => format!("{} (left out, see below)", file.path),
            "missing" => format!("{} (not there)", file.path),
            _ => file.path.clone(),
        };
        // The list also has files that are no layer of settings.
        let name = match file.name {
            "models" | "trust" => file.name.to_owned(),
            layer => format!("{layer} file"),
        };
        table.row([Cell::new(name), Cell::new(path)]);
    }
    out.table(&table)
}

fn show_notable(rows: &[Row<'_>], out: &mut Out) -> OutResult {
    let notable = list(rows.iter().filter(|row| row.is_notable()));
    if notable.is_empty() {
        out.line("Every setting has its built-in default.")?;
    } else {
        out.table(&notable)?;
    }
    out.blank()?;
    let mut switches = Table::new([
        Column::left("SWITCH"),
        Column::left("STATE"),
        Column::left(""),
    ]);
    for row in rows {
        let Some(effective) = row.effective else {
            continue;
        };
        let because = row.off_because.map(|key| format!("because of `{key}`"));
        switches.row([
            Cell::new(row.key),
            if effective {
                Cell::with_role(Role::Good, "on")
            } else {
                Cell::with_role(Role::Dim, "off")
            },
            Cell::new(because.unwrap_or_default()),
        ]);
    }
    out.table(&switches)?;
    out.blank()?;
    out.line("`dormouse config show KEY` explains one, --all lists all.")
}

fn list<'a>(rows: impl Iterator<Item = &'a Row<'a>>) -> Table {
    let mut table = Table::new([
        Column::left("SETTING"),
        Column::left("VALUE").gives_way(),
        Column::left("FROM"),
    ]);
    for row in rows {
        table.row([
            Cell::with_role(Role::Strong, row.key),
            Cell::new(clipped(&row.shown(), VALUE_COLUMNS)),
            Cell::new(&row.from),
        ]);
        for note in notes(row) {
            table.note(note);
        }
    }
    table
}

/// Other values given for a setting, except the built-in default: combined, overridden, ignored.
fn notes<'a>(row: &'a Row<'a>) -> impl Iterator<Item = String> + 'a {
    let combined = row
        .combined_from
        .iter()
        .map(|from| format!("together with {from}"));
    // The last of them is where the row says it comes from.
    let combined = combined.take(row.combined_from.len().saturating_sub(1));
    let overrode = row.overridden().map(|other| {
        let value = readable(other.value);
        format!(
            "overrode {} from {}",
            clipped(&value, VALUE_COLUMNS),
            other.from
        )
    });
    let ignored = row.ignored.iter().map(|other| {
        let value = readable(other.value);
        let reason = other.reason.as_deref().unwrap_or_default();
        format!(
            "ignored {} from {}: {reason}",
            clipped(&value, VALUE_COLUMNS),
            other.from
        )
    });
    combined.chain(overrode).chain(ignored)
}

fn show_one(row: &Row<'_>, out: &mut Out) -> OutResult {
    let line = Line::new().role(Role::Strong, row.key).text(" = ");
    out.line(line.text(row.shown()))?;
    if row.value.is_some() {
        out.line(format!("    from {}", row.from))?;
    }
    for note in notes(row) {
        out.line(format!("    {note}"))?;
    }
    // A switch that reads `true` and does nothing is a riddle without its reason.
    if let (Some(false), Some(key)) = (row.effective, row.off_because) {
        out.line(format!("    has no effect because of `{key}`"))?;
    }
    out.blank()?;
    for line in wrapped(row.meaning, out.width()) {
        out.line(line)?;
    }
    out.blank()?;
    let mut table = Table::new([Column::left(""), Column::left("")]);
    let mut fact = |name: &str, text: &str| {
        if !text.is_empty() {
            table.row([Cell::with_role(Role::Dim, name), Cell::new(text)]);
        }
    };
    fact("takes", &row.takes);
    fact("unit", &row.unit);
    let default = row
        .default
        .as_ref()
        .map_or_else(|| "not set".to_owned(), readable);
    fact("default", &default);
    fact("who may set it", &row.set_by);
    let variables = row.environment.iter().map(|variable| {
        let effect = if variable.switches_off { " (off)" } else { "" };
        format!("{}{effect}", variable.name)
    });
    fact("environment", &variables.collect::<Vec<_>>().join(", "));
    out.table(&table)?;
    if row.members.is_empty() {
        return Ok(());
    }
    out.blank()?;
    let members = format!("See also {}.", row.members.join(", "));
    for line in wrapped(&members, out.width()) {
        out.line(line)?;
    }
    Ok(())
}

fn show_issues(report: &Shown<'_>, out: &mut Out) -> OutResult {
    if report.issues.is_empty() {
        return Ok(());
    }
    out.blank()?;
    out.line(Line::new().role(Role::Warning, "Problems (everything else counts):"))?;
    for issue in &report.issues {
        out.line(format!("  {}", issue.message))?;
        for cause in &issue.causes {
            out.line(Line::new().role(Role::Dim, "    because: ").text(cause))?;
        }
        if let Some(hint) = &issue.hint {
            out.line(Line::new().role(Role::Hint, "    hint: ").text(hint))?;
        }
    }
    Ok(())
}

/// A paragraph in lines of at most this many columns; a longer word gets a line of its own.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
