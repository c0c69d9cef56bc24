//! Wishes that a sub-agent is opened with: what it may do, and what it is told of its role.

use super::{Crew, Inner};
use crate::agent::{AgentAsk, Resume, ServerAsk};
use dormouse_core::id::SessionId;
use dormouse_host::AgentDefinition;
use dormouse_permit::{Behaviour, Mode};

impl Crew {
    /// Wishes for a sub-agent: never more than the session itself may do.
    pub(super) fn wishes(
        &self,
        id: &SessionId,
        definition: Option<&AgentDefinition>,
    ) -> Option<AgentAsk> {
        let Inner { ask, judge, .. } = &*self.0;
        let mode = judge.mode();
        let rules = judge.session_rules();
        let texts = |behaviour: Behaviour| -> Vec<String> {
            let rules = rules.iter().filter(|(known, _)| *known == behaviour);
            rules.map(|(_, rule)| rule.text().to_owned()).collect()
        };
        let mut deny = texts(Behaviour::Deny);
        deny.extend(definition.iter().flat_map(|one| one.refused_tools.clone()));
        Some(AgentAsk {
            resume: Resume::New,
            session: Some(id.clone()),
            fork: false,
            model: ask.model.clone(),
            mode: definition
                .and_then(|one| one.mode)
                .map_or(mode, |wish| stricter(mode, wish)),
            attended: ask.attended,
            allow: texts(Behaviour::Allow),
            deny,
            tools: definition
                .and_then(|one| one.tools.clone())
                .or_else(|| ask.tools.clone()),
            folders: ask.folders.clone(),
            system: definition.map(|one| one.system.clone()),
            client: ask.client.clone(),
            // The connections of this agent are shared.
            servers: ServerAsk {
                only_given: true,
                ..ServerAsk::default()
            },
            append_system: Some(TASK.to_owned()),
            most_requests: definition
                .and_then(|one| one.most_requests)
                .or(ask.most_requests),
            budget: ask.budget,
            one_shot: true,
            lineage: ask.lineage.child()?,
        })
    }
}

/// Words to every sub-agent, behind its system prompt.
const TASK: &str = "You are a sub-agent: another agent gave you the task in the first message and reads nothing but your last words. Do the task without asking back, and end with a report that stands alone: what you found or did, files with their paths, what is left open.";

/// The mode of two that lets fewer calls run without a question.
pub(super) fn stricter(one: Mode, other: Mode) -> Mode {
    const STRICTEST_FIRST: [Mode; 6] = [
        Mode::Plan,
        Mode::Deny,
        Mode::Ask,
        Mode::AcceptEdits,
        Mode::Sandbox,
        Mode::All,
    ];
    let first = STRICTEST_FIRST
        .into_iter()
        .find(|mode| *mode == one || *mode == other);
    first.unwrap_or(one)
}
