//! What a fork is told that extracts with a model.

use super::span::{Span, SpanKind};

/// The text, with places for what changes.
const TEXT: &str = include_str!("directive.md");

/// What the directive is filled with.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The memory directory, as the tools name it.
    pub directory: &'a str,
    /// The list of memories ([`crate::manifest::render`]).
    pub manifest: &'a str,
    /// Turns of the model at most.
    pub turns: u32,
    /// The number of messages behind the cursor.
    pub messages: usize,
    /// Today, as `2026-11-16`.
    pub today: &'a str,
    /// The memories that recall brought into these messages.
    pub recalled: &'a [&'a str],
    /// A policy of the user's.
    pub guidelines: Option<&'a str>,
}

/// Renders the directive.
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
