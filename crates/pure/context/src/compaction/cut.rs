//! Where a conversation may be cut, and what stays behind a cut.
//!
//! A cut lies in front of an assistant's turn, or in front of words of the user's side: never
//! between a call and its result.

use crate::category::Category;
use crate::clear::Measure;
use crate::segment::{Segment, SegmentList};
use dormouse_core::block::BlockKind;
use dormouse_core::id::Seq;
use dormouse_core::record::{Role, SeqRange};
use dormouse_core::units::Tokens;
use std::collections::BTreeMap;

/// Positions at which the sequence may be cut, in order. The first is 0 if there is anything.
pub fn cuts(segments: &SegmentList) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut before: Option<Role> = None;
    for (at, segment) in segments.iter().enumerate() {
        let side = side(segment);
        let begins = before.is_none_or(|before| before != side);
        let result = segment.block.kind() == BlockKind::ToolResult;
        if begins && !result {
            cuts.push(at);
        }
        before = Some(side);
    }
    cuts
}

/// Where the rounds behind an earlier summary begin.
pub fn rounds(segments: &SegmentList) -> Vec<usize> {
    let summaries = segments
        .iter()
        .take_while(|segment| segment.category == Category::Summary)
        .count();
    let behind = cuts(segments).into_iter().filter(|cut| *cut >= summaries);
    behind.collect()
}

/// System messages stand on the user's side.
fn side(segment: &Segment) -> Role {
    match segment.role {
        Role::Assistant => Role::Assistant,
        Role::User | Role::System => Role::User,
    }
}

/// The last cut at or before a position.
pub fn cut_at_or_before(cuts: &[usize], position: usize) -> Option<usize> {
    let after = cuts.partition_point(|cut| *cut <= position);
    after.checked_sub(1).map(|at| cuts[at])
}

/// The first cut at or behind a position.
pub fn cut_at_or_after(cuts: &[usize], position: usize) -> Option<usize> {
    let at = cuts.partition_point(|cut| *cut < position);
    cuts.get(at).copied()
}

/// Tokens from a position to the end.
pub fn tokens_from(segments: &SegmentList, position: usize, measure: Measure) -> Tokens {
    let all = segments.weight(segments.len());
    measure.tokens(&all) - measure.tokens(&segments.weight(position))
}

/// The cut whose tail holds at most `most` tokens, and at least one round if there is one that
/// fits.
pub fn tail_of(segments: &SegmentList, most: Tokens, measure: Measure) -> usize {
    cuts(segments)
        .into_iter()
        .find(|cut| tokens_from(segments, *cut, measure) <= most)
        .unwrap_or(segments.len())
}

/// The records of the segments for which `keep` says yes, as few ranges as name them exactly.
pub fn ranges(segments: &SegmentList, keep: impl Fn(usize) -> bool) -> Vec<SeqRange> {
    let mut records: BTreeMap<Seq, bool> = BTreeMap::new();
    for (at, segment) in segments.iter().enumerate() {
        let kept = records.entry(segment.origin.record).or_default();
        *kept |= keep(at);
    }
    let mut ranges: Vec<SeqRange> = Vec::new();
    let mut open = false;
    for (seq, kept) in records {
        match (kept, ranges.last_mut()) {
            (true, Some(range)) if open => range.last = seq,
            (true, _) => ranges.push(SeqRange {
                first: seq,
                last: seq,
            }),
            (false, _) => {}
        }
        open = kept;
    }
    ranges
}

/// How much stays beside session notes that serve as the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotesTail {
    /// At least so many tokens.
    pub tokens: Tokens,
    /// At least so many messages with text.
    pub messages: usize,
    /// At most so many tokens.
    pub limit: Tokens,
}

/// Why notes cannot serve as the summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotesTailError {
    /// What they cover last is no longer in the prompt.
    #[error("the last message they cover is no longer in the prompt")]
    NotInView,
    /// Too much follows what they cover.
    #[error("{tokens} tokens follow the last message they cover; at most {limit} may stay")]
    TooMuch {
        /// What follows.
        tokens: Tokens,
        /// What may.
        limit: Tokens,
    },
}

/// The cut from which the conversation stays when notes up to `last` replace what is before.
pub fn notes_tail(
    segments: &SegmentList,
    last: Seq,
    rule: NotesTail,
    measure: Measure,
) -> Result<usize, NotesTailError> {
    let covered = segments
        .iter()
        .collect::<Vec<_>>()
        .into_iter()
        .rposition(|segment| segment.origin.record == last);
    let covered = covered.ok_or(NotesTailError::NotInView)?;
    let cuts = cuts(segments);
    let behind = covered + 1;
    // Where nothing follows, nothing has to stay.
    let mut cut = if behind == segments.len() {
        behind
    } else {
        cut_at_or_before(&cuts, behind).unwrap_or(0)
    };
    let tokens = tokens_from(segments, cut, measure);
    if tokens > rule.limit {
        return Err(NotesTailError::TooMuch {
            tokens,
            limit: rule.limit,
        });
    }
    let enough = |cut: usize| {
        tokens_from(segments, cut, measure) >= rule.tokens
            && messages_with_text(segments, cut) >= rule.messages
    };
    while !enough(cut) {
        let earlier = cut
            .checked_sub(1)
            .and_then(|before| cut_at_or_before(&cuts, before));
        match earlier {
            // The summary in front is never kept as it is: it becomes part of the new one.
            Some(earlier)
                if tokens_from(segments, earlier, measure) <= rule.limit
                    && !is_summary(segments, earlier) =>
            {
                cut = earlier;
            }
            _ => break,
        }
    }
    Ok(cut)
}

fn is_summary(segments: &SegmentList, at: usize) -> bool {
    segments
        .get(at)
        .is_some_and(|segment| segment.category == Category::Summary)
}

fn messages_with_text(segments: &SegmentList, from: usize) -> usize {
    let mut count = 0;
    let mut last: Option<Seq> = None;
    for segment in segments.iter().skip(from) {
        let new = last != Some(segment.origin.record);
        if new && segment.block.kind() == BlockKind::Text {
            count += 1;
            last = Some(segment.origin.record);
        }
    }
    count
}
