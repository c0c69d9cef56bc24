//! Ports of the conversation's tools: services that the caller brings.

use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::id::CallId;
use dormouse_drive::ToolCall;
use dormouse_model::web::WebNetwork;
use dormouse_system::Room;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Port that learns of every file before it changes, so that the change can be taken back.
pub trait Changes: fmt::Debug + Send + Sync {
    /// A call is about to give a file new content; `content` is the old one, `None` if there is no
    /// file yet.
    ///
    /// # Errors
    /// The reason, if the content cannot be kept; the file is then left as it is.
    fn before(
        &self,
        call: &CallId,
        path: &Path,
        content: Option<&Bytes>,
        after: &Bytes,
    ) -> Result<(), String>;

    /// The model was shown a file with this content.
    fn read(&self, _path: &Path, _hash: Hash) {}
}

/// Keeps no content; changes cannot be taken back.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoChanges;

impl Changes for NoChanges {
    fn before(&self, _: &CallId, _: &Path, _: Option<&Bytes>, _: &Bytes) -> Result<(), String> {
        Ok(())
    }
}

/// Port that says which commands are confined.
pub trait Confine: fmt::Debug + Send + Sync {
    /// Files that the command of this call may reach; `None` runs it as the user.
    fn room(&self, call: &ToolCall) -> Option<Room>;
}

/// Port that runs every command as the user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unconfined;

impl Confine for Unconfined {
    fn room(&self, _: &ToolCall) -> Option<Room> {
        None
    }
}

/// Port to the memory directory and to past sessions.
pub trait MemoryDesk: fmt::Debug + Send + Sync {
    /// Answers one command of the provider's memory tool.
    ///
    /// # Errors
    /// A text for the model that says why not.
    fn command(&self, input: &Value) -> Result<String, String>;

    /// Memories and passages of sessions that have the words, in at most so many bytes.
    ///
    /// # Errors
    /// A text for the model that says why not.
    fn search(&self, words: &str, most: usize) -> Result<String, String>;
}

/// Port to a person who may be asked.
pub trait People: fmt::Debug + Send + Sync {
    /// Puts questions to the person and waits for the answers, one for each question.
    fn ask(&self, call: &CallId, questions: &[PersonQuestion]) -> PersonAnswer;
}

/// Question of the model to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonQuestion {
    /// The question, in a sentence.
    pub question: String,
    /// A word or two to show above it.
    #[serde(default)]
    pub header: String,
    /// Answers to choose from; the person may always write another.
    pub options: Vec<PersonOption>,
    /// True if several may be chosen.
    #[serde(default, rename = "multiSelect")]
    pub multi_select: bool,
}

/// An answer to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonOption {
    /// The answer, in a few words.
    pub label: String,
    /// Consequences of choosing it.
    #[serde(default)]
    pub description: String,
}

/// Outcome of asking a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonAnswer {
    /// One text for each question: labels joined by commas, or the person's own words.
    Answered(Vec<String>),
    /// The person sent the questions away.
    Declined,
    /// No person can be asked here.
    NoOne,
}

/// Run without a person.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOne;

impl People for NoOne {
    fn ask(&self, _: &CallId, _: &[PersonQuestion]) -> PersonAnswer {
        PersonAnswer::NoOne
    }
}

/// Port to a small model that reads pages of the web.
pub trait PageReader: fmt::Debug + Send + Sync {
    /// Answer to a question about a page, waited for on this thread; `None` if no small model is
    /// set up.
    ///
    /// # Errors
    /// The reason in one line, if the model does not answer.
    fn read(&self, url: &str, page: &str, question: &str) -> Result<Option<String>, String>;
}

/// Services beyond files and commands. A tool whose service is missing says so when it is called.
#[derive(Clone, Debug)]
pub struct Services {
    /// Network for pages; `None` for none.
    pub network: Option<Arc<dyn WebNetwork>>,
    /// Model that answers questions about pages; without one the page itself is the result.
    pub reader: Option<Arc<dyn PageReader>>,
    /// Memory and past sessions; `None` where memory is off.
    pub memory: Option<Arc<dyn MemoryDesk>>,
    /// The person at the other end.
    pub people: Arc<dyn People>,
    /// Command line that searches the web: the words are appended as one argument.
    pub search_command: Option<String>,
}

impl Default for Services {
    fn default() -> Self {
        Self {
            network: None,
            reader: None,
            memory: None,
            people: Arc::new(NoOne),
            search_command: None,
        }
    }
}
