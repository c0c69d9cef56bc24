//! Typed views of settings, for code that uses many of them at once.

use super::resolve::Settings;
use super::setting::{Key, Need};
use super::table::keys;
use super::value::{Percent, Value};
use crate::units::Tokens;

/// Effect of a switch: on, or off with the setting that prevents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It is on, and so is all it needs.
    On,
    /// It is off, or has no effect.
    Off {
        /// Key of the setting that makes it so: its own, or one it depends on.
        because: &'static str,
    },
}

impl Switch {
    /// True if the switch has an effect.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// Settings that the arithmetic of windows and thresholds uses, all in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSettings {
    /// Window that the user set; it comes before every other rule.
    pub configured_window: Option<Tokens>,
    /// Window of a model when no rule tells it.
    pub default_window: Tokens,
    /// Room for an answer, at the end of the window.
    pub output_reserve: Tokens,
    /// Distance of automatic compaction from the effective window.
    pub compact_reserve: Tokens,
    /// Distance of the warning from the limit shown.
    pub warning_margin: Tokens,
    /// Distance of the error from the limit shown.
    pub error_margin: Tokens,
    /// True if compaction happens by itself.
    pub auto_compact: bool,
    /// Share of the effective window at which it begins, if that is earlier.
    pub compact_percent: Option<Percent>,
}

impl Default for WindowSettings {
    fn default() -> Self {
        Settings::default().window_settings()
    }
}

impl Settings {
    /// Effect of a switch: on only if all that it needs is as it should be.
    pub fn switch(&self, key: Key<bool>) -> Switch {
        self.switch_named(key.name())
    }

    /// The same by name, for lists of all switches. A key that is no switch is off.
    pub fn switch_named(&self, key: &'static str) -> Switch {
        let Some(entry) = self.entry(key) else {
            return Switch::Off { because: key };
        };
        if entry.value != Some(Value::Flag(true)) {
            return Switch::Off { because: key };
        }
        // Needs of needs are followed: `notes` depends on `compact` by way of `compact.auto`.
        for need in entry.setting.needs {
            match need {
                Need::On(other) => match self.switch_named(other) {
                    Switch::On => {}
                    // The deepest reason is returned: it is the setting that the user has to
                    // change.
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

    /// The settings for windows and thresholds, in one value.
    pub fn window_settings(&self) -> WindowSettings {
        WindowSettings {
            configured_window: self.get(keys::CONTEXT_WINDOW),
            default_window: self.get(keys::CONTEXT_DEFAULT_WINDOW),
            output_reserve: self.get(keys::CONTEXT_OUTPUT_RESERVE),
            compact_reserve: self.get(keys::CONTEXT_COMPACT_RESERVE),
            warning_margin: self.get(keys::CONTEXT_WARNING_MARGIN),
            error_margin: self.get(keys::CONTEXT_ERROR_MARGIN),
            auto_compact: self.switch(keys::COMPACT_AUTO).is_on(),
            compact_percent: self.get(keys::COMPACT_PERCENT),
        }
    }

    /// Largest result of this tool, in characters, that stays whole: the limit set for its name,
    /// else the lesser of the tool's own and the general limit.
    pub fn offload_limit(&self, tool: &str, declared: Option<u64>) -> u64 {
        let key = keys::OFFLOAD_LIMIT_TOOL
            .name()
            .replace(".<tool>", &format!(".{tool}"));
        let named = self.entry(&key).and_then(|entry| entry.value.as_ref());
        if let Some(Value::Count(limit)) = named {
            return *limit;
        }
        let general = self.get(keys::OFFLOAD_DEFAULT_LIMIT);
        declared.map_or(general, |declared| declared.min(general))
    }
}
