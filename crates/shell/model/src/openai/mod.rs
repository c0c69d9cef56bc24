//! Chat completions: OpenAI, and the many servers that speak like it.
//!
//! # Model
//! Takes the same body as the Messages client and translates it, deterministically. The answer
//! comes back as the same blocks. Servers differ in their reports and refusals; the differences end
//! here.
//!
//! # Responsibilities
//! Translation both ways, errors of the known servers, and noticing a server that silently reads
//! less than it was sent.
//!
//! # Not here
//! The Responses interface, and counting tokens: no server of this wire offers it.

mod content;
mod convert;
mod decode;
mod errors;

pub use convert::LengthMember;

use crate::attempt::{Head, Provider};
use crate::blocking;
use crate::client::{
    Base, ClientOptions, Credential, KeySource, add_key, json_headers, secret_header,
};
use crate::error::{ModelError, SetupError};
use crate::http::Post;
use crate::model::{Counting, Model, ResponseStream};
use decode::{ChatDecoder, Expected};
use dormouse_ask::Request;
use dormouse_ask::Response;
use dormouse_ask::Unsupported;
use dormouse_ask::{Capabilities, Feature};
use hyper::HeaderMap;
use std::sync::Arc;

/// A client of chat completions. The address ends where `/chat/completions` follows, usually in
/// `/v1`.
#[derive(Debug)]
pub struct OpenAiClient {
    base: Base,
    headers: HeaderMap,
    /// Source of the key, where it may change.
    source: Option<Arc<dyn KeySource>>,
    length: LengthMember,
}

impl OpenAiClient {
    /// A client.
    ///
    /// # Errors
    /// When address or credential cannot work.
    pub fn new(options: &ClientOptions, length: LengthMember) -> Result<Self, SetupError> {
        let mut headers = json_headers();
        match &options.credential {
            Credential::None | Credential::Source(_) => {}
            Credential::Key(secret) | Credential::Bearer(secret) => {
                secret_header(&mut headers, "authorization", "Bearer ", secret)?;
            }
        }
        Ok(Self {
            base: Base::new(options)?,
            source: options.credential.source(),
            headers,
            length,
        })
    }
}

impl Model for OpenAiClient {
    fn capabilities(&self, model: &str) -> Capabilities {
        let known = Capabilities::of_chat(&self.base.models, model);
        self.base.overrides.apply(known)
    }

    fn stream(&self, request: Request) -> ResponseStream {
        let (base, length) = (self.base.clone(), self.length);
        let (mut headers, source) = (self.headers.clone(), self.source.clone());
        ResponseStream::new(move |emitter| async move {
            add_key(&mut headers, "authorization", "Bearer ", source).await?;
            let body = request.body;
            let converted = blocking::run(body.len(), move || convert::convert(&body, length));
            let converted = converted.await.map_err(ModelError::Request)?;
            let provider = Chat(Expected {
                warnings: converted.warnings,
                estimate: request.estimate.unwrap_or(converted.estimate),
                calibrated: request.estimate.is_some(),
                // Only a window the user set is certain; the table's may not be the server's.
                window: base.overrides.window,
            });
            let post = Post {
                path: "/chat/completions",
                headers,
                body: converted.body.into(),
            };
            let call = base.call(post, provider, request.delivery);
            call.run(emitter).await
        })
    }

    fn count_tokens(&self, _: Request) -> Counting {
        let feature = Feature::TokenCounting;
        Box::pin(async move { Err(Unsupported { feature }.into()) })
    }
}

/// The wire, with facts about the prompt that the reply is checked against.
#[derive(Clone, Debug)]
struct Chat(Expected);

impl Provider for Chat {
    type Decoder = ChatDecoder;

    fn decoder(&self, head: Head) -> ChatDecoder {
        ChatDecoder::new(head, self.0.clone())
    }

    fn whole(&self, head: Head, body: &[u8]) -> Result<Response, ModelError> {
        ChatDecoder::whole(head, self.0.clone(), body)
    }

    fn refusal(&self, status: u16, headers: &HeaderMap, body: &[u8]) -> ModelError {
        errors::in_reply(status, headers, body)
    }
}
