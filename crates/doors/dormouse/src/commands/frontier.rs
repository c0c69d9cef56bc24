//! Cost against what was needed, as a panel of an SVG.
//!
//! # Model
//! Each policy has two marks above its price of a request: a filled one at the share of values that
//! stood in the prompt when they were needed, a hollow one at the share that stood there or was one
//! call away. Cheap and faithful is the upper left corner. A line joins the policies that no other
//! beats in both: the frontier.
//!
//! # Not here
//! Measuring: `dormouse-replay`. Curves over a session: `replay --plot`.

use super::draw::{self, Axis, LEFT, RIGHT, WIDTH, escaped, label, series};
use dormouse_replay::fidelity::used::Used;
use std::fmt::Write as _;

/// Room above the panel, in pixels: a line of explanation.
const ABOVE: f64 = 46.0;
/// Height of the panel, in pixels: with the axis below, a page on a laptop's screen.
const PANEL: f64 = 420.0;
/// Room below the panel, in pixels: numbers and the name of the axis.
const BELOW: f64 = 56.0;

/// A policy in the panel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) policy: &'static str,
    /// Dollars of one request; sessions that ended early have fewer of them.
    pub(super) cost: f64,
    /// Share of the values that stood in the prompt.
    pub(super) in_prompt: f64,
    /// Share of the values that stood there or were one call away.
    pub(super) within_reach: f64,
    pub(super) lost: bool,
}

impl Point {
    /// The place of a policy; none where nothing was needed.
    #[expect(clippy::cast_precision_loss, reason = "shares and prices of a drawing")]
    pub(super) fn of(policy: &'static str, used: &Used, lost: bool) -> Option<Self> {
        let total = used.total;
        let all = total.in_prompt + total.one_call_away + total.lost;
        (all > 0).then(|| Self {
            policy,
            cost: used.cost.as_f64() / used.requests.max(1) as f64,
            in_prompt: total.in_prompt as f64 / all as f64,
            within_reach: (total.in_prompt + total.one_call_away) as f64 / all as f64,
            lost,
        })
    }
}

/// Policies that no other beats in both cost and what was in the prompt, the cheapest first.
pub(super) fn frontier(points: &[Point]) -> Vec<&Point> {
    // A lost session was cheap because it ended.
    let mut finished: Vec<&Point> = points.iter().filter(|point| !point.lost).collect();
    finished.sort_by(|a, b| {
        let cheaper = a.cost.total_cmp(&b.cost);
        cheaper.then(b.in_prompt.total_cmp(&a.in_prompt))
    });
    let mut best = Vec::new();
    for point in finished {
        let beats = |last: &&Point| point.in_prompt > last.in_prompt;
        if best.last().is_none_or(beats) {
            best.push(point);
        }
    }
    best
}

/// Height that the panel takes; none without points.
pub(super) fn height(points: &[Point]) -> f64 {
    if points.is_empty() {
        0.0
    } else {
        ABOVE + PANEL + BELOW
    }
}

/// A drawing of the panel alone.
pub(super) fn svg(points: &[Point]) -> String {
    // The title stands above.
    let top = 28.0;
    let title = "Cost of a request against what was needed later";
    let mut out = draw::begin(title, top + height(points));
    panel(&mut out, top, points);
    out.push_str("</svg>\n");
    out
}

/// Draws the panel below a height.
pub(super) fn panel(out: &mut String, from: f64, points: &[Point]) {
    if points.is_empty() {
        return;
    }
    let top = from + ABOVE;
    let dearest = points.iter().map(|point| point.cost).fold(0.0, f64::max);
    // A tenth of a cent, at least: an axis of no length has no marks.
    let across = Axis::new(dearest.max(0.001), 6.0);
    let x = |cost: f64| LEFT + (WIDTH - LEFT - RIGHT) * cost / across.end;
    let y = |share: f64| top + PANEL * (1.0 - share);
    let key = "needed later: ● in the prompt   ○ in the prompt or one call away   — frontier   \
               × a session was lost";
    label(out, "small", (LEFT, from + 20.0), key);
    for tenth in 0..=10_u32 {
        let share = f64::from(tenth) / 10.0;
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1}\" y2=\"{0:.1}\"/>",
            y(share),
            WIDTH - RIGHT
        );
        let name = format!("{} %", tenth * 10);
        label(out, "axis end", (LEFT - 8.0, y(share) + 4.0), &name);
    }
    for mark in across.marks() {
        let at = (x(mark), top + PANEL + 16.0);
        label(out, "axis middle", at, &format!("${mark:.3}"));
    }
    let foot = (
        f64::midpoint(LEFT, WIDTH - RIGHT),
        top + PANEL + BELOW - 12.0,
    );
    label(
        out,
        "axis middle",
        foot,
        "cost of a request, everything included",
    );
    let joined: Vec<String> = frontier(points)
        .into_iter()
        .map(|point| format!("{:.1},{:.1}", x(point.cost), y(point.in_prompt)))
        .collect();
    let _ = writeln!(
        out,
        "<polyline class=\"level\" data-shows=\"frontier\" points=\"{}\"/>",
        joined.join(" ")
    );
    for point in points {
        mark(out, point, (&x, &y));
    }
}

type Scale<'a> = &'a dyn Fn(f64) -> f64;

fn mark(out: &mut String, point: &Point, (x, y): (Scale<'_>, Scale<'_>)) {
    let (at, series) = (x(point.cost), series(point.policy));
    let (low, high) = (y(point.in_prompt), y(point.within_reach));
    let told = escaped(&format!(
        "{}: ${:.4} a request, {:.1} % in the prompt, {:.1} % with one call",
        point.policy,
        point.cost,
        point.in_prompt * 100.0,
        point.within_reach * 100.0
    ));
    let _ = writeln!(
        out,
        "<g data-policy=\"{}\"><title>{told}</title>\
         <line class=\"s{series}\" x1=\"{at:.1}\" y1=\"{low:.1}\" x2=\"{at:.1}\" y2=\"{high:.1}\"/>\
         <circle class=\"s{series}\" fill=\"none\" stroke-width=\"2\" cx=\"{at:.1}\" \
         cy=\"{high:.1}\" r=\"6\"/>\
         <circle class=\"m{series}\" cx=\"{at:.1}\" cy=\"{low:.1}\" r=\"5\"/></g>",
        point.policy
    );
    let lost = if point.lost { " ×" } else { "" };
    let name = format!("{}{lost}", point.policy);
    label(out, "small", (at + 9.0, low + 4.0), &name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn point(policy: &'static str, cost: f64, in_prompt: f64, lost: bool) -> Point {
        Point {
            policy,
            cost,
            in_prompt,
            within_reach: 1.0,
            lost,
        }
    }

    #[test]
    fn the_frontier_has_those_that_no_other_beats_in_both() {
        let points = [
            point("classic", 3.0, 0.9, false),
            point("economic", 1.0, 0.7, false),
            point("codex", 2.0, 0.6, false),
            point("none", 0.1, 0.2, true),
            point("qwen", 1.0, 0.5, false),
        ];
        let names: Vec<&str> = frontier(&points).iter().map(|point| point.policy).collect();
        assert_eq!(names, ["economic", "classic"]);
    }

    #[test]
    fn nothing_needed_takes_no_room() {
        let mut out = String::new();
        panel(&mut out, 0.0, &[]);
        assert_eq!((out.as_str(), height(&[])), ("", 0.0));
    }
}
