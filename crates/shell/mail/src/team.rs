//! A team: a folder with the inboxes of its members.
//!
//! # Not here
//! Starting and stopping members: `dormouse-agent`.

use crate::address::{Address, AgentName};
use crate::door::send_through;
use crate::error::{MailError, MailResult};
use crate::inbox::{Accepted, Inbox};
use crate::letter::Letter;
use dormouse_system::{Access, Files, OptionalFile as _, System};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Ending of an inbox.
const ENDING: &str = ".jsonl";

/// Agents that write to each other, in any number of processes. Clones share their inboxes.
#[derive(Clone, Debug)]
pub struct Team {
    files: Arc<dyn Files>,
    inboxes: PathBuf,
    open: Arc<Mutex<HashMap<AgentName, Inbox>>>,
}

/// Result of sending a letter to an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TeamReply {
    /// Members who have the letter now.
    pub taken: Vec<AgentName>,
    /// Members whose inbox did not take it, each with the reason.
    pub refused: Vec<(AgentName, String)>,
}

impl Team {
    /// The team of this name under Dormouse's home. Nothing is created before somebody joins.
    pub fn new(system: &System, home: &Path, name: &AgentName) -> Self {
        Self {
            files: Arc::clone(&system.files),
            inboxes: home.join("teams").join(name.as_str()).join("inboxes"),
            open: Arc::default(),
        }
    }

    /// Makes an agent a member; its letters from earlier are still there.
    pub fn join(&self, name: &AgentName) -> MailResult<Inbox> {
        self.files
            .create_dir_all(&self.inboxes, Access::Private)
            .map_err(MailError::File)?;
        let inbox = self.inbox(name);
        drop(self.files.append(inbox.path(), Access::Private)?);
        Ok(inbox)
    }

    /// Names of the members, in order.
    pub fn members(&self) -> MailResult<Vec<AgentName>> {
        let entries = self.files.list(&self.inboxes).optional()?;
        let names = entries.iter().flatten().filter_map(|entry| {
            let name = entry.name.to_str()?.strip_suffix(ENDING)?;
            AgentName::new(name).ok()
        });
        Ok(names.collect())
    }

    /// Sends a letter to a member, to all others, or through another session's socket. The letter's
    /// own addressee is replaced by whoever gets it.
    ///
    /// Sending the same letter again completes what was left undone and doubles nothing.
    ///
    /// # Errors
    /// When nobody has the letter. Blocks: the caller is on a thread that may.
    pub fn send(&self, letter: &Letter, to: &Address) -> MailResult<TeamReply> {
        match to {
            Address::Agent(name) => {
                self.deliver(letter, name)?;
                Ok(TeamReply {
                    taken: vec![name.clone()],
                    ..TeamReply::default()
                })
            }
            Address::Everyone => {
                let mut reply = TeamReply::default();
                let members = self.members()?;
                for name in members.iter().filter(|name| **name != letter.from) {
                    match self.deliver(letter, name) {
                        Ok(_) => reply.taken.push(name.clone()),
                        // One member whose inbox is full must not keep the letter from the others.
                        Err(error) => reply.refused.push((name.clone(), error.to_string())),
                    }
                }
                Ok(reply)
            }
            Address::Session(path) => {
                send_through(path, letter)?;
                Ok(TeamReply {
                    taken: vec![letter.to.clone()],
                    ..TeamReply::default()
                })
            }
        }
    }

    fn deliver(&self, letter: &Letter, name: &AgentName) -> MailResult<Accepted> {
        let inbox = self.inbox(name);
        // A misspelt name must not found an inbox that nobody reads.
        if self.files.metadata(inbox.path()).optional()?.is_none() {
            let members: Vec<String> = self.members()?.iter().map(ToString::to_string).collect();
            return Err(MailError::NoMember {
                name: name.to_string(),
                members: if members.is_empty() {
                    "none".to_owned()
                } else {
                    members.join(", ")
                },
            });
        }
        let letter = Letter {
            to: name.clone(),
            ..letter.clone()
        };
        inbox.accept(&letter)
    }

    fn inbox(&self, name: &AgentName) -> Inbox {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let inbox = open.entry(name.clone()).or_insert_with(|| {
            let path = self.inboxes.join(format!("{name}{ENDING}"));
            Inbox::at(Arc::clone(&self.files), name.clone(), path)
        });
        inbox.clone()
    }
}
