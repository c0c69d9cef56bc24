//! Directive for the fork that extracts with a model.

use super::span::{Span, SpanKind};

/// Text with places (`{{…}}`) for the facts.
const TEXT: &str = include_str!("directive.md");

/// Facts that the directive is filled with.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Memory directory, as the tools name it.
    pub directory: &'a str,
    /// List of memories ([`crate::manifest::render`]).
    pub manifest: &'a str,
    /// Most turns of the model (`extract.turns`).
    pub turns: u32,
    /// Number of messages behind the cursor; the fork is told to look at no others.
    pub messages: usize,
    /// Day of the extraction, as `2026-11-16`; relative dates are resolved with it.
    pub today: &'a str,
    /// Names of the memories that recall brought into these messages; saving them again is an echo.
    pub recalled: &'a [&'a str],
    /// Policy of the user (`memory.extra_guidelines`).
    pub guidelines: Option<&'a str>,
}

/// Fills the places of the directive.
pub fn render(facts: &Facts<'_>) -> String {
    let manifest = match facts.manifest.trim() {
        "" => "(none yet)",
        manifest => manifest,
    };
    let recalled = if facts.recalled.is_empty() {
        "(none)".to_owned()
    } else {
        let lines: Vec<String> = facts
            .recalled
            .iter()
            .map(|name| format!("- {name}"))
            .collect();
        lines.join("\n")
    };
    let guidelines = facts
        .guidelines
        .map(|text| format!("\n## Also\n\n{}\n", text.trim()));
    let filled = [
        ("{{messages}}", facts.messages.to_string()),
        ("{{turns}}", facts.turns.to_string()),
        ("{{today}}", facts.today.to_owned()),
        ("{{directory}}", facts.directory.to_owned()),
        ("{{guidelines}}", guidelines.unwrap_or_default()),
        ("{{recalled}}", recalled),
        // Last: descriptions of memories may look like a place.
        ("{{manifest}}", manifest.to_owned()),
    ];
    let mut text = TEXT.to_owned();
    // Once each: a text that was filled in may itself contain a place.
    for (place, value) in filled {
        text = text.replacen(place, &value, 1);
    }
    text
}

/// Names of the memories that were recalled in these spans, as their markers give them.
pub fn recalled_names(spans: &[Span]) -> Vec<String> {
    let fragments = spans.iter().filter(|span| span.kind == SpanKind::Fragment);
    let mut names: Vec<String> = fragments
        .flat_map(|span| span.text.lines())
        .filter_map(|line| line.trim().strip_prefix("Memory (saved "))
        .filter_map(|rest| rest.split_once("): "))
        .map(|(_, name)| name.trim_end_matches(':').to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// The prompt as a model gets it. Written anew with `DIRECTIVE` changes in mind: look at the
    /// difference before accepting it.
    #[test]
    fn the_rendered_directive_is_the_one_on_file() {
        let text = render(&Facts {
            directory: "/home/me/memory",
            manifest: "- [feedback] feedback_tests.md (2026-03-30T12:00:00Z): {{turns}} how to test\n",
            turns: 5,
            messages: 12,
            today: "2026-11-16",
            recalled: &["feedback_tests.md"],
            guidelines: Some("Write in British English."),
        });
        assert_eq!(text, include_str!("directive_rendered.txt"));
    }

    #[test]
    fn an_empty_directory_has_an_empty_list() {
        let text = render(&Facts {
            directory: "m",
            manifest: "",
            turns: 5,
            messages: 1,
            today: "2026-11-16",
            recalled: &[],
            guidelines: None,
        });
        assert!(text.contains("(none yet)") && text.contains("(none)"));
        assert!(!text.contains("{{"));
    }
}
