//! Sub-agents: conversations of their own that work for this one.
//!
//! # Model
//! The tool `Agent` opens another agent in this process: the same host and permissions, a fresh
//! context, a transcript of its own in the session's folder. The call waits for its last words, or
//! returns at once and the conversation is told later. An agent that has ended goes on when its id
//! is named again, also after a restart.
//!
//! A sub-agent asks the same person: its questions pass through to the client, and the answers back.
//! It may do no more than the session may. Sub-agents have sub-agents down to a depth, and the whole
//! tree a number that work at once. They end with the call that waits for them, and with the
//! session: none outlives it.
//!
//! # Not here
//! Definitions (`dormouse-host`), the work of one sub-agent (`member`), the tool's input (`call`), bounds
//! of the tree (`lineage`), permissions of a sub-agent (`wishes`). Agents that share the conversation's history, and letters between agents.

mod call;
mod lineage;
mod member;
#[cfg(test)]
mod tests;
mod wishes;
mod worktree;

use crate::agent::{AgentAsk, open};
use crate::client::{ClientTool, OutsideTools};
use crate::handle::{AgentHandle, Commands};
use crate::judge::Judging;
use crate::protocol::{Event, TaskState};
use crate::stream::EventSender;
use call::{Facts, Isolation, Wish};
use dormouse_context::offload::ToolOutput;
use dormouse_core::id::{CallId, SessionId};
use dormouse_drive::{ToolCall, ToolFuture};
use dormouse_host::{AgentDefinition, Host, HostError};
use lineage::MOST_AT_ONCE;
use member::{End, Stopper, Work};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot};
use worktree::Worktree;

pub(crate) use call::{AGENT, answers, tool};
pub use lineage::Lineage;

/// Characters of a description among the tasks.
const LONGEST_DESCRIPTION: usize = 80;
/// Bytes of the news about one agent that ended beside the conversation: its report is asked for by
/// resuming it if this is too little.
const MOST_NEWS: usize = 16_000;

/// Sub-agents of one agent. Clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Crew(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    host: Arc<Host>,
    session: SessionId,
    /// Wishes that the agent above was opened with.
    ask: AgentAsk,
    judge: Arc<Judging>,
    events: EventSender,
    definitions: Vec<AgentDefinition>,
    tool: ClientTool,
    members: Mutex<BTreeMap<SessionId, Member>>,
    /// Agents that wait for an answer of the person, by the call.
    asking: Mutex<HashMap<CallId, Commands>>,
    /// Told when an agent beside the conversation has ended.
    ended: Notify,
}

/// One sub-agent.
#[derive(Debug)]
struct Member {
    what: String,
    stop: Stopper,
    state: State,
}

#[derive(Debug)]
enum State {
    Working,
    /// Ended beside the conversation, which does not know yet.
    News(End),
    Ended,
}

/// Largest file with the facts of a sub-agent, in bytes: ours have a few hundred.
const LARGEST_FACTS: u64 = 64 * 1024;

impl OutsideTools for Crew {
    fn offered(&self) -> Vec<ClientTool> {
        vec![self.0.tool.clone()]
    }

    fn only_reads(&self, tool: &str) -> Option<bool> {
        (tool == AGENT).then_some(self.0.tool.only_reads)
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let crew = self.clone();
        Box::pin(async move {
            let answer = crew.answer(&call).await;
            let is_error = answer.is_err();
            ToolOutput {
                is_error,
                ..ToolOutput::text(call.id, answer.unwrap_or_else(|why| why))
            }
        })
    }
}

impl Crew {
    /// Sub-agents of an agent; `None` at the deepest.
    pub(crate) fn new(
        host: &Arc<Host>,
        session: &SessionId,
        ask: &AgentAsk,
        judge: &Arc<Judging>,
        events: &EventSender,
    ) -> Option<Self> {
        ask.lineage.child()?;
        let definitions = host.agent_definitions();
        Some(Self(Arc::new(Inner {
            host: Arc::clone(host),
            session: session.clone(),
            ask: ask.clone(),
            judge: Arc::clone(judge),
            events: events.clone(),
            tool: tool(),
            definitions,
            members: Mutex::default(),
            asking: Mutex::default(),
            ended: Notify::new(),
        })))
    }

    /// Words about the agents that are defined, for the beginning of a session; `None` if there are
    /// none. They are no part of the tool's description: the prefix is the same over projects.
    pub(crate) fn listing(&self) -> Option<String> {
        if self.0.definitions.is_empty() {
            return None;
        }
        let mut text =
            "Sub-agents that are defined here, for `subagent_type` of the tool Agent:".to_owned();
        for one in &self.0.definitions {
            let _always = write!(text, "\n- {}: {}", one.name, one.description);
        }
        Some(text)
    }

    async fn answer(&self, call: &ToolCall) -> Result<String, String> {
        let input = crate::judge::call_text(call).input;
        let wish: Wish = serde_json::from_value(input)
            .map_err(|error| format!("The input is not as the tool wants it: {error}."))?;
        let room = Arc::clone(&self.0.ask.lineage.room);
        let Ok(place) = room.try_acquire_owned() else {
            return Err(format!(
                "{MOST_AT_ONCE} agents are at work already. Wait until one has ended."
            ));
        };
        let (id, known) = self.chosen(&wish)?;
        let definition = self.definition(&wish, known.as_ref())?;
        let background = definition.is_some_and(|one| one.background);
        let background = wish.run_in_background.unwrap_or(background);
        if background && self.0.ask.one_shot {
            return Err("This session ends with its answer, and its agents with it: run this one without `run_in_background`.".to_owned());
        }
        let isolated = wish.isolation == Some(Isolation::Worktree)
            || definition.is_some_and(|one| one.worktree)
            || known.as_ref().is_some_and(|facts| facts.worktree);
        let worktree = if isolated {
            Some(self.worktree(&id).await?)
        } else {
            None
        };
        let facts = Facts {
            agent_type: definition.map(|one| one.name.clone()),
            description: wish.description.chars().take(LONGEST_DESCRIPTION).collect(),
            worktree: isolated,
        };
        let folder = worktree.as_ref().map(|worktree| worktree.path.as_path());
        let agent = match self.open(&id, definition, known.is_some(), folder).await {
            Ok(agent) => agent,
            Err(why) => {
                if let Some(worktree) = worktree {
                    worktree.cleared().await;
                }
                return Err(why);
            }
        };
        let work = Work {
            agent,
            prompt: wish.prompt,
            worktree,
            _room: place,
        };
        let (end, stop) = self.start(&id, &facts, work, background);
        if background {
            return Ok(format!(
                "Agent {id} works in the background. You are told when it has ended."
            ));
        }
        // Dropped with the call: an agent that nobody waits for is stopped.
        let _stopped = stop.on_drop();
        match end.await {
            Ok(end) => end.words(&id),
            Err(_) => Err(format!("Agent {id} has ended unexpectedly.")),
        }
    }

    /// Id of the agent, and what is known of it if it goes on.
    fn chosen(&self, wish: &Wish) -> Result<(SessionId, Option<Facts>), String> {
        let Some(name) = wish.resume.as_deref() else {
            let fresh = self.0.host.system().ids.fresh();
            // The random end of the id: a model copies it without a slip.
            let tail = fresh.len().saturating_sub(12);
            let id = fresh.get(tail..).unwrap_or(&fresh);
            return Ok((SessionId::new(format!("agent-{id}")), None));
        };
        let id = SessionId::new(name);
        let unknown = || format!("There is no agent {name} in this session.");
        let working = self
            .members()
            .get(&id)
            .map(|one| matches!(one.state, State::Working));
        if working == Some(true) {
            return Err(format!("Agent {name} is still at work."));
        }
        let file = self.facts_file(&id).map_err(|_| unknown())?;
        let bytes = self.0.host.system().files.read(&file, LARGEST_FACTS);
        let bytes = bytes.map_err(|_| unknown())?;
        let facts = serde_json::from_slice(&bytes).map_err(|_| unknown())?;
        Ok((id, Some(facts)))
    }

    fn facts_file(&self, id: &SessionId) -> Result<PathBuf, String> {
        let said = |error: &HostError| dormouse_core::show::chain(error);
        let host = self.0.host.for_sub_agents(&self.0.session, None);
        let log = host.map_err(|error| said(&error))?.session_log(id);
        let log = log.map_err(|error| said(&error))?;
        Ok(log.with_extension("meta.json"))
    }

    fn definition(
        &self,
        wish: &Wish,
        known: Option<&Facts>,
    ) -> Result<Option<&AgentDefinition>, String> {
        let name = wish.subagent_type.as_deref();
        let name = name.or(known.and_then(|facts| facts.agent_type.as_deref()));
        let Some(name) = name else {
            return Ok(None);
        };
        let found = self.0.definitions.iter().find(|one| one.name == name);
        found.map(Some).ok_or_else(|| {
            let names: Vec<&str> = self
                .0
                .definitions
                .iter()
                .map(|one| one.name.as_str())
                .collect();
            let names = if names.is_empty() {
                "none is defined; leave `subagent_type` out".to_owned()
            } else {
                format!("defined are {}", names.join(", "))
            };
            format!("There is no sub-agent `{name}`: {names}.")
        })
    }

    /// A worktree for an agent.
    async fn worktree(&self, id: &SessionId) -> Result<Worktree, String> {
        let (host, name) = (Arc::clone(&self.0.host), id.as_str().to_owned());
        let made = tokio::task::spawn_blocking(move || Worktree::new(&host, &name)).await;
        made.unwrap_or_else(|_| Err("No worktree could be made.".to_owned()))
    }

    /// Opens the conversation of a sub-agent.
    async fn open(
        &self,
        id: &SessionId,
        definition: Option<&AgentDefinition>,
        resume: bool,
        folder: Option<&Path>,
    ) -> Result<AgentHandle, String> {
        let said = |error: &dyn std::error::Error| {
            format!(
                "The agent cannot begin: {}.",
                dormouse_core::show::chain(error)
            )
        };
        let host = self.0.host.for_sub_agents(&self.0.session, folder);
        let host = Arc::new(host.map_err(|error| said(&error))?);
        if resume {
            let log = host.session_log(id).map_err(|error| said(&error))?;
            // A transcript that is gone would begin anew without a word.
            if host.system().files.metadata(&log).is_err() {
                return Err(format!("The transcript of agent {id} is gone."));
            }
        }
        let Some(ask) = self.wishes(id, definition) else {
            return Err("Sub-agents of this one would be too deep.".to_owned());
        };
        let agent = Box::pin(open(host, ask)).await;
        agent.map_err(|error| said(&error))
    }

    /// Lets a sub-agent work. The receiver hears its end, unless it works beside the conversation.
    fn start(
        &self,
        id: &SessionId,
        facts: &Facts,
        work: Work,
        background: bool,
    ) -> (oneshot::Receiver<End>, Stopper) {
        self.keep_facts(id, facts);
        let stop = Stopper::default();
        let member = Member {
            what: facts.description.clone(),
            stop: stop.clone(),
            state: State::Working,
        };
        self.members().insert(id.clone(), member);
        self.0.tell(id, &facts.description, TaskState::Running);
        let (sender, end) = oneshot::channel();
        let (inner, id, what) = (Arc::clone(&self.0), id.clone(), facts.description.clone());
        let stopping = stop.clone();
        tokio::spawn(async move {
            let end = work.done(&inner, &stopping).await;
            let state = if background {
                State::News(end)
            } else {
                // A call that was stopped does not listen any more.
                let _heard = sender.send(end);
                State::Ended
            };
            if let Some(member) = inner.members().get_mut(&id) {
                member.state = state;
            }
            inner.tell(&id, &what, TaskState::Ended);
            inner.ended.notify_one();
        });
        (end, stop)
    }

    fn keep_facts(&self, id: &SessionId, facts: &Facts) {
        let Ok(file) = self.facts_file(id) else {
            return;
        };
        let text = serde_json::to_vec(facts).unwrap_or_default();
        let files = &self.0.host.system().files;
        // Without it the agent cannot be resumed after a restart, and nothing else is lost.
        let _kept = files.replace(&file, &text, dormouse_system::Access::Private);
    }

    /// Way to the agent whose call waits for a person; `None` if none does.
    pub(crate) fn asking(&self, call: &CallId) -> Option<Commands> {
        self.0.asking().get(call).cloned()
    }

    /// Agents that ended beside the conversation since they were told last, in words.
    pub(crate) fn news(&self) -> Vec<String> {
        let mut news = Vec::new();
        for (id, member) in self.members().iter_mut() {
            if !matches!(member.state, State::News(_)) {
                continue;
            }
            if let State::News(end) = std::mem::replace(&mut member.state, State::Ended) {
                let mut words = end.words(id).unwrap_or_else(|why| why);
                if words.len() > MOST_NEWS {
                    words.truncate(words.floor_char_boundary(MOST_NEWS));
                    words.push_str("\n[cut here]");
                }
                news.push(format!(
                    "Agent {id} ({}) has ended and says:\n{words}",
                    member.what
                ));
            }
        }
        news
    }

    /// Waits until an agent beside the conversation has ended.
    pub(crate) async fn ended(&self) {
        self.0.ended.notified().await;
    }

    /// Stops an agent; false if none of this id works.
    pub(crate) fn stop(&self, id: &str) -> bool {
        let members = self.members();
        let found = members.get(&SessionId::new(id));
        let working = found.filter(|one| matches!(one.state, State::Working));
        working.map(|one| one.stop.stop()).is_some()
    }

    /// Stops every agent and waits until all have closed their transcripts.
    pub(crate) async fn close(&self) {
        for member in self.members().values() {
            member.stop.stop();
        }
        loop {
            let working = self
                .members()
                .values()
                .any(|one| matches!(one.state, State::Working));
            if !working {
                return;
            }
            self.ended().await;
        }
    }

    fn members(&self) -> MutexGuard<'_, BTreeMap<SessionId, Member>> {
        self.0.members()
    }
}

impl Inner {
    fn members(&self) -> MutexGuard<'_, BTreeMap<SessionId, Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asking(&self) -> MutexGuard<'_, HashMap<CallId, Commands>> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, id: &SessionId, what: &str, state: TaskState) {
        self.events.tell(Event::TaskChanged {
            task: id.as_str().to_owned(),
            what: format!("agent: {what}"),
            state,
        });
    }
}
