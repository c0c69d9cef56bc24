//! Decision to update the notes now.
//!
//! An update is a call that reads the prompt; it pays because a compaction with notes needs no
//! call. All updates since the last compaction together must therefore cost less than one full
//! compaction. Normally there is one: at a turn's end in the upper part of the cycle, or, in a long
//! tool loop, shortly before the best size. Another follows only when the notes have fallen too far
//! behind to serve.
//!
//! Not here: whether notes are kept at all, and their content ([`crate::notes`]).

use super::{Decision, Means, Moment, NotesFigures, Order, Outlook, Reason, figure, tokens};
use dormouse_core::units::Tokens;

/// Share of the target below which a turn's end writes no notes. Earlier ones would be out of date
/// when the compaction comes, and a second update would cost more than the notes save.
const NOTES_FROM: f64 = 0.5;

/// State of the notes since the last compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NotesState {
    /// Cost of the updates, in tokens of uncached input; see `Outlook::notes_update`.
    pub spent: f64,
    /// Number of updates since the last compaction.
    pub updates: u32,
    /// Tokens at the end of the conversation that the notes do not cover.
    pub uncovered: Tokens,
    /// Most uncovered tokens with which the notes can still serve as a summary.
    pub uncovered_limit: Tokens,
    /// Least tokens that stay beside notes; a model's summary needs no such tail.
    pub tail: Tokens,
}

/// Decision to update the notes now. The threshold is the prompt size from which this moment calls
/// for an update.
pub(crate) fn notes_worth(
    outlook: &Outlook,
    used: Tokens,
    moment: Moment,
    state: &NotesState,
) -> Decision {
    let from = match moment {
        Moment::TurnEnd => tokens(NOTES_FROM * figure(outlook.target)),
        Moment::BetweenRounds => outlook.turn_end,
        // A call without a cache costs as much as a compaction and saves none.
        Moment::ColdCache | Moment::ModelSwitch | Moment::Resume => Tokens(u64::MAX),
    };
    let update = outlook.notes_update(used);
    let static_prefix = outlook.figures.static_prefix;
    let full = Order::new(Means::Full, &outlook.known, &outlook.rates, static_prefix)
        .compaction(figure(outlook.target));
    let fresh = state.updates > 0 && state.uncovered <= state.uncovered_limit;
    // The tail beside notes is written once and read until the next compaction.
    let until_next = figure(outlook.target).max(outlook.order.base) - outlook.order.base;
    let requests = outlook.expected(until_next / outlook.order.growth);
    let tail = figure(state.tail) * (outlook.rates.write + outlook.rates.read * requests);
    let act = used >= from && !fresh && state.spent + update + tail < full;
    Decision {
        act,
        threshold: from,
        reason: Reason::Notes(NotesFigures {
            used,
            from,
            spent: state.spent,
            update,
            tail,
            full,
            fresh,
        }),
    }
}
