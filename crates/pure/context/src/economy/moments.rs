//! Whether to compact now.
//!
//! Two kinds of moments. While the cache is **warm** a compaction is taken around the best size,
//! and only if it pays for itself well within what the session can be expected to last. Once the cache is
//! **cold** the old prompt would have to be written again: then carrying on is compared with
//! compacting, and what is compared includes what the shorter prompt gains later.
//!
//! Not here: whether thinking or open calls forbid a rewrite at this moment, and how it is made.

use super::{ColdFigures, Decision, Outlook, Reason, WarmFigures, figure};
use dormouse_core::units::Tokens;
use std::fmt;

/// When the question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The user's turn has just ended.
    TurnEnd,
    /// All calls of a round are answered, the next request is due.
    BetweenRounds,
    /// The cache has lapsed, or will have before the next request.
    ColdCache,
    /// Another model goes on, whose cache holds nothing of this.
    ModelSwitch,
    /// A session is resumed after its cache lapsed. One resumed in time is at [`Self::TurnEnd`].
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

/// How things stand at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// The prompt that would be sent.
    pub used: Tokens,
    /// When the question is asked.
    pub moment: Moment,
    /// The notes can serve as the summary: no call is needed. Looked at while the cache is cold.
    pub notes_ready: bool,
    /// The static prefix is still cached for the model that goes on, though the messages are not.
    pub prefix_cached: bool,
    /// A call for a summary would find the conversation cached, though the next request would not:
    /// at a model switch, with the model that is left.
    pub call_cached: bool,
    /// The part of the prompt that was not sent yet: it stays.
    pub unsent: Tokens,
}

impl Situation {
    /// A moment with nothing special about it.
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

/// Whether to compact now. The threshold is the prompt from which a warm moment of this kind calls
/// for it; for cold moments it is that of a turn's end.
pub fn decide(outlook: &Outlook, now: &Situation) -> Decision {
    let threshold = match now.moment {
        Moment::BetweenRounds => outlook.between_rounds,
        Moment::TurnEnd | Moment::ColdCache | Moment::ModelSwitch | Moment::Resume => {
            outlook.turn_end
        }
    };
    let (used, floor, classic) = (now.used, outlook.figures.floor, outlook.figures.classic);
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
    // What was not sent yet stays whatever is done, and no summary is asked of it.
    let carried = now.used - now.unsent;
    let prompt = figure(carried);
    let cost = outlook.order.compaction(prompt);
    let saves = outlook.order.read * (prompt - outlook.order.base).max(0.0);
    let act = carried >= threshold && cost <= saves * outlook.horizon;
    let reason = Reason::Warm(WarmFigures {
        moment: now.moment,
        used: carried,
        in_use: outlook.in_use,
        threshold,
        cost,
        saves,
        horizon: outlook.horizon,
    });
    (act, reason)
}

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
    let follows = rates.write * (known.kept.value() + known.reread.value());
    let compact = follows
        + if now.notes_ready {
            prefix_price * prefix
        } else if now.call_cached {
            rates.read * prompt + rates.output * known.summary.value() + prefix_price * prefix
        } else {
            // The call writes the prompt to the cache, so that the next request finds the prefix.
            carry_on + rates.output * known.summary.value() + rates.read * prefix
        };
    let read_less = outlook.horizon * order.read * (prompt - order.base).max(0.0);
    let later = order.gain(prompt, outlook.best).min(read_less);
    // Forgetting for next to nothing is not worth it: something of a compaction must be gained.
    let margin = outlook.settings.hysteresis * order.compaction(prompt);
    let act = prompt > order.base && carry_on + later - compact >= margin;
    let reason = Reason::Cold(ColdFigures {
        moment: now.moment,
        used: now.used,
        carry_on,
        compact,
        later,
        margin,
    });
    (act, reason)
}
