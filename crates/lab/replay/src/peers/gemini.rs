//! Gemini CLI.
//!
//! Sources: `context/chatCompressionService.ts` (threshold, part that stays, second call that
//! verifies), `toolOutputMaskingService.ts` (masking), the truncation threshold of its tools.

use super::{cut_to, prune, share_of_window, summary_alone};
use dormouse_context::clear::{ClearVerdict, Measure};
use dormouse_context::compaction::{CompactSettings, cut};
use dormouse_context::offload::{OffloadPlan, Round};
use dormouse_context::policy::{CompactRule, CompactVerdict, Facts, Keep, Policy, Stays};
use dormouse_context::segment::SegmentList;
use dormouse_core::units::Tokens;
use std::sync::Arc;

/// Characters of a result that stay; the rest is cut off.
const RESULT: u64 = 40_000;
/// Tokens of the newest results that masking leaves.
const PROTECT: Tokens = Tokens(50_000);
/// Tokens that one masking frees at least.
const LEAST: Tokens = Tokens(30_000);
/// Share of the window at which it compacts, in thousandths; the source's default of one half.
const TRIGGER: u64 = 500;
/// Share of the conversation that stays, in thousandths; the source's default.
const KEPT: u64 = 300;
/// Directive of the second call, in our words: the source's own text is not copied.
const CHECK: &str = "A first summary was written. Check it against the conversation and write it \
                     again, corrected and complete.";

/// Masking, an early compaction, and a second call that checks the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gemini;

impl Policy for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn offload(&self, round: &Round<'_>) -> OffloadPlan {
        cut_to(round, RESULT)
    }

    fn clear(&self, facts: &Facts<'_>) -> ClearVerdict {
        prune(&facts.clearing(), PROTECT, LEAST)
    }

    fn compact(&self, facts: &Facts<'_>) -> CompactVerdict {
        facts.due_at(share_of_window(facts, TRIGGER))
    }

    fn compaction(&self, settings: &CompactSettings, _: Option<Tokens>) -> CompactRule {
        CompactRule {
            check: Some(CHECK),
            keep: Arc::new(NewestShare { thousandths: KEPT }),
            ..summary_alone(settings)
        }
    }
}

/// Keeps the newest rounds, up to a share of the conversation.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewestShare {
    pub(super) thousandths: u64,
}

impl Keep for NewestShare {
    fn stays(&self, segments: &SegmentList, measure: Measure) -> Stays {
        let all = cut::tokens_from(segments, 0, measure).get();
        let most = Tokens(all * self.thousandths / 1_000);
        Stays {
            front: 0,
            tail: cut::tail_of(segments, most, measure),
        }
    }
}
