//! Abilities of a model behind a client.
//!
//! # Model
//! The wire decides what can be asked at all, the model table what this model holds and how its
//! thinking behaves; a caller that knows better (a local server with a small window) overrides.
//!
//! # Not here
//! Prices, and which window applies to a session.

use dormouse_core::models::{ModelTable, ThinkingBinding};
use dormouse_core::units::Tokens;
use std::fmt;

/// Something not every model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Calling tools.
    ToolUse,
    /// Answers that follow a JSON schema.
    JsonSchema,
    /// Counting the tokens of a prompt without sending it to a model.
    TokenCounting,
    /// The provider clears old tool results and thinking.
    ContextEditing,
    /// The provider summarises the conversation.
    ServerCompaction,
    /// Saying what happens to thinking whose prefix changed.
    BindingControl,
    /// System messages between turns.
    MidConversationSystem,
    /// The provider says why its cache was missed.
    CacheDiagnostics,
    /// Spans can be deleted from the provider's cache. No documented provider offers it; a caller
    /// that knows one says so.
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

/// A wish that the model or its provider cannot fulfil.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this model does not support {feature}")]
pub struct Unsupported {
    /// The feature wished for.
    pub feature: Feature,
}

/// A set of features.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Features(u16);

impl Features {
    /// The set of these.
    pub fn of(features: &[Feature]) -> Self {
        Self(
            features
                .iter()
                .fold(0, |bits, feature| bits | feature.bit()),
        )
    }

    /// Whether it holds this one.
    pub const fn has(self, feature: Feature) -> bool {
        self.0 & feature.bit() != 0
    }

    /// The set with this one.
    #[must_use]
    pub const fn with(self, feature: Feature) -> Self {
        Self(self.0 | feature.bit())
    }

    /// The set without this one.
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

/// Caching of prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Up to the markers in the request.
    Markers,
    /// By the provider's own judgement.
    Automatic,
}

/// Abilities of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Tokens it can hold, prompt and answer together.
    pub window: Tokens,
    /// Longest answer.
    pub max_output: Tokens,
    /// Caching of its prompts.
    pub caching: Caching,
    /// A shorter prefix than this is not cached.
    pub cache_minimum: Tokens,
    /// The context that its thinking blocks are bound to.
    pub thinking_binding: ThinkingBinding,
    /// Further abilities.
    pub features: Features,
}

impl Capabilities {
    /// Whether it can do this.
    pub const fn has(&self, feature: Feature) -> bool {
        self.features.has(feature)
    }

    /// Fails unless it can do this.
    ///
    /// # Errors
    /// When it cannot.
    pub const fn require(&self, feature: Feature) -> Result<(), Unsupported> {
        if self.has(feature) {
            Ok(())
        } else {
            Err(Unsupported { feature })
        }
    }

    /// Abilities by the Messages wire and the model table.
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

    /// Abilities by the chat-completions wire and the model table. Thinking is not sent on that wire.
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

/// Corrections of the table by the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapabilityOverrides {
    /// The window.
    pub window: Option<Tokens>,
    /// The longest answer.
    pub max_output: Option<Tokens>,
    /// The features.
    pub features: Option<Features>,
}

impl CapabilityOverrides {
    /// The capabilities with what the caller knows put in.
    #[must_use]
    pub fn apply(&self, mut to: Capabilities) -> Capabilities {
        to.window = self.window.unwrap_or(to.window);
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
