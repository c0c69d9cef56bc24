//! Memory by the word of an agent: another program's model that calls a tool.
//!
//! # Model
//! An agent's word is no word of the user: a memory that it wants kept waits in the inbox, and it
//! removes only what agents have written. Both can be told again without harm: the same memory is
//! known, waits already, or is gone.
//!
//! # Not here
//! The user's own words (`add`, `forget`); deciding about waiting memories (`inbox`).

use super::add::{self, NewMemoryText};
use super::forget::Purge;
use super::names;
use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use dormouse_core::settings::{Consent, keys};
use dormouse_guard::paths::SafePath;
use dormouse_memdir::Proposal;
use dormouse_memory::snapshot::{INDEX, is_pinned};
use dormouse_memory::topic::Topic;
use dormouse_memory::transaction::Author;
use dormouse_memory::trust::{Origin, Speaker, Trust};
use dormouse_memory::write::{self, Placement};
use serde::Serialize;

/// Reason for the journal and the inbox.
const REASON: &str = "an agent asked to keep it";

/// True if the text of a memory may be shown to an agent: one that stems from a tool or a page waits
/// for the user.
pub fn may_be_shown(text: &str) -> bool {
    Topic::read(text).trust.is_none_or(Trust::is_recalled)
}

/// Outcome of an agent's wish to keep something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum AgentRemembered {
    /// A memory says it already.
    Known {
        /// Path of the memory that says it.
        path: String,
    },
    /// It waits for the user's approval.
    Waits {
        /// Id in the inbox.
        id: String,
    },
    /// Memories that the user did not ask for are switched off.
    NotWanted,
}

/// Outcome of an agent's wish to remove something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum AgentForgot {
    /// It is gone; an undo brings it back.
    Forgotten {
        /// Path of the memory that is gone.
        path: String,
    },
    /// It stems from the user or is pinned: the user alone removes it.
    OnlyUser {
        /// Path of the memory that stays.
        path: String,
    },
}

impl Host {
    /// Puts a memory into the inbox by the word of an agent.
    ///
    /// # Errors
    /// When there is a credential, memory is off, or the directory cannot be changed.
    pub fn remember_for_agent(
        &self,
        new: &NewMemoryText,
        session: Option<&str>,
    ) -> Result<AgentRemembered, HostError> {
        add::refuse_secrets(new)?;
        if self.settings().get(keys::MEMORY_CONSENT) == Consent::Off {
            return Ok(AgentRemembered::NotWanted);
        }
        let mut memory = add::memory(new, self.now(), &Which::Private);
        let origin = Origin {
            session: session.map(str::to_owned),
            message: None,
            speaker: Speaker::Assistant,
            time: self.now(),
        };
        memory.origin = Some(origin.clone());
        memory.trust = Some(Trust::Assistant);
        let mut found = self.find(&Which::Private)?;
        let snapshot = found.snapshot()?;
        let added = write::add(&snapshot, &memory, Author::Extractor, REASON);
        if let Placement::Known(path) = &added.placement {
            let path = path.to_string();
            return Ok(AgentRemembered::Known { path });
        }
        let place = added.placement.path().clone();
        let operations = added.transaction.operations.into_iter();
        let mut writes = operations.filter(|operation| operation.path.as_str() != INDEX);
        let write = writes.find(|operation| operation.path == place);
        let Some((expected, content)) =
            write.and_then(|write| Some((write.expected, write.content?)))
        else {
            let path = place.to_string();
            return Ok(AgentRemembered::Known { path });
        };
        let dir = found.open()?;
        let text = String::from_utf8_lossy(&content).into_owned();
        // Compared by what they say: the origin has the time, which is another with each call.
        let waiting = dir.inbox()?.items.into_iter();
        let mut same = waiting.filter(|item| body(&item.content) == body(&text));
        if let Some(item) = same.next() {
            return Ok(AgentRemembered::Waits { id: item.id });
        }
        let item = dir.propose(Proposal {
            path: place,
            content: text,
            expected,
            author: Author::Extractor,
            reason: REASON.to_owned(),
            origin: Some(origin),
            trust: Trust::Assistant,
            waits_because: "it is the word of an agent, not yours".to_owned(),
        })?;
        Ok(AgentRemembered::Waits { id: item.id })
    }

    /// Removes a memory by the word of an agent, if an agent wrote it.
    ///
    /// # Errors
    /// When the name means no single memory, or the directory cannot be changed.
    pub fn forget_for_agent(&self, name: &str) -> Result<AgentForgot, HostError> {
        let snapshot = self.find(&Which::Private)?.snapshot()?;
        let path = names::find_whole(&snapshot, name)?;
        let text = snapshot.get(&path).map(|file| file.text().into_owned());
        let trust = Topic::read(&text.unwrap_or_default()).trust;
        // A file without a claim was written by hand.
        let is_agents = trust.is_some_and(|trust| trust < Trust::User);
        let shown = path.to_string();
        if !is_agents || is_pinned(&path) {
            return Ok(AgentForgot::OnlyUser { path: shown });
        }
        let names = [shown.clone()];
        let reason = "an agent asked to forget it";
        self.forget(&Which::Private, &names, Some(reason), Purge::Keep)?;
        Ok(AgentForgot::Forgotten { path: shown })
    }

    /// Text of a file of the private memory, the index among them; `None` if there is none.
    ///
    /// # Errors
    /// When memory is off, or the file cannot be read.
    pub fn memory_file(&self, path: &str) -> Result<Option<String>, HostError> {
        // A path that leads elsewhere names no memory.
        let Ok(path) = SafePath::parse(path) else {
            return Ok(None);
        };
        let Some(dir) = self.find(&Which::Private)?.existing()? else {
            return Ok(None);
        };
        let file = dir.read(&path)?;
        Ok(file.map(|file| file.text().into_owned()))
    }
}

/// Words of a memory, without its front matter.
fn body(text: &str) -> &str {
    let body = Topic::read(text).body;
    text.get(body..).unwrap_or_default().trim()
}
