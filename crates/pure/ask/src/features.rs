//! Features of single providers, typed on both ways.
//!
//! # Model
//! A wish becomes a [`Member`]: a member of the request's parameters and the beta headers it
//! needs. It is refused where the model cannot do it. What the provider reports back is read from
//! the raw parts of the response; a report that this version does not understand is `None` or
//! [`AppliedEdit::Other`], never an error.
//!
//! # Not here
//! When to wish for what: that is policy.

use crate::capabilities::{Capabilities, Feature, Unsupported};
use crate::response::Extras;
use dormouse_core::id::MessageId;
use dormouse_core::json::RawJson;
use dormouse_core::units::Tokens;
use serde::Deserialize;
use serde_json::{Value, json};

const CONTEXT_MANAGEMENT: &str = "context-management-2025-06-27";
const COMPACT_AT_THRESHOLD: &str = "compact-2026-01-12";
const COMPACT_ON_DEMAND: &str = "compact-2026-09-04";
const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";

/// A member of the parameters, with what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: RawJson,
    /// Beta headers it needs.
    pub betas: Vec<&'static str>,
}

/// Why a wish cannot be put into a request.
#[derive(Debug, thiserror::Error)]
pub enum FeatureError {
    /// The model cannot do it.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The provider would refuse these values.
    #[error("{0}")]
    Invalid(&'static str),
    /// It could not be serialised.
    #[error("the feature's settings could not be serialised")]
    Unserialisable(#[source] serde_json::Error),
}

fn member(
    name: &'static str,
    value: &Value,
    betas: Vec<&'static str>,
) -> Result<Member, FeatureError> {
    let value = RawJson::from_value(value).map_err(FeatureError::Unserialisable)?;
    Ok(Member { name, value, betas })
}

/// Edits that the provider makes before the model sees the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextEditing {
    /// Clear old thinking.
    pub thinking: Option<KeepThinking>,
    /// Clear old tool results.
    pub tool_uses: Option<ClearToolUses>,
    /// Summarise once the prompt is long.
    pub compact: Option<CompactAt>,
}

/// Whose thinking stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepThinking {
    /// That of all turns.
    All,
    /// That of the latest turns; at least one.
    Turns(u32),
}

/// Clearing of old tool results, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClearToolUses {
    /// When to begin; the provider's default is 100,000 tokens.
    pub trigger: Option<Trigger>,
    /// Number of the latest to keep; the provider's default is 3.
    pub keep: Option<u32>,
    /// Not unless so much is gained.
    pub at_least: Option<Tokens>,
    /// Never those of these tools.
    pub exclude: Vec<String>,
    /// The inputs of the calls too.
    pub inputs: bool,
}

/// When clearing begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// At a length of the prompt.
    InputTokens(Tokens),
    /// At a number of calls.
    ToolUses(u32),
}

impl Trigger {
    fn json(self) -> Value {
        match self {
            Self::InputTokens(value) => json!({ "type": "input_tokens", "value": value }),
            Self::ToolUses(value) => json!({ "type": "tool_uses", "value": value }),
        }
    }
}

/// The provider's compaction at a threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactAt {
    /// Length of the prompt; the provider takes no less than 50,000.
    pub trigger: Tokens,
    /// Replaces the provider's own instructions.
    pub instructions: Option<String>,
    /// Stop after the summary, so that the client can add to it.
    pub pause: bool,
}

impl CompactAt {
    /// The least the provider takes.
    pub const LEAST: Tokens = Tokens(50_000);
}

impl ContextEditing {
    /// The member for the request.
    ///
    /// # Errors
    /// When the model cannot do it, or the provider would refuse the values.
    pub fn member(&self, capabilities: &Capabilities) -> Result<Member, FeatureError> {
        capabilities.require(Feature::ContextEditing)?;
        let (mut edits, mut betas) = (Vec::new(), vec![CONTEXT_MANAGEMENT]);
        // The provider insists on this one being first.
        if let Some(keep) = self.thinking {
            let keep = match keep {
                KeepThinking::All => json!("all"),
                KeepThinking::Turns(0) => {
                    return Err(FeatureError::Invalid("the thinking of a turn must be kept"));
                }
                KeepThinking::Turns(turns) => json!({ "type": "thinking_turns", "value": turns }),
            };
            edits.push(json!({ "type": "clear_thinking_20251015", "keep": keep }));
        }
        if let Some(clear) = &self.tool_uses {
            edits.push(clear.json());
        }
        if let Some(compact) = &self.compact {
            capabilities.require(Feature::ServerCompaction)?;
            if compact.trigger < CompactAt::LEAST {
                return Err(FeatureError::Invalid(
                    "the provider compacts no prompts below 50,000 tokens",
                ));
            }
            let mut edit = json!({
                "type": "compact_20260112",
                "trigger": Trigger::InputTokens(compact.trigger).json(),
            });
            if let Some(instructions) = &compact.instructions {
                edit["instructions"] = json!(instructions);
            }
            if compact.pause {
                edit["pause_after_compaction"] = json!(true);
            }
            edits.push(edit);
            betas.push(COMPACT_AT_THRESHOLD);
        }
        member("context_management", &json!({ "edits": edits }), betas)
    }
}

impl ClearToolUses {
    fn json(&self) -> Value {
        let mut edit = json!({ "type": "clear_tool_uses_20250919" });
        if let Some(trigger) = self.trigger {
            edit["trigger"] = trigger.json();
        }
        if let Some(keep) = self.keep {
            edit["keep"] = Trigger::ToolUses(keep).json();
        }
        if let Some(tokens) = self.at_least {
            edit["clear_at_least"] = Trigger::InputTokens(tokens).json();
        }
        if !self.exclude.is_empty() {
            edit["exclude_tools"] = json!(self.exclude);
        }
        if self.inputs {
            edit["clear_tool_inputs"] = json!(true);
        }
        edit
    }
}

/// A summary by the provider, now. The response is one signed block.
///
/// # Errors
/// When the model cannot do it.
pub fn compaction(
    instructions: Option<&str>,
    capabilities: &Capabilities,
) -> Result<Member, FeatureError> {
    capabilities.require(Feature::ServerCompaction)?;
    let mut value = json!({ "type": "summarize" });
    // Blank instructions count as none.
    if let Some(text) = instructions.filter(|text| !text.trim().is_empty()) {
        value["instructions"] = json!(text);
    }
    member("compaction", &value, vec![COMPACT_ON_DEMAND])
}

/// Beta headers that every request needs whose conversation begins with such a block.
pub const fn compaction_betas() -> [&'static str; 1] {
    [COMPACT_ON_DEMAND]
}

/// Thinking of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// Not at all.
    Disabled,
    /// As much as it finds right.
    Adaptive,
    /// Between tool calls only.
    BetweenTools,
    /// Up to so many tokens.
    Budget(Tokens),
}

/// Treatment of thinking whose prefix has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixMismatch {
    /// The provider's default.
    Default,
    /// The request fails.
    Error,
    /// The block is dropped, and the response says so.
    DropBlock,
}

/// The member that says how to think.
///
/// # Errors
/// When the model has no say in bound thinking, or the budget is too small.
pub fn thinking(
    mode: Thinking,
    mismatch: PrefixMismatch,
    capabilities: &Capabilities,
) -> Result<Member, FeatureError> {
    const SMALLEST_BUDGET: Tokens = Tokens(1_024);
    let mut value = match mode {
        Thinking::Disabled => json!({ "type": "disabled" }),
        Thinking::Adaptive => json!({ "type": "adaptive" }),
        Thinking::BetweenTools => json!({ "type": "between_tools" }),
        Thinking::Budget(tokens) if tokens < SMALLEST_BUDGET => {
            return Err(FeatureError::Invalid(
                "the provider takes no thinking budget below 1,024 tokens",
            ));
        }
        Thinking::Budget(tokens) => json!({ "type": "enabled", "budget_tokens": tokens }),
    };
    let behavior = match mismatch {
        PrefixMismatch::Default => return member("thinking", &value, Vec::new()),
        PrefixMismatch::Error => "error",
        PrefixMismatch::DropBlock => "drop_block",
    };
    capabilities.require(Feature::BindingControl)?;
    value["block_binding"] = json!({ "prefix_mismatch_behavior": behavior });
    member("thinking", &value, vec![BINDING_CONTROLS])
}

/// Asks why the cache was missed, compared with an earlier response; `None` on the first turn.
///
/// # Errors
/// When the model cannot do it.
pub fn cache_diagnostics(
    previous: Option<&MessageId>,
    capabilities: &Capabilities,
) -> Result<Member, FeatureError> {
    capabilities.require(Feature::CacheDiagnostics)?;
    let value = json!({ "previous_message_id": previous });
    member("diagnostics", &value, Vec::new())
}

/// An answer that follows a JSON schema. Stands in `output_config`, and replaces what was there.
///
/// # Errors
/// When the model cannot do it.
pub fn json_schema(schema: &Value, capabilities: &Capabilities) -> Result<Member, FeatureError> {
    capabilities.require(Feature::JsonSchema)?;
    let value = json!({ "format": { "type": "json_schema", "schema": schema } });
    member("output_config", &value, Vec::new())
}

/// An edit that the provider made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppliedEdit {
    /// Tool results were cleared.
    ToolUses {
        /// Their number.
        cleared: u64,
        /// Tokens gained.
        tokens: Tokens,
    },
    /// Thinking was cleared.
    Thinking {
        /// Of how many turns.
        turns: u64,
        /// Tokens gained.
        tokens: Tokens,
    },
    /// Something this version does not know.
    Other(RawJson),
}

/// Fate of the prompt cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheDiagnosis {
    /// Nothing to report, or not yet.
    Pending,
    /// The prompt goes on where the earlier one ended.
    NoDivergence,
    /// Something changed.
    Changed {
        /// Which part.
        what: Changed,
        /// Tokens that could have been read from the cache.
        missed: Option<Tokens>,
    },
    /// The earlier response is not known to the provider.
    PreviousNotFound,
    /// The provider cannot say.
    Unavailable,
    /// A reason this version does not know.
    Other(String),
}

/// The part of a prompt that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Another model.
    Model,
    /// The system prompt.
    System,
    /// The tools.
    Tools,
    /// Earlier messages.
    Messages,
}

impl Extras {
    /// The edits that the provider made, in its order.
    pub fn applied_edits(&self) -> Vec<AppliedEdit> {
        #[derive(Deserialize)]
        struct Edits {
            #[serde(default)]
            applied_edits: Vec<RawJson>,
        }
        let raw = self.context_management.as_ref();
        let edits = raw.and_then(|raw| serde_json::from_slice::<Edits>(raw.bytes()).ok());
        let edits = edits.map(|edits| edits.applied_edits).unwrap_or_default();
        edits.into_iter().map(AppliedEdit::read).collect()
    }

    /// The provider's report on its cache; `None` when it was not asked.
    pub fn cache_diagnosis(&self) -> Option<CacheDiagnosis> {
        let value: Value = serde_json::from_slice(self.diagnostics.as_ref()?.bytes()).ok()?;
        let Some(report) = value.as_object() else {
            return Some(CacheDiagnosis::Pending);
        };
        let Some(reason) = report.get("cache_miss_reason").and_then(Value::as_object) else {
            return Some(CacheDiagnosis::NoDivergence);
        };
        let missed = reason.get("cache_missed_input_tokens");
        let missed = missed.and_then(Value::as_u64).map(Tokens);
        let changed = |what| CacheDiagnosis::Changed { what, missed };
        let kind = reason.get("type").and_then(Value::as_str);
        Some(match kind.unwrap_or_default() {
            "model_changed" => changed(Changed::Model),
            "system_changed" => changed(Changed::System),
            "tools_changed" => changed(Changed::Tools),
            "messages_changed" => changed(Changed::Messages),
            "previous_message_not_found" => CacheDiagnosis::PreviousNotFound,
            "unavailable" => CacheDiagnosis::Unavailable,
            other => CacheDiagnosis::Other(other.to_owned()),
        })
    }

    /// Number of thinking blocks that the provider dropped because they did not belong to the prompt.
    pub fn dropped_thinking(&self) -> usize {
        let raw = self.input_transformations.as_ref();
        let value = raw.and_then(|raw| serde_json::from_slice::<Vec<Value>>(raw.bytes()).ok());
        let is_drop = |each: &&Value| each["type"] == "thinking_dropped";
        value.map_or(0, |list| list.iter().filter(is_drop).count())
    }
}

impl AppliedEdit {
    fn read(raw: RawJson) -> Self {
        #[derive(Deserialize)]
        struct Wire {
            #[serde(rename = "type")]
            kind: String,
            #[serde(default)]
            cleared_tool_uses: u64,
            #[serde(default)]
            cleared_thinking_turns: u64,
            #[serde(default)]
            cleared_input_tokens: Tokens,
        }
        let Ok(wire) = serde_json::from_slice::<Wire>(raw.bytes()) else {
            return Self::Other(raw);
        };
        match wire.kind.as_str() {
            "clear_tool_uses_20250919" => Self::ToolUses {
                cleared: wire.cleared_tool_uses,
                tokens: wire.cleared_input_tokens,
            },
            "clear_thinking_20251015" => Self::Thinking {
                turns: wire.cleared_thinking_turns,
                tokens: wire.cleared_input_tokens,
            },
            _ => Self::Other(raw),
        }
    }
}

#[cfg(test)]
#[path = "features_tests.rs"]
mod tests;
