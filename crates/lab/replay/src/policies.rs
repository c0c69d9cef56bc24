//! All policies by name, and those that only measurements use.
//!
//! # Not here
//! The policies themselves: `dormouse_context::policy` and [`crate::peers`].

use crate::peers::{Codex, Gemini, OpenHands, Opencode, Qwen};
use dormouse_context::compaction::CompactSettings;
use dormouse_context::offload::{OffloadPlan, Round};
use dormouse_context::policy::{Classic, CompactRule, Economic, Policy};
use dormouse_core::units::Tokens;
use std::sync::Arc;

/// Names that [`named`] knows, in the order of reports.
pub const NAMES: [&str; 8] = [
    "none",
    "classic",
    "economic",
    "codex",
    "opencode",
    "openhands",
    "gemini",
    "qwen",
];

/// The policy with this name.
pub fn named(name: &str) -> Option<Arc<dyn Policy>> {
    Some(match name {
        "none" => Arc::new(Never),
        "classic" => Arc::new(Classic),
        "economic" => Arc::new(Economic),
        "codex" => Arc::new(Codex),
        "opencode" => Arc::new(Opencode),
        "openhands" => Arc::new(OpenHands),
        "gemini" => Arc::new(Gemini),
        "qwen" => Arc::new(Qwen),
        _ => return None,
    })
}

/// `none`: never forgets, and loses the session when the window is full. The base that others are
/// measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Never;

impl Policy for Never {
    fn name(&self) -> &'static str {
        "none"
    }

    fn compaction(&self, settings: &CompactSettings, _: Option<Tokens>) -> CompactRule {
        CompactRule {
            notes: false,
            restore: settings.restore.without_files(),
            ..CompactRule::new(settings)
        }
    }

    fn recovers(&self) -> bool {
        false
    }
}

/// Another policy's offload and compactions, without any trigger of its own.
#[derive(Clone, Debug)]
pub(crate) struct ByHand(pub(crate) Arc<dyn Policy>);

impl Policy for ByHand {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn offload(&self, round: &Round<'_>) -> OffloadPlan {
        self.0.offload(round)
    }

    fn compaction(&self, settings: &CompactSettings, keep: Option<Tokens>) -> CompactRule {
        self.0.compaction(settings, keep)
    }

    fn fits_rounds(&self) -> bool {
        self.0.fits_rounds()
    }

    fn recovers(&self) -> bool {
        // A measurement compacts at fixed points; a recovery would add one that others do not have.
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_its_policy() {
        for name in NAMES {
            assert_eq!(named(name).map(|policy| policy.name()), Some(name));
        }
        assert!(named("best").is_none());
    }
}
