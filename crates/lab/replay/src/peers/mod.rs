//! Policies of other agents, for comparison.
//!
//! # Model
//! Each follows the published figures of an agent as of November 2026: its triggers, its kept part,
//! its kind of call. They are not those programs: prompts, tools and all machinery are Dormouse's,
//! so that only the forgetting differs. Every file names the source of its figures.
//!
//! # Not here
//! The policies of Dormouse itself (`dormouse_context::policy`).

mod codex;
mod gemini;
mod opencode;
mod openhands;
mod qwen;

#[cfg(test)]
mod tests;

pub use codex::Codex;
pub use gemini::Gemini;
pub use opencode::Opencode;
pub use openhands::OpenHands;
pub use qwen::Qwen;

use dormouse_context::clear::{ClearInputs, ClearVerdict};
use dormouse_context::compaction::CompactSettings;
use dormouse_context::offload::{self, Candidate, OffloadPlan, Round, RoundLimits};
use dormouse_context::policy::{Carry, CompactRule, Facts};
use dormouse_core::units::Tokens;

/// A compaction that leaves a summary and nothing beside it, by a call that sends no tools and so
/// reads nothing from the cache.
fn summary_alone(settings: &CompactSettings) -> CompactRule {
    CompactRule {
        notes: false,
        rides: false,
        carry: Carry::NOTHING,
        restore: settings.restore.without_files(),
        ..CompactRule::new(settings)
    }
}

/// Cuts every result to so many characters, of any tool and under any settings.
fn cut_to(round: &Round<'_>, limit: u64) -> OffloadPlan {
    let results = round.results.iter().map(|result| Candidate {
        limit,
        exempt: false,
        ..*result
    });
    let results: Vec<Candidate<'_>> = results.collect();
    let limits = RoundLimits {
        // These agents limit single results, not a round together.
        round: u64::MAX,
        preview: limit,
    };
    OffloadPlan {
        fates: offload::plan(&results, round.already, limits),
    }
}

/// A share of the window, in thousandths.
fn share_of_window(facts: &Facts<'_>, thousandths: u64) -> Tokens {
    Tokens(facts.thresholds.window.get() * thousandths / 1_000)
}

/// Clears the results behind the newest `protect` tokens of results, if that frees `least`.
fn prune(inputs: &ClearInputs<'_>, protect: Tokens, least: Tokens) -> ClearVerdict {
    let old = inputs.old();
    let all = inputs.held(inputs.index.results());
    // Up to this entry the newer results, itself included, hold more than is protected.
    let behind = (0..old.len())
        .take_while(|at| all - inputs.held(&old[..*at]) > protect)
        .count();
    let batch = inputs.worthwhile(&old[..behind]);
    let freed = inputs.freed(&batch);
    // A small clearing breaks the cache for little; the agents wait for a larger one.
    if freed < least {
        return ClearVerdict::Leave {
            reason: format!("{freed} tokens lie behind the protected {protect}; it takes {least}"),
        };
    }
    inputs.clear(batch)
}
