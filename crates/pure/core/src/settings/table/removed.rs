//! Keys of earlier versions. A file that still has one loads, with a warning that names the key.
//!
//! Most were figures of a policy that a person cannot choose well; they are constants beside the
//! code that uses them.

/// Keys that no longer exist, in the order of the alphabet. A key is never used again for something
/// else, because an old file would then say something its author did not mean.
pub(super) const REMOVED: &[&str] = &[
    "agents.summary.interval",
    "agents.summary.source",
    "collapse.prepare",
    "compact.offline_limit",
    "compact.restore.skill_limit",
    "compact.restore.skills_limit",
    "compact.stream_retries",
    "compact.too_long.drop",
    "compact.too_long.tries",
    "compact.wait",
    "context.blocking_reserve",
    "context.small_window",
    "dream.lock_age",
    "dream.scan_interval",
    "dream.turns_shown",
    "economic.between_rounds",
    "economic.hysteresis",
    "economic.keep",
    "economic.notes_from",
    "economic.payback",
    "economic.restore.file_limit",
    "economic.restore.files",
    "economic.restore.files_limit",
    "economic.tail",
    "economic.tolerance",
    "economic.turn_end",
    "estimate.drift",
    "microcompact.api.idle_thinking",
    "microcompact.pressure.leave",
    "recall.candidates",
    "recall.selector_time",
    "recall.selector_tokens",
];

/// True if an earlier version had a setting of this name.
pub(in crate::settings) fn is_removed(key: &str) -> bool {
    REMOVED.contains(&key)
}
