//! Messages of the conversation, and their origin.
//!
//! Not here: the rules by which the API accepts a sequence of messages (`dormouse-context` repairs
//! violations).

use crate::block::Block;
use crate::id::MessageId;
use crate::usage::TokenUsage;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Side of the conversation that a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// User's side: words, tool results, fragments.
    User,
    /// Response of the model.
    Assistant,
    /// System message inside the conversation, for models that accept them.
    System,
}

impl Role {
    /// Name in requests and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }

    /// Parses the name used in requests and logs; none for unknown roles.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "system" => Some(Self::System),
            _ => None,
        }
    }
}

/// Origin of a message; decides whether it reaches the model and whether it counts as the user's
/// words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MessageOrigin {
    /// User, tool or model: the conversation itself.
    #[default]
    Conversation,
    /// Inserted by the client (`isMeta`); never the user's words.
    Meta,
    /// Summary after a compaction in another tool's transcript.
    Summary,
    /// Client's note about a failed request; never part of a prompt.
    ApiError,
    /// Shown on the screen only; never part of a prompt.
    TranscriptOnly,
    /// Appended by Dormouse before sending, because the API would reject the prompt without it.
    Repair,
}

/// One message, or the part of a response that one line of a transcript holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Side that the message belongs to.
    pub role: Role,
    /// Content blocks in order; empty if all were unreadable.
    pub content: Vec<Block>,
    /// Provider's id of a response. Lines with the same id are one response.
    pub id: Option<MessageId>,
    /// Model that answered; none on the user's side.
    pub model: Option<Arc<str>>,
    /// Usage of the response as known when the line was written; later lines may correct it.
    pub usage: Option<TokenUsage>,
    /// Provider's reason why the model stopped, as sent.
    pub stop_reason: Option<Arc<str>>,
    /// Origin; `Conversation` unless the line is marked.
    pub origin: MessageOrigin,
}

impl Message {
    /// Message of the user's side, with no metadata.
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

    /// Message that holds a model's response.
    pub fn assistant(id: MessageId, model: &str, content: Vec<Block>) -> Self {
        Self {
            role: Role::Assistant,
            id: Some(id),
            model: Some(Arc::from(model)),
            ..Self::user(content)
        }
    }

    /// True if the message is part of prompts.
    pub const fn reaches_the_model(&self) -> bool {
        !matches!(
            self.origin,
            MessageOrigin::ApiError | MessageOrigin::TranscriptOnly
        )
    }
}
