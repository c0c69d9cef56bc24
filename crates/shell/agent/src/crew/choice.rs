//! The sub-agent that a call means: a new one or one that goes on, of which sort, and where it works.

use super::call::{Facts, Wish};
use super::fork::{FORK, NewFork};
use super::worktree::Worktree;
use super::{Crew, State};
use crate::agent::{AgentAsk, open};
use crate::handle::AgentHandle;
use crate::post::{Mailbox, Seat};
use dormouse_core::id::SessionId;
use dormouse_host::{AgentDefinition, HostError, MemoryScope};
use dormouse_mail::AgentName;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest file with the facts of a sub-agent, in bytes: ours have a few hundred.
const LARGEST_FACTS: u64 = 64 * 1024;

impl Crew {
    /// Id of the agent, and what is known of it if it goes on.
    pub(super) fn chosen(&self, wish: &Wish) -> Result<(SessionId, Option<Facts>), String> {
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

    pub(super) fn definition(
        &self,
        wish: &Wish,
        known: Option<&Facts>,
    ) -> Result<Option<&AgentDefinition>, String> {
        let name = wish.subagent_type.as_deref();
        let name = name.or(known.and_then(|facts| facts.agent_type.as_deref()));
        let Some(name) = name.filter(|name| *name != FORK) else {
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
    pub(super) async fn worktree(&self, id: &SessionId) -> Result<Worktree, String> {
        let (host, name) = (Arc::clone(&self.0.host), id.as_str().to_owned());
        let made = tokio::task::spawn_blocking(move || Worktree::new(&host, &name)).await;
        made.unwrap_or_else(|_| Err("No worktree could be made.".to_owned()))
    }

    /// Gives an agent its seat in the team and opens its conversation. The seat has the agent's name if it
    /// is a teammate, who stays; otherwise its id, until its task is done.
    ///
    /// # Errors
    /// Words for the model, if the name is malformed or taken, or the conversation cannot be opened.
    pub(super) async fn begin(
        &self,
        id: &SessionId,
        definition: Option<&AgentDefinition>,
        (facts, fork): (&Facts, Option<NewFork>),
        resume: bool,
        folder: Option<&Path>,
    ) -> Result<(AgentHandle, Option<Seat>), String> {
        let office = self.0.mail.as_ref().map(Mailbox::office);
        let name = facts.name.as_deref().unwrap_or_else(|| id.as_str());
        let name = AgentName::new(name).map_err(|error| format!("{error}."))?;
        let seat = match office {
            Some(office) => Some(office.seat(&name, facts.name.is_some())?),
            None if facts.name.is_some() => return Err("There are no teammates here.".to_owned()),
            None => None,
        };
        let seated = office.cloned().zip(seat.clone());
        let ask = self.wishes(id, definition, (fork, seated));
        let memory = definition.and_then(|one| Some((one.name.as_str(), one.memory?)));
        let opened = self.open(id, ask, resume, (folder, memory)).await;
        if opened.is_err()
            && let Some(office) = office
        {
            office.release(&name);
        }
        Ok((opened?, seat))
    }

    /// Opens the conversation of a sub-agent.
    async fn open(
        &self,
        id: &SessionId,
        ask: Option<AgentAsk>,
        resume: bool,
        (folder, memory): (Option<&Path>, Option<(&str, MemoryScope)>),
    ) -> Result<AgentHandle, String> {
        let said = |error: &dyn std::error::Error| {
            format!(
                "The agent cannot begin: {}.",
                dormouse_core::show::chain(error)
            )
        };
        let host = self.0.host.for_sub_agents(&self.0.session, folder);
        let mut host = host.map_err(|error| said(&error))?;
        if let Some((agent, scope)) = memory {
            host = host.with_agent_memory(agent, scope);
        }
        let host = Arc::new(host);
        if resume {
            let log = host.session_log(id).map_err(|error| said(&error))?;
            // A transcript that is gone would begin anew without a word.
            if host.system().files.metadata(&log).is_err() {
                return Err(format!("The transcript of agent {id} is gone."));
            }
        }
        let Some(ask) = ask else {
            return Err("Sub-agents of this one would be too deep.".to_owned());
        };
        let agent = Box::pin(open(host, ask)).await;
        agent.map_err(|error| said(&error))
    }

    pub(super) fn keep_facts(&self, id: &SessionId, facts: &Facts) {
        let Ok(file) = self.facts_file(id) else {
            return;
        };
        let text = serde_json::to_vec(facts).unwrap_or_default();
        let files = &self.0.host.system().files;
        // Without it the agent cannot be resumed after a restart, and nothing else is lost.
        let _kept = files.replace(&file, &text, dormouse_system::Access::Private);
    }
}
