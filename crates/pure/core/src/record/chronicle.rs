//! The chronicle of a session: what a compaction keeps without asking a model.
//!
//! # Model
//! Two things that summaries lose: the user's own messages, word for word or by reference into the
//! log, and the *evidence* (files, commands with their outcomes, test results, errors, addresses,
//! figures the user gave, decisions as they were said). Both are folded from the messages of a path
//! one by one and carried by every manifest, so that they reach over all boundaries.
//!
//! # Not here
//! Data only. What is noted, how much of it, and how it is written out is decided in
//! `dormouse-context` (`evidence`).

use crate::hash::Hash;
use crate::id::{CallId, RecordId, Seq};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is known of a session without a model. See the module documentation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chronicle {
    /// How many records were observed. Sightings are counted by it, because the numbers of records
    /// of different writers cannot be compared.
    pub clock: u64,
    /// The directory the session works in, where the log says so.
    pub project: Option<String>,
    /// What the user said.
    pub user: UserMessages,
    /// Files by path.
    pub files: Shelf<FileFact>,
    /// Commands by their text.
    pub commands: Shelf<CommandFact>,
    /// Searches in and for files, by what was looked for.
    pub searches: Shelf<CommandFact>,
    /// Lines that say how tests went.
    pub tests: Shelf<Source>,
    /// Error messages.
    pub errors: Shelf<Source>,
    /// Addresses that were fetched or that the user gave.
    pub urls: Shelf<Mention>,
    /// Numbers, names and identifiers that the user gave.
    pub values: Shelf<Mention>,
    /// Sentences that decide something.
    pub decisions: Shelf<Decision>,
    /// Calls whose result has not come yet.
    pub open_calls: BTreeMap<CallId, OpenCall>,
}

/// The user's messages, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserMessages {
    /// Those that became too many or too long to be listed.
    pub earlier: Option<EarlierMessages>,
    /// The others.
    pub listed: Vec<UserMessage>,
}

impl UserMessages {
    /// How many there are in all.
    pub fn count(&self) -> u64 {
        let earlier = self.earlier.as_ref().map_or(0, |earlier| earlier.count);
        earlier + self.listed.len() as u64
    }
}

/// The oldest messages of a very long session, as a range of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierMessages {
    /// How many.
    pub count: u64,
    /// Their characters in all.
    pub chars: u64,
    /// The record of the first.
    pub first: RecordId,
    /// The record of the last.
    pub last: RecordId,
    /// The sequence of the last.
    pub last_seq: Seq,
}

/// One message of the user, without what a client put into it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Its place in the log.
    pub seq: Seq,
    /// Its record.
    pub record: RecordId,
    /// The hash of the whole text.
    pub hash: Hash,
    /// The characters of the whole text.
    pub chars: u64,
    /// The text, as far as it is kept here.
    pub text: MessageText,
}

/// The text of a message, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageText {
    /// All of it.
    Whole(String),
    /// Beginning and end; the whole is in the log.
    Cut {
        /// How it begins.
        head: String,
        /// How it ends.
        tail: String,
    },
}

impl MessageText {
    /// The bytes kept here.
    pub fn len(&self) -> usize {
        match self {
            Self::Whole(text) => text.len(),
            Self::Cut { head, tail } => head.len() + tail.len(),
        }
    }

    /// Whether nothing is kept here.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Entries of one sort, by the text that identifies them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, bound = "T: Default + Serialize + for<'a> Deserialize<'a>")]
pub struct Shelf<T> {
    /// The entries.
    pub entries: BTreeMap<String, Entry<T>>,
    /// How many were dropped because there were too many.
    pub dropped: u64,
}

impl<T> Shelf<T> {
    /// The entries, the most recently seen first.
    pub fn recent_first(&self) -> Vec<(&str, &Entry<T>)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(_, entry)| std::cmp::Reverse((entry.seen.last, entry.seen.first)));
        entries
            .into_iter()
            .map(|(text, entry)| (text.as_str(), entry))
            .collect()
    }
}

/// One entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry<T> {
    /// When and how often.
    pub seen: Sighting,
    /// What is known of it.
    pub fact: T,
}

/// When and how often something was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sighting {
    /// [`Chronicle::clock`] when it was first seen.
    pub first: u64,
    /// The same when it was last seen.
    pub last: u64,
    /// The record it was last seen in.
    pub seq: Seq,
    /// How often.
    pub times: u32,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileFact {
    /// How often it was read, or was to be.
    pub reads: u32,
    /// How often it was changed with success.
    pub changes: u32,
    /// Whether the last access failed or was refused.
    pub failed: bool,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Not yet known.
    #[default]
    Open,
    /// With success.
    Ok,
    /// With a failure that gave no code.
    Failed,
    /// With this exit code.
    Exit(i32),
    /// It was not allowed to run.
    Refused,
}

/// A command, and how it last went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandFact {
    /// Its last outcome.
    pub outcome: Outcome,
    /// How often it did not succeed.
    pub failures: u32,
}

/// Where a line comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// The tool, and the command or path it was given.
    pub call: String,
}

/// Who said something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The person.
    #[default]
    User,
    /// The model.
    Assistant,
}

/// Who named something, and in which words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mention {
    /// Who.
    pub by: Speaker,
    /// The words around it.
    pub around: String,
}

/// A sentence that decides something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decision {
    /// Who said it.
    pub by: Speaker,
}

/// A tool call that waits for its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenCall {
    /// The tool.
    pub tool: String,
    /// What it does.
    pub act: Act,
    /// [`Chronicle::clock`] when it was made.
    pub since: u64,
}

/// What a tool call does, as far as the chronicle treats it differently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// Reads the file of that path.
    Read(String),
    /// Changes the file of that path.
    Change(String),
    /// Runs the command.
    Run(String),
    /// Looks for something.
    Search(String),
    /// Fetches an address.
    Fetch(String),
    /// Asks the user.
    Ask,
    /// Anything else.
    #[default]
    Other,
}

impl Act {
    /// What identifies the act on its shelf; empty where it has none.
    pub fn subject(&self) -> &str {
        match self {
            Self::Read(text)
            | Self::Change(text)
            | Self::Run(text)
            | Self::Search(text)
            | Self::Fetch(text) => text,
            Self::Ask | Self::Other => "",
        }
    }
}
