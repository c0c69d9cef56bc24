//! Layer 2: clearing the content of old tool results.
//!
//! # Model
//! A clearing is a batch: it takes many results at once, so that the prefix is written again
//! rarely, and never slides along. The planner looks at the index of results and either selects a
//! batch or says why not. Composing a selection makes the record and the texts to be saved.
//!
//! # Responsibilities
//! Batches that a policy can choose from ([`ClearInputs`]), what is never cleared, the triggers of
//! the policies `classic` and `economic`, the bytes that stand there afterwards.
//!
//! # Not here
//! Whether clearing pays (`economy`), saving the texts, appending the record. Clearing by the
//! provider is in [`server`].

mod batch;
mod compose;
pub mod server;

#[cfg(test)]
mod server_tests;
#[cfg(test)]
mod tests;

pub use batch::Batch;
pub(crate) use compose::is_marker;
pub use compose::{Composed, SavedResult, compose, marker};

use crate::bound::{RewriteVerdict, local_rewrite};
use crate::results::ResultIndex;
use crate::tokens;
use crate::view::View;
use dormouse_core::id::BlockKey;
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::Calibration;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Tokens;

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

/// Facts that a batch is chosen by.
#[derive(Clone, Copy, Debug)]
pub struct ClearInputs<'a> {
    /// The view.
    pub view: &'a View,
    /// Its results.
    pub index: &'a ResultIndex,
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

/// Clears when the cache has lapsed, and when the window gets tight.
pub fn classic(inputs: &ClearInputs<'_>) -> ClearVerdict {
    let settings = inputs.settings;
    if inputs.cold && settings.idle {
        let batch = inputs.all_but(settings.idle_keep);
        if !batch.is_empty() {
            return inputs.clear(batch);
        }
    }
    if !settings.pressure {
        return leave("clearing under pressure is switched off");
    }
    if inputs.used < inputs.warning {
        return leave(format!(
            "{} tokens are below the warning at {}",
            inputs.used, inputs.warning
        ));
    }
    let held = inputs.held(inputs.old());
    if held <= settings.pressure_held {
        return leave(format!(
            "old results hold {held} tokens; it takes more than {}",
            settings.pressure_held
        ));
    }
    let batch = inputs.all_but(settings.pressure_keep);
    let freed = inputs.freed(&batch);
    if freed < settings.pressure_freed {
        return leave(format!(
            "{freed} tokens would come free; it takes at least {}",
            settings.pressure_freed
        ));
    }
    inputs.clear(batch)
}

/// Clears down to the mark of the settings if that pays. `worth` is asked with the tokens that come
/// free and those that stay behind the first cleared result.
pub fn economic(
    inputs: &ClearInputs<'_>,
    worth: impl FnOnce(Tokens, Tokens) -> Result<String, String>,
) -> ClearVerdict {
    let settings = inputs.settings;
    if inputs.cold && !settings.idle {
        return leave("clearing on a lapsed cache is switched off");
    }
    if !inputs.cold && !settings.pressure {
        return leave("clearing under pressure is switched off");
    }
    inputs.clear_if(inputs.down_to(settings.leave), worth)
}

fn leave(reason: impl Into<String>) -> ClearVerdict {
    ClearVerdict::Leave {
        reason: reason.into(),
    }
}

impl<'a> ClearInputs<'a> {
    /// Verdict for a batch that a policy has chosen, whether it pays or not.
    pub fn clear(&self, batch: Batch<'a>) -> ClearVerdict {
        self.clear_if(batch, |_, _| {
            Ok(if self.cold {
                "the cache has lapsed: the prefix is written again anyway".to_owned()
            } else {
                format!("{} tokens are in use", self.used)
            })
        })
    }

    /// Verdict for a batch that is cleared only where `worth` says yes. It is asked with the tokens
    /// that come free and those that stay behind the first cleared result.
    pub fn clear_if(
        &self,
        batch: Batch<'a>,
        worth: impl FnOnce(Tokens, Tokens) -> Result<String, String>,
    ) -> ClearVerdict {
        let batch = self.with_memories(batch);
        let Some(first) = batch.first() else {
            return leave("no old result is worth a marker");
        };
        let freed = self.freed(&batch);
        let behind = self.behind(first) - freed;
        let reason = match worth(freed, behind) {
            Ok(reason) => reason,
            Err(reason) => return leave(reason),
        };
        match local_rewrite(self.view, first) {
            RewriteVerdict::Wait { reason } => leave(reason),
            RewriteVerdict::Allowed { thinking } => ClearVerdict::Clear(Selection {
                positions: batch.positions(),
                freed,
                behind,
                thinking,
                reason,
            }),
        }
    }
}
