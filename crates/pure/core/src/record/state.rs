//! The folded state of a session: what must survive a restart and is not part of the view.

use super::chronicle::Chronicle;
use super::payload::{Lineage, Marker, Prefix, Ttl};
use crate::hash::Hash;
use crate::id::{AgentId, MessageId, RecordId, Seq};
use crate::models::ModelTable;
use crate::units::{Millis, Tokens};
use crate::usage::TokenUsage;
use crate::usage_book::UsageSum;
use crate::weight::Weight;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The state that records fold into.
///
/// Later layers keep their facts under [`FoldedState::facts`] by name (estimators, breaker,
/// to-dos, plan, skills, discovered tools, grants, title, the date last told): values that only
/// their owner interprets, carried by every manifest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FoldedState {
    /// How far extraction, notes, mail and the like have got.
    pub cursors: BTreeMap<String, Seq>,
    /// The last response of this branch.
    pub last_usage: Option<LastUsage>,
    /// Measured against estimated tokens, by model.
    pub calibration: BTreeMap<String, Calibration>,
    /// What the session has used.
    pub totals: Totals,
    /// Named facts of the layers.
    pub facts: BTreeMap<String, Value>,
    /// Files the agent has read, with what their owner noted.
    pub read_files: BTreeMap<String, Value>,
    /// Memories shown in this session, with their size.
    pub surfaced: BTreeMap<String, u64>,
    /// The prefix in use.
    pub prefix: Option<Prefix>,
    /// The model last used.
    pub model: Option<String>,
    /// The effort last used.
    pub effort: Option<String>,
    /// The last request.
    pub last_request: Option<LastRequest>,
    /// Pauses between requests.
    pub gaps: Gaps,
    /// Agents that have not ended.
    pub agents: BTreeMap<AgentId, Value>,
    /// Where a fork comes from (without its manifest).
    pub lineage: Option<Box<Lineage>>,
    /// The last boundary.
    pub boundary: Option<RecordId>,
    /// The session notes, as far as they got.
    pub notes: Option<NotesState>,
    /// Tokens that updates of the notes have used since the last compaction.
    pub notes_usage: TokenUsage,
    /// Updates of the notes since the last compaction.
    pub notes_updates: u32,
    /// The user's messages and the evidence, over all boundaries.
    pub chronicle: Chronicle,
    /// The chronicle's clock at the last compaction: what it knew by then may have been forgotten.
    pub forgotten_until: u64,
    /// The user took a rewrite back: nothing is rewritten by itself until it has to be.
    pub undone: bool,
}

/// How far the session notes got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotesState {
    /// The last message they cover.
    pub last_summarised: Seq,
    /// How long the conversation was then, or right after a compaction that came later.
    pub conversation: Tokens,
    /// Tool calls since.
    pub calls_since: u64,
    /// Their size.
    pub size: Tokens,
}

/// The last response of a branch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastUsage {
    /// Its id, if the provider gave one.
    pub message: Option<MessageId>,
    /// The model.
    pub model: String,
    /// What it used.
    pub usage: TokenUsage,
    /// What the answer weighs.
    #[serde(default)]
    pub answer: Weight,
    /// What was appended since the answer.
    #[serde(default)]
    pub since: Weight,
    /// Estimate removed from what the figure covers by rewrites since.
    #[serde(default)]
    pub removed: Tokens,
    /// Estimate added to it by rewrites since.
    #[serde(default)]
    pub added: Tokens,
}

/// Sums of measured and estimated growth; their ratio corrects estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// Tokens the provider counted.
    pub measured: Tokens,
    /// Tokens estimated for the same content.
    pub estimated: Tokens,
}

impl Calibration {
    /// The correction in thousandths, within half and three times.
    pub fn thousandths(self) -> u64 {
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

    /// How far estimates are off, in per cent: positive when they are too low.
    pub fn drift_percent(self) -> i64 {
        i64::try_from(self.thousandths()).unwrap_or(0) / 10 - 100
    }
}

/// What a session has used. A response counts once, whatever number of records tells of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Settled sums by model.
    pub by_model: BTreeMap<String, UsageSum>,
    /// The newest responses, whose figures may still be corrected by a later record.
    pub recent: Vec<RecentUsage>,
}

/// Responses whose figures may still be corrected. A response is told of by several records, but
/// they lie close together.
const UNSETTLED: usize = 64;

impl Totals {
    /// Takes note of a response's figures; the latest count, and count once.
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
            known.usage = usage;
            return;
        }
        let model = model.to_owned();
        self.recent.push(RecentUsage {
            message: message.clone(),
            model,
            usage,
        });
        if self.recent.len() > UNSETTLED {
            let settled = self.recent.remove(0);
            settle(&mut self.by_model, models, &settled);
        }
    }

    /// The sums by model, with what is not settled yet.
    pub fn sums(&self, models: &ModelTable) -> BTreeMap<String, UsageSum> {
        let mut sums = self.by_model.clone();
        for recent in &self.recent {
            settle(&mut sums, models, recent);
        }
        sums
    }
}

fn settle(sums: &mut BTreeMap<String, UsageSum>, models: &ModelTable, one: &RecentUsage) {
    let cost = models.lookup(&one.model).info.cost(&one.usage);
    sums.entry(one.model.clone())
        .or_default()
        .count(one.usage, cost);
}

/// A response whose figures are not settled yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecentUsage {
    /// Its id.
    pub message: MessageId,
    /// The model.
    pub model: String,
    /// The latest figures.
    pub usage: TokenUsage,
}

/// Pauses between requests, by what the cache makes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// Up to five minutes.
    pub short: u64,
    /// More, up to an hour.
    pub middle: u64,
    /// More than an hour.
    pub long: u64,
}

impl Gaps {
    /// Counts one pause.
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

/// What the last request looked like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastRequest {
    /// The record.
    pub id: RecordId,
    /// When it left.
    pub at: Option<Millis>,
    /// How many segments it had.
    pub segments: u64,
    /// The chain over them.
    pub chain: Hash,
    /// Its cache markers.
    pub markers: Vec<Marker>,
}
