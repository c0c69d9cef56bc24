//! Tests of stop reasons and their names, and of the part of a broken answer that is kept.

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

const TEXT: &str = r#"{"type":"text","text":""}"#;
const THINKING: &str = r#"{"type":"thinking","thinking":"","signature":""}"#;
const CALL: &str = r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#;

fn block(json: &str) -> Block {
    Block::parse(&bytes::Bytes::copy_from_slice(json.as_bytes())).unwrap()
}

fn check_kept(complete: &[&str], unfinished: &[(&str, &str)], expected: &[&str]) {
    let open = unfinished.iter().map(|(head, received)| Unfinished {
        head: RawJson::from(&block(head)),
        received: (*received).to_owned(),
    });
    let partial = Partial {
        blocks: complete.iter().copied().map(block).collect(),
        unfinished: open.collect(),
        ..Partial::default()
    };
    let kept = partial.keepable();
    let kept: Vec<String> = kept.iter().map(|block| format!("{block:?}")).collect();
    assert_eq!(kept, expected, "{partial:?}");
}

#[test]
fn complete_blocks_and_unfinished_text_are_kept_and_nothing_else() {
    let thought = r#"{"type":"thinking","thinking":"hm","signature":"s"}"#;
    let call = r#"{"type":"tool_use","id":"a","name":"Read","input":{"p":1}}"#;
    let one = r#"{"type":"text","text":"one"}"#;
    let two = r#"{"type":"text","text":"two"}"#;
    check_kept(&[], &[], &[]);
    check_kept(&[], &[(THINKING, "half a thought")], &[]);
    check_kept(&[thought], &[], &[thought]);
    check_kept(&[thought], &[(THINKING, "another")], &[thought]);
    check_kept(&[one], &[(CALL, r#"{"p":"#)], &[one]);
    check_kept(&[], &[(TEXT, "one"), (CALL, r#"{"p":"#)], &[one]);
    check_kept(&[], &[(CALL, r#"{"p":1}"#)], &[]);
    check_kept(&[one], &[(TEXT, "two")], &[one, two]);
    check_kept(&[], &[(TEXT, "one"), (TEXT, "two")], &[one, two]);
    check_kept(&[call, one], &[(TEXT, "two")], &[call, one, two]);
    check_kept(&[call], &[(r#"{"type":"from_the_future"}"#, "x")], &[call]);
}

#[test]
fn blank_text_is_not_kept_and_other_text_is_kept_to_the_byte() {
    for blank in ["", " ", "\n\t ", "\u{3000}"] {
        check_kept(&[], &[(TEXT, blank)], &[]);
    }
    check_kept(
        &[],
        &[(TEXT, " x\n")],
        &[r#"{"type":"text","text":" x\n"}"#],
    );
    let long = "世界，\"🐭\" ".repeat(50_000);
    let partial = Partial {
        unfinished: vec![Unfinished {
            head: RawJson::from(&block(TEXT)),
            received: long.clone(),
        }],
        ..Partial::default()
    };
    let kept = partial.keepable();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].readable_text(), Some(long));
    assert!(!kept[0].is_unsendable());
}

proptest! {
    #[test]
    fn every_name_comes_back_from_its_reason(name in ".*") {
        let reason = StopReason::parse(&name);
        prop_assert_eq!(reason.as_str(), name.as_str());
        prop_assert_eq!(StopReason::parse(reason.as_str()), reason);
    }
}
