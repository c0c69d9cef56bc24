//! First step: from a request to a job. Needs no state; all parsing, counting and hashing is here.

use crate::binding::{self, Bond, Dropped, OnMismatch};
use crate::compaction::{self, Compacted};
use crate::config::{BindingMode, SimConfig};
use crate::editing;
use crate::envelope::Envelope;
use crate::error::{ApiError, ErrorKind};
use crate::fault::Fault;
use crate::http::SimRequest;
use crate::keys::Keys;
use crate::known::{Before, Known, Learnt};
use crate::markers;
use crate::openai;
use crate::persona::Scene;
use crate::prompt::{self, Item, Prompt};
use crate::request::{Comparison, Purpose, Request, ToolChoice, Version};
use crate::simulator::Account;
use crate::tokens::{Counter, UsageOverride};
use crate::validate;
use bytes::Bytes;
use dormouse_core::models::{ModelInfo, ModelTable, Prices, Service};
use serde_json::Value;
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
    /// The parts of the body, for a reader that remembers them.
    pub(crate) learnt: Option<Learnt>,
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
    /// Bytes that were parsed, counted and hashed.
    pub(crate) read_bytes: usize,
}

/// A prompt to be counted.
#[derive(Debug)]
pub(crate) struct CountJob {
    pub(crate) model: Arc<str>,
    pub(crate) tokens: u64,
    /// Before edits, where edits were asked for.
    pub(crate) original: Option<u64>,
}

/// A job with the parts of its body, or the error that refuses it.
type ReadJob = Result<(Job, Option<Learnt>), ApiError>;

/// The text a message is read from.
#[derive(Clone, Copy, Debug)]
enum Text<'a> {
    /// The whole body, read once.
    Whole,
    /// The whole body, whose parts the next request may share.
    WholeAndKept,
    /// The part of the body that is not known.
    Rest(&'a Before<'a>),
}

impl<'a> Text<'a> {
    const fn before(self) -> Option<&'a Before<'a>> {
        match self {
            Self::Rest(before) => Some(before),
            Self::Whole | Self::WholeAndKept => None,
        }
    }
}

/// A request with the model that is asked and the way its tokens are counted.
struct Sound<'a> {
    request: Request<'a>,
    model_name: String,
    model: &'a ModelInfo,
    counter: Counter,
}

impl Rules {
    /// Reads a request of either face; what is known already is not read again.
    pub(crate) fn read(&self, request: &SimRequest, known: Option<&Known>) -> Reading {
        let face = face(request);
        let fault = request.header("x-sim-fault").map(str::parse::<Fault>);
        let (fault, bad_fault) = match fault {
            None => (None, None),
            Some(Ok(fault)) => (Some(fault), None),
            Some(Err(error)) => (None, Some(ApiError::invalid(error.to_string()))),
        };
        let job = match bad_fault {
            Some(error) => Err(error),
            None => self.job(request, face, known),
        };
        let (job, learnt) = match job {
            Ok((job, learnt)) => (Ok(job), learnt),
            Err(error) => (Err(error), None),
        };
        Reading {
            learnt,
            face,
            account: Account::of(request),
            fault,
            job,
        }
    }

    fn job(&self, request: &SimRequest, face: Face, known: Option<&Known>) -> ReadJob {
        if request.method == "HEAD" {
            return Ok((Job::Head, None));
        }
        // Before anything is parsed, as the provider's edge does.
        if request.body.len() > self.config.max_body_bytes {
            return Err(ApiError::too_large());
        }
        let route = request.route();
        if face == Face::OpenAi {
            return openai::read(self, request, route).map(|job| (job, None));
        }
        // Tests of clients without a key can switch this off.
        if self.config.switches.require_auth && request.account().is_none() {
            return Err(ApiError::new(
                ErrorKind::Authentication,
                "x-api-key header is required",
            ));
        }
        match (request.method.as_str(), route) {
            ("POST", "/v1/messages") => self.message(request, Purpose::Message, known),
            ("POST", "/v1/messages/count_tokens") => self.message(request, Purpose::Count, known),
            ("GET", "/v1/models") => {
                version(request)?;
                let query = request.path.split_once('?').map_or("", |(_, query)| query);
                Ok((Job::Plain(crate::modelinfo::list(&self.table, query)), None))
            }
            ("GET", route) if route.starts_with("/v1/models/") => {
                version(request)?;
                let name = &route["/v1/models/".len()..];
                let model = self.model(name)?;
                Ok((Job::Plain(crate::modelinfo::one(model)), None))
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

    fn message(&self, http: &SimRequest, purpose: Purpose, known: Option<&Known>) -> ReadJob {
        // A refusal names places of the whole body, which a part of it does not have.
        if let Some(before) = known.and_then(|known| known.resume(&http.body))
            && let Ok(read) = self.message_in(http, purpose, Text::Rest(&before))
        {
            return Ok(read);
        }
        let text = match known {
            Some(_) => Text::WholeAndKept,
            None => Text::Whole,
        };
        self.message_in(http, purpose, text)
    }

    /// Reads a message from the body, or from the part of it that is new.
    fn message_in(&self, http: &SimRequest, purpose: Purpose, source: Text<'_>) -> ReadJob {
        let before = source.before();
        let text = before.map_or(&http.body, |before| &before.text);
        let Sound {
            request,
            model_name,
            model,
            counter,
        } = self.sound(http, text, purpose, before)?;

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
            let job = Job::Count(CountJob {
                model: Arc::from(model.id.as_str()),
                tokens: prompt.tokens,
                original: edited.applied.map(|_| edited.original_tokens),
            });
            return Ok((job, None));
        }
        let mut room = self.room(&request, model, &prompt)?;
        let scene = self.scene(text, &request, model, &items, &prompt);
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
        let learnt = match source {
            Text::Whole => None,
            Text::WholeAndKept | Text::Rest(_) => {
                Learnt::new(&http.body, &request, &counter, before)
            }
        };
        let job = Job::Message(Box::new(MessageJob {
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
            read_bytes: text.len(),
            prompt,
            model_name,
        }));
        Ok((job, learnt))
    }

    /// A request whose shape is right and that keeps the rules between its parts.
    fn sound<'a>(
        &'a self,
        http: &SimRequest,
        text: &'a Bytes,
        purpose: Purpose,
        before: Option<&Before<'a>>,
    ) -> Result<Sound<'a>, ApiError> {
        let version = version(http)?;
        let body = std::str::from_utf8(text).map_err(|error| {
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
        if before.is_some_and(|before| !before.counts_like(&counter)) {
            return Err(ApiError::invalid("model: counts in another way"));
        }
        let request = Request::read(envelope, purpose, &counter, before)?;
        // No face of this simulator keeps threads; clients must fall back.
        if request.thread.is_some() {
            return Err(validate::thread(self.config.switches.threads));
        }
        validate::check(&request, model, version, purpose)?;
        Ok(Sound {
            request,
            model_name,
            model,
            counter,
        })
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
