//! The tables of `dormouse eval recall`.

use super::recall::{Figures, Measured};
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, Role, Table, figures};

/// Prints the summary, a row per category or group, and the misses if asked for.
pub(super) fn show(report: &Measured, out: &mut Out) -> Outcome {
    let count = |number: usize| figures::thousands(number as u64);
    let line = format!(
        "{} queries, {} documents in {} {}; a search takes {} ms (median), {} ms (99 in 100)",
        figures::thousands(u64::from(report.queries)),
        count(report.documents),
        count(report.groups),
        if report.groups == 1 {
            "group"
        } else {
            "groups"
        },
        report.p50_ms,
        report.p99_ms,
    );
    out.line(Line::new().text(line))?;
    out.blank()?;
    let names = [
        "QUERIES", "R@1", "R@3", "R@5", "R@10", "ANY@1", "ANY@3", "ANY@5", "ANY@10", "ALL@1",
        "ALL@3", "ALL@5", "ALL@10", "MRR",
    ];
    // The columns are made at run time, since there is one for each figure and depth.
    let mut columns = vec![Column::left("")];
    columns.extend(names.map(Column::right));
    let mut table = Table::new(columns);
    for row in &report.rows {
        table.cells(cells(&row.name, row.queries, &row.figures));
    }
    // Last, like any sum; without categories it is the only row.
    table.cells(cells("all", report.queries, &report.figures));
    out.table(&table)?;
    // Only with `--misses`: a set has hundreds of them.
    if let Some(misses) = &report.misses {
        out.blank()?;
        let mut table = Table::new([
            Column::left("MISSED"),
            Column::left("RELEVANT"),
            Column::left("FOUND").gives_way(),
        ]);
        for miss in misses {
            table.row([
                miss.query.as_str().into(),
                miss.relevant.join(", ").into(),
                miss.found.join(", ").into(),
            ]);
        }
        if !table.is_empty() {
            out.table(&table)?;
        }
    }
    Ok(())
}

fn cells(name: &str, queries: u32, figures: &Figures) -> Vec<Cell> {
    let tally = &figures.0;
    let mut cells = vec![
        Cell::with_role(Role::Strong, name),
        figures::thousands(u64::from(queries)).into(),
    ];
    for values in [tally.recall(), tally.any(), tally.all()] {
        cells.extend(values.map(|value| Cell::from(per_cent(value))));
    }
    cells.push(per_cent(tally.reciprocal_rank()).into());
    cells
}

fn per_cent(share: f64) -> String {
    // One digit: sets have hundreds of queries, and the second would be noise.
    format!("{:.1}", share * 100.0)
}
