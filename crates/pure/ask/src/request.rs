//! Requests, and the members of their bodies.
//!
//! # Model
//! A [`Request`] is a body in the format of the Messages API, as bytes that this crate never
//! changes, and the data beside the body. [`Params`] builds the members around the prompt once per
//! session, and collects the beta headers they need.
//!
//! # Not here
//! The prompt itself (`dormouse-context`) and the members of single features ([`crate::features`]).

use crate::features::Member;
use bytes::Bytes;
use dormouse_core::json::RawJson;
use dormouse_core::units::Tokens;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// Request to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Body in the format of the Messages API.
    pub body: Bytes,
    /// Beta headers required by the body.
    pub betas: Vec<Cow<'static, str>>,
    /// Delivery of the answer; has to match `stream` in the body.
    pub delivery: Delivery,
    /// Estimated length of the prompt in tokens, if known. Lets a client detect a server that
    /// truncates prompts silently.
    pub estimate: Option<Tokens>,
}

impl Request {
    /// Request with `"stream":true` in its body.
    pub fn streamed(body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            betas: Vec::new(),
            delivery: Delivery::Streamed,
            estimate: None,
        }
    }

    /// Request whose answer arrives in one piece.
    pub fn whole(body: impl Into<Bytes>) -> Self {
        Self {
            delivery: Delivery::Whole,
            ..Self::streamed(body)
        }
    }

    /// Request with additional beta headers.
    #[must_use]
    pub fn with_betas(mut self, betas: &[Cow<'static, str>]) -> Self {
        self.betas.extend_from_slice(betas);
        self
    }

    /// Request with the caller's estimate of its prompt.
    #[must_use]
    pub const fn with_estimate(mut self, tokens: Tokens) -> Self {
        self.estimate = Some(tokens);
        self
    }
}

/// Delivery of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Delivery in pieces, monitored by the idle timeout.
    Streamed,
    /// Delivery in one piece, after a long silence; a longer timeout applies.
    Whole,
}

/// Members of a body around the prompt. Their order is kept, because it is part of the cached
/// bytes.
#[derive(Clone, Debug, Default)]
pub struct Params {
    members: Vec<(Cow<'static, str>, RawJson)>,
    betas: Vec<Cow<'static, str>>,
}

impl Params {
    /// Parameters with the two members that every request has.
    ///
    /// # Errors
    /// Never in practice: text and numbers can be serialised.
    pub fn new(model: &str, max_tokens: Tokens) -> Result<Self, serde_json::Error> {
        Self::default()
            .set("model", model)?
            .set("max_tokens", &max_tokens)
    }

    /// Parameters with streaming switched on.
    ///
    /// # Errors
    /// Never in practice: a flag can be serialised.
    pub fn streamed(self) -> Result<Self, serde_json::Error> {
        self.set("stream", &true)
    }

    /// Sets a member; one that was set before keeps its position.
    ///
    /// # Errors
    /// When the value cannot be serialised.
    pub fn set<T: Serialize + ?Sized>(
        self,
        name: impl Into<Cow<'static, str>>,
        value: &T,
    ) -> Result<Self, serde_json::Error> {
        let value = RawJson::from_value(value)?;
        Ok(self.put(name.into(), value))
    }

    /// Adds the member and the headers of a feature.
    #[must_use]
    pub fn with(mut self, member: Member) -> Self {
        self.betas
            .extend(member.betas.into_iter().map(Cow::Borrowed));
        self.put(Cow::Borrowed(member.name), member.value)
    }

    fn put(mut self, name: Cow<'static, str>, value: RawJson) -> Self {
        match self.members.iter_mut().find(|(known, _)| *known == name) {
            // In place: a member that moves changes the bytes of every later request.
            Some((_, known)) => *known = value,
            None => self.members.push((name, value)),
        }
        self
    }

    /// Members as one JSON object, for `RequestBody::params`.
    ///
    /// # Errors
    /// Never in practice: every member is serialised already.
    pub fn to_json(&self) -> Result<RawJson, serde_json::Error> {
        RawJson::from_value(self)
    }

    /// Beta headers required by the members.
    pub fn betas(&self) -> &[Cow<'static, str>] {
        &self.betas
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len()))?;
        for (name, value) in &self.members {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_the_last_value_counts() {
        let params = Params::new("m", Tokens(10))
            .and_then(Params::streamed)
            .and_then(|params| params.set("max_tokens", &Tokens(20)))
            .unwrap();
        let json = params.to_json().unwrap();
        let expected = br#"{"model":"m","max_tokens":20,"stream":true}"#;
        assert_eq!(json.bytes(), &expected[..]);
    }
}
