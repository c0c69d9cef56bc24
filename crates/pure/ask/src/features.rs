//! Optional features of single providers, typed in both directions.
//!
//! # Model
//! A requested feature becomes a [`Member`]: a member of the request's parameters and the beta
//! headers it needs. It is refused where the model does not support it. Reports of the provider are
//! parsed from the raw parts of the response; a report that this version does not understand is
//! `None` or [`AppliedEdit::Other`], never an error, because the response itself is valid.
//!
//! # Not here
//! The decision when to use a feature; that is policy (`dormouse-context`).

use crate::capabilities::{Capabilities, Feature, Unsupported};
use crate::response::Extras;
use dormouse_core::id::MessageId;
use dormouse_core::json::RawJson;
use dormouse_core::units::Tokens;
use serde::Deserialize;
use serde_json::{Value, json};

/// Beta header of context editing. The dates in these names are the provider's versions.
const CONTEXT_MANAGEMENT: &str = "context-management-2025-06-27";
/// Beta header of the provider's compaction at a threshold.
const COMPACT_AT_THRESHOLD: &str = "compact-2026-01-12";
/// Beta header of the provider's compaction on demand.
const COMPACT_ON_DEMAND: &str = "compact-2026-09-04";
/// Beta header of the control over bound thinking.
const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";

/// Member of the request parameters, with its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name of the member in the body.
    pub name: &'static str,
    /// Value as serialised JSON.
    pub value: RawJson,
    /// Beta headers without which the provider rejects the member.
    pub betas: Vec<&'static str>,
}

/// Reason why a feature cannot be put into a request.
#[derive(Debug, thiserror::Error)]
pub enum FeatureError {
    /// Feature that the model does not support.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// Values that the provider would reject.
    #[error("{0}")]
    Invalid(&'static str),
    /// Settings whose serialisation failed.
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
    /// Clearing of old thinking; none keeps the provider's default.
    pub thinking: Option<KeepThinking>,
    /// Clearing of old tool results.
    pub tool_uses: Option<ClearToolUses>,
    /// Compaction once the prompt reaches a length.
    pub compact: Option<CompactAt>,
}

/// Thinking that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepThinking {
    /// Thinking of all turns, so that the prefix stays cached.
    All,
    /// Thinking of this many latest turns; at least 1.
    Turns(u32),
}

/// Clearing of old tool results, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClearToolUses {
    /// Threshold at which clearing starts; the provider's default is 100,000 tokens.
    pub trigger: Option<Trigger>,
    /// Number of latest results to keep; the provider's default is 3.
    pub keep: Option<u32>,
    /// Minimum of tokens to clear; below it the lost cache costs more than it saves.
    pub at_least: Option<Tokens>,
    /// Tools whose results are never cleared.
    pub exclude: Vec<String>,
    /// True if the inputs of the calls are cleared as well.
    pub inputs: bool,
}

/// Threshold at which clearing starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Length of the prompt in tokens.
    InputTokens(Tokens),
    /// Number of tool calls in the prompt.
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

/// Compaction by the provider at a threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactAt {
    /// Length of the prompt in tokens; at least [`Self::LEAST`].
    pub trigger: Tokens,
    /// Instructions in place of the provider's own.
    pub instructions: Option<String>,
    /// True if to stop after the summary, so that the client can add to it.
    pub pause: bool,
}

impl CompactAt {
    /// Smallest threshold that the provider accepts.
    pub const LEAST: Tokens = Tokens(50_000);
}

impl ContextEditing {
    /// Member for the request.
    ///
    /// # Errors
    /// When the model does not support it, or the provider would reject the values.
    pub fn member(&self, capabilities: &Capabilities) -> Result<Member, FeatureError> {
        capabilities.require(Feature::ContextEditing)?;
        let (mut edits, mut betas) = (Vec::new(), vec![CONTEXT_MANAGEMENT]);
        // The provider requires this edit to be first.
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
            // Checked here, because the provider's own error comes after the whole prompt was sent.
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

/// Member that requests a summary by the provider now. The response is one signed block.
///
/// # Errors
/// When the model does not support it.
pub fn compaction(
    instructions: Option<&str>,
    capabilities: &Capabilities,
) -> Result<Member, FeatureError> {
    capabilities.require(Feature::ServerCompaction)?;
    let mut value = json!({ "type": "summarize" });
    // Blank instructions count as none: the provider would take them in place of its own.
    if let Some(text) = instructions.filter(|text| !text.trim().is_empty()) {
        value["instructions"] = json!(text);
    }
    member("compaction", &value, vec![COMPACT_ON_DEMAND])
}

/// Beta headers required by every request whose conversation begins with such a block.
pub const fn compaction_betas() -> [&'static str; 1] {
    [COMPACT_ON_DEMAND]
}

/// Mode of a model's thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// No thinking at all.
    Disabled,
    /// As much as the model decides.
    Adaptive,
    /// Only between tool calls.
    BetweenTools,
    /// Up to this many tokens; at least 1,024.
    Budget(Tokens),
}

/// Handling of thinking whose prefix has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixMismatch {
    /// Default of the provider; no header is needed.
    Default,
    /// Failure of the request.
    Error,
    /// Removal of the block, which the response reports.
    DropBlock,
}

/// Member that sets the mode of thinking.
///
/// # Errors
/// When the model does not support control over bound thinking, or the budget is too small.
pub fn thinking(
    mode: Thinking,
    mismatch: PrefixMismatch,
    capabilities: &Capabilities,
) -> Result<Member, FeatureError> {
    /// Smallest budget that the provider accepts.
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
        // No extra member, so that models without the feature accept the request.
        PrefixMismatch::Default => return member("thinking", &value, Vec::new()),
        PrefixMismatch::Error => "error",
        PrefixMismatch::DropBlock => "drop_block",
    };
    capabilities.require(Feature::BindingControl)?;
    value["block_binding"] = json!({ "prefix_mismatch_behavior": behavior });
    member("thinking", &value, vec![BINDING_CONTROLS])
}

/// Member that asks why the cache was missed, compared with an earlier response; `None` on the
/// first turn.
///
/// # Errors
/// When the model does not support it.
pub fn cache_diagnostics(
    previous: Option<&MessageId>,
    capabilities: &Capabilities,
) -> Result<Member, FeatureError> {
    capabilities.require(Feature::CacheDiagnostics)?;
    let value = json!({ "previous_message_id": previous });
    member("diagnostics", &value, Vec::new())
}

/// Member that makes the answer follow a JSON schema. Belongs to `output_config` and replaces a
/// previous value of it.
///
/// # Errors
/// When the model does not support it.
pub fn json_schema(schema: &Value, capabilities: &Capabilities) -> Result<Member, FeatureError> {
    capabilities.require(Feature::JsonSchema)?;
    let value = json!({ "format": { "type": "json_schema", "schema": schema } });
    member("output_config", &value, Vec::new())
}

/// Edit that the provider reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppliedEdit {
    /// Tool results that were cleared.
    ToolUses {
        /// Number of cleared results.
        cleared: u64,
        /// Tokens removed from the prompt.
        tokens: Tokens,
    },
    /// Thinking that was cleared.
    Thinking {
        /// Number of turns whose thinking was cleared.
        turns: u64,
        /// Tokens removed from the prompt.
        tokens: Tokens,
    },
    /// Edit of a kind that this version does not know, as raw JSON.
    Other(RawJson),
}

/// Diagnosis of the prompt cache by the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheDiagnosis {
    /// No report, or not yet.
    Pending,
    /// Prompt that extends the earlier one: nothing was missed.
    NoDivergence,
    /// Part of the prompt that changed since the earlier response.
    Changed {
        /// Changed part of the prompt.
        what: Changed,
        /// Tokens that could have been read from the cache, if reported.
        missed: Option<Tokens>,
    },
    /// Earlier response that the provider does not know, perhaps because it expired.
    PreviousNotFound,
    /// Diagnosis that the provider could not make.
    Unavailable,
    /// Reason that this version does not know.
    Other(String),
}

/// Part of a prompt that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Name of the model.
    Model,
    /// System prompt, tools excluded.
    System,
    /// Tool definitions, their order included.
    Tools,
    /// Messages before the newest.
    Messages,
}

impl Extras {
    /// Edits that the provider made, in its order.
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

    /// Diagnosis of the cache; `None` when it was not requested.
    pub fn cache_diagnosis(&self) -> Option<CacheDiagnosis> {
        let value: Value = serde_json::from_slice(self.diagnostics.as_ref()?.bytes()).ok()?;
        // `null` is the answer when there is nothing to report yet.
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

    /// Number of thinking blocks that the provider dropped because they did not belong to the
    /// prompt.
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
        // Kept raw: a report in a newer format must not look as if nothing was edited.
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
