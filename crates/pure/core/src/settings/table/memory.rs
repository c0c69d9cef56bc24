//! Settings of durable memory: directory, recall, extraction, dreaming, team.

use super::settings;
use crate::settings::choice::{Consent, MemoryLayout, Review};
use crate::settings::setting::{
    Def, Key, Need, Scope, Setting, Unit, choice, count, disables, flag, measured, percent,
    seconds, text, var,
};
use crate::settings::value::Percent;
use std::time::Duration;

settings! {
    /// Durable memory. A project may switch it off, not on.
    MEMORY: bool = "memory", flag(true)
        .scope(Scope::ProjectOff)
        .env(&[disables("DORMOUSE_DISABLE_AUTO_MEMORY"), disables("CLAUDE_CODE_DISABLE_AUTO_MEMORY")])
        .needs(&[Need::Off("simple")]);

    /// Directory of memory, an absolute path or one that begins with `~/`; a directory of the
    /// project's own below the home directory if unset. Never taken from a project.
    MEMORY_DIRECTORY: Option<String> = "memory.directory",
        text().scope(Scope::User).env(&[var("DORMOUSE_MEMORY_DIR")]);

    /// Tool whose layout the memory directory follows.
    MEMORY_LAYOUT: MemoryLayout = "memory.layout", choice().scope(Scope::User);

    /// Home of Claude Code, for the shared layout and for reading its transcripts; `~/.claude` if
    /// unset.
    MEMORY_CLAUDE_HOME: Option<String> = "memory.claude_home",
        text().scope(Scope::User).env(&[var("CLAUDE_CONFIG_DIR")]);

    /// This is a remote run: memory is kept in `memory.remote_directory` or not at all.
    MEMORY_REMOTE: bool = "memory.remote", flag(false).scope(Scope::User).env(&[var("DORMOUSE_REMOTE")]);

    /// Directory in which remote runs keep memory.
    MEMORY_REMOTE_DIRECTORY: Option<String> = "memory.remote_directory",
        text().scope(Scope::User).env(&[var("DORMOUSE_REMOTE_MEMORY_DIR")]);

    /// Text added to what the agent is told about memory.
    MEMORY_EXTRA_GUIDELINES: Option<String> = "memory.extra_guidelines",
        text().scope(Scope::User).env(&[var("DORMOUSE_MEMORY_EXTRA_GUIDELINES")]);

    /// Which automatic memories wait for approval.
    MEMORY_REVIEW: Review = "memory.review", choice().scope(Scope::User);

    /// Consent to automatic memories: they happen, are asked for, or do not happen.
    MEMORY_CONSENT: Consent = "memory.consent", choice().scope(Scope::User);

    /// Most lines of the memory index that are loaded.
    MEMORY_INDEX_LINES: u64 = "memory.index.lines", measured(200, Unit::Lines);

    /// Most bytes of the memory index that are loaded.
    MEMORY_INDEX_BYTES: u64 = "memory.index.bytes", measured(25_000, Unit::Bytes);

    /// Memories that help with the task at hand are brought in.
    RECALL: bool = "recall", flag(true).needs(&[Need::On("memory")]);

    /// Most memories brought in at once.
    RECALL_FILES: u64 = "recall.files", count(5);

    /// Most lines of one memory that are brought in.
    RECALL_FILE_LINES: u64 = "recall.file_lines", measured(200, Unit::Lines);

    /// Most bytes of one memory that are brought in.
    RECALL_FILE_BYTES: u64 = "recall.file_bytes", measured(4_096, Unit::Bytes);

    /// Most bytes of memories that are brought into one session.
    RECALL_SESSION_BYTES: u64 = "recall.session_bytes", measured(61_440, Unit::Bytes);

    /// Most bytes of the rules and the index with which a session of another agent begins.
    RECALL_START_BYTES: u64 = "recall.start_bytes", measured(6_000, Unit::Bytes).range(500, 9_000);

    /// Instruction files (AGENTS.md, CLAUDE.md) are loaded.
    INSTRUCTIONS: bool = "instructions", flag(true).needs(&[Need::Off("simple")]);

    /// Depth to which instruction files may include others.
    INSTRUCTIONS_INCLUDE_DEPTH: u64 = "instructions.include_depth", count(5).range(0, 32);

    /// Most characters of one instruction file.
    INSTRUCTIONS_FILE_LIMIT: u64 = "instructions.file_limit", measured(40_000, Unit::Characters);

    /// The agent may search memory and earlier sessions.
    SEARCH_PAST: bool = "search_past",
        flag(true).scope(Scope::ProjectOff).needs(&[Need::Off("simple")]).hidden();

    /// Memories are drawn from the conversation after each answer.
    EXTRACT: bool = "extract", flag(true).scope(Scope::ProjectOff).needs(&[Need::On("memory")]);

    /// Memories are drawn from runs of a single prompt too, and dreams begin at their end.
    EXTRACT_ONE_SHOT: bool = "extract.one_shot",
        flag(false).scope(Scope::User).needs(&[Need::On("extract")]);

    /// Memories are drawn only after every so many answers.
    EXTRACT_EVERY: u64 = "extract.every", count(1).range(1, 1_000).scope(Scope::User);

    /// Most model turns that drawing memories from a conversation may take.
    EXTRACT_TURNS: u64 = "extract.turns", count(5).range(1, 50).scope(Scope::User);

    /// Longest time that leaving the program waits for memories to be saved.
    EXTRACT_EXIT_WAIT: Duration = "extract.exit_wait", seconds(60).scope(Scope::User);

    /// Dreams: from time to time memories are merged, corrected and sorted.
    DREAM: bool = "dream", flag(true).scope(Scope::ProjectOff).needs(&[Need::On("memory")]);

    /// Least time between two dreams.
    DREAM_INTERVAL: Duration = "dream.interval", seconds(24 * 3_600).scope(Scope::User);

    /// Other sessions that must have happened since the last dream.
    DREAM_SESSIONS: u64 = "dream.sessions", count(5).scope(Scope::User);

    /// A dream is ended after this time.
    DREAM_TIME_LIMIT: Duration = "dream.time_limit", seconds(50 * 60).scope(Scope::User);

    /// Requests to a model that a dream may make.
    DREAM_REQUESTS: u64 = "dream.requests", count(60).range(1, 1_000).scope(Scope::User);

    /// Most of the memories that a dream may drop without a stated reason.
    DREAM_LOSS: Percent = "dream.loss", percent(25).scope(Scope::User);

    /// Memory shared by the people of a project.
    TEAM: bool = "team", flag(true).scope(Scope::ProjectOff).needs(&[Need::On("memory")]);

    /// Directory of shared memory; in the repository if unset. Never taken from a project.
    TEAM_DIRECTORY: Option<String> = "team.directory", text().scope(Scope::User);

    /// The agent writes a daily log instead of keeping the index itself.
    DAILY_LOG: bool = "daily_log", flag(false).scope(Scope::User).needs(&[Need::On("memory")]);
}
