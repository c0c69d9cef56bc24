//! Folded state of a session: values that must survive a restart and are not part of the view.
//!
//! Not here: the fold itself (`context/src/conversation.rs`).

use super::chronicle::Chronicle;
use super::payload::{Lineage, Marker, Prefix, Ttl};
use crate::hash::Hash;
use crate::id::{AgentId, BlockKey, MessageId, RecordId, Seq};
use crate::models::ModelTable;
use crate::units::{Millis, Tokens};
use crate::usage::TokenUsage;
use crate::usage_book::UsageSum;
use crate::weight::Weight;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// State that records fold into; every manifest carries it.
///
/// Layers store named facts under [`FoldedState::facts`] (estimators, breaker, to-dos, plan,
/// skills, discovered tools, grants, title, the date last told). Only the owner interprets such a
/// value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FoldedState {
    /// Last record processed, by background job (extraction, notes, mail).
    pub cursors: BTreeMap<String, Seq>,
    /// Latest response of this branch, from which the prompt's length is estimated.
    pub last_usage: Option<LastUsage>,
    /// Measured and estimated tokens, by model.
    pub calibration: BTreeMap<String, Calibration>,
    /// Token usage and cost of the session.
    pub totals: Totals,
    /// Named facts of the layers, by name.
    pub facts: BTreeMap<String, Value>,
    /// Files the agent has read, by path, with data of the file tools. Cleared by a compaction,
    /// since the model no longer sees their content.
    pub read_files: BTreeMap<String, Value>,
    /// Memories shown since the last compaction, with their size; recall does not show them again.
    pub surfaced: BTreeMap<String, u64>,
    /// Prefix in use; none before the first request.
    pub prefix: Option<Prefix>,
    /// Model of the latest request.
    pub model: Option<String>,
    /// Effort of the latest request.
    pub effort: Option<String>,
    /// Latest request; a cache hit is predicted against it.
    pub last_request: Option<LastRequest>,
    /// Lengths of pauses between requests, from which the cache lifetime is chosen.
    pub gaps: Gaps,
    /// Agents that have not ended, with their owner's data.
    pub agents: BTreeMap<AgentId, Value>,
    /// Origin of a fork, without its manifest.
    pub lineage: Option<Box<Lineage>>,
    /// Id of the latest boundary.
    pub boundary: Option<RecordId>,
    /// Progress of the session notes; none before the first update.
    pub notes: Option<NotesState>,
    /// Tokens used by updates of the notes since the last compaction.
    pub notes_usage: TokenUsage,
    /// Number of updates of the notes since the last compaction.
    pub notes_updates: u32,
    /// User's messages and evidence, over all boundaries.
    pub chronicle: Chronicle,
    /// [`Chronicle::clock`] at the last compaction: reading a file again that was seen before then
    /// is a cost of forgetting.
    pub forgotten_until: u64,
    /// Evidence of this log on the windows of its models.
    #[serde(skip_serializing_if = "Windows::is_empty")]
    pub windows: Windows,
    /// Set by an undo of the user: automatic rewrites are suspended until the window forces one.
    pub undone: bool,
}

/// Name of the fact by which a log names the window of a model; its value is a [`NamedWindow`].
pub const NAMED_WINDOW: &str = "window";

/// Window that a client wrote down for a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedWindow {
    /// Model as the log names it.
    pub model: String,
    /// Its window, prompt and answer together.
    pub tokens: Tokens,
}

/// Evidence of a log on the windows of its models; folded by `context/src/window_proof.rs`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Windows {
    /// Evidence by model; under the empty name, a compaction before which no model is known.
    pub by_model: BTreeMap<String, WindowEvidence>,
    /// Model of the newest response and the length of its prompt: the ones that the next
    /// compaction is about.
    pub newest: Option<(String, Tokens)>,
}

impl Windows {
    /// True if the log has proved nothing yet.
    pub fn is_empty(&self) -> bool {
        self.by_model.is_empty() && self.newest.is_none()
    }
}

/// Evidence on the window of one model. It does not contradict itself: newer evidence removes
/// older evidence that it contradicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WindowEvidence {
    /// Window that the client named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named: Option<Tokens>,
    /// Longest prompt that was answered: the window is at least as long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered: Option<Tokens>,
    /// Length of the prompt at the newest compaction that began by itself, near the window's end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automatic: Option<Tokens>,
    /// Longest prompt before a compaction of any other cause: it lay within the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Tokens>,
}

/// Progress of the session notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesState {
    /// Sequence number of the last message they cover.
    pub last_summarised: Seq,
    /// Length of the conversation at that update, or after a later compaction.
    pub conversation: Tokens,
    /// Number of tool calls since then.
    pub calls_since: u64,
    /// Length of the notes in tokens.
    pub size: Tokens,
}

/// Latest response of a branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastUsage {
    /// Message id, if the provider gave one.
    pub message: Option<MessageId>,
    /// Model that answered; estimates are calibrated per model.
    pub model: String,
    /// Usage as billed; the measured part of the prompt's length.
    pub usage: TokenUsage,
    /// Weight of the answer itself.
    #[serde(default)]
    pub answer: Weight,
    /// Weight of the segments appended since the answer.
    #[serde(default)]
    pub since: Weight,
    /// Estimated tokens that rewrites have since removed from the measured part.
    #[serde(default)]
    pub removed: Tokens,
    /// Estimated tokens that rewrites have since added to it.
    #[serde(default)]
    pub added: Tokens,
}

/// Sums of measured and estimated growth; their ratio corrects later estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// Tokens counted by the provider.
    pub measured: Tokens,
    /// Tokens estimated for the same content.
    pub estimated: Tokens,
}

impl Calibration {
    /// Correction factor in thousandths, between 500 and 3,000. The limits keep one absurd report
    /// of a provider from disabling compaction or triggering it constantly.
    pub fn thousandths(self) -> u64 {
        /// Estimated tokens needed before the ratio is used: with fewer, the few tokens of framing
        /// per message would dominate it.
        const EVIDENCE: u64 = 1_000;
        if self.estimated.get() < EVIDENCE {
            return 1_000;
        }
        let ratio = u128::from(self.measured.get()) * 1_000 / u128::from(self.estimated.get());
        u64::try_from(ratio).unwrap_or(u64::MAX).clamp(500, 3_000)
    }

    /// Corrects an estimate, rounding up.
    pub fn correct(self, estimate: Tokens) -> Tokens {
        let corrected =
            (u128::from(estimate.get()) * u128::from(self.thousandths())).div_ceil(1_000);
        Tokens(u64::try_from(corrected).unwrap_or(u64::MAX))
    }

    /// Deviation of the estimates in per cent; positive when they are too low.
    pub fn drift_percent(self) -> i64 {
        i64::try_from(self.thousandths()).unwrap_or(0) / 10 - 100
    }
}

/// Usage of a session. A response counts once, however many records report it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Sums by model over responses whose figures are final.
    pub by_model: BTreeMap<String, UsageSum>,
    /// Newest responses; a later record may still correct their figures.
    pub recent: Vec<RecentUsage>,
}

/// Number of responses that may still be corrected. The records of a response lie close together,
/// so 64 responses are a wide margin; each costs some hundred bytes in every manifest.
const UNSETTLED: usize = 64;

impl Totals {
    /// Stores the figures of a response, unless larger ones are known.
    pub fn observe(
        &mut self,
        models: &ModelTable,
        message: &MessageId,
        model: &str,
        usage: TokenUsage,
    ) {
        if let Some(known) = self
            .recent
            .iter_mut()
            .find(|recent| recent.message == *message)
        {
            // Replaced, not added: the lines of a streamed response report cumulative figures.
            if usage.supersedes(&known.usage) {
                known.usage = usage;
            }
            return;
        }
        let model = model.to_owned();
        self.recent.push(RecentUsage {
            message: message.clone(),
            model,
            usage,
        });
        // The oldest becomes final. A report after that would count twice, hence the wide margin.
        if self.recent.len() > UNSETTLED {
            let settled = self.recent.remove(0);
            settle(&mut self.by_model, models, &settled);
        }
    }

    /// Makes the figures of all but the newest `left` responses final. At a boundary the records of
    /// earlier responses are complete, and each unsettled one costs some hundred bytes there.
    pub fn settle_all_but(&mut self, left: usize, models: &ModelTable) {
        let settled = self.recent.len().saturating_sub(left);
        for one in self.recent.drain(..settled) {
            settle(&mut self.by_model, models, &one);
        }
    }

    /// Usage of all models together, unsettled responses included.
    pub fn usage(&self) -> TokenUsage {
        let settled = self.by_model.values().map(|sum| sum.usage);
        let recent = self.recent.iter().map(|recent| recent.usage);
        settled
            .chain(recent)
            .fold(TokenUsage::default(), |mut all, usage| {
                all += usage;
                all
            })
    }

    /// Sums by model, unsettled responses included.
    pub fn sums(&self, models: &ModelTable) -> BTreeMap<String, UsageSum> {
        let mut sums = self.by_model.clone();
        for recent in &self.recent {
            settle(&mut sums, models, recent);
        }
        sums
    }
}

fn settle(sums: &mut BTreeMap<String, UsageSum>, models: &ModelTable, one: &RecentUsage) {
    // Priced one by one: long prompts have prices of their own.
    let cost = models.lookup(&one.model).info.cost(&one.usage);
    sums.entry(one.model.clone())
        .or_default()
        .count(one.usage, cost);
}

/// Response whose figures may still be corrected.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecentUsage {
    /// Message id of the response.
    pub message: MessageId,
    /// Model that answered; the price depends on it.
    pub model: String,
    /// Largest reported figures of the response.
    pub usage: TokenUsage,
}

/// Pauses between requests, classed by the two cache lifetimes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// Number of pauses up to five minutes: any cache entry survives.
    pub short: u64,
    /// Number of pauses up to an hour: only one-hour entries survive.
    pub middle: u64,
    /// Number of pauses over an hour: no entry survives.
    pub long: u64,
}

impl Gaps {
    /// Counts a pause of `millis` milliseconds.
    pub fn add(&mut self, millis: u64) {
        if millis <= Ttl::FiveMinutes.millis() {
            self.short += 1;
        } else if millis <= Ttl::OneHour.millis() {
            self.middle += 1;
        } else {
            self.long += 1;
        }
    }
}

/// Shape of the latest request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastRequest {
    /// Id of its record.
    pub id: RecordId,
    /// Time of sending, if the record has one.
    pub at: Option<Millis>,
    /// Number of segments of the view it contained.
    pub segments: u64,
    /// Hash chain over those segments.
    pub chain: Hash,
    /// Cache markers it carried.
    pub markers: Vec<Marker>,
    /// Results of it that are to be distilled and are not yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distil: Vec<BlockKey>,
    /// Hash chain over the segments up to its last marker, if results were to be distilled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<Hash>,
    /// True if its response is whole: it ended by itself or with calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub answered: bool,
}
