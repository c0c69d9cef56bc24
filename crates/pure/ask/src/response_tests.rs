//! Reasons and their names.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

#[test]
fn every_reason_comes_back_from_its_name() {
    let reasons = [
        (StopReason::EndTurn, "end_turn"),
        (StopReason::ToolUse, "tool_use"),
        (StopReason::MaxTokens, "max_tokens"),
        (StopReason::StopSequence(None), "stop_sequence"),
        (StopReason::WindowExceeded, "model_context_window_exceeded"),
        (StopReason::PauseTurn, "pause_turn"),
        (StopReason::Compaction, "compaction"),
        (StopReason::Refusal(Refusal::default()), "refusal"),
        (StopReason::Other(Arc::from("tired")), "tired"),
        (StopReason::Other(Arc::from("")), ""),
        (StopReason::Other(Arc::from("End_Turn")), "End_Turn"),
    ];
    for (reason, name) in reasons {
        assert_eq!(reason.as_str(), name);
        assert_eq!(StopReason::parse(name), reason);
    }
}

#[test]
fn details_are_not_part_of_the_name() {
    let refusal = StopReason::Refusal(Refusal {
        category: Some("cyber".to_owned()),
        explanation: Some("no".to_owned()),
    });
    let bare = StopReason::Refusal(Refusal::default());
    assert_eq!(StopReason::parse(refusal.as_str()), bare);
    let sequence = StopReason::StopSequence(Some("END".to_owned()));
    let bare = StopReason::StopSequence(None);
    assert_eq!(StopReason::parse(sequence.as_str()), bare);
}

proptest! {
    #[test]
    fn every_name_comes_back_from_its_reason(name in ".*") {
        let reason = StopReason::parse(&name);
        prop_assert_eq!(reason.as_str(), name.as_str());
        prop_assert_eq!(StopReason::parse(reason.as_str()), reason);
    }
}
