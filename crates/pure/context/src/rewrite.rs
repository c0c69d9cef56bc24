//! What rewrites do to a view.
//!
//! A rewrite is the only thing that changes what was already sent. Each is applied to the whole
//! sequence and followed by [`normalise`], so that the result is acceptable whatever the record
//! says. Undoing is not here: it folds the path again without the rewrites undone
//! ([`crate::undo`]).

use crate::layout::Shelf;
use crate::normalise::normalise;
use crate::segment::{Place, Segment};
use crate::tail::Tail;
use crate::view::{View, ViewIssue};
use dormouse_core::id::BlockKey;
use dormouse_core::record::{Body, Boundary, Clearing, Folding, Record, Role, SeqRange};
use std::sync::Arc;

/// Applies a rewrite.
pub(crate) fn apply(view: &mut View, record: &Record, place: &Arc<Place>) {
    match &record.body {
        Body::Cleared(clearing) => clear(view, record, place, clearing),
        Body::Snip(snip) => {
            let gone = |segment: &Segment| {
                in_ranges(&snip.ranges, segment) || snip.thinking.contains(&segment.origin)
            };
            keep(view, |segment| !gone(segment));
        }
        Body::Fold(folding) => fold(view, record, place, folding),
        Body::Boundary(boundary) => compact(view, record, place, boundary),
        _ => {}
    }
}

/// Takes single blocks out of the view.
pub(crate) fn drop_blocks(view: &mut View, keys: &[BlockKey]) {
    if !keys.is_empty() {
        keep(view, |segment| !keys.contains(&segment.origin));
    }
}

fn in_ranges(ranges: &[SeqRange], segment: &Segment) -> bool {
    ranges
        .iter()
        .any(|range| range.contains(segment.origin.record))
}

/// Edits fixed segments and tail alike, then repairs the fixed ones.
fn edit(view: &mut View, mut each: impl FnMut(Segment) -> Option<Segment>) {
    let frozen: Vec<Segment> = view
        .frozen()
        .iter()
        .cloned()
        .filter_map(&mut each)
        .collect();
    let tail = Tail {
        response: view
            .tail()
            .response
            .iter()
            .cloned()
            .filter_map(&mut each)
            .collect(),
        response_id: view.tail().response_id.clone(),
        incoming: view
            .tail()
            .incoming
            .iter()
            .cloned()
            .filter_map(&mut each)
            .collect(),
    };
    replace(view, frozen, tail);
}

fn keep(view: &mut View, keep: impl Fn(&Segment) -> bool) {
    edit(view, |segment| keep(&segment).then_some(segment));
}

/// Results in the tail whose calls are gone cannot stay there.
fn replace(view: &mut View, frozen: Vec<Segment>, mut tail: Tail) {
    let calls = tail.clone();
    tail.incoming.retain(|segment| {
        segment.derived.is_some()
            || segment.category != crate::category::Category::ToolResults
            || segment
                .block
                .call()
                .is_some_and(|call| calls.has_call(call))
    });
    view.rewritten(normalise(frozen), tail);
}

fn clear(view: &mut View, record: &Record, place: &Arc<Place>, clearing: &Clearing) {
    let mut found = 0;
    edit(view, |mut segment| {
        if clearing.thinking.contains(&segment.origin) {
            return None;
        }
        let entry = (0_u32..)
            .zip(&clearing.blocks)
            .find(|(_, entry)| entry.key == segment.origin);
        if let Some((index, entry)) = entry.filter(|_| segment.derived.is_none()) {
            found += 1;
            segment.block = entry.block.clone();
            segment.place = Arc::clone(place);
            segment.index = index;
        }
        Some(segment)
    });
    report_missing(view, record, clearing.blocks.len().saturating_sub(found));
}

fn fold(view: &mut View, record: &Record, place: &Arc<Place>, folding: &Folding) {
    let tail = view.tail().response.iter().chain(&view.tail().incoming);
    let in_span = |segment: &Segment| {
        folding
            .spans
            .iter()
            .any(|span| span.range.contains(segment.origin.record))
    };
    if tail.into_iter().any(in_span) {
        // A line on the user's side cannot stand inside a response: the tail is settled first.
        view.freeze();
    }
    let mut placed = vec![false; folding.spans.len()];
    edit(view, |segment| {
        let span = (0_u32..)
            .zip(&folding.spans)
            .find(|(_, span)| span.range.contains(segment.origin.record));
        let Some((index, span)) = span else {
            return (!folding.thinking.contains(&segment.origin)).then_some(segment);
        };
        // The first segment of a span gives its place to the line that stands for all of it.
        let first = !std::mem::replace(&mut placed[index as usize], true);
        first.then(|| Segment {
            role: Role::User,
            block: span.block.clone(),
            origin: BlockKey::new(record.seq, index),
            derived: None,
            category: crate::category::Category::Summary,
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

fn compact(view: &mut View, record: &Record, place: &Arc<Place>, boundary: &Boundary) {
    let Some(manifest) = &boundary.manifest else {
        foreign_boundary(view, boundary);
        return;
    };
    let mut shelf = Shelf::default();
    shelf.add_segments(view.frozen().iter());
    shelf.add_segments(&view.tail().response);
    shelf.add_segments(&view.tail().incoming);
    shelf.add_record(record, place);
    let missing = view.build(&shelf, manifest);
    report_missing(view, record, missing);
}

/// Another tool's compaction: everything before it is gone, except what it says it kept.
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
        if let Some((first, last)) = first.zip(last).filter(|(first, last)| first <= last) {
            kept.extend_from_slice(&all[first..=last]);
        }
    }
    view.rewritten(normalise(kept), Tail::default());
}

fn report_missing(view: &mut View, record: &Record, missing: usize) {
    if missing > 0 {
        view.report(ViewIssue::MissingBlocks {
            record: record.id.clone(),
            missing,
        });
    }
}
