//! Shortening a request for a summary that is too long: the oldest rounds are dropped.

use super::cut;
use crate::category::Category;
use crate::clear::Measure;
use crate::normalise::normalise;
use crate::segment::{Segment, SegmentList};
use crate::view::View;
use dormouse_core::settings::Percent;
use dormouse_core::units::Tokens;

/// A conversation divided into rounds. Summaries of earlier compactions are never dropped.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    segments: SegmentList,
    /// Positions at which rounds begin.
    cuts: Vec<usize>,
    /// True if thinking is bound to everything in front of it.
    bound: bool,
}

impl Rounds {
    /// Divides the history of a view.
    pub(super) fn of(view: &View) -> Self {
        let mut segments = view.segments();
        // Unsent segments stay in any case and need no summary.
        segments.truncate(view.history_len());
        let cuts = cut::rounds(&segments);
        Self {
            segments,
            cuts,
            bound: view.target().binds_to_prefix(),
        }
    }

    /// Segments without the given number of oldest rounds, repaired.
    pub(super) fn without(&self, dropped: usize) -> Vec<Segment> {
        let cut = match dropped {
            0 => 0,
            dropped => self.start(dropped),
        };
        let kept = self.segments.iter().enumerate();
        let kept = kept.filter(|(at, segment)| segment.category == Category::Summary || *at >= cut);
        // Behind a gap the provider would refuse bound thinking.
        let thinking = |segment: &Segment| segment.block.kind().is_thinking();
        let kept = kept.filter(|(_, segment)| dropped == 0 || !self.bound || !thinking(segment));
        normalise(kept.map(|(_, segment)| segment.clone()).collect())
    }

    /// New number of rounds to drop: enough to cover the reported gap, or a share of all rounds if
    /// none was reported. `None` if no round would be left.
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
        // At least one round more each time, and never the last one.
        (dropped + 1..self.cuts.len()).find(|next| enough(*next))
    }

    /// Position at which a round begins; the end for a round that does not exist.
    fn start(&self, round: usize) -> usize {
        let end = self.segments.len();
        self.cuts.get(round).copied().unwrap_or(end)
    }
}
