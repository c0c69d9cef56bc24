//! Tools and news beside an agent's own: sub-agents, skills, plan mode, servers of tools.

use crate::agent::AgentAsk;
use crate::client::OutsideTools;
use crate::crew::{AGENT, Crew};
use crate::judge::Judging;
use crate::plan::Plans;
use crate::servers::ServerTools;
use crate::skills::Skills;
use crate::stream::EventSender;
use dormouse_core::id::SessionId;
use dormouse_engine::Session;
use dormouse_host::Host;
use dormouse_tools::Toolset;
use std::path::Path;
use std::sync::Arc;

/// Parts of a session that bring tools of their own.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    /// Sub-agents; `None` if there may be none.
    pub(crate) crew: Option<Crew>,
    /// Skills and commands; `None` if there are to be none.
    pub(crate) skills: Option<Skills>,
    /// Plan mode; `None` if there is to be none.
    pub(crate) plans: Option<Plans>,
    pub(crate) servers: ServerTools,
}

impl Beside {
    /// Parts for a session with an id and a folder. A small window has no room for tools other than
    /// those of servers.
    pub(crate) fn new(
        host: &Arc<Host>,
        ask: &mut AgentAsk,
        (id, folder): (&SessionId, &Path),
        toolset: Toolset,
        judge: &Arc<Judging>,
        events: &EventSender,
    ) -> Self {
        let place = (host.places().current_dir.as_path(), id.as_str());
        let servers = ServerTools::start(host, ask, place, judge, events);
        ask.lineage.share(&servers);
        let ask = &*ask;
        let full = (!toolset.lean).then_some(());
        Self {
            crew: full.and_then(|()| crew(host, id, ask, judge, events)),
            skills: full.and_then(|()| Skills::new(host, ask, (id, folder), judge, events)),
            plans: full.and_then(|()| Plans::new(host, ask, folder, judge)),
            servers,
        }
    }

    /// Tools of all parts, and of the client.
    pub(crate) fn outside(&self, ask: &AgentAsk) -> Vec<Arc<dyn OutsideTools>> {
        let client = ask.client.as_ref();
        let client = client.map(|client| Arc::clone(client) as Arc<dyn OutsideTools>);
        let all = [
            shared(self.crew.as_ref()),
            shared(self.skills.as_ref()),
            shared(self.plans.as_ref()),
            client,
            shared(Some(&self.servers)),
        ];
        all.into_iter().flatten().collect()
    }

    /// Goes on with the state of a session that is open.
    pub(crate) fn attach(&self, session: &Session) {
        let state = session.conversation().state();
        if let Some(crew) = &self.crew {
            crew.attach(session);
        }
        self.servers.attach(session.recorder(), state);
        if let Some(skills) = &self.skills {
            skills.attach(session.recorder(), state);
        }
        if let Some(plans) = &self.plans {
            plans.attach(session.recorder(), state);
        }
    }
}

fn shared<T: OutsideTools + Clone + 'static>(tools: Option<&T>) -> Option<Arc<dyn OutsideTools>> {
    tools.map(|tools| Arc::new(tools.clone()) as Arc<dyn OutsideTools>)
}

/// Sub-agents and letters; no sub-agents if they were not wished for.
fn crew(
    host: &Arc<Host>,
    id: &SessionId,
    ask: &AgentAsk,
    judge: &Arc<Judging>,
    events: &EventSender,
) -> Option<Crew> {
    let is_agent = |name: &String| name == AGENT || name == "Task";
    let wished = ask
        .tools
        .as_ref()
        .is_none_or(|tools| tools.iter().any(is_agent));
    let offered = wished && !judge.rules().hides(AGENT);
    Crew::new(host, id, ask, (judge, offered), events)
}
