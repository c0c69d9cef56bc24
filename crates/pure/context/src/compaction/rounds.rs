//! Dropping the oldest rounds of a request for a summary that does not fit.

use super::cut;
use crate::category::Category;
use crate::clear::Measure;
use crate::normalise::normalise;
use crate::segment::{Segment, SegmentList};
use crate::view::View;
use dormouse_core::settings::Percent;
use dormouse_core::units::Tokens;

/// A conversation as rounds. Earlier summaries are never dropped.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    segments: SegmentList,
    /// Where each round begins.
    cuts: Vec<usize>,
    /// Thinking is bound to all that precedes it.
    bound: bool,
}

impl Rounds {
    /// The rounds of a view.
    pub(super) fn of(view: &View) -> Self {
        let mut segments = view.segments();
        // What was not sent yet stays whatever happens: no summary is asked of it.
        segments.truncate(view.history_len());
        let cuts = cut::rounds(&segments);
        Self {
            segments,
            cuts,
            bound: view.target().binds_to_prefix(),
        }
    }

    /// The conversation without so many of its oldest rounds.
    pub(super) fn without(&self, dropped: usize) -> Vec<Segment> {
        let cut = match dropped {
            0 => 0,
            dropped => self.start(dropped),
        };
        let kept = self.segments.iter().enumerate();
        let kept = kept.filter(|(at, segment)| segment.category == Category::Summary || *at >= cut);
        // Behind a gap bound thinking would be refused.
        let thinking = |segment: &Segment| segment.block.kind().is_thinking();
        let kept = kept.filter(|(_, segment)| dropped == 0 || !self.bound || !thinking(segment));
        normalise(kept.map(|(_, segment)| segment.clone()).collect())
    }

    /// How many rounds have to go, beyond those dropped already: enough to cover the gap, or a
    /// share of all where it is not known. None if nothing would be left.
    pub(super) fn drop(
        &self,
        dropped: usize,
        gap: Option<Tokens>,
        share: Percent,
        measure: Measure,
    ) -> Option<usize> {
        let tokens = |dropped| cut::tokens_from(&self.segments, self.start(dropped), measure);
        let before = tokens(dropped);
        let all = Tokens(self.cuts.len() as u64);
        let least = dropped as u64 + share.of(all).get();
        let enough = |next: usize| match gap {
            Some(gap) => before - tokens(next) > gap,
            None => next as u64 >= least,
        };
        (dropped + 1..self.cuts.len()).find(|next| enough(*next))
    }

    fn start(&self, round: usize) -> usize {
        let end = self.segments.len();
        self.cuts.get(round).copied().unwrap_or(end)
    }
}
