//! The model of a replay: the simulator bills, the recording answers.

use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Purpose;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::{TokenUsage, Usd};
use dormouse_model::{Capabilities, ModelError, Reply, Request, Response};
use dormouse_sim::{SimRequest, Simulator};
use dormouse_system::Clock;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What one request cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// What it was for.
    pub purpose: Purpose,
    /// The step it belongs to.
    pub step: usize,
    /// Its tokens.
    pub usage: TokenUsage,
    /// Its price, where known.
    pub cost: Option<Usd>,
    /// The provider's refusal.
    pub rejected: Option<String>,
    /// The prompt of the conversation's last request before it.
    pub parent: Tokens,
}

/// What the recording has to say to the next request of the conversation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) step: usize,
    pub(crate) blocks: Vec<Block>,
    pub(crate) output: Tokens,
}

/// Answers from the recording, billed by the simulator.
#[derive(Debug)]
pub(crate) struct ReplayAsker {
    state: Mutex<State>,
    models: Arc<ModelTable>,
    /// Forks get no answer at all: everything must do without a model.
    offline: bool,
    ticks: Arc<dyn Clock>,
}

#[derive(Debug)]
struct State {
    simulator: Simulator,
    next: Said,
    bills: Vec<Bill>,
    last_prompt: Tokens,
    simulating: Duration,
    answers: u64,
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
                last_prompt: Tokens::ZERO,
                simulating: Duration::ZERO,
                answers: 0,
            }),
            models,
            offline,
            ticks,
        }
    }

    /// What the model of this name can do.
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

    /// Time spent in the simulator.
    pub(crate) fn simulating(&self) -> Duration {
        self.state().simulating
    }

    /// Asks the simulator what the request costs, and the recording what the answer is.
    pub(crate) fn answer(
        &self,
        purpose: Purpose,
        request: Request,
        now: Millis,
    ) -> Result<Response, ModelError> {
        let mut state = self.state();
        if self.offline && purpose != Purpose::Turn {
            return Err(ModelError::Overloaded(Box::default()));
        }
        let start = self.ticks.ticks();
        let http = SimRequest::post("/v1/messages", request.body);
        let response = state.simulator.handle(&http, now);
        state.simulating += self.ticks.ticks().since(start);
        let body: serde_json::Value = serde_json::from_slice(&response.bytes()).unwrap_or_default();
        let step = state.next.step;
        let parent = state.last_prompt;
        let mut bill = Bill {
            purpose,
            step,
            usage: TokenUsage::default(),
            cost: None,
            rejected: None,
            parent,
        };
        let Some(report) = response.report.filter(|_| response.status == 200) else {
            let message = body["error"]["message"].as_str().unwrap_or_default();
            bill.rejected = Some(message.to_owned());
            state.bills.push(bill);
            return Err(refusal(response.status, message));
        };
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        let (blocks, output) = if purpose == Purpose::Turn {
            (state.next.blocks.clone(), state.next.output)
        } else {
            let content = body["content"].as_array().cloned().unwrap_or_default();
            let blocks = content
                .iter()
                .filter_map(|block| Block::from_value(block).ok());
            (blocks.collect(), report.usage.output)
        };
        let usage = TokenUsage {
            output,
            ..report.usage
        };
        bill.usage = usage;
        bill.cost = self.models.lookup(&model).info.cost(&usage);
        if purpose == Purpose::Turn {
            state.last_prompt = usage.prompt();
        }
        state.bills.push(bill);
        state.answers += 1;
        let id = MessageId::new(format!("replayed-{}", state.answers));
        Ok(Response::new(id, &model, blocks, usage))
    }
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
        .filter(|figure| *figure >= 1_000)
        .map(Tokens);
    ModelError::PromptTooLong {
        tokens: figures.next(),
        limit: figures.next(),
        reply,
    }
}
