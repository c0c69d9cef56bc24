//! Requests and responses as values.
//!
//! Headers are few and looked up rarely, so they are a plain list. A streamed body is a list of
//! pieces with the pause before each: the server plays it in time, a test just reads it.
//!
//! # Not here
//! Sockets: the server (feature `server`).

use crate::simulator::Report;
use bytes::Bytes;
use std::borrow::Cow;

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub struct SimRequest {
    /// HTTP method in capitals, such as `POST`.
    pub method: String,
    /// Path; a query string is ignored.
    pub path: String,
    /// Header names in any case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body, not decoded.
    pub body: Bytes,
}

impl SimRequest {
    /// A `POST` of some JSON with the headers a client of the classic API version sends.
    pub fn post(path: &str, body: impl Into<Bytes>) -> Self {
        Self {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: vec![
                ("x-api-key".to_owned(), "sim-key".to_owned()),
                ("anthropic-version".to_owned(), "2023-06-01".to_owned()),
                ("content-type".to_owned(), "application/json".to_owned()),
            ],
            body: body.into(),
        }
    }

    /// A `GET` with the same headers.
    pub fn get(path: &str) -> Self {
        Self {
            method: "GET".to_owned(),
            ..Self::post(path, Bytes::new())
        }
    }

    /// The same request with one more header, or another value for it.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers
            // Replaced, so that a test can override a default header.
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same request without a header.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a header that may be repeated.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// True if a beta header names this feature, alone or in a list.
    pub(crate) fn has_beta(&self, name: &str) -> bool {
        // Clients send one header with a list, several headers, or both.
        self.values("anthropic-beta")
            .flat_map(|value| value.split(','))
            .any(|beta| beta.trim() == name)
    }

    /// The path without its query.
    pub(crate) fn route(&self) -> &str {
        let path = self
            .path
            .split_once('?')
            .map_or(self.path.as_str(), |(path, _)| path);
        // Clients that join paths carelessly end in a slash; the root is one.
        if path.len() > 1 {
            path.trim_end_matches('/')
        } else {
            path
        }
    }

    /// The account that asks: the key wins over the bearer token, as it does at the provider.
    pub(crate) fn account(&self) -> Option<&str> {
        let bearer = || {
            let value = self.header("authorization")?;
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        };
        self.header("x-api-key")
            .map(str::trim)
            .filter(|key| !key.is_empty())
            .or_else(|| bearer().filter(|token| !token.is_empty()))
    }
}

/// A response, whole or as a timed stream.
#[derive(Clone, Debug)]
pub struct SimResponse {
    /// HTTP status of the reply.
    pub status: u16,
    /// Header names in lower case, with their values.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// The body, whole or in pieces.
    pub body: Body,
    /// Counts and bill, if the request got that far.
    pub report: Option<Box<Report>>,
}

/// The body of a response.
#[derive(Clone, Debug)]
pub enum Body {
    /// All of it at once, after a pause in milliseconds.
    Whole {
        /// Pause before the first byte.
        after: u64,
        /// All bytes of the body.
        bytes: Bytes,
    },
    /// Pieces with their pauses, in order.
    Stream(Vec<Frame>),
}

/// One piece of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Pause before it, in milliseconds.
    pub after: u64,
    /// The step that follows the pause.
    pub piece: Piece,
}

/// One step of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Sends these bytes at once.
    Bytes(Bytes),
    /// Breaks the connection without an end.
    Cut,
    /// Sends nothing more, and does not end.
    Stall,
}

impl SimResponse {
    pub(crate) fn json(status: u16, bytes: Vec<u8>) -> Self {
        Self {
            status,
            headers: vec![(Cow::Borrowed("content-type"), "application/json".to_owned())],
            body: Body::Whole {
                after: 0,
                bytes: Bytes::from(bytes),
            },
            report: None,
        }
    }

    pub(crate) fn stream(frames: Vec<Frame>) -> Self {
        Self {
            status: 200,
            headers: vec![(
                Cow::Borrowed("content-type"),
                "text/event-stream; charset=utf-8".to_owned(),
            )],
            body: Body::Stream(frames),
            report: None,
        }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// All bytes that would be sent, up to a cut or a stall.
    pub fn bytes(&self) -> Bytes {
        match &self.body {
            Body::Whole { bytes, .. } => bytes.clone(),
            Body::Stream(frames) => {
                let mut all = Vec::new();
                for frame in frames {
                    match &frame.piece {
                        Piece::Bytes(bytes) => all.extend_from_slice(bytes),
                        // Nothing behind either reaches a client.
                        Piece::Cut | Piece::Stall => break,
                    }
                }
                Bytes::from(all)
            }
        }
    }
}
