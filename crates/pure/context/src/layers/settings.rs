//! Settings of the layers, read once per change.

use crate::clear::{ClearSettings, server::ServerSettings};
use crate::compaction::CompactSettings;
use crate::distil::DistilSettings;
use crate::notes;
use dormouse_core::settings::{Settings, Switch, WindowSettings, keys};
use dormouse_core::units::Tokens;

/// Settings and switches of all layers.
#[derive(Clone, Debug)]
pub struct LayerSettings {
    /// True if long results are offloaded to files (`offload`).
    pub offload: bool,
    /// Layer 1, second form: distilling of answered results.
    pub distil: DistilSettings,
    /// Layer 2, local clearing.
    pub clear: ClearSettings,
    /// Layer 2, clearing by the provider.
    pub server: ServerSettings,
    /// Layer 3, session notes.
    pub notes: NotesSettings,
    /// Layer 4, compaction with its restoration.
    pub compact: CompactSettings,
    /// True if compaction of any kind is allowed, manual ones included (`compact`).
    pub compaction: bool,
    /// Reserves and margins of the window (`context.*`).
    pub window: WindowSettings,
}

/// Settings and switches of the session notes (`notes.*`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotesSettings {
    /// Setting that switches them off, for the reason shown; `None` if they are on.
    pub off: Option<&'static str>,
    /// True if they may serve as the summary of a compaction.
    pub compact: bool,
    /// Thresholds for writing them.
    pub rule: notes::Rule,
    /// Lengths of a section and of the whole document.
    pub limits: notes::Limits,
}

impl LayerSettings {
    /// Reads the values from the settings table.
    pub fn new(settings: &Settings) -> Self {
        // The name of the setting is kept, so that the reason can tell which one to change.
        let off = match settings.switch(keys::NOTES) {
            Switch::On => None,
            Switch::Off { because } => Some(because),
        };
        let compact = CompactSettings::new(settings);
        Self {
            offload: settings.switch(keys::OFFLOAD).is_on(),
            distil: DistilSettings::new(settings),
            clear: ClearSettings::new(settings),
            server: ServerSettings::new(settings),
            notes: NotesSettings {
                off,
                compact: settings.switch(keys::NOTES_COMPACT).is_on(),
                rule: notes::Rule {
                    start: settings.get(keys::NOTES_START),
                    growth: settings.get(keys::NOTES_GROWTH),
                    calls: settings.get(keys::NOTES_TOOL_CALLS),
                },
                limits: compact.notes,
            },
            compact,
            compaction: settings.switch(keys::COMPACT).is_on(),
            window: settings.window_settings(),
        }
    }

    /// The same settings for so much room between the static prefix and the target: limits of notes
    /// and of what stays beside a summary shrink with it.
    #[must_use]
    pub fn within(mut self, room: Tokens) -> Self {
        self.compact = self.compact.within(room);
        self.notes.limits = self.compact.notes;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compaction::cut::NotesTail;
    use dormouse_core::settings::{Trust, flags_layer, resolve};
    use pretty_assertions::assert_eq;

    #[test]
    fn the_figures_of_the_notes_come_each_from_its_key() {
        let (flags, issues) = flags_layer([
            "compact.auto=false",
            "notes.start=1",
            "notes.growth=2",
            "notes.tool_calls=3",
            "notes.section_limit=4",
            "notes.total_limit=5",
            "notes.keep_tokens=6",
            "notes.keep_messages=7",
            "notes.keep_limit=8",
        ]);
        assert_eq!(issues, []);
        let settings = LayerSettings::new(&resolve(&[flags], Trust::Trusted));
        let expected = NotesSettings {
            off: Some("compact.auto"),
            compact: false,
            rule: notes::Rule {
                start: Tokens(1),
                growth: Tokens(2),
                calls: 3,
            },
            limits: notes::Limits {
                section: Tokens(4),
                total: Tokens(5),
            },
        };
        assert_eq!(settings.notes, expected);
        assert_eq!(
            settings.compact.notes_tail,
            NotesTail {
                tokens: Tokens(6),
                messages: 7,
                limit: Tokens(8),
            }
        );
    }
}
