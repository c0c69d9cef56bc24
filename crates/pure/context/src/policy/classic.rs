//! The policy `classic`: fixed thresholds.

use super::{CompactRule, CompactVerdict, Facts, Policy};
use crate::clear::{self, ClearVerdict};
use crate::compaction::CompactSettings;
use crate::notes;
use crate::offload::{OffloadPlan, Round};
use dormouse_core::units::Tokens;

/// Fixed thresholds, all of them settings. Predictable, and the yardstick for other policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classic;

impl Policy for Classic {
    fn name(&self) -> &'static str {
        "classic"
    }

    fn offload(&self, round: &Round<'_>) -> OffloadPlan {
        round.by_settings()
    }

    fn fits_rounds(&self) -> bool {
        true
    }

    fn clear(&self, facts: &Facts<'_>) -> ClearVerdict {
        clear::classic(&facts.clearing())
    }

    fn compact(&self, facts: &Facts<'_>) -> CompactVerdict {
        facts.due_at(facts.thresholds.autocompact_target)
    }

    fn notes(&self, facts: &Facts<'_>) -> notes::NotesVerdict {
        notes::due(&facts.progress(), &facts.settings.notes.rule)
    }

    fn compaction(&self, settings: &CompactSettings, _: Option<Tokens>) -> CompactRule {
        CompactRule::new(settings)
    }
}
