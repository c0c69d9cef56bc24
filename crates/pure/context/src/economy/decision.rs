//! An answer and its arithmetic.
//!
//! A decision keeps figures only; the text is made when somebody asks, so that asking a question
//! that is answered "no" a thousand times allocates nothing.

use super::{Kilo, Moment, figure};
use dormouse_core::units::Tokens;
use std::fmt;

/// What to do, from which size on it would be done, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Do it.
    pub act: bool,
    /// The size from which the answer is yes, other things being equal. What size that is, the
    /// question says.
    pub threshold: Tokens,
    /// The figures that decided.
    pub reason: Reason,
}

impl Decision {
    /// The arithmetic as one line of text.
    pub fn explain(&self) -> String {
        self.to_string()
    }
}

/// The figures behind a decision. Costs are in tokens of uncached input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// The classic policy would compact here.
    Classic {
        /// The prompt.
        used: Tokens,
        /// Where the classic policy compacts.
        classic: Tokens,
    },
    /// The prompt is what the current task needs.
    Floor {
        /// The prompt.
        used: Tokens,
        /// What the task needs.
        floor: Tokens,
    },
    /// Compacting while the cache is warm.
    Warm(WarmFigures),
    /// Compacting while it is cold.
    Cold(ColdFigures),
    /// Updating the notes.
    Notes(NotesFigures),
    /// Clearing tool results.
    Clearing(ClearingFigures),
    /// Keeping the cache alive.
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

/// The cache is warm: the prompt against a threshold around the best size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarmFigures {
    /// The moment.
    pub moment: Moment,
    /// The prompt.
    pub used: Tokens,
    /// The best size in use.
    pub in_use: Tokens,
    /// The threshold of this moment.
    pub threshold: Tokens,
    /// What a compaction costs now.
    pub cost: f64,
    /// What it saves with each request.
    pub saves: f64,
    /// Requests within which it has to pay for itself.
    pub horizon: f64,
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
            horizon,
        } = *self;
        write!(
            f,
            "{moment}, prompt {} {} threshold {} (size in use {}); a compaction costs {}, \
                 saves {} a request and pays after {:.1} requests of {horizon:.1} at most",
            kilo(used),
            relation(used >= threshold),
            kilo(threshold),
            kilo(in_use),
            Kilo(cost),
            Kilo(saves),
            cost / saves.max(1.0),
        )
    }
}

/// The cache is cold: carrying on against compacting now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColdFigures {
    /// The moment.
    pub moment: Moment,
    /// The prompt.
    pub used: Tokens,
    /// What carrying on writes again.
    pub carry_on: f64,
    /// What compacting now costs.
    pub compact: f64,
    /// What the shorter prompt gains later.
    pub later: f64,
    /// What must be left over at least.
    pub margin: f64,
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
        } = *self;
        write!(
            f,
            "{moment}, prompt {}; carrying on writes {}, compacting costs {} and gains {} \
                 later: {} left over, {} a margin of {}",
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

/// What updating the notes costs and saves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotesFigures {
    /// The prompt.
    pub used: Tokens,
    /// From here on they are written at this moment.
    pub from: Tokens,
    /// What the updates since the last compaction cost.
    pub spent: f64,
    /// What another one costs.
    pub update: f64,
    /// What the tail costs that stays beside notes.
    pub tail: f64,
    /// What one full compaction costs.
    pub full: f64,
    /// They are recent enough.
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

/// What clearing tool results costs and saves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClearingFigures {
    /// What reading less saves.
    pub saved: f64,
    /// What writing again costs.
    pub rewritten: f64,
    /// Requests the saving is counted for.
    pub remaining: f64,
    /// The cache is cold: everything is written again anyway.
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

/// What keeping the cache alive costs and saves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeepAliveFigures {
    /// What the request costs.
    pub cost: f64,
    /// What a cold cache would cost.
    pub at_stake: f64,
    /// The chance that the session goes on in time.
    pub chance: f64,
    /// The chance from which it pays.
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
