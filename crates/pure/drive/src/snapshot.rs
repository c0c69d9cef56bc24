//! Snapshot of a conversation, for screens: O(1) to take, without locks.

use crate::driver::Driver;
use crate::turn::Phase;
use dormouse_context::conversation::Conversation;
use dormouse_core::id::Seq;
use dormouse_core::units::Tokens;
use std::sync::Arc;

/// Present activity of a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activity {
    /// No turn and no job in progress.
    #[default]
    Idle,
    /// Search for memories in progress.
    Recalling,
    /// Work of a layer on the prompt.
    Tidying,
    /// Request planned, sent or being answered.
    Answering,
    /// Tools running, or waiting for a person.
    Calling,
    /// Hooks that look at a prompt or at the end of a turn.
    Hooks,
}

/// State of a conversation at one moment. Taking one copies a pointer and a few figures.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Conversation, shared with the driver until the next record arrives.
    pub conversation: Arc<Conversation>,
    /// Tokens in use, estimated.
    pub used: Tokens,
    /// Present activity, for a status line.
    pub activity: Activity,
    /// Sequence number of the newest record.
    pub head: Seq,
    /// Sequence number of the newest stored record; lower than `head` while an append is pending.
    pub stored: Seq,
    /// True if an update of the notes is under way.
    pub writes_notes: bool,
    /// Cause, if the log cannot be written any more.
    pub stopped: Option<String>,
}

impl Driver {
    /// Snapshot of the conversation as it is now.
    pub fn snapshot(&self) -> Snapshot {
        let activity = match self.phase() {
            // First, since a job may run without a turn: a command such as compact.
            _ if self.job.is_some() => Activity::Tidying,
            None => Activity::Idle,
            Some(Phase::RecallingPrompt | Phase::RecallingResults) => Activity::Recalling,
            Some(Phase::Tidying(_)) => Activity::Tidying,
            Some(Phase::Sending | Phase::Answering) => Activity::Answering,
            Some(Phase::Calling) => Activity::Calling,
            Some(Phase::HookingPrompt | Phase::HookingStop) => Activity::Hooks,
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
