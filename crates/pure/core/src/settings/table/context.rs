//! Settings of the context engine: window, thresholds, estimates, prompt cache.

use super::settings;
use crate::record::CHECKPOINT_EVERY;
use crate::settings::choice::{CacheTtl, MessageTtl, Policy};
use crate::settings::setting::{
    Def, Key, Scope, Setting, Unit, choice, flag, measured, optional_tokens, tokens, var,
};
use crate::units::Tokens;

settings! {
    /// Window of the model in tokens, whatever the log, the model's name or the model table say.
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

    /// Policy that decides when to forget: fixed thresholds or a cost model.
    CONTEXT_POLICY: Policy = "context.policy", choice();

    /// A checkpoint is written whenever the log has grown by this much.
    LOG_CHECKPOINT: u64 = "log.checkpoint", measured(CHECKPOINT_EVERY, Unit::Bytes);

    /// Unexpected losses of the prompt cache are noticed and explained.
    CACHE_BREAK_DETECTION: bool = "cache.break_detection", flag(true);

    /// Lifetime of tools and system prompt in the cache.
    CACHE_TTL_PREFIX: CacheTtl = "cache.ttl.prefix", choice();

    /// Lifetime of messages in the cache: "auto" is five minutes, or one hour where the pauses of
    /// the session make that cheaper.
    CACHE_TTL_MESSAGES: MessageTtl = "cache.ttl.messages", choice();

    /// A one-token request just before the cache expires, where it pays.
    CACHE_KEEP_ALIVE: bool = "cache.keep_alive", flag(false).scope(Scope::TrustedProject);
}
