//! Requests, and the members of their bodies.
//!
//! # Model
//! A [`Request`] is a body in the shape of the Messages API, as bytes that this crate does not
//! change, and what does not stand in the body. [`Params`] builds the members around the prompt once
//! per session, and remembers which beta headers they need.
//!
//! # Not here
//! The prompt itself (`dormouse-context`) and what single features look like
//! ([`crate::features`]).

use crate::features::Member;
use bytes::Bytes;
use dormouse_core::json::RawJson;
use dormouse_core::units::Tokens;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// A request to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The body in the shape of the Messages API.
    pub body: Bytes,
    /// Beta headers the body needs.
    pub betas: Vec<Cow<'static, str>>,
    /// Delivery of the answer; it must agree with `stream` in the body.
    pub delivery: Delivery,
    /// Tokens the caller believes the prompt to hold, if it has an idea. Lets a client notice a
    /// server that reads less than it was sent.
    pub estimate: Option<Tokens>,
}

impl Request {
    /// A request with `"stream":true` in its body.
    pub fn streamed(body: impl Into<Bytes>) -> Self {
        Self {
            body: body.into(),
            betas: Vec::new(),
            delivery: Delivery::Streamed,
            estimate: None,
        }
    }

    /// A request whose answer comes in one piece.
    pub fn whole(body: impl Into<Bytes>) -> Self {
        Self {
            delivery: Delivery::Whole,
            ..Self::streamed(body)
        }
    }

    /// The request with beta headers.
    #[must_use]
    pub fn with_betas(mut self, betas: &[Cow<'static, str>]) -> Self {
        self.betas.extend_from_slice(betas);
        self
    }

    /// The request with the caller's estimate of its prompt.
    #[must_use]
    pub const fn with_estimate(mut self, tokens: Tokens) -> Self {
        self.estimate = Some(tokens);
        self
    }
}

/// Delivery of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// In pieces. The idle time-out watches over it.
    Streamed,
    /// In one piece, after a long silence.
    Whole,
}

/// The members of a body around the prompt.
#[derive(Clone, Debug, Default)]
pub struct Params {
    members: Vec<(Cow<'static, str>, RawJson)>,
    betas: Vec<Cow<'static, str>>,
}

impl Params {
    /// The two members every request has.
    ///
    /// # Errors
    /// Never in practice: a text and a number can be serialised.
    pub fn new(model: &str, max_tokens: Tokens) -> Result<Self, serde_json::Error> {
        Self::default()
            .set("model", model)?
            .set("max_tokens", &max_tokens)
    }

    /// Asks for the answer in pieces.
    ///
    /// # Errors
    /// Never in practice.
    pub fn streamed(self) -> Result<Self, serde_json::Error> {
        self.set("stream", &true)
    }

    /// Sets a member, in the place it had if it was set before.
    ///
    /// # Errors
    /// When the value refuses to be serialised.
    pub fn set<T: Serialize + ?Sized>(
        self,
        name: impl Into<Cow<'static, str>>,
        value: &T,
    ) -> Result<Self, serde_json::Error> {
        let value = RawJson::from_value(value)?;
        Ok(self.put(name.into(), value))
    }

    /// Adds what a feature needs.
    #[must_use]
    pub fn with(mut self, member: Member) -> Self {
        self.betas
            .extend(member.betas.into_iter().map(Cow::Borrowed));
        self.put(Cow::Borrowed(member.name), member.value)
    }

    fn put(mut self, name: Cow<'static, str>, value: RawJson) -> Self {
        match self.members.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.members.push((name, value)),
        }
        self
    }

    /// The members as one object, for `RequestBody::params`.
    ///
    /// # Errors
    /// Never in practice: every member was serialised before.
    pub fn to_json(&self) -> Result<RawJson, serde_json::Error> {
        RawJson::from_value(self)
    }

    /// The beta headers they need.
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
