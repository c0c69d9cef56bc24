//! A decision and its arithmetic.
//!
//! A decision holds figures only; the text is formatted on demand, because most questions are
//! answered "no" on every request and must not allocate.

use super::{Kilo, Moment, figure};
use dormouse_core::units::Tokens;
use std::fmt;

/// Answer to one of the questions, with the size at which it changes and the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// True if the action is worth its cost.
    pub act: bool,
    /// Size from which the answer is yes, other things being equal; each question defines which
    /// size is meant.
    pub threshold: Tokens,
    /// Figures that decided, for [`Self::explain`].
    pub reason: Reason,
}

impl Decision {
    /// Arithmetic as one line of text.
    pub fn explain(&self) -> String {
        self.to_string()
    }
}

/// Figures behind a decision. Costs are in tokens of uncached input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// The prompt has reached the classic target, which overrides the arithmetic.
    Classic {
        /// Tokens of the prompt.
        used: Tokens,
        /// Target of the policy `classic`.
        classic: Tokens,
    },
    /// The prompt is no longer than the current task needs; nothing could be removed.
    Floor {
        /// Tokens of the prompt.
        used: Tokens,
        /// Tokens that the current task needs.
        floor: Tokens,
    },
    /// Compaction on a warm cache.
    Warm(WarmFigures),
    /// Compaction on a cold cache.
    Cold(ColdFigures),
    /// Update of the session notes.
    Notes(NotesFigures),
    /// Clearing of tool results.
    Clearing(ClearingFigures),
    /// Request that keeps the cache alive.
    KeepAlive(KeepAliveFigures),
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = match (self.reason, self.act) {
            (Reason::Notes(_), true) => "update notes",
            (Reason::Notes(_), false) => "leave notes",
            (Reason::Clearing(_), true) => "clear",
            (Reason::Clearing(_), false) => "do not clear",
            (Reason::KeepAlive(_), true) => "keep alive",
            (Reason::KeepAlive(_), false) => "let it lapse",
            (_, true) => "compact",
            (_, false) => "go on",
        };
        write!(f, "{answer}: {}", self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classic { used, classic } => write!(
                f,
                "prompt {} ≥ classic target {}",
                kilo(*used),
                kilo(*classic)
            ),
            Self::Floor { used, floor } => write!(
                f,
                "prompt {} is no more than the current task needs ({})",
                kilo(*used),
                kilo(*floor)
            ),
            Self::Warm(figures) => figures.fmt(f),
            Self::Cold(figures) => figures.fmt(f),
            Self::Notes(figures) => figures.fmt(f),
            Self::Clearing(figures) => figures.fmt(f),
            Self::KeepAlive(figures) => figures.fmt(f),
        }
    }
}

/// Warm cache: the prompt against a threshold around the best size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmFigures {
    /// Moment of the question.
    pub moment: Moment,
    /// Tokens of the prompt, without the unsent part.
    pub used: Tokens,
    /// Best size in use.
    pub in_use: Tokens,
    /// Threshold that applies at this moment.
    pub threshold: Tokens,
    /// Cost of a compaction now.
    pub cost: f64,
    /// Saving per later request.
    pub saves: f64,
    /// Expected number of requests before the window would force a compaction.
    pub ahead: f64,
    /// Chance that the session gets that far, from 0 to 1.
    pub chance: f64,
    /// Expected net gain over the rest of the session.
    pub gain: f64,
    /// Cost that is lost if the session ends at once.
    pub stake: Stake,
}

/// Cost that a compaction puts at risk, and its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stake {
    /// Cost that is lost if the session ends at once.
    pub cost: f64,
    /// Most that may be risked: a part of the session's cost so far.
    pub most: f64,
    /// Part of the last compaction's cost that has not been saved yet.
    pub owed: f64,
}

impl fmt::Display for Stake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cost, most, owed } = *self;
        let within = if cost <= most { "≤" } else { ">" };
        write!(f, "at risk {} {within} {}", Kilo(cost), Kilo(most))?;
        if owed > 0.0 {
            write!(f, "; {} of the last one is still unpaid", Kilo(owed))?;
        }
        Ok(())
    }
}

impl fmt::Display for WarmFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            moment,
            used,
            in_use,
            threshold,
            cost,
            saves,
            ahead,
            chance,
            gain,
            stake,
        } = *self;
        write!(
            f,
            "{moment}, prompt {} {} threshold {} (size in use {}); a compaction costs {} and saves \
             {} a request, for {ahead:.1} requests expected; with {:.0} % it is due anyway: gain \
             {}; {stake}",
            kilo(used),
            relation(used >= threshold),
            kilo(threshold),
            kilo(in_use),
            Kilo(cost),
            Kilo(saves),
            chance * 100.0,
            Kilo(gain),
        )
    }
}

/// Cold cache: carrying on against compacting now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColdFigures {
    /// Moment of the question.
    pub moment: Moment,
    /// Tokens of the prompt.
    pub used: Tokens,
    /// Cost of writing the prompt to the cache again.
    pub carry_on: f64,
    /// Cost of compacting now.
    pub compact: f64,
    /// Later saving through the shorter prompt.
    pub later: f64,
    /// Least net gain required.
    pub margin: f64,
    /// Cost beyond that of carrying on, which is lost if the session ends at once.
    pub stake: Stake,
}

impl fmt::Display for ColdFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            moment,
            used,
            carry_on,
            compact,
            later,
            margin,
            stake,
        } = *self;
        write!(
            f,
            "{moment}, prompt {}; carrying on writes {}, compacting costs {} and gains {} \
                 later: {} left over, {} a margin of {}; {stake}",
            kilo(used),
            Kilo(carry_on),
            Kilo(compact),
            Kilo(later),
            Kilo(carry_on + later - compact),
            relation(carry_on + later - compact >= margin),
            Kilo(margin),
        )
    }
}

/// Cost and saving of updating the notes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotesFigures {
    /// Tokens of the prompt.
    pub used: Tokens,
    /// Size of the prompt from which notes are written at this moment.
    pub from: Tokens,
    /// Cost of the updates since the last compaction.
    pub spent: f64,
    /// Cost of this update.
    pub update: f64,
    /// Cost of the longer tail that stays beside notes.
    pub tail: f64,
    /// Cost of one full compaction, which the notes would save.
    pub full: f64,
    /// True if the notes are recent enough to serve as the summary already.
    pub fresh: bool,
}

impl fmt::Display for NotesFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            used,
            from,
            spent,
            update,
            tail,
            full,
            fresh,
        } = *self;
        write!(
            f,
            "prompt {} {} {}; updates so far {} + this one {} + a longer tail {} {} one full compaction {}{}",
            kilo(used),
            relation(used >= from),
            kilo(from),
            Kilo(spent),
            Kilo(update),
            Kilo(tail),
            relation(spent + update + tail >= full),
            Kilo(full),
            if fresh {
                "; they are recent enough"
            } else {
                ""
            },
        )
    }
}

/// Cost and saving of clearing tool results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClearingFigures {
    /// Saving through shorter reads.
    pub saved: f64,
    /// Cost of writing the part behind the first cleared result again.
    pub rewritten: f64,
    /// Number of requests that the saving is counted for.
    pub remaining: f64,
    /// True if the cache is cold, so that everything is written again anyway.
    pub cold: bool,
}

impl fmt::Display for ClearingFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            saved,
            rewritten,
            remaining,
            cold,
        } = *self;
        write!(
            f,
            "saves {} over {remaining:.0} requests, writes {} again{}",
            Kilo(saved),
            Kilo(rewritten),
            if cold {
                " (the cache is cold anyway)"
            } else {
                ""
            },
        )
    }
}

/// Cost and saving of a keep-alive request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeepAliveFigures {
    /// Cost of the request.
    pub cost: f64,
    /// Cost of a cold cache, which it may save.
    pub at_stake: f64,
    /// Probability that the session continues in time, from 0 to 1.
    pub chance: f64,
    /// Probability from which it pays, from 0 to 1.
    pub break_even: f64,
}

impl fmt::Display for KeepAliveFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cost,
            at_stake,
            chance,
            break_even,
        } = *self;
        write!(
            f,
            "costs {}, saves {} with a chance of {:.0} %; pays from {:.0} %",
            Kilo(cost),
            Kilo(at_stake),
            chance * 100.0,
            break_even * 100.0,
        )
    }
}

fn kilo(tokens: Tokens) -> Kilo {
    Kilo(figure(tokens))
}

fn relation(reached: bool) -> &'static str {
    if reached { "≥" } else { "<" }
}
