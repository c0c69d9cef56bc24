//! `dormouse memory check`.

use super::add::limits;
use super::place::{Which, find};
use crate::app::App;
use crate::error::{Exit, Outcome, UserError};
use crate::output::{Format, Line, Role};
use dormouse_core::settings::Settings;
use dormouse_guard::secrets;
use dormouse_memory::index::{self, drift};
use dormouse_memory::snapshot::{INDEX, Snapshot, is_topic};
use dormouse_memory::topic::{Topic, split};
use dormouse_memory::transaction::MOST_BYTES;
use jiff::civil::Date;
use serde::Serialize;

const HELP: &str = "\
Exit code 4 if there is a problem. Remarks are no problems.

JSON: {\"directory\", \"memories\", \"problems\": [{\"path\", \"line\", \"what\", \"remedy\"}],
\"remarks\": [the same]}";

/// Arguments of `memory check`.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {}

#[derive(Serialize)]
struct Report {
    directory: String,
    memories: usize,
    problems: Vec<Finding>,
    remarks: Vec<Finding>,
}

#[derive(Serialize)]
struct Finding {
    path: String,
    line: Option<usize>,
    what: String,
    remedy: &'static str,
}

/// Looks for problems.
pub(super) fn run(_: &Args, which: &Which, app: &mut App) -> Outcome {
    let found = find(which, app)?;
    let snapshot = found.snapshot(app)?;
    let mut report = Report {
        directory: found.root.display().to_string(),
        memories: snapshot.topics().count(),
        problems: Vec::new(),
        remarks: Vec::new(),
    };
    let today = super::show::day(app.system.clock.now());
    check_index(&snapshot, &found.config.loaded.settings, today, &mut report);
    for (path, file) in snapshot.files() {
        check_file(path.as_str(), &file.text(), is_topic(path), &mut report);
    }
    let problems = report.problems.len();
    if app.out.format() == Format::Json {
        app.out.json(&report)?;
    } else {
        show(&report, app)?;
    }
    if problems == 0 {
        return Ok(());
    }
    let what = super::forget::count(problems, "problem", "problems");
    Err(UserError::new(Exit::Unsuitable, format!("{what} in {}", report.directory)).into())
}

fn check_index(snapshot: &Snapshot, settings: &Settings, today: Date, report: &mut Report) {
    let drift = drift(snapshot, today);
    let line = |line: usize, what: String, remedy| Finding {
        path: INDEX.to_owned(),
        line: Some(line),
        what,
        remedy,
    };
    for entry in &drift.dangling {
        let what = format!("points to {}, which does not exist", entry.target);
        report
            .problems
            .push(line(entry.line, what, "dormouse memory index"));
    }
    for entry in &drift.repeated {
        let what = format!("points to {} once more", entry.target);
        report
            .problems
            .push(line(entry.line, what, "dormouse memory index"));
    }
    for entry in &drift.long {
        let what = format!("is longer than {} characters", index::LONGEST_LINE);
        report.remarks.push(line(
            entry.line,
            what,
            "shorten the line; detail belongs into the file",
        ));
    }
    for path in &drift.unlisted {
        report.problems.push(Finding {
            path: path.to_string(),
            line: None,
            what: "has no line in the index".to_owned(),
            remedy: "dormouse memory index",
        });
    }
    let text = snapshot.index();
    if let Some(cut) = index::load(&text, limits(settings)).cut {
        report.problems.push(Finding {
            path: INDEX.to_owned(),
            line: None,
            what: format!(
                "is too long: {} of {} lines, {} of {} bytes are loaded",
                cut.lines_shown, cut.lines, cut.bytes_shown, cut.bytes
            ),
            remedy: "merge memories (`dormouse dream`) or shorten lines",
        });
    }
}

fn check_file(path: &str, text: &str, topic: bool, report: &mut Report) {
    for found in secrets::scan(text) {
        report.problems.push(Finding {
            path: path.to_owned(),
            line: Some(found.line),
            what: format!("looks like a credential ({})", found.rule),
            remedy: "remove it, then `dormouse memory forget --purge` if it was journalled; change the credential",
        });
    }
    if !topic {
        return;
    }
    let remark = |what: &str, remedy| Finding {
        path: path.to_owned(),
        line: None,
        what: what.to_owned(),
        remedy,
    };
    if text.len() > MOST_BYTES {
        report.remarks.push(remark("is very long", "split it"));
    }
    if split(text).0.is_none() {
        report.remarks.push(remark(
            "has no front matter",
            "dormouse memory edit NAME --description TEXT --type TYPE",
        ));
        return;
    }
    let read = Topic::read(text);
    if read.description.is_empty() {
        report.remarks.push(remark(
            "has no description, so recall finds it only by its text",
            "dormouse memory edit NAME --description TEXT",
        ));
    }
    if read.kind.is_none() {
        report.remarks.push(remark(
            "has no type that is known",
            "dormouse memory edit NAME --type TYPE",
        ));
    }
}

fn show(report: &Report, app: &mut App) -> Outcome {
    let lists = [
        (Role::Error, &report.problems),
        (Role::Dim, &report.remarks),
    ];
    for (role, list) in lists {
        for finding in list {
            let place = match finding.line {
                Some(line) => format!("{}:{line}", finding.path),
                None => finding.path.clone(),
            };
            app.out.line(
                Line::new()
                    .role(role, place)
                    .text(format!(" {}", finding.what)),
            )?;
            app.out
                .line(Line::new().text("  ").role(Role::Hint, finding.remedy))?;
        }
    }
    if report.problems.is_empty() {
        let count = super::forget::count(report.memories, "memory", "memories");
        app.out.line(
            Line::new()
                .role(Role::Good, "No problems")
                .text(format!(" in {count}.")),
        )?;
    }
    Ok(())
}
