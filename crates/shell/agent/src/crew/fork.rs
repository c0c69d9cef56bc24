//! Forks: sub-agents that begin with the conversation's own history.
//!
//! # Model
//! A fork has the prefix of the agent above and its messages up to the response that asked for the
//! fork, byte for byte, so that the provider reads them from its cache. Behind that response every call
//! has the same placeholder for a result, and the directive follows, in which alone the forks of one
//! response differ. Its transcript refers to the log of the agent above and is not a copy of it.
//!
//! The first fork of a response asks at once; the others wait until its response has begun, because an
//! entry of the cache can be read from then on.
//!
//! A fork may not fork: its origin keeps the directive, whose beginning is the mark of a fork. The
//! mark survives compaction and resume.
//!
//! # Not here
//! Forks of the engine for notes, summaries and extraction, which keep no log (`dormouse-drive`).

use super::call::AGENT;
use super::{Crew, Inner};
use crate::agent::{AgentError, Wishes};
use dormouse_context::offload::ToolOutput;
use dormouse_context::prefix::RenderedPrefix;
use dormouse_core::fragment::{TEAMMATE_MESSAGE, render};
use dormouse_core::id::{CallId, SessionId};
use dormouse_core::record::{Body, Lineage as Origin, Record};
use dormouse_drive::ToolCall;
use dormouse_engine::{Asker, Session};
use dormouse_host::Host;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// Sort of agent by which a call asks for a fork.
pub(super) const FORK: &str = "fork";
/// Beginning of every directive; a conversation whose origin has it is a fork.
const MARK: &str = "You are a fork of this agent:";
/// Words behind the mark: without them a fork goes on with the work of the agent above.
const ROLE: &str = "you know its conversation, and it works on without you. The calls above are its own; do not repeat them and do not wait for them. Do the task below and nothing else, start no fork, and end with a report that stands alone: what you found or did, files with their paths, what is left open.";
/// Result of every call of the response that asked for a fork, the same in all forks.
const PLACEHOLDER: &str = "This call belongs to the agent that you are a fork of.";

/// A conversation behind one complete response, for the forks that the response asks for.
#[derive(Debug)]
pub(crate) struct ForkBase {
    origin: Origin,
    /// Calls of the response, in order.
    calls: Vec<ToolCall>,
    prefix: Arc<RenderedPrefix>,
    model: String,
    wishes: Wishes,
    gate: Gate,
}

impl ForkBase {
    fn new(session: &Session, wishes: &Wishes) -> Option<Self> {
        let response = session.conversation().view().tail().response();
        let calls = response
            .iter()
            .filter_map(|segment| ToolCall::of(&segment.block));
        let calls: Vec<ToolCall> = calls.collect();
        calls.iter().find(|call| call.tool == AGENT)?;
        Some(Self {
            origin: session.driver().lineage("")?,
            calls,
            prefix: Arc::clone(&session.driver().config().prefix),
            model: session.model().to_owned(),
            wishes: wishes.clone(),
            gate: Gate::default(),
        })
    }

    fn has(&self, call: &CallId) -> bool {
        self.calls.iter().any(|known| known.id == *call)
    }

    /// True if the conversation is a fork itself.
    fn is_fork(&self) -> bool {
        let origin = self.origin.manifest.state.lineage.as_ref();
        origin.is_some_and(|origin| origin.directive.starts_with(MARK))
    }

    pub(super) const fn gate(&self) -> &Gate {
        &self.gate
    }
}

/// A fork that is about to be opened.
#[derive(Clone, Debug)]
pub(crate) struct NewFork {
    pub(super) base: Arc<ForkBase>,
    directive: String,
}

impl NewFork {
    /// Prefix of the agent above.
    pub(crate) fn prefix(&self) -> Arc<RenderedPrefix> {
        Arc::clone(&self.base.prefix)
    }

    /// Model of the agent above, which may have been changed since it was opened.
    pub(crate) fn model(
        &self,
        given: Option<(String, Arc<dyn Asker>)>,
    ) -> Option<(String, Arc<dyn Asker>)> {
        given.map(|(_, asker)| (self.base.model.clone(), asker))
    }

    /// Effort and origin of the model of the agent above.
    pub(crate) fn wishes(&self) -> Wishes {
        self.base.wishes.clone()
    }

    /// Begins the fork's transcript with the conversation it came from.
    pub(crate) fn begin(&self, host: &Host, id: &SessionId) -> Result<(), AgentError> {
        let origin = Origin {
            directive: self.directive.clone(),
            ..self.base.origin.clone()
        };
        Ok(host.begin_fork(id, origin)?)
    }

    /// Closes the response that asked for the fork.
    pub(crate) async fn answer_calls(&self, session: &mut Session) -> Result<(), AgentError> {
        let calls = self.base.calls.iter();
        let results = calls.map(|call| {
            let output = ToolOutput::text(call.id.clone(), PLACEHOLDER);
            (call.tool.clone(), output)
        });
        session.results(results.collect()).await?;
        let model = self.base.model.as_str();
        if session.model() != model {
            let params = session.params().clone();
            session.set_model(model, params).await?;
        }
        Ok(())
    }

    /// Prompt of the fork: words of another agent.
    pub(super) fn prompt(&self) -> String {
        render(&TEAMMATE_MESSAGE, &self.directive)
    }
}

/// Order of the first requests of sibling forks.
#[derive(Debug, Default)]
pub(super) struct Gate {
    taken: AtomicBool,
    begun: watch::Sender<bool>,
}

impl Gate {
    /// Returns at once for the first fork, and for the others when its response has begun.
    pub(super) async fn pass(&self) {
        if !self.taken.swap(true, Ordering::SeqCst) {
            return;
        }
        let mut begun = self.begun.subscribe();
        // The sender lives as long as this does.
        let _begun = begun.wait_for(|begun| *begun).await;
    }

    /// Lets the others begin.
    pub(super) fn open(&self) {
        self.begun.send_replace(true);
    }
}

impl Crew {
    /// Takes note of a record: a letter in it has arrived, and behind a complete response that calls for agents, the conversation is kept
    /// as it is for forks.
    pub(crate) fn stored(&self, record: &Record, session: &Session, wishes: &Wishes) {
        if let Some(mail) = self.mail() {
            mail.stored(record);
        }
        let Body::Message(message) = &record.body else {
            return;
        };
        if message.stop_reason.is_none() {
            return;
        }
        let base = ForkBase::new(session, wishes);
        // Records are told a moment later: a base of a later response, which is not complete yet, would
        // cut it off.
        let is_of_message =
            |base: &ForkBase| base.origin.manifest.response_id.as_ref() == message.id.as_ref();
        if let Some(base) = base.filter(is_of_message) {
            self.0.forks.send_replace(Some(Arc::new(base)));
        }
    }

    /// The fork that a call asks for, once its response is complete.
    ///
    /// # Errors
    /// Words for the model, if this conversation is a fork.
    pub(super) async fn fork(&self, call: &CallId, task: &str) -> Result<NewFork, String> {
        let base = known(&self.0, call).await;
        let base = base.ok_or("The session is closing.")?;
        if base.is_fork() {
            return Err(
                "You are a fork, and a fork may not fork. Do the task yourself, or give it to an agent with a context of its own.".to_owned(),
            );
        }
        Ok(NewFork {
            base,
            directive: format!("{MARK} {ROLE}\n\n{task}"),
        })
    }
}

async fn known(inner: &Inner, call: &CallId) -> Option<Arc<ForkBase>> {
    let mut forks = inner.forks.subscribe();
    let is_known = |base: &Option<Arc<ForkBase>>| base.as_ref().is_some_and(|base| base.has(call));
    let found = forks.wait_for(is_known).await.ok()?;
    found.clone()
}
