//! Causes of a cache break: the first difference between two requests.

use super::Shape;
use crate::prefix::Part;
use dormouse_core::show::Grouped;
use std::fmt;

/// First difference between two requests, in cache order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Model of the request.
    Model {
        /// Model of the earlier request.
        from: String,
        /// Model of the later request.
        to: String,
    },
    /// Tool definition that was added, removed, moved or changed.
    Tool {
        /// Name of the tool.
        name: String,
        /// Change that lost the cache.
        what: PartChange,
    },
    /// System block that was added, removed or changed.
    System {
        /// Number of the block, from one.
        block: usize,
        /// Change that lost the cache.
        what: PartChange,
    },
    /// Instruction fragment that was added, removed or changed.
    Instructions {
        /// Name of the fragment.
        name: String,
        /// Change that lost the cache.
        what: PartChange,
    },
    /// Parameter that is part of the cache key: thinking, effort, tool choice or speed.
    Parameters,
    /// Segment of the conversation.
    Segment {
        /// Position of the segment, from zero.
        at: usize,
    },
    /// End of the conversation removed, the rest unchanged.
    Shortened {
        /// Number of segments left.
        to: usize,
    },
}

/// Change of one part of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartChange {
    /// Same name, other bytes.
    Changed {
        /// Offset of the first byte that differs.
        at: usize,
    },
    /// New, or in the place of another part.
    Added,
    /// Missing from the later request.
    Removed,
}

/// Reason why less was read than was cached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BreakCause {
    /// The prompt differs from the cached one.
    Changed(Difference),
    /// The entries had expired.
    Expired {
        /// Milliseconds since the last request.
        idle: u64,
    },
    /// No cause on this side: the provider dropped the entry.
    Unexplained,
}

/// First difference; `None` if the later request continues the earlier one.
pub(super) fn difference(before: &Shape, now: &Shape) -> Option<Difference> {
    if before.keys.model != now.keys.model {
        return Some(Difference::Model {
            from: before.keys.model.clone(),
            to: now.keys.model.clone(),
        });
    }
    if let Some((_, name, what)) = parts(before.prefix.tools(), now.prefix.tools()) {
        return Some(Difference::Tool { name, what });
    }
    if let Some((index, _, what)) = parts(before.prefix.system(), now.prefix.system()) {
        return Some(Difference::System {
            block: index + 1,
            what,
        });
    }
    // Keyed parameters come behind tools and system in the cache order, and before messages.
    if before.keys != now.keys {
        return Some(Difference::Parameters);
    }
    if let Some((_, name, what)) = parts(before.prefix.fragments(), now.prefix.fragments()) {
        return Some(Difference::Instructions { name, what });
    }
    segments(before, now)
}

/// First part that differs between two lists: index, name and change.
fn parts(before: &[Part], now: &[Part]) -> Option<(usize, String, PartChange)> {
    let index = (0..before.len().max(now.len()))
        .find(|index| before.get(*index).map(|p| p.hash) != now.get(*index).map(|p| p.hash))?;
    Some(match (before.get(index), now.get(index)) {
        (Some(old), Some(new)) if old.name == new.name => {
            let same = old
                .bytes
                .iter()
                .zip(&new.bytes)
                .take_while(|(a, b)| a == b)
                .count();
            (index, new.name.clone(), PartChange::Changed { at: same })
        }
        (Some(old), None) => (index, old.name.clone(), PartChange::Removed),
        (Some(old), Some(new)) => {
            // A name that still exists later in the list was pushed back by an added part.
            if now.iter().any(|part| part.name == old.name) {
                (index, new.name.clone(), PartChange::Added)
            } else {
                (index, old.name.clone(), PartChange::Removed)
            }
        }
        (None, new) => (
            index,
            new.map(|p| p.name.clone()).unwrap_or_default(),
            PartChange::Added,
        ),
    })
}

/// First segment that differs. Chains agree up to it and never after it, so bisect.
fn segments(before: &Shape, now: &Shape) -> Option<Difference> {
    let common = before.segments.len().min(now.segments.len());
    let same = |count: usize| before.segments.chain(count) == now.segments.chain(count);
    // The common part is equal: the conversation was continued, or cut at its end.
    if same(common) {
        let cut = now.segments.len() < before.segments.len();
        return cut.then_some(Difference::Shortened {
            to: now.segments.len(),
        });
    }
    let (mut low, mut high) = (0, common);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if same(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(Difference::Segment { at: low })
}

impl fmt::Display for PartChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { at } => write!(f, "changed at byte {}", Grouped(*at as u64)),
            Self::Added => f.write_str("was added"),
            Self::Removed => f.write_str("was removed"),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { from, to } => write!(f, "model changed from {from} to {to}"),
            Self::Tool { name, what } => write!(f, "tool `{name}` {what}"),
            Self::System { block, what } => write!(f, "system block {block} {what}"),
            Self::Instructions { name, what } => write!(f, "instructions `{name}` {what}"),
            Self::Parameters => f.write_str("thinking, effort or tool choice changed"),
            Self::Segment { at } => write!(f, "message segment {} changed", Grouped(*at as u64)),
            Self::Shortened { to } => {
                write!(
                    f,
                    "the conversation was cut to {} segments",
                    Grouped(*to as u64)
                )
            }
        }
    }
}

impl fmt::Display for BreakCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(difference) => difference.fmt(f),
            Self::Expired { idle } => write!(f, "cache expired: {} min idle", idle / 60_000),
            Self::Unexplained => f.write_str("the provider dropped the entry"),
        }
    }
}
