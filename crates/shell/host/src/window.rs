//! The context window of a session: its contents, its thresholds, the room left.
//!
//! # Not here
//! The arithmetic: `dormouse-context`, with the settings of `WindowSettings`.

use crate::host::Host;
use crate::transcripts::Transcript;
use dormouse_context::breakdown::{Breakdown, breakdown};
use dormouse_context::category::Category;
use dormouse_context::tokens::{Basis, Count, calibration};
use dormouse_context::window::{Gauge, Relief, Thresholds, Window, WindowRule};
use dormouse_core::settings::WindowSettings;
use dormouse_core::units::Tokens;
use serde::Serialize;
use std::collections::BTreeMap;

/// The window of a session at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContextWindow {
    /// Tokens of the whole prompt, prefix included.
    pub used_tokens: Tokens,
    /// Origin of the figure: measured or estimated.
    pub basis: Basis,
    /// The model they are counted for.
    pub model: String,
    /// The model's window, in tokens.
    pub window: Tokens,
    /// The rule that decided about the window.
    pub window_from: &'static str,
    /// Window less the room for an answer.
    pub effective_window: Tokens,
    /// Tokens at which a compaction begins by itself.
    pub autocompact_target: Tokens,
    /// Tokens that count as full on screens.
    pub limit_shown: Tokens,
    /// Tokens from which screens warn.
    pub warning: Tokens,
    /// Tokens from which screens show an error.
    pub error: Tokens,
    /// Tokens from which no request is sent.
    pub blocking_limit: Tokens,
    /// Share of the window that is left, from 0 to 100.
    pub percent_left: u8,
    /// `ok`, `warning`, `error`, `compact` or `blocked`.
    pub gauge: &'static str,
    /// Set if compactions begin by themselves.
    pub auto_compact: bool,
    /// Tokens of each category of content.
    pub categories: BTreeMap<Category, Tokens>,
    /// Set if the system prompt is not in the log and was inferred.
    pub prefix_inferred: bool,
    /// Tokens of earlier copies of files that were read again.
    pub duplicate_reads: Tokens,
    /// Correction of the estimates, as measured in this session.
    pub estimate_drift_percent: i64,
    /// Number of segments of the prompt.
    pub segments: usize,
}

impl Host {
    /// The window of a session at a point, by the settings in force.
    pub fn window(&self, transcript: &Transcript) -> ContextWindow {
        let settings = self.settings();
        window(transcript, &settings.window_settings())
    }
}

fn window(transcript: &Transcript, settings: &WindowSettings) -> ContextWindow {
    let conversation = &transcript.conversation;
    let models = &conversation.view().target().models;
    let resolved = models.lookup(transcript.model());
    let window = Window::resolve(resolved, [], settings);
    let thresholds = Thresholds::new(window.tokens, resolved.info.max_output, settings);
    let Count {
        tokens: used,
        basis,
    } = conversation.count(&transcript.prefix_weight());
    let Breakdown {
        categories,
        prefix_inferred,
        duplicate_reads,
    } = breakdown(conversation, transcript.prefix.as_ref(), used);
    ContextWindow {
        used_tokens: used,
        basis,
        model: transcript.model().to_owned(),
        window: thresholds.window,
        window_from: match window.rule {
            WindowRule::MillionSuffix => "the [1m] suffix",
            WindowRule::ModelTable => "the model table",
            WindowRule::MillionBeta => "a beta header",
            WindowRule::Configured => "the settings",
            WindowRule::Default => "the default",
        },
        effective_window: thresholds.effective_window,
        autocompact_target: thresholds.autocompact_target,
        limit_shown: thresholds.limit_shown,
        warning: thresholds.warning,
        error: thresholds.error,
        blocking_limit: thresholds.blocking_limit,
        percent_left: thresholds.percent_left(used),
        // A file at rest has no session that could say it is out of relief: compaction is assumed
        // to work.
        gauge: gauge_name(thresholds.gauge(used, Relief::Available)),
        auto_compact: thresholds.auto_compact,
        categories,
        prefix_inferred,
        duplicate_reads,
        estimate_drift_percent: calibration(conversation.state(), transcript.model())
            .drift_percent(),
        segments: conversation.view().segments().len(),
    }
}

const fn gauge_name(gauge: Gauge) -> &'static str {
    match gauge {
        Gauge::Ok => "ok",
        Gauge::Warning => "warning",
        Gauge::Error => "error",
        Gauge::Compact => "compact",
        Gauge::Blocked => "blocked",
    }
}
