//! How large the window is, and what happens as it fills.
//!
//! Model: a window has an effective part (what is left beside an answer), a target where automatic
//! compaction begins, and a point where requests are refused. The gauge compares what is used with
//! these, and people are shown what is left up to the first of them that matters.
//!
//! For every window from 2,000 to 2,000,000 tokens and every percentage:
//! warning ≤ error ≤ limit shown ≤ effective window, and while compaction is automatic
//! warning ≤ target ≤ blocking limit. Reserves shrink with windows below a certain size so that
//! this holds there too; settings that contradict each other are bent, not refused.
//!
//! Not here: counting what is used, deciding how to compact, and policies that compact earlier for
//! economy. The gauges always show these classic figures.

use dormouse_core::models::Resolved;
use dormouse_core::settings::WindowSettings;
use dormouse_core::units::Tokens;

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;

/// The window that a `[1m]` suffix or the beta header stands for.
const MILLION: Tokens = Tokens(1_000_000);
/// Beginning of the beta name that asked for a million tokens before models had it by themselves.
const MILLION_BETA: &str = "context-1m-";

/// Which rule gave the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRule {
    /// The model name ended in `[1m]`.
    MillionSuffix,
    /// The model table lists the model.
    ModelTable,
    /// The request asks for the beta of a million tokens.
    MillionBeta,
    /// The settings say so.
    Configured,
    /// Nothing told it.
    Default,
}

/// A window and why it is that large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its size.
    pub tokens: Tokens,
    /// The rule that gave it.
    pub rule: WindowRule,
}

impl Window {
    /// The first rule that applies. `betas` are the beta names sent with requests.
    pub fn resolve<'b>(
        model: Resolved<'_>,
        betas: impl IntoIterator<Item = &'b str>,
        settings: &WindowSettings,
    ) -> Self {
        let (tokens, rule) = if model.million_suffix {
            (MILLION, WindowRule::MillionSuffix)
        } else if model.is_known() {
            (model.info.window, WindowRule::ModelTable)
        } else if betas
            .into_iter()
            .any(|beta| beta.trim().starts_with(MILLION_BETA))
        {
            (MILLION, WindowRule::MillionBeta)
        } else if let Some(configured) = settings.configured_window {
            (configured, WindowRule::Configured)
        } else {
            (settings.default_window, WindowRule::Default)
        };
        Self { tokens, rule }
    }
}

/// Whether compaction, where it is automatic, can still make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relief {
    /// As far as known.
    Available,
    /// No: it failed too often, or what must be kept is too much already.
    Exhausted,
}

/// How full the window is, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gauge {
    /// Room enough.
    Ok,
    /// Getting full.
    Warning,
    /// Nearly full.
    Error,
    /// Compaction is due.
    Compact,
    /// No request can be made.
    Blocked,
}

/// The figures a gauge compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// The whole window.
    pub window: Tokens,
    /// What is left of it beside an answer.
    pub effective_window: Tokens,
    /// Where automatic compaction begins, whether or not it is on.
    pub autocompact_target: Tokens,
    /// What people are shown as full: the target, or the effective window without automation.
    pub limit_shown: Tokens,
    /// Where the warning begins.
    pub warning: Tokens,
    /// Where the error begins.
    pub error: Tokens,
    /// Where requests are refused, if compaction cannot help.
    pub blocking_limit: Tokens,
    /// Compaction is automatic.
    pub auto_compact: bool,
}

impl Thresholds {
    /// The figures for a window and a model's longest answer.
    pub fn new(window: Tokens, max_output: Tokens, settings: &WindowSettings) -> Self {
        let scaled = |figure: Tokens| scaled(figure, window, settings.small_window);
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

        let half = Tokens(limit_shown.get().div_ceil(2));
        let warning = (limit_shown - scaled(settings.warning_margin)).max(half);
        // Where someone sets the error's margin wider than the warning's, the warning still comes
        // first.
        let error = (limit_shown - scaled(settings.error_margin)).max(warning);
        // A reserve for blocking that is wider than the one for compaction must not block before
        // compaction had its chance, nor before the error was shown.
        let first_help = if settings.auto_compact {
            autocompact_target
        } else {
            error
        };
        let blocking_limit = (effective_window - scaled(settings.blocking_reserve)).max(first_help);
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

    /// Per cent left up to the limit shown, rounded; zero at and beyond it.
    pub fn percent_left(&self, used: Tokens) -> u8 {
        let limit = u128::from(self.limit_shown.get());
        let left = u128::from((self.limit_shown - used).get());
        if limit == 0 {
            return 0;
        }
        // Half a per cent rounds up.
        u8::try_from((left * 200 + limit) / (limit * 2)).unwrap_or(100)
    }

    /// Automatic compaction is due.
    pub fn compaction_due(&self, used: Tokens) -> bool {
        self.auto_compact && used >= self.autocompact_target
    }

    /// The state of the gauge.
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

    /// Whether compaction can get below the target, given what it can never remove: system prompt,
    /// tools, instructions and what must be kept.
    pub fn check_floor(&self, floor: Tokens) -> FloorCheck {
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

/// Whether what compaction cannot remove fits below the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloorCheck {
    /// It does: compaction can help.
    Reducible {
        /// What is left for everything else.
        room: Tokens,
    },
    /// It does not: compaction cannot help until the floor falls.
    Irreducible {
        /// By how much it is too high.
        excess: Tokens,
    },
}

/// A reserve or margin, in proportion where the window is small.
fn scaled(figure: Tokens, window: Tokens, small_window: Tokens) -> Tokens {
    if window >= small_window {
        return figure;
    }
    // `window < small_window`, so the divisor is not zero and the result not above `figure`.
    let share =
        u128::from(figure.get()) * u128::from(window.get()) / u128::from(small_window.get());
    Tokens(u64::try_from(share).unwrap_or(figure.get()))
}
