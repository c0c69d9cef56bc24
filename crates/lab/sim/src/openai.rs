//! The OpenAI face: chat completions with automatic prefix caching.
//!
//! Model: a prompt is one run of bytes (tools, then messages). It is cut into steps of 128 tokens;
//! each step's digest stands for everything up to it. A later prompt reads as many leading steps as
//! are still warm, once it is long enough. Nothing is marked and writing costs nothing.
//!
//! # Not here
//! The bytes of the answer: [`crate::openai_write`].

use crate::answer::{AnswerBlock, SimAnswer};
use crate::config::SimConfig;
use crate::digest::Digest;
use crate::error::{ApiError, ErrorKind};
use crate::http::SimRequest;
use crate::modelinfo;
use crate::persona::{Offer, Scene};
use crate::read::{Job, Rules};
use crate::request::ToolChoice;
use crate::simulator::{Account, id};
use crate::tokens::{Counter, UsageOverride, Weight};
use bytes::Bytes;
use dormouse_core::units::Millis;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;

/// Milliseconds of a day, the long retention a request may ask for.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A chat to be answered.
#[derive(Debug)]
pub(crate) struct ChatJob {
    pub(crate) model: String,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) prompt_tokens: u64,
    pub(crate) scene: Scene,
    pub(crate) usage: Option<UsageOverride>,
    counter: Counter,
    most_tokens: u64,
    keep_ms: u64,
    /// Digests of the leading steps.
    steps: Vec<Digest>,
    step_tokens: u64,
}

/// A chat with its answer, ready to be written.
#[derive(Debug)]
pub(crate) struct SettledChat {
    pub(crate) job: ChatJob,
    pub(crate) id: String,
    pub(crate) cached_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) text: Option<String>,
    /// Id, name and arguments of each call.
    pub(crate) calls: Vec<(String, String, String)>,
    pub(crate) cut: bool,
}

/// Steps that are warm, each with the time it stays so.
#[derive(Debug, Default)]
pub(crate) struct ChatCache {
    warm: HashMap<Digest, Millis>,
    chats: u64,
}

/// Reads a request to this face.
pub(crate) fn read(rules: &Rules, request: &SimRequest, route: &str) -> Result<Job, ApiError> {
    match (request.method.as_str(), route) {
        ("POST", "/v1/chat/completions") => {
            chat(rules, request).map(|job| Job::Chat(Box::new(job)))
        }
        ("GET", "/v1/models") => Ok(Job::Plain(modelinfo::openai_list(&rules.table))),
        ("GET", route) if route.starts_with("/v1/models/") => Ok(Job::Plain(
            modelinfo::openai_one(&route["/v1/models/".len()..]),
        )),
        _ => Err(ApiError::new(ErrorKind::NotFound, "Not found")),
    }
}

fn invalid(param: &str, message: String) -> ApiError {
    let mut error = ApiError::invalid(message);
    error.details.insert("param".to_owned(), json!(param));
    error
}

fn chat(rules: &Rules, http: &SimRequest) -> Result<ChatJob, ApiError> {
    let body: Value = serde_json::from_slice(&http.body).map_err(|error| {
        ApiError::invalid(format!("The request body is not valid JSON: {error}"))
    })?;
    let Some(model) = body["model"].as_str() else {
        return Err(invalid("model", "you must provide a model".to_owned()));
    };
    let Some(messages) = body["messages"].as_array().filter(|list| !list.is_empty()) else {
        return Err(invalid(
            "messages",
            "messages must be a list with at least one message".to_owned(),
        ));
    };
    check_messages(messages)?;
    let empty = Vec::new();
    let tools = body["tools"].as_array().unwrap_or(&empty);
    let permille = http
        .header("x-sim-factor")
        .and_then(|text| text.parse().ok());
    let info = rules.table.lookup(model).info;
    let counter = Counter::new(info, &rules.config.tokenizer, permille);

    let mut bytes = Vec::with_capacity(http.body.len());
    let mut prompt_tokens = 0;
    for part in tools.iter().chain(messages) {
        let start = bytes.len();
        bytes.extend_from_slice(part.to_string().as_bytes());
        prompt_tokens += counter.block(Weight::text(bytes.len() - start));
    }
    let options = &rules.config.openai;
    let window = rules.config.window.unwrap_or(options.window);
    let asked = ["max_completion_tokens", "max_tokens"]
        .iter()
        .find_map(|name| body[*name].as_u64());
    // At least one token of answer must fit, also where none was asked for.
    let over = prompt_tokens.saturating_add(asked.unwrap_or(1).max(1)) > window;
    if over {
        return Err(too_long(prompt_tokens, asked, window));
    }
    let step_tokens = options.cache_step.max(1);
    // Shorter prompts are never cached, as documented.
    let steps = if prompt_tokens >= options.cache_minimum {
        steps(http, model, &bytes, (prompt_tokens, step_tokens), &counter)
    } else {
        Vec::new()
    };
    let keep_ms = if body["prompt_cache_retention"] == "24h" {
        DAY_MS
    } else {
        options.idle_ms
    };
    let rounds = messages
        .iter()
        .rev()
        .take_while(|message| message["role"] != "user")
        .filter(|message| message["role"] == "tool")
        .count();
    let scene = Scene {
        offers: tools.iter().filter_map(offer).collect(),
        choice: choice(&body["tool_choice"]),
        rounds: rounds as u64,
        thinks: false,
        prompt: Digest::of(&bytes),
        written: None,
        body: http.body.clone(),
    };
    let (said, last) = talk(messages);
    let SimConfig { seed, answers, .. } = &rules.config;
    Ok(ChatJob {
        model: model.to_owned(),
        stream: body["stream"] == true,
        include_usage: body["stream_options"]["include_usage"] == true,
        prompt_tokens,
        scene: scene.with_order(*seed, answers, last, || said),
        usage: http
            .header("x-sim-usage")
            .and_then(UsageOverride::parse)
            .or(rules.config.usage),
        counter,
        most_tokens: asked
            .unwrap_or(options.max_output)
            .min(window - prompt_tokens),
        keep_ms,
        steps,
        step_tokens,
    })
}

/// Texts of users and assistants, and the last one if it is the user's.
fn talk(messages: &[Value]) -> (Vec<Cow<'_, str>>, Option<&str>) {
    let talks = |message: &&Value| message["role"] == "user" || message["role"] == "assistant";
    let mut texts: Vec<&str> = messages.iter().filter(talks).flat_map(texts).collect();
    let mut others = messages.iter().rev();
    let end = others.find(|message| message["role"] != "system" && message["role"] != "developer");
    let is_users = end.is_some_and(|end| end["role"] == "user" && !self::texts(end).is_empty());
    let last = if is_users { texts.pop() } else { None };
    (texts.into_iter().map(Cow::Borrowed).collect(), last)
}

fn texts(message: &Value) -> Vec<&str> {
    match &message["content"] {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => Vec::new(),
    }
}

/// Every tool answer follows the assistant message that called.
fn check_messages(messages: &[Value]) -> Result<(), ApiError> {
    let mut open: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "tool" => {
                let call = message["tool_call_id"].as_str().unwrap_or_default();
                let Some(found) = open.iter().position(|known| *known == call) else {
                    return Err(invalid(
                        &format!("messages.[{at}].role"),
                        "messages with role 'tool' must be a response to a preceding message with \
                         'tool_calls'"
                            .to_owned(),
                    ));
                };
                open.remove(found);
            }
            // Only when every call is answered may another message follow.
            "system" | "developer" | "user" | "assistant" if open.is_empty() => {
                let calls = message["tool_calls"].as_array().map(Vec::as_slice);
                let calls = calls.unwrap_or_default().iter();
                open = calls.filter_map(|call| call["id"].as_str()).collect();
            }
            "system" | "developer" | "user" | "assistant" => {
                return Err(invalid(
                    &format!("messages.[{at}].role"),
                    format!("tool calls without an answer: {}", open.join(", ")),
                ));
            }
            _ => {
                return Err(invalid(
                    &format!("messages.[{at}].role"),
                    format!("`{role}` is not a role"),
                ));
            }
        }
    }
    Ok(())
}

fn too_long(prompt: u64, asked: Option<u64>, window: u64) -> ApiError {
    let rest = match asked {
        Some(asked) if prompt <= window => format!(
            "you requested {} tokens ({prompt} in the messages, {asked} in the completion). Please \
             reduce the length of the messages or completion.",
            prompt.saturating_add(asked)
        ),
        _ => format!(
            "your messages resulted in {prompt} tokens. Please reduce the length of the messages."
        ),
    };
    let mut error = invalid(
        "messages",
        format!("This model's maximum context length is {window} tokens. However, {rest}"),
    );
    let code = json!("context_length_exceeded");
    error.details.insert("code".to_owned(), code);
    error
}

fn steps(
    http: &SimRequest,
    model: &str,
    bytes: &[u8],
    (prompt_tokens, step_tokens): (u64, u64),
    counter: &Counter,
) -> Vec<Digest> {
    let account = Account::of(http);
    let mut digest = Digest::of(format!("{}\n{model}", account.organisation).as_bytes());
    let count = usize::try_from(prompt_tokens / step_tokens).unwrap_or(0);
    let per_step = counter.text_bytes_in(step_tokens).max(1);
    // A step that is not full is not cached, so the end of a prompt never hits.
    let chunks = bytes.chunks_exact(per_step).take(count);
    chunks
        .map(|chunk| {
            digest = digest.then(b'c', Digest::of(chunk));
            digest
        })
        .collect()
}

fn offer(tool: &Value) -> Option<Offer> {
    Some(Offer {
        name: tool["function"]["name"].as_str()?.to_owned(),
        definition: Bytes::from(tool.to_string()),
    })
}

fn choice(choice: &Value) -> ToolChoice {
    match (choice.as_str(), choice["function"]["name"].as_str()) {
        (Some("none"), _) => ToolChoice::None,
        (Some("required"), _) => ToolChoice::Any,
        (_, Some(name)) => ToolChoice::Tool(name.to_owned()),
        _ => ToolChoice::Auto,
    }
}

impl ChatCache {
    /// Reads and warms the cache, and makes the answer fit.
    pub(crate) fn settle(
        &mut self,
        rules: &Rules,
        job: ChatJob,
        answer: SimAnswer,
        number: u64,
        now: Millis,
    ) -> SettledChat {
        let warm = job
            .steps
            .iter()
            .take_while(|step| self.warm.get(step).is_some_and(|until| now < *until))
            .count();
        let keep = i64::try_from(job.keep_ms).unwrap_or(i64::MAX);
        for step in &job.steps {
            let until = Millis(now.0.saturating_add(keep));
            let entry = self.warm.entry(*step).or_insert(until);
            // A request with the short retention must not shorten the long one.
            *entry = (*entry).max(until);
        }
        self.chats += 1;
        // A sweep now and then bounds the memory; the figure does not matter.
        if self.chats.is_multiple_of(1_024) {
            self.warm.retain(|_, until| now < *until);
        }
        let mut settled = SettledChat {
            id: id("chatcmpl", rules.config.seed, number),
            cached_tokens: warm as u64 * job.step_tokens,
            output_tokens: 0,
            text: None,
            calls: Vec::new(),
            cut: false,
            job,
        };
        for block in answer.content {
            settled.say(block);
        }
        if let Some(tokens) = answer.output_tokens {
            settled.output_tokens = tokens;
        }
        settled
    }
}

impl SettledChat {
    fn say(&mut self, block: AnswerBlock) {
        let left = self.job.most_tokens.saturating_sub(self.output_tokens);
        match block {
            AnswerBlock::Text { text } if !self.cut => {
                let mut end = self.job.counter.text_bytes_in(left).min(text.len());
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                self.cut = end < text.len();
                if end > 0 {
                    self.output_tokens += self.job.counter.block(Weight::text(end));
                    let said = self.text.get_or_insert_default();
                    said.push_str(&text[..end]);
                }
            }
            AnswerBlock::Tool { tool, input, id } if !self.cut => {
                let arguments = input.to_string();
                let tokens = self.job.counter.block(Weight::json(arguments.len()));
                // Said whole or not at all: half of the arguments would be no JSON.
                if tokens > left {
                    self.cut = true;
                    return;
                }
                self.output_tokens += tokens;
                let number = self.calls.len();
                let made = || {
                    let digest = self.job.scene.prompt.then(b'#', Digest(number as u128));
                    format!("call_sim{:016x}", digest.0 >> 64)
                };
                let id = id.unwrap_or_else(made);
                self.calls.push((id, tool, arguments));
            }
            // This face has no place for reasoning or for blocks of the other one.
            _ => {}
        }
    }
}
