//! `eval fidelity --used --plot`: cost against what was needed, as an SVG.
//!
//! # Model
//! Each policy has two marks above its price of a request: a filled one at the share of values that
//! stood in the prompt when they were needed, a hollow one at the share that stood there or was one
//! call away. Cheap and faithful is the upper left corner. Colours are those of `replay --plot`.
//!
//! # Not here
//! Measuring: `used`. Curves over a session: `replay --plot`.

use super::used::PolicyNeeds;
use crate::commands::replay::plot::{Axis, LEFT, RIGHT, WIDTH, escaped, label, series, style};
use std::fmt::Write as _;

/// Top of the panel, in pixels: a title and a line of explanation stand above.
const TOP: f64 = 72.0;
/// Height of the panel, in pixels: with the axis below, a page on a laptop's screen.
const PANEL: f64 = 420.0;
/// Room below the panel, in pixels: numbers and the name of the axis.
const BELOW: f64 = 56.0;

/// Draws the policies.
pub(super) fn svg(policies: &[PolicyNeeds]) -> String {
    let height = TOP + PANEL + BELOW;
    let dearest = policies
        .iter()
        .map(PolicyNeeds::per_request)
        .fold(0.0, f64::max);
    // A tenth of a cent, at least: an axis of no length has no marks.
    let across = Axis::new(dearest.max(0.001), 6.0);
    let x = |cost: f64| LEFT + (WIDTH - LEFT - RIGHT) * cost / across.end;
    let y = |share: f64| TOP + PANEL * (1.0 - share);
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" font-size=\"12\" \
         font-family=\"system-ui, -apple-system, 'Segoe UI', sans-serif\">"
    );
    style(&mut out);
    let title = "Cost of a request against what was needed later";
    let _ = writeln!(out, "<title>{title}</title>");
    let _ = writeln!(
        out,
        "<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>"
    );
    label(&mut out, "title", (LEFT, 26.0), title);
    let key = "● in the prompt   ○ in the prompt or one call away   × a session was lost";
    label(&mut out, "small", (LEFT, 48.0), key);
    for tenth in 0..=10_u32 {
        let share = f64::from(tenth) / 10.0;
        let _ = writeln!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{0:.1}\" x2=\"{1}\" y2=\"{0:.1}\"/>",
            y(share),
            WIDTH - RIGHT
        );
        let name = format!("{} %", tenth * 10);
        label(&mut out, "axis end", (LEFT - 8.0, y(share) + 4.0), &name);
    }
    for mark in across.marks() {
        let at = (x(mark), TOP + PANEL + 16.0);
        label(&mut out, "axis middle", at, &format!("${mark:.3}"));
    }
    let foot = (f64::midpoint(LEFT, WIDTH - RIGHT), height - 12.0);
    label(
        &mut out,
        "axis middle",
        foot,
        "cost of a request, everything included",
    );
    for policy in policies {
        // Nothing was needed: there is no share to draw.
        if policy.total.all() == 0 {
            continue;
        }
        mark(&mut out, policy, (&x, &y));
    }
    out.push_str("</svg>\n");
    out
}

type Scale<'a> = &'a dyn Fn(f64) -> f64;

fn mark(out: &mut String, policy: &PolicyNeeds, (x, y): (Scale<'_>, Scale<'_>)) {
    let total = policy.total;
    let [inside, found] = [total.in_prompt, total.in_prompt + total.one_call_away]
        .map(|part| share(part, total.all()));
    let (at, series) = (x(policy.per_request()), series(policy.name));
    let (low, high) = (y(inside), y(found));
    let lost = !policy.ended_early.is_empty();
    let told = escaped(&format!(
        "{}: ${:.4} a request, {:.1} % in the prompt, {:.1} % with one call",
        policy.name,
        policy.per_request(),
        inside * 100.0,
        found * 100.0
    ));
    let _ = writeln!(
        out,
        "<g data-policy=\"{}\"><title>{told}</title>\
         <line class=\"s{series}\" x1=\"{at:.1}\" y1=\"{low:.1}\" x2=\"{at:.1}\" y2=\"{high:.1}\"/>\
         <circle class=\"s{series}\" fill=\"none\" stroke-width=\"2\" cx=\"{at:.1}\" \
         cy=\"{high:.1}\" r=\"6\"/>\
         <circle class=\"m{series}\" cx=\"{at:.1}\" cy=\"{low:.1}\" r=\"5\"/></g>",
        policy.name
    );
    let name = if lost {
        format!("{} ×", policy.name)
    } else {
        policy.name.to_owned()
    };
    label(out, "small", (at + 9.0, low + 4.0), &name);
}

#[expect(clippy::cast_precision_loss, reason = "a share for a drawing")]
fn share(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}
