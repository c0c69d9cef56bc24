//! Pictures of the screen as SVG: text that can be read, found and scaled.

use crate::line::{Line, Role};
use crate::record::Shot;
use crate::text::width;
use std::fmt::Write as _;

/// Size of a character's cell, and of the margin around all of them, in pixels.
const CELL: (usize, usize) = (9, 19);
const MARGIN: usize = 14;
/// Height of the bar with the title.
const BAR: usize = 26;
/// Offset from the top of a row to the line that letters stand on.
const BASELINE: usize = 14;

/// Picture of one screen, with a title in its bar.
pub fn still(shot: &Shot, title: &str) -> String {
    let mut out = head(shot, title);
    rows(shot, &mut out);
    out.push_str("</svg>\n");
    out
}

/// Pictures one after the other, each for a time in milliseconds, again and again.
pub fn moving(shots: &[(Shot, u64)], title: &str) -> String {
    let Some((first, _)) = shots.first() else {
        return String::new();
    };
    let total: u64 = shots.iter().map(|(_, time)| *time).sum::<u64>().max(1);
    let mut out = head(first, title);
    out.push_str("<style>.f{visibility:hidden;animation-duration:");
    // Writing to a string cannot fail.
    let _infallible = write!(
        out,
        "{total}ms;animation-iteration-count:infinite;animation-timing-function:step-end}}"
    );
    let mut from = 0;
    for (nth, (_, time)) in shots.iter().enumerate() {
        let (begin, end) = (percent(from, total), percent(from + time, total));
        let _infallible = write!(out, "@keyframes k{nth}{{");
        if from > 0 {
            out.push_str("0%{visibility:hidden}");
        }
        let _infallible = write!(out, "{begin}%{{visibility:visible}}");
        if nth + 1 < shots.len() {
            let _infallible = write!(out, "{end}%{{visibility:hidden}}100%{{visibility:hidden}}");
        } else {
            out.push_str("100%{visibility:visible}");
        }
        let _infallible = write!(out, "}}#f{nth}{{animation-name:k{nth}}}");
        from += time;
    }
    out.push_str("</style>\n");
    for (nth, (shot, _)) in shots.iter().enumerate() {
        let _infallible = writeln!(out, "<g class=\"f\" id=\"f{nth}\">");
        rows(shot, &mut out);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// A part of the whole in percent, with three places.
fn percent(part: u64, whole: u64) -> String {
    let thousandths = part.saturating_mul(100_000) / whole.max(1);
    format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000)
}

fn head(shot: &Shot, title: &str) -> String {
    let across = shot.columns * CELL.0 + 2 * MARGIN;
    let down = shot.rows.len() * CELL.1 + 2 * MARGIN + BAR;
    let mut out = String::new();
    let title = escaped(title);
    let _infallible = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xml:space=\"preserve\" viewBox=\"0 0 {across} {down}\" width=\"{across}\" \
         height=\"{down}\" role=\"img\" aria-label=\"{title}\">\n\
         <style>text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;\
         fill:#d7dae0;white-space:pre}}.s{{font-weight:bold}}.e{{font-style:italic}}.d{{fill:#8b93a1}}\
         .a{{fill:#5cc8d7;font-weight:bold}}.h{{fill:#cf8fe8;font-weight:bold}}.c{{fill:#5cc8d7}}\
         .g{{fill:#7fc77a}}.b{{fill:#ef7a80}}.w{{fill:#e3bd5a}}.k{{fill:#cf8fe8}}</style>\n\
         <rect width=\"{across}\" height=\"{down}\" rx=\"8\" fill=\"#16191f\"/>\n\
         <text x=\"{}\" y=\"18\" class=\"d\" text-anchor=\"middle\">{title}</text>\n",
        across / 2
    );
    out
}

fn rows(shot: &Shot, out: &mut String) {
    for (nth, line) in shot.rows.iter().enumerate() {
        row(line, MARGIN + BAR + nth * CELL.1, out);
    }
    if let Some((row, column)) = shot.cursor {
        let (x, y) = (MARGIN + column * CELL.0, MARGIN + BAR + row * CELL.1);
        let _infallible = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"#d7dae0\" opacity=\"0.5\"/>",
            CELL.0, CELL.1
        );
    }
}

fn row(line: &Line, top: usize, out: &mut String) {
    let mut column = 0;
    for span in &line.spans {
        let taken = width(&span.text);
        let blank = span.text.len() - span.text.trim_start().len();
        let text = span.text.trim();
        if !text.is_empty() {
            // Each piece says how wide it is: fonts differ, columns do not.
            let x = MARGIN + (column + blank) * CELL.0;
            let length = width(text) * CELL.0;
            let class = class(span.role);
            let class = if class.is_empty() {
                String::new()
            } else {
                format!(" class=\"{class}\"")
            };
            let _infallible = writeln!(
                out,
                "<text x=\"{x}\" y=\"{}\" textLength=\"{length}\"{class}>{}</text>",
                top + BASELINE,
                escaped(text)
            );
        }
        column += taken;
    }
}

const fn class(role: Role) -> &'static str {
    match role {
        Role::Plain => "",
        Role::Strong => "s",
        Role::Emphasis => "e",
        Role::Dim | Role::Comment => "d",
        Role::Accent | Role::Chosen => "a",
        Role::Heading => "h",
        Role::Code | Role::Type | Role::Function => "c",
        Role::Good | Role::Text => "g",
        Role::Bad => "b",
        Role::Warning | Role::Constant => "w",
        Role::Keyword => "k",
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shot(text: &str) -> Shot {
        Shot {
            name: "one".to_owned(),
            rows: vec![Line::of("  a<b ", Role::Bad).with(text, Role::Plain)],
            columns: 20,
            cursor: Some((0, 3)),
        }
    }

    #[test]
    fn pieces_stand_in_their_columns_and_text_is_escaped() {
        let svg = still(&shot("日本 & more"), "demo");
        // Two blanks before the piece, three columns wide.
        assert!(
            svg.contains("x=\"32\" y=\"54\" textLength=\"27\" class=\"b\">a&lt;b</text>"),
            "{svg}"
        );
        // Wide characters take two columns each.
        assert!(
            svg.contains("x=\"68\" y=\"54\" textLength=\"99\">日本 &amp; more</text>"),
            "{svg}"
        );
        assert_eq!(svg.matches("<svg").count(), 1);
    }

    #[test]
    fn a_recording_shows_each_picture_in_its_time() {
        let svg = moving(&[(shot("x"), 1_000), (shot("y"), 3_000)], "demo");
        assert!(
            svg.contains("@keyframes k0{0.000%{visibility:visible}25.000%{visibility:hidden}"),
            "{svg}"
        );
        assert!(
            svg.contains("@keyframes k1{0%{visibility:hidden}25.000%{visibility:visible}100%"),
            "{svg}"
        );
        assert_eq!(moving(&[], "none"), "");
    }
}
