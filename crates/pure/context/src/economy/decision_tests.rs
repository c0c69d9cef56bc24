//! Every break-even from both sides, and the text of every decision.

use super::{
    Clearing, ColdFigures, Compacted, Decision, Estimators, Figures, KeepAlive, Means, Moment,
    NotesState, Outlook, Prices, Rates, Reason, Situation, clearing_worth, cold_least, decide,
    keep_alive_worth, notes_worth,
};
use dormouse_core::settings::CacheTtl;
use dormouse_core::units::Tokens;
use pretty_assertions::assert_eq;

fn rates() -> Rates {
    Prices::USUAL.rates(CacheTtl::FiveMinutes, CacheTtl::FiveMinutes)
}

/// About g = 5.2k, b = 21k, s = 2k: W* is about 75k.
fn known() -> Estimators {
    let mut known = Estimators::default();
    for _ in 0..40 {
        known.observe_compaction(&Compacted {
            before: Tokens(75_000),
            after: Tokens(21_000),
            static_prefix: Tokens(8_300),
            summary: Some(Tokens(2_000)),
        });
        for _ in 0..10 {
            known.observe_request(Tokens(40_000), Tokens(45_200));
        }
    }
    known
}

fn figures() -> Figures {
    Figures {
        static_prefix: Tokens(8_300),
        floor: Tokens::ZERO,
        classic: Tokens(167_000),
        in_use: None,
        means: Means::Full,
        // So much that no compaction is a risk, unless a test says otherwise.
        spent: 1e7,
    }
}

fn outlook_with(figures: &Figures) -> Outlook {
    Outlook::new(&known(), &rates(), figures)
}

fn outlook() -> Outlook {
    outlook_with(&figures())
}

fn at(outlook: &Outlook, used: u64, moment: Moment) -> Decision {
    decide(outlook, &Situation::new(Tokens(used), moment))
}

fn share(part: Tokens, whole: f64) -> f64 {
    super::figure(part) / whole
}

#[test]
fn the_thresholds_are_shares_of_the_best_size() {
    let outlook = outlook();
    assert!((74_000.0..76_500.0).contains(&outlook.best));
    assert!((share(outlook.turn_end, outlook.best) - 0.9).abs() < 1e-3);
    assert!((share(outlook.between_rounds, outlook.best) - 1.25).abs() < 1e-3);
    for (moment, threshold) in [
        (Moment::TurnEnd, outlook.turn_end),
        (Moment::BetweenRounds, outlook.between_rounds),
    ] {
        let below = at(&outlook, threshold.get() - 1, moment);
        assert!(!below.act);
        assert_eq!(below.threshold, threshold);
        assert!(at(&outlook, threshold.get(), moment).act);
    }
}

#[test]
fn the_classic_target_always_counts_and_the_floor_before_it() {
    let floor = Figures {
        floor: Tokens(120_000),
        ..figures()
    };
    let outlook = outlook_with(&floor);
    assert_eq!(outlook.target, Tokens(120_000));
    for moment in [Moment::TurnEnd, Moment::BetweenRounds, Moment::Resume] {
        let decision = at(&outlook, 120_000, moment);
        assert!(!decision.act && matches!(decision.reason, Reason::Floor { .. }));
        assert!(at(&outlook, 120_001, moment).act);
    }
    let classic = Figures {
        classic: Tokens(50_000),
        floor: Tokens(60_000),
        ..figures()
    };
    let outlook = outlook_with(&classic);
    assert_eq!(outlook.target, Tokens(50_000));
    assert!(!at(&outlook, 49_999, Moment::BetweenRounds).act);
    let decision = at(&outlook, 50_000, Moment::BetweenRounds);
    assert!(decision.act && matches!(decision.reason, Reason::Classic { .. }));
}

#[test]
fn a_step_to_dearer_prompts_is_a_ceiling_if_it_leaves_room() {
    let with_step = |step| {
        let rates = Rates {
            dearer_over: Some(Tokens(step)),
            ..rates()
        };
        Outlook::new(&known(), &rates, &figures())
    };
    assert_eq!(with_step(60_000).between_rounds, Tokens(60_000));
    assert_eq!(with_step(30_000).target, outlook().target);
}

#[test]
fn the_size_in_use_moves_only_when_it_is_off_by_enough() {
    let room = outlook().best - outlook().order.base;
    let in_use = |off: f64| {
        let before = super::tokens(outlook().best + off * room);
        let figures = Figures {
            in_use: Some(before),
            ..figures()
        };
        outlook_with(&figures).in_use == before
    };
    assert!(in_use(0.09) && in_use(-0.09));
    assert!(!in_use(0.11) && !in_use(-0.11));
}

#[test]
fn a_compaction_that_leaves_much_is_not_repeated_at_once() {
    let mut known = known();
    known.observe_compaction(&Compacted {
        before: Tokens(95_000),
        after: Tokens(90_000),
        static_prefix: Tokens(8_300),
        summary: None,
    });
    let outlook = Outlook::new(&known, &rates(), &figures());
    assert!(!at(&outlook, 95_000, Moment::TurnEnd).act);
    assert!(!at(&outlook, 95_000, Moment::BetweenRounds).act);
}

#[test]
fn a_young_session_waits_for_a_larger_prompt_than_an_old_one() {
    let mut young = Estimators::starting_from(&super::Prior::of(&known()));
    let from = |known: &Estimators| Outlook::new(known, &rates(), &figures()).turn_end;
    let mut before = from(&young);
    for _ in 0..5 {
        for _ in 0..20 {
            young.observe_request(Tokens(10_000), Tokens(15_200));
        }
        let now = from(&young);
        assert!(now < before, "{now} {before}");
        before = now;
    }
}

#[test]
fn a_compaction_must_be_expected_to_pay_before_the_window_forces_it() {
    let at = |known: &Estimators, classic: u64, used: u64| {
        let figures = Figures {
            classic: Tokens(classic),
            ..figures()
        };
        let outlook = Outlook::new(known, &rates(), &figures);
        let decision = at(&outlook, used, Moment::BetweenRounds);
        let Reason::Warm(figures) = decision.reason else {
            panic!("{decision}");
        };
        (decision.act, figures.gain)
    };
    // Sessions of this project end early, and this one has begun just now.
    let mut short = known();
    short.survival = super::Survival::of([9; 60]);
    short.requests_are(8);
    let (act, gain) = at(&short, 967_000, 60_000);
    assert!(!act && gain < 0.0, "{gain}");
    let (act, gain) = at(&known(), 967_000, 110_000);
    assert!(act && gain > 0.0, "{gain}");
}

#[test]
fn a_compaction_risks_no_more_than_a_part_of_what_was_spent() {
    let act = |spent| {
        let figures = Figures { spent, ..figures() };
        at(&outlook_with(&figures), 100_000, Moment::BetweenRounds).act
    };
    // It costs 35.9k: ten for the call to read, ten for the summary, the rest for what is kept.
    assert!(!act(290_000.0));
    assert!(act(310_000.0));
    let forced = Figures {
        spent: 0.0,
        ..figures()
    };
    assert!(at(&outlook_with(&forced), 167_000, Moment::BetweenRounds).act);
}

#[test]
fn no_compaction_follows_before_the_last_one_has_paid() {
    let mut known = known();
    let act = |known: &Estimators| {
        at(
            &Outlook::new(known, &rates(), &figures()),
            100_000,
            Moment::BetweenRounds,
        )
        .act
    };
    assert!(act(&known));
    known.observe_compaction(&Compacted {
        before: Tokens(75_000),
        after: Tokens(21_000),
        static_prefix: Tokens(8_300),
        summary: Some(Tokens(2_000)),
    });
    // 33.4k were spent, each request saves 5.4k: paid after seven.
    for request in 1..=8 {
        assert_eq!(act(&known), request > 7, "{request}");
        known.observe_request(Tokens(40_000), Tokens(45_200));
    }
}

#[test]
fn the_tail_covers_ten_requests_within_a_part_of_what_a_request_costs() {
    let outlook = outlook();
    let tail = outlook.tail();
    let cycle = (outlook.best - outlook.order.base) / outlook.order.growth;
    let added = outlook.keeping(tail) / cycle;
    let part = added / outlook.order.per_request(outlook.best);
    assert!((part - 0.1).abs() < 0.02, "{tail}: {part}");
    // Ten requests of a session that grows slowly are less than what may be kept in any case.
    let mut slow = Estimators::default();
    for _ in 0..300 {
        slow.observe_request(Tokens(40_000), Tokens(40_300));
    }
    let slow = Outlook::new(&slow, &rates(), &figures());
    assert_eq!(slow.tail(), Tokens(4_000));
}

#[test]
fn in_a_small_window_the_tail_leaves_room_for_the_work() {
    let mut known = Estimators::default();
    for _ in 0..10 {
        known.observe_request(Tokens(4_000), Tokens(4_700));
    }
    // A window of 8,192 tokens with a lean prefix.
    let figures = Figures {
        static_prefix: Tokens(700),
        floor: Tokens(700),
        classic: Tokens(5_490),
        ..figures()
    };
    let tail = Outlook::new(&known, &rates(), &figures).tail();
    assert!(tail <= Tokens(1_200), "{tail}");
}

#[test]
fn rereading_makes_the_best_size_grow() {
    let mut forgetful = known();
    for _ in 0..12 {
        forgetful.observe_reread(Tokens(20_000));
        forgetful.observe_compaction(&Compacted {
            before: Tokens(75_000),
            after: Tokens(21_000),
            static_prefix: Tokens(8_300),
            summary: Some(Tokens(2_000)),
        });
    }
    let grown = Outlook::new(&forgetful, &rates(), &figures());
    assert!(grown.best > 1.1 * outlook().best);
}

#[test]
fn a_cold_cache_is_the_time_to_compact_with_notes() {
    let outlook = outlook();
    let with_notes = |used| {
        let now = Situation {
            unsent: Tokens::ZERO,
            notes_ready: true,
            ..Situation::new(Tokens(used), Moment::ColdCache)
        };
        decide(&outlook, &now)
    };
    assert!(with_notes(40_000).act);
    assert!(!with_notes(21_500).act, "hardly more than the base");
    assert!(!with_notes(15_000).act, "less than the base");
    let full = |used| at(&outlook, used, Moment::ColdCache);
    assert!(!full(40_000).act, "a call would have to write it all first");
    assert!(full(80_000).act);
}

#[test]
fn the_model_that_is_left_can_summarise_from_its_cache() {
    let outlook = outlook();
    let now = |call_cached| Situation {
        unsent: Tokens::ZERO,
        call_cached,
        ..Situation::new(Tokens(50_000), Moment::ModelSwitch)
    };
    assert!(decide(&outlook, &now(true)).act);
    assert!(!decide(&outlook, &now(false)).act);
}

#[test]
fn the_cold_comparison_adds_up() {
    let outlook = outlook();
    let now = Situation {
        unsent: Tokens::ZERO,
        notes_ready: true,
        prefix_cached: true,
        ..Situation::new(Tokens(60_000), Moment::Resume)
    };
    let decision = decide(&outlook, &now);
    let Reason::Cold(ColdFigures {
        carry_on, compact, ..
    }) = decision.reason
    else {
        panic!("{decision}");
    };
    let prefix = 0.1 * 8_300.0;
    assert!((carry_on - (prefix + 1.25 * 51_700.0)).abs() < 1.0);
    assert!((compact - (prefix + 1.25 * outlook.known.kept.value())).abs() < 1.0);
}

#[test]
fn notes_are_written_once_late_and_while_they_are_cheap() {
    let outlook = outlook();
    let half = super::tokens(0.5 * super::figure(outlook.target)).get();
    let fresh = NotesState::default();
    let worth =
        |used, moment, state: &NotesState| notes_worth(&outlook, Tokens(used), moment, state).act;
    assert!(!worth(half - 1, Moment::TurnEnd, &fresh));
    assert!(worth(half, Moment::TurnEnd, &fresh));
    assert!(!worth(half, Moment::BetweenRounds, &fresh));
    assert!(worth(outlook.turn_end.get(), Moment::BetweenRounds, &fresh));
    assert!(!worth(70_000, Moment::ColdCache, &fresh));
    let again = |uncovered, spent| NotesState {
        spent,
        updates: 1,
        uncovered: Tokens(uncovered),
        uncovered_limit: Tokens(40_000),
        tail: Tokens::ZERO,
    };
    assert!(!worth(70_000, Moment::TurnEnd, &again(40_000, 0.0)));
    assert!(worth(70_000, Moment::TurnEnd, &again(40_001, 0.0)));
    let full = outlook.order.compaction(super::figure(outlook.target));
    let left = full - outlook.notes_update(Tokens(70_000));
    assert!(worth(70_000, Moment::TurnEnd, &again(40_001, left - 1.0)));
    assert!(!worth(70_000, Moment::TurnEnd, &again(40_001, left + 1.0)));
    // The longer tail beside notes is part of their cost.
    let with_tail = NotesState {
        tail: Tokens(10_000),
        ..fresh
    };
    assert!(!worth(70_000, Moment::TurnEnd, &with_tail));
}

#[test]
fn what_was_not_sent_yet_is_no_reason_to_compact() {
    let outlook = outlook();
    let above = outlook.between_rounds + Tokens(1_000);
    let now = |unsent| Situation {
        unsent: Tokens(unsent),
        call_cached: true,
        prefix_cached: true,
        ..Situation::new(above, Moment::BetweenRounds)
    };
    assert!(decide(&outlook, &now(0)).act);
    assert!(!decide(&outlook, &now(2_000)).act);
}

#[test]
fn clearing_pays_beyond_its_break_even() {
    let clearing = |freed, cold| Clearing {
        freed: Tokens(freed),
        behind: Tokens(20_000),
        remaining: 10.0,
        cold,
    };
    // 1 × freed against 1.15 × 20,000.
    assert!(!clearing_worth(&clearing(22_990, false), &rates()).act);
    let yes = clearing_worth(&clearing(23_010, false), &rates());
    assert!(yes.act);
    assert!((22_990..=23_010).contains(&yes.threshold.get()));
    assert!(clearing_worth(&clearing(1, true), &rates()).act);
    assert!(!clearing_worth(&clearing(0, true), &rates()).act);
    let last = Clearing {
        remaining: 0.0,
        ..clearing(90_000, false)
    };
    assert!(!clearing_worth(&last, &rates()).act);
}

#[test]
fn keeping_alive_pays_beyond_its_break_even() {
    let cache = |prompt, lasting, chance| KeepAlive {
        prompt: Tokens(prompt),
        lasting: Tokens(lasting),
        chance,
    };
    // 0.1 / 1.15 is 8.7 %.
    assert!(!keep_alive_worth(&cache(50_000, 0, 0.08), &rates()).act);
    assert!(keep_alive_worth(&cache(50_000, 0, 0.09), &rates()).act);
    assert!(!keep_alive_worth(&cache(50_000, 50_000, 1.0), &rates()).act);
    let half = keep_alive_worth(&cache(50_000, 40_000, 0.5), &rates());
    let pays = |at_risk| keep_alive_worth(&cache(40_000 + at_risk, 40_000, 0.5), &rates()).act;
    assert!(pays(half.threshold.get() + 1) && !pays(half.threshold.get() - 1));
}

#[test]
fn on_a_cold_cache_small_results_are_cheaper_kept_than_fetched_again() {
    // 0.25·(1.25·2,000 + 0.1·50,000 + 5·150) against 1.25 + 0.1 a request: some hundreds of tokens.
    let least = cold_least(&outlook(), Tokens(50_000));
    assert!((500..1_700).contains(&least.get()), "{least}");
    // A longer prompt makes each fetch dearer, and fewer requests are left to read what is kept.
    assert!(cold_least(&outlook(), Tokens(70_000)) > least);
}

#[test]
fn every_decision_prints_its_arithmetic() {
    let outlook = outlook();
    let cold = Situation {
        unsent: Tokens::ZERO,
        notes_ready: true,
        ..Situation::new(Tokens(60_000), Moment::ColdCache)
    };
    let clearing = Clearing {
        freed: Tokens(30_000),
        behind: Tokens(40_000),
        remaining: 5.0,
        cold: false,
    };
    let cache = KeepAlive {
        prompt: Tokens(80_000),
        lasting: Tokens(0),
        chance: 0.25,
    };
    let notes = NotesState::default();
    let text = [
        outlook.arithmetic(),
        at(&outlook, 60_000, Moment::TurnEnd).explain(),
        at(&outlook, 100_000, Moment::BetweenRounds).explain(),
        at(&outlook, 170_000, Moment::TurnEnd).explain(),
        decide(&outlook, &cold).explain(),
        notes_worth(&outlook, Tokens(60_000), Moment::TurnEnd, &notes).explain(),
        notes_worth(&outlook, Tokens(60_000), Moment::Resume, &notes).explain(),
        clearing_worth(&clearing, &rates()).explain(),
        keep_alive_worth(&cache, &rates()).explain(),
    ]
    .join("\n");
    assert_eq!(text, include_str!("decision_tests.txt").trim_end());
}
