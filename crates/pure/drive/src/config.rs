//! Configuration of a driver, and the settings in the form it uses.

use crate::calls::{Judge, NoTraits, RunsAll, ToolCatalog};
use crate::command::SwitchModel;
use crate::hooks::{HookCatalog, NoHookPoints};
use bytes::Bytes;
use dormouse_ask::retry::RetryPolicy;
use dormouse_ask::{Capabilities, Params};
use dormouse_context::economy::Prices;
use dormouse_context::layers::LayerSettings;
use dormouse_context::policy::{self, Policy};
use dormouse_context::prefix::RenderedPrefix;
use dormouse_context::tokens;
use dormouse_context::window::{Thresholds, Window};
use dormouse_core::id::SessionId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{LineContext, WindowEvidence};
use dormouse_core::settings::{Settings, keys};
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Times an answer that a limit cut off is continued within one turn: what the spec allows.
pub const CONTINUATIONS: u32 = 3;

/// Forgetting policy, shared between driver and host.
pub type PolicyChoice = Arc<dyn Policy>;

/// Role of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Conversation with a log of its own.
    Main,
    /// Fork: its first segments are the parent's, its records are discarded, and no layer rewrites
    /// its prompt.
    Fork {
        /// Number of segments shared with the parent; they are in the provider's cache.
        shared: usize,
    },
}

/// Locations of a session's files, for effects and for the model to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionFiles {
    /// Log file, as shown to users and models.
    pub log: PathBuf,
    /// Folder of the session: long results, notes.
    pub folder: PathBuf,
    /// Folder of the project; recorded, never an identity.
    pub project: String,
}

impl SessionFiles {
    /// Folder of long and cleared results.
    pub fn results(&self) -> PathBuf {
        self.folder.join("tool-results")
    }

    /// File of the session notes.
    pub fn notes(&self) -> PathBuf {
        self.folder.join("session-memory").join("summary.md")
    }

    /// File beside the logs of a project with the economic policy's figures of its sessions.
    pub fn lessons(&self) -> PathBuf {
        let project = self.folder.parent();
        project.unwrap_or(&self.folder).join("economy.json")
    }
}

/// Configuration of a driver, given at opening.
#[derive(Clone, Debug)]
pub struct Config {
    /// Id of the session.
    pub session: SessionId,
    /// Locations of its files.
    pub place: SessionFiles,
    /// Members that every line of the log repeats for other tools.
    pub line: LineContext,
    /// Name of the model, as sent.
    pub model: String,
    /// Model table with the user's overrides.
    pub models: Arc<ModelTable>,
    /// Features the model supports.
    pub capabilities: Capabilities,
    /// Members of every request besides the prompt, the model's name included.
    pub params: Params,
    /// Rendered prefix: tools, system prompt, instructions.
    pub prefix: Arc<RenderedPrefix>,
    /// Policy; none takes the one from the settings.
    pub policy: Option<PolicyChoice>,
    /// Window in tokens; none takes the one from settings, log and model table.
    pub window: Option<Tokens>,
    /// Traits of the tools, by name.
    pub tools: Arc<dyn ToolCatalog>,
    /// Judge that decides whether a call may run.
    pub judge: Arc<dyn Judge>,
    /// Role of the driver.
    pub role: Role,
    /// Upper bound on requests per turn of the user; ends a loop of tool calls that never finishes.
    pub most_requests: usize,
    /// Upper bound on continuations of cut-off answers per turn.
    pub continuations: u32,
    /// Policy for retrying failed requests.
    pub retry: RetryPolicy,
    /// Model to switch to when this one stays overloaded; used once.
    pub fallback: Option<Box<SwitchModel>>,
    /// Hooks of the host, by moment; no hook effects are emitted where there are none.
    pub hooks: Arc<dyn HookCatalog>,
    /// True if the host recalls memories; without it, no recall effects are emitted.
    pub recall: bool,
    /// True if the end of every turn is recorded, for hosts that rebuild what they showed.
    pub turn_facts: bool,
    /// Money that may be spent from the opening on; the turn that has spent it ends before its next
    /// request. Models without a price count nothing.
    pub budget: Option<Usd>,
    /// Content of the lessons file, for a new session. A file of another version is ignored and
    /// learnt anew.
    pub lessons: Option<Bytes>,
    /// True if notices report the considerations of the layers at every moment.
    pub explain: bool,
    /// Seed that makes ids and jitter differ between two openings of the same log.
    pub seed: u64,
}

impl Config {
    /// A conversation of its own with a model of the built-in table: no tools, no hooks, no recall, the
    /// settings' word on window and policy, and paths below the session's name.
    pub fn new(session: SessionId, params: Params, model: &str) -> Self {
        let models = ModelTable::builtin().clone();
        let folder = PathBuf::from(session.as_str());
        Self {
            place: SessionFiles {
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
            hooks: Arc::new(NoHookPoints),
            recall: false,
            turn_facts: false,
            budget: None,
            lessons: None,
            explain: false,
            seed: 0,
        }
    }
}

/// Settings in use, converted once per change.
pub struct Current {
    /// Settings as the configuration resolved them.
    pub raw: Arc<Settings>,
    /// Settings of the layers.
    pub layers: LayerSettings,
    /// Policy that decides when to forget and how much.
    pub policy: Arc<dyn Policy>,
    /// Thresholds of the window, in tokens.
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
    /// `evidence` is what the log has proved about the window of the configured model.
    pub(crate) fn new(
        raw: Arc<Settings>,
        config: &Config,
        evidence: Option<&WindowEvidence>,
    ) -> Self {
        let layers = LayerSettings::new(&raw);
        let resolved = config.models.lookup(&config.model);
        let betas = config.params.betas().iter().map(|beta| &**beta);
        let window = config
            .window
            .unwrap_or_else(|| Window::resolve(resolved, betas, evidence, &layers.window).tokens);
        let policy = config
            .policy
            .clone()
            .unwrap_or_else(|| policy::of(raw.get(keys::CONTEXT_POLICY)));
        let thresholds = Thresholds::new(window, resolved.info.max_output, &layers.window);
        // Uncalibrated: a share of the room need not be exact, and the prefix is known before the
        // first response is.
        let prefix = tokens::estimate(config.prefix.weight(), resolved.info.bytes_per_token);
        Self {
            prices: Prices::of(resolved.info),
            policy,
            layers: layers.within(thresholds.autocompact_target - prefix),
            thresholds,
            raw,
        }
    }
}
