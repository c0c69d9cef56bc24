//! Parts of a response's prompt: results of tools, repeated reads, tokens lost by the cache.
//!
//! # Model
//! A [`Meter`] follows one conversation: calls, results, compactions and responses in their order.
//! At a response the results that are new and those that are carried along are known, and the
//! provider says how many tokens it read from the cache. Carried results are taken to be among
//! those read, as far as these reach; all others are among the rest, which was written or sent in
//! full. The outcome is a [`PromptParts`], to which the prices of the response are applied.
//!
//! Tokens of results are estimated from their bytes. They never come to more than the provider
//! counted, so that the parts of a response's cost cannot exceed it.
//!
//! # Not here
//! Sums over responses: [`crate::usage_book`]. Reading a log: `store`.

use crate::models::{PriceSet, Ratio};
use crate::units::Tokens;
use crate::usage::{TokenUsage, Usd};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

#[cfg(test)]
#[path = "meter_tests.rs"]
mod tests;

/// Smallest number of tokens that count as lost: below it, providers' rounding to blocks of the
/// cache looks the same.
const LEAST_LOST: u64 = 1_024;
/// Share of the cached tokens, as a divisor, that has to be missing for a break.
const LOST_SHARE: u64 = 20;

/// Bytes of results in a prompt, by whether the same file had been read before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bytes {
    all: u64,
    again: u64,
    /// Number of results that the bytes belong to.
    results: u64,
}

impl Bytes {
    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.again += other.again;
        self.results += other.results;
    }
}

/// Results of one tool in a prompt, in tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPart {
    /// Name of the tool.
    pub tool: Arc<str>,
    /// Tokens of its results that were read from the cache.
    pub read: Tokens,
    /// Tokens of its results that were written to the cache or sent in full.
    pub rest: Tokens,
    /// Tokens among those read that repeat a file read before.
    pub again_read: Tokens,
    /// Tokens among the rest that do.
    pub again_rest: Tokens,
    /// Number of results that this prompt was the first to carry.
    pub results: u64,
    /// Tokens of the results that are new.
    pub fresh: Tokens,
    /// Tokens of those among them that repeat a file read before.
    pub fresh_again: Tokens,
}

/// Parts of the prompt of one response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptParts {
    /// Results by tool, in the order of their names.
    pub tools: Vec<ToolPart>,
    /// Tokens that the cache held after the response before and that were not read from it.
    pub lost: Tokens,
}

/// Cost of a part of the prompt, at the prices of its response.
#[derive(Clone, Copy, Debug)]
pub struct PartPrices<'p> {
    prices: &'p PriceSet,
    rest_cost: Usd,
    rest: u64,
}

impl<'p> PartPrices<'p> {
    /// Prices of a response with this usage.
    pub fn new(prices: &'p PriceSet, usage: &TokenUsage) -> Self {
        let rest = TokenUsage {
            cache_read: Tokens::ZERO,
            output: Tokens::ZERO,
            ..*usage
        };
        Self {
            prices,
            rest_cost: prices.cost(&rest),
            rest: rest.prompt().get(),
        }
    }

    /// Cost of tokens that were not read from the cache: their share of what those cost.
    fn rest(&self, tokens: Tokens) -> Usd {
        // A prompt that was read whole has no rest, and no part of it.
        let whole = i128::from(self.rest.max(1));
        Usd::from_pico(self.rest_cost.pico() * i128::from(tokens.get()) / whole)
    }

    /// Cost of a tool's results in this prompt.
    pub fn tool(&self, part: &ToolPart) -> Usd {
        self.prices.read.of(part.read) + self.rest(part.rest)
    }

    /// Cost of the part of them that repeats a file read before.
    pub fn again(&self, part: &ToolPart) -> Usd {
        self.prices.read.of(part.again_read) + self.rest(part.again_rest)
    }

    /// Cost of lost tokens above that of reading them.
    pub fn lost(&self, tokens: Tokens) -> Usd {
        let above = self.rest(tokens) - self.prices.read.of(tokens);
        above.max(Usd::ZERO)
    }
}

/// A call that has no result yet.
#[derive(Clone, Debug)]
struct Call {
    tool: Arc<str>,
    /// Set if the same file was read before.
    again: bool,
}

/// Follows one conversation, prompt by prompt.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    calls: HashMap<String, Call>,
    reads: HashSet<String>,
    carried: BTreeMap<Arc<str>, Bytes>,
    fresh: BTreeMap<Arc<str>, Bytes>,
    /// Tokens that the cache holds since the last response.
    cached: Option<Tokens>,
}

impl Meter {
    /// Takes a call. `read` is the input of a tool that reads a file: the same again is a repeated
    /// read.
    pub fn call(&mut self, id: &str, tool: &str, read: Option<&str>) {
        let again = read.is_some_and(|input| !self.reads.insert(input.to_owned()));
        let tool = match self.carried.get_key_value(tool) {
            Some((known, _)) => Arc::clone(known),
            None => Arc::from(tool),
        };
        self.calls.insert(id.to_owned(), Call { tool, again });
    }

    /// Takes the result of a call, by the length of its text in bytes.
    pub fn result(&mut self, call: &str, bytes: u64) {
        let Some(Call { tool, again }) = self.calls.remove(call) else {
            return;
        };
        let again = if again { bytes } else { 0 };
        let sum = self.fresh.entry(tool).or_default();
        sum.add(Bytes {
            all: bytes,
            again,
            results: 1,
        });
    }

    /// Takes a compaction: nothing that came before is in the prompt any more.
    pub fn compacted(&mut self) {
        self.carried.clear();
        self.fresh.clear();
        // A shorter prompt is no break: the compaction was meant.
        self.cached = None;
    }

    /// Takes a response, once however many lines tell of it, and divides its prompt.
    pub fn response(&mut self, usage: &TokenUsage, ratio: Ratio) -> PromptParts {
        let read = usage.cache_read.get();
        let rest = usage.prompt().get() - read;
        let parts = self.divide(read, rest, ratio);
        let lost = self.cached.map_or(0, |cached| {
            let lost = cached.get().saturating_sub(read);
            let counts = lost >= LEAST_LOST && lost.saturating_mul(LOST_SHARE) > cached.get();
            if counts { lost.min(rest) } else { 0 }
        });
        let written = usage.cache_write_5m + usage.cache_write_1h;
        self.cached = Some(usage.cache_read + written);
        for (tool, bytes) in std::mem::take(&mut self.fresh) {
            self.carried.entry(tool).or_default().add(bytes);
        }
        PromptParts {
            tools: parts,
            lost: Tokens(lost),
        }
    }

    fn divide(&self, read: u64, rest: u64, ratio: Ratio) -> Vec<ToolPart> {
        let tokens = |bytes: u64| ratio.tokens_of(bytes).get();
        let sum = |all: &BTreeMap<Arc<str>, Bytes>| -> u64 {
            all.values().map(|bytes| tokens(bytes.all)).sum()
        };
        let carried = sum(&self.carried);
        let fresh = sum(&self.fresh);
        let from_cache = carried.min(read);
        let wanted = carried - from_cache + fresh;
        let fits = wanted.min(rest);
        let share = |part: u64, of: u64, whole: u64| -> u64 {
            let share = u128::from(part) * u128::from(of) / u128::from(whole.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let names = self.carried.keys().chain(self.fresh.keys());
        let names: BTreeSet<&Arc<str>> = names.collect();
        let part = |tool: &Arc<str>| {
            let of = |all: &BTreeMap<Arc<str>, Bytes>| all.get(tool).copied().unwrap_or_default();
            let (old, new) = (of(&self.carried), of(&self.fresh));
            let read = share(tokens(old.all), from_cache, carried);
            let left = tokens(old.all) - read + tokens(new.all);
            let rest = share(left, fits, wanted);
            // Repeated reads have the same share of what is read as of all that is carried.
            let again_read = share(read, old.again, old.all);
            let again_left = tokens(old.again).saturating_sub(again_read) + tokens(new.again);
            ToolPart {
                tool: Arc::clone(tool),
                read: Tokens(read),
                rest: Tokens(rest),
                again_read: Tokens(again_read),
                again_rest: Tokens(share(rest, again_left.min(left), left)),
                results: new.results,
                fresh: Tokens(tokens(new.all)),
                fresh_again: Tokens(tokens(new.again)),
            }
        };
        names.into_iter().map(part).collect()
    }
}
