//! Decision to compact now.
//!
//! Two kinds of moments. On a **warm** cache a compaction is made around the best size. On a **cold**
//! cache the old prompt would have to be written again: carrying on is compared with compacting,
//! including the later saving through the shorter prompt. At either
//! - the expected gain must be positive, over the distribution of the requests still to come;
//! - the last compaction must have paid for itself;
//! - the cost must be a small part of what the session has cost so far, so that a session which
//!   ends right behind the compaction was not much dearer.
//!
//! A full window overrides all of them.
//!
//! Not here: whether thinking or open calls forbid a rewrite at this moment, and how it is made.

use super::outlook::HYSTERESIS;
use super::{ColdFigures, Decision, Outlook, Reason, Stake, WarmFigures, figure};
use dormouse_core::units::Tokens;
use std::fmt;

/// Moment at which the question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Warm cache, the user's turn has just ended.
    TurnEnd,
    /// Warm cache, all calls of a round are answered and the next request is due.
    BetweenRounds,
    /// The cache has expired, or will have before the next request.
    ColdCache,
    /// Another model continues, whose cache holds nothing of this conversation.
    ModelSwitch,
    /// A session is resumed after its cache expired. One resumed in time is at [`Self::TurnEnd`].
    Resume,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TurnEnd => "turn's end",
            Self::BetweenRounds => "between rounds",
            Self::ColdCache => "cold cache",
            Self::ModelSwitch => "model switch",
            Self::Resume => "resumed",
        })
    }
}

/// State of the session at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// Tokens of the prompt that would be sent.
    pub used: Tokens,
    /// Moment of the question.
    pub moment: Moment,
    /// True if the notes can serve as the summary without a call. Used on a cold cache only.
    pub notes_ready: bool,
    /// True if the static prefix is still cached for the model that continues, though the messages
    /// are not.
    pub prefix_cached: bool,
    /// True if a call for a summary would find the conversation cached, though the next request
    /// would not: at a model switch, with the old model.
    pub call_cached: bool,
    /// Tokens not sent yet, which no compaction removes.
    pub unsent: Tokens,
}

impl Situation {
    /// A situation without notes, cached parts or unsent tokens.
    pub fn new(used: Tokens, moment: Moment) -> Self {
        Self {
            used,
            moment,
            notes_ready: false,
            prefix_cached: false,
            call_cached: false,
            unsent: Tokens::ZERO,
        }
    }
}

/// Decision to compact now. The threshold is the prompt size from which a warm moment of this kind
/// compacts; for cold moments it is that of a turn's end.
pub fn decide(outlook: &Outlook, now: &Situation) -> Decision {
    let threshold = match now.moment {
        Moment::BetweenRounds => outlook.between_rounds,
        Moment::TurnEnd | Moment::ColdCache | Moment::ModelSwitch | Moment::Resume => {
            outlook.turn_end
        }
    };
    let (used, floor, classic) = (now.used, outlook.figures.floor, outlook.figures.classic);
    // Beyond the classic target the window, not the cost, decides; below the floor nothing can go.
    let (act, reason) = if used >= classic {
        (true, Reason::Classic { used, classic })
    } else if used <= floor {
        (false, Reason::Floor { used, floor })
    } else {
        match now.moment {
            Moment::TurnEnd | Moment::BetweenRounds => warm(outlook, now, threshold),
            Moment::ColdCache | Moment::ModelSwitch | Moment::Resume => cold(outlook, now),
        }
    };
    Decision {
        act,
        threshold,
        reason,
    }
}

fn warm(outlook: &Outlook, now: &Situation, threshold: Tokens) -> (bool, Reason) {
    // Unsent tokens stay in any case and are not part of the summary call.
    let carried = now.used - now.unsent;
    let prompt = figure(carried);
    let cost = outlook.order.compaction(prompt);
    let saves = outlook.order.read * (prompt - outlook.order.base).max(0.0);
    // Left alone, the prompt grows until the window forces the same compaction: until then it
    // saves, and with the chance to get there it saves that one too.
    let (until_forced, chance) = outlook.forced_after(now.used);
    let ahead = outlook.expected(until_forced);
    let gain = saves * ahead - cost * (1.0 - chance);
    let stake = Stake::new(outlook, cost);
    let act = carried >= threshold && gain > 0.0 && stake.is_allowed();
    let reason = Reason::Warm(WarmFigures {
        moment: now.moment,
        used: carried,
        in_use: outlook.in_use,
        threshold,
        cost,
        saves,
        ahead,
        chance,
        gain,
        stake,
    });
    (act, reason)
}

impl Stake {
    fn new(outlook: &Outlook, cost: f64) -> Self {
        Self {
            cost,
            most: outlook.at_risk,
            owed: outlook.owed,
        }
    }

    /// True if a compaction may put its cost at risk now.
    pub fn is_allowed(&self) -> bool {
        self.owed <= 0.0 && self.cost <= self.most
    }
}

/// Compares carrying on with the cheapest available compaction.
fn cold(outlook: &Outlook, now: &Situation) -> (bool, Reason) {
    let Outlook {
        order,
        rates,
        known,
        ..
    } = outlook;
    let prompt = figure(now.used - now.unsent);
    let prefix = figure(outlook.figures.static_prefix).min(prompt);
    let prefix_price = if now.prefix_cached {
        rates.read
    } else {
        rates.write_prefix
    };
    let carry_on = prefix_price * prefix + rates.write * (prompt - prefix);
    // Written after every compaction: what is kept, and what is expected to be read again.
    let follows = rates.write * (known.kept.value() + known.reread.value());
    let compact = follows
        + if now.notes_ready {
            prefix_price * prefix
        } else if now.call_cached {
            rates.read * prompt + rates.output * known.summary.value() + prefix_price * prefix
        } else {
            // The call itself writes the prompt to the cache, so the next request reads the prefix.
            carry_on + rates.output * known.summary.value() + rates.read * prefix
        };
    // The gain is capped by what the session is expected to save before its end.
    let (until_forced, _) = outlook.forced_after(now.used);
    let read_less = outlook.expected(until_forced) * order.read * (prompt - order.base).max(0.0);
    let later = order.gain(prompt, outlook.best).min(read_less);
    // Without a margin, rounding and noise would trigger compactions that gain nothing.
    let margin = HYSTERESIS * order.compaction(prompt);
    // Only the part beyond carrying on is at risk: the rest is paid in any case.
    let stake = Stake::new(outlook, (compact - carry_on).max(0.0));
    let act = prompt > order.base && carry_on + later - compact >= margin && stake.is_allowed();
    let reason = Reason::Cold(ColdFigures {
        moment: now.moment,
        used: now.used,
        carry_on,
        compact,
        later,
        margin,
        stake,
    });
    (act, reason)
}
