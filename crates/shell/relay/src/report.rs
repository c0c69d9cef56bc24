//! Figures of all days, from the book.

use crate::book::{BookError, days, scan};
use crate::entry::Entry;
use crate::relay::{cost, cost_untouched};
use dormouse_core::models::ModelTable;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_recognise::{Chain, Relation};
use dormouse_system::System;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// Figures of the gateway, all conversations together and each by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BookReport {
    /// Sums over everything that was booked.
    #[serde(flatten)]
    pub all: Sums,
    /// Number of conversations that were booked.
    pub conversation_count: u64,
    /// Requests by relation; those not understood stand under `not_understood`.
    pub relations: BTreeMap<String, u64>,
    /// Conversations, the dearest first.
    pub conversations: Vec<ConversationFigures>,
    /// Lines that could not be read.
    pub skipped_lines: u64,
}

/// Figures summed over requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Sums {
    /// Requests that were passed on.
    pub requests: u64,
    /// Requests whose reply was no success, or did not reach its end.
    pub failed: u64,
    /// Prompt tokens of all requests.
    pub prompt_tokens: Tokens,
    /// Tokens that models wrote.
    pub output_tokens: Tokens,
    /// Share of the prompt tokens that was read from a cache.
    pub cache_hit_rate: Option<f64>,
    /// Cost by list prices.
    pub cost_usd: Usd,
    /// Cost of the same tokens if no cache had been read or written.
    pub cost_without_cache_usd: Usd,
    /// Estimated cost of the same requests if the layers had changed nothing.
    pub cost_untouched_usd: Usd,
    /// Successful requests whose cost is not known.
    pub unpriced: u64,
    #[serde(skip)]
    usage: TokenUsage,
}

/// Figures of one conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConversationFigures {
    /// Id of the conversation.
    pub conversation: Chain,
    /// Sums over its own requests.
    #[serde(flatten)]
    pub sums: Sums,
    /// Models that answered in it.
    pub models: BTreeSet<String>,
    /// Times at which it was retried, branched or edited.
    pub disturbed: u64,
    /// Blocks of its longest history.
    pub blocks: u64,
    /// Time of its first request.
    pub first: Millis,
    /// Time of its last request.
    pub last: Millis,
}

impl Sums {
    fn count(&mut self, entry: &Entry, models: &ModelTable) {
        self.requests += 1;
        let whole = entry.status == 200 && entry.ended == crate::Ended::Whole;
        self.failed += u64::from(!whole);
        let Some(usage) = entry.usage else {
            self.unpriced += u64::from(whole);
            self.usage += entry.beside.unwrap_or_default();
            self.cost_usd += cost(models, entry).unwrap_or(Usd::ZERO);
            return;
        };
        self.usage += usage + entry.beside.unwrap_or_default();
        self.cost_untouched_usd += cost_untouched(models, entry).unwrap_or(Usd::ZERO);
        match cost(models, entry) {
            Some(cost) => self.cost_usd += cost,
            None => self.unpriced += 1,
        }
        let plain = TokenUsage {
            input: usage.prompt(),
            output: usage.output,
            ..TokenUsage::default()
        };
        let plain = Entry {
            usage: Some(plain),
            beside: None,
            ..entry.clone()
        };
        let plain = cost(models, &plain).unwrap_or(Usd::ZERO);
        self.cost_without_cache_usd += plain;
    }

    fn finish(&mut self) {
        self.prompt_tokens = self.usage.prompt();
        self.output_tokens = self.usage.output;
        #[expect(clippy::cast_precision_loss, reason = "a share, not an amount")]
        let rate = self.usage.cache_read.0 as f64 / self.prompt_tokens.0 as f64;
        self.cache_hit_rate = (self.prompt_tokens > Tokens(0)).then_some(rate);
    }
}

/// Reads the whole book of a folder.
///
/// # Errors
/// When a file of it cannot be read.
pub fn read_book(
    system: &System,
    folder: &Path,
    models: &ModelTable,
) -> Result<BookReport, BookError> {
    let mut report = BookReport::default();
    let mut conversations: HashMap<Chain, ConversationFigures> = HashMap::new();
    for path in days(&*system.files, folder)? {
        let skipped = scan(&*system.files, &path, |entry| {
            report.all.count(&entry, models);
            let relation = serde_json::to_value(entry.relation).unwrap_or_default();
            let relation = relation.as_str().unwrap_or("not_understood").to_owned();
            *report.relations.entry(relation).or_default() += 1;
            let Some(footprint) = &entry.footprint else {
                return;
            };
            let figures = conversations
                .entry(footprint.conversation)
                .or_insert_with(|| ConversationFigures {
                    conversation: footprint.conversation,
                    sums: Sums::default(),
                    models: BTreeSet::new(),
                    disturbed: 0,
                    blocks: 0,
                    first: entry.at,
                    last: entry.at,
                });
            figures.sums.count(&entry, models);
            figures.models.extend(entry.model.clone());
            figures.disturbed += u64::from(matches!(
                entry.relation,
                Some(Relation::Retries | Relation::Branches | Relation::Edits)
            ));
            figures.blocks = figures.blocks.max(entry.blocks);
            figures.first = figures.first.min(entry.at);
            figures.last = figures.last.max(entry.at);
        })?;
        report.skipped_lines += skipped;
    }
    report.all.finish();
    report.conversation_count = conversations.len() as u64;
    report.conversations = conversations.into_values().collect();
    for figures in &mut report.conversations {
        figures.sums.finish();
    }
    report.conversations.sort_by(|one, other| {
        let dearer = other.sums.cost_usd.cmp(&one.sums.cost_usd);
        dearer.then(one.conversation.cmp(&other.conversation))
    });
    Ok(report)
}
