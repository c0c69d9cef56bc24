//! Configuration of a simulator.
//!
//! Everything has a default, so an empty file is a valid configuration. Files are TOML; answers may
//! also come as JSON lines, one [`SimAnswer`] per line.
//!
//! # Not here
//! Reading files: the caller hands in their text.

use crate::answer::{SideAnswer, SimAnswer};
use crate::fault::Fault;
use crate::tokens::UsageOverride;
use dormouse_core::models::{ModelTable, ModelTableError};
use serde::{Deserialize, Serialize};

/// The whole configuration, as a file holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimConfig {
    /// Address to listen on; port 0 takes any free one.
    pub listen: String,
    /// Seed of everything that looks random: ids, the persona's choices, chaos.
    pub seed: u64,
    /// True if time comes from the header `x-sim-now-ms` instead of the machine's clock.
    pub virtual_time: bool,
    /// Milliseconds from the start of a request to the first byte of its answer. Entries that the
    /// request wrote to the cache can be read from then on.
    pub first_byte_ms: u64,
    /// Milliseconds between two pieces of a stream.
    pub piece_ms: u64,
    /// Characters of text in one piece of a stream.
    pub piece_chars: usize,
    /// A model file with windows, prices and minimum lengths that replace the built-in ones.
    pub models: Option<String>,
    /// Window that replaces that of every model.
    pub window: Option<u64>,
    /// Minimum cacheable length that replaces that of every model.
    pub cache_minimum: Option<u64>,
    /// Tokens per byte and the like.
    pub tokenizer: TokenizerConfig,
    /// Source and length of answers.
    pub answers: AnswerConfig,
    /// Figures that replace the counted ones in every answer's usage.
    pub usage: Option<UsageOverride>,
    /// Rate limits of each account.
    pub limits: Limits,
    /// Faults by request number.
    pub faults: Vec<FaultRule>,
    /// Random faults: how many requests in a thousand, and which.
    pub chaos_permille: u32,
    /// Faults that chaos picks from.
    pub chaos: Vec<Fault>,
    /// Behaviour that differs between accounts or is not documented.
    pub switches: Switches,
    /// Settings of the OpenAI face.
    pub openai: OpenAiConfig,
    /// Largest body accepted, in bytes; the provider's 32 MB by default.
    pub max_body_bytes: usize,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:0".to_owned(),
            seed: 0,
            virtual_time: false,
            first_byte_ms: 0,
            piece_ms: 0,
            piece_chars: 40,
            models: None,
            window: None,
            cache_minimum: None,
            tokenizer: TokenizerConfig::default(),
            answers: AnswerConfig::default(),
            usage: None,
            limits: Limits::default(),
            faults: Vec::new(),
            chaos_permille: 0,
            chaos: Vec::new(),
            switches: Switches::default(),
            openai: OpenAiConfig::default(),
            max_body_bytes: 32 * 1024 * 1024,
        }
    }
}

impl SimConfig {
    /// Reads a TOML file's text.
    ///
    /// # Errors
    /// When it is not TOML, or names something that does not exist.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|source| ConfigError::Syntax(Box::new(source)))
    }

    /// The model table with the overrides of this configuration.
    pub(crate) fn model_table(&self) -> Result<ModelTable, ConfigError> {
        match &self.models {
            None => Ok(ModelTable::builtin().clone()),
            Some(text) => ModelTable::with_overrides(text).map_err(ConfigError::Models),
        }
    }
}

/// Reason that a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not TOML of the expected shape.
    #[error("the simulator's configuration cannot be read")]
    Syntax(#[source] Box<toml::de::Error>),
    /// The model file is not sound.
    #[error("the simulator's model file cannot be read")]
    Models(#[source] ModelTableError),
    /// A line of a script of answers is not an answer.
    #[error("line {line} of the script is not an answer")]
    Script {
        /// Number of the line, from 1.
        line: usize,
        /// The parser's error, with its column.
        #[source]
        source: serde_json::Error,
    },
}

/// The stand-in for a tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerConfig {
    /// Thousandths by which every count is multiplied, also those of images.
    pub factor_permille: u32,
    /// Hundredths of a byte per token of text; the model's own ratio if absent.
    pub text_hundredths: Option<u32>,
    /// Hundredths of a byte per token of JSON; the model's own ratio if absent.
    pub json_hundredths: Option<u32>,
    /// Tokens that frame each block of a message.
    pub block_tokens: u64,
    /// True to add the documented hidden tokens of tools.
    pub hidden_tool_tokens: bool,
}

impl Default for TokenizerConfig {
    fn default() -> Self {
        Self {
            factor_permille: 1_000,
            text_hundredths: None,
            json_hundredths: None,
            block_tokens: 4,
            hidden_tool_tokens: true,
        }
    }
}

/// Source and length of answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AnswerConfig {
    /// Answers in order, written by hand or recorded. The built-in persona speaks when they have
    /// run out.
    pub script: Vec<SimAnswer>,
    /// Answers to side calls, whenever these come: a request gets the first one that is meant for it
    /// and that no other request has had.
    pub side: Vec<SideAnswer>,
    /// Most tool calls the persona makes before it ends its turn.
    pub tool_rounds: Option<u32>,
    /// Characters of the persona's texts.
    pub text_chars: Option<usize>,
    /// Characters of the persona's thinking.
    pub thinking_chars: Option<usize>,
    /// Characters of the summaries that the persona writes when a user asks for one; 8,000 if
    /// absent.
    pub summary_chars: Option<usize>,
    /// Characters of the notes that the persona writes when a user asks for them; 1,600 if absent.
    pub notes_chars: Option<usize>,
}

impl AnswerConfig {
    /// Reads answers from JSON lines; blank lines are skipped.
    ///
    /// # Errors
    /// When a line is not an answer.
    pub fn from_json_lines(text: &str) -> Result<Self, ConfigError> {
        let lines = text.lines().enumerate();
        let script = lines
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(at, line)| {
                serde_json::from_str(line).map_err(|source| ConfigError::Script {
                    line: at + 1,
                    source,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            script,
            ..Self::default()
        })
    }
}

/// Limits of an account per minute; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Requests for messages, of all models together.
    pub requests: Option<u64>,
    /// Prompt tokens that were not read from the cache.
    pub input_tokens: Option<u64>,
    /// Tokens of answers, charged when written.
    pub output_tokens: Option<u64>,
    /// Requests to count tokens, which are limited apart.
    pub count_requests: Option<u64>,
}

/// A fault for one request, or for every so many.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// Number of the request, from 1; with `every`, the first one.
    pub at: u64,
    /// Distance to the next one.
    #[serde(default)]
    pub every: Option<u64>,
    /// The fault that strikes.
    pub fault: Fault,
}

impl FaultRule {
    pub(crate) fn applies(&self, number: u64) -> bool {
        // A distance of zero would divide by zero; it counts as no repetition.
        match self.every.filter(|every| *every > 0) {
            Some(every) => number >= self.at && (number - self.at).is_multiple_of(every),
            None => number == self.at,
        }
    }
}

/// Behaviour that differs between accounts or is not documented.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches of a configuration file, not states"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Switches {
    /// Each tool definition takes one of the twenty positions of a lookback.
    pub tools_take_positions: bool,
    /// Thinking and effort are rendered ahead of tools and system: changing them misses those too.
    pub parameters_first: bool,
    /// Enforcement of the binding of thinking to its conversation.
    pub thinking_binding: BindingMode,
    /// Way in which threads are refused.
    pub threads: ThreadRefusal,
    /// A key or token must be sent.
    pub require_auth: bool,
    /// Names the table does not list are served as the entry `unknown`.
    pub accept_unknown_models: bool,
    /// Prefixes that the cache keeps, and what writing them costs.
    pub cache: CacheMode,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            tools_take_positions: true,
            parameters_first: false,
            thinking_binding: BindingMode::Off,
            threads: ThreadRefusal::Unsupported,
            require_auth: true,
            accept_unknown_models: false,
            cache: CacheMode::Marked,
        }
    }
}

/// Prefixes that the cache keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Those that a request marks, written at the price of writing: the documented rules.
    #[default]
    Marked,
    /// Every prefix beyond the minimum for five minutes, markers ignored; writing costs what input
    /// costs, as with providers that cache by themselves.
    Automatic,
    /// Every prefix for ever, whatever its age, its length and its distance from a marker; all that
    /// is new is written.
    Perfect,
}

/// Enforcement of bound thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingMode {
    /// Not at all: an account from before the rule.
    #[default]
    Off,
    /// A moved block is refused, or dropped where the request asks for that.
    Enforce,
}

/// The two documented ways to refuse a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadRefusal {
    /// 400: the client stops using threads.
    #[default]
    Unsupported,
    /// 404: the client sends the whole conversation again.
    NotFound,
}

/// Settings of the OpenAI face, the same for every model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenAiConfig {
    /// Window of every model.
    pub window: u64,
    /// Longest answer in tokens, if the request names none.
    pub max_output: u64,
    /// Idle milliseconds after which a cached prefix is gone.
    pub idle_ms: u64,
    /// Shortest prompt that is cached.
    pub cache_minimum: u64,
    /// Cached tokens come in multiples of this.
    pub cache_step: u64,
}

impl Default for OpenAiConfig {
    fn default() -> Self {
        Self {
            window: 128_000,
            max_output: 16_384,
            idle_ms: 5 * 60 * 1_000,
            cache_minimum: 1_024,
            cache_step: 128,
        }
    }
}
