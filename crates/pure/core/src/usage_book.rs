//! Token usage per response.
//!
//! # Model
//! A [`UsageBook`] maps each response to its final figures. One response is reported by
//! several lines (each content block has its own, with the figures as known at that moment), and a
//! resumed session copies lines of the previous one. Because a response has one entry, it cannot be
//! counted twice; of several reports the largest is kept, since figures only grow while a response
//! arrives and a copy may have been made before its end.
//!
//! # Responsibilities
//! Sums and cost per model. Each response is priced by itself, because some models charge more for
//! long prompts. A response without a known price is counted as unpriced, never as free.
//!
//! # Not here
//! Finding the figures in a transcript (`store` does). Parts of a prompt: [`crate::meter`].

use crate::id::{MessageId, RecordId};
use crate::meter::PromptParts;
use crate::models::{ModelTable, PriceSet};
use crate::units::Millis;
use crate::usage::{TokenUsage, Usd};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Model name under which clients record answers they made up without a request. Such answers cost
/// nothing and are left out of all sums.
pub const SYNTHETIC_MODEL: &str = "<synthetic>";

/// Identity of a response, by the strongest id that its line carries.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResponseKey {
    /// Message id given by the provider.
    Message(MessageId),
    /// Request id given by the provider, for lines without a message id.
    Request(Arc<str>),
    /// Record that reports the usage, for lines without either.
    Record(RecordId),
    /// Line without any id, identified by its position.
    Line {
        /// Number of the file in the book, from [`UsageBook::next_source`].
        source: u32,
        /// Byte offset at which the line begins.
        offset: u64,
    },
}

#[derive(Clone, Debug)]
struct Response {
    model: u32,
    usage: TokenUsage,
    told: Told,
    parts: Option<Box<PromptParts>>,
}

/// Place and time at which a response was first told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Number of the file in the book, from [`UsageBook::next_source`]; zero if none was given.
    pub source: u32,
    /// Time of the line, if it has one.
    pub at: Option<Millis>,
}

/// A response with its figures and its price.
#[derive(Clone, Copy, Debug)]
pub struct Booked<'b> {
    /// Model as the log names it.
    pub model: &'b Arc<str>,
    /// Tokens by billing category.
    pub usage: TokenUsage,
    /// Cost at the prices of the table; `None` where they are not known.
    pub cost: Option<Usd>,
    /// Prices of a prompt of this length, where they are known.
    pub prices: Option<&'b PriceSet>,
    /// Place and time of the response.
    pub told: Told,
    /// Parts of its prompt, where the conversation was followed.
    pub parts: Option<&'b PromptParts>,
}

/// Final figures of every response.
#[derive(Clone, Debug, Default)]
pub struct UsageBook {
    responses: HashMap<ResponseKey, Response>,
    models: Vec<Arc<str>>,
    sources: u32,
}

/// Sums over responses of one model, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageSum {
    /// Number of responses, unpriced ones included.
    pub responses: u64,
    /// Tokens of all responses, by billing category.
    pub usage: TokenUsage,
    /// Cost of the responses with a known price; a lower bound while `unpriced` is above zero.
    pub cost: Usd,
    /// Number of responses without a known price.
    pub unpriced: u64,
}

impl UsageSum {
    /// Adds one response. The caller prices it by itself: prices depend on the length of the single
    /// prompt, so the cost of a sum cannot be computed from summed tokens.
    pub fn count(&mut self, usage: TokenUsage, cost: Option<Usd>) {
        self.add(&Self {
            responses: 1,
            usage,
            cost: cost.unwrap_or_default(),
            unpriced: u64::from(cost.is_none()),
        });
    }

    /// Adds the figures of another sum.
    pub fn add(&mut self, other: &Self) {
        self.responses += other.responses;
        self.usage += other.usage;
        self.cost += other.cost;
        self.unpriced += other.unpriced;
    }
}

/// Sums of a whole book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageTotals {
    /// Sums by model, under the name used in the log.
    pub by_model: BTreeMap<Arc<str>, UsageSum>,
    /// Sum over all models, synthetic answers excluded.
    pub all: UsageSum,
    /// Number of answers that a client made up without a request; in no sum.
    pub synthetic: u64,
}

impl UsageBook {
    /// Book without any response.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number for one more file, so that lines without an id in different files stay distinct.
    pub fn next_source(&mut self) -> u32 {
        self.sources += 1;
        self.sources
    }

    /// Stores the figures of a response, unless larger ones are known.
    pub fn note(&mut self, key: ResponseKey, model: &str, usage: TokenUsage) {
        self.note_told(key, model, usage, Told::default());
    }

    /// The same with place and time, which stay those of the first report. True if the response is
    /// new to the book.
    pub fn note_told(
        &mut self,
        key: ResponseKey,
        model: &str,
        usage: TokenUsage,
        told: Told,
    ) -> bool {
        let model = self.model(model);
        match self.responses.entry(key) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                if usage.supersedes(&known.usage) {
                    (known.model, known.usage) = (model, usage);
                }
                false
            }
            Entry::Vacant(place) => {
                place.insert(Response {
                    model,
                    usage,
                    told,
                    parts: None,
                });
                true
            }
        }
    }

    /// Stores the parts of a response's prompt; without the response they are dropped.
    pub fn divide(&mut self, key: &ResponseKey, parts: PromptParts) {
        if let Some(response) = self.responses.get_mut(key) {
            response.parts = Some(Box::new(parts));
        }
    }

    /// Every response with its price, in no particular order; made-up answers are left out.
    pub fn responses<'b>(&'b self, table: &'b ModelTable) -> impl Iterator<Item = Booked<'b>> {
        let infos: Vec<_> = self
            .models
            .iter()
            .map(|name| (name, table.lookup(name).info))
            .collect();
        self.responses.values().filter_map(move |response| {
            let (model, info) = *infos.get(response.model as usize)?;
            let prices = info.prices.as_ref();
            let prices = prices.map(|prices| prices.for_prompt(response.usage.prompt()));
            (**model != *SYNTHETIC_MODEL).then(|| Booked {
                model,
                usage: response.usage,
                cost: info.cost(&response.usage),
                prices,
                told: response.told,
                parts: response.parts.as_deref(),
            })
        })
    }

    /// Number of responses in the book, synthetic ones included.
    pub fn len(&self) -> usize {
        self.responses.len()
    }

    /// True if no response was noted.
    pub fn is_empty(&self) -> bool {
        self.responses.is_empty()
    }

    /// Sums and cost, at the prices of `table`.
    pub fn totals(&self, table: &ModelTable) -> UsageTotals {
        // One lookup per model: resolving a name is far slower than adding up a response.
        let infos: Vec<_> = self
            .models
            .iter()
            .map(|name| table.lookup(name).info)
            .collect();
        let mut sums = vec![UsageSum::default(); self.models.len()];
        for response in self.responses.values() {
            let index = response.model as usize;
            // Always in range: `model` below made the index.
            let (Some(sum), Some(info)) = (sums.get_mut(index), infos.get(index)) else {
                continue;
            };
            sum.count(response.usage, info.cost(&response.usage));
        }
        let mut totals = UsageTotals::default();
        for (name, sum) in self.models.iter().zip(sums) {
            if **name == *SYNTHETIC_MODEL {
                totals.synthetic = sum.responses;
            // A correction may have moved the only response of a name to another model.
            } else if sum.responses > 0 {
                totals.all.add(&sum);
                totals.by_model.insert(Arc::clone(name), sum);
            }
        }
        totals
    }

    /// Index of a model name. A linear search is fastest: a book holds a handful of models.
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
    fn of_two_copies_of_a_response_the_larger_counts() {
        for order in [[300, 20], [20, 300]] {
            let mut book = UsageBook::new();
            for output in order {
                book.note(message("a"), "claude-sonnet-4-5", usage(10, output));
            }
            let all = book.totals(ModelTable::builtin()).all;
            assert_eq!((all.responses, all.usage), (1, usage(10, 300)));
        }
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
