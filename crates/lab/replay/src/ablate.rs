//! Layers that a study switches off, each alone.
//!
//! # Not here
//! Running the variants: the `replay` command.

use dormouse_core::settings::{Layer, flags_layer};

/// A layer that can be switched off by settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ablation {
    /// Name of the layer in tables.
    pub layer: &'static str,
    settings: &'static [&'static str],
}

/// Every layer that shapes a prompt, in the order in which they act.
pub const ABLATIONS: [Ablation; 6] = [
    Ablation {
        layer: "offload",
        settings: &["offload=false"],
    },
    Ablation {
        layer: "clearing",
        settings: &["microcompact.idle=false", "microcompact.pressure=false"],
    },
    Ablation {
        layer: "notes",
        settings: &["notes=false"],
    },
    Ablation {
        layer: "compaction",
        settings: &["compact.auto=false"],
    },
    Ablation {
        layer: "restored files",
        settings: &["compact.restore.files=0"],
    },
    Ablation {
        layer: "evidence",
        settings: &["compact.evidence_limit=0"],
    },
];

impl Ablation {
    /// The settings without the layer, to be put on top of all others.
    pub fn settings(&self) -> Layer {
        flags_layer(self.settings.iter().copied()).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::settings::{ResolvedSetting, Settings};

    #[test]
    fn every_layer_has_settings_that_exist_and_change_something() {
        for ablation in ABLATIONS {
            let (layer, issues) = flags_layer(ablation.settings.iter().copied());
            assert_eq!(issues, [], "{}", ablation.layer);
            let (with, without) = (Settings::default(), Settings::default().with(&layer));
            assert_eq!(layer.values.len(), ablation.settings.len());
            for key in layer.values.keys() {
                let value = |settings: &Settings| settings.entry(key).map(ResolvedSetting::shown);
                assert_ne!(value(&with), value(&without), "{key}");
            }
        }
    }
}
