//! Models that a server lists.
//!
//! # Model
//! `GET …/models` in the shape that all chat-completions servers share. The length of a model's
//! window stands under a name of each server's own, where it stands at all.
//!
//! # Not here
//! Which servers to ask, and how long: the caller's.

use crate::client::{ClientOptions, Credential, json_headers, secret_header};
use crate::error::{ModelError, SetupError};
use crate::http::{BaseUrl, Connector, Http, TcpConnector};
use dormouse_core::units::Tokens;
use hyper::StatusCode;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

/// Most bytes of a list. The longest known, with hundreds of models, has some 500 KB.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// Names under which servers tell the window: vLLM, LM Studio (loaded, then largest), OpenRouter,
/// and llama.cpp inside `meta`.
const WINDOWS: [&str; 6] = [
    "max_model_len",
    "loaded_context_length",
    "max_context_length",
    "context_length",
    "n_ctx",
    "n_ctx_train",
];

/// A model that a server offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedModel {
    /// Name to ask for.
    pub id: String,
    /// Window in tokens, where the server says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Tokens>,
    /// Owner as the server names it, by which servers can be told apart.
    #[serde(skip)]
    pub owner: Option<String>,
}

/// Reason why a server lists no models.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// Address or key that no request can be made of.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The server gave no answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The answer is an error.
    #[error("the server answers with status {0}")]
    Status(u16),
    /// The answer is no list of models.
    #[error("the server does not list models")]
    NoList,
}

/// Asks a server for its models. The caller limits the time.
///
/// # Errors
/// When there is no server, or it is none for models.
pub async fn list_models(
    url: &str,
    credential: &Credential,
) -> Result<Vec<ListedModel>, ProbeError> {
    let options = ClientOptions::new(url, credential.clone());
    let base = BaseUrl::parse(url)?;
    let connector: Arc<dyn Connector> = Arc::new(TcpConnector::for_origin(&base.origin)?);
    let http = Http::new(base, connector, options.timeouts.connect);
    let mut headers = json_headers();
    if let Credential::Key(secret) | Credential::Bearer(secret) = credential {
        secret_header(&mut headers, "authorization", "Bearer ", secret)?;
    }
    let mut exchange = http.get("/models", headers).await?;
    if exchange.status != StatusCode::OK {
        return Err(ProbeError::Status(exchange.status.as_u16()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = exchange.chunk().await {
        body.extend_from_slice(&chunk?);
        if body.len() > MOST_BYTES {
            return Err(ProbeError::NoList);
        }
    }
    listed(&body).ok_or(ProbeError::NoList)
}

fn listed(body: &[u8]) -> Option<Vec<ListedModel>> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let models = answer.get("data")?.as_array()?;
    let model = |model: &Value| {
        let window = WINDOWS.iter().find_map(|name| {
            let named = model.get(name).or_else(|| model.get("meta")?.get(name));
            named?.as_u64()
        });
        Some(ListedModel {
            id: model.get("id")?.as_str()?.to_owned(),
            window: window.map(Tokens),
            owner: model
                .get("owned_by")
                .and_then(Value::as_str)
                .map(str::to_owned),
        })
    };
    Some(models.iter().filter_map(model).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn lists_of_the_known_servers_are_read() {
        let windows = |body: &str| {
            let models = listed(body.as_bytes()).unwrap();
            let models = models.into_iter();
            models
                .map(|model| (model.id, model.window.map(Tokens::get)))
                .collect::<Vec<_>>()
        };
        let vllm =
            r#"{"object":"list","data":[{"id":"qwen","owned_by":"vllm","max_model_len":32768}]}"#;
        assert_eq!(windows(vllm), [("qwen".to_owned(), Some(32_768))]);
        let llama = r#"{"models":[],"data":[{"id":"smol","owned_by":"llamacpp","meta":{"n_ctx_train":8192}}]}"#;
        assert_eq!(windows(llama), [("smol".to_owned(), Some(8_192))]);
        let ollama = r#"{"object":"list","data":[{"id":"llama3.2:3b","owned_by":"library"}]}"#;
        assert_eq!(windows(ollama), [("llama3.2:3b".to_owned(), None)]);
        for other in ["", "<html>", "[]", r#"{"data":{}}"#, r#"{"error":"x"}"#] {
            assert_eq!(listed(other.as_bytes()), None, "{other}");
        }
    }
}
