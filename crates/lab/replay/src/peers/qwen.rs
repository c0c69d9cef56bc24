//! Qwen Code.
//!
//! Sources: `services/chatCompressionService.ts` (`DEFAULT_PCT`, `SUMMARY_RESERVE` and
//! `AUTOCOMPACT_BUFFER`), `services/microcompaction/microcompact.ts` (clearing),
//! `services/postCompactAttachments.ts` (files), `docs/design/chat-compression-cache-sharing.md`
//! (the call reads the cache).

use super::{cut_to, share_of_window, summary_alone};
use dormouse_context::clear::{ClearInputs, ClearVerdict};
use dormouse_context::compaction::CompactSettings;
use dormouse_context::offload::{OffloadPlan, Round};
use dormouse_context::policy::{CompactRule, CompactVerdict, Facts, Policy};
use dormouse_core::units::Tokens;

/// Characters of a result that stay; the rest is cut off.
const RESULT: u64 = 25_000;
/// Bytes of results at which clearing begins.
const HIGH: u64 = 500_000;
/// Bytes of results at which clearing ends: half, so that the prefix is not rewritten every turn.
const LOW: u64 = 250_000;
/// Newest results that are never cleared.
const KEEP: usize = 5;
/// Share of the window at which it compacts, in thousandths, `DEFAULT_PCT`.
const TRIGGER: u64 = 850;
/// Tokens below the window at which it compacts, if that is sooner: `SUMMARY_RESERVE` of 20,000
/// and `AUTOCOMPACT_BUFFER` of 13,000.
const BELOW: Tokens = Tokens(33_000);
/// Files shown again after a compaction.
const FILES: usize = 5;
/// Tokens of one file that are shown.
const FILE: Tokens = Tokens(5_000);
/// Tokens of all files together.
const ALL_FILES: Tokens = Tokens(50_000);

/// Clearing between two marks, a summary that reads the cache, files shown again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Qwen;

impl Policy for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn offload(&self, round: &Round<'_>) -> OffloadPlan {
        cut_to(round, RESULT)
    }

    fn clear(&self, facts: &Facts<'_>) -> ClearVerdict {
        between_marks(&facts.clearing(), HIGH, LOW, KEEP)
    }

    fn compact(&self, facts: &Facts<'_>) -> CompactVerdict {
        // In small windows the fixed reserve is reached before the share.
        let below = facts.thresholds.window - BELOW;
        facts.due_at(share_of_window(facts, TRIGGER).min(below))
    }

    fn compaction(&self, settings: &CompactSettings, _: Option<Tokens>) -> CompactRule {
        CompactRule {
            rides: true,
            restore: settings.restore.narrowed(FILES, FILE, ALL_FILES),
            ..summary_alone(settings)
        }
    }
}

/// Clears from a high mark down to a low one, and all but `keep` results once the cache has lapsed.
pub(super) fn between_marks(
    inputs: &ClearInputs<'_>,
    high: u64,
    low: u64,
    keep: usize,
) -> ClearVerdict {
    let mut batch = inputs.all_but(keep);
    // The next request pays for the whole prompt anyway, so clearing costs nothing.
    if inputs.cold {
        return inputs.clear(batch);
    }
    let mut held: u64 = inputs.old().iter().map(|entry| entry.bytes).sum();
    // Hysteresis: clearing starts at the high mark and goes down to the low one.
    if held <= high {
        return ClearVerdict::Leave {
            reason: format!("results hold {held} bytes of {high}"),
        };
    }
    let mut taken = 0;
    for entry in batch.entries() {
        if held <= low {
            break;
        }
        held = held.saturating_sub(entry.bytes);
        taken += 1;
    }
    batch.truncate(taken);
    inputs.clear(batch)
}
