//! What was used, response by response.
//!
//! # Model
//! A [`UsageBook`] maps each response to the latest figures that were told of it. One response is
//! told of by several lines (each content block has its own, with the figures as known then), and
//! a resumed session copies lines of the one before: since a response has one entry, counting it
//! twice is impossible, and the order of telling decides which figures stand.
//!
//! # Responsibilities
//! Sums and cost per model. Each response is priced by itself, because some models have a step
//! for long prompts. What has no known price is counted, never taken for free.
//!
//! # Not here
//! Finding the figures in a transcript.

use crate::id::{MessageId, RecordId};
use crate::models::ModelTable;
use crate::usage::{TokenUsage, Usd};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The model name of answers that a client made up without asking anybody.
pub const SYNTHETIC_MODEL: &str = "<synthetic>";

/// What makes a response the same response.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResponseKey {
    /// The provider's id of the message.
    Message(MessageId),
    /// The provider's id of the request.
    Request(Arc<str>),
    /// The record that tells of it.
    Record(RecordId),
    /// A line without any id: the number of its file in the book, and where it begins.
    Line {
        /// The file.
        source: u32,
        /// The place in it.
        offset: u64,
    },
}

#[derive(Clone, Debug)]
struct Response {
    model: u32,
    usage: TokenUsage,
}

/// The latest figures of every response.
#[derive(Clone, Debug, Default)]
pub struct UsageBook {
    responses: HashMap<ResponseKey, Response>,
    models: Vec<Arc<str>>,
    sources: u32,
}

/// Sums over responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageSum {
    /// Responses.
    pub responses: u64,
    /// Their tokens.
    pub usage: TokenUsage,
    /// What those with a known price cost.
    pub cost: Usd,
    /// Responses without a known price.
    pub unpriced: u64,
}

impl UsageSum {
    /// Counts one response. Prices depend on the single prompt's length, so the cost of a sum is
    /// no function of its tokens.
    pub fn count(&mut self, usage: TokenUsage, cost: Option<Usd>) {
        self.add(&Self {
            responses: 1,
            usage,
            cost: cost.unwrap_or_default(),
            unpriced: u64::from(cost.is_none()),
        });
    }

    fn add(&mut self, other: &Self) {
        self.responses += other.responses;
        self.usage += other.usage;
        self.cost += other.cost;
        self.unpriced += other.unpriced;
    }
}

/// All sums of a book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageTotals {
    /// By the model's name as it was told.
    pub by_model: BTreeMap<Arc<str>, UsageSum>,
    /// Over all models.
    pub all: UsageSum,
    /// Answers that a client made up; nothing was asked, so they are in no sum.
    pub synthetic: u64,
}

impl UsageBook {
    /// An empty book.
    pub fn new() -> Self {
        Self::default()
    }

    /// A number for a further file, to tell its lines without an id from those of other files.
    pub fn next_source(&mut self) -> u32 {
        self.sources += 1;
        self.sources
    }

    /// Notes what a response used; earlier figures of it no longer count.
    pub fn note(&mut self, key: ResponseKey, model: &str, usage: TokenUsage) {
        let model = self.model(model);
        self.responses.insert(key, Response { model, usage });
    }

    /// How many responses are in the book, made-up ones included.
    pub fn len(&self) -> usize {
        self.responses.len()
    }

    /// Whether nothing was noted.
    pub fn is_empty(&self) -> bool {
        self.responses.is_empty()
    }

    /// Sums and cost.
    pub fn totals(&self, table: &ModelTable) -> UsageTotals {
        let infos: Vec<_> = self
            .models
            .iter()
            .map(|name| table.lookup(name).info)
            .collect();
        let mut sums = vec![UsageSum::default(); self.models.len()];
        for response in self.responses.values() {
            let index = response.model as usize;
            let (Some(sum), Some(info)) = (sums.get_mut(index), infos.get(index)) else {
                continue;
            };
            sum.count(response.usage, info.cost(&response.usage));
        }
        let mut totals = UsageTotals::default();
        for (name, sum) in self.models.iter().zip(sums) {
            if **name == *SYNTHETIC_MODEL {
                totals.synthetic = sum.responses;
            } else if sum.responses > 0 {
                totals.all.add(&sum);
                totals.by_model.insert(Arc::clone(name), sum);
            }
        }
        totals
    }

    /// The number of a model. There are few, so looking through them is fastest.
    fn model(&mut self, name: &str) -> u32 {
        let found = self.models.iter().position(|known| **known == *name);
        let index = found.unwrap_or_else(|| {
            self.models.push(Arc::from(name));
            self.models.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Tokens;
    use pretty_assertions::assert_eq;

    fn usage(input: u64, output: u64) -> TokenUsage {
        TokenUsage {
            input: Tokens(input),
            output: Tokens(output),
            ..TokenUsage::default()
        }
    }

    fn message(id: &str) -> ResponseKey {
        ResponseKey::Message(id.into())
    }

    #[test]
    fn a_response_counts_once_with_its_latest_figures() {
        let mut book = UsageBook::new();
        for output in [1, 20, 300] {
            book.note(message("a"), "claude-sonnet-4-5", usage(10, output));
        }
        book.note(message("b"), "claude-sonnet-4-5", usage(5, 5));
        let totals = book.totals(ModelTable::builtin());
        assert_eq!(
            (totals.all.responses, totals.all.usage),
            (2, usage(15, 305))
        );
        assert_eq!(totals.by_model["claude-sonnet-4-5"], totals.all);
        assert!(totals.all.cost > Usd::ZERO);
    }

    #[test]
    fn made_up_answers_are_in_no_sum_and_unknown_models_have_no_price() {
        let mut book = UsageBook::new();
        book.note(message("a"), SYNTHETIC_MODEL, usage(0, 0));
        book.note(message("b"), "nobody-knows-this", usage(1, 1));
        let totals = book.totals(ModelTable::builtin());
        assert_eq!((totals.synthetic, totals.all.responses), (1, 1));
        assert_eq!((totals.all.unpriced, totals.all.cost), (1, Usd::ZERO));
        assert_eq!(book.len(), 2);
    }

    #[test]
    fn a_correction_may_change_the_model() {
        let mut book = UsageBook::new();
        book.note(message("a"), "one", usage(1, 1));
        book.note(message("a"), "two", usage(2, 2));
        let totals = book.totals(ModelTable::builtin());
        let names: Vec<&str> = totals.by_model.keys().map(|name| &**name).collect();
        assert_eq!(names, ["two"]);
    }

    #[test]
    fn lines_without_an_id_are_told_apart_by_file_and_place() {
        let mut book = UsageBook::new();
        let sources = [book.next_source(), book.next_source()];
        for source in sources {
            for offset in [0, 100] {
                book.note(ResponseKey::Line { source, offset }, "m", usage(1, 0));
            }
        }
        assert_eq!(book.totals(ModelTable::builtin()).all.responses, 4);
    }
}
