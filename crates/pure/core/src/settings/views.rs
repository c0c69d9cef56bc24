//! Typed views of settings for those who use many of them at once.

use super::resolve::Settings;
use super::setting::{Key, Need};
use super::table::keys;
use super::value::{Percent, Value};
use crate::units::Tokens;
use std::time::Duration;

/// Whether a switch has an effect, and if not, which setting prevents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It is on, and so is all it needs.
    On,
    /// It is off.
    Off {
        /// Key of the setting that makes it so: its own, or one it depends on.
        because: &'static str,
    },
}

impl Switch {
    /// It has an effect.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// What the arithmetic of windows and thresholds takes from the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSettings {
    /// Window for models the model table does not know.
    pub configured_window: Option<Tokens>,
    /// Window when nothing tells it.
    pub default_window: Tokens,
    /// Room for an answer.
    pub output_reserve: Tokens,
    /// Distance of automatic compaction from the effective window.
    pub compact_reserve: Tokens,
    /// Distance of the warning from the limit shown.
    pub warning_margin: Tokens,
    /// Distance of the error from the limit shown.
    pub error_margin: Tokens,
    /// Distance of refusal from the effective window.
    pub blocking_reserve: Tokens,
    /// Below this window, reserves and margins shrink.
    pub small_window: Tokens,
    /// Compaction happens by itself.
    pub auto_compact: bool,
    /// Share of the effective window at which it begins, if that is earlier.
    pub compact_percent: Option<Percent>,
}

impl Default for WindowSettings {
    fn default() -> Self {
        Settings::default().window_settings()
    }
}

/// What session notes take from the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotesSettings {
    /// Notes are kept.
    pub kept: Switch,
    /// Notes serve as the summary of a compaction.
    pub compact: Switch,
    /// Length of the conversation at which they are first written.
    pub start: Tokens,
    /// Growth that calls for an update.
    pub growth: Tokens,
    /// Tool calls it also takes, unless the last turn made none.
    pub tool_calls: u64,
    /// Longest section.
    pub section_limit: Tokens,
    /// Longest the notes may be in all.
    pub total_limit: Tokens,
    /// Least of the conversation that stays beside notes used as a summary.
    pub keep_tokens: Tokens,
    /// Least number of messages with text that stays beside them.
    pub keep_messages: u64,
    /// Most of the conversation that stays beside them.
    pub keep_limit: Tokens,
    /// How long a compaction waits for an update under way.
    pub wait: Duration,
}

impl Default for NotesSettings {
    fn default() -> Self {
        Settings::default().notes_settings()
    }
}

/// What the economic policy takes from the settings; shares are parts of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EconomySettings {
    /// Part of the best size from which a compaction is taken at the end of a turn.
    pub turn_end: f64,
    /// Part of the best size from which it is taken between two rounds of tool calls.
    pub between_rounds: f64,
    /// Part of the room above the base by which the best size must differ to move the one in use.
    pub hysteresis: f64,
    /// How much dearer an early or late compaction may make the room above the base.
    pub tolerance: f64,
    /// Part of the requests expected within which a compaction has to pay for itself.
    pub payback: f64,
    /// Part of the best size below which no notes are written.
    pub notes_from: f64,
    /// Part of the best size that the kept tail and restored files may take.
    pub keep: f64,
}

impl Default for EconomySettings {
    fn default() -> Self {
        Settings::default().economy_settings()
    }
}

impl Settings {
    /// Whether a switch has an effect: it is on, and what it needs is as it should be.
    pub fn switch(&self, key: Key<bool>) -> Switch {
        self.switch_named(key.name())
    }

    /// The same by name, for those who show all of them. What is no switch is off.
    pub fn switch_named(&self, key: &'static str) -> Switch {
        let Some(entry) = self.entry(key) else {
            return Switch::Off { because: key };
        };
        if entry.value != Some(Value::Flag(true)) {
            return Switch::Off { because: key };
        }
        for need in entry.setting.needs {
            match need {
                Need::On(other) => match self.switch_named(other) {
                    Switch::On => {}
                    off @ Switch::Off { .. } => return off,
                },
                Need::Off(other) if self.switch_named(other).is_on() => {
                    return Switch::Off { because: other };
                }
                Need::Off(_) => {}
            }
        }
        Switch::On
    }

    /// What the arithmetic of windows and thresholds needs.
    pub fn window_settings(&self) -> WindowSettings {
        WindowSettings {
            configured_window: self.get(keys::CONTEXT_WINDOW),
            default_window: self.get(keys::CONTEXT_DEFAULT_WINDOW),
            output_reserve: self.get(keys::CONTEXT_OUTPUT_RESERVE),
            compact_reserve: self.get(keys::CONTEXT_COMPACT_RESERVE),
            warning_margin: self.get(keys::CONTEXT_WARNING_MARGIN),
            error_margin: self.get(keys::CONTEXT_ERROR_MARGIN),
            blocking_reserve: self.get(keys::CONTEXT_BLOCKING_RESERVE),
            small_window: self.get(keys::CONTEXT_SMALL_WINDOW),
            auto_compact: self.switch(keys::COMPACT_AUTO).is_on(),
            compact_percent: self.get(keys::COMPACT_PERCENT),
        }
    }

    /// What session notes need.
    pub fn notes_settings(&self) -> NotesSettings {
        NotesSettings {
            kept: self.switch(keys::NOTES),
            compact: self.switch(keys::NOTES_COMPACT),
            start: self.get(keys::NOTES_START),
            growth: self.get(keys::NOTES_GROWTH),
            tool_calls: self.get(keys::NOTES_TOOL_CALLS),
            section_limit: self.get(keys::NOTES_SECTION_LIMIT),
            total_limit: self.get(keys::NOTES_TOTAL_LIMIT),
            keep_tokens: self.get(keys::NOTES_KEEP_TOKENS),
            keep_messages: self.get(keys::NOTES_KEEP_MESSAGES),
            keep_limit: self.get(keys::NOTES_KEEP_LIMIT),
            wait: self.get(keys::NOTES_WAIT),
        }
    }

    /// What the economic policy needs.
    pub fn economy_settings(&self) -> EconomySettings {
        let share = |key| {
            let percent: Percent = self.get(key);
            percent.as_f64() / 100.0
        };
        let between = u32::try_from(self.get(keys::ECONOMIC_BETWEEN_ROUNDS)).unwrap_or(u32::MAX);
        EconomySettings {
            turn_end: share(keys::ECONOMIC_TURN_END),
            between_rounds: f64::from(between) / 100.0,
            hysteresis: share(keys::ECONOMIC_HYSTERESIS),
            tolerance: share(keys::ECONOMIC_TOLERANCE),
            payback: share(keys::ECONOMIC_PAYBACK),
            notes_from: share(keys::ECONOMIC_NOTES_FROM),
            keep: share(keys::ECONOMIC_KEEP),
        }
    }

    /// Largest result of this tool, in characters, that stays whole: what is set for it by name,
    /// else the lesser of what the tool declares and the general limit.
    pub fn offload_limit(&self, tool: &str, declared: Option<u64>) -> u64 {
        let key = format!("offload.limit.{tool}");
        let named = self.entry(&key).and_then(|entry| entry.value.as_ref());
        if let Some(Value::Count(limit)) = named {
            return *limit;
        }
        let general = self.get(keys::OFFLOAD_DEFAULT_LIMIT);
        declared.map_or(general, |declared| declared.min(general))
    }
}
