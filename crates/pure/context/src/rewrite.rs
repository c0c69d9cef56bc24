//! What rewrites do to a view.
//!
//! A rewrite is the only thing that changes what was already sent. Each is applied to the whole
//! sequence and followed by a repair ([`crate::normalise`]), so that the result is acceptable whatever the record
//! says. Undoing is not here: it folds the path again without the rewrites undone
//! ([`crate::undo`]).
//!
//! Each costs what the conversation and the record hold together, never their product: lists are
//! indexed before the segments are met ([`crate::lookup`]).

use crate::category::Category;
use crate::layout::Shelf;
use crate::lookup::{Keyed, Spans};
use crate::segment::{Place, Segment};
use crate::tail::Tail;
use crate::view::{View, ViewIssue};
use dormouse_core::block::BlockKind;
use dormouse_core::id::{BlockKey, CallId};
use dormouse_core::record::{Body, Boundary, Clearing, Folding, Record, Role};
use std::collections::HashSet;
use std::sync::Arc;

/// Applies a rewrite.
pub(crate) fn apply(view: &mut View, record: &Record, place: &Arc<Place>) {
    match &record.body {
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

/// Takes single blocks out of the view.
pub(crate) fn drop_blocks(view: &mut View, keys: &[BlockKey]) {
    if !keys.is_empty() {
        let mut keys = Keyed::new(keys.iter().copied());
        keep(view, |segment| !keys.has(&segment.origin));
    }
}

/// Edits fixed segments and tail alike, then repairs the fixed ones.
fn edit(view: &mut View, mut each: impl FnMut(Segment) -> Option<Segment>) {
    let before = view.frozen().clone();
    view.refreeze(before.copies().filter_map(&mut each));
    let tail = view.tail();
    let response = tail.response.iter().cloned();
    let response: Vec<Segment> = response.filter_map(&mut each).collect();
    let incoming = tail.incoming.iter().cloned();
    let mut incoming: Vec<Segment> = incoming.filter_map(&mut each).collect();
    // Results in the tail whose calls are gone cannot stay there.
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

fn made_call(segment: &Segment) -> Option<&CallId> {
    let call = segment.block.call();
    call.filter(|_| segment.block.kind() == BlockKind::ToolUse)
}

fn keep(view: &mut View, mut keep: impl FnMut(&Segment) -> bool) {
    edit(view, |segment| keep(&segment).then_some(segment));
}

fn clear(view: &mut View, record: &Record, place: &Arc<Place>, clearing: &Clearing) {
    let mut thinking = Keyed::new(clearing.thinking.iter().copied());
    let mut entries = Keyed::new(clearing.blocks.iter().map(|entry| entry.key));
    let mut found = 0;
    edit(view, |mut segment| {
        if thinking.has(&segment.origin) {
            return None;
        }
        let index = entries.find(&segment.origin);
        if let Some(index) = index.filter(|_| segment.derived.is_none()) {
            found += 1;
            segment.block = clearing.blocks[index as usize].block.clone();
            segment.place = Arc::clone(place);
            segment.index = index;
        }
        Some(segment)
    });
    report_missing(view, record, clearing.blocks.len().saturating_sub(found));
}

fn fold(view: &mut View, record: &Record, place: &Arc<Place>, folding: &Folding) {
    let spans = Spans::new(folding.spans.iter().map(|span| span.range));
    let mut thinking = Keyed::new(folding.thinking.iter().copied());
    let mut tail = view.tail().response.iter().chain(&view.tail().incoming);
    if tail.any(|segment| spans.has(segment.origin.record)) {
        // A line on the user's side cannot stand inside a response: the tail is settled first.
        view.freeze();
    }
    let mut placed = vec![false; folding.spans.len()];
    edit(view, |segment| {
        let Some(index) = spans.find(segment.origin.record) else {
            return (!thinking.has(&segment.origin)).then_some(segment);
        };
        // The first segment of a span gives its place to the line that stands for all of it.
        let first = !std::mem::replace(&mut placed[index as usize], true);
        first.then(|| Segment {
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
