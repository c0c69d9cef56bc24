//! Moments of another agent's session, as its hooks tell them.
//!
//! # Model
//! The form is that of Claude Code's hooks: a JSON object, of which only the fields that are used are
//! read. Fields that are missing are empty; a client that leaves one out gets less and no error.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Moment of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestMoment {
    /// A session began, was resumed, or was compacted.
    SessionStart,
    /// The user sent a prompt.
    UserPromptSubmit,
    /// A sub-agent of the session began.
    SubagentStart,
    /// A tool has run.
    PostToolUse,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The agent has answered.
    #[default]
    Stop,
    /// The session is over.
    SessionEnd,
}

impl GuestMoment {
    /// All moments, in the order of a session.
    pub const ALL: [Self; 7] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::SubagentStart,
        Self::PostToolUse,
        Self::PreCompact,
        Self::Stop,
        Self::SessionEnd,
    ];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::UserPromptSubmit => "user-prompt-submit",
            Self::SubagentStart => "subagent-start",
            Self::PostToolUse => "post-tool-use",
            Self::PreCompact => "pre-compact",
            Self::Stop => "stop",
            Self::SessionEnd => "session-end",
        }
    }

    /// Name in the client's settings and answers.
    pub const fn event(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::SubagentStart => "SubagentStart",
            Self::PostToolUse => "PostToolUse",
            Self::PreCompact => "PreCompact",
            Self::Stop => "Stop",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// The moment of this name, by either spelling.
    pub fn of(name: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|moment| moment.name() == name || moment.event() == name)
    }
}

/// Moment with its facts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct GuestEvent {
    /// The moment; named by the door, not by the event.
    #[serde(skip)]
    pub moment: GuestMoment,
    /// Id of the session.
    pub session_id: String,
    /// Transcript that the client writes.
    pub transcript_path: Option<PathBuf>,
    /// Folder that the session works in.
    pub cwd: Option<PathBuf>,
    /// Way in which the session began: `startup`, `resume`, `clear`, `compact`.
    pub source: String,
    /// Words of the user; empty at other moments.
    pub prompt: String,
    /// Tool that has run.
    pub tool_name: String,
    /// Input that the tool ran with.
    pub tool_input: Value,
    /// Sub-agent that the moment belongs to; `None` for the conversation itself.
    pub agent_id: Option<String>,
}

impl GuestEvent {
    /// Reads an event of a client.
    ///
    /// # Errors
    /// When it is no JSON object, or a field has another type.
    pub fn read(moment: GuestMoment, bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let event: Self = serde_json::from_slice(bytes)?;
        Ok(Self { moment, ..event })
    }

    /// Folder of the project: the one that the client names in its environment, because a session may
    /// have moved into another; else the one it works in.
    pub fn folder(&self, project: Option<PathBuf>) -> Option<PathBuf> {
        let named = project.or_else(|| self.cwd.clone());
        named.filter(|folder| folder.is_absolute())
    }

    /// The transcript, unless it lies in the project: a file of the project would pass for words of
    /// the user.
    pub(super) fn transcript(&self, project: &Path) -> Option<PathBuf> {
        let path = self.transcript_path.clone()?;
        let is_transcript = path.extension().is_some_and(|end| end == "jsonl");
        (path.is_absolute() && is_transcript && !path.starts_with(project)).then_some(path)
    }
}

/// Answer to a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestAnswer {
    /// Text for the guest's conversation; `None` leaves it as it is.
    pub context: Option<String>,
    /// True if the spool has work for a detached process.
    pub work: bool,
}

impl GuestAnswer {
    pub(super) const fn with(text: String, work: bool) -> Self {
        Self {
            context: Some(text),
            work,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn every_moment_is_found_by_both_names() {
        for moment in GuestMoment::ALL {
            assert_eq!(GuestMoment::of(moment.name()), Some(moment));
            assert_eq!(GuestMoment::of(moment.event()), Some(moment));
        }
        assert_eq!(GuestMoment::of("Notification"), None);
    }

    #[test]
    fn a_file_of_the_project_is_no_transcript() {
        let event = |path: &str| GuestEvent {
            transcript_path: Some(path.into()),
            ..GuestEvent::default()
        };
        let project = Path::new("/work/project");
        let taken = |path| event(path).transcript(project).is_some();
        assert!(taken("/home/u/.claude/projects/-work/1.jsonl"));
        assert!(!taken("/work/project/forged.jsonl"));
        assert!(!taken("/etc/passwd"));
        assert!(!taken("relative.jsonl"));
    }
}
