//! Layer 2: clearing the content of old tool results.
//!
//! # Model
//! Results are cleared in batches and never by a sliding window, because each clearing makes the
//! provider write the cached prefix again. The planner reads the index of results and selects a
//! batch, or returns the reason why not. Composing a selection makes the record and the texts to
//! save.
//!
//! # Responsibilities
//! Batches that a policy can choose from ([`ClearInputs`]), results that are never cleared, the
//! triggers of the policies `classic` and `economic`, the markers that replace cleared content.
//!
//! # Not here
//! The cost of clearing (`economy`), saving the texts, appending the record. Clearing by the
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
use crate::clearable::ResultIndex;
use crate::tokens;
use crate::view::View;
use dormouse_core::id::BlockKey;
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::Calibration;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Tokens;

/// Tokens of old results that a clearing of the economic policy leaves in the prompt: the newest few,
/// which the model most likely still works with.
const LEAVE: Tokens = Tokens(20_000);

/// Settings of the fixed triggers (`microcompact.*`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearSettings {
    /// Names of the tools whose results may be cleared.
    pub tools: Vec<String>,
    /// True if results are cleared once the cache has expired.
    pub idle: bool,
    /// Number of newest results that stay in that case.
    pub idle_keep: usize,
    /// True if results are cleared above the warning threshold.
    pub pressure: bool,
    /// Number of newest results that stay in that case.
    pub pressure_keep: usize,
    /// Tokens that old results must hold before pressure clears them; below it, little is gained.
    pub pressure_held: Tokens,
    /// Least tokens that a clearing under pressure must free, to be worth the new cache write.
    pub pressure_freed: Tokens,
    /// Tokens of old results that a batch of the economic policy leaves in the prompt.
    pub leave: Tokens,
}

impl ClearSettings {
    /// Reads the values from the settings table.
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
            leave: LEAVE,
        }
    }
}

/// Conversion from weights to tokens in this session.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Bytes per token of the model.
    pub bytes: BytesPerToken,
    /// Correction factor learnt from measurements.
    pub calibration: Calibration,
}

impl Measure {
    /// Calibrated tokens of a weight.
    pub fn tokens(&self, weight: &dormouse_core::weight::Weight) -> Tokens {
        self.correct(tokens::estimate(weight, self.bytes))
    }

    /// An estimate with the calibration applied.
    pub fn correct(&self, estimate: Tokens) -> Tokens {
        self.calibration.correct(estimate)
    }
}

/// Inputs for choosing a batch.
#[derive(Clone, Copy, Debug)]
pub struct ClearInputs<'a> {
    /// View whose frozen part is cleared.
    pub view: &'a View,
    /// Index of its results.
    pub index: &'a ResultIndex,
    /// Settings of the triggers.
    pub settings: &'a ClearSettings,
    /// Conversion from weights to tokens.
    pub measure: Measure,
    /// Tokens of the prompt that would be sent now.
    pub used: Tokens,
    /// Warning threshold of the window; pressure begins here.
    pub warning: Tokens,
    /// True if the cache has expired, so that the prefix is written again in any case.
    pub cold: bool,
}

/// A batch to clear.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Positions among the frozen segments, ascending.
    pub positions: Vec<usize>,
    /// Tokens freed, net of the markers.
    pub freed: Tokens,
    /// Tokens behind the first cleared result that stay and, on a warm cache, are written again.
    pub behind: Tokens,
    /// Bound thinking that has to be removed with the results.
    pub thinking: Vec<BlockKey>,
    /// Figures that decided, for the record.
    pub reason: String,
}

/// Answer of the planner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClearVerdict {
    /// Clear this batch now, in one record.
    Clear(Selection),
    /// Clear nothing before the next request.
    Leave {
        /// Reason shown in explanations.
        reason: String,
    },
}

/// Rule of the policy `classic`: clear once the cache has expired, and above the warning threshold.
pub fn classic(inputs: &ClearInputs<'_>) -> ClearVerdict {
    let settings = inputs.settings;
    if inputs.cold && settings.idle {
        let batch = inputs.all_but(settings.idle_keep);
        // An empty batch falls through: a tight window may still clear a few large results.
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

/// Rule of the policy `economic`: on a lapsed cache clear every old result of at least
/// `least` tokens, otherwise clear down to [`ClearSettings::leave`]; both only if that pays.
/// `worth` is called with the tokens freed and the tokens that stay behind the first cleared
/// result.
pub fn economic(
    inputs: &ClearInputs<'_>,
    least: impl FnOnce() -> Tokens,
    worth: impl FnOnce(Tokens, Tokens) -> Result<String, String>,
) -> ClearVerdict {
    let settings = inputs.settings;
    // The switches of `classic` apply here too, by the state of the cache.
    if inputs.cold && !settings.idle {
        return leave("clearing on a lapsed cache is switched off");
    }
    if !inputs.cold && !settings.pressure {
        return leave("clearing under pressure is switched off");
    }
    let batch = if inputs.cold {
        inputs.all_but_from(settings.idle_keep, least())
    } else {
        inputs.down_to(settings.leave)
    };
    inputs.clear_if(batch, worth)
}

fn leave(reason: impl Into<String>) -> ClearVerdict {
    ClearVerdict::Leave {
        reason: reason.into(),
    }
}

impl<'a> ClearInputs<'a> {
    /// Verdict for a chosen batch, without asking whether it pays.
    pub fn clear(&self, batch: Batch<'a>) -> ClearVerdict {
        self.clear_if(batch, |_, _| {
            Ok(if self.cold {
                "the cache has lapsed: the prefix is written again anyway".to_owned()
            } else {
                format!("{} tokens are in use", self.used)
            })
        })
    }

    /// Verdict for a chosen batch, cleared only if `worth` returns `Ok`. It is called with the
    /// tokens freed and the tokens that stay behind the first cleared result.
    pub(crate) fn clear_if(
        &self,
        batch: Batch<'a>,
        worth: impl FnOnce(Tokens, Tokens) -> Result<String, String>,
    ) -> ClearVerdict {
        // Recalled memories of the same age are cleared in the same rewrite.
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
        // Checked last: the reason that clearing does not pay is the more useful one.
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
