//! The prompt-cache ledger.
//!
//! Providers cache prefixes: a marker writes an entry at its position, and a later request reads
//! the longest entry that it finds within twenty positions of one of its own markers. The ledger
//! keeps the entries it believes to exist, places the markers of the next request, predicts what
//! will be read, and compares the prediction with what the provider reports. When less was read
//! than was there, it says why.
//!
//! Responsibilities: marker placement, prediction, explanation of breaks.
//! Not here: prices (the model table), and what a provider really does: the simulator implements
//! that on its own, so that the two test each other.

mod explain;
mod markers;
mod shape;

#[cfg(test)]
mod tests;

pub use explain::{BreakCause, Difference};
pub use markers::{MarkerTtls, message_ttl};
pub use shape::{CacheKeys, Shape};

use dormouse_core::hash::Hash;
use dormouse_core::record::{LastRequest, Marker, MarkerPlace, Ttl};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;

/// Positions a provider looks at for each marker, the marker's own included.
pub const LOOKBACK: u64 = 20;
/// Markers a request may carry.
pub const MOST_MARKERS: usize = 4;

/// An entry the provider is believed to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// Identity of everything up to its position.
    key: Hash,
    position: u64,
    tokens: Tokens,
    ttl: Ttl,
    touched: Millis,
}

impl Entry {
    fn lives(&self, now: Millis) -> bool {
        now.since(self.touched) <= self.ttl.millis()
    }
}

/// A request that has left.
#[derive(Clone, Debug)]
struct Sent {
    shape: Shape,
    markers: Vec<Marker>,
    at: Millis,
    predicted: Tokens,
    /// What an unchanged prompt would have read.
    baseline: Tokens,
    cause: Option<BreakCause>,
    announced: Option<String>,
}

/// What will be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The position of the entry that will be found.
    pub hit: Option<u64>,
    /// Tokens up to there.
    pub tokens: Tokens,
}

/// What was read, compared with what was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheReport {
    /// What the ledger expected.
    pub predicted: Tokens,
    /// What the provider read.
    pub read: Tokens,
    /// What an unchanged prompt would have read on top of that.
    pub lost: Tokens,
    /// Why, if something was lost.
    pub cause: Option<BreakCause>,
    /// What had been announced beforehand, if anything.
    pub announced: Option<String>,
}

impl CacheReport {
    /// Whether something was lost that nobody had announced.
    pub fn is_unexpected(&self) -> bool {
        self.cause.is_some() && self.announced.is_none()
    }
}

/// The ledger of one conversation.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: Vec<Entry>,
    last: Option<Sent>,
    /// Tokens that the last response showed to be cached.
    cached: Tokens,
    announced: Option<String>,
}

impl Ledger {
    /// The ledger of a resumed session: what its last request left in the cache. `shape` is the
    /// session as it is now.
    pub fn resumed(shape: &Shape, last: &LastRequest, usage: Option<&TokenUsage>) -> Self {
        let mut ledger = Self::default();
        let mut shape = shape.clone();
        shape
            .segments
            .truncate(usize::try_from(last.segments).unwrap_or(usize::MAX));
        let unchanged = shape.segments.chain(shape.segments.len()) == last.chain;
        let Some(at) = last.at.filter(|_| unchanged) else {
            return ledger;
        };
        ledger.sent(shape, last.markers.clone(), at);
        if let Some(usage) = usage {
            ledger.responded(usage);
        }
        ledger
    }

    /// Announces a break: the next one is expected.
    pub fn announce(&mut self, why: impl Into<String>) {
        self.announced = Some(why.into());
    }

    /// Places the markers of the next request.
    pub fn markers(&self, shape: &Shape, now: Millis, ttls: MarkerTtls) -> Vec<Marker> {
        let previous = self.last.as_ref().and_then(|sent| {
            let marker = sent.markers.last()?;
            let (position, key) = shape.identity(marker.place)?;
            let alive = self
                .entries
                .iter()
                .any(|entry| entry.position == position && entry.key == key && entry.lives(now));
            alive.then_some(marker.place)
        });
        markers::place(shape, previous, ttls)
    }

    /// Predicts what a request with these markers will read.
    pub fn predict(&self, shape: &Shape, markers: &[Marker], now: Millis) -> Prediction {
        let hit = markers.iter().rev().find_map(|marker| {
            let (at, _) = shape.identity(marker.place)?;
            let in_reach = |entry: &&Entry| entry.position <= at && at - entry.position < LOOKBACK;
            self.entries
                .iter()
                .filter(in_reach)
                .filter(|entry| entry.lives(now) && shape.key_at(entry.position) == Some(entry.key))
                .max_by_key(|entry| entry.position)
        });
        Prediction {
            hit: hit.map(|entry| entry.position),
            tokens: hit.map_or(Tokens::ZERO, |entry| entry.tokens),
        }
    }

    /// Whether the cache has lapsed: the last request that touched it is longer ago than the
    /// longest time to live that was sent on messages.
    pub fn is_idle(&self, now: Millis) -> bool {
        self.last
            .as_ref()
            .is_none_or(|sent| now.since(sent.at) > sent.longest_ttl().millis())
    }

    /// The time at which the cache was last used, as far as the ledger knows.
    pub fn last_touched(&self) -> Option<Millis> {
        self.last.as_ref().map(|sent| sent.at)
    }

    /// Notes that a fork has read what the last request left in the cache: it lives on.
    pub fn touched(&mut self, now: Millis) {
        for entry in self.entries.iter_mut().filter(|entry| entry.lives(now)) {
            entry.touched = now;
        }
        if let Some(last) = &mut self.last {
            last.at = last.at.max(now);
        }
    }

    /// Notes that a request has left. Its entries exist from its first response byte on, which
    /// for a conversation with one request at a time is before the next request.
    pub fn sent(&mut self, shape: Shape, markers: Vec<Marker>, now: Millis) -> Prediction {
        let prediction = self.predict(&shape, &markers, now);
        let cause = self.last.as_ref().and_then(|last| {
            let changed = explain::difference(&last.shape, &shape).map(BreakCause::Changed);
            changed.or_else(|| {
                let idle = now.since(last.at);
                (idle > last.longest_ttl().millis()).then_some(BreakCause::Expired { idle })
            })
        });
        self.entries.retain(|entry| entry.lives(now));
        if let Some(hit) = prediction.hit {
            // A read keeps every shorter entry on the same prefix warm.
            for entry in &mut self.entries {
                if entry.position <= hit && shape.key_at(entry.position) == Some(entry.key) {
                    entry.touched = now;
                }
            }
        }
        for marker in &markers {
            let Some((position, key)) = shape.identity(marker.place) else {
                continue;
            };
            let tokens = shape.tokens_upto(position);
            if tokens >= shape.minimum() {
                self.entries.retain(|entry| entry.key != key);
                self.entries.push(Entry {
                    key,
                    position,
                    tokens,
                    ttl: marker.ttl,
                    touched: now,
                });
            }
        }
        self.last = Some(Sent {
            shape,
            markers,
            at: now,
            predicted: prediction.tokens,
            baseline: self.cached,
            cause,
            announced: self.announced.take(),
        });
        prediction
    }

    /// Compares with what the provider reports.
    pub fn responded(&mut self, usage: &TokenUsage) -> Option<CacheReport> {
        /// Providers round, and tokenise across block edges: less than this is no break.
        const SLACK: Tokens = Tokens(1_024);
        let last = self.last.as_ref()?;
        let cached = usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
        let lost = last.baseline - usage.cache_read;
        let broken = lost > SLACK.max(Tokens(last.baseline.get() / 20));
        let report = CacheReport {
            predicted: last.predicted,
            read: usage.cache_read,
            lost: if broken { lost } else { Tokens::ZERO },
            cause: broken.then(|| last.cause.clone().unwrap_or(BreakCause::Unexplained)),
            announced: last.announced.clone().filter(|_| broken),
        };
        self.cached = cached;
        // The provider's figure for the last marker replaces the estimate.
        if let Some(position) = last
            .markers
            .last()
            .and_then(|m| last.shape.identity(m.place))
        {
            for entry in self
                .entries
                .iter_mut()
                .filter(|entry| entry.key == position.1)
            {
                entry.tokens = cached;
            }
        }
        Some(report)
    }
}

impl Sent {
    fn longest_ttl(&self) -> Ttl {
        let on_messages = |marker: &&Marker| matches!(marker.place, MarkerPlace::Segment(_));
        let ttls = self
            .markers
            .iter()
            .filter(on_messages)
            .map(|marker| marker.ttl);
        ttls.max().unwrap_or_default()
    }
}
