use super::*;
use crate::compaction::CompactSettings;
use crate::economy::Prices;
use crate::path::{Leaf, path};
use crate::policy::{Classic, CompactRule, Economic};
use crate::target::Target;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::models::ModelTable;
use dormouse_core::record::{Body, Notes as NotesRecord, StateChange, Trigger};
use dormouse_core::settings::{CacheTtl, Settings, Trust, flags_layer, resolve};
use dormouse_core::usage::TokenUsage;
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

/// A session of tool rounds whose last prompt measured so many tokens.
struct Fixture {
    log: LogBuilder,
    prefix: Weight,
    policy: Arc<dyn Policy>,
    flags: Vec<&'static str>,
    moment: Moment,
    cold: bool,
    notes: NotesStatus,
}

fn measured(prompt: u64) -> TokenUsage {
    TokenUsage {
        input: Tokens(prompt),
        ..TokenUsage::default()
    }
}

impl Fixture {
    /// Rounds with small results, then an answer at which the prompt had this size.
    fn at(prompt: u64) -> Self {
        Self::with_results(prompt, 10)
    }

    fn with_results(prompt: u64, tokens: usize) -> Self {
        let mut log = LogBuilder::new();
        log.user("please look");
        for n in 0..8 {
            let id = format!("call_{n}");
            log.assistant(
                &format!("msg_{n}"),
                vec![call(&id, "Bash", &json!({ "command": "ls" }))],
            );
            log.user_blocks(vec![result(&id, &"word".repeat(tokens))]);
        }
        log.assistant_with_usage("msg_end", vec![Block::text("done")], measured(prompt));
        Self {
            log,
            prefix: Weight::default(),
            policy: Arc::new(Classic),
            flags: Vec::new(),
            moment: Moment::TurnEnd,
            cold: false,
            notes: NotesStatus::default(),
        }
    }

    fn economic(self) -> Self {
        Self {
            policy: Arc::new(Economic),
            ..self
        }
    }

    fn flags(self, flags: &[&'static str]) -> Self {
        Self {
            flags: flags.to_vec(),
            ..self
        }
    }

    fn plan(&self) -> LayersPlan {
        self.plan_with(&mut LayerState::default())
    }

    fn plan_with(&self, state: &mut LayerState) -> LayersPlan {
        let models = Arc::new(ModelTable::builtin().clone());
        let records = path(self.log.records(), Leaf::Newest);
        let conversation = Conversation::fold(&records, Target::new(&models, "model"));
        let (layer, issues) = flags_layer(self.flags.iter().copied());
        assert!(issues.is_empty(), "{issues:?}");
        let settings: Settings = resolve(&[layer], Trust::Trusted);
        let thresholds =
            Thresholds::new(Tokens(200_000), Tokens(32_000), &settings.window_settings());
        let inputs = LayerInputs {
            conversation: &conversation,
            prefix: &self.prefix,
            policy: &*self.policy,
            settings: &LayerSettings::new(&settings),
            thresholds: &thresholds,
            rates: &Prices::USUAL.rates(CacheTtl::OneHour, CacheTtl::FiveMinutes),
            notes: self.notes,
            moment: self.moment,
            cold: self.cold,
            provider_compacts: false,
        };
        plan(state, &inputs)
    }

    fn action(&self) -> &'static str {
        match self.plan().action {
            None => "nothing",
            Some(Action::Clear(_)) => "clear",
            Some(Action::Compact { .. }) => "compact",
            Some(Action::CompactByProvider { .. }) => "compact by the provider",
            Some(Action::UpdateNotes) => "notes",
            Some(Action::OpenBreaker(_)) => "open the breaker",
        }
    }

    fn why(&self, layer: &str) -> String {
        let plan = self.plan();
        let found = plan.considered.into_iter().find(|one| one.layer == layer);
        found.map(|one| one.why).unwrap_or_default()
    }

    fn written_notes(&mut self, conversation: u64) {
        self.log.push(Body::Notes(NotesRecord {
            last_summarised: self.log.records()[0].seq,
            tokens: Tokens(500),
            blob: Hash::of(b"notes"),
            conversation: Tokens(conversation),
            sent: Tokens(600),
            edits: Tokens(300),
        }));
    }

    fn calls(&mut self, count: usize, prompt: u64) {
        let ids: Vec<String> = (0..count).map(|n| format!("late_{n}")).collect();
        let calls = ids.iter().map(|id| call(id, "Bash", &json!({})));
        self.log
            .assistant_with_usage("msg_late", calls.collect(), measured(prompt));
        let results = ids.iter().map(|id| result(id, "ok"));
        self.log.user_blocks(results.collect());
        self.moment = Moment::BeforeRequest;
    }

    fn with_breaker(mut self, breaker: Breaker) -> Self {
        let StateChange::Fact { .. } = breaker.record() else {
            unreachable!("a breaker is a fact")
        };
        self.log.push(Body::State(breaker.record()));
        self
    }
}

#[test]
fn layers_are_asked_in_their_order_and_all_say_why() {
    let full = Fixture::with_results(170_000, 15_000);
    let plan = full.plan();
    let layers: Vec<(&str, bool)> = plan
        .considered
        .iter()
        .map(|one| (one.layer, one.acts))
        .collect();
    assert_eq!(
        layers,
        [("clear", true), ("compact", false), ("notes", false)]
    );
    assert!(plan.considered.iter().all(|one| !one.why.is_empty()));
    assert_eq!(plan.head.as_ref(), full.log.head());
    // Each layer acts if the ones before it have nothing to do.
    assert_eq!(
        full.flags(&["microcompact.pressure=off"]).action(),
        "compact"
    );
    assert_eq!(Fixture::at(100_000).action(), "notes");
    assert_eq!(Fixture::at(9_000).action(), "nothing");
}

#[test]
fn compaction_is_due_at_the_target() {
    let quiet = |prompt| Fixture::at(prompt).flags(&["notes=off"]);
    assert_eq!(quiet(166_999).action(), "nothing");
    assert_eq!(quiet(167_000).action(), "compact");
    let Some(Action::Compact { trigger, keep, .. }) = quiet(167_000).plan().action else {
        panic!("no compaction");
    };
    assert_eq!((trigger, keep), (Trigger::Auto, None));
}

#[test]
fn an_open_breaker_leaves_less_to_try() {
    let full = || Fixture::at(170_000).flags(&["notes=off"]);
    let failed = Breaker {
        failures: 3,
        ..Breaker::default()
    };
    let Some(Action::Compact { allowed, .. }) = full().with_breaker(failed).plan().action else {
        panic!("no compaction");
    };
    assert_eq!(allowed, Allowed::Offline);

    let breaker = Breaker {
        stuck_at: Some(Tokens(169_000)),
        target: Tokens(167_000),
        ..Breaker::default()
    };
    let stuck = full().with_breaker(breaker);
    assert_eq!(stuck.action(), "nothing");
    assert_eq!(stuck.plan().relief, Relief::Exhausted);
    assert_eq!(full().plan().relief, Relief::Available);
    assert!(stuck.why("compact").contains("breaker is open: 169000"));

    // Full since: back to where it was, below the limit, without a model.
    let full = Fixture::at(177_000).flags(&["notes=off"]);
    let Some(Action::Compact { allowed, .. }) = full.with_breaker(breaker).plan().action else {
        panic!("no compaction");
    };
    assert_eq!(allowed, Allowed::Offline);
}

#[test]
fn a_floor_above_the_target_opens_the_breaker_until_it_falls() {
    let of = |tokens: u64| Weight {
        text_bytes: tokens * 4,
        ..Weight::default()
    };
    let mut full = Fixture::at(170_000).flags(&["notes=off"]);
    full.prefix = of(167_000);
    assert_eq!(full.action(), "compact");
    full.prefix = of(167_001);
    let Some(Action::OpenBreaker(breaker)) = full.plan().action else {
        panic!("the breaker stays closed");
    };
    assert_eq!(breaker.stuck_at, Some(Tokens(167_001)));
    let mut full = full.with_breaker(breaker);
    assert_eq!(full.action(), "nothing");
    full.prefix = of(20_000);
    assert_eq!(full.action(), "compact");
    assert_eq!(full.plan().relief, Relief::Available);
}

#[test]
fn notes_are_first_written_at_ten_thousand() {
    assert_eq!(Fixture::at(9_998).action(), "nothing");
    // The answer itself counts one token.
    assert_eq!(Fixture::at(10_000).action(), "notes");
    let mut running = Fixture::at(10_000);
    running.notes.running = true;
    assert_eq!(running.action(), "nothing");
}

#[test]
fn then_with_growth_and_calls_or_rest() {
    let grown = |calls: usize, prompt: u64| {
        let mut fixture = Fixture::at(20_000);
        fixture.written_notes(20_000);
        fixture.calls(calls, prompt);
        fixture
    };
    assert_eq!(grown(3, 24_000).action(), "nothing");
    assert_eq!(grown(3, 25_000).action(), "notes");
    assert_eq!(grown(2, 25_000).action(), "nothing");
    // The model has finished its turn; a new user message does not change that.
    let mut rested = grown(2, 24_500);
    rested
        .log
        .assistant_with_usage("msg_rest", vec![Block::text("done")], measured(25_500));
    assert_eq!(rested.action(), "notes");
    rested.log.user("and now?");
    rested.moment = Moment::BeforeRequest;
    assert_eq!(rested.action(), "notes");
}

#[test]
fn every_switch_leaves_the_other_layers_as_they_are() {
    let all = |flags: &[&'static str]| {
        let full = Fixture::with_results(170_000, 15_000).flags(flags);
        ["clear", "compact", "notes"].map(|layer| full.why(layer))
    };
    let usual = all(&[]);
    let cases = [
        ("microcompact.pressure=off", [true, false, false]),
        ("notes=off", [false, false, true]),
        // Notes are only kept for compactions.
        ("compact.auto=off", [false, true, true]),
        ("compact=off", [false, true, true]),
        ("notes.compact=off", [false, false, false]),
        ("microcompact.idle=off", [false, false, false]),
        ("offload=off", [false, false, false]),
    ];
    for (flag, changes) in cases {
        let now = all(&[flag]);
        let changed = [0, 1, 2].map(|layer| now[layer] != usual[layer]);
        assert_eq!(changed, changes, "{flag}: {now:?}");
    }
    let mut idle = Fixture::with_results(20_000, 500).flags(&["microcompact.idle=off"]);
    idle.cold = true;
    assert!(idle.why("clear").contains("below the warning"));
    idle.flags.clear();
    assert_eq!(idle.action(), "clear");
}

/// A policy that implements no layer.
#[derive(Debug)]
struct Idle;

impl Policy for Idle {
    fn name(&self) -> &'static str {
        "idle"
    }

    fn compaction(&self, settings: &CompactSettings, _: Option<Tokens>) -> CompactRule {
        CompactRule::new(settings)
    }
}

#[test]
fn a_policy_leaves_alone_what_it_does_not_mention() {
    let mut full = Fixture::with_results(199_000, 15_000);
    full.policy = Arc::new(Idle);
    assert_eq!(full.action(), "nothing");
    let plan = full.plan();
    let whys: Vec<&str> = plan.considered.iter().map(|one| &*one.why).collect();
    assert_eq!(
        whys,
        [
            "the policy does not clear",
            "the policy does not compact",
            "the policy keeps no notes"
        ]
    );
    assert_eq!((plan.next_tidy_up, plan.in_use), (None, None));
}

#[test]
fn the_economic_policy_shows_its_arithmetic() {
    let fixture = Fixture::with_results(60_000, 5_000).economic();
    let plan = fixture.plan();
    assert!(plan.next_tidy_up.is_some_and(|at| at < Tokens(167_000)));
    let why = fixture.why("clear");
    assert!(
        why.starts_with("do not clear: ") || why.starts_with("clear: "),
        "{why}"
    );
    let why = fixture.why("compact");
    assert!(why.contains("threshold") || why.contains("prompt"), "{why}");
    assert_eq!(Fixture::at(60_000).plan().next_tidy_up, None);
    // At the classic target it compacts regardless of cost.
    let full = Fixture::at(167_000).economic().flags(&["notes=off"]);
    let Some(Action::Compact { trigger, keep, .. }) = full.plan().action else {
        panic!("no compaction: {:?}", full.plan());
    };
    assert_eq!(trigger, Trigger::Auto);
    assert!(keep.is_some());
    assert!(full.why("compact").contains("classic target"));
}

#[test]
fn a_resumed_session_aims_at_the_size_that_was_recorded() {
    let early = Fixture::at(60_000).economic();
    let mut late = Fixture::at(60_000).economic();
    late.calls(3, 62_000);
    let mut unbroken = LayerState::default();
    let recorded = early.plan_with(&mut unbroken).in_use;
    assert!(recorded.is_some());
    let plan = late.plan_with(&mut unbroken);
    // The best size has moved by less than the hysteresis.
    assert_eq!(plan.in_use, recorded);
    assert_ne!(late.plan().in_use, recorded);
    assert_eq!(late.plan_with(&mut LayerState::resumed(recorded)), plan);
    // Classic has no size in use to record.
    assert_eq!(Fixture::at(60_000).plan().in_use, None);
}
