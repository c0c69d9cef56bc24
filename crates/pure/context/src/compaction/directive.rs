//! The directive that asks a model for a summary.

use std::fmt::Write as _;

/// Prompt text, to which the scope and any instructions are appended.
const DIRECTIVE: &str = include_str!("directive.md");

/// Most bytes of instructions from the user, instruction files and hooks, about 2,000 tokens.
/// Without a limit a hook's output could make the request for the summary too long.
const MOST_INSTRUCTIONS: usize = 8_000;

/// Sections that a summary must have, in order. The one with the user's messages is not asked for:
/// the engine writes it from the log.
pub const REQUIRED_SECTIONS: [&str; 7] = [
    "Primary request and intent",
    "Key technical concepts",
    "Files and code",
    "Errors and fixes",
    "Problem solving",
    "Pending tasks",
    "Current work",
];

/// Part of the conversation that a summary covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole conversation, without exceptions.
    Whole,
    /// Everything behind a message that stays.
    FromHere {
        /// Beginning of that message. The model sees no record numbers, so the directive quotes it.
        begins: String,
    },
    /// Everything before a message that stays.
    UpToHere {
        /// Beginning of that message; see [`Part::FromHere`].
        begins: String,
    },
}

/// Text of the directive. `instructions` come from the user, instruction files and hooks.
pub fn directive(part: &Part, instructions: &[String]) -> String {
    let mut text = DIRECTIVE.trim_end().to_owned();
    // Writing to a string does not fail.
    let _ = match part {
        Part::Whole => Ok(()),
        Part::FromHere { begins } => write!(
            text,
            "\n\nOnly what follows the message that begins with `{begins}` is shortened. That \
             message and what comes before it stay in view word for word: refer to them, do not \
             repeat them."
        ),
        Part::UpToHere { begins } => write!(
            text,
            "\n\nOnly what comes before the message that begins with `{begins}` is shortened. That \
             message and all that follows stay in view word for word: do not repeat them."
        ),
    };
    let mut left = MOST_INSTRUCTIONS;
    let wishes = instructions
        .iter()
        .map(|text| text.trim())
        .filter(|text| !text.is_empty());
    for (at, wish) in wishes.enumerate() {
        if at == 0 {
            text.push_str("\n\nWishes for this summary:");
        }
        // The limit is shared, so a long instruction leaves less for those behind it.
        let wish = &wish[..wish.floor_char_boundary(left)];
        left -= wish.len();
        // Indented, so that further lines stay in the same list item.
        let _ = write!(text, "\n- {}", wish.replace('\n', "\n  "));
    }
    text
}

/// Body of the "Compact instructions" section of an instruction file, up to the next heading of the
/// same or a higher level.
pub fn compact_instructions(markdown: &str) -> Option<String> {
    let level = |line: &str| line.chars().take_while(|c| *c == '#').count();
    let mut lines = markdown.lines();
    let heading = lines.find(|line| {
        level(line) > 0
            && line
                .trim_start_matches('#')
                .trim()
                .eq_ignore_ascii_case("compact instructions")
    })?;
    let depth = level(heading);
    let body: Vec<&str> = lines
        // Deeper headings belong to the section; one of the same level ends it.
        .take_while(|line| level(line) == 0 || level(line) > depth)
        .collect();
    let body = body.join("\n");
    let body = body.trim();
    (!body.is_empty()).then(|| body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_required_section_is_asked_for() {
        let text = directive(&Part::Whole, &[]);
        for section in REQUIRED_SECTIONS {
            assert!(text.contains(&format!(". {section}:")), "{section}");
        }
        assert!(text.contains("`<analysis>`") && text.contains("`<summary>`"));
    }

    #[test]
    fn wishes_are_listed_and_bounded() {
        let text = directive(
            &Part::UpToHere {
                begins: "Now the ports".to_owned(),
            },
            &[
                "keep the table\nof ports".to_owned(),
                " ".to_owned(),
                "x".repeat(20_000),
            ],
        );
        assert!(text.contains("before the message that begins with `Now the ports`"));
        assert!(text.contains("\n- keep the table\n  of ports\n- xxx"));
        assert!(text.len() < DIRECTIVE.len() + MOST_INSTRUCTIONS + 400);
    }

    #[test]
    fn the_section_of_an_instruction_file_is_found() {
        let file = "# Project\ntext\n\n## Compact instructions\nKeep ports.\n### More\nAnd names.\n## Other\nno";
        assert_eq!(
            compact_instructions(file).as_deref(),
            Some("Keep ports.\n### More\nAnd names.")
        );
        assert_eq!(
            compact_instructions("# Compact instructions\n\n# Next"),
            None
        );
        assert_eq!(compact_instructions("Compact instructions: none"), None);
    }
}
