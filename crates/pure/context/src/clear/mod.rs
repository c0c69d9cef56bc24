//! Layer 2: clearing the content of old tool results.
//!
//! # Model
//! A clearing is a batch: it takes many results at once, so that the prefix is written again
//! rarely, and never slides along. The planner looks at the index of results and either selects a
//! batch or says why not. Composing a selection makes the record and the texts to be saved.
//!
//! # Responsibilities
//! The triggers (idle, pressure, those of other agents for comparison), what may be cleared, what
//! is never cleared, the bytes that stand there afterwards.
//!
//! # Not here
//! Whether clearing pays (`economy`), saving the texts, appending the record. Clearing by the
//! provider is in [`server`].

mod compose;
pub mod server;

#[cfg(test)]
mod server_tests;
#[cfg(test)]
mod tests;

pub(crate) use compose::is_marker;
pub use compose::{Composed, SavedResult, compose, marker};

use crate::bound::{RewriteVerdict, local_rewrite};
use crate::results::{ResultEntry, ResultIndex};
use crate::tokens;
use crate::view::View;
use dormouse_core::id::BlockKey;
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::Calibration;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Tokens;

/// What a marker that stands for a cleared result takes, about.
const MARKER_TOKENS: Tokens = Tokens(50);

/// When results are cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClearRule {
    /// Never.
    Never,
    /// When the cache has lapsed, and when the window gets tight.
    Classic,
    /// When it pays.
    Economic,
    /// Whenever enough lies behind the newest results that are protected.
    Protect {
        /// Tokens of the newest results that stay.
        protect: Tokens,
        /// The least that is cleared at once.
        least: Tokens,
    },
    /// From a high mark down to a low one.
    Watermark {
        /// Bytes of results at which clearing begins.
        high: u64,
        /// Bytes of results at which it ends.
        low: u64,
        /// Newest results that stay.
        keep: usize,
    },
}

/// Figures and switches of the fixed triggers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearSettings {
    /// Tools whose results may be cleared.
    pub tools: Vec<String>,
    /// Clearing when the cache has lapsed.
    pub idle: bool,
    /// Newest results that stay then.
    pub idle_keep: usize,
    /// Clearing when the window gets tight.
    pub pressure: bool,
    /// Newest results that stay then.
    pub pressure_keep: usize,
    /// It takes more than this.
    pub pressure_held: Tokens,
    /// And at least this must come free.
    pub pressure_freed: Tokens,
    /// Where a batch of the economic policy ends.
    pub leave: Tokens,
}

impl ClearSettings {
    /// Reads them from the settings.
    pub fn new(settings: &Settings) -> Self {
        let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        Self {
            tools: settings.get(keys::MICROCOMPACT_TOOLS),
            idle: settings.switch(keys::MICROCOMPACT_IDLE).is_on(),
            idle_keep: count(settings.get(keys::MICROCOMPACT_IDLE_KEEP)),
            pressure: settings.switch(keys::MICROCOMPACT_PRESSURE).is_on(),
            pressure_keep: count(settings.get(keys::MICROCOMPACT_PRESSURE_KEEP)),
            pressure_held: settings.get(keys::MICROCOMPACT_PRESSURE_MIN_HELD),
            pressure_freed: settings.get(keys::MICROCOMPACT_PRESSURE_MIN_FREED),
            leave: settings.get(keys::MICROCOMPACT_PRESSURE_LEAVE),
        }
    }
}

/// How weights become tokens in this session.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// The model's bytes per token.
    pub bytes: BytesPerToken,
    /// The correction learnt.
    pub calibration: Calibration,
}

impl Measure {
    /// Corrected tokens of a weight.
    pub fn tokens(&self, weight: &dormouse_core::weight::Weight) -> Tokens {
        self.correct(tokens::estimate(weight, self.bytes))
    }

    /// An estimate, corrected.
    pub fn correct(&self, estimate: Tokens) -> Tokens {
        self.calibration.correct(estimate)
    }
}

/// What the planner looks at.
#[derive(Clone, Copy, Debug)]
pub struct ClearInputs<'a> {
    /// The view.
    pub view: &'a View,
    /// Its results.
    pub index: &'a ResultIndex,
    /// When to clear.
    pub rule: &'a ClearRule,
    /// Figures of the triggers.
    pub settings: &'a ClearSettings,
    /// Weights to tokens.
    pub measure: Measure,
    /// Tokens in use.
    pub used: Tokens,
    /// Where the window counts as tight.
    pub warning: Tokens,
    /// The cache has lapsed: the prefix is written again whatever happens.
    pub cold: bool,
}

/// A batch to be cleared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Positions of the segments, in order.
    pub positions: Vec<usize>,
    /// Tokens that come free.
    pub freed: Tokens,
    /// Tokens behind the first cleared result that stay, and are written again on a warm cache.
    pub behind: Tokens,
    /// Thinking that has to go with them.
    pub thinking: Vec<BlockKey>,
    /// Why.
    pub reason: String,
}

/// What the planner says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClearVerdict {
    /// Clear these.
    Clear(Selection),
    /// Nothing is cleared.
    Leave {
        /// Why not.
        reason: String,
    },
}

/// Decides whether to clear, and what. `worth` is asked by the economic policy: what comes free,
/// what stays behind the first cleared result.
pub fn plan(
    inputs: &ClearInputs<'_>,
    worth: impl FnOnce(Tokens, Tokens) -> Result<String, String>,
) -> ClearVerdict {
    let leave = |reason: String| ClearVerdict::Leave { reason };
    let settings = inputs.settings;
    let batch = match inputs.rule {
        ClearRule::Never => return leave("the policy does not clear".to_owned()),
        ClearRule::Classic => match inputs.classic() {
            Ok(batch) => batch,
            Err(reason) => return leave(reason),
        },
        ClearRule::Economic if inputs.cold && !settings.idle => {
            return leave("clearing on a lapsed cache is switched off".to_owned());
        }
        ClearRule::Economic if !inputs.cold && !settings.pressure => {
            return leave("clearing under pressure is switched off".to_owned());
        }
        ClearRule::Economic => inputs.down_to(settings.leave),
        ClearRule::Protect { protect, least } => match inputs.behind_protected(*protect, *least) {
            Ok(batch) => batch,
            Err(reason) => return leave(reason),
        },
        ClearRule::Watermark { high, low, keep } => match inputs.down_to_mark(*high, *low, *keep) {
            Ok(batch) => batch,
            Err(reason) => return leave(reason),
        },
    };
    if batch.entries.is_empty() {
        return leave("no old result is worth a marker".to_owned());
    }
    let batch = inputs.with_memories(batch);
    let first = batch.entries[0];
    let freed = inputs.freed(&batch);
    let behind = inputs.behind(first.position) - freed;
    let reason = match inputs.rule {
        ClearRule::Economic => match worth(freed, behind) {
            Ok(reason) => reason,
            Err(reason) => return leave(reason),
        },
        _ if inputs.cold => "the cache has lapsed: the prefix is written again anyway".to_owned(),
        _ => format!("{} tokens are in use", inputs.used),
    };
    match local_rewrite(inputs.view, first.position) {
        RewriteVerdict::Wait { reason } => leave(reason.to_owned()),
        RewriteVerdict::Allowed { thinking } => ClearVerdict::Clear(Selection {
            positions: batch.entries.iter().map(|entry| entry.position).collect(),
            freed,
            behind,
            thinking,
            reason,
        }),
    }
}

/// Entries to be cleared, in order. There may be thousands, and most questions are answered "no":
/// looking at one is a comparison and an addition.
#[derive(Default)]
struct Batch<'a> {
    entries: Vec<&'a ResultEntry>,
    /// The estimates of all entries up to each.
    upto: Vec<Tokens>,
}

impl<'a> Batch<'a> {
    fn of(entries: impl Iterator<Item = &'a ResultEntry>) -> Self {
        let most = entries.size_hint().1.unwrap_or_default();
        let mut batch = Self {
            entries: Vec::with_capacity(most),
            upto: Vec::with_capacity(most),
        };
        for entry in entries {
            batch.upto.push(batch.estimate() + entry.estimate);
            batch.entries.push(entry);
        }
        batch
    }

    fn estimate(&self) -> Tokens {
        self.upto.last().copied().unwrap_or_default()
    }

    fn truncate(&mut self, count: usize) {
        self.entries.truncate(count);
        self.upto.truncate(count);
    }
}

impl<'a> ClearInputs<'a> {
    /// What markers take that stand for so many results.
    fn markers(count: usize) -> Tokens {
        Tokens(MARKER_TOKENS.get() * count as u64)
    }

    fn freed(&self, batch: &Batch<'_>) -> Tokens {
        self.measure.correct(batch.estimate()) - Self::markers(batch.entries.len())
    }

    /// Results that may be cleared at all, oldest first.
    fn old(&self) -> &'a [ResultEntry] {
        self.index.old_results(self.view.tail())
    }

    /// The tokens of some of the oldest results.
    fn held(&self, oldest: &[ResultEntry]) -> Tokens {
        let estimate = oldest.last().map(|last| last.estimate_upto);
        self.measure.correct(estimate.unwrap_or_default())
    }

    /// A result is cleared only if that saves at least as much as the marker takes. This is the
    /// smallest estimate of which that is true.
    fn least(&self) -> Tokens {
        let enough = |estimate: u64| self.measure.correct(Tokens(estimate)) >= Self::markers(2);
        let (mut low, mut high) = (0, Self::markers(2).get() * 4);
        while low < high {
            let middle = u64::midpoint(low, high);
            if enough(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Tokens(low)
    }

    /// All of these that are worth a marker.
    fn worthwhile(&self, entries: &'a [ResultEntry]) -> Batch<'a> {
        let least = self.least();
        Batch::of(entries.iter().filter(|entry| entry.estimate >= least))
    }

    /// All old results but the newest of all, whether those are old or not.
    fn all_but(&self, keep: usize) -> Batch<'a> {
        let waiting = self.index.waiting(self.view.tail());
        let all = self.index.results().len() + waiting;
        let going = all.saturating_sub(keep.max(1));
        let old = self.old();
        self.worthwhile(&old[..going.min(old.len())])
    }

    fn classic(&self) -> Result<Batch<'a>, String> {
        let settings = self.settings;
        if self.cold && settings.idle {
            let batch = self.all_but(settings.idle_keep);
            if !batch.entries.is_empty() {
                return Ok(batch);
            }
        }
        if !settings.pressure {
            return Err("clearing under pressure is switched off".to_owned());
        }
        if self.used < self.warning {
            return Err(format!(
                "{} tokens are below the warning at {}",
                self.used, self.warning
            ));
        }
        self.under_pressure()
    }

    fn under_pressure(&self) -> Result<Batch<'a>, String> {
        let settings = self.settings;
        let held = self.held(self.old());
        if held <= settings.pressure_held {
            return Err(format!(
                "old results hold {held} tokens; it takes more than {}",
                settings.pressure_held
            ));
        }
        let batch = self.all_but(settings.pressure_keep);
        let freed = self.freed(&batch);
        if freed < settings.pressure_freed {
            return Err(format!(
                "{freed} tokens would come free; it takes at least {}",
                settings.pressure_freed
            ));
        }
        Ok(batch)
    }

    /// Oldest first, until what is left holds no more than `leave`.
    fn down_to(&self, leave: Tokens) -> Batch<'a> {
        let old = self.old();
        let held = self.held(old);
        let mut batch = self.worthwhile(old);
        let left = |cleared: usize| {
            let gone = cleared.checked_sub(1).map(|last| batch.upto[last]);
            held - self.measure.correct(gone.unwrap_or_default()) + Self::markers(cleared)
        };
        // The more are cleared, the less is left.
        let (mut low, mut high) = (0, batch.entries.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if left(middle) <= leave {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        batch.truncate(low);
        batch
    }

    fn behind_protected(&self, protect: Tokens, least: Tokens) -> Result<Batch<'a>, String> {
        let old = self.old();
        let all = self.held(self.index.results());
        // Up to here the newer results, this one included, hold more than is protected.
        let behind = (0..old.len())
            .take_while(|at| all - self.held(&old[..*at]) > protect)
            .count();
        let batch = self.worthwhile(&old[..behind]);
        let freed = self.freed(&batch);
        if freed < least {
            return Err(format!(
                "{freed} tokens lie behind the protected {protect}; it takes {least}"
            ));
        }
        Ok(batch)
    }

    fn down_to_mark(&self, high: u64, low: u64, keep: usize) -> Result<Batch<'a>, String> {
        if self.cold {
            return Ok(self.all_but(keep));
        }
        let mut held: u64 = self.old().iter().map(|entry| entry.bytes).sum();
        if held <= high {
            return Err(format!("results hold {held} bytes of {high}"));
        }
        let mut batch = self.all_but(keep);
        let mut taken = 0;
        for entry in &batch.entries {
            if held <= low {
                break;
            }
            held = held.saturating_sub(entry.bytes);
            taken += 1;
        }
        batch.truncate(taken);
        Ok(batch)
    }

    /// Recalled memories that are older than the newest result of a batch go along.
    fn with_memories(&self, batch: Batch<'a>) -> Batch<'a> {
        let newest = batch.entries.last().map_or(0, |entry| entry.position);
        let memories = self.index.memories();
        let older = memories.partition_point(|entry| entry.position < newest);
        let along = self.worthwhile(&memories[..older]);
        if along.entries.is_empty() {
            return batch;
        }
        let mut entries = batch.entries;
        entries.extend(along.entries);
        entries.sort_unstable_by_key(|entry| entry.position);
        Batch::of(entries.into_iter())
    }

    /// Tokens from a position to the end of what was sent.
    fn behind(&self, position: usize) -> Tokens {
        let frozen = self.view.frozen();
        let all = frozen.weight(frozen.len());
        let before = frozen.weight(position);
        self.measure.tokens(&all) - self.measure.tokens(&before)
    }
}
