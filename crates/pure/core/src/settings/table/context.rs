//! Settings of the context engine: window, thresholds, estimates, prompt cache.

use super::settings;
use crate::record::CHECKPOINT_EVERY;
use crate::settings::choice::{CacheTtl, MessageTtl, Policy};
use crate::settings::setting::{
    Def, Key, Scope, Setting, Unit, choice, count, flag, measured, optional_tokens, percent,
    tokens, var,
};
use crate::settings::value::Percent;
use crate::units::Tokens;

settings! {
    /// Window of a model that the model table does not know.
    CONTEXT_WINDOW: Option<Tokens> = "context.window",
        optional_tokens().range(2_000, 2_000_000).env(&[var("DORMOUSE_CONTEXT_WINDOW")]);

    /// Window assumed when nothing tells it.
    CONTEXT_DEFAULT_WINDOW: Tokens = "context.default_window", tokens(200_000).range(2_000, 2_000_000);

    /// Room kept for an answer: the window less this (or less the model's longest answer, if that
    /// is shorter) is the effective window.
    CONTEXT_OUTPUT_RESERVE: Tokens = "context.output_reserve", tokens(20_000);

    /// Automatic compaction begins this far below the effective window.
    CONTEXT_COMPACT_RESERVE: Tokens = "context.compact_reserve", tokens(13_000);

    /// The warning appears this far below the limit shown.
    CONTEXT_WARNING_MARGIN: Tokens = "context.warning_margin", tokens(20_000);

    /// The error appears this far below the limit shown.
    CONTEXT_ERROR_MARGIN: Tokens = "context.error_margin", tokens(20_000);

    /// Requests are refused this far below the effective window, when compaction cannot help.
    CONTEXT_BLOCKING_RESERVE: Tokens = "context.blocking_reserve", tokens(3_000);

    /// In windows smaller than this, the reserves and margins above shrink in proportion.
    CONTEXT_SMALL_WINDOW: Tokens = "context.small_window", tokens(100_000).range(1, 2_000_000);

    /// What decides when to forget: fixed thresholds or a cost model.
    CONTEXT_POLICY: Policy = "context.policy", choice();

    /// Under the economic policy, share of the best size from which a compaction is taken when a
    /// turn has just ended.
    ECONOMIC_TURN_END: Percent = "economic.turn_end", percent(90);

    /// Under the economic policy, share of the best size from which a compaction is taken between
    /// two rounds of tool calls.
    ECONOMIC_BETWEEN_ROUNDS: u64 = "economic.between_rounds",
        measured(125, Unit::Percent).range(100, 1_000);

    /// Under the economic policy, the size in use moves only when the best size differs from it by
    /// more than this share of the room above what is always there.
    ECONOMIC_HYSTERESIS: Percent = "economic.hysteresis", percent(10);

    /// Under the economic policy, how much dearer compacting earlier or later than best may make
    /// the room above what is always there; where the shares above would cost more, they yield.
    ECONOMIC_TOLERANCE: Percent = "economic.tolerance", percent(6);

    /// Under the economic policy, share of the requests a session is expected to go on for within
    /// which a compaction has to pay for itself.
    ECONOMIC_PAYBACK: Percent = "economic.payback", percent(40);

    /// Under the economic policy, most of the newest rounds that stays beside a summary.
    ECONOMIC_TAIL: Tokens = "economic.tail", tokens(4_000);

    /// Under the economic policy, how many of the files read last are restored after a compaction.
    ECONOMIC_RESTORE_FILES: u64 = "economic.restore.files", count(3);

    /// Under the economic policy, most of one file restored after a compaction.
    ECONOMIC_RESTORE_FILE_LIMIT: Tokens = "economic.restore.file_limit", tokens(1_500);

    /// Under the economic policy, most of all files restored after a compaction.
    ECONOMIC_RESTORE_FILES_LIMIT: Tokens = "economic.restore.files_limit", tokens(3_000);

    /// Under the economic policy, share of the best size below which no notes are written.
    ECONOMIC_NOTES_FROM: Percent = "economic.notes_from", percent(50);

    /// Under the economic policy, share of the best size that the kept tail and restored files may
    /// take after a compaction.
    ECONOMIC_KEEP: Percent = "economic.keep", percent(20);

    /// Estimates that are off by more than this are mentioned, once.
    ESTIMATE_DRIFT: Percent = "estimate.drift", percent(20);

    /// A checkpoint is written whenever the log has grown by this much.
    LOG_CHECKPOINT: u64 = "log.checkpoint", measured(CHECKPOINT_EVERY, Unit::Bytes);

    /// Unexpected losses of the prompt cache are noticed and explained.
    CACHE_BREAK_DETECTION: bool = "cache.break_detection", flag(true);

    /// How long tools and system prompt stay cached.
    CACHE_TTL_PREFIX: CacheTtl = "cache.ttl.prefix", choice();

    /// How long messages stay cached: "auto" is five minutes, or one hour where the pauses of the
    /// session make that cheaper.
    CACHE_TTL_MESSAGES: MessageTtl = "cache.ttl.messages", choice();

    /// A one-token request just before the cache expires, where it pays.
    CACHE_KEEP_ALIVE: bool = "cache.keep_alive", flag(false).scope(Scope::TrustedProject);
}
