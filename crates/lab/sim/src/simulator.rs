//! The simulator: the three steps put together, and the state between requests.
//!
//! Model: *read* and *write* are functions of a request and the configuration; only *settle* knows
//! earlier requests. See the crate documentation.
//!
//! # Not here
//! The cache ([`crate::cache`]), limits ([`crate::limits`]) and sockets (feature `server`).

use crate::answer::{AnswerBlock, SideAnswer, SimAnswer, StopReason};
use crate::blocks::Place;
use crate::cache::{Billing, Cache};
use crate::config::{ConfigError, SimConfig};
use crate::diagnostics::Diagnostics;
use crate::digest::Digest;
use crate::error::{ApiError, ErrorKind};
use crate::fault::Fault;
use crate::http::{SimRequest, SimResponse};
use crate::known::Known;
use crate::limits::{Kind as Limit, LimitStore, Names};
use crate::openai;
use crate::persona;
use crate::read::{Face, Job, MessageJob, Reading, Rules};
use crate::request::Comparison;
use crate::spoken::Spoken;
use crate::write;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::{TokenUsage, Usd};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The account that asks: caches, limits and bound thinking belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) organisation: String,
    pub(crate) workspace: String,
}

impl Account {
    pub(crate) fn of(request: &SimRequest) -> Self {
        let key = request.account().unwrap_or_default();
        let workspace = request.header("anthropic-workspace-id");
        Self {
            organisation: format!("org_{:08x}", Digest::of(key.as_bytes()).0 >> 96),
            workspace: workspace.unwrap_or_default().to_owned(),
        }
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(self.organisation.as_bytes())
    }
}

/// Counts and bill of one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Tokens by price, as counted, all iterations together; a usage that was set by the caller
    /// does not change it.
    pub usage: TokenUsage,
    /// Cost of that; `None` if the model has no price.
    pub cost: Option<Usd>,
    /// Split of the prompt by price.
    pub billing: Billing,
    /// The prompt, position by position.
    pub positions: Vec<PositionReport>,
    /// Bytes of the body that were parsed and hashed: all of it, or what the request before did
    /// not have.
    pub read_bytes: usize,
}

/// One position of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionReport {
    /// Index of the message, for positions that belong to one.
    pub message: Option<usize>,
    /// Index in the message's content, in `system` or in `tools`.
    pub block: usize,
    /// Tokens of the block itself.
    pub tokens: Tokens,
    /// True if a cache marker stands on it.
    pub marked: bool,
}

/// A provider that lives in memory. See the crate documentation.
#[derive(Debug)]
pub struct Simulator {
    rules: Arc<Rules>,
    state: State,
    known: Known,
}

/// Memory of a simulator between requests.
#[derive(Debug)]
pub(crate) struct State {
    cache: Cache,
    limits: LimitStore,
    diagnostics: Diagnostics,
    chats: openai::ChatCache,
    spoken: usize,
    /// Side answers that were given, by their place in the configuration.
    aside: BTreeSet<usize>,
    requests: u64,
}

/// Result of settling a request.
#[derive(Debug)]
pub(crate) struct Handled {
    pub(crate) request_id: String,
    pub(crate) organisation: String,
    pub(crate) face: Face,
    pub(crate) limit_headers: Vec<(Cow<'static, str>, String)>,
    pub(crate) fault: Option<Fault>,
    pub(crate) now: Millis,
    pub(crate) result: Result<Settled, ApiError>,
}

/// A job that was done.
#[derive(Debug)]
pub(crate) enum Settled {
    Message(Box<SettledMessage>),
    Plain(Value),
    Head,
    Chat(Box<openai::SettledChat>),
}

/// A message with its answer, ready to be written.
#[derive(Debug)]
pub(crate) struct SettledMessage {
    pub(crate) job: MessageJob,
    pub(crate) id: String,
    pub(crate) billing: Billing,
    /// Billing of the prompt that a compaction left.
    pub(crate) after: Option<Billing>,
    pub(crate) spoken: Spoken,
    pub(crate) diagnostics: Option<Value>,
}

impl Simulator {
    /// A simulator that has seen nothing.
    ///
    /// # Errors
    /// When the configuration's model file is not sound.
    pub fn new(config: SimConfig) -> Result<Self, ConfigError> {
        let table = config.model_table()?;
        let state = State {
            cache: Cache::new(config.switches.cache),
            limits: LimitStore::new(config.limits),
            diagnostics: Diagnostics::default(),
            chats: openai::ChatCache::default(),
            spoken: 0,
            aside: BTreeSet::new(),
            requests: 0,
        };
        Ok(Self {
            rules: Arc::new(Rules { config, table }),
            state,
            known: Known::default(),
        })
    }

    /// Answers one request at a moment of the caller's choice.
    pub fn handle(&mut self, request: &SimRequest, now: Millis) -> SimResponse {
        let mut reading = self.rules.read(request, Some(&self.known));
        if let Some(learnt) = reading.learnt.take() {
            self.known.learn(learnt);
        }
        let outcome = self.state.settle(&self.rules, reading, now);
        write::response(&self.rules, outcome)
    }

    /// Reads the next request whole.
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.known = Known::default();
    }

    /// The configuration it was made with.
    pub fn config(&self) -> &SimConfig {
        &self.rules.config
    }

    /// Takes the parts apart, for a caller that wants to lock only the state.
    #[cfg(feature = "server")]
    pub(crate) fn into_parts(self) -> (Arc<Rules>, State) {
        (self.rules, self.state)
    }
}

impl State {
    /// Second step: everything that depends on earlier requests.
    pub(crate) fn settle(&mut self, rules: &Rules, reading: Reading, now: Millis) -> Handled {
        self.requests += 1;
        let number = self.requests;
        let account = reading.account;
        // The request's own header wins over the schedule.
        let fault = reading.fault.or_else(|| scheduled(rules, number));
        let result = match fault.as_ref().and_then(Fault::refusal) {
            // A request that cannot be read is refused for that, not for a scheduled fault.
            Some(refusal) if reading.job.is_ok() => Err(refusal),
            _ => reading
                .job
                .and_then(|job| self.job(rules, &account, job, fault.as_ref(), now)),
        };
        Handled {
            request_id: id("req", rules.config.seed, number),
            limit_headers: self.limits.headers(account.digest()),
            organisation: account.organisation,
            face: reading.face,
            fault,
            now,
            result,
        }
    }

    fn job(
        &mut self,
        rules: &Rules,
        account: &Account,
        job: Job,
        fault: Option<&Fault>,
        now: Millis,
    ) -> Result<Settled, ApiError> {
        match job {
            Job::Head => Ok(Settled::Head),
            Job::Plain(value) => Ok(Settled::Plain(value)),
            Job::Count(job) => {
                let names = Names {
                    organisation: &account.organisation,
                    model: &job.model,
                };
                self.limits
                    .take(account.digest(), &[(Limit::CountRequests, 1)], now, names)?;
                Ok(Settled::Plain(write::count(&job)))
            }
            Job::Message(job) => self
                .message(rules, account, *job, fault, now)
                .map(|settled| Settled::Message(Box::new(settled))),
            Job::Chat(job) => {
                let answer = self.next_answer(rules, &job.scene);
                let settled = self.chats.settle(rules, *job, answer, self.requests, now);
                Ok(Settled::Chat(Box::new(settled)))
            }
        }
    }

    fn message(
        &mut self,
        rules: &Rules,
        account: &Account,
        job: MessageJob,
        fault: Option<&Fault>,
        now: Millis,
    ) -> Result<SettledMessage, ApiError> {
        // Only a request for a summary can be refused for it.
        if job.summary.is_some() && fault == Some(&Fault::CompactionUnavailable) {
            return Err(
                ApiError::new(ErrorKind::Overloaded, "Compaction is not available now.")
                    .code("compaction_unavailable"),
            );
        }
        let billing = self.cache.look(&job.prompt, job.minimum, now);
        let written = billing.write_1h + billing.write_5m;
        let amounts = [
            (Limit::Requests, 1),
            (Limit::InputTokens, billing.input + written),
            // An answer may overdraw the bucket, but not start on an empty one.
            (Limit::OutputTokens, u64::from(job.max_tokens > 0)),
        ];
        let names = Names {
            organisation: &account.organisation,
            model: &job.model,
        };
        // Before the cache is written: a refused request must leave no trace.
        self.limits.take(account.digest(), &amounts, now, names)?;
        let delay = i64::try_from(rules.config.first_byte_ms).unwrap_or(i64::MAX);
        let first_byte = Millis(now.0.saturating_add(delay));
        self.cache
            .commit(&job.prompt, &billing, job.minimum, now, first_byte);

        let after = job.compacted.as_ref().map(|compacted| {
            let billing = self.cache.look(&compacted.prompt, job.minimum, now);
            self.cache
                .commit(&compacted.prompt, &billing, job.minimum, now, first_byte);
            billing
        });

        let id = id("msg", rules.config.seed, self.requests);
        let diagnostics = match &job.diagnostics {
            Comparison::Unasked => None,
            Comparison::WithNothing => Some(Value::Null),
            Comparison::With(previous) => {
                let (account, model) = (account.digest(), &job.model);
                Some(
                    self.diagnostics
                        .compare(previous, account, model, &job.prompt),
                )
            }
        };
        // Remembered on demand: every prompt of every client would fill the memory.
        if job.diagnostics != Comparison::Unasked {
            self.diagnostics
                .remember(&id, account.digest(), &job.model, &job.prompt);
        }
        let answer = self.answer(rules, &job, fault);
        let spoken = Spoken::new(&job, account, answer);
        // One token was taken with the request, to keep answers off an empty bucket.
        let more = spoken.tokens.saturating_sub(1);
        self.limits
            .charge(account.digest(), Limit::OutputTokens, more);
        Ok(SettledMessage {
            job,
            id,
            billing,
            after,
            spoken,
            diagnostics,
        })
    }

    fn answer(&mut self, rules: &Rules, job: &MessageJob, fault: Option<&Fault>) -> SimAnswer {
        // A request without an answer only fills the cache.
        if job.max_tokens == 0 {
            return SimAnswer {
                stop_reason: Some(StopReason::MaxTokens),
                ..SimAnswer::default()
            };
        }
        if let Some(summary) = &job.summary {
            let failed = fault == Some(&Fault::NullCompaction);
            let summary = Some(summary.as_str()).filter(|_| !failed);
            let block = crate::compaction::block(summary, &job.bond);
            return SimAnswer {
                content: vec![AnswerBlock::Recorded { block }],
                stop_reason: Some(StopReason::Compaction),
                ..SimAnswer::default()
            };
        }
        let Some(compacted) = &job.compacted else {
            return self.next_answer(rules, &job.scene);
        };
        let mut answer = if compacted.pauses {
            SimAnswer {
                stop_reason: Some(StopReason::Compaction),
                ..SimAnswer::default()
            }
        } else {
            self.next_answer(rules, &job.scene)
        };
        let block = compacted.block.clone();
        answer.content.insert(0, AnswerBlock::Recorded { block });
        answer
    }

    /// The first side answer that is meant for a request and was not given yet.
    fn side_answer(&mut self, answers: &[SideAnswer], scene: &persona::Scene) -> Option<SimAnswer> {
        let mut left = answers.iter().enumerate();
        let (at, answer) = left.find_map(|(at, answer)| {
            let is_left = !self.aside.contains(&at);
            let meant = is_left.then(|| answer.to(&scene.body)).flatten()?;
            Some((at, meant))
        })?;
        self.aside.insert(at);
        Some(answer)
    }

    fn next_answer(&mut self, rules: &Rules, scene: &persona::Scene) -> SimAnswer {
        let answers = &rules.config.answers;
        // Orders of summaries and notes are the persona's: their form follows from the order.
        if scene.written.is_none()
            && let Some(answer) = self.side_answer(&answers.side, scene)
        {
            return answer;
        }
        // Scripted answers first; the persona speaks when they have run out.
        let next = answers.script.get(self.spoken);
        if let Some(answer) = next.filter(|answer| scene.is_meant(answer)) {
            self.spoken += 1;
            return answer.clone();
        }
        SimAnswer {
            content: persona::answer(rules.config.seed, scene, answers),
            ..SimAnswer::default()
        }
    }
}

/// A fault of the configuration for this request.
fn scheduled(rules: &Rules, number: u64) -> Option<Fault> {
    let config = &rules.config;
    if let Some(rule) = config.faults.iter().find(|rule| rule.applies(number)) {
        return Some(rule.fault.clone());
    }
    let dice = Digest(u128::from(config.seed)).then(b'c', Digest(u128::from(number)));
    let lot = dice.0 % 1_000;
    if config.chaos.is_empty() || lot >= u128::from(config.chaos_permille) {
        return None;
    }
    // Other bits than the lot's, or one lot would always pick the same fault.
    let pick = (dice.0 >> 64) % config.chaos.len() as u128;
    let pick = usize::try_from(pick).unwrap_or(0);
    config.chaos.get(pick).cloned()
}

/// An id that looks like the provider's and follows from seed and number.
pub(crate) fn id(kind: &str, seed: u64, number: u64) -> String {
    let digest = Digest(u128::from(seed)).then(b'i', Digest(u128::from(number)));
    format!("{kind}_sim{:021x}", digest.0 >> 44)
}

impl SettledMessage {
    /// Usage of each sampling of the model.
    pub(crate) fn iterations(&self) -> Vec<(&'static str, TokenUsage)> {
        let spoken = self.spoken.tokens;
        match (&self.job.compacted, &self.after) {
            (Some(compacted), Some(after)) => {
                // The summary reads the long prompt, the answer the short one.
                let first = ("compaction", self.billing.usage(compacted.tokens));
                let answer = after.usage(spoken.saturating_sub(compacted.tokens));
                if compacted.pauses {
                    vec![first]
                } else {
                    vec![first, ("message", answer)]
                }
            }
            _ => vec![("message", self.billing.usage(spoken))],
        }
    }
}

impl Report {
    pub(crate) fn of(settled: &SettledMessage) -> Self {
        let job = &settled.job;
        let iterations = settled.iterations();
        let cost = |usage: &TokenUsage| {
            let cost = job.prices?.cost_as(job.service, usage)?;
            Some(Usd::from_pico(cost.pico() * job.price_tenths / 10))
        };
        let mut before = 0;
        let positions = job
            .prompt
            .positions
            .iter()
            .map(|position| {
                let tokens = position.tokens - before;
                before = position.tokens;
                let (message, block) = match position.place {
                    Place::Tool(at) | Place::System(at) => (None, at),
                    Place::Block { message, block } => (Some(message), block),
                };
                PositionReport {
                    message,
                    block,
                    tokens: Tokens(tokens),
                    marked: position.marker.is_some(),
                }
            })
            .collect();
        Self {
            usage: iterations.iter().map(|(_, usage)| usage).sum(),
            // Each request has its own price step, so the money is added up, not the tokens.
            cost: iterations.iter().map(|(_, usage)| cost(usage)).sum(),
            billing: settled.billing,
            positions,
            read_bytes: job.read_bytes,
        }
    }
}
