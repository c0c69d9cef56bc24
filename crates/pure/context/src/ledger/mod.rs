//! The prompt-cache ledger.
//!
//! Providers cache prefixes: a marker writes an entry at its position, and a later request reads
//! the longest entry within the lookback of one of its own markers. The ledger keeps the entries it
//! believes to exist, places the markers of the next request, predicts the cache hit, and compares
//! the prediction with the usage that the provider reports. If less was read than was cached, it
//! names the cause.
//!
//! Responsibilities: marker placement, prediction, explanation of breaks.
//!
//! Not here: prices (the model table), and the provider's real behaviour: the simulator implements
//! that independently, so that the two test each other.

mod explain;
mod markers;
mod shape;

#[cfg(test)]
mod tests;

pub use explain::{BreakCause, Difference};
pub use markers::{MarkerTtls, message_ttl};
pub use shape::{CacheKeys, Key, Shape};

use dormouse_core::record::{LastRequest, Marker, MarkerPlace, Ttl};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;

/// Positions searched backwards from each marker, its own included; the provider's documented
/// limit.
pub const LOOKBACK: u64 = 20;
/// Most markers in one request; the provider refuses more.
pub const MOST_MARKERS: usize = 4;

/// A cache entry that the provider is believed to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// Everything up to and including its position.
    key: Key,
    /// Position in cache order, prefix parts included.
    position: u64,
    /// Tokens up to there; estimated until a response reports them.
    tokens: Tokens,
    ttl: Ttl,
    /// Time of the last read or write, from which the lifetime counts.
    touched: Millis,
}

impl Entry {
    /// True if the entry has not expired.
    fn lives(&self, now: Millis) -> bool {
        now.since(self.touched) <= self.ttl.millis()
    }
}

/// A request that was sent.
#[derive(Clone, Debug)]
struct Sent {
    shape: Shape,
    markers: Vec<Marker>,
    at: Millis,
    predicted: Tokens,
    /// Tokens that an unchanged prompt would have read.
    baseline: Tokens,
    /// Cause of a break, found when the request was sent; used only if the response shows one.
    cause: Option<BreakCause>,
    /// Reason announced beforehand, such as a compaction.
    announced: Option<String>,
}

/// Expected cache hit of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Position of the entry that will be read; `None` for a miss.
    pub hit: Option<u64>,
    /// Tokens up to that position.
    pub tokens: Tokens,
}

/// Comparison of a response's cache usage with the expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheReport {
    /// Tokens that the ledger expected to be read.
    pub predicted: Tokens,
    /// Tokens that the provider read.
    pub read: Tokens,
    /// Tokens that an unchanged prompt would have read beyond that; zero within the tolerance.
    pub lost: Tokens,
    /// Cause, if tokens were lost.
    pub cause: Option<BreakCause>,
    /// Reason announced beforehand, if tokens were lost.
    pub announced: Option<String>,
}

impl CacheReport {
    /// True if tokens were lost without an announcement.
    pub fn is_unexpected(&self) -> bool {
        self.cause.is_some() && self.announced.is_none()
    }
}

/// Cache ledger of one conversation.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: Vec<Entry>,
    last: Option<Sent>,
    /// Tokens that the last response read or wrote, and that are therefore cached.
    cached: Tokens,
    /// Announcement for the next request.
    announced: Option<String>,
}

impl Ledger {
    /// Ledger of a resumed session, with the entries of its last request. `shape` is the session as
    /// it is now.
    pub fn resumed(shape: &Shape, last: &LastRequest, usage: Option<&TokenUsage>) -> Self {
        let mut ledger = Self::default();
        let mut shape = shape.clone();
        shape
            .segments
            .truncate(usize::try_from(last.segments).unwrap_or(usize::MAX));
        // After a rewrite the recorded markers point at other content; start with an empty ledger.
        let mut unchanged = shape.segments.chain(shape.segments.len()) == last.chain;
        // A distillation changes what lies behind the last marker; the cached part is as it was.
        if let (false, Some(marked)) = (unchanged, last.marked)
            && let Some(MarkerPlace::Segment(at)) = last.markers.last().map(|marker| marker.place)
        {
            let upto = usize::try_from(at).unwrap_or(usize::MAX).saturating_add(1);
            shape.segments.truncate(upto);
            unchanged = shape.segments.chain(shape.segments.len()) == marked;
        }
        let Some(at) = last.at.filter(|_| unchanged) else {
            return ledger;
        };
        ledger.sent(shape, last.markers.clone(), at);
        if let Some(usage) = usage {
            ledger.responded(usage);
        }
        ledger
    }

    /// Announces a break, so that the next report does not count as unexpected.
    pub fn announce(&mut self, why: impl Into<String>) {
        self.announced = Some(why.into());
    }

    /// Markers for the next request.
    pub fn markers(&self, shape: &Shape, now: Millis, ttls: MarkerTtls) -> Vec<Marker> {
        // A marker on an expired or changed entry would waste one of the four.
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

    /// Expected cache hit of a request with these markers.
    pub fn predict(&self, shape: &Shape, markers: &[Marker], now: Millis) -> Prediction {
        // The last marker with an entry in reach has the longest prefix, so search from the end.
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

    /// True if the cache has expired: the last request is longer ago than the longest lifetime sent
    /// on messages.
    pub fn is_idle(&self, now: Millis) -> bool {
        self.last
            .as_ref()
            .is_none_or(|sent| now.since(sent.at) > sent.longest_ttl().millis())
    }

    /// Time of the last request or fork that used the cache.
    pub fn last_touched(&self) -> Option<Millis> {
        self.last.as_ref().map(|sent| sent.at)
    }

    /// Records that a fork has read the last request's entries, which renews them.
    pub fn touched(&mut self, now: Millis) {
        for entry in self.entries.iter_mut().filter(|entry| entry.lives(now)) {
            entry.touched = now;
        }
        if let Some(last) = &mut self.last {
            last.at = last.at.max(now);
        }
    }

    /// Records that a request was sent. Its entries exist from the first byte of its response on;
    /// with one request at a time that is before the next request.
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
            // A read renews every shorter entry on the same prefix.
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
            // The provider ignores markers on prefixes below the model's minimum.
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

    /// Compares a response's usage with the expectation, and corrects the entries.
    pub fn responded(&mut self, usage: &TokenUsage) -> Option<CacheReport> {
        /// Tolerance in tokens: providers round, and tokenise across block edges.
        const SLACK: Tokens = Tokens(1_024);
        let last = self.last.as_ref()?;
        let cached = usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
        let lost = last.baseline - usage.cache_read;
        // Large prompts get 5 % instead: the rounding grows with the number of blocks.
        let broken = lost > SLACK.max(Tokens(last.baseline.get() / 20));
        let report = CacheReport {
            predicted: last.predicted,
            read: usage.cache_read,
            lost: if broken { lost } else { Tokens::ZERO },
            cause: broken.then(|| last.cause.clone().unwrap_or(BreakCause::Unexplained)),
            announced: last.announced.clone().filter(|_| broken),
        };
        self.cached = cached;
        // The provider's count for the last marker replaces the estimate.
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
    /// Longest lifetime on messages; the prefix may live longer without the messages.
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
