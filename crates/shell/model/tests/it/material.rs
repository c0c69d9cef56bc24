//! Recorded answers, and clients to send them to.

use crate::server::Server;
use dormouse_model::anthropic::{AnthropicClient, ApiVersion};
use dormouse_model::openai::{LengthMember, OpenAiClient};
use dormouse_model::{
    ClientOptions, Credential, Event, Model, ModelError, Request, Response, ResponseStream,
};
use std::sync::Arc;

/// An answer with every part that matters: thinking, text beyond ASCII, a call, pings, an event of
/// the future, usage in two steps.
pub(crate) const ANSWER: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-fable-5-2","content":[],"stop_reason":null,"stop_sequence":null,"diagnostics":{"cache_miss_reason":null},"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":2}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me look."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Grüße, "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"世界 \"🐭\"\n"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: from_the_future
data: {"type":"from_the_future","x":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\": \"/a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":".rs\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89},"context_management":{"applied_edits":[]}}

event: message_stop
data: {"type":"message_stop"}

"#;

/// The blocks of [`ANSWER`].
pub(crate) const BLOCKS: [&str; 3] = [
    r#"{"type":"thinking","thinking":"Let me look.","signature":"c2ln"}"#,
    r#"{"type":"text","text":"Grüße, 世界 \"🐭\"\n"}"#,
    r#"{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"/a.rs"}}"#,
];

/// A short answer of one text block.
pub(crate) const SHORT: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_2","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}

event: message_stop
data: {"type":"message_stop"}

"#;

pub(crate) const BODY: &[u8] =
    br#"{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;

pub(crate) fn options(server: &Server) -> ClientOptions {
    let mut options = ClientOptions::new(
        "http://model.test/base",
        Credential::Key("sk-very-secret".into()),
    );
    options.connector = Some(Arc::new(server.clone()));
    options
}

pub(crate) fn client_with(options: &ClientOptions) -> AnthropicClient {
    AnthropicClient::new(options, ApiVersion::V2026, &[]).unwrap()
}

pub(crate) fn client(server: &Server) -> AnthropicClient {
    client_with(&options(server))
}

pub(crate) fn chat(server: &Server) -> OpenAiClient {
    let mut options = options(server);
    options.credential = Credential::None;
    OpenAiClient::new(&options, LengthMember::MaxTokens).unwrap()
}

pub(crate) async fn ask(model: &dyn Model) -> Result<Response, ModelError> {
    model.stream(Request::streamed(BODY)).finish().await
}

/// All events, and how the stream ended.
pub(crate) async fn collect(mut stream: ResponseStream) -> (Vec<Event>, Option<ModelError>) {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error)),
        }
    }
    assert!(matches!(events.last(), Some(Event::Done(_))));
    (events, None)
}

pub(crate) fn bytes(response: &Response) -> Vec<String> {
    let blocks = response.blocks.iter();
    blocks.map(|block| format!("{block:?}")).collect()
}

/// The name of an error, with that of its cause where content had arrived.
pub(crate) fn name(error: &ModelError) -> String {
    match error {
        ModelError::Broken { source, .. } => format!("Broken {}", name(source)),
        other => {
            let text = format!("{other:?}");
            let end = text.find(['(', ' ']).unwrap_or(text.len());
            text[..end].to_owned()
        }
    }
}
