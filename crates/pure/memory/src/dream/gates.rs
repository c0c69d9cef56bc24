//! Gates that decide when to dream.
//!
//! # Model
//! Five gates, cheapest first, asked at the end of a query. [`Gates`] is a state machine: each
//! answer leads to the next question ([`Effect`]) or to the end, so that a shell looks at the disk
//! only as far as the cheaper gates let it. [`gates()`] runs it over facts that are all known, for
//! showing.
//!
//! # Not here
//! Reading and taking the lock (`dormouse-memdir`); looking for sessions (`dormouse-keeper`).

use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Millis;
use std::time::Duration;

/// Tolerated clock skew: a last dream dated further in the future is ignored. Machines that share a
/// directory differ by seconds; without a limit, one wrong clock would stop dreams for years.
pub(crate) const CLOCK_SLACK: Duration = Duration::from_mins(5);

/// Least time between two looks for sessions: a look reads the folder of every project's sessions,
/// and only finished sessions count, which do not come by the minute.
const SCAN_INTERVAL: Duration = Duration::from_mins(10);

/// Limits of the gates, from the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateLimits {
    /// Least time between two dreams (`dream.interval`).
    pub interval: Duration,
    /// Least time between two looks for sessions (`dream.scan_interval`).
    pub scan_interval: Duration,
    /// Least number of other sessions since the last dream (`dream.sessions`).
    pub sessions: u64,
}

impl GateLimits {
    /// Reads the three limits from the settings.
    pub fn from_settings(settings: &Settings) -> Self {
        Self {
            interval: settings.get(keys::DREAM_INTERVAL),
            scan_interval: SCAN_INTERVAL,
            sessions: settings.get(keys::DREAM_SESSIONS),
        }
    }
}

/// Time of the last consolidation. If the holder of the lock died, this is the time before that
/// dream began, so that its sessions are not skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastDream {
    /// No lock file, so no dream yet.
    Never,
    /// Time of the lock file.
    At(Millis),
}

/// Fact that a shell reports to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// End of a query; the switches are known.
    QueryEnded {
        /// Memory and dreaming are on, and this is the main conversation.
        switched_on: bool,
        /// Time of the query's end.
        now: Millis,
    },
    /// Time of the lock file, as asked for.
    LastDream(LastDream),
    /// Number of other sessions touched since, as asked for.
    Sessions(u64),
    /// Result of taking the lock, as asked for.
    Lock {
        /// True if it is ours.
        taken: bool,
    },
}

/// Next step for the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Look at the time of the lock file: one `stat`.
    StatLock,
    /// Count other sessions that were touched after this time, or all of them: one directory scan.
    CountSessions {
        /// Time of the last dream; `None` counts all.
        since: Option<Millis>,
    },
    /// Try to take the lock.
    TakeLock,
    /// Dream about the time after the last dream.
    Dream {
        /// Time of the last dream; `None` if there was none.
        since: Option<Millis>,
    },
    /// Do nothing until the next query, with the reason.
    Rest(Reason),
}

/// Reason for not dreaming now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Gate 1: switches, which cost nothing to ask.
    #[error("dreaming is switched off here")]
    SwitchedOff,
    /// Gate 2: time since the last dream, one `stat`.
    #[error("the last dream was {} ago, the next comes after {}", span(*.ago), span(*.needed))]
    TooSoon {
        /// Time since the last dream.
        ago: Duration,
        /// Time that must have passed.
        needed: Duration,
    },
    /// Gate 3: time since the last look for sessions, kept in memory.
    #[error("sessions were looked for {} ago, the next look comes after {}", span(*.ago), span(*.needed))]
    ScannedRecently {
        /// Time since the last look.
        ago: Duration,
        /// Time that must have passed.
        needed: Duration,
    },
    /// Gate 4: number of sessions, one directory scan.
    #[error("{found} of {needed} other sessions since the last dream")]
    TooFewSessions {
        /// Number of sessions found.
        found: u64,
        /// Number of sessions needed.
        needed: u64,
    },
    /// Gate 5: the lock, which another process holds.
    #[error("another process is dreaming")]
    LockHeld,
    /// Event that was not asked for.
    #[error("the gates were asked out of order")]
    OutOfOrder,
}

fn span(span: Duration) -> String {
    // Minutes below two hours, because whole hours would be too coarse there.
    let minutes = span.as_secs() / 60;
    if minutes >= 120 {
        format!("{} h", minutes / 60)
    } else {
        format!("{minutes} min")
    }
}

/// Answer that the machine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Query,
    LastDream { now: Millis },
    Sessions { since: Option<Millis> },
    Lock { since: Option<Millis> },
}

/// Gates of one process. It remembers its last look for sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    limits: GateLimits,
    last_scan: Option<Millis>,
    waiting: Waiting,
}

impl Gates {
    /// Gates that were never asked.
    pub const fn new(limits: GateLimits) -> Self {
        Self {
            limits,
            last_scan: None,
            waiting: Waiting::Query,
        }
    }

    /// Takes limits that the settings have now; the last look for sessions stays known.
    pub const fn set_limits(&mut self, limits: GateLimits) {
        self.limits = limits;
    }

    /// Takes the fact that the shell found out and returns the next step.
    pub fn handle(&mut self, event: Event) -> Effect {
        let waiting = std::mem::replace(&mut self.waiting, Waiting::Query);
        match (event, waiting) {
            // A query that ends while an answer is due begins anew.
            (Event::QueryEnded { switched_on, now }, _) => self.query_ended(switched_on, now),
            (Event::LastDream(last), Waiting::LastDream { now }) => self.last_dream(last, now),
            (Event::Sessions(found), Waiting::Sessions { since }) => self.sessions(found, since),
            (Event::Lock { taken: true }, Waiting::Lock { since }) => Effect::Dream { since },
            (Event::Lock { taken: false }, Waiting::Lock { .. }) => Effect::Rest(Reason::LockHeld),
            _ => Effect::Rest(Reason::OutOfOrder),
        }
    }

    const fn query_ended(&mut self, switched_on: bool, now: Millis) -> Effect {
        if !switched_on {
            return Effect::Rest(Reason::SwitchedOff);
        }
        self.waiting = Waiting::LastDream { now };
        Effect::StatLock
    }

    fn last_dream(&mut self, last: LastDream, now: Millis) -> Effect {
        let since = match last {
            LastDream::At(at) if !is_future(at, now) => Some(at),
            LastDream::At(_) | LastDream::Never => None,
        };
        let needed = self.limits.interval;
        if let Some(ago) = since.map(|at| ago(at, now)).filter(|ago| *ago < needed) {
            return Effect::Rest(Reason::TooSoon { ago, needed });
        }
        let needed = self.limits.scan_interval;
        let last_scan = self.last_scan.map(|at| ago(at, now));
        if let Some(ago) = last_scan.filter(|ago| *ago < needed) {
            return Effect::Rest(Reason::ScannedRecently { ago, needed });
        }
        // Before the count is known: a scan that finds too few is not repeated either.
        self.last_scan = Some(now);
        self.waiting = Waiting::Sessions { since };
        Effect::CountSessions { since }
    }

    const fn sessions(&mut self, found: u64, since: Option<Millis>) -> Effect {
        let needed = self.limits.sessions;
        if found < needed {
            return Effect::Rest(Reason::TooFewSessions { found, needed });
        }
        self.waiting = Waiting::Lock { since };
        Effect::TakeLock
    }
}

fn ago(at: Millis, now: Millis) -> Duration {
    Duration::from_millis(now.since(at))
}

/// True if a time lies further ahead than clocks may differ.
fn is_future(at: Millis, now: Millis) -> bool {
    Duration::from_millis(at.since(now)) > CLOCK_SLACK
}

/// Facts that all gates look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateFacts {
    /// Limits from the settings.
    pub limits: GateLimits,
    /// Memory and dreaming are switched on.
    pub switched_on: bool,
    /// Time of the question.
    pub now: Millis,
    /// Time of the last consolidation.
    pub last_dream: LastDream,
    /// Time of the last look for sessions.
    pub last_scan: Option<Millis>,
    /// Number of other sessions touched since the last dream.
    pub sessions: u64,
    /// True if no process holds the lock.
    pub lock_free: bool,
}

/// Verdict of all gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateDecision {
    /// All open: time to dream.
    Dream {
        /// Time of the last dream.
        since: Option<Millis>,
        /// Set if that time lies in the future and was ignored.
        odd_clock: bool,
    },
    /// First gate that is closed.
    Rest(Reason),
}

/// Asks all gates in their order; the first closed one decides.
pub fn gates(facts: &GateFacts) -> GateDecision {
    let mut machine = Gates::new(facts.limits);
    machine.last_scan = facts.last_scan;
    let mut effect = machine.handle(Event::QueryEnded {
        switched_on: facts.switched_on,
        now: facts.now,
    });
    loop {
        let event = match effect {
            Effect::StatLock => Event::LastDream(facts.last_dream),
            Effect::CountSessions { .. } => Event::Sessions(facts.sessions),
            Effect::TakeLock => Event::Lock {
                taken: facts.lock_free,
            },
            Effect::Dream { since } => {
                let odd_clock =
                    matches!(facts.last_dream, LastDream::At(at) if is_future(at, facts.now));
                return GateDecision::Dream { since, odd_clock };
            }
            Effect::Rest(reason) => return GateDecision::Rest(reason),
        };
        effect = machine.handle(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const HOUR: i64 = 3_600_000;
    const LIMITS: GateLimits = GateLimits {
        interval: Duration::from_hours(24),
        scan_interval: Duration::from_mins(10),
        sessions: 5,
    };
    const NOW: Millis = Millis(100 * HOUR);

    /// Change that closes a gate.
    type Change = fn(&mut GateFacts);

    const fn open() -> GateFacts {
        GateFacts {
            limits: LIMITS,
            switched_on: true,
            now: NOW,
            last_dream: LastDream::At(Millis(76 * HOUR)),
            last_scan: None,
            sessions: 5,
            lock_free: true,
        }
    }

    #[test]
    fn the_first_gate_that_is_closed_says_why() {
        let since = Some(Millis(76 * HOUR));
        let dream = |since, odd_clock| GateDecision::Dream { since, odd_clock };
        assert_eq!(gates(&open()), dream(since, false));
        let closed: [(Change, &str); 5] = [
            (|f| f.lock_free = false, "another process is dreaming"),
            (
                |f| f.sessions = 4,
                "4 of 5 other sessions since the last dream",
            ),
            (
                |f| f.last_scan = Some(Millis(NOW.0 - 9 * 60_000)),
                "sessions were looked for 9 min ago, the next look comes after 10 min",
            ),
            (
                |f| f.last_dream = LastDream::At(Millis(77 * HOUR)),
                "the last dream was 23 h ago, the next comes after 24 h",
            ),
            (|f| f.switched_on = false, "dreaming is switched off here"),
        ];
        // Closing a cheaper gate as well hides the reasons of the dearer ones.
        let mut facts = open();
        for (close, expected) in closed {
            close(&mut facts);
            let GateDecision::Rest(reason) = gates(&facts) else {
                panic!("open: {expected}")
            };
            assert_eq!(reason.to_string(), expected);
        }
    }

    #[test]
    fn no_lock_file_or_one_from_the_future_means_never() {
        let never = GateFacts {
            last_dream: LastDream::Never,
            ..open()
        };
        let expected = GateDecision::Dream {
            since: None,
            odd_clock: false,
        };
        assert_eq!(gates(&never), expected);
        let slack = i64::try_from(CLOCK_SLACK.as_millis()).unwrap();
        let future = |ahead| GateFacts {
            last_dream: LastDream::At(Millis(NOW.0 + ahead)),
            ..open()
        };
        let expected = GateDecision::Dream {
            since: None,
            odd_clock: true,
        };
        assert_eq!(gates(&future(slack + 1)), expected);
        assert!(matches!(
            gates(&future(slack)),
            GateDecision::Rest(Reason::TooSoon { .. })
        ));
    }

    #[test]
    fn the_disk_is_looked_at_only_as_far_as_needed() {
        let mut machine = Gates::new(LIMITS);
        let ended = |now| Event::QueryEnded {
            switched_on: true,
            now,
        };
        assert_eq!(machine.handle(ended(NOW)), Effect::StatLock);
        let last = Event::LastDream(LastDream::Never);
        let count = Effect::CountSessions { since: None };
        assert_eq!(machine.handle(last), count);
        assert!(matches!(
            machine.handle(Event::Sessions(1)),
            Effect::Rest(_)
        ));
        // Soon after, the scan is not repeated.
        let soon = Millis(NOW.0 + 60_000);
        assert_eq!(machine.handle(ended(soon)), Effect::StatLock);
        assert!(matches!(
            machine.handle(last),
            Effect::Rest(Reason::ScannedRecently { .. })
        ));
        // Answers to questions that were not asked lead nowhere.
        let stray = machine.handle(Event::Lock { taken: true });
        assert_eq!(stray, Effect::Rest(Reason::OutOfOrder));
    }
}
