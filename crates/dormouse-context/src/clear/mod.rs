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
mod tests;

pub use compose::{Composed, SavedResult, compose, marker};

use crate::bound::{RewriteVerdict, local_rewrite};
use crate::results::{ResultEntry, ResultIndex, Source};
use crate::tokens;
use crate::view::View;
use dormouse_core::block::BlockKind;
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
        self.calibration
            .correct(tokens::estimate(weight, self.bytes))
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
        ClearRule::Classic if inputs.cold && settings.idle => inputs.all_but(settings.idle_keep),
        ClearRule::Classic if !settings.pressure => {
            return leave("clearing under pressure is switched off".to_owned());
        }
        ClearRule::Classic if inputs.used < inputs.warning => {
            return leave(format!(
                "{} tokens are below the warning at {}",
                inputs.used, inputs.warning
            ));
        }
        ClearRule::Classic => match inputs.under_pressure() {
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
    let Some(first) = batch.first() else {
        return leave("no old result is worth a marker".to_owned());
    };
    let freed: Tokens = batch.iter().map(|entry| inputs.freed(entry)).sum();
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
            positions: batch.iter().map(|entry| entry.position).collect(),
            freed,
            behind,
            thinking,
            reason,
        }),
    }
}

impl<'a> ClearInputs<'a> {
    fn tokens(&self, entry: &ResultEntry) -> Tokens {
        self.measure.tokens(&entry.weight)
    }

    fn freed(&self, entry: &ResultEntry) -> Tokens {
        self.tokens(entry) - MARKER_TOKENS
    }

    /// Results that may be cleared at all, oldest first: not those of the newest round.
    fn clearable(&self) -> impl Iterator<Item = &'a ResultEntry> {
        let newest = self.newest_round();
        self.eligible().filter(move |entry| entry.position < newest)
    }

    /// Where the newest round begins; behind everything fixed if its results are not sent yet.
    fn newest_round(&self) -> usize {
        let answering = self
            .view
            .tail()
            .incoming
            .iter()
            .any(|segment| segment.block.kind() == BlockKind::ToolResult);
        if answering {
            usize::MAX
        } else {
            self.index.newest_round()
        }
    }

    /// Results of tools whose results may be cleared, and recalled memory.
    fn eligible(&self) -> impl Iterator<Item = &'a ResultEntry> {
        let tools = &self.settings.tools;
        let may = move |entry: &&ResultEntry| match &entry.source {
            Source::Tool(tool) => tools.iter().any(|name| **name == **tool),
            Source::Memory => true,
        };
        self.index.entries().iter().filter(may)
    }

    fn worthwhile(&self, entry: &ResultEntry) -> bool {
        self.tokens(entry) > MARKER_TOKENS + MARKER_TOKENS
    }

    fn all_but(&self, keep: usize) -> Vec<&'a ResultEntry> {
        let newest = self.newest_round();
        let all: Vec<&ResultEntry> = self
            .eligible()
            .filter(|entry| self.worthwhile(entry))
            .collect();
        let old = all.len().saturating_sub(keep.max(1));
        let old = all[..old].iter().copied();
        old.filter(|entry| entry.position < newest).collect()
    }

    fn under_pressure(&self) -> Result<Vec<&'a ResultEntry>, String> {
        let settings = self.settings;
        let held: Tokens = self.clearable().map(|entry| self.tokens(entry)).sum();
        if held <= settings.pressure_held {
            return Err(format!(
                "old results hold {held} tokens; it takes more than {}",
                settings.pressure_held
            ));
        }
        let batch = self.all_but(settings.pressure_keep);
        let freed: Tokens = batch.iter().map(|entry| self.freed(entry)).sum();
        if freed < settings.pressure_freed {
            return Err(format!(
                "{freed} tokens would come free; it takes at least {}",
                settings.pressure_freed
            ));
        }
        Ok(batch)
    }

    /// Oldest first, until what is left holds no more than `leave`.
    fn down_to(&self, leave: Tokens) -> Vec<&'a ResultEntry> {
        let mut held: Tokens = self.clearable().map(|entry| self.tokens(entry)).sum();
        let mut batch = Vec::new();
        for entry in self.clearable().filter(|entry| self.worthwhile(entry)) {
            if held <= leave {
                break;
            }
            held = held - self.freed(entry);
            batch.push(entry);
        }
        batch
    }

    fn behind_protected(
        &self,
        protect: Tokens,
        least: Tokens,
    ) -> Result<Vec<&'a ResultEntry>, String> {
        let all: Vec<&ResultEntry> = self.clearable().collect();
        let mut newest = Tokens::ZERO;
        let mut batch: Vec<&ResultEntry> = Vec::new();
        for entry in all.into_iter().rev() {
            newest += self.tokens(entry);
            if newest > protect && self.worthwhile(entry) {
                batch.push(entry);
            }
        }
        batch.reverse();
        let freed: Tokens = batch.iter().map(|entry| self.freed(entry)).sum();
        if freed < least {
            return Err(format!(
                "{freed} tokens lie behind the protected {protect}; it takes {least}"
            ));
        }
        Ok(batch)
    }

    fn down_to_mark(
        &self,
        high: u64,
        low: u64,
        keep: usize,
    ) -> Result<Vec<&'a ResultEntry>, String> {
        let mut held: u64 = self.clearable().map(|entry| entry.bytes).sum();
        if self.cold {
            return Ok(self.all_but(keep));
        }
        if held <= high {
            return Err(format!("results hold {held} bytes of {high}"));
        }
        let mut batch = self.all_but(keep);
        let mut taken = 0;
        for entry in &batch {
            if held <= low {
                break;
            }
            held = held.saturating_sub(entry.bytes);
            taken += 1;
        }
        batch.truncate(taken);
        Ok(batch)
    }

    /// Tokens from a position to the end of what was sent.
    fn behind(&self, position: usize) -> Tokens {
        let frozen = self.view.frozen();
        let all = frozen.weight(frozen.len());
        let before = frozen.weight(position);
        self.measure.tokens(&all) - self.measure.tokens(&before)
    }
}
