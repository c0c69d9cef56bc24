//! Capabilities of a model behind a client.
//!
//! # Model
//! The wire format decides which features can be requested at all, the model table gives the window
//! and the behaviour of thinking; a caller that knows better (a local server with a small window)
//! overrides both.
//!
//! # Not here
//! Prices, and the window that applies to a session.

use dormouse_core::models::{ModelTable, ThinkingBinding};
use dormouse_core::units::Tokens;
use std::fmt;

/// Feature that not every model supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Tool calls of the client's tools.
    ToolUse,
    /// Answers that follow a JSON schema.
    JsonSchema,
    /// Token counts of a prompt without sending it to a model.
    TokenCounting,
    /// Clearing of old tool results and thinking by the provider.
    ContextEditing,
    /// Summary of the conversation by the provider.
    ServerCompaction,
    /// Control over thinking whose prefix changed.
    BindingControl,
    /// System messages between turns.
    MidConversationSystem,
    /// Diagnosis of cache misses by the provider.
    CacheDiagnostics,
    /// Deletion of spans from the provider's cache. No documented provider offers it; a caller sets
    /// it through [`CapabilityOverrides`].
    CacheEdits,
}

impl Feature {
    const ALL: [Self; 9] = [
        Self::ToolUse,
        Self::JsonSchema,
        Self::TokenCounting,
        Self::ContextEditing,
        Self::ServerCompaction,
        Self::BindingControl,
        Self::MidConversationSystem,
        Self::CacheDiagnostics,
        Self::CacheEdits,
    ];

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ToolUse => "tools",
            Self::JsonSchema => "answers by a JSON schema",
            Self::TokenCounting => "counting tokens",
            Self::ContextEditing => "context editing",
            Self::ServerCompaction => "compaction by the provider",
            Self::BindingControl => "control over bound thinking",
            Self::MidConversationSystem => "system messages between turns",
            Self::CacheDiagnostics => "cache diagnostics",
            Self::CacheEdits => "editing the cache",
        })
    }
}

/// Feature that was requested and is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this model does not support {feature}")]
pub struct Unsupported {
    /// Feature that was requested.
    pub feature: Feature,
}

/// Set of features, one bit each.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Features(u16);

impl Features {
    /// Set of the given features.
    pub fn of(features: &[Feature]) -> Self {
        Self(
            features
                .iter()
                .fold(0, |bits, feature| bits | feature.bit()),
        )
    }

    /// True if the set contains the feature.
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    /// Set with the feature added.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | feature.bit())
    }

    /// Set with the feature removed.
    #[must_use]
    pub const fn without(self, feature: Feature) -> Self {
        Self(self.0 & !feature.bit())
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = Feature::ALL.into_iter().filter(|each| self.has(*each));
        f.debug_set().entries(members).finish()
    }
}

/// Method of prompt caching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Cached up to the markers in the request.
    Markers,
    /// Cached as the provider decides; markers are ignored.
    Automatic,
}

/// Limits and features of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Context window in tokens, prompt and answer together.
    pub window: Tokens,
    /// Upper limit of `max_tokens`.
    pub max_output: Tokens,
    /// Method of prompt caching.
    pub caching: Caching,
    /// Shortest prefix in tokens that is cached.
    pub cache_minimum: Tokens,
    /// Context that its thinking blocks are bound to.
    pub thinking_binding: ThinkingBinding,
    /// Features supported by wire and model.
    pub features: Features,
}

impl Capabilities {
    /// True if the feature is supported.
    pub const fn has(&self, feature: Feature) -> bool {
        self.features.has(feature)
    }

    /// Checks that the feature is supported.
    ///
    /// # Errors
    /// When the feature is not supported.
    pub const fn require(&self, feature: Feature) -> Result<(), Unsupported> {
        if self.has(feature) {
            Ok(())
        } else {
            Err(Unsupported { feature })
        }
    }

    /// Capabilities by the Messages API and the model table.
    pub fn of_messages(table: &ModelTable, model: &str) -> Self {
        let mut capabilities = Self::from_table(table, model, Caching::Markers);
        capabilities.features = Features::of(&[
            Feature::ToolUse,
            Feature::JsonSchema,
            Feature::TokenCounting,
            Feature::ContextEditing,
            Feature::ServerCompaction,
            Feature::CacheDiagnostics,
        ]);
        let info = table.lookup(model).info;
        if info.thinking_binding == ThinkingBinding::Prefix {
            capabilities.features = capabilities.features.with(Feature::BindingControl);
        }
        if info.mid_conversation_system {
            capabilities.features = capabilities.features.with(Feature::MidConversationSystem);
        }
        capabilities
    }

    /// Capabilities by the chat-completions API and the model table. Thinking is not sent there,
    /// hence it is bound to nothing.
    pub fn of_chat(table: &ModelTable, model: &str) -> Self {
        Self {
            thinking_binding: ThinkingBinding::None,
            features: Features::of(&[
                Feature::ToolUse,
                Feature::JsonSchema,
                Feature::MidConversationSystem,
            ]),
            ..Self::from_table(table, model, Caching::Automatic)
        }
    }

    fn from_table(table: &ModelTable, model: &str, caching: Caching) -> Self {
        let info = table.lookup(model).info;
        Self {
            window: info.window,
            max_output: info.max_output,
            caching,
            cache_minimum: info.cache_minimum,
            thinking_binding: info.thinking_binding,
            features: Features::default(),
        }
    }
}

/// Overrides of the table by the caller; absent fields keep the table's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapabilityOverrides {
    /// Context window in tokens.
    pub window: Option<Tokens>,
    /// Upper limit of `max_tokens`.
    pub max_output: Option<Tokens>,
    /// Complete set of features, replacing the table's.
    pub features: Option<Features>,
}

impl CapabilityOverrides {
    /// Capabilities with the overrides applied.
    #[must_use]
    pub fn apply(&self, mut to: Capabilities) -> Capabilities {
        to.window = self.window.unwrap_or(to.window);
        // A window smaller than the answer limit would make every request invalid.
        to.max_output = self.max_output.unwrap_or(to.max_output).min(to.window);
        to.features = self.features.unwrap_or(to.features);
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_decides_what_the_wire_leaves_open() {
        let table = ModelTable::builtin();
        let fable = Capabilities::of_messages(table, "claude-fable-5-2");
        assert_eq!(fable.thinking_binding, ThinkingBinding::Prefix);
        assert!(fable.has(Feature::BindingControl) && fable.has(Feature::MidConversationSystem));
        let sonnet = Capabilities::of_messages(table, "claude-sonnet-4-5");
        assert!(!sonnet.has(Feature::BindingControl));
        assert!(sonnet.require(Feature::ContextEditing).is_ok());
        let chat = Capabilities::of_chat(table, "anything");
        assert!(!chat.has(Feature::ContextEditing) && chat.has(Feature::ToolUse));
    }

    #[test]
    fn an_answer_is_never_longer_than_an_overridden_window() {
        let table = ModelTable::builtin();
        let overrides = CapabilityOverrides {
            window: Some(Tokens(8_192)),
            ..CapabilityOverrides::default()
        };
        let local = overrides.apply(Capabilities::of_chat(table, "smol"));
        assert_eq!(
            (local.window, local.max_output),
            (Tokens(8_192), Tokens(8_192))
        );
    }
}
