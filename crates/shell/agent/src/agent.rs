//! One agent: a session with its tools, permissions and memory, opened and closed.
//!
//! # Not here
//! The loop that takes commands and tells events: `run`.

use crate::beside::Beside;
use crate::checkpoints::{Checkpoints, blobs, files_read};
use crate::client::{Client, ClientTool, Toolbox};
use crate::crew::{Crew, Lineage};
use crate::fragments::Fragments;
use crate::handle::AgentHandle;
use crate::hooks::HookRunner;
use crate::judge::{Judging, People};
use crate::learning::Learning;
use crate::plan::Plans;
use crate::protocol::{EffortLevel, OpenedSession, PROTOCOL};
use crate::question::UserAnswers;
use crate::restoring::{AgentRestorer, PrefixParts};
use crate::servers::ServerTools;
use crate::skills::Skills;
use crate::stream::{EventSender, stream};
use crate::{coordinator, services, slash, surroundings};
use dormouse_core::id::SessionId;
use dormouse_core::settings::keys;
use dormouse_core::usage::Usd;
use dormouse_drive::{Injection, Opened};
use dormouse_engine::{Asker, EngineError, Session};
use dormouse_host::{Host, HostError, SessionAsk};
use dormouse_keeper::extraction::RunKind;
use dormouse_mcp::ServerConfig;
use dormouse_permit::{Behaviour, Mode, Origin, Rule, RuleError};
use dormouse_system::Room;
use dormouse_tools::{AgentPlaces, AgentTools, Toolset};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use dormouse_host::Resume;

/// Reason why an agent cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The session cannot be opened.
    #[error(transparent)]
    Host(Box<HostError>),
    /// The turn failed; everything that arrived before is kept.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A tool's definition cannot be written as JSON.
    #[error("the tools cannot be described")]
    Tools(#[from] serde_json::Error),
    /// A rule that was given for this session cannot be read.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// A new session was to get an id that another one has.
    #[error("there is a session {0} already")]
    SessionTaken(SessionId),
    /// The agent's task has ended before its time.
    #[error("the agent has ended unexpectedly")]
    Ended,
}

impl From<HostError> for AgentError {
    fn from(error: HostError) -> Self {
        Self::Host(Box::new(error))
    }
}

/// Wishes for an agent that is opened.
#[derive(Clone, Debug)]
pub struct AgentAsk {
    /// Session to go on with.
    pub resume: Resume,
    /// Id of a new session or of a copy; `None` for a fresh one.
    pub session: Option<SessionId>,
    /// True to go on with a copy: the session that was named stays as it is.
    pub fork: bool,
    /// Model by its name and the way to ask it; `None` for the one of the settings.
    pub model: Option<(String, Arc<dyn Asker>)>,
    /// Answer to calls that no rule decides.
    pub mode: Mode,
    /// True if the client answers questions; without that they are refusals.
    pub attended: bool,
    /// Rules for this session that allow calls.
    pub allow: Vec<String>,
    /// Rules for this session that refuse calls.
    pub deny: Vec<String>,
    /// Names of the agent's own tools that are offered; `None` for all.
    pub tools: Option<Vec<String>>,
    /// Further folders in which files may be read and written.
    pub folders: Vec<PathBuf>,
    /// Words in place of the agent's system prompt.
    pub system: Option<String>,
    /// Hooks and tools that the client brings.
    pub client: Option<Arc<dyn Client>>,
    /// Servers of tools that the client names.
    pub servers: ServerAsk,
    /// Words that follow the system prompt.
    pub append_system: Option<String>,
    /// Most requests of one turn of the user; `None` for no limit.
    pub most_requests: Option<usize>,
    /// Most money from the opening on; `None` for no limit.
    pub budget: Option<Usd>,
    /// True if the run ends with its first answer: whether such runs teach is a setting.
    pub one_shot: bool,
    /// Place in the tree of a session's agents.
    pub lineage: Lineage,
}

/// Servers of tools that a client names.
#[derive(Clone, Debug, Default)]
pub struct ServerAsk {
    /// Servers that go before those of settings and project.
    pub given: Vec<ServerConfig>,
    /// True if those of settings and project are left out.
    pub only_given: bool,
}

impl Default for AgentAsk {
    fn default() -> Self {
        Self {
            resume: Resume::New,
            session: None,
            fork: false,
            model: None,
            mode: Mode::Ask,
            attended: false,
            allow: Vec::new(),
            deny: Vec::new(),
            tools: None,
            folders: Vec::new(),
            system: None,
            client: None,
            servers: ServerAsk::default(),
            append_system: None,
            most_requests: None,
            budget: None,
            one_shot: false,
            lineage: Lineage::default(),
        }
    }
}

/// An agent with an open session, before and inside its task.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) host: Arc<Host>,
    pub(crate) session: Session,
    pub(crate) id: SessionId,
    pub(crate) tools: AgentTools,
    /// Sub-agents; `None` if there may be none.
    pub(crate) crew: Option<Crew>,
    pub(crate) judge: Arc<Judging>,
    pub(crate) answers: UserAnswers,
    /// Work on the memory; `None` if memory is off.
    pub(crate) learning: Option<Learning>,
    pub(crate) hooks: Arc<HookRunner>,
    pub(crate) servers: ServerTools,
    /// Skills and commands; `None` if there are to be none.
    pub(crate) skills: Option<Skills>,
    /// Plan mode; `None` if there is to be none.
    pub(crate) plans: Option<Plans>,
    pub(crate) events: EventSender,
    /// Wishes for the requests, apart from the settings.
    pub(crate) wishes: Wishes,
    /// Wishes it was opened with, for the session that follows a clear.
    pub(crate) ask: AgentAsk,
}

/// Model and effort of a session, and who chose them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    /// Model of the settings when it was looked at last; `None` if the caller or a person named one,
    /// which then stays.
    pub(crate) from_settings: Option<String>,
    /// Effort that a person chose; `None` for the model's own.
    pub(crate) effort: Option<EffortLevel>,
}

/// Opens a session with tools, permissions and memory, and starts its task. Needs a tokio runtime.
/// The task ends with [`crate::Command::Quit`], or when every sender of commands is gone.
///
/// # Errors
/// When no model is set, no session has the name, a rule cannot be read, or the log cannot be
/// written.
pub async fn open(host: Arc<Host>, ask: AgentAsk) -> Result<AgentHandle, AgentError> {
    let (events, stream) = stream();
    let (agent, opened) = Agent::open(host, ask, "startup", events).await?;
    Ok(AgentHandle::start(agent, opened, stream))
}

impl Agent {
    /// Opens a session. `source` is what hooks are told of a new one: `startup`, or `clear` if it
    /// takes the place of another.
    pub(crate) async fn open(
        host: Arc<Host>,
        mut ask: AgentAsk,
        source: &str,
        events: EventSender,
    ) -> Result<(Self, OpenedSession), AgentError> {
        let system = host.system().clone();
        let folder = host.places().current_dir.clone();
        let texts = host.session_texts()?;
        let judge = Arc::new(judging(&host, &ask, &events)?);
        let wishes = wishes(&host, &ask);
        let toolset = services::toolset(&host, texts.memory.is_some());
        offer_only(ask.tools.as_deref(), toolset, &judge, &folder)?;
        coordinator::begin(&host, &mut ask, toolset, &judge, &folder)?;
        let id = chosen(&host, &ask)?;
        let place = host.session_folder(&id)?;
        let beside = Beside::new(&host, &mut ask, (&id, &place), toolset, &judge, &events);
        let outside = beside.outside(&ask);
        let offered: Vec<ClientTool> = outside.iter().flat_map(|tools| tools.offered()).collect();
        let parts = PrefixParts::new(&texts, toolset, judge.rules(), &ask, &offered, &beside);
        let fork = ask.lineage.fork();
        // A fork begins with the bytes of the agent above, and keeps them.
        let prefix = fork.map_or_else(|| parts.render(), |fork| Ok(fork.prefix()))?;
        let parts = fork.is_none().then_some(parts);
        let places = AgentPlaces {
            folder: folder.clone(),
            results: place.join("tool-results"),
            mark: id.as_str().to_owned(),
        };
        let checkpoints = Arc::new(Checkpoints::new(blobs(&host, &place)));
        let answers = UserAnswers::new(ask.attended);
        let reader = services::SmallReader::new(&host);
        let tools = AgentTools::with_services(
            &system,
            places,
            Arc::clone(&checkpoints) as _,
            Arc::clone(&judge) as _,
            services::services(&host, texts.memory.is_some(), &answers, &reader),
        );
        let fragments = Fragments::new(&host, &tools, &beside);
        let hooks = Arc::new(HookRunner::new(
            &host,
            &id,
            &place,
            Arc::clone(&judge),
            events.clone(),
            &ask,
        ));
        let model = model(&host, &id, &ask)?;
        let restorer = AgentRestorer::new(&host, &place, &fragments, parts);
        let opened = host
            .open_session(SessionAsk {
                session: Some(id),
                prefix,
                tools: Arc::new(Toolbox::new(&tools, &outside)),
                model,
                companion: Some(Arc::new(fragments.clone())),
                judge: Arc::clone(&judge) as _,
                most_requests: ask.most_requests.unwrap_or(usize::MAX),
                budget: ask.budget,
                hooks: Arc::clone(&hooks) as _,
                restorer: Some(Arc::new(restorer)),
                notices: Arc::new(|_| {}),
            })
            .await?;
        let mut session = opened.session;
        checkpoints.attach(session.recorder());
        reader.attach(session.recorder());
        let state = session.conversation().state();
        tools.restore_read(files_read(state));
        fragments.attach(session.recorder(), state, &texts.today);
        beside.attach(&session);
        let resumed = opened.opened == Opened::Resumed;
        let listing = beside.crew.as_ref().and_then(Crew::listing);
        let around = || surroundings::fragment(&system, &folder, &texts.today, listing.as_deref());
        let new = (!resumed).then(around);
        let source = if resumed { "resume" } else { source };
        begin(&mut session, (&host, &ask), new, &hooks, source).await?;
        let agent = Self {
            learning: opened
                .memory
                .map(|memory| Learning::new(memory, kind(&ask), texts.known, &events)),
            host,
            session,
            id: opened.id,
            tools,
            crew: beside.crew,
            judge,
            answers,
            hooks,
            servers: beside.servers,
            skills: beside.skills,
            plans: beside.plans,
            events,
            wishes,
            ask,
        };
        let facts = agent.facts(resumed, tool_names(&agent.judge, toolset, &offered));
        Ok((agent, facts))
    }

    /// Facts about the session, for clients.
    fn facts(&self, resumed: bool, tools: Vec<String>) -> OpenedSession {
        let commands = if self.ask.lineage.is_sub_agent() {
            Vec::new()
        } else {
            slash::commands(&self.host)
        };
        OpenedSession {
            protocol: PROTOCOL,
            session: self.id.clone(),
            resumed,
            model: self.session.model().to_owned(),
            mode: self.judge.mode(),
            folder: self.host.places().current_dir.display().to_string(),
            tools,
            servers: self.servers.facts(),
            commands,
        }
    }
}

/// Kind of run, for the work on the memory.
const fn kind(ask: &AgentAsk) -> RunKind {
    RunKind {
        sub_agent: ask.lineage.is_sub_agent(),
        one_shot: ask.one_shot,
    }
}

/// Model by its name and the way to ask it.
type GivenModel = (String, Arc<dyn Asker>);

/// Model that is asked; a fork's transcript begins here, with the model of the agent above.
fn model(host: &Host, id: &SessionId, ask: &AgentAsk) -> Result<Option<GivenModel>, AgentError> {
    let Some(fork) = ask.lineage.fork() else {
        return Ok(ask.model.clone());
    };
    fork.begin(host, id)?;
    Ok(fork.model(ask.model.clone()))
}

/// Tells a session what it begins with: the surroundings of a new one, and words of hooks.
async fn begin(
    session: &mut Session,
    (host, ask): (&Host, &AgentAsk),
    surroundings: Option<Injection>,
    hooks: &HookRunner,
    source: &str,
) -> Result<(), AgentError> {
    // The way to ask stays: a model of another provider needs a session of its own.
    let model = ask.lineage.model();
    if let Some(model) = model.filter(|model| *model != session.model()) {
        session.set_model(model, host.params(model)?).await?;
    }
    // Nothing may stand between the history and the directive.
    if let Some(fork) = ask.lineage.fork() {
        return fork.answer_calls(session).await;
    }
    let mut begin: Vec<Injection> = surroundings.into_iter().collect();
    begin.extend(hooks.session_start(source, session.model()).await);
    if !begin.is_empty() {
        session.inject(begin).await?;
    }
    Ok(())
}

/// The model of the settings, followed while the session runs, unless one was given.
fn wishes(host: &Host, ask: &AgentAsk) -> Wishes {
    if let Some(fork) = ask.lineage.fork() {
        return fork.wishes();
    }
    let model = host.settings().get(keys::MODEL);
    Wishes {
        from_settings: model.filter(|_| ask.model.is_none() && ask.lineage.model().is_none()),
        effort: None,
    }
}

/// Id of the session that is opened; a copy is made where one is wished for.
fn chosen(host: &Host, ask: &AgentAsk) -> Result<SessionId, AgentError> {
    // The agent above chose it, for a new transcript or for one that goes on.
    if let (true, Some(id)) = (ask.lineage.is_sub_agent(), &ask.session) {
        return Ok(id.clone());
    }
    let resumed = host.resumed(&ask.resume)?;
    let fresh = || SessionId::new(host.system().ids.fresh());
    match resumed {
        Some(resumed) if !ask.fork => return Ok(resumed),
        None if ask.session.is_none() => return Ok(fresh()),
        _ => {}
    }
    let id = ask.session.clone().unwrap_or_else(fresh);
    let log = host.session_log(&id)?;
    if host.system().files.metadata(&log).is_ok() {
        return Err(AgentError::SessionTaken(id));
    }
    if let Some(parent) = resumed {
        host.fork_session_as(&parent, &id)?;
    }
    Ok(id)
}

/// Refuses the tools that were not wished for, which also hides them from the model.
fn offer_only(
    wished: Option<&[String]>,
    toolset: Toolset,
    judge: &Judging,
    folder: &Path,
) -> Result<(), AgentError> {
    let Some(wished) = wished else {
        return Ok(());
    };
    let origin = Origin::new("the list of tools", folder.to_owned());
    for name in toolset.names() {
        if !wished.iter().any(|wish| wish == name) {
            judge.add_rule(Behaviour::Deny, Rule::parse(name, &origin)?);
        }
    }
    Ok(())
}

/// Names of the tools that no rule hides.
fn tool_names(judge: &Judging, toolset: Toolset, theirs: &[ClientTool]) -> Vec<String> {
    let rules = judge.rules();
    let names = toolset.names().into_iter();
    let names = names.chain(theirs.iter().map(|tool| tool.name.as_str()));
    let names = names.filter(|name| !rules.hides(name));
    names.map(str::to_owned).collect()
}

/// The judge with the rules that were given for this session.
fn judging(host: &Arc<Host>, ask: &AgentAsk, events: &EventSender) -> Result<Judging, AgentError> {
    let source = Arc::clone(host);
    let folder = host.places().current_dir.clone();
    let folders: Vec<PathBuf> = ask.folders.iter().map(|path| folder.join(path)).collect();
    let further = folders.clone();
    let permissions = Arc::new(move || {
        let mut permissions = source.permissions();
        permissions.ground.further.extend(further.iter().cloned());
        permissions
    });
    let mut writable = vec![folder.clone(), std::env::temp_dir()];
    writable.extend(folders);
    let room = Room {
        writable,
        hidden: host.secret_places(),
    };
    let people = People {
        attended: ask.attended,
        sub_agent: ask.lineage.is_sub_agent(),
    };
    let judge = Judging::new(permissions, ask.mode, people, room, events.clone());
    let origin = Origin::new("the command line", folder);
    for (behaviour, rules) in [(Behaviour::Allow, &ask.allow), (Behaviour::Deny, &ask.deny)] {
        for rule in rules {
            judge.add_rule(behaviour, Rule::parse(rule, &origin)?);
        }
    }
    Ok(judge)
}
