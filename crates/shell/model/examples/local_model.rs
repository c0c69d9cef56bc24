//! Both clients against a real server with a real, small model.
//!
//! `cargo run -p dormouse-model --example local_model -- http://127.0.0.1:PORT`, or
//! `.ci/local-model.sh`, which starts the server too. Each line of the output is one check with
//! what was seen; the first that fails ends the run. `docs/local-model.md` has a recorded run.

#![expect(clippy::print_stdout, reason = "the output is the purpose")]

use dormouse_core::block::Block;
use dormouse_core::units::Tokens;
use dormouse_model::anthropic::{AnthropicClient, ApiVersion};
use dormouse_model::openai::{LengthMember, OpenAiClient};
use dormouse_model::{
    CapabilityOverrides, ClientOptions, Credential, Delta, Event, Model, ModelError, Request,
    Response, SetupError,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// The window the server was started with.
const WINDOW: Tokens = Tokens(8_192);

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("give the address of the server, such as http://127.0.0.1:8080")]
    NoAddress,
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("the model did not answer")]
    Model(#[from] ModelError),
    #[error("{0}")]
    Unexpected(String),
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let url = std::env::args().nth(1).ok_or(Failure::NoAddress)?;
    let mut options = ClientOptions::new(&url, Credential::None);
    options.overrides = CapabilityOverrides {
        window: Some(WINDOW),
        ..CapabilityOverrides::default()
    };
    options.timeouts.idle = Duration::from_mins(3);
    let messages = AnthropicClient::new(&options, ApiVersion::V2023, &[])?;
    options.url = format!("{url}/v1");
    let chat = OpenAiClient::new(&options, LengthMember::MaxTokens)?;

    for (name, model) in [("messages", &messages as &dyn Model), ("chat", &chat)] {
        check_stream(name, model).await?;
        check_overflow(name, model).await?;
        check_cancel(name, model).await?;
    }
    check_count(&messages).await?;
    check_schema(&chat).await?;
    println!("all checks passed");
    Ok(())
}

fn body(text: &str, extra: &Value) -> Request {
    let mut body = json!({
        "model": "smollm2",
        "max_tokens": 48,
        "stream": true,
        "temperature": 0,
        "system": "Answer in one short sentence.",
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": text }] }],
    });
    if let (Some(body), Some(extra)) = (body.as_object_mut(), extra.as_object()) {
        body.extend(extra.clone());
    }
    Request::streamed(body.to_string())
}

fn text(response: &Response) -> String {
    let blocks = response.blocks.iter();
    blocks.filter_map(Block::readable_text).collect()
}

async fn check_stream(name: &str, model: &dyn Model) -> Result<(), Failure> {
    let start = Instant::now();
    let mut stream = model.stream(body("What is the capital of France?", &Value::Null));
    let (mut pieces, mut first, mut shown) = (0, None, String::new());
    let response = loop {
        match stream.next().await {
            Some(Ok(Event::Delta {
                delta: Delta::Text(piece),
                ..
            })) => {
                first.get_or_insert_with(|| start.elapsed());
                pieces += 1;
                shown.push_str(&piece);
            }
            Some(Ok(Event::Done(response))) => break response,
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error.into()),
            None => return Err(Failure::Unexpected("no end of the stream".to_owned())),
        }
    };
    if shown != text(&response) || response.usage.output.get() == 0 {
        return Err(Failure::Unexpected(format!("{shown:?}: {response:?}")));
    }
    println!(
        "{name}: {pieces} pieces, first after {:?}, prompt {} (cached {}), answer {}, {}: {shown:?}",
        first.unwrap_or_default(),
        response.usage.prompt(),
        response.usage.cache_read,
        response.usage.output,
        response.stop_reason.as_str(),
    );
    Ok(())
}

async fn check_overflow(name: &str, model: &dyn Model) -> Result<(), Failure> {
    let long = "The quick brown fox jumps over the lazy dog. ".repeat(1_200);
    match model.stream(body(&long, &Value::Null)).finish().await {
        Err(ModelError::PromptTooLong { tokens, limit, .. }) => {
            println!("{name}: too long is told as {tokens:?} > {limit:?}");
            Ok(())
        }
        other => Err(Failure::Unexpected(format!("{name} overflow: {other:?}"))),
    }
}

/// A stream that is dropped frees the server: the next answer comes at once.
async fn check_cancel(name: &str, model: &dyn Model) -> Result<(), Failure> {
    let endless = body("Count to a thousand.", &json!({ "max_tokens": 2_000 }));
    let mut stream = model.stream(endless);
    for _ in 0..5 {
        if let Some(Err(error)) = stream.next().await {
            return Err(error.into());
        }
    }
    drop(stream);
    let start = Instant::now();
    model
        .stream(body("Say hi.", &json!({ "max_tokens": 4 })))
        .finish()
        .await?;
    println!(
        "{name}: after a cancelled stream the next answer took {:?}",
        start.elapsed()
    );
    Ok(())
}

async fn check_count(model: &dyn Model) -> Result<(), Failure> {
    let count = model
        .count_tokens(body("What is the capital of France?", &Value::Null))
        .await?;
    println!("messages: counted {} tokens", count.input);
    Ok(())
}

async fn check_schema(model: &dyn Model) -> Result<(), Failure> {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "maxLength": 20 },
            "inhabitants": { "type": "integer", "minimum": 0, "maximum": 99_999_999 },
        },
        "required": ["city", "inhabitants"],
        "additionalProperties": false,
    });
    let format =
        json!({ "output_config": { "format": { "type": "json_schema", "schema": schema } } });
    let request = body("Describe Paris as JSON.", &format);
    let answer = text(&model.stream(request).finish().await?);
    let value: Value = serde_json::from_str(&answer)
        .map_err(|error| Failure::Unexpected(format!("{answer:?}: {error}")))?;
    if !value["city"].is_string() || !value["inhabitants"].is_u64() {
        return Err(Failure::Unexpected(answer));
    }
    println!("chat: by schema {value}");
    Ok(())
}
