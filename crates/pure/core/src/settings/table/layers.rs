//! Settings of layers 1 to 4: offload, clearing, session notes, compaction.

use super::settings;
use crate::settings::setting::{
    Def, Key, Need, Setting, Unit, count, disables, flag, list, measured, optional_count,
    optional_percent, seconds, tokens, var,
};
use crate::settings::value::Percent;
use crate::units::Tokens;
use std::time::Duration;

settings! {
    /// Large tool results go to a file and leave a preview.
    OFFLOAD: bool = "offload", flag(true);

    /// Largest tool result that stays whole, for tools without a limit of their own.
    OFFLOAD_DEFAULT_LIMIT: u64 = "offload.default_limit", measured(50_000, Unit::Characters);

    /// Largest result of a shell command that stays whole.
    OFFLOAD_LIMIT_BASH: u64 = "offload.limit.Bash", measured(30_000, Unit::Characters);

    /// Largest result of a search in files that stays whole.
    OFFLOAD_LIMIT_GREP: u64 = "offload.limit.Grep", measured(20_000, Unit::Characters);

    /// Largest result of a search for files that stays whole.
    OFFLOAD_LIMIT_GLOB: u64 = "offload.limit.Glob", measured(20_000, Unit::Characters);

    /// Largest result of an agent that stays whole.
    OFFLOAD_LIMIT_AGENT: u64 = "offload.limit.Agent", measured(32_000, Unit::Characters);

    /// Largest result of the tool of that name that stays whole.
    OFFLOAD_LIMIT_TOOL: Option<u64> = "offload.limit.<tool>", optional_count(Unit::Characters);

    /// Most that all results of one turn may have together; beyond it the largest go first.
    OFFLOAD_TURN_LIMIT: u64 = "offload.turn_limit", measured(200_000, Unit::Characters);

    /// Length of the preview that stays.
    OFFLOAD_PREVIEW: u64 = "offload.preview", measured(2_000, Unit::Bytes);

    /// Long tool results become shorter once the model has answered them, where that is cheaper; the
    /// whole text is in a file.
    DISTIL: bool = "distil", flag(true);

    /// Tools whose results may be distilled: those whose distillates were measured on recorded
    /// sessions. Results of tools that read files never are within a turn.
    DISTIL_TOOLS: Vec<String> = "distil.tools", list(&["Bash"]);

    /// Most tokens of a distilled result.
    DISTIL_LIMIT: Tokens = "distil.limit", tokens(600);

    /// Tools whose old results may be cleared.
    MICROCOMPACT_TOOLS: Vec<String> = "microcompact.tools",
        list(&["Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"]);

    /// Old tool results are cleared when the cache has lapsed anyway.
    MICROCOMPACT_IDLE: bool = "microcompact.idle", flag(true);

    /// Number of the newest results that stay when a lapsed cache lets the others go.
    MICROCOMPACT_IDLE_KEEP: u64 = "microcompact.idle.keep", count(5).range(1, u64::MAX);

    /// Old tool results are cleared when the window gets tight.
    MICROCOMPACT_PRESSURE: bool = "microcompact.pressure", flag(true);

    /// Number of the newest results that stay when a tight window makes the others go.
    MICROCOMPACT_PRESSURE_KEEP: u64 = "microcompact.pressure.keep", count(3).range(1, u64::MAX);

    /// Clearing in a tight window happens only if the results it may touch hold more than this.
    MICROCOMPACT_PRESSURE_MIN_HELD: Tokens = "microcompact.pressure.min_held", tokens(40_000);

    /// Clearing in a tight window happens only if it frees at least this much.
    MICROCOMPACT_PRESSURE_MIN_FREED: Tokens = "microcompact.pressure.min_freed", tokens(20_000);

    /// Old tool results are deleted from the provider's cache, where it can do that.
    MICROCOMPACT_CACHE_EDITS: bool = "microcompact.cache_edits", flag(false);

    /// Results are deleted from the provider's cache once more than this many are live.
    MICROCOMPACT_CACHE_EDITS_TRIGGER: u64 = "microcompact.cache_edits.trigger", count(12);

    /// Number of the newest results that stay in the provider's cache.
    MICROCOMPACT_CACHE_EDITS_KEEP: u64 = "microcompact.cache_edits.keep",
        count(5).range(1, u64::MAX);

    /// The provider is asked to clear old thinking and tool results, where it can do that.
    MICROCOMPACT_API: bool = "microcompact.api", flag(false);

    /// Prompt length from which the provider clears.
    MICROCOMPACT_API_TRIGGER: Tokens = "microcompact.api.trigger", tokens(180_000);

    /// The least the provider is asked to clear at once.
    MICROCOMPACT_API_CLEAR_AT_LEAST: Tokens = "microcompact.api.clear_at_least", tokens(140_000);

    /// Session notes are kept while working. Off when automatic compaction is off.
    NOTES: bool = "notes", flag(true).needs(&[Need::On("compact.auto"), Need::Off("simple")]);

    /// Session notes serve as the summary of a compaction, without a model call.
    NOTES_COMPACT: bool = "notes.compact", flag(true).needs(&[Need::On("notes")]);

    /// Conversation length at which notes are first written.
    NOTES_START: Tokens = "notes.start", tokens(10_000);

    /// Growth since the last update of the notes that calls for another one.
    NOTES_GROWTH: Tokens = "notes.growth", tokens(5_000);

    /// Tool calls since the last update of the notes that it also takes, unless the last turn made
    /// none.
    NOTES_TOOL_CALLS: u64 = "notes.tool_calls", count(3);

    /// Longest section of the notes.
    NOTES_SECTION_LIMIT: Tokens = "notes.section_limit", tokens(2_000);

    /// Longest the notes may be in all.
    NOTES_TOTAL_LIMIT: Tokens = "notes.total_limit", tokens(12_000);

    /// Least of the recent conversation that stays beside notes used as a summary.
    NOTES_KEEP_TOKENS: Tokens = "notes.keep_tokens", tokens(10_000);

    /// Least number of messages with text that stays beside notes used as a summary.
    NOTES_KEEP_MESSAGES: u64 = "notes.keep_messages", count(5);

    /// Most of the recent conversation that stays beside notes used as a summary; if what they do
    /// not cover is longer, they are not used.
    NOTES_KEEP_LIMIT: Tokens = "notes.keep_limit", tokens(40_000);

    /// Longest time that a compaction waits for an update of the notes that is under way.
    NOTES_WAIT: Duration = "notes.wait", seconds(15);

    /// Compaction of any kind, by command or automatic.
    COMPACT: bool = "compact", flag(true).env(&[disables("DISABLE_COMPACT")]);

    /// Compaction happens by itself when the target is reached.
    COMPACT_AUTO: bool = "compact.auto",
        flag(true).env(&[disables("DISABLE_AUTO_COMPACT")]).needs(&[Need::On("compact")]);

    /// Share of the effective window at which automatic compaction begins; can only make it begin
    /// earlier.
    COMPACT_PERCENT: Option<Percent> = "compact.percent", optional_percent()
        .env(&[var("DORMOUSE_AUTOCOMPACT_PCT"), var("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE")]);

    /// Most that the user's own messages take in a summary before the oldest are shortened.
    COMPACT_USER_MESSAGES_LIMIT: Tokens = "compact.user_messages_limit", tokens(20_000);

    /// Longest list of files, commands, results and figures that stands beside a summary.
    COMPACT_EVIDENCE_LIMIT: Tokens = "compact.evidence_limit", tokens(8_000);

    /// Number of the files read last that are restored after a compaction.
    COMPACT_RESTORE_FILES: u64 = "compact.restore.files", count(5);

    /// Most of one file restored after a compaction.
    COMPACT_RESTORE_FILE_LIMIT: Tokens = "compact.restore.file_limit", tokens(5_000);

    /// Most of all files restored after a compaction.
    COMPACT_RESTORE_FILES_LIMIT: Tokens = "compact.restore.files_limit", tokens(50_000);

    /// Failures in a row after which automatic compaction by a model stops for the session.
    COMPACT_BREAKER: u64 = "compact.breaker", count(3).range(1, 100);

    /// Ranges of messages can be taken out of the view.
    SNIP: bool = "snip", flag(false).hidden();

    /// Finished spans are folded one by one instead of one big summary.
    COLLAPSE: bool = "collapse", flag(false).hidden();
}
