//! `--plot`: context size and cumulative cost over the requests, as an SVG of our own making.
//!
//! # Model
//! Two [`Panel`]s stand one above the other on the same horizontal axis. Every policy has a colour
//! and a dash pattern, so that lines can be told apart without colour; compactions are triangles,
//! clearings small circles on the policy's line, and a cross is where a session was lost. Colours
//! are those of a style sheet inside the file, with a second set for dark backgrounds.
//!
//! # Not here
//! Terminal charts, and anything that needs a library.

use super::policies::{Played, cost, made};
use crate::app::App;
use crate::error::Failure;
use crate::output::figures;
use dormouse_context::window::Thresholds;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Settings;
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use dormouse_drive::Notice;
use dormouse_replay::{PolicyRun, policies};
use dormouse_system::Access;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Width of the drawing, in pixels at its own size: about that of a page of text on the web.
pub(in crate::commands) const WIDTH: f64 = 960.0;
/// Left margin: room for the longest name of a mark on the vertical axis.
pub(in crate::commands) const LEFT: f64 = 72.0;
/// Right margin: half a number of the horizontal axis stands out over the last request.
pub(in crate::commands) const RIGHT: f64 = 24.0;
/// Height of each panel: both and the legend fit a laptop's screen.
const PANEL: f64 = 240.0;
/// Space between the panels: numbers of the upper axis, title of the lower panel.
const GAP: f64 = 52.0;
/// Width of one entry of the legend, in pixels: the longest name and a cost beside it.
const ENTRY: f64 = 168.0;
/// Height of a row of the legend: a line of 12-pixel text with air around it.
const ROW: f64 = 20.0;

/// Light colour, dark colour, and dash pattern of each policy. Eight, one for each policy that can
/// be named; the patterns keep lines apart in print and for colour-blind readers.
const SERIES: [(&str, &str, &str); 8] = [
    ("#6b7280", "#9ca3af", "2 3"),
    ("#1d4ed8", "#60a5fa", ""),
    ("#15803d", "#4ade80", ""),
    ("#c2410c", "#fb923c", "8 3"),
    ("#7e22ce", "#c084fc", "8 3 2 3"),
    ("#be123c", "#fb7185", "5 3"),
    ("#0e7490", "#22d3ee", "12 4"),
    ("#a16207", "#facc15", "3 2"),
];

/// The style of a policy: the same in every plot, so that plots can be laid side by side.
pub(in crate::commands) fn series(policy: &str) -> usize {
    let at = policies::NAMES.iter().position(|name| *name == policy);
    at.unwrap_or(0) % SERIES.len()
}

/// Writes a plot for every session, and says where each lies.
pub(super) fn write_all(
    path: &Path,
    played: &[Played],
    settings: &Settings,
    models: &ModelTable,
    app: &App,
) -> Result<Vec<Option<String>>, Failure> {
    let mut written = Vec::with_capacity(played.len());
    for (at, session) in played.iter().enumerate() {
        let path = if played.len() == 1 {
            path.to_owned()
        } else {
            numbered(path, at + 1)
        };
        let info = models.lookup(&session.model).info;
        let thresholds =
            Thresholds::new(session.window, info.max_output, &settings.window_settings());
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

/// An axis from zero to a round number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::commands) struct Axis {
    pub(in crate::commands) step: f64,
    pub(in crate::commands) end: f64,
}

impl Axis {
    /// About `ticks` steps of 1, 2 or 5 times a power of ten, reaching at least `most`.
    pub(in crate::commands) fn new(most: f64, ticks: f64) -> Self {
        // A session of no cost must not divide by zero.
        let rough = (most / ticks).max(f64::MIN_POSITIVE);
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|nice| nice * power)
            // The tolerance keeps rounding errors from doubling a step that fits.
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(10.0 * power);
        Self {
            step,
            end: (most / step).ceil().max(1.0) * step,
        }
    }

    pub(in crate::commands) fn marks(self) -> impl Iterator<Item = f64> {
        (0_u32..)
            .map(move |at| f64::from(at) * self.step)
            .take_while(move |mark| *mark <= self.end + self.step / 2.0)
    }
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

#[expect(clippy::cast_precision_loss, reason = "coordinates of a drawing")]
const fn float(number: u64) -> f64 {
    number as f64
}

fn svg(session: &Played, target: Tokens) -> String {
    let runs = &session.runs;
    let columns = ((WIDTH - LEFT - RIGHT) / ENTRY).floor();
    let rows = (float(runs.len() as u64) / columns).ceil();
    let head = 62.0 + rows * ROW;
    let height = head + 2.0 * PANEL + GAP + 56.0;
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
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" font-size=\"12\" \
         font-family=\"system-ui, -apple-system, 'Segoe UI', sans-serif\">"
    );
    style(&mut out);
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
    let _ = writeln!(out, "<title>{}</title>", escaped(&title));
    let _ = writeln!(
        out,
        "<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>"
    );
    label(&mut out, "title", (LEFT, 26.0), &title);
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
        (f64::midpoint(LEFT, WIDTH - RIGHT), height - 12.0),
        "requests",
    );
    out.push_str("</svg>\n");
    out
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mark of an axis is a small positive number"
)]
const fn whole(value: f64) -> Tokens {
    Tokens(value.round() as u64)
}

pub(in crate::commands) fn style(out: &mut String) {
    let _ = writeln!(
        out,
        "<style>\n.paper{{fill:#fff}} text{{fill:#374151}} .title{{font-size:15px;font-weight:600;\
         fill:#111827}}\n.middle{{text-anchor:middle}} .end{{text-anchor:end}} \
         .head{{font-weight:600}}\n.grid{{stroke:#e5e7eb}} .level{{stroke:#9ca3af;\
         stroke-dasharray:6 4}} .small{{font-size:11px;fill:#6b7280}}\n\
         polyline{{fill:none;stroke-width:1.8;stroke-linejoin:round}}"
    );
    for (at, (light, _, dashes)) in SERIES.iter().enumerate() {
        let _ = writeln!(
            out,
            ".s{at}{{stroke:{light};stroke-dasharray:{}}} .m{at}{{fill:{light};stroke:#fff}}",
            if dashes.is_empty() { "none" } else { dashes }
        );
    }
    out.push_str(".cross{fill:none;stroke-width:2.4;stroke-dasharray:none}\n");
    let _ = writeln!(
        out,
        "@media (prefers-color-scheme: dark){{\n.paper{{fill:#0d1117}} text{{fill:#c9d1d9}} \
         .title{{fill:#f0f6fc}} .grid{{stroke:#30363d}} .level{{stroke:#6e7681}} \
         .small{{fill:#8b949e}}"
    );
    for (at, (_, dark, _)) in SERIES.iter().enumerate() {
        let _ = writeln!(
            out,
            ".s{at}{{stroke:{dark}}} .m{at}{{fill:{dark};stroke:#0d1117}}"
        );
    }
    out.push_str("}\n</style>\n");
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

pub(in crate::commands) fn label(out: &mut String, class: &str, (x, y): (f64, f64), text: &str) {
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        escaped(text)
    );
}

pub(in crate::commands) fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => result.push_str("&amp;"),
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            '"' => result.push_str("&quot;"),
            // Control characters cannot be written in XML at all.
            other if other.is_control() => result.push(' '),
            other => result.push(other),
        }
    }
    result
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
    fn axes_end_at_round_numbers_above_everything() {
        for (most, step, end) in [
            (150.0, 50.0, 150.0),
            (183_000.0, 50_000.0, 200_000.0),
            (967_000.0, 200_000.0, 1_000_000.0),
            (12.34, 5.0, 15.0),
            (0.07, 0.02, 0.08),
        ] {
            let axis = Axis::new(most, 5.0);
            assert!((axis.step - step).abs() < 1e-9, "{most}: {axis:?}");
            assert!((axis.end - end).abs() < 1e-9, "{most}: {axis:?}");
            assert_eq!(
                axis.marks().count() - 1,
                usize::try_from(whole(end / step).get()).unwrap()
            );
        }
    }

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(escaped("a<b>&\"\u{1b}"), "a&lt;b&gt;&amp;&quot; ");
    }

    #[test]
    fn plots_of_several_files_are_numbered() {
        assert_eq!(
            numbered("x/costs.svg".as_ref(), 2),
            Path::new("x/costs-2.svg")
        );
    }
}
