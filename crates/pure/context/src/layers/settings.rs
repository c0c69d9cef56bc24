//! What the layers take from the settings, read once per change.

use crate::clear::{ClearSettings, server::ServerSettings};
use crate::compaction::CompactSettings;
use crate::notes;
use dormouse_core::settings::{EconomySettings, Settings, Switch, WindowSettings, keys};

/// Figures and switches of all layers.
#[derive(Clone, Debug)]
pub struct LayerSettings {
    /// Long results are put into files.
    pub offload: bool,
    /// Clearing.
    pub clear: ClearSettings,
    /// Clearing by the provider.
    pub server: ServerSettings,
    /// Session notes.
    pub notes: NotesSettings,
    /// Compaction.
    pub compact: CompactSettings,
    /// Compaction of any kind is allowed.
    pub compaction: bool,
    /// The economic policy.
    pub economy: EconomySettings,
    /// The window.
    pub window: WindowSettings,
}

/// Figures and switches of the session notes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotesSettings {
    /// The setting that switches them off, if one does.
    pub off: Option<&'static str>,
    /// They serve as the summary of a compaction.
    pub compact: bool,
    /// When they are written.
    pub rule: notes::Rule,
    /// How long they may be.
    pub limits: notes::Limits,
}

impl LayerSettings {
    /// Reads them.
    pub fn new(settings: &Settings) -> Self {
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
