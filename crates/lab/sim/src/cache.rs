//! The provider's prompt cache.
//!
//! Model: an entry stands for a whole prefix, by its digest. A request may write one entry per
//! marker, at the marker's position and nowhere else. It reads the longest prefix found by walking
//! back from each marker, the last one first, over at most twenty positions. An entry can be read
//! once the answer of its writer has begun, until its lifetime after the start of the request that
//! last used it.
//!
//! Looking up and committing are two steps: a request that is refused in between leaves no trace.
//!
//! Not here: the digest of a prefix (see [`crate::prompt`]), and prices.

use crate::blocks::Ttl;
use crate::config::CacheMode;
use crate::digest::Digest;
use crate::prompt::{Position, Prompt};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use std::collections::HashMap;

/// Positions looked at from a marker, the marker's own included: the provider's documented figure.
const LOOKBACK: usize = 20;

/// Commits between two sweeps of dead entries: often enough to bound memory, seldom enough not to
/// be felt.
const SWEEP_EVERY: u64 = 4_096;

#[derive(Clone, Copy, Debug)]
struct Entry {
    ttl: Ttl,
    readable_from: Millis,
    expires: Millis,
}

impl Entry {
    fn is_readable(&self, now: Millis) -> bool {
        self.readable_from <= now && now < self.expires
    }
}

/// Split of a request's prompt tokens by price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Billing {
    /// Tokens read from the cache.
    pub read: u64,
    /// Tokens written for an hour.
    pub write_1h: u64,
    /// Tokens written for five minutes.
    pub write_5m: u64,
    /// Tokens neither read nor written.
    pub input: u64,
    /// Index of the position that was hit.
    pub hit: Option<usize>,
}

impl Billing {
    pub(crate) fn usage(&self, output: u64) -> TokenUsage {
        TokenUsage {
            input: Tokens(self.input),
            cache_read: Tokens(self.read),
            cache_write_5m: Tokens(self.write_5m),
            cache_write_1h: Tokens(self.write_1h),
            output: Tokens(output),
        }
    }
}

/// All entries of all accounts; the accounts are part of the digests.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    entries: HashMap<Digest, Entry>,
    commits: u64,
    mode: CacheMode,
}

impl Cache {
    pub(crate) fn new(mode: CacheMode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    fn look_perfectly(&self, prompt: &Prompt) -> Billing {
        let known = |position: &Position| self.entries.contains_key(&position.digest);
        let (hit, read) = longest_prefix(prompt, known);
        Billing {
            read,
            write_5m: prompt.tokens - read,
            hit,
            ..Billing::default()
        }
    }

    /// The longest prefix that is warm is read; the rest is plain input.
    fn look_automatically(&self, prompt: &Prompt, minimum: u64, now: Millis) -> Billing {
        let warm = |position: &Position| {
            let entry = self.entries.get(&position.digest);
            position.tokens >= minimum && entry.is_some_and(|entry| entry.is_readable(now))
        };
        let (hit, read) = longest_prefix(prompt, warm);
        Billing {
            read,
            input: prompt.tokens - read,
            hit,
            ..Billing::default()
        }
    }

    /// The billing of a request, without changing anything.
    pub(crate) fn look(&self, prompt: &Prompt, minimum: u64, now: Millis) -> Billing {
        match self.mode {
            CacheMode::Perfect => return self.look_perfectly(prompt),
            CacheMode::Automatic => return self.look_automatically(prompt, minimum, now),
            CacheMode::Marked => {}
        }
        let positions = &prompt.positions;
        let is_breakpoint =
            |at: &usize| positions[*at].marker.is_some() && positions[*at].tokens >= minimum;
        let breakpoints: Vec<usize> = (0..positions.len()).filter(is_breakpoint).collect();
        // The last marker first: the provider takes the longest prefix it can find.
        let hit = breakpoints
            .iter()
            .rev()
            .find_map(|at| self.walk_back(positions, *at, now));

        // A, B and C of the billing rule, as tokens: the hit, the last hour marker after it, the
        // last marker.
        let tokens_at = |at: usize| positions[at].tokens;
        let a = hit.map_or(0, tokens_at);
        let hour = |at: &&usize| positions[**at].marker == Some(Ttl::OneHour);
        let b = breakpoints
            .iter()
            .rev()
            .find(hour)
            .map_or(a, |at| tokens_at(*at).max(a));
        // A marker below the minimum writes nothing, and its tokens are plain input.
        let c = breakpoints.last().map_or(a, |at| tokens_at(*at).max(b));
        Billing {
            read: a,
            write_1h: b - a,
            write_5m: c - b,
            input: prompt.tokens - c,
            hit,
        }
    }

    fn walk_back(&self, positions: &[Position], from: usize, now: Millis) -> Option<usize> {
        let mut looked = 0;
        for at in (0..=from).rev() {
            // Tools may be set not to count, see `Switches::tools_take_positions`.
            looked += usize::from(positions[at].counts);
            if looked > LOOKBACK {
                return None;
            }
            let entry = self.entries.get(&positions[at].digest);
            if entry.is_some_and(|entry| entry.is_readable(now)) {
                return Some(at);
            }
        }
        None
    }

    /// Writes the entries that [`Self::look`] billed, and keeps those warm that were read through.
    pub(crate) fn commit(
        &mut self,
        prompt: &Prompt,
        billing: &Billing,
        minimum: u64,
        now: Millis,
        first_byte: Millis,
    ) {
        // Entries inside the read prefix are used too, and live on.
        let read = billing.hit.map_or(0, |at| at + 1);
        let (warm, cold) = prompt.positions.split_at(read);
        if self.mode == CacheMode::Perfect {
            let entry = Entry {
                ttl: Ttl::OneHour,
                readable_from: now,
                expires: Millis(i64::MAX),
            };
            self.entries
                .extend(cold.iter().map(|position| (position.digest, entry)));
            return;
        }
        for position in warm {
            if let Some(entry) = self.entries.get_mut(&position.digest)
                && entry.is_readable(now)
            {
                // Never shortened: an entry written for an hour stays so when read through a short
                // marker.
                entry.expires = entry.expires.max(entry.ttl.after(now));
            }
        }
        for position in cold {
            let ttl = match self.mode {
                CacheMode::Automatic => Some(Ttl::FiveMinutes),
                CacheMode::Marked | CacheMode::Perfect => position.marker,
            };
            if let Some(ttl) = ttl.filter(|_| position.tokens >= minimum) {
                self.write(position.digest, ttl, now, first_byte);
            }
        }
        self.commits += 1;
        // Dead entries are never read, so a sweep changes no answer.
        if self.commits.is_multiple_of(SWEEP_EVERY) {
            self.entries.retain(|_, entry| now < entry.expires);
        }
    }

    fn write(&mut self, digest: Digest, ttl: Ttl, now: Millis, first_byte: Millis) {
        let fresh = Entry {
            ttl,
            readable_from: first_byte,
            expires: ttl.after(now),
        };
        let entry = self.entries.entry(digest).or_insert(fresh);
        if now < entry.expires {
            // Another request is writing the same prefix right now, or wrote it for longer: the
            // earlier one decides from when it can be read, the longer one until when.
            entry.readable_from = entry.readable_from.min(fresh.readable_from);
            entry.ttl = entry.ttl.max(ttl);
            entry.expires = entry.expires.max(fresh.expires);
        } else {
            *entry = fresh;
        }
    }
}

/// Position that ends the longest known prefix, and the tokens up to it.
fn longest_prefix(prompt: &Prompt, is_known: impl Fn(&Position) -> bool) -> (Option<usize>, u64) {
    let hit = prompt.positions.iter().rposition(is_known);
    (hit, hit.map_or(0, |at| prompt.positions[at].tokens))
}
