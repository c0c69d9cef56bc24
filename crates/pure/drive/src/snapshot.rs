//! A look at a conversation that costs nothing and locks nothing.

use crate::driver::Driver;
use crate::turn::Phase;
use dormouse_context::conversation::Conversation;
use dormouse_core::id::Seq;
use dormouse_core::units::Tokens;
use std::sync::Arc;

/// The present activity of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// Nothing.
    #[default]
    Idle,
    /// Memories are looked for.
    Recalling,
    /// A layer works on the prompt.
    Tidying,
    /// The model answers, or is about to.
    Answering,
    /// Tools run, or wait for a person.
    Calling,
}

/// A conversation at one moment. Taking one copies a pointer and a few figures.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The conversation, shared with the driver until the next record arrives.
    pub conversation: Arc<Conversation>,
    /// Tokens in use.
    pub used: Tokens,
    /// Its present activity.
    pub activity: Activity,
    /// The newest record.
    pub head: Seq,
    /// The newest record that is stored.
    pub stored: Seq,
    /// An update of the notes is under way.
    pub writes_notes: bool,
    /// Why nothing can be written any more.
    pub stopped: Option<String>,
}

impl Driver {
    /// The conversation as it is now.
    pub fn snapshot(&self) -> Snapshot {
        let activity = match self.phase() {
            _ if self.job.is_some() => Activity::Tidying,
            None => Activity::Idle,
            Some(Phase::RecallingPrompt | Phase::RecallingResults) => Activity::Recalling,
            Some(Phase::Tidying(_)) => Activity::Tidying,
            Some(Phase::Sending | Phase::Answering) => Activity::Answering,
            Some(Phase::Calling) => Activity::Calling,
        };
        let (head, stored) = self.heads();
        Snapshot {
            conversation: Arc::clone(&self.conversation),
            used: self.used(),
            activity,
            head,
            stored,
            writes_notes: self.notes.is_some(),
            stopped: self.journal.failed().map(ToString::to_string),
        }
    }
}
