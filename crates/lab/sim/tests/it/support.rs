//! A simulator in which one byte of text is one token, and short ways to talk to it.

use dormouse_core::units::Millis;
use dormouse_sim::{Report, SimConfig, SimRequest, SimResponse, Simulator, TokenizerConfig};
use serde_json::{Value, json};

pub(crate) const MODEL: &str = "claude-opus-5";

/// One token per byte, nothing hidden, nothing too short to be cached.
pub(crate) fn config() -> SimConfig {
    SimConfig {
        tokenizer: TokenizerConfig {
            factor_permille: 1_000,
            text_hundredths: Some(100),
            json_hundredths: Some(100),
            block_tokens: 0,
            hidden_tool_tokens: false,
        },
        cache_minimum: Some(1),
        ..SimConfig::default()
    }
}

pub(crate) struct World {
    pub(crate) simulator: Simulator,
    pub(crate) now: i64,
    pub(crate) headers: Vec<(String, String)>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(config())
    }

    pub(crate) fn with(config: SimConfig) -> Self {
        Self {
            simulator: Simulator::new(config).unwrap(),
            now: 1_000_000,
            headers: Vec::new(),
        }
    }

    pub(crate) fn header(&mut self, name: &str, value: &str) -> &mut Self {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn request(&self, path: &str, body: &Value) -> SimRequest {
        let request = SimRequest::post(path, body.to_string());
        let headers = self.headers.iter();
        headers.fold(request, |request, (name, value)| request.with(name, value))
    }

    pub(crate) fn post(&mut self, path: &str, body: &Value) -> SimResponse {
        let request = self.request(path, body);
        self.send(&request)
    }

    pub(crate) fn send(&mut self, request: &SimRequest) -> SimResponse {
        self.simulator.handle(request, Millis(self.now))
    }

    /// A message that must be answered; gives back the body.
    pub(crate) fn message(&mut self, body: &Value) -> Value {
        let response = self.post("/v1/messages", body);
        let value = parse(&response);
        assert_eq!(response.status, 200, "{value}");
        value
    }

    /// Read, written for an hour, written for five minutes, neither.
    pub(crate) fn bill(&mut self, body: &Value) -> [u64; 4] {
        let report = self.report(body);
        let billing = report.billing;
        let usage = report.usage;
        assert_eq!(usage.cache_read.get(), billing.read);
        [
            billing.read,
            billing.write_1h,
            billing.write_5m,
            billing.input,
        ]
    }

    pub(crate) fn report(&mut self, body: &Value) -> Report {
        let response = self.post("/v1/messages", body);
        let text = String::from_utf8_lossy(&response.bytes()).into_owned();
        *response.report.unwrap_or_else(|| panic!("{text}"))
    }

    /// A message that must be refused; gives back status, error type and text.
    pub(crate) fn refusal(&mut self, body: &Value) -> (u16, String, String) {
        let response = self.post("/v1/messages", body);
        refusal(&response)
    }
}

pub(crate) fn refusal(response: &SimResponse) -> (u16, String, String) {
    let body = parse(response);
    let text = |name: &str| {
        let text = body["error"][name].as_str();
        text.unwrap_or_else(|| panic!("{body}")).to_owned()
    };
    (response.status, text("type"), text("message"))
}

pub(crate) fn parse(response: &SimResponse) -> Value {
    serde_json::from_slice(&response.bytes()).unwrap()
}

/// Text of so many tokens that no other `name` shares.
pub(crate) fn text(name: &str, tokens: usize) -> String {
    let mut text = name.to_owned();
    text.extend(std::iter::repeat_n('.', tokens.saturating_sub(name.len())));
    text
}

pub(crate) fn block(name: &str, tokens: usize) -> Value {
    json!({"type": "text", "text": text(name, tokens)})
}

pub(crate) fn marked(mut block: Value, ttl: &str) -> Value {
    block["cache_control"] = json!({"type": "ephemeral", "ttl": ttl});
    block
}

/// One user message of numbered blocks of a hundred tokens each, with markers on some (from 1).
pub(crate) fn numbered(count: usize, markers: &[(usize, &str)]) -> Value {
    let blocks = (1..=count).map(|at| {
        let plain = block(&format!("block {at}"), 100);
        match markers.iter().find(|(marker, _)| *marker == at) {
            Some((_, ttl)) => marked(plain, ttl),
            None => plain,
        }
    });
    body(json!([{"role": "user", "content": blocks.collect::<Vec<_>>()}]))
}

pub(crate) fn body(messages: Value) -> Value {
    json!({"model": MODEL, "max_tokens": 1_000, "messages": messages})
}

/// The body with one more member.
pub(crate) fn with(mut body: Value, name: &str, value: Value) -> Value {
    body[name] = value;
    body
}

pub(crate) fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": "Reads a file.",
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    })
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

pub(crate) fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}
