//! Size of the window, and the thresholds on the way to its end.
//!
//! Model: a window has an effective part (what remains beside an answer), a target at which
//! automatic compaction begins, and a limit at which requests are refused. The gauge compares the
//! tokens in use with these; screens show the rest up to the first one that matters.
//!
//! For every window from 2,000 to 2,000,000 tokens and every percentage: warning ≤ error ≤ limit
//! shown ≤ effective window, and with automatic compaction warning ≤ target ≤ blocking limit.
//! Reserves shrink in proportion on small windows so that this holds there too; contradictory
//! settings are clamped, not refused.
//!
//! Not here: the evidence of a log ([`crate::window_proof`]), counting tokens, deciding how to compact, and policies that compact earlier to save
//! cost. The gauges always show these classic figures.

use crate::window_proof::{size_for, surely_held};
use dormouse_core::models::Resolved;
use dormouse_core::record::WindowEvidence;
use dormouse_core::settings::WindowSettings;
use dormouse_core::units::Tokens;

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;

/// Window of a `[1m]` suffix and of the beta header, as their names say.
const MILLION: Tokens = Tokens(1_000_000);
/// Prefix of the beta name that requests a million tokens on models without it; a date follows.
const MILLION_BETA: &str = "context-1m-";

/// Distance below the effective window at which requests are refused if compaction cannot help: room
/// for a command of the user and for an estimate that is a little off.
const BLOCKING_RESERVE: Tokens = Tokens(3_000);
/// Window below which reserves and margins shrink in proportion. At 100,000 tokens the default
/// reserves take a third; unscaled, they would take all of a window of 32,000.
const SMALL_WINDOW: Tokens = Tokens(100_000);

/// Rule that determined the window, in order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRule {
    /// Setting of the user.
    Configured,
    /// Beta header of the request.
    MillionBeta,
    /// Length of a prompt that was answered, beyond the window of the rules below.
    Answered(Tokens),
    /// Length at which a compaction began by itself.
    CompactedAt(Tokens),
    /// Length before another compaction, beyond the window of the rules below.
    Held(Tokens),
    /// Client that wrote the log.
    Named,
    /// Suffix `[1m]` of the model name.
    MillionSuffix,
    /// Entry of the model table.
    ModelTable,
    /// Default of the settings, if no other rule applies.
    Default,
}

/// A window and the rule that determined it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Size in tokens, prompt and answer together.
    pub tokens: Tokens,
    /// Rule for the reason shown beside the size.
    pub rule: WindowRule,
}

impl Window {
    /// Applies the rules. `betas` are the beta names sent with requests, `evidence` is what the log
    /// has proved about this model.
    pub fn resolve<'b>(
        model: Resolved<'_>,
        betas: impl IntoIterator<Item = &'b str>,
        evidence: Option<&WindowEvidence>,
        settings: &WindowSettings,
    ) -> Self {
        if let Some(configured) = settings.configured_window {
            return Self::by(configured, WindowRule::Configured);
        }
        let evidence = evidence.copied().unwrap_or_default();
        let mut window = match evidence.named {
            Some(named) => Self::by(named, WindowRule::Named),
            None => Self::listed(model, settings),
        };
        if let Some(at) = evidence.automatic.filter(|_| evidence.named.is_none()) {
            let held = surely_held(at);
            let size = size_for(held, model);
            // A size that agrees with the table leaves the table's word.
            if held > window.tokens || size < window.tokens {
                window = Self::by(size, WindowRule::CompactedAt(at));
            }
        }
        let held = evidence
            .held
            .map(|at| (surely_held(at), WindowRule::Held(at)));
        let answered = evidence
            .answered
            .map(|tokens| (tokens, WindowRule::Answered(tokens)));
        for (tokens, rule) in held.into_iter().chain(answered) {
            if tokens > window.tokens {
                window = Self::by(size_for(tokens, model), rule);
            }
        }
        let asks = |beta: &str| beta.trim().starts_with(MILLION_BETA);
        if window.tokens < MILLION && betas.into_iter().any(asks) {
            window = Self::by(MILLION, WindowRule::MillionBeta);
        }
        window
    }

    /// Window without any evidence: suffix, table, default.
    fn listed(model: Resolved<'_>, settings: &WindowSettings) -> Self {
        // The suffix comes first: the user wrote it for this model.
        if model.million_suffix {
            Self::by(MILLION, WindowRule::MillionSuffix)
        } else if model.is_known() {
            Self::by(model.info.window, WindowRule::ModelTable)
        } else {
            Self::by(settings.default_window, WindowRule::Default)
        }
    }

    const fn by(tokens: Tokens, rule: WindowRule) -> Self {
        Self { tokens, rule }
    }
}

/// Ability of automatic compaction to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relief {
    /// Nothing is known to prevent it.
    Available,
    /// The breaker is open: it failed too often, or what must be kept exceeds the target.
    Exhausted,
}

/// Fill level of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gauge {
    /// Below the warning threshold.
    Ok,
    /// At or above the warning threshold.
    Warning,
    /// At or above the error threshold.
    Error,
    /// At or above the target: compact before the next request.
    Compact,
    /// At or above the blocking limit with compaction off or exhausted: no request is made.
    Blocked,
}

/// Thresholds of a window, in tokens of the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// Whole window, prompt and answer together.
    pub window: Tokens,
    /// Window minus the reserve for an answer: the longest prompt that can be answered.
    pub effective_window: Tokens,
    /// Start of automatic compaction; computed even if it is off.
    pub autocompact_target: Tokens,
    /// 100 % on screens: the target, or the effective window if compaction is not automatic.
    pub limit_shown: Tokens,
    /// Start of [`Gauge::Warning`]; never below half of the limit shown.
    pub warning: Tokens,
    /// Start of [`Gauge::Error`]; never below the warning.
    pub error: Tokens,
    /// Start of [`Gauge::Blocked`]; applies only if compaction cannot help.
    pub blocking_limit: Tokens,
    /// True if compaction is automatic, from the settings.
    pub auto_compact: bool,
}

impl Thresholds {
    /// Computes the thresholds. `max_output` is the longest answer the model can give.
    pub fn new(window: Tokens, max_output: Tokens, settings: &WindowSettings) -> Self {
        let scaled = |figure: Tokens| in_proportion(figure, window, SMALL_WINDOW);
        // A model with short answers needs less than the full reserve.
        let effective_window = window - max_output.min(scaled(settings.output_reserve));
        let latest_target = effective_window - scaled(settings.compact_reserve);
        let autocompact_target = settings.compact_percent.map_or(latest_target, |percent| {
            percent.of(effective_window).min(latest_target)
        });
        let limit_shown = if settings.auto_compact {
            autocompact_target
        } else {
            effective_window
        };

        // The clamps keep the order in the module docs for every combination of settings.
        let half = Tokens(limit_shown.get().div_ceil(2));
        let warning = (limit_shown - scaled(settings.warning_margin)).max(half);
        // If the error margin is set wider than the warning margin, the warning still comes first.
        let error = (limit_shown - scaled(settings.error_margin)).max(warning);
        // A blocking reserve wider than the compaction reserve would otherwise refuse requests
        // before compaction was tried, or before the error was shown.
        let first_help = if settings.auto_compact {
            autocompact_target
        } else {
            error
        };
        let blocking_limit = (effective_window - scaled(BLOCKING_RESERVE)).max(first_help);
        Self {
            window,
            effective_window,
            autocompact_target,
            limit_shown,
            warning,
            error,
            blocking_limit,
            auto_compact: settings.auto_compact,
        }
    }

    /// Percentage left up to the limit shown, rounded; zero at and beyond it.
    pub fn percent_left(&self, used: Tokens) -> u8 {
        let limit = u128::from(self.limit_shown.get());
        let left = u128::from((self.limit_shown - used).get());
        if limit == 0 {
            return 0;
        }
        // Integer rounding, half up.
        u8::try_from((left * 200 + limit) / (limit * 2)).unwrap_or(100)
    }

    /// True if automatic compaction is on and the target reached.
    pub(crate) fn compaction_due(&self, used: Tokens) -> bool {
        self.auto_compact && used >= self.autocompact_target
    }

    /// Fill level at this use. Compaction and blocking exclude each other: as long as compaction
    /// can help, requests are not refused.
    pub fn gauge(&self, used: Tokens, relief: Relief) -> Gauge {
        let can_compact = self.auto_compact && relief == Relief::Available;
        if can_compact && self.compaction_due(used) {
            Gauge::Compact
        } else if !can_compact && used >= self.blocking_limit {
            Gauge::Blocked
        } else if used >= self.error {
            Gauge::Error
        } else if used >= self.warning {
            Gauge::Warning
        } else {
            Gauge::Ok
        }
    }

    /// Check that compaction can get below the target. `floor` is what it can never remove: system
    /// prompt, tools, instructions and the part that must be kept.
    pub(crate) fn check_floor(&self, floor: Tokens) -> FloorCheck {
        if floor > self.autocompact_target {
            FloorCheck::Irreducible {
                excess: floor - self.autocompact_target,
            }
        } else {
            FloorCheck::Reducible {
                room: self.autocompact_target - floor,
            }
        }
    }
}

/// Answer of `Thresholds::check_floor`: whether compaction can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloorCheck {
    /// The floor fits below the target: compaction can help.
    Reducible {
        /// Tokens between floor and target.
        room: Tokens,
    },
    /// The floor exceeds the target: compaction cannot help until the floor falls.
    Irreducible {
        /// Tokens by which the floor exceeds the target.
        excess: Tokens,
    },
}

/// A figure made for `full` or more tokens, scaled down in proportion where there are fewer.
pub(crate) fn in_proportion(figure: Tokens, size: Tokens, full: Tokens) -> Tokens {
    if size >= full {
        return figure;
    }
    // The divisor is not zero, because `size < full`; the result is at most `figure`.
    let share = u128::from(figure.get()) * u128::from(size.get()) / u128::from(full.get());
    Tokens(u64::try_from(share).unwrap_or(figure.get()))
}
