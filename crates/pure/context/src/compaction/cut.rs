//! Cuts: positions at which a conversation may be divided, and the tail that stays behind one.
//!
//! A cut lies in front of an assistant turn or of a user message, never between a call and its
//! result.

use crate::category::Category;
use crate::clear::Measure;
use crate::segment::{Segment, SegmentList};
use dormouse_core::block::BlockKind;
use dormouse_core::id::Seq;
use dormouse_core::record::{Role, SeqRange};
use dormouse_core::units::Tokens;
use std::collections::BTreeMap;

/// Positions of all cuts, ascending. The first is 0 unless there are no segments.
pub fn cuts(segments: &SegmentList) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut before: Option<Role> = None;
    for (at, segment) in segments.iter().enumerate() {
        let side = side(segment);
        let begins = before.is_none_or(|before| before != side);
        let result = segment.block.kind() == BlockKind::ToolResult;
        // A user turn that begins with results belongs to the calls before it.
        if begins && !result {
            cuts.push(at);
        }
        before = Some(side);
    }
    cuts
}

/// Positions at which rounds begin, behind the summaries of earlier compactions.
pub fn rounds(segments: &SegmentList) -> Vec<usize> {
    let summaries = segments
        .iter()
        .take_while(|segment| segment.category == Category::Summary)
        .count();
    let behind = cuts(segments).into_iter().filter(|cut| *cut >= summaries);
    behind.collect()
}

/// Side that a segment belongs to; system messages are on the user's.
fn side(segment: &Segment) -> Role {
    match segment.role {
        Role::Assistant => Role::Assistant,
        Role::User | Role::System => Role::User,
    }
}

/// Last cut at or before a position.
pub(crate) fn cut_at_or_before(cuts: &[usize], position: usize) -> Option<usize> {
    let after = cuts.partition_point(|cut| *cut <= position);
    after.checked_sub(1).map(|at| cuts[at])
}

/// First cut at or behind a position.
pub fn cut_at_or_after(cuts: &[usize], position: usize) -> Option<usize> {
    let at = cuts.partition_point(|cut| *cut < position);
    cuts.get(at).copied()
}

/// Calibrated tokens from a position to the end.
pub fn tokens_from(segments: &SegmentList, position: usize, measure: Measure) -> Tokens {
    let all = segments.weight(segments.len());
    measure.tokens(&all) - measure.tokens(&segments.weight(position))
}

/// Cut with the longest tail of at most `most` tokens; the end of the segments if not even the last
/// round fits.
pub fn tail_of(segments: &SegmentList, most: Tokens, measure: Measure) -> usize {
    cuts(segments)
        .into_iter()
        .find(|cut| tokens_from(segments, *cut, measure) <= most)
        .unwrap_or(segments.len())
}

/// Records of the segments for which `keep` is true, as the fewest ranges that name no other record
/// of the view.
pub fn ranges(segments: &SegmentList, keep: impl Fn(usize) -> bool) -> Vec<SeqRange> {
    let mut records: BTreeMap<Seq, bool> = BTreeMap::new();
    for (at, segment) in segments.iter().enumerate() {
        // One kept block keeps its whole record.
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

/// Size of the tail that stays beside session notes used as the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotesTail {
    /// Least tokens (`notes.keep_tokens`), as far as `limit` allows.
    pub tokens: Tokens,
    /// Least number of messages with text (`notes.keep_messages`), as far as `limit` allows.
    pub messages: usize,
    /// Most tokens that may stay (`notes.keep_limit`); wins over both minimums.
    pub limit: Tokens,
}

/// Reasons why notes cannot serve as the summary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotesTailError {
    /// A compaction or snip has removed the last message they cover.
    #[error("the last message that the notes cover is no longer in the prompt")]
    NotInView,
    /// The part that the notes do not cover exceeds the limit.
    #[error("{tokens} tokens follow the last message that the notes cover; the limit is {limit}")]
    TooMuch {
        /// Tokens behind the last message covered.
        tokens: Tokens,
        /// Most tokens that may stay (`notes.keep_limit`).
        limit: Tokens,
    },
}

/// Cut from which the conversation stays if notes covering everything up to `last` replace the
/// rest.
pub fn notes_tail(
    segments: &SegmentList,
    last: Seq,
    rule: NotesTail,
    measure: Measure,
) -> Result<usize, NotesTailError> {
    let covered = segments
        .iter()
        // `rposition` needs an exact length, which the chunked iterator lacks.
        .collect::<Vec<_>>()
        .into_iter()
        .rposition(|segment| segment.origin.record == last);
    let covered = covered.ok_or(NotesTailError::NotInView)?;
    let cuts = cuts(segments);
    let behind = covered + 1;
    // Nothing uncovered: the whole conversation may go, and the minimum is met by extending below.
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
            // An earlier summary is not kept verbatim: it becomes part of the new one.
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
