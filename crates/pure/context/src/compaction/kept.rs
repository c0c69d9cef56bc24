//! The part of the conversation that stays verbatim beside a summary.

use super::cut;
use super::protocol::Scope;
use crate::bound::{RewriteVerdict, local_rewrite};
use crate::boundary::SummaryPlace;
use crate::category::Category;
use crate::clear::Measure;
use crate::policy::{Keep, Stays};
use crate::segment::{Segment, SegmentList};
use crate::view::View;
use dormouse_core::block::BlockKind;
use dormouse_core::id::Seq;
use dormouse_core::record::SeqRange;
use dormouse_core::units::Tokens;
use dormouse_core::weight::Weight;
use std::collections::HashSet;

/// Reasons why a compaction would remove nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NothingGoes {
    /// The scope is wrong, or bound thinking forbids it now.
    #[error("{0}")]
    NotNow(String),
    /// Everything in view has to stay.
    #[error("there is nothing to compact")]
    AllStays,
}

impl From<&str> for NothingGoes {
    fn from(why: &str) -> Self {
        Self::NotNow(why.to_owned())
    }
}

/// Division of a view into segments that stay and segments that are summarised.
#[derive(Clone, Debug)]
pub struct Kept {
    /// All segments, as they would be sent.
    pub segments: SegmentList,
    /// True for each segment that stays; as long as `segments`.
    keep: Vec<bool>,
    /// Position of the summary.
    pub place: SummaryPlace,
    /// Tokens of the segments that are summarised.
    pub replaced: Tokens,
}

impl Kept {
    /// Divides by scope and by the policy's rule.
    ///
    /// # Errors
    /// When nothing would be removed, or not now.
    pub fn new(
        view: &View,
        scope: Scope,
        keep: &dyn Keep,
        measure: Measure,
    ) -> Result<Self, NothingGoes> {
        let segments = view.segments();
        let count = segments.len();
        let (keep, place): (Vec<bool>, SummaryPlace) = match scope {
            Scope::All => {
                let Stays { front, tail } = keep.stays(&segments, measure);
                // An earlier summary is not kept verbatim: it becomes part of the new one.
                let tail = tail.max(summaries(&segments));
                let keep = (0..count).map(|at| at >= tail || at < front);
                (keep.collect(), SummaryPlace::Front)
            }
            Scope::From(seq) => {
                let last = position(&segments, seq, true)?;
                let cut = cut::cut_at_or_after(&cut::cuts(&segments), last + 1);
                let cut = cut.ok_or("nothing follows that message")?;
                ((0..count).map(|at| at < cut).collect(), SummaryPlace::Back)
            }
            Scope::UpTo(seq) => {
                let first = position(&segments, seq, false)?;
                let cut = cut::cut_at_or_before(&cut::cuts(&segments), first);
                // A cut at the beginning would summarise nothing.
                let cut = cut.filter(|cut| *cut > 0);
                let cut = cut.ok_or("nothing comes before that message")?;
                (
                    (0..count).map(|at| at >= cut).collect(),
                    SummaryPlace::Front,
                )
            }
        };
        Self::of(view, segments, keep, place, measure)
    }

    /// Keeps everything from a position on.
    ///
    /// # Errors
    /// When nothing would be removed, or not now.
    pub fn from(view: &View, cut: usize, measure: Measure) -> Result<Self, NothingGoes> {
        let segments = view.segments();
        let keep = (0..segments.len()).map(|at| at >= cut).collect();
        Self::of(view, segments, keep, SummaryPlace::Front, measure)
    }

    fn of(
        view: &View,
        segments: SegmentList,
        mut keep: Vec<bool>,
        place: SummaryPlace,
        measure: Measure,
    ) -> Result<Self, NothingGoes> {
        // Unsent and unanswered segments stay, with their calls: the model has yet to react to them.
        for kept in keep.iter_mut().skip(view.history_len()) {
            *kept = true;
        }
        // Layouts and the chronicle name whole records, so a record stays complete.
        let kept = segments.iter().zip(&keep).filter(|(_, kept)| **kept);
        let records: HashSet<Seq> = kept.map(|(segment, _)| segment.origin.record).collect();
        for (segment, kept) in segments.iter().zip(&mut keep) {
            *kept |= records.contains(&segment.origin.record);
        }
        // Thinking in front of the first removed segment stays valid.
        if let Some(first) = keep.iter().position(|kept| !kept)
            && let RewriteVerdict::Wait { reason } = local_rewrite(view, first)
        {
            return Err(reason.into());
        }
        let gone = segments
            .iter()
            .zip(&keep)
            .filter(|(_, kept)| !**kept)
            .fold(Weight::default(), |sum, (segment, _)| {
                sum + *segment.block.weight()
            });
        let replaced = measure.tokens(&gone);
        if replaced == Tokens::ZERO {
            return Err(NothingGoes::AllStays);
        }
        Ok(Self {
            segments,
            keep,
            place,
            replaced,
        })
    }

    /// Ranges of the records that stay.
    pub fn ranges(&self) -> Vec<SeqRange> {
        cut::ranges(&self.segments, |at| self.keep[at])
    }

    /// Sequence numbers of the records that stay.
    pub fn records(&self) -> HashSet<Seq> {
        self.staying()
            .map(|segment| segment.origin.record)
            .collect()
    }

    /// Segments that stay, in prompt order.
    pub fn staying(&self) -> impl Iterator<Item = &Segment> {
        let both = self.segments.iter().zip(&self.keep);
        both.filter(|(_, kept)| **kept).map(|(segment, _)| segment)
    }

    /// Segments that are summarised, in prompt order.
    pub fn going(&self) -> impl Iterator<Item = &Segment> {
        let both = self.segments.iter().zip(&self.keep);
        both.filter(|(_, kept)| !**kept).map(|(segment, _)| segment)
    }
}

/// Number of leading segments that are summaries of earlier compactions.
fn summaries(segments: &SegmentList) -> usize {
    segments
        .iter()
        .take_while(|segment| segment.category == Category::Summary)
        .count()
}

/// First line of a message, cut to a length at which it can be recognised in a directive.
pub(super) fn beginning(view: &View, seq: Seq) -> String {
    /// Characters quoted: about one line, and too few to carry instructions of its own.
    const CHARS: usize = 80;
    let segments = view.segments();
    let mut parts = segments
        .iter()
        .filter(|segment| segment.origin.record == seq && !segment.block.kind().is_thinking());
    let text = parts.find_map(|segment| match segment.block.kind() {
        // A call has no text; its tool's name is what the model can recognise.
        BlockKind::ToolUse => segment.block.tool().map(|tool| format!("a call of {tool}")),
        _ => segment.block.readable_text(),
    });
    let text = text.unwrap_or_default();
    let line = text.trim_start().lines().next().unwrap_or_default();
    line.chars().take(CHARS).collect()
}

/// First or last position of a record's segments.
fn position(segments: &SegmentList, seq: Seq, last: bool) -> Result<usize, NothingGoes> {
    let mut found = None;
    for (at, segment) in segments.iter().enumerate() {
        if segment.origin.record == seq {
            found = Some(at);
            if !last {
                break;
            }
        }
    }
    found.ok_or_else(|| "that message is not in view".into())
}
