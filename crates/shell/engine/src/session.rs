//! A session and what is around it.

use crate::error::EngineError;
use crate::notes::NotesKeeper;
use crate::notice::Notice;
use crate::ports::{Asker, CompactHooks, Companion, Restorer, ToolHost};
use dormouse_context::clear::Measure;
use dormouse_context::conversation::Conversation;
use dormouse_context::economy::{Prices, Prior, Rates};
use dormouse_context::layers::{LayerInputs, LayerSettings, LayerState, Moment};
use dormouse_context::ledger::{Ledger, MarkerTtls};
use dormouse_context::plan;
use dormouse_context::policy::{self, Policy};
use dormouse_context::prefix::RenderedPrefix;
use dormouse_context::target::Target;
use dormouse_context::tokens;
use dormouse_context::window::{Thresholds, Window};
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::json::RawJson;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, FORMAT, Record, SessionStart, Ttl};
use dormouse_core::settings::{CacheTtl, MessageTtl, Settings, keys};
use dormouse_core::units::{Millis, Tokens};
use dormouse_model::Params;
use dormouse_store::{Blobs, SessionLog};
use dormouse_system::{Access, System};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Gives the settings as they are now. They may change while a session runs; a change is noticed
/// because the value is another one.
pub type SettingsSource = Arc<dyn Fn() -> Arc<Settings> + Send + Sync>;

/// Takes notices.
pub type Notices = Arc<dyn Fn(Notice) + Send + Sync>;

/// Where a session's things lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    /// The session.
    pub session: SessionId,
    /// Its log, as people and models are shown it.
    pub log: PathBuf,
    /// Its folder: long results, notes.
    pub folder: PathBuf,
    /// Dormouse's home: templates of the user.
    pub home: PathBuf,
    /// The project's folder.
    pub project: String,
}

/// What a session needs from outside.
pub struct Ports {
    /// Files, clock, ids.
    pub system: System,
    /// The log.
    pub log: Box<dyn SessionLog + Send>,
    /// Where parts of the prefix and notes are kept.
    pub blobs: Arc<dyn Blobs>,
    /// The model.
    pub asker: Arc<dyn Asker>,
    /// The tools.
    pub tools: Arc<dyn ToolHost>,
    /// Hooks around compactions.
    pub hooks: Arc<dyn CompactHooks>,
    /// What is shown again after them.
    pub restorer: Arc<dyn Restorer>,
    /// Whoever adds memories to the conversation.
    pub companion: Arc<dyn Companion>,
    /// The settings.
    pub settings: SettingsSource,
    /// Where notices go.
    pub notices: Notices,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ports")
            .field("log", &self.log)
            .field("asker", &self.asker)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

/// What a session is made with.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// The model.
    pub model: String,
    /// The model table.
    pub models: Arc<ModelTable>,
    /// Members of every request around the prompt; the model's name is one of them.
    pub params: Params,
    /// Tools, system prompt, instructions.
    pub prefix: Arc<RenderedPrefix>,
    /// The policy, where it is not the one of the settings.
    pub policy: Option<Arc<dyn Policy>>,
    /// The window, where it is not the one of the settings and the model table.
    pub window: Option<Tokens>,
    /// A user turn ends after so many requests.
    pub most_requests: usize,
    /// Tell what the layers think at every moment.
    pub explain: bool,
}

/// How a session was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// It is new.
    New,
    /// It goes on.
    Resumed,
}

/// A session. See the crate documentation.
#[derive(Debug)]
pub struct Session {
    pub(crate) ports: Ports,
    pub(crate) place: SessionPlace,
    pub(crate) config: SessionConfig,
    pub(crate) params: RawJson,
    pub(crate) settings: Current,
    pub(crate) conversation: Conversation,
    pub(crate) ledger: Ledger,
    pub(crate) layers: LayerState,
    pub(crate) notes: NotesKeeper,
    /// The provider's compaction of this turn was already answered by a shorter prompt.
    pub(crate) recovered: bool,
    /// Records that somebody who watches has not dealt with yet.
    pub(crate) watched: Option<Vec<Record>>,
}

/// The settings in use, read once per change.
pub(crate) struct Current {
    pub(crate) raw: Arc<Settings>,
    pub(crate) layers: LayerSettings,
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) thresholds: Thresholds,
    pub(crate) prices: Prices,
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current")
            .field("policy", &self.policy.name())
            .finish_non_exhaustive()
    }
}

impl Current {
    fn new(raw: Arc<Settings>, config: &SessionConfig) -> Self {
        let layers = LayerSettings::new(&raw);
        let resolved = config.models.lookup(&config.model);
        let betas = config.params.betas().iter().map(|beta| &**beta);
        let window = config
            .window
            .unwrap_or_else(|| Window::resolve(resolved, betas, &layers.window).tokens);
        let policy = config
            .policy
            .clone()
            .unwrap_or_else(|| policy::of(raw.get(keys::CONTEXT_POLICY)));
        Self {
            thresholds: Thresholds::new(window, resolved.info.max_output, &layers.window),
            prices: Prices::of(resolved.info),
            policy,
            layers,
            raw,
        }
    }
}

impl Session {
    /// Opens a session: a new one if its log is empty, else where it stopped.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub fn open(
        ports: Ports,
        place: SessionPlace,
        config: SessionConfig,
    ) -> Result<(Self, Opened), EngineError> {
        let params = config.params.to_json().map_err(EngineError::Params)?;
        let target = Target::new(&config.models, &config.model);
        let settings = Current::new((ports.settings)(), &config);
        let (conversation, opened) = if ports.log.head().is_some() {
            (Self::resumed(&*ports.log, target)?, Opened::Resumed)
        } else {
            (Conversation::new(target), Opened::New)
        };
        let mut session = Self {
            ports,
            place,
            config,
            params,
            settings,
            conversation,
            ledger: Ledger::default(),
            layers: LayerState::default(),
            notes: NotesKeeper::default(),
            recovered: false,
            watched: None,
        };
        if opened == Opened::New {
            let project = session.place.project.clone();
            session.append(Body::Session(Box::new(SessionStart {
                format: FORMAT,
                project,
                lineage: None,
            })))?;
            session.learn_from_project()?;
        }
        session.announce_prefix()?;
        session.ledger = session.resumed_ledger();
        Ok((session, opened))
    }

    /// What earlier sessions of the project taught the economic policy is kept beside their logs.
    fn lessons(&self) -> PathBuf {
        let project = self.place.folder.parent();
        project.unwrap_or(&self.place.folder).join("economy.json")
    }

    fn learn_from_project(&mut self) -> Result<(), EngineError> {
        /// What is kept has a dozen figures.
        const MOST_BYTES: u64 = 64 * 1024;
        let files = &self.ports.system.files;
        let Ok(bytes) = files.read(&self.lessons(), MOST_BYTES) else {
            return Ok(());
        };
        let Ok(prior) = serde_json::from_slice::<Prior>(&bytes) else {
            // Figures of another version: they are learnt anew.
            return Ok(());
        };
        self.append(Body::State(Conversation::prior(&prior)))?;
        Ok(())
    }

    /// Ends the session: what it taught is left to the next one of the project, and the folded
    /// state is written down.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn close(mut self) -> Result<(), EngineError> {
        self.checkpoint()?;
        let prior = Prior::of(self.conversation.economy());
        if let Ok(bytes) = serde_json::to_vec(&prior) {
            let files = &self.ports.system.files;
            files.replace(&self.lessons(), &bytes, Access::Private)?;
        }
        Ok(())
    }

    fn resumed(log: &(dyn SessionLog + Send), target: Target) -> Result<Conversation, EngineError> {
        let resumed = log.resume()?;
        let Some(carrier) = &resumed.carrier else {
            let path: Vec<&Record> = resumed.tail.iter().collect();
            return Ok(Conversation::fold(&path, target));
        };
        let kept = resumed
            .kept
            .iter()
            .map(|(session, record)| (session.as_ref(), record));
        let mut conversation = Conversation::resume(carrier, kept, target);
        for record in &resumed.tail {
            conversation.apply(record);
        }
        Ok(conversation)
    }

    /// What the last request left in the cache, as far as the log tells.
    fn resumed_ledger(&self) -> Ledger {
        let state = self.conversation.state();
        let Some(last) = &state.last_request else {
            return Ledger::default();
        };
        let shape = plan::shape(&self.conversation, &self.config.prefix, &self.params);
        let usage = state.last_usage.as_ref().map(|last| &last.usage);
        Ledger::resumed(&shape, last, usage)
    }

    /// Uses another prefix from the next request on: a break of the cache that is expected.
    ///
    /// # Errors
    /// When the log or a blob cannot be written.
    pub fn set_prefix(&mut self, prefix: Arc<RenderedPrefix>) -> Result<(), EngineError> {
        if prefix.id() != self.config.prefix.id() {
            self.config.prefix = prefix;
            self.announce_prefix()?;
            self.ledger
                .announce("the system prompt, tools or instructions changed");
        }
        Ok(())
    }

    /// Writes the prefix down if it is not the one in use.
    fn announce_prefix(&mut self) -> Result<(), EngineError> {
        let prefix = Arc::clone(&self.config.prefix);
        let known = self.conversation.state().prefix.as_ref();
        if prefix.is_empty() || known.is_some_and(|known| known.id == prefix.id()) {
            return Ok(());
        }
        for (_, bytes) in prefix.blobs() {
            self.ports.blobs.put(bytes)?;
        }
        self.append(Body::Prefix(prefix.to_record()))?;
        Ok(())
    }

    /// The conversation as it is.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// Its cache ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The model it talks to.
    pub fn model(&self) -> &str {
        &self.config.model
    }

    /// The policy in use.
    pub fn policy(&self) -> &dyn Policy {
        &*self.settings.policy
    }

    /// The window's figures.
    pub fn thresholds(&self) -> &Thresholds {
        &self.settings.thresholds
    }

    /// Tokens in use.
    pub fn used(&self) -> Tokens {
        self.conversation.count(self.config.prefix.weight()).tokens
    }

    /// Every record of the log.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn records(&self) -> Result<Vec<Record>, EngineError> {
        Ok(self.ports.log.read()?.records)
    }

    /// Takes new settings in, if there are any.
    pub(crate) fn refresh(&mut self) {
        let raw = (self.ports.settings)();
        if !Arc::ptr_eq(&raw, &self.settings.raw) {
            self.settings = Current::new(raw, &self.config);
        }
    }

    pub(crate) fn now(&self) -> Millis {
        self.ports.system.clock.now()
    }

    pub(crate) fn fresh_id(&self) -> RecordId {
        RecordId::new(self.ports.system.ids.fresh())
    }

    pub(crate) fn tell(&self, notice: Notice) {
        (self.ports.notices)(notice);
    }

    /// How long cache entries are meant to live.
    pub(crate) fn ttls(&self) -> MarkerTtls {
        let settings = &self.settings.raw;
        let messages = match settings.get(keys::CACHE_TTL_MESSAGES) {
            MessageTtl::FiveMinutes => Ttl::FiveMinutes,
            MessageTtl::OneHour => Ttl::OneHour,
            MessageTtl::Auto => self.cheapest_ttl(),
        };
        MarkerTtls {
            prefix: match settings.get(keys::CACHE_TTL_PREFIX) {
                CacheTtl::OneHour => Ttl::OneHour,
                CacheTtl::FiveMinutes => Ttl::FiveMinutes,
            },
            messages,
        }
    }

    fn cheapest_ttl(&self) -> Ttl {
        let state = self.conversation.state();
        let info = self.config.models.lookup(&self.config.model).info;
        let Some(prices) = &info.prices else {
            return Ttl::FiveMinutes;
        };
        let growth = self.conversation.economy().growth.tokens();
        let set = prices.for_prompt(self.used());
        dormouse_context::ledger::message_ttl(&state.gaps, self.used(), growth, set)
    }

    pub(crate) fn rates(&self) -> Rates {
        let ttls = self.ttls();
        let name = |ttl: Ttl| match ttl {
            Ttl::OneHour => CacheTtl::OneHour,
            Ttl::FiveMinutes => CacheTtl::FiveMinutes,
        };
        self.settings
            .prices
            .rates(name(ttls.prefix), name(ttls.messages))
    }

    pub(crate) fn measure(&self) -> Measure {
        let model = &self.config.model;
        Measure {
            bytes: self.conversation.bytes_per_token(),
            calibration: tokens::calibration(self.conversation.state(), model),
        }
    }

    /// Whether the cache has lapsed. A session that never sent anything has nothing to lose.
    pub(crate) fn is_cold(&self) -> bool {
        self.conversation.state().last_request.is_some() && self.ledger.is_idle(self.now())
    }

    /// Calls `ask` with what the planners look at.
    pub(crate) fn with_inputs<T>(
        &mut self,
        moment: Moment,
        ask: impl FnOnce(&mut LayerState, &LayerInputs<'_>) -> T,
    ) -> T {
        let rates = self.rates();
        let cold = self.is_cold();
        let inputs = LayerInputs {
            conversation: &self.conversation,
            prefix: self.config.prefix.weight(),
            policy: &*self.settings.policy,
            settings: &self.settings.layers,
            thresholds: &self.settings.thresholds,
            rates: &rates,
            notes: self.notes.status(),
            moment,
            cold,
            provider_compacts: self.provider_compacts(),
        };
        ask(&mut self.layers, &inputs)
    }
}
