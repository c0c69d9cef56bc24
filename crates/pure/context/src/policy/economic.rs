//! The policy `economic`: a cost model in place of thresholds.
//!
//! Not here: the arithmetic itself ([`crate::economy`]).

use super::{CompactRule, CompactVerdict, Facts, NewestRounds, Policy};
use crate::clear::{self, ClearVerdict};
use crate::compaction::CompactSettings;
use crate::economy::{self, Figures, Means, Outlook};
use crate::layers::Moment;
use crate::notes;
use crate::offload::{OffloadPlan, Round};
use dormouse_core::record::Trigger;
use dormouse_core::units::Tokens;
use std::sync::Arc;

/// Tokens of the newest rounds that stay beside a summary if no outlook gave a budget, as after a
/// refused prompt: one or two rounds of usual length, enough to go on in the middle of a step.
const TAIL: Tokens = Tokens(4_000);
/// Most files restored after a compaction. The model reads the few it needs again for less than
/// carrying all of them costs.
const FILES: usize = 3;
/// Most tokens of one restored file: a module of usual length, about 150 lines.
const FILE: Tokens = Tokens(1_500);
/// Most tokens of all restored files: two of full length, or three that are shorter.
const ALL_FILES: Tokens = Tokens(3_000);

/// Forgets when that is cheaper than carrying the context on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Economic;

impl Policy for Economic {
    fn name(&self) -> &'static str {
        "economic"
    }

    fn offload(&self, round: &Round<'_>) -> OffloadPlan {
        round.by_price()
    }

    fn requests_ahead(&self, facts: &Facts<'_>) -> Option<f64> {
        Some(outlook(facts).requests_ahead(facts.used))
    }

    fn fits_rounds(&self) -> bool {
        true
    }

    fn clear(&self, facts: &Facts<'_>) -> ClearVerdict {
        let worth = |freed: Tokens, behind: Tokens| {
            let outlook = outlook(facts);
            let clearing = economy::Clearing {
                freed,
                behind,
                // The saving ends at the next compaction or with the session.
                remaining: outlook.requests_ahead(facts.used),
                cold: facts.cold,
            };
            let decision = economy::clearing_worth(&clearing, facts.rates);
            if decision.act {
                Ok(decision.explain())
            } else {
                Err(decision.explain())
            }
        };
        let least = || economy::cold_least(&outlook(facts), facts.used);
        clear::economic(&facts.clearing(), least, worth)
    }

    fn compact(&self, facts: &Facts<'_>) -> CompactVerdict {
        let outlook = outlook(facts);
        let situation = economy::Situation {
            used: facts.used,
            moment: moment(facts),
            notes_ready: notes_cover(facts),
            prefix_cached: !facts.cold,
            call_cached: !facts.cold,
            unsent: facts.unsent(),
        };
        let decision = economy::decide(&outlook, &situation);
        let reason = decision.explain();
        if !decision.act {
            return CompactVerdict::Leave { reason };
        }
        // At the classic target the window forces a compaction; the trigger says which reason
        // applied.
        let trigger = if facts.used >= facts.thresholds.autocompact_target {
            Trigger::Auto
        } else {
            Trigger::Economic
        };
        CompactVerdict::Due {
            trigger,
            keep: Some(outlook.tail()),
            reason,
        }
    }

    fn notes(&self, facts: &Facts<'_>) -> notes::NotesVerdict {
        let progress = facts.progress();
        let verdict = notes::due(&progress, &facts.settings.notes.rule);
        // The token and call rules of `classic` hold here too; the cost model only adds a
        // condition.
        if !verdict.is_yes() {
            return verdict;
        }
        let tail = facts.settings.compact.notes_tail;
        let state = economy::NotesState {
            spent: facts.notes.spent,
            updates: facts.notes.updates,
            uncovered: progress.tokens_now - progress.tokens_at_last.unwrap_or_default(),
            uncovered_limit: tail.limit,
            tail: tail.tokens,
        };
        let decision = economy::notes_worth(&outlook(facts), facts.used, moment(facts), &state);
        let reason = decision.explain();
        if decision.act {
            notes::NotesVerdict::Yes { reason }
        } else {
            notes::NotesVerdict::No { reason }
        }
    }

    fn compaction(&self, settings: &CompactSettings, keep: Option<Tokens>) -> CompactRule {
        CompactRule {
            keep: Arc::new(NewestRounds(
                keep.unwrap_or_else(|| shortest_tail(settings)),
            )),
            restore: settings.restore.narrowed(FILES, FILE, ALL_FILES),
            ..CompactRule::new(settings)
        }
    }

    fn outlook(&self, facts: &Facts<'_>) -> Option<Outlook> {
        Some(outlook(facts))
    }
}

/// Tail where no outlook gave a budget. Half of what may stay beside notes bounds it, a limit that
/// shrinks with the window.
fn shortest_tail(settings: &CompactSettings) -> Tokens {
    TAIL.min(Tokens(settings.notes_tail.limit.get() / 2))
}

/// Outlook for the current facts. A few dozen operations, so each verdict computes it anew.
fn outlook(facts: &Facts<'_>) -> Outlook {
    let known = facts.conversation.economy();
    // Notes are the cheaper means only while they could serve as the summary.
    let notes = facts.settings.notes.off.is_none() && notes_cover(facts);
    let figures = Figures {
        static_prefix: facts.static_prefix,
        floor: facts.static_prefix + known.kept.tokens() + facts.unsent(),
        classic: facts.thresholds.autocompact_target,
        in_use: facts.in_use,
        means: if notes { Means::Notes } else { Means::Full },
        // The prompt was written at least once; a provider that reports no usage leaves only this.
        spent: spent(facts).max(facts.rates.write * economy::figure(facts.used)),
    };
    Outlook::new(known, facts.rates, &figures)
}

/// Cost of the session so far, in tokens of uncached input.
fn spent(facts: &Facts<'_>) -> f64 {
    facts.rates.cost(&facts.conversation.state().totals.usage())
}

/// Moment for the cost model: a cold cache counts more than the position within a turn.
fn moment(facts: &Facts<'_>) -> economy::Moment {
    match (facts.moment, facts.cold) {
        (_, true) => economy::Moment::ColdCache,
        (Moment::TurnEnd, false) => economy::Moment::TurnEnd,
        (Moment::BeforeRequest, false) => economy::Moment::BetweenRounds,
    }
}

/// True if the notes could serve as the summary now, judged by the size of the uncovered part.
fn notes_cover(facts: &Facts<'_>) -> bool {
    let covered = facts.conversation.state().notes.as_ref();
    facts.settings.notes.compact
        && covered.is_some_and(|notes| {
            facts.conversation_tokens() - notes.conversation
                <= facts.settings.compact.notes_tail.limit
        })
}
