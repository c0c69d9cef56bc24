//! The comparison of policies as tables and sentences, each narrow enough for 80 columns.

use super::play::short;
use super::policies::{Comparison, FileReport, PolicyReport, StepReport};
use crate::error::Outcome;
use crate::output::{Cell, Column, Line, Out, OutResult, Role, Table, figures, wrapped};
use dormouse_core::record::Purpose;
use dormouse_core::units::Tokens;

/// Columns by which the table indents a note; lines are wrapped before they are indented.
const NOTE: usize = 4;

/// Prints sessions, costs, deeds and purposes, then the remarks.
pub(super) fn show(report: &Comparison, out: &mut Out) -> Outcome {
    // Above the tables, so that the comparison stays on the screen.
    show_turns(report, out)?;
    match report.files.as_slice() {
        [file] => out.paragraph(Role::Strong, &about(file), 2)?,
        files => show_files(files, out)?,
    }
    out.blank()?;
    let width = out.width();
    out.table(&costs(report, width))?;
    heading("What was done, and the engine's time for a request", out)?;
    out.table(&deeds(report))?;
    heading("Where the money goes", out)?;
    out.table(&purposes(report))?;
    if !report.spread.is_empty() {
        heading(
            "Session by session, as a multiple of the cheapest other policy",
            out,
        )?;
        out.table(&super::spread::table(&report.spread))?;
    }
    if !report.remarks.is_empty() {
        out.blank()?;
    }
    for remark in &report.remarks {
        out.paragraph(Role::Plain, remark, 2)?;
    }
    for path in report.files.iter().filter_map(|file| file.plot.as_ref()) {
        out.line(Line::new().text("plot: ").role(Role::Hint, path))?;
    }
    Ok(())
}

fn heading(text: &str, out: &mut Out) -> OutResult {
    out.blank()?;
    out.paragraph(Role::Strong, text, 2)
}

fn about(file: &FileReport) -> String {
    // A window of the table or of the command line is what everyone expects; one that the log
    // proves needs its reason.
    let from = match file.window_from.as_str() {
        "the model table" | "the settings" => String::new(),
        from => format!(" from {from}"),
    };
    format!(
        "{} · {} · {} from tools · {} · window {}{from}",
        short(&file.file),
        figures::count(file.steps, "request", "requests"),
        figures::bytes(file.tool_bytes),
        file.model,
        figures::tokens(Tokens(file.window)),
    )
}

/// One line per session, with what each policy cost.
fn show_files(files: &[FileReport], out: &mut Out) -> OutResult {
    let Some(first) = files.first() else {
        return Ok(());
    };
    // Every session was played under the same policies, so the first names the columns.
    let names = first.policies.iter().map(|policy| policy.name);
    let mut columns = vec![
        Column::left("SESSION").gives_way(),
        Column::right("REQUESTS").can_go(),
    ];
    columns.extend(names.map(Column::right));
    let mut table = Table::new(columns);
    for file in files {
        let mut cells = vec![short(&file.file).into(), file.steps.into()];
        cells.extend(file.policies.iter().map(|policy| match policy.lost {
            // The cost of a lost session cannot be compared.
            Some(_) => Cell::with_role(Role::Warning, "lost"),
            None => dollars(policy.cost_usd).into(),
        }));
        table.cells(cells);
    }
    out.table(&table)?;
    out.blank()?;
    let all = format!("All {} sessions", files.len());
    out.line(Line::new().role(Role::Strong, all))
}

fn name(policy: &PolicyReport) -> Cell {
    Cell::with_role(Role::Strong, policy.name)
}

fn tokens(number: u64) -> Cell {
    figures::tokens(Tokens(number)).into()
}

fn dollars(cost: Option<f64>) -> String {
    cost.map_or_else(|| "unknown".to_owned(), |cost| format!("${cost:.2}"))
}

/// An amount with its sign: `+$0.42`, `−$1.20`, and nothing where it rounds to nothing.
fn signed(amount: f64) -> String {
    // Half a cent rounds to $0.00, and a sign before it would promise a difference.
    let sign = match amount {
        amount if amount.abs() < 0.005 => "",
        amount if amount < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}${:.2}", amount.abs())
}

fn costs(report: &Comparison, width: usize) -> Table {
    let relative = if report.base == "classic" {
        "VS CLASSIC"
    } else {
        "VS FIRST"
    };
    let mut table = Table::new([
        Column::left("POLICY"),
        Column::right("COST"),
        Column::right(relative),
        Column::right("UNCACHED").can_go(),
        Column::right("WRITTEN").can_go(),
        Column::right("READ").can_go(),
        Column::right("OUTPUT").can_go(),
        Column::right("HIT RATE"),
        Column::right("PEAK").can_go(),
    ]);
    for policy in &report.policies {
        let relative = match policy.relative {
            // A policy against itself is always ±0.
            Some(_) if policy.name == report.base => Cell::with_role(Role::Dim, "–"),
            Some(share) => relative_cell(share),
            None => Cell::with_role(Role::Dim, "–"),
        };
        table.row([
            name(policy),
            dollars(policy.cost_usd).into(),
            relative,
            tokens(policy.uncached_tokens),
            tokens(policy.cache_write_tokens),
            tokens(policy.cache_read_tokens),
            tokens(policy.output_tokens),
            format!("{:.1} %", policy.hit_rate * 100.0).into(),
            tokens(policy.peak_tokens),
        ]);
        for lost in &policy.lost {
            let whose = match report.files.len() {
                1 => String::new(),
                _ => format!(" in {}", short(&lost.file)),
            };
            let told = format!(
                "lost at request {} of {}{whose}: {}",
                lost.step, lost.of, lost.why
            );
            for line in wrapped(&told, width.saturating_sub(NOTE)) {
                table.note(line);
            }
        }
    }
    table
}

pub(super) fn relative_cell(share: f64) -> Cell {
    let percent = share * 100.0;
    // Differences below the last digit shown are none.
    if percent <= -0.05 {
        Cell::with_role(Role::Good, format!("−{:.1} %", -percent))
    } else if percent >= 0.05 {
        Cell::with_role(Role::Warning, format!("+{percent:.1} %"))
    } else {
        Cell::new("±0.0 %")
    }
}

fn deeds(report: &Comparison) -> Table {
    let mut table = Table::new([
        Column::left("POLICY"),
        Column::left("COMPACTIONS"),
        Column::right("CLEARINGS"),
        Column::right("NOTES"),
        Column::right("TO FILES").can_go(),
        Column::right("REQUESTS").can_go(),
        Column::right("REFUSED").can_go(),
        Column::right("ENGINE").can_go(),
    ]);
    for policy in &report.policies {
        let kinds = policy.compactions.iter();
        let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{n} {kind}")).collect();
        let number = |n: usize| match n {
            0 => Cell::with_role(Role::Dim, "–"),
            n => figures::thousands(n as u64).into(),
        };
        table.row([
            name(policy),
            if kinds.is_empty() {
                Cell::with_role(Role::Dim, "–")
            } else {
                kinds.join(", ").into()
            },
            number(policy.clearings),
            number(policy.notes_updates),
            number(policy.offloaded),
            figures::thousands(policy.requests).into(),
            match policy.rejected {
                0 => Cell::with_role(Role::Dim, "–"),
                n => Cell::with_role(Role::Warning, n),
            },
            format!("{:.0} µs", policy.engine_us_per_step).into(),
        ]);
    }
    table
}

fn purposes(report: &Comparison) -> Table {
    let against_none = report
        .policies
        .iter()
        .any(|policy| policy.against_none.is_some());
    let mut columns = vec![
        Column::left("POLICY"),
        Column::right("CONVERSATION"),
        Column::right("NOTES"),
        Column::right("COMPACTION"),
    ];
    if against_none {
        columns.push(Column::right("SHORTER PROMPTS").can_go());
        columns.push(Column::right("AGAINST NONE"));
    }
    let mut table = Table::new(columns);
    for policy in &report.policies {
        let spent = |purpose| match policy.spent(purpose) {
            0.0 => Cell::with_role(Role::Dim, "–"),
            spent => format!("${spent:.2}").into(),
        };
        let mut cells = vec![
            name(policy),
            spent(Purpose::Turn),
            spent(Purpose::Notes),
            spent(Purpose::Compaction),
        ];
        if let Some(causes) = policy
            .against_none
            .as_ref()
            .filter(|_| policy.name != "none")
        {
            cells.push(signed(causes.shorter_prompts_usd).into());
            cells.push(signed(causes.total_usd).into());
        // The row of `none` itself, and of lost sessions, would be too short otherwise.
        } else if against_none {
            cells.extend([
                Cell::with_role(Role::Dim, "–"),
                Cell::with_role(Role::Dim, "–"),
            ]);
        }
        table.cells(cells);
    }
    table
}

fn show_turns(report: &Comparison, out: &mut Out) -> OutResult {
    for policy in &report.policies {
        let Some(turns) = &policy.turns else {
            continue;
        };
        for session in turns.chunk_by(|a, b| a.file == b.file) {
            let whose = session.first().map_or("", |step| step.file.as_str());
            let title = Line::new().role(Role::Strong, policy.name);
            out.line(title.role(Role::Dim, format!(" · {whose}")))?;
            out.table(&steps(session))?;
            out.blank()?;
        }
    }
    Ok(())
}

fn steps(steps: &[StepReport]) -> Table {
    let mut table = Table::new([
        Column::right("REQUEST"),
        Column::right("PROMPT"),
        Column::right("COST"),
        Column::right("FORKS"),
        Column::left("WHAT HAPPENED").gives_way(),
    ]);
    for step in steps {
        let forks = match step.fork_cost_usd {
            0.0 => Cell::with_role(Role::Dim, "–"),
            cost => format!("${cost:.4}").into(),
        };
        table.row([
            step.step.into(),
            figures::thousands(step.prompt_tokens).into(),
            format!("${:.4}", step.cost_usd).into(),
            forks,
            step.events.join("; ").into(),
        ]);
    }
    table
}
