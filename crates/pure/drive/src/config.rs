//! Configuration of a driver, and the settings as it uses them.

use crate::calls::{Judge, NoTraits, RunsAll, ToolCatalog};
use crate::command::SwitchModel;
use bytes::Bytes;
use dormouse_ask::retry::RetryPolicy;
use dormouse_ask::{Capabilities, Params};
use dormouse_context::economy::Prices;
use dormouse_context::layers::LayerSettings;
use dormouse_context::policy::{self, Policy};
use dormouse_context::prefix::RenderedPrefix;
use dormouse_context::window::{Thresholds, Window};
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::LineContext;
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Tokens;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Times an answer that a limit cut off is continued within one turn: what the spec allows.
pub const CONTINUATIONS: u32 = 3;

/// A policy, as a host passes it on.
pub type PolicyChoice = Arc<dyn Policy>;

/// The role of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A conversation with a log of its own.
    Main,
    /// A fork: its first segments are the parent's, its records are kept by nobody, and no layer
    /// touches its prompt.
    Fork {
        /// Segments of the parent.
        shared: usize,
    },
}

/// Where a session's things lie, as paths for effects and for the model to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The log, as people and models are shown it.
    pub log: PathBuf,
    /// The session's folder: long results, notes.
    pub folder: PathBuf,
    /// The project's folder: recorded, never an identity.
    pub project: String,
}

impl Place {
    /// The folder of long and cleared results.
    pub fn results(&self) -> PathBuf {
        self.folder.join("tool-results")
    }

    /// The file with the session notes.
    pub fn notes(&self) -> PathBuf {
        self.folder.join("session-memory").join("summary.md")
    }

    /// The file beside the logs of a project with what its sessions taught the economic policy.
    pub fn lessons(&self) -> PathBuf {
        let project = self.folder.parent();
        project.unwrap_or(&self.folder).join("economy.json")
    }
}

/// Configuration of a driver.
#[derive(Clone, Debug)]
pub struct Config {
    /// The session.
    pub session: SessionId,
    /// Where its things lie.
    pub place: Place,
    /// Fields that every line of the log repeats for foreign readers.
    pub line: LineContext,
    /// The model.
    pub model: String,
    /// The model table.
    pub models: Arc<ModelTable>,
    /// Capabilities of the model.
    pub capabilities: Capabilities,
    /// Members of every request around the prompt; the model's name is one of them.
    pub params: Params,
    /// Tools, system prompt, instructions.
    pub prefix: Arc<RenderedPrefix>,
    /// The policy, where it is not the one of the settings.
    pub policy: Option<PolicyChoice>,
    /// The window, where it is not the one of the settings and the model table.
    pub window: Option<Tokens>,
    /// Traits of the tools.
    pub tools: Arc<dyn ToolCatalog>,
    /// Whether a call may run.
    pub judge: Arc<dyn Judge>,
    /// The role of the driver.
    pub role: Role,
    /// A user turn ends after so many requests.
    pub most_requests: usize,
    /// Times an answer that a limit cut off is continued within one turn.
    pub continuations: u32,
    /// When a failed request is sent again.
    pub retry: RetryPolicy,
    /// The model that takes over when this one stays overloaded.
    pub fallback: Option<Box<SwitchModel>>,
    /// Whether the host has hooks; without any, none are asked for.
    pub hooks: bool,
    /// Whether the host recalls memories; without it, none are asked for.
    pub recall: bool,
    /// The file with lessons of earlier sessions of the project, for a new one. Lessons of another
    /// version are learnt anew.
    pub lessons: Option<Bytes>,
    /// Tell what the layers think at every moment.
    pub explain: bool,
    /// Makes ids and jitter differ between two openings of the same log.
    pub seed: u64,
}

impl Config {
    /// A conversation of its own with a model of the built-in table: no tools, no hooks, no recall, the
    /// settings' word on window and policy, and paths below the session's name.
    pub fn new(session: SessionId, params: Params, model: &str) -> Self {
        let models = ModelTable::builtin().clone();
        let folder = PathBuf::from(session.as_str());
        Self {
            place: Place {
                log: folder.with_extension("jsonl"),
                folder,
                project: String::new(),
            },
            session,
            line: LineContext::default(),
            model: model.to_owned(),
            capabilities: Capabilities::of_messages(&models, model),
            models: Arc::new(models),
            params,
            prefix: Arc::new(RenderedPrefix::default()),
            policy: None,
            window: None,
            tools: Arc::new(NoTraits),
            judge: Arc::new(RunsAll),
            role: Role::Main,
            most_requests: usize::MAX,
            continuations: CONTINUATIONS,
            retry: RetryPolicy::default(),
            fallback: None,
            hooks: false,
            recall: false,
            lessons: None,
            explain: false,
            seed: 0,
        }
    }
}

/// The settings in use, read once per change.
pub struct Current {
    /// As they were resolved.
    pub raw: Arc<Settings>,
    /// Those of the layers.
    pub layers: LayerSettings,
    /// When to forget, and how.
    pub policy: Arc<dyn Policy>,
    /// The window's figures.
    pub thresholds: Thresholds,
    /// Prices of the model in use.
    pub prices: Prices,
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current")
            .field("policy", &self.policy.name())
            .finish_non_exhaustive()
    }
}

impl Current {
    pub(crate) fn new(raw: Arc<Settings>, config: &Config) -> Self {
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
