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
//! of the tree (`lineage`), permissions of a sub-agent (`wishes`), agents that share the conversation's
//! history (`fork`).

mod activity;
mod call;
mod choice;
mod fork;
mod lineage;
mod member;
mod roll;
#[cfg(test)]
mod tests;
mod wishes;
mod worktree;

use crate::agent::AgentAsk;
use crate::client::{ClientTool, OutsideTools};
use crate::handle::Commands;
use crate::judge::Judging;
use crate::post::{LEAD, Mailbox, Office, SEND_MESSAGE};
use crate::protocol::{Event, TaskState};
use crate::stream::EventSender;
use call::{Facts, Isolation, Wish};
use dormouse_context::offload::ToolOutput;
use dormouse_core::id::{CallId, SessionId};
use dormouse_drive::{ToolCall, ToolFuture};
use dormouse_engine::Session;
use dormouse_host::{AgentDefinition, Host};
use dormouse_mail::AgentName;
use fork::{FORK, ForkBase, NewFork};
use lineage::MOST_AT_ONCE;
use member::{End, Stopper, Work};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, oneshot, watch};

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
    /// Tools that are offered: for sub-agents, and for letters.
    tools: Vec<ClientTool>,
    /// Letters from other agents; `None` where there are none.
    mail: Option<Mailbox>,
    /// Last words of teammates who wait for letters, which the conversation does not know yet.
    idle: Mutex<Vec<String>>,
    members: Mutex<BTreeMap<SessionId, Member>>,
    /// Agents that wait for an answer of the person, by the call.
    asking: Mutex<HashMap<CallId, Commands>>,
    /// Told when an agent beside the conversation has ended or is idle, and when a letter has come.
    news: Arc<Notify>,
    /// Conversation behind its newest response that calls for agents.
    forks: watch::Sender<Option<Arc<ForkBase>>>,
}

/// Sub-agent of the conversation, at work or done.
#[derive(Debug)]
struct Member {
    what: String,
    /// Words on its work as they were told last.
    doing: Option<String>,
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

impl OutsideTools for Crew {
    fn offered(&self) -> Vec<ClientTool> {
        self.0.tools.clone()
    }

    fn only_reads(&self, tool: &str) -> Option<bool> {
        let mut tools = self.0.tools.iter();
        let known = tools.find(|known| known.name == tool);
        known.map(|known| known.only_reads)
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let crew = self.clone();
        Box::pin(async move {
            let answer = if call.tool == SEND_MESSAGE {
                crew.send(&call).await
            } else {
                crew.answer(&call).await
            };
            let is_error = answer.is_err();
            ToolOutput {
                is_error,
                ..ToolOutput::text(call.id, answer.unwrap_or_else(|why| why))
            }
        })
    }
}

impl Crew {
    /// Sub-agents of an agent and its letters; `None` if it has neither. `may` says whether agents were
    /// wished for.
    pub(crate) fn new(
        host: &Arc<Host>,
        session: &SessionId,
        ask: &AgentAsk,
        (judge, may): (&Arc<Judging>, bool),
        events: &EventSender,
    ) -> Option<Self> {
        let has_agents = may && ask.lineage.child().is_some();
        let mail = mailbox(host, session, ask);
        let wake = |mail: &Mailbox| Arc::clone(mail.wake());
        let news = mail.as_ref().map_or_else(Arc::default, wake);
        let mut tools = Vec::new();
        if has_agents {
            tools.push(tool());
        }
        if mail.as_ref().is_some_and(|mail| writes(ask, mail)) {
            tools.push(crate::post::tool());
        }
        if tools.is_empty() && mail.is_none() {
            return None;
        }
        let definitions = if has_agents {
            host.agent_definitions()
        } else {
            Vec::new()
        };
        Some(Self(Arc::new(Inner {
            host: Arc::clone(host),
            session: session.clone(),
            ask: ask.clone(),
            judge: Arc::clone(judge),
            events: events.clone(),
            tools,
            mail,
            idle: Mutex::default(),
            definitions,
            members: Mutex::default(),
            asking: Mutex::default(),
            news,
            forks: watch::Sender::default(),
        })))
    }

    /// Goes on with letters where the conversation is, and lets other sessions write.
    pub(crate) fn attach(&self, session: &Session) {
        if let Some(mail) = &self.0.mail {
            mail.attach(session.recorder(), session.conversation());
            if !self.0.ask.lineage.is_sub_agent() {
                mail.listen();
            }
        }
    }

    /// Letters of this agent; `None` where there are none.
    pub(crate) fn mail(&self) -> Option<&Mailbox> {
        self.0.mail.as_ref()
    }

    async fn send(&self, call: &ToolCall) -> Result<String, String> {
        let Some(mail) = self.0.mail.clone() else {
            return Err("There are no letters here.".to_owned());
        };
        let (call, system) = (call.clone(), self.0.host.system().clone());
        let sent = tokio::task::spawn_blocking(move || mail.send(&call, &system)).await;
        sent.unwrap_or_else(|_| Err("The letter could not be sent.".to_owned()))
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
        let fork = if wish.wants_fork() {
            Some(self.fork(&call.id, &wish.prompt).await?)
        } else {
            None
        };
        let definition = self.definition(&wish, known.as_ref())?;
        let background = definition.is_some_and(|one| one.background);
        // A fork works beside the conversation, unless that would end it.
        let background = background || (fork.is_some() && !self.0.ask.one_shot);
        let name = wish.name.clone();
        let name = name.or_else(|| known.as_ref()?.name.clone());
        let background = name.is_some() || wish.run_in_background.unwrap_or(background);
        if background && self.0.ask.one_shot {
            return Err("This session ends with its answer, and its agents with it: run this one without `run_in_background`.".to_owned());
        }
        let isolated = wish.isolation == Some(Isolation::Worktree)
            || definition.is_some_and(|one| one.worktree)
            || known.as_ref().is_some_and(|facts| facts.worktree);
        if isolated && fork.is_some() {
            return Err("A fork works in the folder that its history is about: leave `isolation` out, or give the task to an agent with a context of its own.".to_owned());
        }
        let worktree = if isolated {
            Some(self.worktree(&id).await?)
        } else {
            None
        };
        let facts = Facts {
            agent_type: match &fork {
                Some(_) => Some(FORK.to_owned()),
                None => definition.map(|one| one.name.clone()),
            },
            description: wish.description.chars().take(LONGEST_DESCRIPTION).collect(),
            worktree: isolated,
            name,
        };
        let folder = worktree.as_ref().map(|worktree| worktree.path.as_path());
        let begun = self.begin(
            &id,
            definition,
            (&facts, fork.clone()),
            known.is_some(),
            folder,
        );
        let (agent, seat) = match begun.await {
            Ok(begun) => begun,
            Err(why) => {
                if let Some(worktree) = worktree {
                    worktree.cleared().await;
                }
                return Err(why);
            }
        };
        let work = Work {
            agent,
            prompt: fork.as_ref().map_or(wish.prompt, NewFork::prompt),
            fork: fork.map(|fork| fork.base),
            seat,
            worktree,
            _room: place,
        };
        let (end, stop) = self.start(&id, &facts, work, background);
        if let Some(name) = facts.name {
            return Ok(format!(
                "Teammate {name} ({id}) is at work and stays. {SEND_MESSAGE} reaches it by its name; you are told when it is idle."
            ));
        }
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
            doing: None,
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
            inner.news.notify_one();
        });
        (end, stop)
    }

    /// Way to the agent whose call waits for a person; `None` if none does.
    pub(crate) fn asking(&self, call: &CallId) -> Option<Commands> {
        self.0.asking().get(call).cloned()
    }

    /// Agents that ended beside the conversation since they were told last, in words.
    pub(crate) fn news(&self) -> Vec<String> {
        let mut news = std::mem::take(&mut *self.0.idle());
        for (id, member) in self.members().iter_mut() {
            if !matches!(member.state, State::News(_)) {
                continue;
            }
            if let State::News(end) = std::mem::replace(&mut member.state, State::Ended) {
                let words = shortened(end.words(id).unwrap_or_else(|why| why));
                news.push(format!(
                    "Agent {id} ({}) has ended and says:\n{words}",
                    member.what
                ));
            }
        }
        news
    }

    /// Waits for news: an agent beside the conversation has ended or is idle, or a letter has come.
    pub(crate) async fn ended(&self) {
        self.0.news.notified().await;
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
                break;
            }
            self.ended().await;
        }
        if let Some(mail) = &self.0.mail {
            mail.close();
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

    fn idle(&self) -> MutexGuard<'_, Vec<String>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, id: &SessionId, what: &str, state: TaskState) {
        self.events.tell(Event::TaskChanged {
            task: id.as_str().to_owned(),
            what: format!("agent: {what}"),
            state,
        });
    }
}

/// Mailbox of an agent: that of the session's own, or the seat that the agent above gave.
fn mailbox(host: &Host, session: &SessionId, ask: &AgentAsk) -> Option<Mailbox> {
    let (office, seat) = match ask.lineage.seat() {
        Some((office, seat)) => (office.clone(), seat.clone()),
        // A run of one answer has no teammates, and is over before a letter could come.
        None if ask.lineage.is_sub_agent() || ask.one_shot => return None,
        None => {
            let office = Office::new(host, session)?;
            let seat = office.seat(&AgentName::new(LEAD).ok()?, true).ok()?;
            (office, seat)
        }
    };
    // Without a disk for letters the agent works all the same.
    Mailbox::open(&office, &seat).ok()
}

/// True if the agent has the tool for letters: a teammate in any case.
fn writes(ask: &AgentAsk, mail: &Mailbox) -> bool {
    let wished = |tools: &Vec<String>| tools.iter().any(|tool| tool == SEND_MESSAGE);
    let teammate = ask.lineage.is_sub_agent() && mail.seat().stays;
    teammate || ask.tools.as_ref().is_none_or(wished)
}

/// Words of an agent as far as the conversation is told them.
fn shortened(mut words: String) -> String {
    if words.len() > MOST_NEWS {
        words.truncate(words.floor_char_boundary(MOST_NEWS));
        words.push_str("\n[cut here]");
    }
    words
}
