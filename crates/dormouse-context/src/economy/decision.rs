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
    /// The cache is warm: the prompt against a threshold around the best size.
    Warm {
        /// The moment.
        moment: Moment,
        /// The prompt.
        used: Tokens,
        /// The best size in use.
        in_use: Tokens,
        /// The threshold of this moment.
        threshold: Tokens,
        /// What a compaction costs now.
        cost: f64,
        /// What it saves with each request.
        saves: f64,
        /// Requests the session is expected to go on for.
        remaining: f64,
    },
    /// The cache is cold: carrying on against compacting now.
    Cold {
        /// The moment.
        moment: Moment,
        /// The prompt.
        used: Tokens,
        /// What carrying on writes again.
        carry_on: f64,
        /// What compacting now costs.
        compact: f64,
        /// What the shorter prompt gains later.
        later: f64,
        /// What must be left over at least.
        margin: f64,
    },
    /// Updating the notes.
    Notes {
        /// The prompt.
        used: Tokens,
        /// From here on they are written at this moment.
        from: Tokens,
        /// What the updates since the last compaction cost.
        spent: f64,
        /// What another one costs.
        update: f64,
        /// What one full compaction costs.
        full: f64,
        /// They are recent enough.
        fresh: bool,
    },
    /// Clearing tool results.
    Clearing {
        /// What reading less saves.
        saved: f64,
        /// What writing again costs.
        rewritten: f64,
        /// Requests the saving is counted for.
        remaining: f64,
        /// The cache is cold: everything is written again anyway.
        cold: bool,
    },
    /// Keeping the cache alive.
    KeepAlive {
        /// What the request costs.
        cost: f64,
        /// What a cold cache would cost.
        at_stake: f64,
        /// The chance that the session goes on in time.
        chance: f64,
        /// The chance from which it pays.
        break_even: f64,
    },
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = match (self.reason, self.act) {
            (Reason::Notes { .. }, true) => "update notes",
            (Reason::Notes { .. }, false) => "leave notes",
            (Reason::Clearing { .. }, true) => "clear",
            (Reason::Clearing { .. }, false) => "do not clear",
            (Reason::KeepAlive { .. }, true) => "keep alive",
            (Reason::KeepAlive { .. }, false) => "let it lapse",
            (_, true) => "compact",
            (_, false) => "go on",
        };
        write!(f, "{answer}: {}", self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Classic { used, classic } => write!(
                f,
                "prompt {} ≥ classic target {}",
                kilo(used),
                kilo(classic)
            ),
            Self::Floor { used, floor } => write!(
                f,
                "prompt {} is no more than the current task needs ({})",
                kilo(used),
                kilo(floor)
            ),
            Self::Warm {
                moment,
                used,
                in_use,
                threshold,
                cost,
                saves,
                remaining,
            } => write!(
                f,
                "{moment}, prompt {} {} threshold {} (size in use {}); a compaction costs {}, \
                 saves {} a request and pays after {:.1} of about {remaining:.0} to come",
                kilo(used),
                relation(used >= threshold),
                kilo(threshold),
                kilo(in_use),
                Kilo(cost),
                Kilo(saves),
                cost / saves.max(1.0),
            ),
            Self::Cold {
                moment,
                used,
                carry_on,
                compact,
                later,
                margin,
            } => write!(
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
            ),
            Self::Notes {
                used,
                from,
                spent,
                update,
                full,
                fresh,
            } => write!(
                f,
                "prompt {} {} {}; updates so far {} + this one {} {} one full compaction {}{}",
                kilo(used),
                relation(used >= from),
                kilo(from),
                Kilo(spent),
                Kilo(update),
                relation(spent + update >= full),
                Kilo(full),
                if fresh {
                    "; they are recent enough"
                } else {
                    ""
                },
            ),
            Self::Clearing {
                saved,
                rewritten,
                remaining,
                cold,
            } => write!(
                f,
                "saves {} over {remaining:.0} requests, writes {} again{}",
                Kilo(saved),
                Kilo(rewritten),
                if cold {
                    " (the cache is cold anyway)"
                } else {
                    ""
                },
            ),
            Self::KeepAlive {
                cost,
                at_stake,
                chance,
                break_even,
            } => write!(
                f,
                "costs {}, saves {} with a chance of {:.0} %; pays from {:.0} %",
                Kilo(cost),
                Kilo(at_stake),
                chance * 100.0,
                break_even * 100.0,
            ),
        }
    }
}

fn kilo(tokens: Tokens) -> Kilo {
    Kilo(figure(tokens))
}

fn relation(reached: bool) -> &'static str {
    if reached { "≥" } else { "<" }
}
