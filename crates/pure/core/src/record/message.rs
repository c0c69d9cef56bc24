//! Messages of the conversation.

use crate::block::Block;
use crate::id::MessageId;
use crate::usage::TokenUsage;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The user's side: words, tool results, fragments.
    User,
    /// The model.
    Assistant,
    /// A system message inside the conversation, where the model takes them.
    System,
}

impl Role {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }

    /// Reads the name on the wire.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "system" => Some(Self::System),
            _ => None,
        }
    }
}

/// Where a message comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageOrigin {
    /// A person, a tool or the model: the conversation itself.
    #[default]
    Conversation,
    /// The client put it there on its own (`isMeta`).
    Meta,
    /// The summary that follows a compaction in another tool's transcript.
    Summary,
    /// A client's note that a request failed; it was never part of a prompt.
    ApiError,
    /// Shown to the person only.
    TranscriptOnly,
    /// Appended before sending because something was missing.
    Repair,
}

/// One message, or the part of a response that one line of a transcript holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Its blocks.
    pub content: Vec<Block>,
    /// The provider's id of a response. Lines that share it are one response.
    pub id: Option<MessageId>,
    /// The model that answered.
    pub model: Option<Arc<str>>,
    /// What the response used, as known when the line was written.
    pub usage: Option<TokenUsage>,
    /// Why the model stopped.
    pub stop_reason: Option<Arc<str>>,
    /// Where it comes from.
    pub origin: MessageOrigin,
}

impl Message {
    /// A message of the user's side.
    pub fn user(content: Vec<Block>) -> Self {
        Self {
            role: Role::User,
            content,
            id: None,
            model: None,
            usage: None,
            stop_reason: None,
            origin: MessageOrigin::Conversation,
        }
    }

    /// A response of a model.
    pub fn assistant(id: MessageId, model: &str, content: Vec<Block>) -> Self {
        Self {
            role: Role::Assistant,
            id: Some(id),
            model: Some(Arc::from(model)),
            ..Self::user(content)
        }
    }

    /// Whether the message is part of prompts at all.
    pub const fn reaches_the_model(&self) -> bool {
        !matches!(
            self.origin,
            MessageOrigin::ApiError | MessageOrigin::TranscriptOnly
        )
    }
}
