//! Drawings as SVG: axes, colours, labels, and the plot of cost against what was needed.
//!
//! # Model
//! Every policy has a colour and a dash pattern, the same in every drawing, so that lines can be
//! told apart without colour and drawings can be laid side by side. Colours are those of a style
//! sheet inside the file, with a second set for dark backgrounds.
//!
//! # Not here
//! The drawings themselves: `frontier` and `replay --plot`.

use dormouse_core::units::Tokens;
use dormouse_replay::policies;
use std::fmt::Write as _;

/// Width of the drawing, in pixels at its own size: about that of a page of text on the web.
pub(super) const WIDTH: f64 = 960.0;
/// Left margin: room for the longest name of a mark on the vertical axis.
pub(super) const LEFT: f64 = 72.0;
/// Right margin: half a number of the horizontal axis stands out over the last request.
pub(super) const RIGHT: f64 = 24.0;

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
pub(super) fn series(policy: &str) -> usize {
    let at = policies::NAMES.iter().position(|name| *name == policy);
    at.unwrap_or(0) % SERIES.len()
}

/// Begins a drawing: its size, style, title and background.
pub(super) fn begin(title: &str, height: f64) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" font-size=\"12\" \
         font-family=\"system-ui, -apple-system, 'Segoe UI', sans-serif\">"
    );
    style(&mut out);
    let _ = writeln!(out, "<title>{}</title>", escaped(title));
    let _ = writeln!(
        out,
        "<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>"
    );
    label(&mut out, "title", (LEFT, 26.0), title);
    out
}

/// An axis from zero to a round number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) step: f64,
    pub(super) end: f64,
}

impl Axis {
    /// About `ticks` steps of 1, 2 or 5 times a power of ten, reaching at least `most`.
    pub(super) fn new(most: f64, ticks: f64) -> Self {
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

    pub(super) fn marks(self) -> impl Iterator<Item = f64> {
        (0_u32..)
            .map(move |at| f64::from(at) * self.step)
            .take_while(move |mark| *mark <= self.end + self.step / 2.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "coordinates of a drawing")]
pub(super) const fn float(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a mark of an axis is a small positive number"
)]
pub(super) const fn whole(value: f64) -> Tokens {
    Tokens(value.round() as u64)
}

fn style(out: &mut String) {
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

pub(super) fn label(out: &mut String, class: &str, (x, y): (f64, f64), text: &str) {
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        escaped(text)
    );
}

pub(super) fn escaped(text: &str) -> String {
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
}
