//! Effects of rewrite records on a view.
//!
//! A rewrite is the only thing that changes frozen segments. Each is applied to the whole sequence
//! and followed by a repair ([`crate::normalise`]), so that the result is acceptable to the API
//! even if the record is wrong. Lists in the record are indexed first ([`crate::lookup`]), so that
//! the cost is the sum of conversation and record, not their product.
//!
//! Not here: undo, which folds the path again without the rewrites undone ([`crate::undo`]).

use crate::category::Category;
use crate::layout::Shelf;
use crate::lookup::{Keyed, Spans};
use crate::segment::{Place, Segment};
use crate::tail::Tail;
use crate::view::{View, ViewIssue};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::{BlockKey, CallId};
use dormouse_core::record::{Body, Boundary, Clearing, Distillation, Folding, Record, Role};
use std::collections::HashSet;
use std::sync::Arc;

/// Applies a clearing, snip, fold or boundary record to a view.
pub(crate) fn apply(view: &mut View, record: &Record, place: &Arc<Place>) {
    match &record.body {
        Body::Distilled(distilled) => distil(view, record, place, distilled),
        Body::Cleared(clearing) => clear(view, record, place, clearing),
        Body::Snip(snip) => {
            let ranges = Spans::new(snip.ranges.iter().copied());
            let mut thinking = Keyed::new(snip.thinking.iter().copied());
            keep(view, |segment| {
                !ranges.has(segment.origin.record) && !thinking.has(&segment.origin)
            });
        }
        Body::Fold(folding) => fold(view, record, place, folding),
        Body::Boundary(boundary) => compact(view, record, place, boundary),
        _ => {}
    }
}

/// Removes single blocks from a view.
pub(crate) fn drop_blocks(view: &mut View, keys: &[BlockKey]) {
    if !keys.is_empty() {
        let mut keys = Keyed::new(keys.iter().copied());
        keep(view, |segment| !keys.has(&segment.origin));
    }
}

/// Effect of a rewrite on one segment.
enum Fate<'a> {
    Stays,
    Goes,
    /// The segment keeps its key in the conversation and takes the bytes of the record's block with
    /// this number.
    Gets(&'a Block, &'a Arc<Place>, u32),
    /// The segment is replaced by another one, with a key of its own.
    Becomes(Segment),
}

impl Fate<'_> {
    fn stays_if(stays: bool) -> Self {
        if stays { Self::Stays } else { Self::Goes }
    }

    /// Prefetch: reads the cache lines that [`Self::carry_out`] will need.
    fn touch(&self, segment: &Segment) -> u64 {
        let touch = |block: &Block| {
            let call = block.call().and_then(|call| call.as_str().bytes().next());
            let call = u64::from(call.unwrap_or_default());
            call ^ block.weight().text_bytes ^ block.bytes().len() as u64
        };
        match self {
            Self::Stays => touch(&segment.block) ^ segment.place.seq.get(),
            Self::Gets(block, ..) => touch(block),
            Self::Goes | Self::Becomes(_) => 0,
        }
    }

    fn carry_out(self, segment: &Segment) -> Option<Segment> {
        match self {
            Self::Stays => Some(segment.clone()),
            Self::Goes => None,
            Self::Gets(block, place, index) => Some(Segment {
                block: block.clone(),
                place: Arc::clone(place),
                index,
                ..*segment
            }),
            Self::Becomes(other) => Some(other),
        }
    }
}

/// Edits frozen segments and tail alike, then repairs the frozen ones.
///
/// Copying a segment increments two reference counts, each a cache miss of its own. Touching the
/// lines of a whole run beforehand lets the processor fetch them in parallel, and skips those of
/// removed bytes: a clearing of 50,000 results takes a fifth less time.
fn edit<'a>(view: &mut View, mut decide: impl FnMut(&Segment) -> Fate<'a>) {
    let before = view.frozen().clone();
    view.refreeze(before.runs().flat_map(|run| {
        let fates: Vec<Fate<'_>> = run.clone().map(&mut decide).collect();
        let touched = fates.iter().zip(run.clone());
        let touched = touched.map(|(fate, segment)| fate.touch(segment));
        // Without the black box the compiler removes the reads, as their result is not used.
        std::hint::black_box(touched.fold(0, std::ops::BitXor::bitxor));
        let decided = fates.into_iter().zip(run);
        decided.filter_map(|(fate, segment)| fate.carry_out(segment))
    }));
    let mut edited = |segment: &Segment| decide(segment).carry_out(segment);
    let tail = view.tail();
    let response: Vec<Segment> = tail.response.iter().filter_map(&mut edited).collect();
    let mut incoming: Vec<Segment> = tail.incoming.iter().filter_map(&mut edited).collect();
    // The API refuses a result whose call is gone.
    let calls: HashSet<&CallId> = response.iter().filter_map(made_call).collect();
    incoming.retain(|segment| {
        segment.derived.is_some()
            || segment.category != Category::ToolResults
            || segment
                .block
                .call()
                .is_some_and(|call| calls.contains(call))
    });
    let tail = Tail::new(response, tail.response_id.clone(), incoming);
    view.retail(tail);
}

/// Id of the call that a segment makes, if it makes one.
fn made_call(segment: &Segment) -> Option<&CallId> {
    let call = segment.block.call();
    call.filter(|_| segment.block.kind() == BlockKind::ToolUse)
}

/// Keeps the segments for which `keep` is true.
fn keep(view: &mut View, mut keep: impl FnMut(&Segment) -> bool) {
    edit(view, |segment| Fate::stays_if(keep(segment)));
}

/// Applies distillates. They stand near the end, so only the segments behind the first of them are
/// written again: one per request must not cost a walk over the conversation.
fn distil(view: &mut View, record: &Record, place: &Arc<Place>, distilled: &Distillation) {
    let frozen = view.frozen();
    let mut left = distilled.blocks.len();
    let mut entries = Keyed::new(distilled.blocks.iter().map(|one| one.key));
    // Segments from the end backwards, changed or not, and the position of the first change.
    let mut behind: Vec<Segment> = Vec::new();
    let mut first = frozen.len();
    for at in (0..frozen.len()).rev() {
        let Some(segment) = frozen.get(at).filter(|_| left > 0) else {
            break;
        };
        let entry = entries.find(&segment.origin).filter(|index| {
            // A block for another call, or of another kind, would leave the call without a result.
            let block = &distilled.blocks[*index as usize].block;
            segment.derived.is_none()
                && segment.block.kind() == BlockKind::ToolResult
                && block.kind() == BlockKind::ToolResult
                && block.call() == segment.block.call()
        });
        let fate = match entry {
            Some(index) => {
                left -= 1;
                first = at;
                Fate::Gets(&distilled.blocks[index as usize].block, place, index)
            }
            None => Fate::Stays,
        };
        behind.extend(fate.carry_out(segment));
    }
    if first < frozen.len() {
        behind.truncate(frozen.len() - first);
        behind.reverse();
        view.exchange_from(first, behind);
    }
    if !distilled.thinking.is_empty() {
        drop_blocks(view, &distilled.thinking);
    }
    report_missing(view, record, left);
}

fn clear(view: &mut View, record: &Record, place: &Arc<Place>, clearing: &Clearing) {
    let mut thinking = Keyed::new(clearing.thinking.iter().copied());
    let mut entries = Keyed::new(clearing.blocks.iter().map(|entry| entry.key));
    let mut found = 0;
    edit(view, |segment| {
        if thinking.has(&segment.origin) {
            return Fate::Goes;
        }
        let index = entries.find(&segment.origin);
        // A derived block is computed from its source; there are no recorded bytes to replace.
        match index.filter(|_| segment.derived.is_none()) {
            Some(index) => {
                found += 1;
                Fate::Gets(&clearing.blocks[index as usize].block, place, index)
            }
            None => Fate::Stays,
        }
    });
    report_missing(view, record, clearing.blocks.len().saturating_sub(found));
}

fn fold(view: &mut View, record: &Record, place: &Arc<Place>, folding: &Folding) {
    let spans = Spans::new(folding.spans.iter().map(|span| span.range));
    let mut thinking = Keyed::new(folding.thinking.iter().copied());
    let mut tail = view.tail().response.iter().chain(&view.tail().incoming);
    if tail.any(|segment| spans.has(segment.origin.record)) {
        // A summary line is a user turn and cannot stand inside a response: settle the tail first.
        view.freeze();
    }
    let mut placed = vec![false; folding.spans.len()];
    edit(view, |segment| {
        let Some(index) = spans.find(segment.origin.record) else {
            return Fate::stays_if(!thinking.has(&segment.origin));
        };
        // The first segment of a span is replaced by the line for the whole span.
        if std::mem::replace(&mut placed[index as usize], true) {
            return Fate::Goes;
        }
        Fate::Becomes(Segment {
            role: Role::User,
            block: folding.spans[index as usize].block.clone(),
            origin: BlockKey::new(record.seq, index),
            derived: None,
            category: Category::Summary,
            place: Arc::clone(place),
            index,
        })
    });
    report_missing(
        view,
        record,
        placed.iter().filter(|placed| !**placed).count(),
    );
}

/// Applies a boundary: rebuilds the view from its manifest, with the live segments as the source.
fn compact(view: &mut View, record: &Record, place: &Arc<Place>, boundary: &Boundary) {
    let Some(manifest) = &boundary.manifest else {
        foreign_boundary(view, boundary);
        return;
    };
    let mut shelf = Shelf::default();
    shelf.add_segments(view.frozen().iter());
    shelf.add_segments(&view.tail().response);
    shelf.add_segments(&view.tail().incoming);
    let missing = view.meet_boundary(&mut shelf, record, place, manifest);
    report_missing(view, record, missing);
}

/// Applies another tool's compaction: everything before it is removed, except the records it names
/// as preserved.
fn foreign_boundary(view: &mut View, boundary: &Boundary) {
    let mut kept = Vec::new();
    if let Some(preserved) = &boundary.preserved {
        let all: Vec<Segment> = view.segments().iter().cloned().collect();
        let first = all
            .iter()
            .position(|segment| *segment.record() == preserved.head);
        let last = all
            .iter()
            .rposition(|segment| *segment.record() == preserved.tail);
        // An interval that is not in view, or reversed, keeps nothing: the log is another tool's.
        if let Some((first, last)) = first.zip(last).filter(|(first, last)| first <= last) {
            kept.extend_from_slice(&all[first..=last]);
        }
    }
    view.refreeze(kept);
    view.retail(Tail::default());
}

fn report_missing(view: &mut View, record: &Record, missing: usize) {
    if missing > 0 {
        view.report(ViewIssue::MissingBlocks {
            record: record.id.clone(),
            missing,
        });
    }
}
