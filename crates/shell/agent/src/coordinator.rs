//! Coordinator mode: the session's own agent gives work to others and does none itself.
//!
//! # Model
//! The mode is a setting. The session's agent then has the tools for agents, letters, to-dos, questions and
//! memory, and may read; everything that changes something is for its workers, who may do what the session
//! may. Rules hide the other tools, and are not passed on to workers.
//!
//! # Not here
//! Lines about what a worker is doing: `crew`.

use crate::agent::{AgentAsk, AgentError};
use crate::judge::Judging;
use dormouse_core::settings::keys;
use dormouse_host::Host;
use dormouse_permit::{Behaviour, Origin, Rule};
use dormouse_tools::Toolset;
use std::path::Path;

/// Tools of the agent's own that a coordinator keeps.
const KEPT: [&str; 5] = [
    "Read",
    "TodoWrite",
    "AskUserQuestion",
    "Memory",
    "SearchMemory",
];
/// Tools that lead to those of servers; these work for the workers.
const OF_SERVERS: [&str; 2] = ["ToolSearch", "CallTool"];
/// Name of the place where the rules are written.
const PLACE: &str = "the role of a coordinator";

/// Words to a coordinator, behind the system prompt.
const ROLE: &str = "You coordinate: you change nothing yourself, and give all work to agents. Cut the task into parts that do not touch each other, and give each to an agent in the background or to a teammate, with everything it has to know; agents that change the same files work in worktrees. While they work, tell the user briefly what is under way and end your turn: reports and letters wake you. Answer agents that ask, bring their results together by further agents, have the whole checked by one that did not make it, and tell the user what was done, what was checked and what is open.";

/// Makes the session's agent a coordinator where the settings say so. A small window has no agents to
/// coordinate, and a run of one answer none in the background.
pub(crate) fn begin(
    host: &Host,
    ask: &mut AgentAsk,
    toolset: Toolset,
    judge: &Judging,
    folder: &Path,
) -> Result<(), AgentError> {
    let wished = host.settings().get(keys::AGENTS_COORDINATOR);
    if !wished || ask.lineage.is_sub_agent() || ask.one_shot || toolset.lean {
        return Ok(());
    }
    let origin = Origin::new(PLACE, folder.to_owned());
    let own = toolset.names();
    let own = own.iter().filter(|name| !KEPT.contains(name));
    for name in own.chain(&OF_SERVERS) {
        judge.add_rule(Behaviour::Deny, Rule::parse(name, &origin)?);
    }
    let words = ask.append_system.take().unwrap_or_default();
    // A cleared session is opened with the words of the one before.
    ask.append_system = Some(if words.ends_with(ROLE) {
        words
    } else {
        format!("{words}\n\n{ROLE}").trim_start().to_owned()
    });
    Ok(())
}

/// True for a rule of the role alone, which workers do not have.
pub(crate) fn is_of_role(rule: &Rule) -> bool {
    rule.origin().name == PLACE
}
