//! Codex CLI.
//!
//! Sources: `codex-rs/protocol/src/openai_models.rs` (limit of automatic compaction, truncation of
//! tool output), `codex-rs/core/src/compact.rs` (user messages that stay). Its compaction request
//! has no tools, as seen on the wire with version 0.166.0.

use super::{cut_to, share_of_window, summary_alone};
use dormouse_context::compaction::CompactSettings;
use dormouse_context::offload::{OffloadPlan, Round};
use dormouse_context::policy::{Carry, CompactRule, CompactVerdict, Facts, Policy};
use dormouse_core::units::Tokens;

/// Characters of a result: 10,000 tokens of four characters.
const RESULT: u64 = 40_000;
/// Share of the window at which it compacts, in thousandths; its default limit.
const TRIGGER: u64 = 900;
/// Tokens of the user's messages that stay, `COMPACT_USER_MESSAGE_MAX_TOKENS`.
const USER_MESSAGES: Tokens = Tokens(20_000);

/// Results cut, one compaction near the end of the window, the user's messages kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codex;

impl Policy for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn offload(&self, round: &Round<'_>) -> OffloadPlan {
        cut_to(round, RESULT)
    }

    fn compact(&self, facts: &Facts<'_>) -> CompactVerdict {
        facts.due_at(share_of_window(facts, TRIGGER))
    }

    fn compaction(&self, settings: &CompactSettings, _: Option<Tokens>) -> CompactRule {
        CompactRule {
            carry: Carry {
                user_messages: Some(USER_MESSAGES),
                ..Carry::NOTHING
            },
            ..summary_alone(settings)
        }
    }
}
