//! Actions in a random log, and their weights.

use super::late::{Late, late};
use proptest::prelude::*;

/// One action in a session.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    UserText(String),
    /// Calls, thinking and text; `same` continues the previous response.
    Assistant {
        calls: u8,
        think: u8,
        text: bool,
        same: bool,
        usage: Option<u8>,
    },
    /// Result of a call, counted back from the newest: regular, late, repeated or unasked.
    Result {
        back: u8,
        extra: bool,
    },
    Fragment,
    Repair,
    Request,
    /// Request that names so many waiting results to be distilled.
    RequestDistil {
        count: u8,
    },
    /// Distillation of the newest results that were sent.
    Distil {
        count: u8,
    },
    Preview {
        back: u8,
    },
    Clear {
        keep: u8,
    },
    Snip {
        from: u8,
        len: u8,
    },
    Fold {
        from: u8,
        len: u8,
    },
    Compact {
        keep: u8,
        back: bool,
    },
    UndoNewest {
        older: u8,
    },
    Checkpoint,
    /// Page of the chronicle, of however few entries.
    Page,
    Rewind {
        back: u8,
    },
    Late(Late),
}

impl Op {
    /// True if the op is a response that continues no other.
    pub(crate) fn is_new_response(&self) -> bool {
        match self {
            Self::Assistant { same, .. } => !same,
            Self::Late(late) => matches!(late, Late::RepeatedCall { .. } | Late::OtherModel),
            _ => false,
        }
    }

    /// True if the op may change frozen segments.
    pub(crate) fn is_rewrite(&self) -> bool {
        matches!(
            self,
            Self::Distil { .. }
                | Self::Clear { .. }
                | Self::Snip { .. }
                | Self::Fold { .. }
                | Self::Compact { .. }
                | Self::UndoNewest { .. }
                | Self::Rewind { .. }
        )
    }
}

/// Weights of branches, rewrites and manifests among ordinary actions.
struct Turns {
    rewrite: u32,
    checkpoint: u32,
    rewind: u32,
    late: u32,
    /// Farthest that a rewind goes back, in records.
    farthest: u8,
}

pub(crate) fn ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let turns = Turns {
        rewrite: 1,
        checkpoint: 1,
        rewind: 1,
        late: 2,
        farthest: 8,
    };
    weighted_ops(most, &turns)
}

/// Logs that are mostly branches: rewinds go behind manifests, and rewrites, undo records and
/// checkpoints remain on abandoned branches.
pub(crate) fn branching_ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let turns = Turns {
        rewrite: 2,
        checkpoint: 4,
        rewind: 9,
        late: 2,
        farthest: 30,
    };
    weighted_ops(most, &turns)
}

/// Logs with many late records.
pub(crate) fn late_ops(most: usize) -> impl Strategy<Value = Vec<Op>> {
    let turns = Turns {
        rewrite: 1,
        checkpoint: 1,
        rewind: 1,
        late: 20,
        farthest: 8,
    };
    weighted_ops(most, &turns)
}

fn weighted_ops(most: usize, turns: &Turns) -> impl Strategy<Value = Vec<Op>> + use<> {
    let rewrite = turns.rewrite;
    let op = prop_oneof![
        4 => "[a-c]{0,3}".prop_map(Op::UserText),
        6 => (0_u8..4, 0_u8..4, any::<bool>(), prop::bool::weighted(0.25), any::<Option<u8>>())
            .prop_map(|(calls, think, text, same, usage)| Op::Assistant { calls, think, text, same, usage }),
        8 => (0_u8..5, prop::bool::weighted(0.1)).prop_map(|(back, extra)| Op::Result { back, extra }),
        3 => Just(Op::Fragment),
        1 => Just(Op::Repair),
        6 => Just(Op::Request),
        3 => (0_u8..4).prop_map(|count| Op::RequestDistil { count }),
        2 => (1_u8..4).prop_map(|count| Op::Distil { count }),
        1 => (0_u8..3).prop_map(|back| Op::Preview { back }),
        rewrite => (0_u8..3).prop_map(|keep| Op::Clear { keep }),
        rewrite => (0_u8..20, 0_u8..6).prop_map(|(from, len)| Op::Snip { from, len }),
        rewrite => (0_u8..20, 0_u8..6).prop_map(|(from, len)| Op::Fold { from, len }),
        rewrite => (0_u8..12, any::<bool>()).prop_map(|(keep, back)| Op::Compact { keep, back }),
        rewrite => (0_u8..3).prop_map(|older| Op::UndoNewest { older }),
        turns.checkpoint => Just(Op::Checkpoint),
        turns.checkpoint => Just(Op::Page),
        turns.rewind => (0..=turns.farthest).prop_map(|back| Op::Rewind { back }),
        turns.late => late(),
    ];
    prop::collection::vec(op, 0..most)
}
