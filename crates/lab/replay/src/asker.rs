//! The model of a replay: the simulator bills, the recording answers.
//!
//! # Not here
//! The loop around it: [`crate::interpreter`].

use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Purpose;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_model::{Capabilities, ModelError, Reply, Request, Response};
use dormouse_sim::{SimRequest, Simulator};
use dormouse_system::Clock;
use memchr::memmem;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Cost of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// Purpose of the request.
    pub purpose: Purpose,
    /// Number of the step it belongs to, from one.
    pub step: usize,
    /// Its tokens by price; zero if it was refused.
    pub usage: TokenUsage,
    /// Its price, where known.
    pub cost: Option<Usd>,
    /// The provider's refusal, in its words.
    pub rejected: Option<String>,
    /// Cached part of the conversation's last request before it, up to its last marker; forks are
    /// compared with it.
    pub parent: Tokens,
    /// Bytes that the simulator had to parse and hash for it.
    pub read_bytes: usize,
}

/// The recording's answer to the next request of the conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) step: usize,
    pub(crate) blocks: Vec<Block>,
    pub(crate) output: Tokens,
    /// Values to look for in the prompt.
    pub(crate) wanted: Vec<String>,
    /// Number of records that the log has before the answer.
    pub(crate) records: usize,
}

/// Values that were looked for in a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Number of records that the log had then.
    pub records: usize,
    /// Presence of each value that was asked for, in their order.
    pub found: Vec<bool>,
}

/// Answers from the recording, billed by the simulator.
#[derive(Debug)]
pub(crate) struct ReplayAsker {
    state: Mutex<State>,
    models: Arc<ModelTable>,
    /// True if forks get no answer: everything must do without a model.
    offline: bool,
    ticks: Arc<dyn Clock>,
}

#[derive(Debug)]
struct State {
    simulator: Simulator,
    next: Said,
    bills: Vec<Bill>,
    last_marked: Tokens,
    simulating: Duration,
    answers: u64,
    looked: BTreeMap<usize, Look>,
}

impl ReplayAsker {
    pub(crate) fn new(
        simulator: Simulator,
        ticks: Arc<dyn Clock>,
        models: Arc<ModelTable>,
        offline: bool,
    ) -> Self {
        Self {
            state: Mutex::new(State {
                simulator,
                next: Said::default(),
                bills: Vec::new(),
                last_marked: Tokens::ZERO,
                simulating: Duration::ZERO,
                answers: 0,
                looked: BTreeMap::new(),
            }),
            models,
            offline,
            ticks,
        }
    }

    /// Capabilities of the model of this name, by the table.
    pub(crate) fn capabilities(&self, model: &str) -> Capabilities {
        Capabilities::of_messages(&self.models, model)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn says(&self, next: Said) {
        self.state().next = next;
    }

    pub(crate) fn bills(&self) -> Vec<Bill> {
        self.state().bills.clone()
    }

    /// The prompts that were looked into, by the number of the step.
    pub(crate) fn looked(&self) -> BTreeMap<usize, Look> {
        self.state().looked.clone()
    }

    /// Time spent in the simulator.
    pub(crate) fn simulating(&self) -> Duration {
        self.state().simulating
    }

    /// Bills the request through the simulator and answers it from the recording.
    pub(crate) fn answer(
        &self,
        purpose: Purpose,
        request: Request,
        now: Millis,
    ) -> Result<Response, ModelError> {
        let mut state = self.state();
        // Overloaded is what makes the engine do without a model, as in an outage.
        if self.offline && purpose != Purpose::Turn {
            return Err(ModelError::Overloaded(Box::default()));
        }
        let start = self.ticks.ticks();
        let prompt = request.body.clone();
        let mut http = SimRequest::post("/v1/messages", request.body);
        if !request.betas.is_empty() {
            http = http.with("anthropic-beta", &request.betas.join(","));
        }
        let response = state.simulator.handle(&http, now);
        state.simulating += self.ticks.ticks().since(start);
        let body: serde_json::Value = serde_json::from_slice(&response.bytes()).unwrap_or_default();
        let step = state.next.step;
        let parent = state.last_marked;
        let mut bill = Bill {
            purpose,
            step,
            usage: TokenUsage::default(),
            cost: None,
            rejected: None,
            parent,
            read_bytes: 0,
        };
        let Some(report) = response.report.filter(|_| response.status == 200) else {
            let message = body["error"]["message"].as_str().unwrap_or_default();
            bill.rejected = Some(message.to_owned());
            state.bills.push(bill);
            return Err(refusal(response.status, message));
        };
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        // Only the conversation has a recorded answer; forks exist under this policy alone.
        let (blocks, output) = if purpose == Purpose::Turn {
            (state.next.blocks.clone(), state.next.output)
        } else {
            // The persona wrote it: a summary or notes in the form that was asked for.
            let content = body["content"].as_array().cloned().unwrap_or_default();
            let blocks = content
                .iter()
                .filter_map(|block| Block::from_value(block).ok());
            (blocks.collect(), report.usage.output)
        };
        // The recorded length: the simulator's own answer is another text.
        let usage = TokenUsage {
            output,
            ..report.usage
        };
        bill.usage = usage;
        bill.read_bytes = report.read_bytes;
        bill.cost = self.models.lookup(&model).info.cost(&usage);
        // Forks are compared with the conversation's last request, not with each other's.
        if purpose == Purpose::Turn {
            state.last_marked = usage.cache_read + usage.cache_write_5m + usage.cache_write_1h;
            // Overwritten by a second attempt: the prompt that was answered is the one that counts.
            if !state.next.wanted.is_empty() {
                let found = state.next.wanted.iter();
                let look = Look {
                    records: state.next.records,
                    found: found.map(|value| holds(&prompt, value)).collect(),
                };
                state.looked.insert(step, look);
            }
        }
        state.bills.push(bill);
        state.answers += 1;
        let id = MessageId::new(format!("replayed-{}", state.answers));
        Ok(Response::new(id, &model, blocks, usage))
    }
}

/// True if a request's body has a value that is not part of a longer word.
fn holds(body: &[u8], value: &str) -> bool {
    // As it stands inside a string of the body, without the quotation marks.
    let quoted = serde_json::Value::from(value).to_string();
    // One mark at each end: the value itself may end with an escaped one.
    let escaped = &quoted.as_bytes()[1..quoted.len() - 1];
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    memmem::find_iter(body, escaped).any(|at| {
        let (before, behind) = (&body[..at], &body[at + escaped.len()..]);
        let starts = match before {
            // The letter of an escaped line break is no letter of the text.
            [] | [.., b'\\', b'n' | b't' | b'r'] => true,
            [.., last] => !in_word(*last),
        };
        starts && !behind.first().is_some_and(|byte| in_word(*byte))
    })
}

/// The simulator's refusals as errors of the port: too long is told apart, the rest is invalid.
fn refusal(status: u16, message: &str) -> ModelError {
    let reply = Box::new(Reply {
        status: Some(status),
        message: message.to_owned(),
        ..Reply::default()
    });
    if !message.contains("too long") && !message.contains("exceed") {
        return ModelError::Invalid(reply);
    }
    let mut figures = message
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|part| part.parse::<u64>().ok())
        // Smaller figures belong to the words, not to sizes of prompts.
        .filter(|figure| *figure >= 1_000)
        .map(Tokens);
    ModelError::PromptTooLong {
        tokens: figures.next(),
        limit: figures.next(),
        reply,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_whole_and_also_behind_a_line_break() {
        let body =
            br#"{"text":"see src/lib.rs\nparse_args(1)\tsay \"no way\" x_parse_argsy 4711"}"#;
        for (value, expected) in [
            ("src/lib.rs", true),
            ("lib.rs", true),
            ("parse_args", true),
            ("parse_arg", false),
            ("711", false),
            ("say \"no way\"", true),
            ("way\"", true),
            ("no\"", false),
            ("absent", false),
        ] {
            assert_eq!(holds(body, value), expected, "{value}");
        }
    }
}
