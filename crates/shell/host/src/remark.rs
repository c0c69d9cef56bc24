//! Facts beside a result, kept by the host until a program takes them.

use serde::Serialize;
use std::path::PathBuf;

/// A fact beside a result that a person wants to know. Doors word it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "remark")]
pub enum Remark {
    /// Some settings cannot be used.
    SettingsIssues {
        /// Number of settings with a problem.
        count: usize,
    },
    /// A file of a memory directory is no part of the answer.
    MemoryLeftOut {
        /// The file, relative to its directory.
        path: PathBuf,
        /// The reason, in words.
        why: String,
    },
    /// Team memory exists and is no part of the answer: its folder is not trusted.
    TeamUntrusted,
    /// Memory is no part of the answer.
    NoMemory {
        /// The reason, in words.
        why: String,
    },
    /// The index of a memory directory nears its limits.
    IndexNearlyFull {
        /// The figures, in words.
        what: String,
    },
    /// A transcript or folder is no part of the answer.
    LeftOut {
        /// The reason, with the path in it.
        why: String,
    },
    /// A folder below the one that was asked for cannot be listed.
    Unlisted {
        /// The reason, with the path in it.
        why: String,
    },
    /// Credentials in an exported session are replaced by marks.
    Redacted {
        /// Number of credentials that were found.
        count: u64,
    },
    /// Lines of a transcript could not be read in full.
    LinesSkipped {
        /// Path of the transcript.
        file: PathBuf,
        /// Number of lines left out or read in part.
        count: u64,
    },
    /// Records of a transcript are missing; their place in the conversation was bridged.
    GapsBridged {
        /// Path of the transcript.
        file: PathBuf,
        /// Parents that were missing or led round in a cycle, on the path that was read.
        count: u64,
        /// The newest gap: the record behind it and the one at which the conversation goes on.
        between: (String, String),
    },
    /// A rule for tool calls cannot be read and counts for nothing.
    RuleUnread {
        /// The reason, with the rule in it.
        why: String,
        /// File or flag it stands in.
        origin: String,
    },
    /// Rules that allow tool calls are left out: they stand in a project that is not trusted.
    RulesUntrusted {
        /// File they stand in.
        file: PathBuf,
        /// Number of rules left out.
        count: usize,
    },
    /// Instructions are not read: they stand in a project that is not trusted.
    InstructionsUntrusted {
        /// File they stand in.
        file: PathBuf,
    },
    /// Hooks are not run: they stand in a project that is not trusted.
    HooksUntrusted {
        /// File they stand in.
        origin: String,
    },
    /// Sub-agents are not known: they are defined in a project that is not trusted.
    AgentsUntrusted {
        /// Folder of the definitions.
        folder: PathBuf,
    },
    /// A definition of a sub-agent cannot be used.
    AgentUnread {
        /// File it stands in.
        file: PathBuf,
        /// The reason, in words.
        why: String,
    },
    /// Skills or commands are not known: they stand in a project that is not trusted.
    SkillsUntrusted {
        /// Folder they stand in.
        folder: PathBuf,
    },
    /// A skill or a command cannot be used.
    SkillUnread {
        /// File it stands in, or the folder.
        file: PathBuf,
        /// The reason, in words.
        why: String,
    },
    /// Servers of tools are not started: they stand in a project that is not trusted.
    ServersUntrusted {
        /// File they stand in.
        origin: String,
    },
    /// The work was done by rules alone.
    WithoutModel {
        /// The reason, in words.
        why: String,
    },
}
