//! When the notes are due for an update.
//!
//! First when the conversation has reached a certain length. Then whenever it has grown enough
//! *and* either enough tools were called or the last turn made no call: growth alone would write in
//! the middle of a step, and without growth there is nothing new to write.
//!
//! Checked after every round of tool results, so that a long tool loop has notes before it fills
//! the window. Not here: whether notes are switched on, and whether an update is running.

use dormouse_core::show::Grouped;
use dormouse_core::units::Tokens;

/// Progress of the conversation since the last update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Tokens of the conversation now, without the prefix.
    pub tokens_now: Tokens,
    /// Tokens at the last update, or right after a later compaction. `None` if notes were never
    /// written.
    pub tokens_at_last: Option<Tokens>,
    /// Number of tool calls since the last update.
    pub calls_since: u64,
    /// True if the last assistant turn made a tool call, that is, the model is still working.
    pub last_turn_made_calls: bool,
}

/// Thresholds of an update, from the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Tokens at which notes are first written (`notes.start`).
    pub start: Tokens,
    /// Least growth in tokens since the last update (`notes.growth`).
    pub growth: Tokens,
    /// Least number of tool calls since the last update, unless the last turn made none
    /// (`notes.tool_calls`).
    pub calls: u64,
}

/// Answer to whether an update is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotesVerdict {
    /// No update is due.
    No {
        /// Reason with the figures.
        reason: String,
    },
    /// An update is due now.
    Yes {
        /// Reason with the figures.
        reason: String,
    },
}

impl NotesVerdict {
    /// True if an update is due.
    pub(crate) fn is_yes(&self) -> bool {
        matches!(self, Self::Yes { .. })
    }

    /// Reason for either answer.
    pub fn reason(&self) -> &str {
        match self {
            Self::No { reason } | Self::Yes { reason } => reason,
        }
    }

    fn new(yes: bool, reason: String) -> Self {
        if yes {
            Self::Yes { reason }
        } else {
            Self::No { reason }
        }
    }
}

/// Decides whether an update of the notes is due.
pub fn due(progress: &Progress, rule: &Rule) -> NotesVerdict {
    let Some(last) = progress.tokens_at_last else {
        let reached = progress.tokens_now >= rule.start;
        let figures = of(progress.tokens_now.get(), rule.start.get());
        return NotesVerdict::new(reached, format!("never written, at {figures} tokens"));
    };
    // Saturating: a clearing may leave less than there was at the last update.
    let grown = progress.tokens_now - last;
    let growth = format!("grown by {} tokens", of(grown.get(), rule.growth.get()));
    if grown < rule.growth {
        return NotesVerdict::new(false, growth);
    }
    let enough_calls = progress.calls_since >= rule.calls;
    let calls = of(progress.calls_since, rule.calls);
    let reason = if enough_calls {
        format!("{growth}, with {calls} tool calls")
    } else if progress.last_turn_made_calls {
        format!("{growth}, but with {calls} tool calls and the turn not at rest")
    } else {
        format!("{growth}, and the last turn made no tool call")
    };
    NotesVerdict::new(enough_calls || !progress.last_turn_made_calls, reason)
}

fn of(have: u64, need: u64) -> String {
    format!("{} of {}", Grouped(have), Grouped(need))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::LayerSettings;
    use dormouse_core::settings::Settings;
    use pretty_assertions::assert_eq;

    /// Defaults of the settings.
    const RULE: Rule = Rule {
        start: Tokens(10_000),
        growth: Tokens(5_000),
        calls: 3,
    };

    fn check(now: u64, at_last: Option<u64>, calls: u64, made_calls: bool, expected: &str) {
        let progress = Progress {
            tokens_now: Tokens(now),
            tokens_at_last: at_last.map(Tokens),
            calls_since: calls,
            last_turn_made_calls: made_calls,
        };
        let verdict = due(&progress, &RULE);
        let word = if verdict.is_yes() { "yes" } else { "no" };
        assert_eq!(format!("{word}: {}", verdict.reason()), expected);
    }

    #[test]
    fn the_first_notes_wait_for_length_alone() {
        check(
            9_999,
            None,
            50,
            false,
            "no: never written, at 9,999 of 10,000 tokens",
        );
        check(
            10_000,
            None,
            0,
            true,
            "yes: never written, at 10,000 of 10,000 tokens",
        );
    }

    #[test]
    fn growth_always_counts() {
        check(
            13_120,
            Some(10_000),
            50,
            false,
            "no: grown by 3,120 of 5,000 tokens",
        );
        check(
            14_999,
            Some(10_000),
            50,
            true,
            "no: grown by 4,999 of 5,000 tokens",
        );
        check(
            4_000,
            Some(10_000),
            50,
            false,
            "no: grown by 0 of 5,000 tokens",
        );
    }

    #[test]
    fn growth_needs_calls_or_rest() {
        check(
            15_000,
            Some(10_000),
            2,
            true,
            "no: grown by 5,000 of 5,000 tokens, but with 2 of 3 tool calls and the turn not at rest",
        );
        check(
            15_000,
            Some(10_000),
            3,
            true,
            "yes: grown by 5,000 of 5,000 tokens, with 3 of 3 tool calls",
        );
        check(
            15_400,
            Some(10_000),
            0,
            false,
            "yes: grown by 5,400 of 5,000 tokens, and the last turn made no tool call",
        );
    }

    #[test]
    fn a_rule_comes_from_the_settings() {
        let settings = LayerSettings::new(&Settings::default());
        assert_eq!(settings.notes.rule, RULE);
    }
}
