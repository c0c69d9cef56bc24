//! Settings of the layers, read once per change.

use crate::clear::{ClearSettings, server::ServerSettings};
use crate::compaction::CompactSettings;
use crate::notes;
use dormouse_core::settings::{EconomySettings, Settings, Switch, WindowSettings, keys};

/// Settings and switches of all layers.
#[derive(Clone, Debug)]
pub struct LayerSettings {
    /// Whether long results are offloaded to files (`offload`).
    pub offload: bool,
    /// Layer 2, local clearing.
    pub clear: ClearSettings,
    /// Layer 2, clearing by the provider.
    pub server: ServerSettings,
    /// Layer 3, session notes.
    pub notes: NotesSettings,
    /// Layer 4, compaction with its restoration.
    pub compact: CompactSettings,
    /// Whether compaction of any kind is allowed, manual ones included (`compact`).
    pub compaction: bool,
    /// Figures of the economic policy (`economic.*`).
    pub economy: EconomySettings,
    /// Reserves and margins of the window (`context.*`).
    pub window: WindowSettings,
}

/// Settings and switches of the session notes (`notes.*`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotesSettings {
    /// Setting that switches them off, for the reason shown; `None` if they are on.
    pub off: Option<&'static str>,
    /// Whether they may serve as the summary of a compaction.
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
            economy: settings.economy_settings(),
            window: settings.window_settings(),
        }
    }
}
