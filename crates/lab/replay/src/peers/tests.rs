use super::gemini::NewestShare;
use super::openhands::NewerHalf;
use super::qwen::between_marks;
use super::*;
use crate::policies;
use dormouse_context::clear::{ClearSettings, Measure};
use dormouse_context::clearable::ResultIndex;
use dormouse_context::compaction::{Kept, Scope};
use dormouse_context::conversation::Conversation;
use dormouse_context::economy::Prices;
use dormouse_context::layers::{
    self, Action, LayerInputs, LayerSettings, LayerState, Moment, NotesStatus,
};
use dormouse_context::path::{Leaf, path};
use dormouse_context::policy::{Keep, Policy};
use dormouse_context::target::Target;
use dormouse_context::window::Thresholds;
use dormouse_core::block::Block;
use dormouse_core::id::CallId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::Calibration;
use dormouse_core::settings::{CacheTtl, Settings, WindowSettings};
use dormouse_core::usage::TokenUsage;
use dormouse_core::weight::Weight;
use dormouse_testkit::LogBuilder;
use dormouse_testkit::blocks::{call, result};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

/// Questions with a result of so many tokens each; the last prompt measured `prompt`.
fn conversation(questions: usize, tokens: usize, prompt: u64) -> Conversation {
    let mut log = LogBuilder::new();
    for n in 0..questions {
        log.user("please look");
        let id = format!("call_{n}");
        let called = call(&id, "Bash", &json!({ "command": "ls" }));
        log.assistant(&format!("a_{n}"), vec![called]);
        log.user_blocks(vec![result(&id, &"word".repeat(tokens))]);
        let usage = TokenUsage {
            input: Tokens(prompt),
            ..TokenUsage::default()
        };
        log.assistant_with_usage(&format!("b_{n}"), vec![Block::text("done")], usage);
    }
    let models = Arc::new(ModelTable::builtin().clone());
    let records = path(log.records(), Leaf::Newest);
    Conversation::fold(&records, Target::new(&models, "model"))
}

fn measure(conversation: &Conversation) -> Measure {
    Measure {
        bytes: conversation.bytes_per_token(),
        calibration: Calibration::default(),
    }
}

/// Action that a policy takes at the end of a turn in a window of 200,000 tokens.
fn action(policy: &dyn Policy, conversation: &Conversation) -> Option<Action> {
    let inputs = LayerInputs {
        conversation,
        prefix: &Weight::default(),
        policy,
        settings: &LayerSettings::new(&Settings::default()),
        thresholds: &Thresholds::new(Tokens(200_000), Tokens(32_000), &WindowSettings::default()),
        rates: &Prices::USUAL.rates(CacheTtl::OneHour, CacheTtl::FiveMinutes),
        notes: NotesStatus::default(),
        moment: Moment::TurnEnd,
        cold: false,
        provider_compacts: false,
    };
    layers::plan(&mut LayerState::default(), &inputs).action
}

#[test]
fn peers_compact_at_their_own_triggers() {
    let compacts = |policy: &dyn Policy, prompt: u64| {
        let action = action(policy, &conversation(8, 10, prompt));
        matches!(action, Some(Action::Compact { keep: None, .. }))
    };
    let cases: [(&dyn Policy, u64); 4] = [
        (&Codex, 180_000),
        (&Opencode, 180_000),
        (&Gemini, 100_000),
        (&Qwen, 167_000),
    ];
    for (policy, limit) in cases {
        // The last answer is a token of its own.
        assert!(!compacts(policy, limit - 2), "{}", policy.name());
        assert!(compacts(policy, limit), "{}", policy.name());
    }
}

#[test]
fn openhands_counts_messages() {
    // A question, a call and an answer: three messages, the result belongs to its call.
    let acts = |questions| action(&OpenHands, &conversation(questions, 10, 199_000)).is_some();
    assert!(!acts(79));
    assert!(acts(80));
}

#[test]
fn the_policy_none_does_nothing() {
    let full = conversation(8, 15_000, 199_000);
    assert_eq!(action(&policies::Never, &full), None);
}

/// Results that a rule clears.
fn cleared(
    (questions, tokens): (usize, usize),
    rule: impl FnOnce(&ClearInputs<'_>) -> ClearVerdict,
) -> usize {
    let conversation = conversation(questions, tokens, 1_000);
    let settings = ClearSettings::new(&Settings::default());
    let mut index = ResultIndex::default();
    let view = conversation.view();
    index.update(view, &settings.tools, conversation.bytes_per_token());
    let verdict = rule(&ClearInputs {
        view,
        index: &index,
        settings: &settings,
        measure: measure(&conversation),
        used: Tokens(147_000),
        warning: Tokens(147_000),
        cold: false,
    });
    match verdict {
        ClearVerdict::Clear(selection) => selection.positions.len(),
        ClearVerdict::Leave { .. } => 0,
    }
}

#[test]
fn pruning_protects_the_newest_tokens() {
    let pruned = |protect, least| {
        cleared((6, 10_000), |inputs| {
            prune(inputs, Tokens(protect), Tokens(least))
        })
    };
    assert_eq!(pruned(40_000, 15_000), 2);
    assert_eq!(pruned(39_999, 15_000), 3);
    assert_eq!(pruned(40_000, 20_000), 0);
}

#[test]
fn the_watermark_goes_down_to_its_low_mark() {
    let marked =
        |high, low, keep| cleared((9, 1_000), |inputs| between_marks(inputs, high, low, keep));
    // Eight old results of a little over 4,000 bytes each.
    assert_eq!(marked(33_000, 16_000, 2), 0);
    assert_eq!(marked(32_000, 16_500, 2), 4);
    assert_eq!(marked(32_000, 0, 5), 4);
}

#[test]
fn each_peer_keeps_its_part() {
    let conversation = conversation(10, 100, 1_000);
    let staying = |keep: &dyn Keep| {
        let kept = Kept::new(
            conversation.view(),
            Scope::All,
            keep,
            measure(&conversation),
        );
        kept.unwrap().staying().count()
    };
    let all = conversation.view().segments().len();
    assert_eq!(all, 40);
    assert!((10..13).contains(&staying(&NewestShare { thousandths: 300 })));
    // The newer half and the first message.
    assert_eq!(staying(&NewerHalf { first: 1 }), 21);
}

#[test]
fn results_are_cut_whichever_tool_made_them() {
    let long = offload::ToolOutput::text(CallId::new("call"), "x".repeat(25_001));
    let candidates = [Candidate {
        output: &long,
        limit: 10,
        exempt: true,
        asked_part: false,
    }];
    let round = Round {
        results: &candidates,
        already: 0,
        limits: None,
        showing: None,
    };
    let cut = |policy: &dyn Policy| {
        let plan = policy.offload(&round);
        let fate = &plan.fates[0];
        fate.offload.then_some(fate.shown)
    };
    assert_eq!(cut(&Qwen), Some(25_000));
    assert_eq!((cut(&Codex), cut(&OpenHands)), (None, None));
}
