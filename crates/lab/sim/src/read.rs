//! First step: from a request to a job. Needs no state; all parsing, counting and hashing is here.

use crate::binding::{self, Bond, Dropped, OnMismatch};
use crate::blocks::{Block, Kind, Place};
use crate::compaction::{self, Compacted};
use crate::config::{BindingMode, SimConfig};
use crate::editing;
use crate::envelope::Envelope;
use crate::error::{ApiError, ErrorKind};
use crate::fault::Fault;
use crate::http::SimRequest;
use crate::keys::{self, Keys};
use crate::markers;
use crate::openai;
use crate::persona::{Offer, Scene};
use crate::prompt::{self, ASSISTANT, Item, Prompt, USER};
use crate::request::{Comparison, Purpose, Request, Role, ToolChoice, Version};
use crate::scribe;
use crate::simulator::Account;
use crate::tokens::{Counter, UsageOverride};
use crate::validate;
use dormouse_core::models::{ModelInfo, ModelTable, Prices, Service};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Rules of a simulator that never change while it runs.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) config: SimConfig,
    pub(crate) table: ModelTable,
}

/// Kind of a request, with everything needed to answer it.
#[derive(Debug)]
pub(crate) enum Job {
    Message(Box<MessageJob>),
    Count(CountJob),
    /// A question about models, with its answer.
    Plain(Value),
    /// A probe that wants only headers.
    Head,
    Chat(Box<openai::ChatJob>),
}

/// The face a request came to; errors look different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    Anthropic,
    OpenAi,
}

/// A request that was read, or the error that refuses it.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) face: Face,
    pub(crate) account: Account,
    pub(crate) fault: Option<Fault>,
    pub(crate) job: Result<Job, ApiError>,
}

/// A message to be answered.
#[derive(Debug)]
pub(crate) struct MessageJob {
    pub(crate) model: Arc<str>,
    /// The name as the client wrote it.
    pub(crate) model_name: String,
    pub(crate) family: String,
    pub(crate) prices: Option<Prices>,
    pub(crate) service: Service,
    /// Factor of the price, in tenths.
    pub(crate) price_tenths: i128,
    pub(crate) minimum: u64,
    /// Tokens the window has left for the answer.
    pub(crate) room: u64,
    pub(crate) max_tokens: u64,
    pub(crate) prompt: Prompt,
    pub(crate) counter: Counter,
    pub(crate) bond: Bond,
    pub(crate) dropped: Option<Vec<Dropped>>,
    pub(crate) applied_edits: Option<Vec<Value>>,
    pub(crate) diagnostics: Comparison,
    pub(crate) scene: Scene,
    pub(crate) thinking_omitted: bool,
    pub(crate) stop_sequences: Vec<String>,
    pub(crate) stream: bool,
    /// The conversation grew over the threshold and was summed up on the way.
    pub(crate) compacted: Option<Compacted>,
    /// A summary is asked for, and this is its text.
    pub(crate) summary: Option<String>,
    pub(crate) usage: Option<UsageOverride>,
}

/// A prompt to be counted.
#[derive(Debug)]
pub(crate) struct CountJob {
    pub(crate) model: Arc<str>,
    pub(crate) tokens: u64,
    /// Before edits, where edits were asked for.
    pub(crate) original: Option<u64>,
}

impl Rules {
    /// Reads a request of either face.
    pub(crate) fn read(&self, request: &SimRequest) -> Reading {
        let face = face(request);
        let fault = request.header("x-sim-fault").map(str::parse::<Fault>);
        let (fault, bad_fault) = match fault {
            None => (None, None),
            Some(Ok(fault)) => (Some(fault), None),
            Some(Err(error)) => (None, Some(ApiError::invalid(error.to_string()))),
        };
        let job = match bad_fault {
            Some(error) => Err(error),
            None => self.job(request, face),
        };
        Reading {
            face,
            account: Account::of(request),
            fault,
            job,
        }
    }

    fn job(&self, request: &SimRequest, face: Face) -> Result<Job, ApiError> {
        if request.method == "HEAD" {
            return Ok(Job::Head);
        }
        // Before anything is parsed, as the provider's edge does.
        if request.body.len() > self.config.max_body_bytes {
            return Err(ApiError::too_large());
        }
        let route = request.route();
        if face == Face::OpenAi {
            return openai::read(self, request, route);
        }
        // Tests of clients without a key can switch this off.
        if self.config.switches.require_auth && request.account().is_none() {
            return Err(ApiError::new(
                ErrorKind::Authentication,
                "x-api-key header is required",
            ));
        }
        match (request.method.as_str(), route) {
            ("POST", "/v1/messages") => self.message(request, Purpose::Message),
            ("POST", "/v1/messages/count_tokens") => self.message(request, Purpose::Count),
            ("GET", "/v1/models") => {
                version(request)?;
                let query = request.path.split_once('?').map_or("", |(_, query)| query);
                Ok(Job::Plain(crate::modelinfo::list(&self.table, query)))
            }
            ("GET", route) if route.starts_with("/v1/models/") => {
                version(request)?;
                let name = &route["/v1/models/".len()..];
                let model = self.model(name)?;
                Ok(Job::Plain(crate::modelinfo::one(model)))
            }
            (_, "/v1/messages" | "/v1/messages/count_tokens" | "/v1/models") => Err(ApiError::new(
                ErrorKind::NotFound,
                "The method is not known here.",
            )),
            _ => Err(ApiError::new(ErrorKind::NotFound, "Not found")),
        }
    }

    pub(crate) fn model(&self, name: &str) -> Result<&ModelInfo, ApiError> {
        let found = self.table.lookup(name);
        if found.is_known() || self.config.switches.accept_unknown_models {
            Ok(found.info)
        } else {
            Err(ApiError::new(ErrorKind::NotFound, format!("model: {name}")))
        }
    }

    fn message(&self, http: &SimRequest, purpose: Purpose) -> Result<Job, ApiError> {
        let version = version(http)?;
        let body = std::str::from_utf8(&http.body).map_err(|error| {
            ApiError::invalid(format!("The request body is not valid JSON: {error}"))
        })?;
        let envelope = Envelope::parse(body)?;
        envelope.check_fields(version, purpose, |name| http.has_beta(name))?;
        let model_name = envelope.model()?.into_owned();
        let model = self.model(&model_name)?;
        let permille = http
            .header("x-sim-factor")
            .and_then(|text| text.parse().ok());
        let counter = Counter::new(model, &self.config.tokenizer, permille);
        let request = Request::read(envelope, purpose, &counter)?;
        // No face of this simulator keeps threads; clients must fall back.
        if request.thread.is_some() {
            return Err(validate::thread(self.config.switches.threads));
        }
        validate::check(&request, model, version, purpose)?;

        let account = Account::of(http);
        let mut items = self.items(&request, model, &counter);
        let signed = http.has_beta("compact-2026-09-04");
        // Before binding: thinking in front of the cut is not read and need not fit.
        let seal = compaction::cut(&mut items, &request, signed)?;
        if purpose == Purpose::Message {
            compaction::check_request(&request, &items)?;
        }
        let on_mismatch = self.on_mismatch(http, &request);
        let (bond, dropped) =
            binding::check(&mut items, model, &account, on_mismatch, seal.as_ref())?;
        let edited = editing::apply(
            &mut items,
            request.context_management.as_ref(),
            model.strips_prior_thinking,
            &counter,
        )?;
        // After editing: the automatic marker goes on the last block that is left.
        markers::settle(&mut items, request.auto_marker)?;
        let keys = Keys::of(
            &request,
            model,
            &account,
            self.config.switches.parameters_first,
        );
        let prompt = prompt::chain(&items, &keys);
        // Counting ends here: it needs neither room nor an answer.
        if purpose == Purpose::Count {
            return Ok(Job::Count(CountJob {
                model: Arc::from(model.id.as_str()),
                tokens: prompt.tokens,
                original: edited.applied.map(|_| edited.original_tokens),
            }));
        }
        let mut room = self.room(&request, model, &prompt)?;
        let scene = self.scene(http, &request, model, &items, &prompt);
        let threshold = compaction::threshold(request.context_management.as_ref())?;
        let compacted = threshold
            .filter(|threshold| prompt.tokens > threshold.tokens && request.max_tokens > 0)
            .map(|threshold| {
                let summary = compaction::summary(&request, prompt.tokens);
                Compacted::new(&threshold, &summary, &mut items, &keys, &counter)
            });
        if let Some(compacted) = &compacted {
            // The summary is shorter than the conversation, so the answer may be longer.
            room = room + prompt.tokens - compacted.prompt.tokens;
        }
        Ok(Job::Message(Box::new(MessageJob {
            model: Arc::from(model.id.as_str()),
            family: model.thinking_family.clone(),
            prices: model.prices,
            service: if request.fast {
                Service::Fast
            } else {
                Service::Standard
            },
            // Models from 4.6 on cost a tenth more when bound to a region.
            price_tenths: if request.domestic && !validate::allows_prefill(model) {
                11
            } else {
                10
            },
            minimum: self
                .config
                .cache_minimum
                .unwrap_or(model.cache_minimum.get()),
            room,
            max_tokens: request.max_tokens,
            counter,
            bond,
            dropped: (on_mismatch == OnMismatch::Drop).then_some(dropped),
            applied_edits: edited.applied,
            diagnostics: request.diagnostics.clone(),
            scene,
            compacted,
            thinking_omitted: request.thinking_omitted,
            stop_sequences: request.stop_sequences.clone(),
            stream: request.stream,
            summary: request
                .compaction
                .is_some()
                .then(|| compaction::summary(&request, prompt.tokens)),
            usage: set_usage(http)?.or(self.config.usage),
            prompt,
            model_name,
        })))
    }

    fn on_mismatch(&self, http: &SimRequest, request: &Request<'_>) -> OnMismatch {
        let may_drop = http.has_beta("thinking-binding-controls-2026-08-01");
        match self.config.switches.thinking_binding {
            BindingMode::Off => OnMismatch::Ignore,
            // Without the beta header the member has no effect, as at the provider.
            BindingMode::Enforce if request.drop_moved_thinking && may_drop => OnMismatch::Drop,
            BindingMode::Enforce => OnMismatch::Refuse,
        }
    }

    fn items<'a>(
        &self,
        request: &Request<'a>,
        model: &ModelInfo,
        counter: &Counter,
    ) -> Vec<Item<'a>> {
        let forced = matches!(request.tool_choice, ToolChoice::Any | ToolChoice::Tool(_));
        let hidden = model
            .hidden_tool_tokens
            .filter(|_| self.config.tokenizer.hidden_tool_tokens)
            .map_or(0, |hidden| {
                if forced { hidden.any } else { hidden.auto }.get()
            });
        prompt::items(
            request,
            self.config.switches.tools_take_positions,
            counter.scaled(hidden),
        )
    }

    /// Tokens the window leaves for the answer, or the error that it leaves none.
    fn room(
        &self,
        request: &Request<'_>,
        model: &ModelInfo,
        prompt: &Prompt,
    ) -> Result<u64, ApiError> {
        let window = self.config.window.unwrap_or(model.window.get());
        if prompt.tokens > window {
            return Err(ApiError::prompt_too_long(prompt.tokens, window));
        }
        let fits = prompt.tokens.saturating_add(request.max_tokens) <= window;
        // Only old models refuse here; newer ones cut the answer off when the window is full.
        if model.retired && !fits {
            return Err(ApiError::over_context_limit(
                prompt.tokens,
                request.max_tokens,
                window,
            ));
        }
        Ok(window - prompt.tokens)
    }

    fn scene(
        &self,
        http: &SimRequest,
        request: &Request<'_>,
        model: &ModelInfo,
        items: &[Item<'_>],
        prompt: &Prompt,
    ) -> Scene {
        let own_words = request.messages.iter().rposition(|message| {
            let mut kinds = message.content.iter().map(|block| block.kind);
            message.role == Role::User && kinds.any(|kind| kind != Kind::ToolResult)
        });
        // A turn begins with the user's own words; results alone continue it.
        let since = &request.messages[own_words.map_or(0, |at| at + 1)..];
        let answers = since.iter().filter(|message| message.role == Role::User);
        let offers = request
            .tools
            .iter()
            // The provider runs web tools itself; a toolset has no name to call.
            .filter(|tool| !tool.web && !tool.name.is_empty())
            .map(|tool| Offer {
                name: tool.name.clone().into_owned(),
                definition: http.body.slice_ref(tool.raw.get().as_bytes()),
            });
        let scene = Scene {
            offers: offers.collect(),
            choice: request.tool_choice.clone(),
            rounds: answers.count() as u64,
            thinks: keys::thinks(request, model) && !items.is_empty(),
            prompt: prompt
                .positions
                .last()
                .map_or(prompt.system_end, |position| position.digest),
            written: None,
        };
        let last = last_words(request);
        let words = last.and_then(|(_, block)| block.words());
        let said = || said(request, items, last.map(|(place, _)| place));
        let SimConfig { seed, answers, .. } = &self.config;
        scene.with_order(*seed, answers, words.as_deref(), said)
    }
}

/// Figures to report instead of the counted ones.
fn set_usage(http: &SimRequest) -> Result<Option<UsageOverride>, ApiError> {
    let figures = http.header("x-sim-usage").map(|text| {
        UsageOverride::parse(text).ok_or_else(|| {
            ApiError::invalid("x-sim-usage: Input should be a list such as input=1,read=2")
        })
    });
    figures.transpose()
}

fn face(request: &SimRequest) -> Face {
    let route = request.route();
    let anthropic =
        request.header("anthropic-version").is_some() || request.header("x-api-key").is_some();
    match route {
        "/v1/chat/completions" => Face::OpenAi,
        // Both faces have this path; only headers tell the clients apart.
        _ if route.starts_with("/v1/models") && !anthropic => Face::OpenAi,
        _ => Face::Anthropic,
    }
}

fn version(request: &SimRequest) -> Result<Version, ApiError> {
    match request.header("anthropic-version").map(str::trim) {
        Some("2023-06-01") => Ok(Version::Classic),
        Some("2026-10-21") => Ok(Version::October2026),
        Some(other) => Err(ApiError::invalid(format!(
            "anthropic-version: `{other}` is not a version of this API"
        ))),
        None => Err(ApiError::invalid("anthropic-version: header is required")),
    }
}

/// The text that ends the conversation, if a user said it and it may order something.
fn last_words<'a, 'b>(request: &'b Request<'a>) -> Option<(Place, &'b Block<'a>)> {
    let mut messages = request.messages.iter().enumerate().rev();
    // System messages in between are the host's, not the user's order.
    let (at, last) = messages.find(|(_, message)| message.role != Role::System)?;
    let mut blocks = last.content.iter().enumerate().rev();
    let (index, block) = blocks.find(|(_, block)| block.kind == Kind::Text)?;
    let place = Place::Block {
        message: at,
        block: index,
    };
    let may = last.role == Role::User && scribe::may_order(block.raw_words());
    may.then_some((place, block))
}

/// Texts of users and assistants, as far as the model gets to read them, but for one block.
fn said<'a>(
    request: &'a Request<'_>,
    items: &[Item<'_>],
    without: Option<Place>,
) -> Vec<Cow<'a, str>> {
    let words = |item: &Item<'_>| {
        let Place::Block { message, block } = item.place else {
            return None;
        };
        let block = request.messages.get(message)?.content.get(block)?;
        match item.kind {
            Kind::Text if item.tag == USER || item.tag == ASSISTANT => block.words(),
            Kind::Compaction => block.text("content"),
            _ => None,
        }
    };
    let items = items.iter().filter(|item| Some(item.place) != without);
    items.filter_map(words).collect()
}
