//! opencode, with pruning switched on.
//!
//! Sources: `session/overflow.ts` (`COMPACTION_BUFFER`), `session/compaction.ts` (`PRUNE_PROTECT`,
//! `PRUNE_MINIMUM`, the tail, the clamp of the summariser), `tool/truncate.ts` (length of a
//! result). Pruning is off by default in the program since it breaks the cache.

use super::{cut_to, prune, summary_alone};
use dormouse_context::clear::ClearVerdict;
use dormouse_context::compaction::CompactSettings;
use dormouse_context::offload::{OffloadPlan, Round};
use dormouse_context::policy::{CompactRule, CompactVerdict, Facts, NewestRounds, Policy};
use dormouse_core::units::Tokens;
use std::sync::Arc;

/// Characters of a result: 50 KiB.
const RESULT: u64 = 51_200;
/// Tokens of the newest results that pruning leaves, `PRUNE_PROTECT`.
const PROTECT: Tokens = Tokens(40_000);
/// Tokens that one pruning frees at least, `PRUNE_MINIMUM`.
const LEAST: Tokens = Tokens(20_000);
/// Tokens below the window at which it compacts, `COMPACTION_BUFFER`.
const BUFFER: Tokens = Tokens(20_000);
/// Characters of each result that the summariser sees; the source clamps them alike.
const CLAMP: usize = 2_000;
/// Most tokens of the newest rounds that stay uncompacted.
const TAIL: Tokens = Tokens(15_000);

/// Old results pruned as the session goes, a summary from clamped results, a tail kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opencode;

impl Policy for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn offload(&self, round: &Round<'_>) -> OffloadPlan {
        cut_to(round, RESULT)
    }

    fn clear(&self, facts: &Facts<'_>) -> ClearVerdict {
        prune(&facts.clearing(), PROTECT, LEAST)
    }

    fn compact(&self, facts: &Facts<'_>) -> CompactVerdict {
        facts.due_at(facts.thresholds.window - BUFFER)
    }

    fn compaction(&self, settings: &CompactSettings, _: Option<Tokens>) -> CompactRule {
        CompactRule {
            clamp: Some(CLAMP),
            keep: Arc::new(NewestRounds(TAIL)),
            ..summary_alone(settings)
        }
    }
}
