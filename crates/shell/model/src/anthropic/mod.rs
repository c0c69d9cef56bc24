//! The Messages wire of Anthropic, and of everything that speaks it.
//!
//! # Model
//! A thin client: the caller's bytes are the body, untouched. Headers come from the settings and
//! from the request's betas; the answer comes through `attempt.rs`.
//!
//! # Responsibilities
//! Paths, headers, events, errors and usage of this wire.
//!
//! # Not here
//! The layout of a prompt (`dormouse-context`) and members of a request
//! ([`dormouse_ask::features`]).

mod decode;
mod errors;
mod observe;
mod open_block;
mod usage;

pub use observe::{Observed, Observer};

use crate::attempt::{Head, Provider};
use crate::client::{
    Base, ClientOptions, Credential, KeySource, add_key, json_headers, secret_header,
};
use crate::error::{Malformed, ModelError, SetupError};
use crate::http::Post;
use crate::model::{Counting, Model, ResponseStream, TokenCount};
use decode::MessageDecoder;
use dormouse_ask::Capabilities;
use dormouse_ask::Response;
use dormouse_ask::{Delivery, Request};
use dormouse_core::units::Tokens;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::Arc;

/// Version of the interface, sent as a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApiVersion {
    /// `2023-06-01`, the first stable version.
    V2023,
    /// `2026-10-21`: no sampling parameters, stricter content.
    #[default]
    V2026,
}

impl ApiVersion {
    const fn as_str(self) -> &'static str {
        match self {
            Self::V2023 => "2023-06-01",
            Self::V2026 => "2026-10-21",
        }
    }
}

/// Header that lists the betas of a request; a constant, because parsing a name can fail.
const BETA: HeaderName = HeaderName::from_static("anthropic-beta");

/// Header of a key.
const KEY: &str = "x-api-key";

/// A client of the Messages wire.
#[derive(Debug)]
pub struct AnthropicClient {
    base: Base,
    headers: HeaderMap,
    /// Source of the key, where it may change.
    source: Option<Arc<dyn KeySource>>,
    betas: Vec<Cow<'static, str>>,
}

impl AnthropicClient {
    /// A client. `betas` go with every request, before those of the request itself.
    ///
    /// # Errors
    /// When address or credential cannot work.
    pub fn new(
        options: &ClientOptions,
        version: ApiVersion,
        betas: &[Cow<'static, str>],
    ) -> Result<Self, SetupError> {
        let mut headers = json_headers();
        headers.insert(
            HeaderName::from_static("anthropic-version"),
            HeaderValue::from_static(version.as_str()),
        );
        match &options.credential {
            Credential::None | Credential::Source(_) => {}
            Credential::Key(key) => secret_header(&mut headers, KEY, "", key)?,
            Credential::Bearer(token) => {
                secret_header(&mut headers, "authorization", "Bearer ", token)?;
            }
        }
        Ok(Self {
            base: Base::new(options)?,
            source: options.credential.source(),
            headers,
            betas: betas.to_vec(),
        })
    }

    fn post(&self, path: &'static str, request: Request) -> Result<Post, SetupError> {
        let mut betas: Vec<&str> = Vec::new();
        for beta in self.betas.iter().chain(&request.betas) {
            // The settings and the request may name the same beta.
            if !betas.contains(&&**beta) {
                betas.push(beta);
            }
        }
        let mut headers = self.headers.clone();
        if !betas.is_empty() {
            let value = HeaderValue::from_str(&betas.join(","));
            let name = "anthropic-beta";
            let value = value.map_err(|_| SetupError::BadHeader { name })?;
            headers.insert(BETA, value);
        }
        Ok(Post {
            path,
            headers,
            body: request.body,
        })
    }
}

impl Model for AnthropicClient {
    fn capabilities(&self, model: &str) -> Capabilities {
        let known = Capabilities::of_messages(&self.base.models, model);
        self.base.overrides.apply(known)
    }

    fn stream(&self, request: Request) -> ResponseStream {
        let delivery = request.delivery;
        let call = self
            .post("/v1/messages", request)
            .map(|post| self.base.call(post, Messages, delivery));
        let source = self.source.clone();
        // An error of the setup comes through the stream, as every other error does.
        ResponseStream::new(|emitter| async move {
            let mut call = call?;
            add_key(&mut call.post.headers, KEY, "", source).await?;
            call.run(emitter).await
        })
    }

    fn count_tokens(&self, request: Request) -> Counting {
        let call = self
            .post("/v1/messages/count_tokens", request)
            .map(|post| self.base.call(post, Messages, Delivery::Streamed));
        let source = self.source.clone();
        Box::pin(async move {
            let mut call = call?;
            add_key(&mut call.post.headers, KEY, "", source).await?;
            let body = call.fetch().await?;
            let count: WireCount =
                serde_json::from_slice(&body).map_err(|source| Malformed::Json {
                    what: "count_tokens",
                    source,
                })?;
            Ok(TokenCount {
                input: count.input_tokens,
                before_editing: count
                    .context_management
                    .and_then(|edits| edits.original_input_tokens),
            })
        })
    }
}

#[derive(Deserialize)]
struct WireCount {
    input_tokens: Tokens,
    #[serde(default)]
    context_management: Option<WireEdits>,
}

#[derive(Deserialize)]
struct WireEdits {
    #[serde(default)]
    original_input_tokens: Option<Tokens>,
}

/// The wire itself, without state of its own.
#[derive(Clone, Copy, Debug)]
struct Messages;

impl Provider for Messages {
    type Decoder = MessageDecoder;

    fn decoder(&self, head: Head) -> MessageDecoder {
        MessageDecoder::new(head)
    }

    fn whole(&self, head: Head, body: &[u8]) -> Result<Response, ModelError> {
        MessageDecoder::whole(head, body)
    }

    fn refusal(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ModelError {
        errors::in_reply(status, headers, body)
    }
}
