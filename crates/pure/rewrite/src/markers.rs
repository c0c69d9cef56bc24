//! Where the cache markers of a rewritten prompt stand.
//!
//! The last one stands in front of the results that are to be distilled, so that these are never
//! written to the cache; one more stays where the last request had its own, which the provider is
//! sure to have. Markers on system prompt and tools are the client's and stay; where a client places
//! none at all, one of ours stands there, so that its next conversation reads what this one wrote.

use crate::body::Body;
use crate::line::{Due, Line, Sent};

/// Markers that the provider accepts in one request.
const MOST: usize = 4;

/// Marker of clients that write none.
const USUAL: &str = r#"{"type":"ephemeral"}"#;

/// Place of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Last block of the boundary.
    Front,
    /// A part of the client.
    Part(usize),
}

/// Markers of one prompt.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// True if the client's markers on messages are replaced by these.
    pub(crate) are_ours: bool,
    pub(crate) places: Vec<Mark>,
    /// True if one stands behind system prompt and tools.
    pub(crate) on_prefix: bool,
    pub(crate) marker: String,
}

/// Parts of a prompt that are long enough for the provider's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cacheable {
    pub(crate) whole: bool,
    /// System prompt and tools by themselves.
    pub(crate) prefix: bool,
}

impl Marks {
    /// Position of the last marker on a part.
    pub(crate) fn last(&self) -> Option<usize> {
        let parts = self.places.iter().filter_map(|mark| match mark {
            Mark::Part(at) => Some(*at),
            Mark::Front => None,
        });
        parts.max()
    }
}

/// Places the markers of a prompt that ends before `end`.
pub(crate) fn place(
    body: &Body,
    sent: &Sent,
    line: &Line,
    due: &[Due],
    (end, cacheable): (usize, Cacheable),
) -> Marks {
    // A conversation with tools goes on, so that writing it to the cache pays once it is long enough
    // to be cached.
    let has_none = body.markers_outside == 0 && !body.is_marked();
    let needs_some = has_none && body.has_tools && cacheable.whole;
    let are_ours = sent.is_rewritten() || !due.is_empty() || needs_some;
    // The provider places a marker by itself, and would count ours beside it.
    if !are_ours || body.automatic {
        return Marks::default();
    }
    let mut marks = Marks {
        are_ours: true,
        places: Vec::new(),
        on_prefix: has_none && body.has_tools && cacheable.prefix,
        marker: body.marker.clone().unwrap_or_else(|| USUAL.to_owned()),
    };
    let outside = body.markers_outside + usize::from(marks.on_prefix);
    let room = MOST.saturating_sub(outside);
    let first_due = due.iter().map(|due| due.at).min().unwrap_or(end).min(end);
    let takes = |at: &usize| body.parts.get(*at).is_some_and(|part| part.takes_marker);
    let last = (sent.start..first_due).rev().find(takes);
    let front = sent.boundary.as_ref().map(|_| Mark::Front);
    marks.places.extend(last.map(Mark::Part).or(front));
    let mut earlier = [line.marked, line.marked_before].into_iter().flatten();
    let before = earlier.find(|at| takes(at) && *at >= sent.start && Some(*at) < last);
    let second = before.map(Mark::Part).or(front);
    marks
        .places
        .extend(second.filter(|second| !marks.places.contains(second)));
    marks.places.truncate(room);
    marks
}
