//! `--plot`: context size and cumulative cost over the requests, as an SVG of our own making.
//!
//! # Model
//! Two [`Panel`]s stand one above the other on the same horizontal axis; compactions are triangles,
//! clearings small circles on the policy's line, and a cross is where a session was lost. Below
//! them stands the frontier of cost and of what was needed later.
//!
//! # Not here
//! Terminal charts, and anything that needs a library.

use super::play::{Conditions, Played, made};
use super::policies::cost;
use crate::app::App;
use crate::commands::draw::{self, Axis, LEFT, RIGHT, WIDTH, escaped, float, label, series, whole};
use crate::commands::frontier;
use crate::error::Failure;
use crate::output::figures;
use dormouse_context::window::Thresholds;
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use dormouse_drive::Notice;
use dormouse_replay::PolicyRun;
use dormouse_system::Access;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Height of each panel: both and the legend fit a laptop's screen.
const PANEL: f64 = 240.0;
/// Space between the panels: numbers of the upper axis, title of the lower panel.
const GAP: f64 = 52.0;
/// Width of one entry of the legend, in pixels: the longest name and a cost beside it.
const ENTRY: f64 = 168.0;
/// Height of a row of the legend: a line of 12-pixel text with air around it.
const ROW: f64 = 20.0;

/// Writes a plot for every session, and says where each lies.
pub(super) fn write_all(
    path: &Path,
    played: &[Played],
    conditions: &Conditions,
    app: &App,
) -> Result<Vec<Option<String>>, Failure> {
    let mut written = Vec::with_capacity(played.len());
    for (at, session) in played.iter().enumerate() {
        let path = if played.len() == 1 {
            path.to_owned()
        } else {
            numbered(path, at + 1)
        };
        let info = conditions.models.lookup(&session.model).info;
        let thresholds = Thresholds::new(
            session.window,
            info.max_output,
            &conditions.settings.window_settings(),
        );
        let text = svg(session, thresholds.autocompact_target);
        app.system
            .files
            .replace(&path, text.as_bytes(), Access::Shared)?;
        written.push(Some(path.display().to_string()));
    }
    Ok(written)
}

/// The path with a number in it: `costs.svg` becomes `costs-2.svg`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{number}.{end}"))
}

/// Geometry of a panel: its top edge, the requests across, the axis upwards.
#[derive(Clone, Copy)]
struct Panel {
    top: f64,
    across: f64,
    up: Axis,
}

impl Panel {
    fn x(self, step: f64) -> f64 {
        // One request alone stands in the middle of nothing; two make a line.
        LEFT + (WIDTH - LEFT - RIGHT) * (step - 1.0) / (self.across - 1.0).max(1.0)
    }

    fn y(self, value: f64) -> f64 {
        self.top + PANEL * (1.0 - value / self.up.end)
    }
}

fn svg(session: &Played, target: Tokens) -> String {
    let runs = &session.runs;
    let columns = ((WIDTH - LEFT - RIGHT) / ENTRY).floor();
    let rows = (float(runs.len() as u64) / columns).ceil();
    let head = 62.0 + rows * ROW;
    let curves = head + 2.0 * PANEL + GAP + 56.0;
    let points = session.points();
    let height = curves + frontier::height(&points);
    let peak = runs.iter().map(|run| run.total.peak.get()).max();
    let dearest = runs
        .iter()
        .filter_map(|run| running_cost(run).last().copied())
        .fold(0.0, f64::max);
    let size = Panel {
        top: head,
        across: float(session.steps() as u64),
        up: Axis::new(float(peak.unwrap_or(0)).max(1.0), 5.0),
    };
    let money = Panel {
        top: head + PANEL + GAP,
        // An axis to a cent, at least: marks below it would all read $0.00.
        up: Axis::new(dearest.max(0.01), 5.0),
        ..size
    };
    // The title has room for a name, not for a path.
    let name = Path::new(&session.name).file_name();
    let name = name.map_or_else(
        || session.name.clone().into(),
        |name| name.to_string_lossy(),
    );
    let title = format!(
        "{name} · {} · {} · window {}",
        figures::count(session.steps(), "request", "requests"),
        session.model,
        figures::tokens(session.window)
    );
    let mut out = draw::begin(&title, height);
    let key = "▼ compaction   ● clearing   × lost";
    label(&mut out, "small end", (WIDTH - RIGHT, 26.0), key);
    legend(&mut out, runs, columns);
    grid(&mut out, size, "context, tokens", &|value| {
        figures::tokens(whole(value))
    });
    grid(&mut out, money, "cost so far", &|value| {
        // As many digits as the marks need to differ.
        let decimals = if money.up.step < 0.1 {
            2
        } else {
            usize::from(money.up.step < 1.0)
        };
        format!("${value:.decimals$}")
    });
    level(&mut out, size, session.window, "window", 4.0);
    // Side by side: in a long window the two lie close together.
    level(&mut out, size, target, "classic target", 100.0);
    for run in runs {
        let sizes: Vec<f64> = run
            .steps
            .iter()
            .take(made(run))
            .map(|step| float(step.prompt.get()))
            .collect();
        polyline(&mut out, run, "size", size, &sizes);
        marks(&mut out, run, size, &sizes);
        polyline(&mut out, run, "cost", money, &running_cost(run));
    }
    label(
        &mut out,
        "axis middle",
        (f64::midpoint(LEFT, WIDTH - RIGHT), curves - 12.0),
        "requests",
    );
    frontier::panel(&mut out, curves, &points);
    out.push_str("</svg>\n");
    out
}

fn legend(out: &mut String, runs: &[PolicyRun], columns: f64) {
    let (mut x, mut y, mut used) = (LEFT, 50.0, 0.0);
    for run in runs {
        if used >= columns {
            (x, y, used) = (LEFT, y + ROW, 0.0);
        }
        let series = series(run.policy);
        let _ = writeln!(
            out,
            "<line class=\"s{series}\" stroke-width=\"2.4\" x1=\"{x}\" y1=\"{0}\" x2=\"{1}\" \
             y2=\"{0}\"/>",
            y - 4.0,
            x + 26.0
        );
        let name = match cost(&run.total) {
            // The cost of a lost session is that of its first requests and would look cheap.
            _ if !run.finished() => format!("{} (lost)", run.policy),
            Some(cost) => format!("{} ${cost:.2}", run.policy),
            None => run.policy.to_owned(),
        };
        label(out, "", (x + 32.0, y), &name);
        x += ENTRY;
        used += 1.0;
    }
}

fn grid(out: &mut String, panel: Panel, title: &str, name: &dyn Fn(f64) -> String) {
    let right = WIDTH - RIGHT;
    label(out, "head", (LEFT, panel.top - 8.0), title);
    for mark in panel.up.marks() {
        let y = panel.y(mark);
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>"
        );
        label(out, "axis end", (LEFT - 8.0, y + 4.0), &name(mark));
    }
    let across = Axis::new(panel.across, 8.0);
    let below = panel.top + PANEL + 16.0;
    for mark in across.marks().filter(|mark| *mark <= panel.across) {
        // Requests count from 1; the axis begins at zero.
        let step = mark.max(1.0);
        label(
            out,
            "axis middle",
            (panel.x(step), below),
            &format!("{step}"),
        );
    }
}

/// A horizontal line at a height that matters, if it lies within the panel.
fn level(out: &mut String, panel: Panel, tokens: Tokens, name: &str, indent: f64) {
    let value = float(tokens.get());
    let text = format!("{name} {}", figures::tokens(tokens));
    if value > panel.up.end {
        return;
    }
    let y = panel.y(value);
    let right = WIDTH - RIGHT;
    // At the top its name would stand in the panel's title.
    let beside = if y < panel.top + ROW { 13.0 } else { -4.0 };
    let _ = writeln!(
        out,
        "<line class=\"level\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{right}\" y2=\"{y:.1}\"/>"
    );
    label(out, "small", (LEFT + indent, y + beside), &text);
}

fn polyline(out: &mut String, run: &PolicyRun, what: &str, panel: Panel, values: &[f64]) {
    let series = series(run.policy);
    let mut points = String::new();
    for (step, value) in (1_u32..).zip(values) {
        let _ = write!(
            points,
            "{:.1},{:.1} ",
            panel.x(f64::from(step)),
            panel.y(*value)
        );
    }
    let _ = writeln!(
        out,
        "<polyline class=\"s{series}\" data-policy=\"{}\" data-shows=\"{what}\" points=\"{}\"/>",
        run.policy,
        points.trim_end()
    );
}

/// Marks of compactions, clearings and of the end of a lost session, on the policy's line.
fn marks(out: &mut String, run: &PolicyRun, panel: Panel, sizes: &[f64]) {
    let series = series(run.policy);
    for (step, notice) in &run.notices {
        let Some(size) = step.checked_sub(1).and_then(|before| sizes.get(before)) else {
            continue;
        };
        let (x, y) = (panel.x(float(*step as u64)), panel.y(*size));
        let told = escaped(&format!("{}, request {step}: {notice}", run.policy));
        let shape = match notice {
            Notice::Compacted { .. } => format!(
                "<path class=\"m{series}\" d=\"M{x:.1} {:.1}l-5 -9h10z\"><title>{told}</title></path>",
                y - 2.0
            ),
            Notice::Cleared { .. } => format!(
                "<circle class=\"m{series}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\">\
                 <title>{told}</title></circle>"
            ),
            _ => continue,
        };
        out.push_str(&shape);
        out.push('\n');
    }
    if let (Some(why), Some(size)) = (&run.lost, sizes.last()) {
        let (x, y) = (panel.x(float(sizes.len() as u64)), panel.y(*size));
        let told = escaped(&format!("{}: {why}", run.policy));
        let _ = writeln!(
            out,
            "<path class=\"s{series} cross\" d=\"M{:.1} {:.1}l10 10m0 -10l-10 10\">\
             <title>{told}</title></path>",
            x - 5.0,
            y - 5.0
        );
    }
}

/// Cumulative cost after each step, forks included.
fn running_cost(run: &PolicyRun) -> Vec<f64> {
    let mut sum = Usd::default();
    let steps = run.steps.iter().take(made(run));
    steps
        .map(|step| {
            sum += step.cost;
            // Forks (notes, summaries) are paid for, too; without them forgetting would look free.
            sum += step.forks;
            sum.as_f64()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_of_several_files_are_numbered() {
        assert_eq!(
            numbered("x/costs.svg".as_ref(), 2),
            Path::new("x/costs-2.svg")
        );
    }
}
