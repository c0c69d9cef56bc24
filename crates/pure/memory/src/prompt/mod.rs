//! Section of the system prompt on memory.
//!
//! # Model
//! One section, put together from texts in `.md` files, rendered once and kept until the prefix is
//! made anew. Nothing in it may change within a session (no date, no count, no content of memory),
//! because every change would throw the cached prefix away.
//!
//! # Not here
//! The index itself, which is given with the instruction files ([`crate::instructions`]).

use crate::daily::PATTERN;
use crate::index::Limits;

const SECTION: &str = include_str!("memory.md");
const SAVING: &str = include_str!("saving.md");
const DAILY_LOG: &str = include_str!("daily_log.md");
const TEAM: &str = include_str!("team.md");
const SEARCHING: &str = include_str!("searching.md");

/// Way in which the agent saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Topic files and index, while it works.
    Live,
    /// Entries of a daily log; a dream distils them later.
    DailyLog,
}

/// Facts that the section names.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Memory directory, as the agent's tools name it.
    pub directory: &'a str,
    /// Shared directory, if the project has one.
    pub team: Option<&'a str>,
    /// Way in which the agent saves.
    pub mode: Mode,
    /// Limits of the index, so that the agent keeps it short enough.
    pub index: Limits,
    /// Further policy of the user or the administrator (`memory.extra_guidelines`).
    pub extra_guidelines: Option<&'a str>,
}

/// Text of the section.
pub fn render(section: &Section<'_>) -> String {
    let saving = match section.mode {
        Mode::Live => SAVING,
        Mode::DailyLog => DAILY_LOG,
    };
    let mut saving = format!("{saving}\n");
    if section.team.is_some() {
        saving.push_str(TEAM);
    }
    let mut text = SECTION
        // The parts first: they have places of their own to be filled.
        .replace("{{saving}}\n", &saving)
        .replace("{{searching}}\n", SEARCHING)
        .replace("{{directory}}", section.directory)
        .replace("{{team}}", section.team.unwrap_or_default())
        .replace("{{pattern}}", PATTERN)
        .replace("{{lines}}", &section.index.lines.to_string())
        .replace("{{bytes}}", &section.index.bytes.to_string());
    let extra = section.extra_guidelines.map(str::trim);
    // A heading without rules below it would only puzzle the model.
    if let Some(extra) = extra.filter(|extra| !extra.is_empty()) {
        text.push_str("\n## Further rules\n\n");
        text.push_str(extra);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const LIMITS: Limits = Limits {
        lines: 200,
        bytes: 25_000,
    };

    fn section() -> Section<'static> {
        Section {
            directory: "~/memory",
            team: None,
            mode: Mode::Live,
            index: LIMITS,
            extra_guidelines: None,
        }
    }

    /// Most words that a prompt should spend on memory: about two thousand tokens.
    const MOST_WORDS: usize = 1_500;

    #[test]
    fn the_section_as_it_is_sent() {
        let live = render(&section());
        assert_eq!(live, include_str!("snapshots/live.md"));
        let all = render(&Section {
            team: Some("/repo/.dormouse/team-memory"),
            mode: Mode::DailyLog,
            extra_guidelines: Some(" Write in German.\n"),
            ..section()
        });
        assert_eq!(all, include_str!("snapshots/daily_log_team_extra.md"));
        for text in [&live, &all] {
            assert!(!text.contains("{{"), "{text}");
            assert!(text.split_whitespace().count() <= MOST_WORDS);
        }
    }

    #[test]
    fn the_log_is_named_by_its_pattern_and_never_by_a_day() {
        let log = render(&Section {
            mode: Mode::DailyLog,
            ..section()
        });
        assert!(log.contains("`~/memory/logs/YYYY/MM/YYYY-MM-DD.md`"));
        assert!(!log.contains("Two steps"));
        assert!(!log.contains("/202"));
    }

    #[test]
    fn shared_memory_is_named_only_where_there_is_one() {
        assert!(!render(&section()).contains("shared"));
        let blank = Section {
            extra_guidelines: Some("  "),
            ..section()
        };
        assert_eq!(render(&blank), render(&section()));
    }
}
