//! A provider without sockets: the simulator reads and counts every request, a test may replace
//! what it answers.

pub(crate) use crate::answer::Answer;
use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::json::RawJson;
use dormouse_core::models::ModelTable;
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_engine::{Asker, Purpose};
use dormouse_model::{
    Caching, Capabilities, Delta, Event, Extras, Feature, Features, ModelError, Partial,
    RateLimits, Request, Response, ResponseStream, StopReason,
};
use dormouse_sim::{SimConfig, SimRequest, Simulator};
use dormouse_system::{Clock, ManualClock};
use dormouse_testkit::blocks::block;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// A request that was made.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) purpose: Purpose,
    pub(crate) body: Vec<u8>,
    /// Usage the simulator counted for it.
    pub(crate) usage: TokenUsage,
}

impl Sent {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The messages without cache markers.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let mut messages = self.json()["messages"].as_array().unwrap().clone();
        for message in &mut messages {
            for block in message["content"].as_array_mut().into_iter().flatten() {
                block.as_object_mut().unwrap().remove("cache_control");
            }
        }
        messages
    }

    /// All blocks of all messages, without cache markers.
    pub(crate) fn blocks(&self) -> Vec<Value> {
        let messages = self.messages();
        let blocks = messages
            .iter()
            .flat_map(|m| m["content"].as_array().unwrap());
        blocks.cloned().collect()
    }

    /// The last text: where a directive stands.
    pub(crate) fn last_text(&self) -> String {
        let last = self.blocks().pop().unwrap();
        last["text"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.body).contains(text)
    }
}

struct State {
    simulator: Simulator,
    answers: HashMap<Purpose, VecDeque<Answer>>,
    otherwise: HashMap<Purpose, Answer>,
    usage: Option<String>,
    sent: Vec<Sent>,
    refused: Vec<String>,
    features: Features,
    lenient: bool,
    answers_as: Option<String>,
}

/// A provider in memory, driven by the simulator.
pub(crate) struct Provider {
    state: Mutex<State>,
    clock: ManualClock,
    bill: Arc<Bill>,
}

/// Totals over all requests so far.
#[derive(Debug, Default)]
struct Bill {
    /// Usage of every response, also of those that broke off.
    billed: Mutex<Vec<(Purpose, TokenUsage)>>,
    /// Requests whose stream was dropped before its end.
    dropped: Mutex<Vec<Purpose>>,
    /// Told when a response waits for its word.
    waits: Notify,
}

/// Notes a stream that is dropped before its end.
struct Unfinished {
    purpose: Purpose,
    bill: Arc<Bill>,
    over: bool,
}

impl Unfinished {
    /// A method, so that the stream owns all of this and not only the flag.
    fn end(&mut self) {
        self.over = true;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if !self.over {
            self.bill.dropped.lock().unwrap().push(self.purpose);
        }
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Provider")
    }
}

impl Provider {
    pub(crate) fn new(config: SimConfig, clock: ManualClock) -> Self {
        let otherwise = [(Purpose::Turn, Answer::text("Done."))];
        Self {
            state: Mutex::new(State {
                simulator: Simulator::new(config).unwrap(),
                answers: HashMap::new(),
                otherwise: otherwise.into(),
                usage: None,
                sent: Vec::new(),
                refused: Vec::new(),
                features: Features::of(&[]),
                lenient: false,
                answers_as: None,
            }),
            clock,
            bill: Arc::default(),
        }
    }

    /// The usage of every response so far, by purpose.
    pub(crate) fn billed(&self) -> Vec<(Purpose, TokenUsage)> {
        self.bill.billed.lock().unwrap().clone()
    }

    /// Requests whose stream was dropped before its end.
    pub(crate) fn dropped(&self) -> Vec<Purpose> {
        self.bill.dropped.lock().unwrap().clone()
    }

    /// Waits until a response waits for its word.
    pub(crate) async fn waits(&self) {
        self.bill.waits.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next request of this kind gets this answer.
    pub(crate) fn next(&self, purpose: Purpose, answer: Answer) {
        let mut state = self.lock();
        state.answers.entry(purpose).or_default().push_back(answer);
    }

    /// Every request of this kind without an answer of its own gets this one.
    pub(crate) fn always(&self, purpose: Purpose, answer: Answer) {
        self.lock().otherwise.insert(purpose, answer);
    }

    /// From now on the provider reports this usage, as in `input=1,read=2`.
    pub(crate) fn report_usage(&self, usage: Option<&str>) {
        self.lock().usage = usage.map(str::to_owned);
    }

    /// Takes blocks that the simulator does not know: they are left out before it reads.
    pub(crate) fn lenient(&self) {
        self.lock().lenient = true;
    }

    /// From now on answers name this model, whatever name was asked for.
    pub(crate) fn answer_as(&self, model: &str) {
        self.lock().answers_as = Some(model.to_owned());
    }

    /// Sets the features of the provider besides answering.
    pub(crate) fn can(&self, features: &[Feature]) {
        self.lock().features = Features::of(features);
    }

    /// Requests sent so far, oldest first.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.lock().sent.clone()
    }

    /// Requests of one kind.
    pub(crate) fn sent_for(&self, purpose: Purpose) -> Vec<Sent> {
        let sent = self.sent().into_iter();
        sent.filter(|sent| sent.purpose == purpose).collect()
    }

    pub(crate) fn count(&self, purpose: Purpose) -> usize {
        self.sent_for(purpose).len()
    }

    /// Requests the simulator refused, with its reasons.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.lock().refused.clone()
    }

    /// Has the simulator read the request, and takes the answer for it.
    fn take(&self, purpose: Purpose, request: &Request) -> (Answer, Response) {
        let body: &[u8] = &request.body;
        let mut state = self.lock();
        let read = if state.lenient {
            without_cache_edits(body)
        } else {
            body.to_vec()
        };
        let mut http = SimRequest::post("/v1/messages", read);
        if !request.betas.is_empty() {
            http = http.with("anthropic-beta", &request.betas.join(","));
        }
        if let Some(usage) = &state.usage {
            http = http.with("x-sim-usage", usage);
        }
        let reply = state.simulator.handle(&http, self.clock.now());
        let bytes = reply.bytes();
        if reply.status != 200 {
            let words = String::from_utf8_lossy(&bytes).into_owned();
            state.refused.push(format!("{purpose:?}: {words}"));
            panic!("the simulator refuses a {purpose:?} request: {words}");
        }
        let mut response = read_response(&serde_json::from_slice(&bytes).unwrap());
        if let Some(model) = &state.answers_as {
            response.model = model.as_str().into();
        }
        state.sent.push(Sent {
            purpose,
            body: body.to_vec(),
            usage: response.usage,
        });
        let queued = state
            .answers
            .get_mut(&purpose)
            .and_then(VecDeque::pop_front);
        let answer = queued.or_else(|| state.otherwise.get(&purpose).cloned());
        (answer.unwrap_or(Answer::Persona), response)
    }
}

/// The request as a provider without an editable cache would get it.
fn without_cache_edits(body: &[u8]) -> Vec<u8> {
    let mut json: Value = serde_json::from_slice(body).unwrap();
    for message in json["messages"].as_array_mut().unwrap() {
        let content = message["content"].as_array_mut().unwrap();
        content.retain(|block| block["type"] != "cache_edits");
        for block in content {
            block.as_object_mut().unwrap().remove("cache_reference");
        }
    }
    serde_json::to_vec(&json).unwrap()
}

fn read_response(message: &Value) -> Response {
    let figure = |name: &str| Tokens(message["usage"][name].as_u64().unwrap_or(0));
    let written = &message["usage"]["cache_creation"];
    let tier = |name: &str| Tokens(written[name].as_u64().unwrap_or(0));
    let usage = TokenUsage {
        input: figure("input_tokens"),
        cache_read: figure("cache_read_input_tokens"),
        cache_write_5m: tier("ephemeral_5m_input_tokens"),
        cache_write_1h: tier("ephemeral_1h_input_tokens"),
        output: figure("output_tokens"),
    };
    let blocks = message["content"].as_array().unwrap().iter().map(block);
    Response {
        id: MessageId::new(message["id"].as_str().unwrap()),
        model: message["model"].as_str().unwrap().into(),
        blocks: blocks.collect(),
        cut_off: Vec::new(),
        stop_reason: match message["stop_reason"].as_str() {
            Some("tool_use") => StopReason::ToolUse,
            Some("max_tokens") => StopReason::MaxTokens,
            Some("compaction") => StopReason::Compaction,
            _ => StopReason::EndTurn,
        },
        usage,
        billed: usage,
        extras: Extras {
            context_management: message.get("context_management").map(RawJson::from),
            ..Extras::default()
        },
        request_id: None,
        rate_limits: RateLimits::default(),
        warnings: Vec::new(),
    }
}

fn finished(blocks: Vec<Block>, response: Response) -> Response {
    let calls = blocks.iter().any(|block| block.call().is_some());
    let bytes: usize = blocks.iter().map(|block| block.bytes().len()).sum();
    let usage = TokenUsage {
        output: Tokens(bytes as u64 / 4),
        ..response.usage
    };
    Response {
        usage,
        billed: usage,
        blocks,
        stop_reason: if calls {
            StopReason::ToolUse
        } else {
            StopReason::EndTurn
        },
        ..response
    }
}

impl Asker for Provider {
    fn capabilities(&self, model: &str) -> Capabilities {
        let info = ModelTable::builtin().lookup(model).info;
        Capabilities {
            window: info.window,
            max_output: info.max_output,
            caching: Caching::Markers,
            cache_minimum: info.cache_minimum,
            thinking_binding: info.thinking_binding,
            features: self.lock().features,
        }
    }

    fn ask(&self, purpose: Purpose, request: Request) -> ResponseStream {
        let (answer, response) = self.take(purpose, &request);
        let bill = Arc::clone(&self.bill);
        let mut stream = Unfinished {
            purpose,
            bill: Arc::clone(&bill),
            over: false,
        };
        ResponseStream::new(move |emitter| async move {
            // The session's other tasks get their turn first, as on a real wire.
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
            let start = Event::MessageStart {
                id: response.id.clone(),
                model: response.model.clone(),
                usage: response.usage,
            };
            // An error comes in place of a response, unless it was held back.
            let started = (!matches!(answer, Answer::Fail(_))).then_some(response.usage);
            if started.is_some() {
                emitter.emit(start).await;
            }
            let mut streamed = Vec::new();
            let mut next = answer;
            let answer = loop {
                next = match next {
                    Answer::Held(word, then) => {
                        bill.waits.notify_one();
                        word.notified().await;
                        *then
                    }
                    Answer::Streamed(blocks, then) => {
                        for block in blocks {
                            let index = u32::try_from(streamed.len()).unwrap();
                            streamed.push(block.clone());
                            let block = Some(block);
                            emitter.emit(Event::BlockStop { index, block }).await;
                        }
                        *then
                    }
                    Answer::Pieces(pieces, then) => {
                        for (index, text) in pieces {
                            let delta = Delta::Text(text);
                            emitter.emit(Event::Delta { index, delta }).await;
                        }
                        *then
                    }
                    answer => break answer,
                };
            };
            let ended = end(answer, &streamed, response);
            stream.end();
            let usage = match &ended {
                Ok(response) => Some(response.billed),
                Err(ModelError::Broken { partial, .. }) => Some(partial.usage),
                Err(_) => started,
            };
            bill.billed
                .lock()
                .unwrap()
                .extend(usage.map(|usage| (purpose, usage)));
            ended
        })
    }
}

/// The end of a stream.
fn end(answer: Answer, streamed: &[Block], response: Response) -> Result<Response, ModelError> {
    let all = |blocks: Vec<Block>| streamed.iter().cloned().chain(blocks).collect::<Vec<_>>();
    match answer {
        Answer::Persona => Ok(response),
        Answer::Blocks(blocks) => Ok(finished(all(blocks), response)),
        Answer::CutOff(blocks) => Ok(Response {
            stop_reason: StopReason::MaxTokens,
            ..finished(all(blocks), response)
        }),
        Answer::Stopped(blocks, stop_reason) => Ok(Response {
            stop_reason,
            ..finished(all(blocks), response)
        }),
        Answer::Broken(blocks, text) => Err(broken(all(blocks), &text, &response)),
        Answer::Fail(error) => Err(error()),
        Answer::Held(..) | Answer::Streamed(..) | Answer::Pieces(..) => {
            unreachable!("taken apart before")
        }
    }
}

fn broken(blocks: Vec<Block>, text: &str, response: &Response) -> ModelError {
    let head = RawJson::from(&serde_json::json!({"type": "text", "text": ""}));
    let unfinished = (!text.is_empty()).then(|| dormouse_ask::Unfinished {
        head,
        received: text.to_owned(),
    });
    ModelError::Broken {
        partial: Box::new(Partial {
            id: Some(response.id.clone()),
            model: Some(response.model.clone()),
            blocks,
            unfinished: unfinished.into_iter().collect(),
            usage: response.usage,
        }),
        source: Box::new(ModelError::Cut),
    }
}
