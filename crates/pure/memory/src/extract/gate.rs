//! Decision to extract after a query, and the cursor of extraction.
//!
//! # Model
//! [`decide`] looks at the facts of a query in a fixed order and names the first that speaks
//! against extraction. The [`Cursor`] is the last record dealt with: it moves on success and for a
//! direct write, stays on failure, and never goes back.
//!
//! # Not here
//! One extraction at a time ([`super::queue`]); collecting the facts (`dormouse-keeper`).

use dormouse_core::id::Seq;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Facts known when a query has ended. Settings come in as values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch or a fact of its own; the gate asks them one by one"
)]
pub struct Circumstances {
    /// Memory and extraction are both switched on.
    pub enabled: bool,
    /// Remote run (`memory.remote`): its directory, if it has one, is not the user's own.
    pub remote: bool,
    /// The conversation is a sub-agent's.
    pub sub_agent: bool,
    /// Run of a single prompt, which ends with its first answer.
    pub one_shot: bool,
    /// Setting `extract.one_shot`: such runs are extracted from all the same.
    pub one_shot_allowed: bool,
    /// The answer was final: it called no tool.
    pub finished: bool,
    /// The main agent wrote to memory behind the cursor ([`super::wrote_memory`]).
    pub wrote_memory: bool,
    /// Number of the user's turns behind the cursor.
    pub turns: u32,
    /// Setting `extract.every`, in turns of the user.
    pub every: u32,
}

/// Reason why nothing is extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Skip {
    /// Switched off by the settings.
    Off,
    /// Remote run, by the setting `memory.remote`.
    Remote,
    /// Conversation of a sub-agent: its user is another agent.
    SubAgent,
    /// Run with one answer, and `extract.one_shot` is off.
    OneShot,
    /// Query still running: the answer called a tool.
    Unfinished,
    /// Main agent wrote to memory itself; a second opinion would only make duplicates.
    DirectWrite,
    /// No turn of the user behind the cursor.
    Nothing,
    /// Fewer turns than `extract.every`.
    TooSoon,
}

impl Skip {
    /// True if the cursor moves past the skipped records all the same.
    pub(crate) const fn advances(self) -> bool {
        matches!(self, Self::DirectWrite)
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "extraction is switched off",
            Self::Remote => "a remote run",
            Self::SubAgent => "a sub-agent's conversation",
            Self::OneShot => "a run with one answer (`extract.one_shot` is off)",
            Self::Unfinished => "the query has not ended",
            Self::DirectWrite => "the agent wrote to memory itself",
            Self::Nothing => "nothing was said since the last time",
            Self::TooSoon => "not enough turns since the last time",
        })
    }
}

/// Verdict after a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Extract the records behind the cursor now.
    Run,
    /// Leave them for later, with the reason.
    Skip(Skip),
}

/// Decides on extraction. Switches come before facts, so that the reason shown is the one the user
/// can change.
pub fn decide(now: &Circumstances) -> Decision {
    let checks = [
        (!now.enabled, Skip::Off),
        (now.remote, Skip::Remote),
        (now.sub_agent, Skip::SubAgent),
        (now.one_shot && !now.one_shot_allowed, Skip::OneShot),
        (!now.finished, Skip::Unfinished),
        // Before the turns are counted: a direct write moves the cursor, too few turns do not.
        (now.wrote_memory, Skip::DirectWrite),
        (now.turns == 0, Skip::Nothing),
        // A run with one answer has no later turn to wait for.
        (now.turns < now.every && !now.one_shot, Skip::TooSoon),
    ];
    let skip = checks.into_iter().find(|(holds, _)| *holds);
    skip.map_or(Decision::Run, |(_, reason)| Decision::Skip(reason))
}

/// End of an extraction, as the cursor sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Success: everything up to this record is dealt with.
    Done(Seq),
    /// Skipped, with the last record that was considered.
    Skipped(Skip, Seq),
    /// Failed or cancelled: the same records are tried again next time.
    Failed,
}

/// Last record that extraction has dealt with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Sequence number of that record; `None` before the first.
    pub seq: Option<Seq>,
}

impl Cursor {
    /// Cursor after an extraction: it moves on success or for a direct write, and never back.
    #[must_use]
    pub fn after(self, ended: Ended) -> Self {
        let to = match ended {
            Ended::Done(seq) => Some(seq),
            Ended::Skipped(skip, seq) => skip.advances().then_some(seq),
            Ended::Failed => None,
        };
        Self {
            // The maximum, because a late run may report an earlier record than one that overtook
            // it.
            seq: self.seq.max(to),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ready() -> Circumstances {
        Circumstances {
            enabled: true,
            remote: false,
            sub_agent: false,
            one_shot: false,
            one_shot_allowed: false,
            finished: true,
            wrote_memory: false,
            turns: 1,
            every: 1,
        }
    }

    #[test]
    fn each_circumstance_has_its_reason() {
        type Change = fn(&mut Circumstances);
        let cases: [(Change, Decision); 10] = [
            (|_| {}, Decision::Run),
            (|now| now.enabled = false, Decision::Skip(Skip::Off)),
            (|now| now.remote = true, Decision::Skip(Skip::Remote)),
            (|now| now.sub_agent = true, Decision::Skip(Skip::SubAgent)),
            (|now| now.one_shot = true, Decision::Skip(Skip::OneShot)),
            (
                |now| (now.one_shot, now.one_shot_allowed, now.every) = (true, true, 9),
                Decision::Run,
            ),
            (|now| now.finished = false, Decision::Skip(Skip::Unfinished)),
            (
                |now| now.wrote_memory = true,
                Decision::Skip(Skip::DirectWrite),
            ),
            (|now| now.turns = 0, Decision::Skip(Skip::Nothing)),
            (|now| now.every = 2, Decision::Skip(Skip::TooSoon)),
        ];
        for (at, (change, expected)) in cases.into_iter().enumerate() {
            let mut now = ready();
            change(&mut now);
            assert_eq!(decide(&now), expected, "case {at}");
        }
    }

    #[test]
    fn a_failure_leaves_the_cursor_where_it_is() {
        let cursor = Cursor {
            seq: Some(Seq::new(4)),
        };
        assert_eq!(cursor.after(Ended::Failed), cursor);
        let soon = Ended::Skipped(Skip::TooSoon, Seq::new(9));
        assert_eq!(cursor.after(soon), cursor);
        let direct = Ended::Skipped(Skip::DirectWrite, Seq::new(9));
        assert_eq!(cursor.after(direct).seq, Some(Seq::new(9)));
        assert_eq!(cursor.after(Ended::Done(Seq::new(3))), cursor);
    }

    proptest! {
        #[test]
        fn a_cursor_never_goes_back(steps in prop::collection::vec((0_u8..3, 0_u64..50), 0..30)) {
            let mut cursor = Cursor::default();
            for (kind, seq) in steps {
                let seq = Seq::new(seq);
                let next = cursor.after(match kind {
                    0 => Ended::Done(seq),
                    1 => Ended::Skipped(Skip::DirectWrite, seq),
                    _ => Ended::Failed,
                });
                prop_assert!(next.seq >= cursor.seq);
                cursor = next;
            }
        }
    }
}
