//! A request as recognition sees it: digests in order, read in one pass.
//!
//! # Not here
//! Digests themselves: [`crate::canonical`]. Their meaning: [`crate::recogniser`].

use crate::canonical::{BlockDigest, Handle, OneBlock, text_block};
use crate::divided::{Divided, WireDivided};
use dormouse_core::hash::Hash;
use dormouse_core::json::Text;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Reason that a request is passed on without being related to any other.
#[derive(Debug, thiserror::Error)]
pub enum NotUnderstood {
    /// Not JSON, or not in the shape of the Messages API.
    #[error("the body is no request of the Messages API")]
    Shape(#[source] serde_json::Error),
    /// Continuation of a thread, whose history only the provider has.
    #[error("the request continues a thread that the provider holds")]
    Thread,
    /// History without a block.
    #[error("the request has no messages")]
    NoMessages,
}

/// Session that a request names in its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Session {
    /// An id that is surely one of a session.
    Named(String),
    /// Some id of the user, which may be the same for all sessions.
    User(String),
}

/// Digests of one request, in order.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Model that is asked for.
    pub model: Option<String>,
    /// Session, from the metadata.
    pub session: Option<Session>,
    pub(crate) face: Hash,
    pub(crate) blocks: Vec<SeenBlock>,
}

/// One block of the history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeenBlock {
    pub(crate) role: Role,
    pub(crate) digest: Hash,
    /// Identity of the assistant's block; absent for all other roles.
    pub(crate) handle: Handle,
}

/// Speaker of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user, and the results of tools.
    User,
    /// The model.
    Assistant,
    /// The client's program, within the conversation.
    System,
}

impl Role {
    /// Tag of the links that stand for blocks of this speaker.
    pub(crate) const fn tag(self) -> u8 {
        match self {
            Self::User => 1,
            Self::Assistant => 2,
            Self::System => 3,
        }
    }
}

/// The members that recognition reads; all others pass unread.
#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(default)]
    messages: Option<Messages>,
    #[serde(default)]
    system: Option<Blocks>,
    #[serde(default)]
    tools: Option<Tools>,
    #[serde(default)]
    thread: Option<Thread>,
    #[serde(default)]
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
pub(crate) struct Thread {
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Metadata {
    #[serde(default)]
    user_id: Option<String>,
}

/// Identity that one client writes into the user's id, as JSON within the string.
#[derive(Deserialize)]
struct UserId {
    session_id: String,
}

impl Metadata {
    fn session(self) -> Option<Session> {
        let text = self.user_id.filter(|id| !id.is_empty())?;
        if let Ok(id) = serde_json::from_str::<UserId>(&text) {
            return Some(Session::Named(id.session_id));
        }
        // Older versions of the same client join user, account and session by such words.
        Some(match text.rsplit_once("_session_") {
            Some((_, id)) if !id.is_empty() => Session::Named(id.to_owned()),
            _ => Session::User(text),
        })
    }
}

impl Seen {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// When the request cannot be related to others; it is to be passed on as it is.
    pub fn read(body: &[u8]) -> Result<Self, NotUnderstood> {
        let wire: Wire<'_> = serde_json::from_slice(body).map_err(NotUnderstood::Shape)?;
        let thread = wire.thread.and_then(|thread| thread.kind);
        if thread.is_some_and(|kind| kind == "continue") {
            return Err(NotUnderstood::Thread);
        }
        let blocks = wire.messages.map(|messages| messages.0).unwrap_or_default();
        if blocks.is_empty() {
            return Err(NotUnderstood::NoMessages);
        }
        Ok(Self {
            model: wire.model.0.map(std::borrow::Cow::into_owned),
            session: wire.metadata.and_then(Metadata::session),
            face: face(wire.system.as_ref(), wire.tools.as_ref()),
            blocks,
        })
    }

    /// Reads the body of a request, with the bytes of its blocks.
    ///
    /// # Errors
    /// When the request cannot be related to others; it is to be passed on as it is.
    pub fn divide(body: &[u8]) -> Result<Divided<'_>, NotUnderstood> {
        let wire: WireDivided<'_> = serde_json::from_slice(body).map_err(NotUnderstood::Shape)?;
        let thread = wire.thread.filter(|thread| thread.get() != "null");
        let kind = thread.map(|thread| serde_json::from_str::<Thread>(thread.get()));
        let kind = kind.transpose().map_err(NotUnderstood::Shape)?;
        if kind.is_some_and(|thread| thread.kind.as_deref() == Some("continue")) {
            return Err(NotUnderstood::Thread);
        }
        let turns = wire.messages.map(|turns| turns.0).unwrap_or_default();
        let blocks: Vec<SeenBlock> = turns
            .iter()
            .flat_map(|turn| turn.parts.iter().map(|part| part.seen))
            .collect();
        if blocks.is_empty() {
            return Err(NotUnderstood::NoMessages);
        }
        let system = wire
            .system
            .map(|raw| serde_json::from_str::<Option<Blocks>>(raw.get()));
        let system = system.transpose().map_err(NotUnderstood::Shape)?.flatten();
        let tools = wire
            .tools
            .map(|raw| serde_json::from_str::<Option<Tools>>(raw.get()));
        let tools = tools.transpose().map_err(NotUnderstood::Shape)?.flatten();
        Ok(Divided {
            seen: Self {
                model: wire.model.0.map(std::borrow::Cow::into_owned),
                session: wire.metadata.and_then(Metadata::session),
                face: face(system.as_ref(), tools.as_ref()),
                blocks,
            },
            turns,
            system: wire.system,
            tools: wire.tools,
            cache_control: wire.cache_control,
            thread,
            compaction: wire.compaction,
            context_management: wire.context_management,
        })
    }

    /// Number of blocks of the history.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Digest of the block at a position: the same for every way to write it, whatever is marked.
    pub fn digest(&self, at: usize) -> Option<Hash> {
        self.blocks.get(at).map(|block| block.digest)
    }

    /// Identity of the assistant's block at a position, which stays when a client drops members of it;
    /// `None` for thinking and for blocks of other speakers.
    pub fn handle(&self, at: usize) -> Option<Hash> {
        self.blocks.get(at).and_then(|block| block.handle.hash())
    }

    /// Chain of the blocks before a position, with their roles, whoever sent them.
    pub fn chain(&self, upto: usize) -> Option<Hash> {
        let before = self.blocks.get(..upto)?.iter();
        Some(before.fold(Hash::START, |chain, block| {
            chain.link(block.role.tag(), block.digest)
        }))
    }

    /// False: a history without a block is not understood.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// Digest of system prompt and tools.
fn face(system: Option<&Blocks>, tools: Option<&Tools>) -> Hash {
    let mut face = Hash::START;
    for (at, block) in system.iter().flat_map(|system| &system.0).enumerate() {
        if at > 0 || !block.is_attribution {
            face = face.link(1, block.digest);
        }
    }
    for tool in tools.iter().flat_map(|tools| &tools.0) {
        face = face.link(2, *tool);
    }
    face
}

/// Blocks of a content: a list, or a string that stands for one text block.
struct Blocks(Vec<BlockDigest>);

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Content;
        impl<'de> Visitor<'de> for Content {
            type Value = Blocks;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list of content blocks")
            }

            fn visit_str<E>(self, text: &str) -> Result<Blocks, E> {
                Ok(Blocks(vec![text_block(text).block()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Blocks, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = items.next_element_seed(OneBlock)? {
                    blocks.push(block.block());
                }
                Ok(Blocks(blocks))
            }
        }
        deserializer.deserialize_any(Content)
    }
}

/// Tools of a request, each with its marker removed.
struct Tools(Vec<Hash>);

impl<'de> Deserialize<'de> for Tools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Tools;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of tools")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tools, A::Error> {
                let mut tools = Vec::new();
                // A tool carries its marker where a block does.
                while let Some(tool) = items.next_element_seed(OneBlock)? {
                    tools.push(tool.block().digest);
                }
                Ok(Tools(tools))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

/// All blocks of a history with their roles.
struct Messages(Vec<SeenBlock>);

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Messages;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Messages, A::Error> {
                let mut blocks = Vec::new();
                while items.next_element_seed(OneMessage(&mut blocks))?.is_some() {}
                Ok(Messages(blocks))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

struct OneMessage<'a>(&'a mut Vec<SeenBlock>);

impl<'de> DeserializeSeed<'de> for OneMessage<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneMessage<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut role, mut content) = (None, None);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "role" => {
                    let text: String = map.next_value()?;
                    role = Some(speaker(&text)?);
                }
                "content" => content = Some(map.next_value::<Blocks>()?.0),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let role = role.ok_or_else(|| A::Error::missing_field("role"))?;
        let content = content.ok_or_else(|| A::Error::missing_field("content"))?;
        self.0.extend(content.into_iter().map(|block| SeenBlock {
            role,
            digest: block.digest,
            handle: if role == Role::Assistant {
                block.handle
            } else {
                Handle::Absent
            },
        }));
        Ok(())
    }
}

pub(crate) fn speaker<E: Error>(text: &str) -> Result<Role, E> {
    match text {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "system" => Ok(Role::System),
        _ => Err(E::custom("a role that is not known")),
    }
}

/// Handles of the blocks of a reply, in order.
///
/// # Errors
/// When a block is no JSON object.
pub(crate) fn handles<'a>(
    blocks: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<Handle>, serde_json::Error> {
    let mut handles = Vec::new();
    for block in blocks {
        let mut deserializer = serde_json::Deserializer::from_slice(block);
        handles.push(OneBlock.deserialize(&mut deserializer)?.block().handle);
    }
    Ok(handles)
}

/// Identity of one block of a reply, as [`Seen::handle`] tells it of the same block in a request.
pub fn handle_of(block: &[u8]) -> Option<Hash> {
    let handles = handles(std::iter::once(block)).ok()?;
    handles.first().and_then(|handle| handle.hash())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn digests(body: &str) -> Vec<Hash> {
        let seen = Seen::read(body.as_bytes()).unwrap();
        let mut all = vec![seen.face];
        all.extend(seen.blocks.iter().map(|block| block.digest));
        all
    }

    #[test]
    fn the_same_history_in_other_words_has_the_same_digests() {
        let plain = r#"{"system":"be brief","tools":[{"name":"Read","input_schema":{"a":1,"b":[1.0]}}],
            "messages":[{"role":"user","content":"caf\u00e9"},
            {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{"x":1}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"out"}]}]}"#;
        let other = r#"{"messages":[{"content":[{"text":"café","type":"text","citations":null,
            "cache_control":{"type":"ephemeral"}}],"role":"user"},
            {"role":"assistant","content":[{"name":"Read","type":"tool_use","id":"t1","input":{"x":1.0}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":
            [{"type":"text","text":"out","cache_control":{"type":"ephemeral"}}]}]}],
            "tools":[{"input_schema":{"b":[1],"a":1},"name":"Read","cache_control":{"type":"ephemeral"}}],
            "system":[{"type":"text","text":"x-anthropic-billing-header: v=1; f=2"},
            {"type":"text","text":"be brief","cache_control":{"type":"ephemeral","ttl":"1h"}}]}"#;
        // The attribution block is left out of the face only where it stands first.
        assert_eq!(digests(plain), digests(other));
    }

    #[test]
    fn data_that_looks_like_a_marker_counts() {
        let call = |input: &str| {
            format!(
                r#"{{"messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"a",
                "name":"n","input":{input}}}]}}]}}"#
            )
        };
        let with = digests(&call(r#"{"cache_control":{"type":"ephemeral"}}"#));
        assert_ne!(with, digests(&call("{}")));
        assert_ne!(digests(&call(r#"{"a":null}"#)), digests(&call("{}")));
        assert_ne!(digests(&call(r#"{"a":"1"}"#)), digests(&call(r#"{"a":1}"#)));
    }

    #[test]
    fn requests_that_cannot_be_related_say_why() {
        let shape =
            |body: &str| matches!(Seen::read(body.as_bytes()), Err(NotUnderstood::Shape(_)));
        let deep = format!("{{\"messages\":{}{}}}", "[".repeat(500), "]".repeat(500));
        let twice = r#"{"messages":[],"messages":[{"role":"user","content":"a"}]}"#;
        for body in [
            "",
            "3",
            "{\"messages\":[",
            r#"{"messages":[{"role":"user"}]}"#,
            r#"{"messages":[{"role":"narrator","content":"a"}]}"#,
            r#"{"messages":[{"role":"user","content":[1]}]}"#,
            twice,
            &deep,
        ] {
            assert!(shape(body), "{body:.60}");
        }
        assert!(matches!(Seen::read(b"{}"), Err(NotUnderstood::NoMessages)));
        let thread = r#"{"thread":{"type":"continue","previous_message_id":"m"},
            "messages":[{"role":"user","content":"a"}]}"#;
        assert!(matches!(
            Seen::read(thread.as_bytes()),
            Err(NotUnderstood::Thread)
        ));
    }

    #[test]
    fn sessions_are_read_from_the_metadata_of_known_clients() {
        let session = |id: &str| {
            let body = serde_json::json!({"metadata": {"user_id": id},
                "messages": [{"role": "user", "content": "a"}]});
            Seen::read(body.to_string().as_bytes()).unwrap().session
        };
        let named = |id: &str| Some(Session::Named(id.to_owned()));
        assert_eq!(
            session(r#"{"device_id":"d","account_uuid":"","session_id":"s-1"}"#),
            named("s-1")
        );
        assert_eq!(session("user_a_account__session_s-2"), named("s-2"));
        assert_eq!(session("s-3"), Some(Session::User("s-3".to_owned())));
        assert_eq!(session(""), None);
    }
}
