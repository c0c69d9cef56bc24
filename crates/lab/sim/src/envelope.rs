//! The body of a messages request, read without building a tree.
//!
//! One scan finds the members, the messages and the members of each content block. Strings are not
//! copied, unless a message's content is a plain string with escapes in it. When the scan fails,
//! the body is read once more, slowly, to name the fault and its place (see [`crate::explain`]).
//!
//! # Not here
//! The meaning of members: [`crate::request`].

use crate::blocks::{RawObject, Text, text_of};
use crate::error::ApiError;
use crate::explain;
use crate::request::{Purpose, Version};
use serde::de::{self, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Fields that only exist with a beta header, and the headers.
const BETA_FIELDS: [(&str, &[&str]); 3] = [
    (
        "context_management",
        &["context-management-2025-06-27", "compact-2026-01-12"],
    ),
    ("compaction", &["compact-2026-09-04"]),
    ("thread", &["message-threads-2026-08-12"]),
];

/// Fields that the version of October 2026 refuses.
const SAMPLING_FIELDS: [&str; 3] = ["temperature", "top_p", "top_k"];

/// Fields of every version; any other is refused, as at the provider, so that typing errors show.
const FIELDS: [&str; 22] = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "output_format",
    "cache_control",
    "container",
    "diagnostics",
    "metadata",
    "service_tier",
    "speed",
    "inference_geo",
    "stop_sequences",
    "stream",
    "fallbacks",
    "fallback_credit_token",
    "mcp_servers",
    "user_profile_id",
];

/// The members of a body, with the messages taken apart one level.
pub(crate) struct Envelope<'a> {
    pub(crate) members: RawObject<'a>,
    pub(crate) messages: Option<Vec<RawMessage<'a>>>,
    /// Number of lists of messages it gave; the last one counts.
    pub(crate) lists: usize,
}

pub(crate) struct RawMessage<'a> {
    pub(crate) role: Option<Cow<'a, str>>,
    pub(crate) content: Option<Content<'a>>,
    /// Number of contents it gave; the last one counts.
    pub(crate) contents: usize,
}

/// Content as it is found in one scan.
pub(crate) enum Content<'a> {
    /// A string, as it would stand between its quotes.
    Text(Cow<'a, str>),
    Blocks(Vec<RawObject<'a>>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Any<'a> {
            type Value = Content<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of content blocks")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                // Borrowed means that there was nothing to unescape.
                Ok(Content::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                // Escaped again, so that lengths are those of canonical JSON.
                let quoted = serde_json::to_string(text).map_err(E::custom)?;
                let inner = quoted[1..quoted.len() - 1].to_owned();
                Ok(Content::Text(Cow::Owned(inner)))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::with_capacity(1);
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
            }
        }
        deserializer.deserialize_any(Any(std::marker::PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawMessage<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
            type Value = RawMessage<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut message = RawMessage {
                    role: None,
                    content: None,
                    contents: 0,
                };
                while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
                    match &*key {
                        "role" => message.role = Some(map.next_value::<Text<'de>>()?.0),
                        "content" => {
                            message.content = Some(map.next_value()?);
                            message.contents += 1;
                        }
                        _ => {
                            // Unknown members of a message cost nothing and are not refused.
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(message)
            }
        }
        deserializer.deserialize_map(Members(std::marker::PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Envelope<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Members<'a> {
            type Value = Envelope<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut envelope = Envelope {
                    members: RawObject(Vec::with_capacity(8)),
                    messages: None,
                    lists: 0,
                };
                while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
                    // Taken apart in the same scan; everything else stays raw until it is needed.
                    if key == "messages" {
                        envelope.messages = Some(map.next_value()?);
                        envelope.lists += 1;
                    } else {
                        let value = map.next_value::<&'de RawValue>()?;
                        envelope.members.0.push((key, value));
                    }
                }
                Ok(envelope)
            }
        }
        deserializer.deserialize_map(Members(std::marker::PhantomData))
    }
}

impl<'a> Envelope<'a> {
    pub(crate) fn parse(body: &'a str) -> Result<Self, ApiError> {
        serde_json::from_str(body).map_err(|error| explain::body(body, &error))
    }

    pub(crate) fn model(&self) -> Result<Cow<'a, str>, ApiError> {
        match self.members.get("model").map(text_of) {
            Some(Some(name)) => Ok(name),
            Some(None) => Err(ApiError::invalid("model: Input should be a valid string")),
            None => Err(ApiError::invalid("model: Field required")),
        }
    }

    /// Refuses fields that this version, or a request without a beta header, does not know.
    pub(crate) fn check_fields(
        &self,
        version: Version,
        purpose: Purpose,
        has_beta: impl Fn(&str) -> bool,
    ) -> Result<(), ApiError> {
        for (name, _) in &self.members.0 {
            let beta = BETA_FIELDS.iter().find(|(field, _)| field == name);
            let known = match beta {
                Some((_, headers)) => headers.iter().any(|header| has_beta(header)),
                None if SAMPLING_FIELDS.contains(&&**name) => version == Version::Classic,
                // Counting refuses it, as the provider does.
                None if name == "max_tokens" => purpose == Purpose::Message,
                None => FIELDS.contains(&&**name),
            };
            if !known {
                return Err(ApiError::extra(name));
            }
        }
        Ok(())
    }
}
