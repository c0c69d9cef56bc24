//! Memory of a project in conversations that its user has opened for it.
//!
//! # Model
//! With the user's newest words recall is asked, once for each history; a text that it gives is a record
//! before it is sent, and stands behind those words in every later request. The history so far is handed
//! over to be learnt from at the same moment, as a transcript. Without a project nothing of this happens.
//!
//! # Not here
//! Recall and extraction themselves: whoever implements [`ProjectMemory`].

use crate::layers::Layers;
use crate::lines::Slot;
use dormouse_core::fragment::{REMINDER, render};
use dormouse_recognise::{Chain, Seen};
use dormouse_rewrite::{Aside, Body, Record, session, words};
use dormouse_system::{Access, FileError};
use std::fmt;
use std::path::{Path, PathBuf};

/// Memory of projects, as a conversation gets it.
pub trait ProjectMemory: fmt::Debug + Send + Sync {
    /// True if a conversation that names this project, or none, is to have memory.
    fn has(&self, project: Option<&str>) -> bool;

    /// Text for the user's newest words; nothing is the usual answer. May block.
    fn recall(&self, project: Option<&str>, words: &Words<'_>) -> Option<String>;

    /// Learns from a transcript, sooner or later. May block.
    fn learn(&self, project: Option<&str>, session: &str, transcript: &Path);
}

/// Newest words of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words<'a> {
    /// Name of the conversation.
    pub session: &'a str,
    /// Words themselves, with all that the client put around them.
    pub text: &'a str,
    /// True at the beginning of the conversation.
    pub is_first: bool,
}

impl Layers {
    /// Recalls for the newest words of a request, and has its history learnt from.
    pub(crate) fn remember(&self, slot: &Slot, body: &Body, seen: &Seen, project: Option<&str>) {
        let Some(memory) = self.memory.as_ref().filter(|memory| memory.has(project)) else {
            return;
        };
        // A side call without tools asks for a title or a summary, not for the user.
        let text = words(body).filter(|_| body.offers_tools());
        let Some(text) = text.filter(|_| !slot.line().has_recalled(seen)) else {
            return;
        };
        let name = slot.conversation.to_string();
        let asked = Words {
            session: &name,
            text: &text,
            is_first: !body.is_answered(),
        };
        let recalled = memory.recall(project, &asked);
        let aside = recalled.and_then(|text| Aside::behind(seen, &render(&REMINDER, &text)));
        if let Some(aside) = aside {
            let record = Record::Aside(Box::new(aside));
            match self.keep_record(slot, record) {
                Ok(()) => self.count_recalled(),
                Err(error) => self.not_saved(&error),
            }
        }
        match self.transcript(slot.conversation, body) {
            Ok(path) => memory.learn(project, &name, &path),
            Err(error) => tracing::warn!(%error, "a transcript could not be written"),
        }
    }

    /// Makes a record durable and part of its line.
    pub(crate) fn keep_record(&self, slot: &Slot, record: Record) -> Result<(), FileError> {
        let records = std::slice::from_ref(&record);
        self.lines.keep(slot.conversation, &[], records)?;
        slot.line().apply(record);
        Ok(())
    }

    /// Writes the history of a conversation down.
    fn transcript(&self, conversation: Chain, body: &Body) -> Result<PathBuf, FileError> {
        let path = self.lines.transcript(conversation);
        if let Some(folder) = path.parent() {
            self.lines.files.create_dir_all(folder, Access::Private)?;
        }
        let lines = session(body, &conversation.to_string());
        self.lines.files.replace(&path, &lines, Access::Private)?;
        Ok(path)
    }
}
