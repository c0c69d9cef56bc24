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
use dormouse_context::window_proof;
use dormouse_core::record::Windows;
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
    /// The rule that decided about the window, in words.
    pub window_from: String,
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
    /// Window for a model, by the settings in force and the evidence of a log.
    pub fn window_for(&self, model: &str, windows: &Windows) -> (Tokens, String) {
        let models = self.models();
        let evidence = window_proof::evidence_on(windows, model, &models);
        let settings = self.settings().window_settings();
        let window = Window::resolve(models.lookup(model), [], evidence, &settings);
        (window.tokens, origin(window.rule))
    }

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
    // No beta headers: a file does not say with which of them it was sent.
    let evidence = conversation.window_evidence();
    let window = Window::resolve(resolved, [], evidence, settings);
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
        window_from: origin(window.rule),
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

/// Origin of a window in words, to stand behind "from".
fn origin(rule: WindowRule) -> String {
    // Rounded as people say them: the exact figures are in the log.
    let short = |tokens: Tokens| format!("{}k", tokens.get().div_ceil(1_000));
    match rule {
        WindowRule::Configured => "the settings".to_owned(),
        WindowRule::MillionBeta => "a beta header".to_owned(),
        WindowRule::Answered(tokens) => {
            format!("the longest prompt of this log: {} accepted", short(tokens))
        }
        WindowRule::CompactedAt(tokens) => {
            format!("this log: it compacted by itself at {}", short(tokens))
        }
        WindowRule::Held(tokens) => {
            format!("this log: it held {} before a compaction", short(tokens))
        }
        WindowRule::Named => "the log, which names it".to_owned(),
        WindowRule::MillionSuffix => "the [1m] suffix".to_owned(),
        WindowRule::ModelTable => "the model table".to_owned(),
        WindowRule::Default => "the default".to_owned(),
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
