//! Chronicle of a session: the facts that a compaction keeps without a model.
//!
//! # Model
//! Two kinds of content that summaries lose: the user's own messages, verbatim or by reference into
//! the log, and the *evidence* (files, commands with their outcomes, test results, errors,
//! addresses, figures the user gave, decisions in their original words). Both are folded from the
//! messages of a path one by one and are part of every manifest, so that they survive all
//! boundaries. Entries that a page record holds are named there instead of repeated
//! (`record/page.rs`).
//!
//! # Not here
//! Data only. Which facts are noted, how many, and how they are rendered is decided in
//! `dormouse-context` (`evidence`).

use super::page::PagedChronicle;
use crate::hash::Hash;
use crate::id::{CallId, RecordId, Seq};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Facts about a session, collected without a model. Bounded, since every resume reads it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chronicle {
    /// Number of records observed, used as the time of sightings: sequence numbers of different
    /// writers cannot be compared.
    pub clock: u64,
    /// Working directory of the session, where the log names it.
    pub project: Option<String>,
    /// Messages of the user, verbatim or by reference.
    pub user: UserMessages,
    /// Files that tools accessed, by path.
    pub files: Shelf<FileFact>,
    /// Shell commands, by their text.
    pub commands: Shelf<CommandFact>,
    /// Searches in and for files, by the pattern.
    pub searches: Shelf<CommandFact>,
    /// Lines of output that report test results.
    pub tests: Shelf<Source>,
    /// Error messages from tool output, by their text.
    pub errors: Shelf<Source>,
    /// URLs that were fetched or that the user gave.
    pub urls: Shelf<Mention>,
    /// Numbers, names and identifiers that the user gave.
    pub values: Shelf<Mention>,
    /// Sentences that state a decision.
    pub decisions: Shelf<Decision>,
    /// Calls without a result so far, by call id.
    pub open_calls: BTreeMap<CallId, OpenCall>,
    /// Set in manifests only, where page records hold entries: then the shelves and the list of
    /// messages are empty here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paged: Option<Box<PagedChronicle>>,
}

/// Messages of the user, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserMessages {
    /// Oldest messages, collapsed to a range once they exceeded the limits of the list.
    pub earlier: Option<EarlierMessages>,
    /// Newer messages, one entry each.
    pub listed: Vec<UserMessage>,
}

impl UserMessages {
    /// Number of messages, collapsed ones included.
    pub fn count(&self) -> u64 {
        let earlier = self.earlier.as_ref().map_or(0, |earlier| earlier.count);
        earlier + self.listed.len() as u64
    }
}

/// Oldest messages of a very long session, as a range of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierMessages {
    /// Number of messages in the range.
    pub count: u64,
    /// Characters of all of them.
    pub chars: u64,
    /// Record of the first message.
    pub first: RecordId,
    /// Record of the last message.
    pub last: RecordId,
    /// Sequence number of the last message.
    pub last_seq: Seq,
}

/// One message of the user, without text that a client inserted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    /// Sequence number of its record.
    pub seq: Seq,
    /// Id of its record, for lookups in the log.
    pub record: RecordId,
    /// Hash of the whole text; the compaction gate compares it.
    pub hash: Hash,
    /// Length of the whole text in characters.
    pub chars: u64,
    /// Text, whole or abridged.
    pub text: MessageText,
    /// Page record that holds this version of the entry; none while only manifests do.
    #[serde(skip)]
    pub home: Option<Seq>,
}

/// Text of a message, whole or abridged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageText {
    /// Complete text of the message.
    Whole(String),
    /// Beginning and end of a long message; the log has the rest.
    Cut {
        /// First characters of the text.
        head: String,
        /// Last characters of the text.
        tail: String,
    },
}

impl MessageText {
    /// Bytes retained here; the whole message may be longer.
    pub fn len(&self) -> usize {
        match self {
            Self::Whole(text) => text.len(),
            Self::Cut { head, tail } => head.len() + tail.len(),
        }
    }

    /// True if no text is retained here.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Entries of one category, by the text that identifies them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, bound = "T: Default + Serialize + for<'a> Deserialize<'a>")]
pub struct Shelf<T> {
    /// Entries by their identifying text.
    pub entries: BTreeMap<String, ShelfEntry<T>>,
    /// Number of entries evicted because the shelf was full; rendered, so that the list does not
    /// look complete.
    pub dropped: u64,
}

impl<T> Shelf<T> {
    /// Entries, most recently seen first.
    pub fn recent_first(&self) -> Vec<(&str, &ShelfEntry<T>)> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|(_, entry)| std::cmp::Reverse((entry.seen.last, entry.seen.first)));
        entries
            .into_iter()
            .map(|(text, entry)| (text.as_str(), entry))
            .collect()
    }

    /// Texts of the `count` entries that were seen least recently, the oldest first.
    pub fn oldest(&self, count: usize) -> Vec<String> {
        let entries = self.recent_first().into_iter().rev();
        let oldest = entries.take(count);
        oldest.map(|(text, _)| text.to_owned()).collect()
    }
}

/// One entry of a shelf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShelfEntry<T> {
    /// Time and number of sightings.
    pub seen: Sighting,
    /// Facts of the category, such as outcomes.
    pub fact: T,
    /// Page record that holds this version of the entry; none while only manifests do.
    #[serde(skip)]
    pub home: Option<Seq>,
}

impl<T> ShelfEntry<T> {
    /// Fact of the entry, to be changed: the version in its page is then an old one.
    pub fn change(&mut self) -> &mut T {
        self.home = None;
        &mut self.fact
    }
}

/// Time and number of sightings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sighting {
    /// [`Chronicle::clock`] at the first sighting.
    pub first: u64,
    /// [`Chronicle::clock`] at the last sighting; eviction drops the oldest.
    pub last: u64,
    /// Sequence number of the record of the last sighting.
    pub seq: Seq,
    /// Number of sightings, from 1.
    pub times: u32,
}

/// Accesses to a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileFact {
    /// Number of reads, attempted ones included.
    pub reads: u32,
    /// Number of successful changes.
    pub changes: u32,
    /// True if the last access failed or was refused.
    pub failed: bool,
}

/// Outcome of a tool call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallOutcome {
    /// No result has arrived yet.
    #[default]
    Open,
    /// Success, or exit code 0.
    Ok,
    /// Failure without an exit code.
    Failed,
    /// Failure with this exit code.
    Exit(i32),
    /// Refused by a permission rule or the user; it did not run.
    Refused,
}

/// Command with its latest outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommandFact {
    /// Outcome of the latest run.
    pub outcome: CallOutcome,
    /// Number of runs that did not succeed.
    pub failures: u32,
}

/// Origin of a line of output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// Tool, and the command or path it was given.
    pub call: String,
}

/// Side of the conversation that made a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// Human user of the session.
    #[default]
    User,
    /// Model that wrote the response.
    Assistant,
}

/// Mention of a value: speaker and context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mention {
    /// Side that mentioned it.
    pub by: Speaker,
    /// Surrounding words, for a reader who has only the evidence.
    pub around: String,
}

/// Sentence that states a decision; its words are the key of the shelf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Decision {
    /// Side that stated it.
    pub by: Speaker,
}

/// Tool call without a result so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenCall {
    /// Name of the tool, as called.
    pub tool: String,
    /// Action of the call, with its subject.
    pub act: Act,
    /// [`Chronicle::clock`] at the call.
    pub since: u64,
}

/// Action of a tool call, as far as the chronicle treats actions differently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// Read of the file at this path.
    Read(String),
    /// Change of the file at this path.
    Change(String),
    /// Run of this command.
    Run(String),
    /// Search for this pattern.
    Search(String),
    /// Fetch of this URL.
    Fetch(String),
    /// Question to the user.
    Ask,
    /// Any other action, which leaves no entry.
    #[default]
    Other,
}

impl Act {
    /// Key of the action on its shelf; empty for actions without a shelf.
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
