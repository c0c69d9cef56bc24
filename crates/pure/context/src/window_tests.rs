use super::*;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Percent;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

/// Longer than every output reserve, so that the reserve decides.
const LONG_ANSWER: Tokens = Tokens(128_000);

fn automatic() -> WindowSettings {
    WindowSettings::default()
}

fn manual() -> WindowSettings {
    WindowSettings {
        auto_compact: false,
        ..automatic()
    }
}

fn at_percent(percent: f64) -> WindowSettings {
    WindowSettings {
        compact_percent: Percent::new(percent),
        ..automatic()
    }
}

fn thresholds(window: u64, settings: &WindowSettings) -> Thresholds {
    Thresholds::new(Tokens(window), LONG_ANSWER, settings)
}

#[test]
#[expect(
    clippy::too_many_lines,
    reason = "one table of cases, read from top to bottom"
)]
fn the_first_rule_that_applies_gives_the_window() {
    let beta = "other, context-1m-2025-08-07";
    let some = |tokens| Some(Tokens(tokens));
    let none = WindowEvidence::default();
    let named = WindowEvidence {
        named: some(258_400),
        ..none
    };
    let answered = WindowEvidence {
        answered: some(535_000),
        ..none
    };
    let compacted = WindowEvidence {
        automatic: some(167_094),
        answered: some(166_759),
        ..none
    };
    let held = WindowEvidence {
        held: some(300_000),
        ..none
    };
    let small = "claude-sonnet-4-5-20250929";
    let large = "claude-opus-5";
    let suffixed = "claude-sonnet-4-5[1m]";
    // Model, betas, evidence, configured window; expected window and rule.
    let cases = [
        (
            small,
            beta,
            answered,
            some(64_000),
            64_000,
            WindowRule::Configured,
        ),
        (
            large,
            "",
            compacted,
            some(64_000),
            64_000,
            WindowRule::Configured,
        ),
        (small, beta, none, None, 1_000_000, WindowRule::MillionBeta),
        ("qwen", beta, none, None, 1_000_000, WindowRule::MillionBeta),
        (large, beta, none, None, 1_000_000, WindowRule::ModelTable),
        (
            small,
            "",
            answered,
            None,
            1_000_000,
            WindowRule::Answered(Tokens(535_000)),
        ),
        (large, "", answered, None, 1_000_000, WindowRule::ModelTable),
        (
            large,
            "",
            compacted,
            None,
            200_000,
            WindowRule::CompactedAt(Tokens(167_094)),
        ),
        (small, "", compacted, None, 200_000, WindowRule::ModelTable),
        (
            suffixed,
            "",
            compacted,
            None,
            200_000,
            WindowRule::CompactedAt(Tokens(167_094)),
        ),
        (
            small,
            beta,
            compacted,
            None,
            1_000_000,
            WindowRule::MillionBeta,
        ),
        (
            small,
            "",
            held,
            None,
            1_000_000,
            WindowRule::Held(Tokens(300_000)),
        ),
        (large, "", held, None, 1_000_000, WindowRule::ModelTable),
        ("gpt-x", "", named, None, 258_400, WindowRule::Named),
        (
            suffixed,
            "",
            none,
            None,
            1_000_000,
            WindowRule::MillionSuffix,
        ),
        (
            "qwen[1m]",
            "",
            none,
            None,
            1_000_000,
            WindowRule::MillionSuffix,
        ),
        (small, "other", none, None, 200_000, WindowRule::ModelTable),
        ("qwen", "", none, None, 200_000, WindowRule::Default),
    ];
    for (model, betas, evidence, configured_window, tokens, rule) in cases {
        let settings = WindowSettings {
            configured_window,
            ..automatic()
        };
        let model = ModelTable::builtin().lookup(model);
        let found = Window::resolve(model, betas.split(','), Some(&evidence), &settings);
        assert_eq!(
            found,
            Window {
                tokens: Tokens(tokens),
                rule
            },
            "{model:?}"
        );
    }
}

#[test]
fn the_figures_of_usual_windows() {
    // Window, settings; effective, target, limit, warning, error, blocking.
    let cases = [
        (
            200_000,
            automatic(),
            [180_000, 167_000, 167_000, 147_000, 147_000, 177_000],
        ),
        (
            200_000,
            manual(),
            [180_000, 167_000, 180_000, 160_000, 160_000, 177_000],
        ),
        (
            1_000_000,
            automatic(),
            [980_000, 967_000, 967_000, 947_000, 947_000, 977_000],
        ),
        (
            200_000,
            at_percent(50.0),
            [180_000, 90_000, 90_000, 70_000, 70_000, 177_000],
        ),
        (
            200_000,
            at_percent(100.0),
            [180_000, 167_000, 167_000, 147_000, 147_000, 177_000],
        ),
        (
            200_000,
            at_percent(33.3),
            [180_000, 59_940, 59_940, 39_940, 39_940, 177_000],
        ),
        // The warning is clamped to half of the limit.
        (
            200_000,
            at_percent(20.0),
            [180_000, 36_000, 36_000, 18_000, 18_000, 177_000],
        ),
        (200_000, at_percent(0.001), [180_000, 1, 1, 1, 1, 177_000]),
        // Small windows: every reserve in proportion, rounded down.
        (
            50_000,
            automatic(),
            [40_000, 33_500, 33_500, 23_500, 23_500, 38_500],
        ),
        (
            8_192,
            automatic(),
            [6_554, 5_490, 5_490, 3_852, 3_852, 6_309],
        ),
        (2_000, automatic(), [1_600, 1_340, 1_340, 940, 940, 1_540]),
    ];
    for (window, settings, expected) in cases {
        let figures = thresholds(window, &settings);
        let found = [
            figures.effective_window,
            figures.autocompact_target,
            figures.limit_shown,
            figures.warning,
            figures.error,
            figures.blocking_limit,
        ];
        assert_eq!(found.map(Tokens::get), expected, "{window} {settings:?}");
    }
}

#[test]
fn a_short_answer_leaves_a_larger_effective_window() {
    let figures = Thresholds::new(Tokens(200_000), Tokens(4_096), &automatic());
    assert_eq!(figures.effective_window, Tokens(195_904));
    assert_eq!(figures.autocompact_target, Tokens(182_904));
    // Scaled to 2,000, the reserve is shorter than the answer.
    let figures = Thresholds::new(Tokens(10_000), Tokens(4_096), &automatic());
    assert_eq!(figures.effective_window, Tokens(8_000));
}

#[test]
fn percent_left_is_rounded_and_never_negative() {
    let figures = thresholds(200_000, &automatic());
    let cases = [
        (0, 100),
        (834, 100),
        (835, 100),
        (836, 99),
        (83_500, 50),
        (166_164, 1),
        (166_166, 0),
        (167_000, 0),
        (900_000, 0),
    ];
    for (used, left) in cases {
        assert_eq!(figures.percent_left(Tokens(used)), left, "{used}");
    }
    assert_eq!(thresholds(0, &automatic()).percent_left(Tokens::ZERO), 0);
    assert_eq!(
        thresholds(200_000, &manual()).percent_left(Tokens(90_000)),
        50
    );
}

#[test]
fn the_gauge_goes_through_its_states() {
    let check = |settings: &WindowSettings, relief, cases: &[(u64, Gauge)]| {
        let figures = thresholds(200_000, settings);
        for (used, expected) in cases {
            assert_eq!(
                figures.gauge(Tokens(*used), relief),
                *expected,
                "{used} {relief:?} {settings:?}"
            );
        }
    };
    check(
        &automatic(),
        Relief::Available,
        &[
            (0, Gauge::Ok),
            (146_999, Gauge::Ok),
            (147_000, Gauge::Error),
            (166_999, Gauge::Error),
            (167_000, Gauge::Compact),
            (199_999, Gauge::Compact),
        ],
    );
    check(
        &automatic(),
        Relief::Exhausted,
        &[
            (147_000, Gauge::Error),
            (176_999, Gauge::Error),
            (177_000, Gauge::Blocked),
        ],
    );
    for relief in [Relief::Available, Relief::Exhausted] {
        check(
            &manual(),
            relief,
            &[
                (159_999, Gauge::Ok),
                (160_000, Gauge::Error),
                (176_999, Gauge::Error),
                (177_000, Gauge::Blocked),
            ],
        );
    }
    let apart = WindowSettings {
        warning_margin: Tokens(40_000),
        ..automatic()
    };
    check(
        &apart,
        Relief::Available,
        &[
            (126_999, Gauge::Ok),
            (127_000, Gauge::Warning),
            (146_999, Gauge::Warning),
            (147_000, Gauge::Error),
        ],
    );
}

#[test]
fn compaction_is_due_only_where_it_is_automatic() {
    assert!(thresholds(200_000, &automatic()).compaction_due(Tokens(167_000)));
    assert!(!thresholds(200_000, &automatic()).compaction_due(Tokens(166_999)));
    assert!(!thresholds(200_000, &manual()).compaction_due(Tokens(200_000)));
}

#[test]
fn a_floor_above_the_target_cannot_be_compacted_away() {
    let figures = thresholds(200_000, &automatic());
    assert_eq!(
        figures.check_floor(Tokens(60_000)),
        FloorCheck::Reducible {
            room: Tokens(107_000)
        }
    );
    assert_eq!(
        figures.check_floor(Tokens(167_000)),
        FloorCheck::Reducible { room: Tokens(0) }
    );
    assert_eq!(
        figures.check_floor(Tokens(167_001)),
        FloorCheck::Irreducible { excess: Tokens(1) }
    );
}

fn in_order(figures: &Thresholds) -> bool {
    let half = figures.limit_shown.get().div_ceil(2);
    let shown = figures.warning <= figures.error
        && figures.error <= figures.limit_shown
        && figures.limit_shown <= figures.effective_window
        && figures.warning.get() >= half;
    let help = if figures.auto_compact {
        figures.autocompact_target
    } else {
        figures.error
    };
    shown
        && figures.warning <= help
        && help <= figures.blocking_limit
        && figures.blocking_limit <= figures.effective_window
        && figures.effective_window <= figures.window
}

#[test]
fn figures_are_in_order_for_every_window_and_percentage() {
    let fractions = [0.0001, 0.5, 12.34, 33.333, 66.6667, 92.5, 99.9999].map(Some);
    let percentages: Vec<WindowSettings> = (1..=100_u8)
        .map(|percent| Some(f64::from(percent)))
        .chain(fractions)
        .chain([None])
        .map(|percent| WindowSettings {
            compact_percent: percent.and_then(Percent::new),
            ..automatic()
        })
        .collect();
    let manual = manual();
    // All small windows, then every 997th: a prime, so that no remainder is skipped.
    let windows = (2_000..=210_000_u64)
        .chain((210_001..2_000_000).step_by(997))
        .chain([2_000_000]);
    for window in windows {
        let max_output =
            [Tokens(128_000), Tokens(8_192), Tokens(1)][usize::try_from(window % 3).unwrap()];
        for settings in percentages.iter().chain([&manual]) {
            let figures = Thresholds::new(Tokens(window), max_output, settings);
            assert!(in_order(&figures), "{figures:?} {settings:?}");
        }
    }
}

proptest! {
    /// Including contradictory settings, and windows far outside the usual range.
    #[test]
    fn figures_are_in_order_whatever_is_set(
        window in prop_oneof![0..5_000_u64, 2_000..2_000_001_u64, any::<u64>()],
        max_output in 0..300_000_u64,
        reserves in proptest::array::uniform4(0..300_000_u64),
        auto_compact: bool,
        percent in proptest::option::of(0.000_1..=100.0_f64),
        used: u64,
    ) {
        let [output, compact, warning, error] = reserves.map(Tokens);
        let settings = WindowSettings {
            output_reserve: output,
            compact_reserve: compact,
            warning_margin: warning,
            error_margin: error,
            auto_compact,
            compact_percent: percent.and_then(Percent::new),
            ..automatic()
        };
        let figures = Thresholds::new(Tokens(window), Tokens(max_output), &settings);
        prop_assert!(in_order(&figures), "{:?}", figures);
        prop_assert!(figures.percent_left(Tokens(used)) <= 100);
        // More tokens in use never improve the gauge or the percentage left.
        let more = Tokens(used.saturating_add(used / 7 + 1));
        for relief in [Relief::Available, Relief::Exhausted] {
            prop_assert!(figures.gauge(Tokens(used), relief) <= figures.gauge(more, relief));
        }
        prop_assert!(figures.percent_left(more) <= figures.percent_left(Tokens(used)));
    }
}
