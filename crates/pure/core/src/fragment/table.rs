//! The table: every wrapper and marker that Dormouse writes or another client is known to write.
//!
//! # Model
//! A [`Wrapper`] is a pair of tags. Its [`Speaker`] wrote what is between them, its [`Place`] says
//! what may stand around it, its cap bounds what [`render`](super::render) puts inside. A
//! [`Note`] has no tags: it is recognised by how its line begins, and reaches to the end of the
//! message unless it is a line of its own.
//!
//! # Not here
//! Looking for them in a text (`recognise`), shapes of pasted text (`pasted`).

use super::{Place, Speaker, Wrapper};
use Place::{Alone, Beside, Role, Section};
use Speaker::{Dormouse, Host, OtherAgent, Tool, User};

/// Bytes of a reminder: a quarter of a window of 200,000 tokens, so that no single fragment can
/// crowd out a conversation even where the settings that bound its parts are set too high.
const REMINDER_CAP: usize = 256 * 1024;
/// Bytes of a section of a compacted prompt: what a chronicle at its limits takes when it is
/// written out, user messages included.
const SECTION_CAP: usize = 1024 * 1024;
/// Bytes of another client's wrapper when Dormouse renders one: the longest result that clients
/// put into a message instead of a file.
const FOREIGN_CAP: usize = 64 * 1024;

const fn row(tag: &'static str, speaker: Speaker, place: Place) -> Wrapper {
    let cap = match speaker {
        Dormouse => SECTION_CAP,
        User | Host | Tool | OtherAgent => FOREIGN_CAP,
    };
    Wrapper {
        tag,
        speaker,
        cap,
        place,
    }
}

/// Reminder: instructions, recalled memories and notices beside the user's words.
pub static REMINDER: Wrapper = Wrapper {
    tag: "system-reminder",
    speaker: Host,
    cap: REMINDER_CAP,
    place: Beside,
};
/// Frame of a compaction's summary.
pub static CONVERSATION_SUMMARY: Wrapper = row("conversation-summary", Dormouse, Beside);
/// The user's messages that a compaction keeps; quoted, so not said again.
pub static USER_MESSAGES: Wrapper = row("user-messages", Dormouse, Beside);
/// Evidence that a compaction keeps.
pub static EVIDENCE: Wrapper = row("evidence", Dormouse, Section);
/// Conversation as text for a call that does not ride the cache.
pub static CONVERSATION: Wrapper = row("conversation", Dormouse, Section);
/// Notes as the model is shown them.
pub static CURRENT_NOTES: Wrapper = row("current_notes", Dormouse, Beside);
/// Summary in a model's answer.
pub static SUMMARY: Wrapper = row("summary", Dormouse, Section);
/// Scratch part in front of a summary.
pub static ANALYSIS: Wrapper = row("analysis", Dormouse, Section);
/// Session that extraction is asked about.
pub static MESSAGES: Wrapper = row("messages", Dormouse, Section);
/// Message of the user that the selector is asked about.
pub static QUERY: Wrapper = row("query", Dormouse, Section);
/// Memories that the selector chooses from.
pub static CANDIDATES: Wrapper = row("candidates", Dormouse, Section);
/// Part that the user wants no memory or log reader to keep.
pub static PRIVATE: Wrapper = row("private", User, Section);
/// Name of a slash command.
pub static COMMAND_NAME: Wrapper = row("command-name", Host, Alone);
/// Arguments of a slash command, typed by the user.
pub(crate) static COMMAND_ARGS: Wrapper = row("command-args", User, Alone);
/// Command that the user ran with `!`.
pub static BASH_INPUT: Wrapper = row("bash-input", User, Alone);
/// Line that the user saved with `#`.
pub static MEMORY_INPUT: Wrapper = row("user-memory-input", User, Alone);
/// Preview of a result that lies in a file.
pub static PERSISTED_OUTPUT: Wrapper = row("persisted-output", Tool, Beside);
/// Error of a call in Claude Code's results.
pub static TOOL_ERROR: Wrapper = row("tool_use_error", Tool, Beside);
/// Exit code in a result of a background command.
pub static EXIT_CODE: Wrapper = row("exit_code", Tool, Beside);
/// Letter of another agent, as its addressee is shown it.
pub static TEAMMATE_MESSAGE: Wrapper = row("teammate-message", OtherAgent, Alone);

/// Rows with a name of their own; the rest is in [`OTHERS`].
static NAMED: [&Wrapper; 20] = [
    &PERSISTED_OUTPUT,
    &REMINDER,
    &CONVERSATION_SUMMARY,
    &USER_MESSAGES,
    &EVIDENCE,
    &CONVERSATION,
    &CURRENT_NOTES,
    &SUMMARY,
    &ANALYSIS,
    &MESSAGES,
    &QUERY,
    &CANDIDATES,
    &PRIVATE,
    &COMMAND_NAME,
    &COMMAND_ARGS,
    &BASH_INPUT,
    &MEMORY_INPUT,
    &TOOL_ERROR,
    &EXIT_CODE,
    &TEAMMATE_MESSAGE,
];

static OTHERS: [Wrapper; 78] = [
    // Claude Code: commands, shell, editor, hooks, tasks, other agents.
    row("command-message", Host, Alone),
    row("command-contents", Host, Alone),
    row("command-stdout", Tool, Alone),
    row("command-stderr", Tool, Alone),
    row("local-command-caveat", Host, Alone),
    row("local-command-stdout", Tool, Alone),
    row("local-command-stderr", Tool, Alone),
    row("bash-stdout", Tool, Alone),
    row("bash-stderr", Tool, Alone),
    row("bash-notification", Tool, Alone),
    row("ide_diagnostics", Host, Beside),
    row("ide_opened_file", Host, Beside),
    row("ide_selection", Host, Beside),
    row("new-diagnostics", Host, Beside),
    row("user-prompt-submit-hook", Host, Beside),
    row("session-start-hook", Host, Beside),
    row("pre-tool-use-hook", Host, Beside),
    row("post-tool-use-hook", Host, Beside),
    row("stop-hook", Host, Beside),
    row("task-notification", Host, Alone),
    row("background-task-output", Tool, Alone),
    row("tick", Host, Section),
    row("agent-message", OtherAgent, Alone),
    row("agent-notification", OtherAgent, Alone),
    row("cross-session-message", OtherAgent, Alone),
    row("channel-message", OtherAgent, Alone),
    row("channel", OtherAgent, Alone),
    row("mcp-resource", Tool, Beside),
    row("mcp-resource-update", Tool, Alone),
    row("system_warning", Host, Beside),
    row("git-context", Host, Beside),
    row("claude_md", Host, Beside),
    // Codex.
    row("environment_context", Host, Beside),
    row("user_instructions", Host, Beside),
    row("permissions", Host, Section),
    row("collaboration_mode", Host, Beside),
    row("model_switch", Host, Beside),
    row("personality_spec", Host, Beside),
    row("skills_instructions", Host, Beside),
    row("additional_context", Host, Beside),
    row("token_budget", Host, Beside),
    row("context_window", Host, Beside),
    row("recommended_plugins", Host, Beside),
    row("goal_context", Host, Beside),
    row("hook_prompt", Host, Beside),
    row("internal_model_context", Host, Beside),
    row("turn_aborted", Host, Alone),
    row("user_shell_command", Tool, Alone),
    row("subagent_notification", OtherAgent, Alone),
    row("oai-mem-citation", Host, Beside),
    // pi and others: files and skills that the host pasted for the user.
    row("file", Tool, Section),
    row("skill", Host, Section),
    row("read-files", Host, Beside),
    row("modified-files", Host, Beside),
    row("state_snapshot", Host, Beside),
    // Recalled memories of any client.
    row("recalled-memory", Dormouse, Beside),
    row("memory", Dormouse, Role),
    // Turns, calls and parts of prompts, in the dialects of all models.
    row("user", Host, Role),
    row("human", Host, Role),
    row("assistant", OtherAgent, Role),
    row("developer", Host, Role),
    row("system", Host, Role),
    row("tool", Tool, Role),
    row("function", Tool, Role),
    row("invoke", Tool, Role),
    row("parameter", Tool, Section),
    row("parameters", Tool, Section),
    row("think", OtherAgent, Section),
    row("thinking", OtherAgent, Section),
    row("reasoning", OtherAgent, Section),
    row("answer", OtherAgent, Section),
    row("result", Tool, Section),
    row("prompt", Host, Section),
    row("instructions", Host, Section),
    row("tool_result", Tool, Role),
    row("tool_use", Tool, Role),
    row("function_calls", Tool, Role),
    row("function_results", Tool, Role),
];

/// Beginnings of names that only clients and models give to tags.
pub(super) const BEGINNINGS: [&str; 11] = [
    "system-",
    "system_",
    "function_",
    "tool_",
    "tool-",
    "redacted_",
    "user-prompt-",
    "local-command-",
    "ide_",
    "antml",
    "memory",
];

/// The row of a tag, by its name in small letters.
pub fn wrapper(name: &str) -> Option<&'static Wrapper> {
    rows().find(|row| row.tag.eq_ignore_ascii_case(name))
}

/// All rows, those with a name of their own first.
pub fn rows() -> impl Iterator<Item = &'static Wrapper> {
    NAMED.iter().copied().chain(&OTHERS)
}

/// Marker without tags: a line that begins in a certain way.
#[derive(Debug)]
pub struct Note {
    /// Beginning of its line, compared without regard to case.
    pub begins: &'static str,
    /// Author of the line.
    pub speaker: Speaker,
    /// True if the line alone is the note; otherwise it reaches to the end of the message.
    pub one_line: bool,
}

const fn note(begins: &'static str, speaker: Speaker) -> Note {
    Note {
        begins,
        speaker,
        one_line: false,
    }
}

/// Line that recall writes in front of a memory.
pub const MEMORY_HEAD: &str = "Memory (saved ";
/// Heading of each instruction file that Dormouse puts into a reminder.
pub const INSTRUCTIONS_HEAD: &str = "# Instructions from ";
/// Heading that an editor puts over the words typed for Codex.
pub(super) const CODEX_REQUEST: &str = "## My request for Codex:";

/// Notes of clients in the user's place.
pub static NOTES: [Note; 19] = [
    Note {
        begins: "[Request interrupted by user",
        speaker: Host,
        one_line: true,
    },
    Note {
        begins: "[Image: source:",
        speaker: Host,
        one_line: true,
    },
    note(MEMORY_HEAD, Dormouse),
    note("[SYSTEM NOTIFICATION", Host),
    note("[Message from ", OtherAgent),
    note("# AGENTS.md instructions", Host),
    note(INSTRUCTIONS_HEAD, Dormouse),
    note(
        "Another language model started to solve this problem",
        OtherAgent,
    ),
    note(
        "Caveat: The messages below were generated by the user while running",
        Host,
    ),
    note("This session is being continued from a previous", Host),
    note("This conversation is being continued from", Host),
    note(
        "The conversation history before this point was compacted",
        Host,
    ),
    note("The following is a summary of a branch", Host),
    note("Summary of the conversation so far", Host),
    note(
        "Your task is to create a detailed summary of the conversation",
        Host,
    ),
    note("[Stop hook feedback", Host),
    note("Stop hook feedback:", Host),
    note("Base directory for this skill:", Host),
    note("Ran the following shell command", Tool),
];

/// Names that begin a turn at the beginning of a line. The second part tells whether a memory may
/// not begin a line with it either: `User:` is how memories speak about the user.
pub(super) const ROLES: [(&str, bool); 22] = [
    ("human", true),
    ("assistant", true),
    ("system", true),
    ("developer", true),
    ("ai", true),
    ("tool", true),
    ("user", false),
    ("agent", false),
    ("bot", false),
    ("claude", false),
    ("chatgpt", false),
    ("gpt", false),
    ("codex", false),
    ("gemini", false),
    ("copilot", false),
    ("me", false),
    ("benutzer", false),
    ("nutzer", false),
    ("utilisateur", false),
    ("usuario", false),
    ("пользователь", false),
    ("用户", false),
];

/// Elements of HTML and SVG that people write about or paste: a tag of this name is markup.
pub(super) const MARKUP: &str = "a|abbr|article|aside|audio|b|blockquote|body|br|button|canvas|caption|circle|code|col|\
    dd|del|details|dialog|div|dl|dt|em|fieldset|figure|footer|form|g|h1|h2|h3|h4|h5|h6|head|header|hr|html|i|\
    iframe|img|input|ins|kbd|label|legend|li|line|link|main|map|mark|meta|nav|object|ol|optgroup|option|p|path|\
    picture|polygon|pre|progress|q|rect|s|samp|script|section|select|slot|small|source|span|strong|style|sub|sup|\
    svg|table|tbody|td|template|text|textarea|tfoot|th|thead|time|title|tr|u|ul|var|video|wbr";
