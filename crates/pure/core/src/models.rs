//! The model table: what each model can hold, what it costs, how it behaves.
//!
//! Model: a data file lists models by id; a user's file of the same form changes single fields or
//! adds models. A name as it stands in a request or a transcript (dated, prefixed by a provider,
//! with a `[1m]` suffix) resolves to one entry, or to the entry `unknown`, which has no prices: its
//! cost is unknown, never zero.
//!
//! Responsibilities: reading the data, resolving names, prices and what usage costs.
//! Not here: which window applies to a session (settings and headers have a say in that), where
//! the user's file lies, and asking the provider.

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

/// Id of the entry that stands for every model the table does not list.
pub const UNKNOWN_MODEL: &str = "unknown";

/// All models known, built in or from the user's file.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTable {
    models: BTreeMap<String, ModelInfo>,
    unknown: ModelInfo,
    tokenizers: BTreeMap<Tokenizer, BytesPerToken>,
    names: Names,
}

impl ModelTable {
    /// The table that comes with the program.
    pub fn builtin() -> &'static Self {
        // The data is part of the program and a test reads it; should it ever be unreadable, every
        // model is unknown, which is safe, instead of the program not starting.
        static TABLE: LazyLock<ModelTable> = LazyLock::new(|| {
            ModelTable::empty()
                .merged(BUILTIN)
                .unwrap_or_else(|_| ModelTable::empty())
        });
        &TABLE
    }

    /// The built-in table with the entries of a user's file on top, field by field.
    pub fn with_overrides(toml_text: &str) -> Result<Self, ModelTableError> {
        Self::builtin().clone().merged(toml_text)
    }

    /// Finds the entry for a model name in any of the forms it is written in.
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

    /// All listed models in the order of their ids, without the fallback.
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

/// What a model name resolved to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolved<'t> {
    /// The entry; that of `unknown` if none matched.
    pub info: &'t ModelInfo,
    /// How the name led to it.
    pub matched: Matched,
    /// The name ended in `[1m]`, which asks for a window of a million tokens.
    pub million_suffix: bool,
}

impl Resolved<'_> {
    /// The table lists this model.
    pub fn is_known(&self) -> bool {
        self.matched != Matched::Unknown
    }
}

/// How a name led to an entry. Provider prefixes, dates and the like do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched {
    /// By its id.
    Id,
    /// By another name of it.
    Alias,
    /// By a name rule with a trailing `*`.
    Prefix,
    /// Not at all.
    Unknown,
}

/// What is known of one model.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of a data row, not states"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct ModelInfo {
    /// The id to send, without a date.
    pub id: String,
    /// Other names; a trailing `*` makes one a prefix rule.
    pub aliases: Vec<String>,
    /// Tokens the model can hold, prompt and answer together.
    pub window: Tokens,
    /// Longest answer.
    pub max_output: Tokens,
    /// Prices, if known.
    pub prices: Option<Prices>,
    /// A shorter prefix than this is not cached, whatever markers it has.
    pub cache_minimum: Tokens,
    /// Generation of its tokenizer.
    pub tokenizer: Tokenizer,
    /// Estimate of bytes per token.
    pub bytes_per_token: BytesPerToken,
    own_text_ratio: Option<Ratio>,
    own_json_ratio: Option<Ratio>,
    /// What its thinking blocks are bound to.
    pub thinking_binding: ThinkingBinding,
    /// Models of the same family can read its thinking.
    pub thinking_family: String,
    /// The provider drops the thinking of earlier turns.
    pub strips_prior_thinking: bool,
    /// System messages are accepted between turns.
    pub mid_conversation_system: bool,
    /// The effort that leaving it out amounts to, if known.
    pub default_effort: Option<Effort>,
    /// Tokens the provider adds when tools are given, if known.
    pub hidden_tool_tokens: Option<HiddenToolTokens>,
    /// The provider tells the model how much of its window is left.
    pub context_awareness: bool,
    /// No longer served.
    pub retired: bool,
}

impl ModelInfo {
    /// What this usage cost, or `None` where the prices are not known.
    pub fn cost(&self, usage: &TokenUsage) -> Option<Usd> {
        self.prices.as_ref().map(|prices| prices.cost(usage))
    }

    /// Whether thinking that `maker` wrote means anything to this model.
    pub fn reads_thinking_of(&self, maker: &Self) -> bool {
        self.thinking_family == maker.thinking_family
    }

    /// What every entry starts from; the data file's `unknown` refines it.
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

/// Generation of a tokenizer: the newer one makes about 30 % more tokens of the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tokenizer {
    /// Up to Opus 4.6, Sonnet 4.6 and Haiku 4.5.
    Old,
    /// From Opus 4.7 on.
    New,
}

/// How many bytes of UTF-8 make a token, by the kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BytesPerToken {
    /// Prose and code.
    pub text: Ratio,
    /// JSON.
    pub json: Ratio,
}

impl Default for BytesPerToken {
    fn default() -> Self {
        Self {
            text: Ratio { hundredths: 400 },
            json: Ratio { hundredths: 200 },
        }
    }
}

/// Bytes per token, exact to a hundredth so that estimates are the same on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    hundredths: u32,
}

impl Ratio {
    /// Estimated tokens of that many bytes, rounded up.
    pub fn tokens_of(self, bytes: u64) -> Tokens {
        let per_token = u128::from(self.hundredths.max(1));
        Tokens(u64::try_from((u128::from(bytes) * 100).div_ceil(per_token)).unwrap_or(u64::MAX))
    }

    /// Bytes per token, for display.
    pub fn as_f64(self) -> f64 {
        f64::from(self.hundredths) / 100.0
    }
}

/// What a thinking block is bound to; an edit there makes it invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingBinding {
    /// To nothing but the model family.
    None,
    /// To everything that precedes it: system, tools, earlier messages.
    Prefix,
    /// To the account only.
    Account,
}

/// How much work a model puts into an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Least.
    Low,
    /// In between.
    Medium,
    /// More.
    High,
    /// Most.
    Max,
}

/// Tokens the provider adds to a request with tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiddenToolTokens {
    /// Where the model may choose (tool choice `auto` or `none`).
    pub auto: Tokens,
    /// Where a tool is forced.
    pub any: Tokens,
}
