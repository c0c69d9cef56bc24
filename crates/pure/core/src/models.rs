//! Model table: window, price and behaviour of each model.
//!
//! Model: a data file lists models by id; a user's file of the same form changes single fields or
//! adds models. A name as written in a request or a transcript (dated, prefixed by a provider, with
//! a `[1m]` suffix) resolves to one entry, or to the entry `unknown`, which has no prices: its cost
//! is unknown, never zero.
//!
//! Responsibilities: parsing the data, resolving names, prices and the cost of usage.
//! Not here: the window of a session (settings and headers change it), the location of the user's
//! file, and queries to the provider.

mod field;
mod names;
mod parse;
mod price;

#[cfg(test)]
mod models_tests;
#[cfg(test)]
mod overrides_tests;

pub use parse::ModelTableError;
pub use price::{LongPrompt, Price, PriceSet, Prices, Service};

use crate::units::Tokens;
use crate::usage::{TokenUsage, Usd};
use names::Names;
use std::collections::BTreeMap;
use std::sync::LazyLock;

const BUILTIN: &str = include_str!("../data/models.toml");

/// Id of the entry used for every model that the table does not list.
pub const UNKNOWN_MODEL: &str = "unknown";

/// All known models, built in or from the user's file.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTable {
    models: BTreeMap<String, ModelInfo>,
    unknown: ModelInfo,
    tokenizers: BTreeMap<Tokenizer, BytesPerToken>,
    names: Names,
}

impl ModelTable {
    /// The same models at prices without a discount for cached tokens.
    #[must_use]
    pub fn without_cache(&self) -> Self {
        let mut table = self.clone();
        for model in table.models.values_mut().chain([&mut table.unknown]) {
            model.prices = model.prices.as_ref().map(Prices::without_cache);
        }
        table
    }

    /// The same models where writing the cache costs what input costs.
    #[must_use]
    pub fn with_free_writes(&self) -> Self {
        let mut table = self.clone();
        for model in table.models.values_mut().chain([&mut table.unknown]) {
            model.prices = model.prices.as_ref().map(Prices::with_free_writes);
        }
        table
    }

    /// Table compiled into the program.
    pub fn builtin() -> &'static Self {
        // A test parses the data, so this cannot fail in a tested build. Should it fail anyway,
        // every model is unknown, which only disables prices, instead of the program not starting.
        static TABLE: LazyLock<ModelTable> = LazyLock::new(|| {
            ModelTable::empty()
                .merged(BUILTIN)
                .unwrap_or_else(|_| ModelTable::empty())
        });
        &TABLE
    }

    /// Built-in table with the entries of a user's file on top, field by field.
    pub fn with_overrides(toml_text: &str) -> Result<Self, ModelTableError> {
        Self::builtin().clone().merged(toml_text)
    }

    /// Entry for a model name in any of its spellings; that of [`UNKNOWN_MODEL`] if none matches.
    pub fn lookup(&self, name: &str) -> Resolved<'_> {
        let query = names::Query::new(name);
        let found = self
            .names
            .find(&query)
            .and_then(|(id, matched)| Some((self.models.get(id)?, matched)));
        let (info, matched) = found.unwrap_or((&self.unknown, Matched::Unknown));
        Resolved {
            info,
            matched,
            million_suffix: query.million_suffix(),
        }
    }

    /// All listed models in the order of their ids, without the entry for unknown models.
    pub fn iter(&self) -> impl Iterator<Item = &ModelInfo> {
        self.models.values()
    }

    fn empty() -> Self {
        Self {
            models: BTreeMap::new(),
            unknown: ModelInfo::fallback(),
            tokenizers: BTreeMap::new(),
            names: Names::default(),
        }
    }
}

/// Result of looking up a model name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolved<'t> {
    /// Entry that matched; that of `unknown` if none did.
    pub info: &'t ModelInfo,
    /// Kind of match, for diagnostics.
    pub matched: Matched,
    /// Set when the name ended in `[1m]`, which asks for a window of a million tokens.
    pub million_suffix: bool,
}

impl Resolved<'_> {
    /// True if the table lists the model.
    pub fn is_known(&self) -> bool {
        self.matched != Matched::Unknown
    }
}

/// Kind of match between a name and an entry. Provider prefixes and dates are ignored for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched {
    /// Match by the entry's id.
    Id,
    /// Match by one of its aliases.
    Alias,
    /// Match by an alias with a trailing `*`, which covers every name with that prefix.
    Prefix,
    /// No match: the entry is that of `unknown`.
    Unknown,
}

/// One row of the table: limits, prices and behaviour of a model.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of a data row, not states"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// Id to send in requests, without a date.
    pub id: String,
    /// Other names; a trailing `*` makes one a prefix rule.
    pub aliases: Vec<String>,
    /// Tokens of the context window, prompt and answer together.
    pub window: Tokens,
    /// Upper limit of `max_tokens` in a request.
    pub max_output: Tokens,
    /// Prices; none if unknown, so that the cost is reported as unknown.
    pub prices: Option<Prices>,
    /// Shortest prefix, in tokens, that the provider caches; markers on shorter ones have no
    /// effect.
    pub cache_minimum: Tokens,
    /// Tokenizer generation, which sets the default of `bytes_per_token`.
    pub tokenizer: Tokenizer,
    /// Estimated bytes per token: the model's own value, or that of its tokenizer.
    pub bytes_per_token: BytesPerToken,
    own_text_ratio: Option<Ratio>,
    own_json_ratio: Option<Ratio>,
    /// Context that its thinking blocks are bound to; a rewrite there invalidates them.
    pub thinking_binding: ThinkingBinding,
    /// Name shared by models that can read each other's thinking.
    pub thinking_family: String,
    /// True if the provider drops the thinking of earlier turns from the prompt.
    pub strips_prior_thinking: bool,
    /// True if system messages are accepted between turns.
    pub mid_conversation_system: bool,
    /// Effort that applies when a request names none, if known.
    pub default_effort: Option<Effort>,
    /// Tokens the provider adds to the prompt when tools are given, if known.
    pub hidden_tool_tokens: Option<HiddenToolTokens>,
    /// True if the provider tells the model how much of its window is left.
    pub context_awareness: bool,
    /// No longer served; kept so that old transcripts can be priced.
    pub retired: bool,
}

impl ModelInfo {
    /// Cost of **one** response, or `None` where the prices are unknown.
    pub fn cost(&self, usage: &TokenUsage) -> Option<Usd> {
        self.prices.as_ref().map(|prices| prices.cost(usage))
    }

    /// True if this model can read thinking that `maker` wrote.
    pub fn reads_thinking_of(&self, maker: &Self) -> bool {
        self.thinking_family == maker.thinking_family
    }

    /// Values that every entry starts from; `unknown` in the data file refines them. The window is
    /// the smallest in the table: an unlisted model must not be sent more than it can hold.
    fn fallback() -> Self {
        Self {
            id: UNKNOWN_MODEL.to_owned(),
            aliases: Vec::new(),
            window: Tokens(200_000),
            max_output: Tokens(32_000),
            prices: None,
            cache_minimum: Tokens(1_024),
            tokenizer: Tokenizer::Old,
            bytes_per_token: BytesPerToken::default(),
            own_text_ratio: None,
            own_json_ratio: None,
            thinking_binding: ThinkingBinding::None,
            thinking_family: UNKNOWN_MODEL.to_owned(),
            strips_prior_thinking: false,
            mid_conversation_system: false,
            default_effort: None,
            hidden_tool_tokens: None,
            context_awareness: false,
            retired: false,
        }
    }
}

/// Tokenizer generation: the newer one makes about 30 % more tokens of the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tokenizer {
    /// Models up to Opus 4.6, Sonnet 4.6 and Haiku 4.5.
    Old,
    /// Models from Opus 4.7 on.
    New,
}

/// Bytes of UTF-8 per token, by the kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesPerToken {
    /// Ratio for prose and code.
    pub text: Ratio,
    /// Ratio for JSON, whose punctuation takes more tokens per byte.
    pub json: Ratio,
}

impl Default for BytesPerToken {
    fn default() -> Self {
        // The figures of the older generation in the data file: a guess for models of other
        // vendors.
        Self {
            text: Ratio { hundredths: 400 },
            json: Ratio { hundredths: 200 },
        }
    }
}

/// Bytes per token in hundredths: integers give the same estimates on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    hundredths: u32,
}

impl Ratio {
    /// Estimated tokens of `bytes` bytes, rounded up.
    pub fn tokens_of(self, bytes: u64) -> Tokens {
        // A ratio of zero is refused by the parser; `max` keeps the division defined regardless.
        let per_token = u128::from(self.hundredths.max(1));
        Tokens(u64::try_from((u128::from(bytes) * 100).div_ceil(per_token)).unwrap_or(u64::MAX))
    }

    /// Bytes per token as a float, for display only.
    pub fn as_f64(self) -> f64 {
        f64::from(self.hundredths) / 100.0
    }
}

/// Context that a thinking block is bound to; a change there makes the block invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingBinding {
    /// Bound to the model family only.
    None,
    /// Bound to everything before it: system, tools, earlier messages.
    Prefix,
    /// Bound to the account only.
    Account,
}

/// Amount of work a model puts into an answer, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// `low`: the least work and the fewest tokens.
    Low,
    /// `medium`: between low and high.
    Medium,
    /// `high`: more work than medium; the default of several models.
    High,
    /// `max`: the most work a model offers.
    Max,
}

/// Tokens the provider adds to a request with tools, by tool choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiddenToolTokens {
    /// Tokens for tool choice `auto` or `none`.
    pub auto: Tokens,
    /// Tokens for a forced tool.
    pub any: Tokens,
}
