//! Tests of members as sent and of reports as parsed.

use super::*;
use dormouse_core::models::ModelTable;
use pretty_assertions::assert_eq;

fn capable() -> Capabilities {
    Capabilities::of_messages(ModelTable::builtin(), "claude-fable-5-2")
}

fn text(member: &Member) -> String {
    String::from_utf8(member.value.bytes().to_vec()).unwrap()
}

#[test]
fn edits_come_in_the_order_the_provider_wants() {
    let editing = ContextEditing {
        thinking: Some(KeepThinking::Turns(2)),
        tool_uses: Some(ClearToolUses {
            trigger: Some(Trigger::InputTokens(Tokens(90_000))),
            keep: Some(5),
            at_least: Some(Tokens(1_000)),
            exclude: vec!["memory".to_owned()],
            inputs: true,
        }),
        compact: Some(CompactAt {
            trigger: Tokens(150_000),
            instructions: None,
            pause: true,
        }),
    };
    let member = editing.member(&capable()).unwrap();
    assert_eq!(
        text(&member),
        r#"{"edits":[{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":2}},{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":90000},"keep":{"type":"tool_uses","value":5},"clear_at_least":{"type":"input_tokens","value":1000},"exclude_tools":["memory"],"clear_tool_inputs":true},{"type":"compact_20260112","trigger":{"type":"input_tokens","value":150000},"pause_after_compaction":true}]}"#
    );
    assert_eq!(member.betas, [CONTEXT_MANAGEMENT, COMPACT_AT_THRESHOLD]);
}

#[test]
fn other_members_and_their_headers() {
    let capable = capable();
    let cases = [
        (
            compaction(Some("  "), &capable),
            "compaction",
            r#"{"type":"summarize"}"#,
            vec![COMPACT_ON_DEMAND],
        ),
        (
            compaction(Some("short"), &capable),
            "compaction",
            r#"{"type":"summarize","instructions":"short"}"#,
            vec![COMPACT_ON_DEMAND],
        ),
        (
            thinking(Thinking::Adaptive, PrefixMismatch::DropBlock, &capable),
            "thinking",
            r#"{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}"#,
            vec![BINDING_CONTROLS],
        ),
        (
            thinking(
                Thinking::Budget(Tokens(2_048)),
                PrefixMismatch::Default,
                &capable,
            ),
            "thinking",
            r#"{"type":"enabled","budget_tokens":2048}"#,
            vec![],
        ),
        (
            cache_diagnostics(None, &capable),
            "diagnostics",
            r#"{"previous_message_id":null}"#,
            vec![],
        ),
        (
            cache_diagnostics(Some(&"msg_1".into()), &capable),
            "diagnostics",
            r#"{"previous_message_id":"msg_1"}"#,
            vec![],
        ),
    ];
    for (member, name, value, betas) in cases {
        let member = member.unwrap();
        assert_eq!((member.name, text(&member).as_str()), (name, value));
        assert_eq!(member.betas, betas);
    }
}

#[test]
fn what_the_model_cannot_do_is_refused_before_it_is_sent() {
    let chat = Capabilities::of_chat(ModelTable::builtin(), "local");
    let old = Capabilities::of_messages(ModelTable::builtin(), "claude-sonnet-4-5");
    assert!(ContextEditing::default().member(&chat).is_err());
    assert!(compaction(None, &chat).is_err());
    assert!(cache_diagnostics(None, &chat).is_err());
    assert!(thinking(Thinking::Adaptive, PrefixMismatch::Error, &old).is_err());
    assert!(thinking(Thinking::Budget(Tokens(9)), PrefixMismatch::Default, &old).is_err());
    let too_early = ContextEditing {
        compact: Some(CompactAt {
            trigger: Tokens(49_999),
            instructions: None,
            pause: false,
        }),
        ..ContextEditing::default()
    };
    assert!(too_early.member(&capable()).is_err());
}

fn extras(diagnostics: &str) -> Extras {
    Extras {
        diagnostics: Some(serde_json::from_str(diagnostics).unwrap()),
        ..Extras::default()
    }
}

#[test]
fn reports_about_the_cache_are_read() {
    let missed = Some(Tokens(900));
    let cases = [
        ("null", CacheDiagnosis::Pending),
        (
            r#"{"cache_miss_reason":null}"#,
            CacheDiagnosis::NoDivergence,
        ),
        (
            r#"{"cache_miss_reason":{"type":"tools_changed","cache_missed_input_tokens":900}}"#,
            CacheDiagnosis::Changed {
                what: Changed::Tools,
                missed,
            },
        ),
        (
            r#"{"cache_miss_reason":{"type":"previous_message_not_found"}}"#,
            CacheDiagnosis::PreviousNotFound,
        ),
        (
            r#"{"cache_miss_reason":{"type":"moon"}}"#,
            CacheDiagnosis::Other("moon".to_owned()),
        ),
    ];
    for (raw, expected) in cases {
        assert_eq!(extras(raw).cache_diagnosis(), Some(expected), "{raw}");
    }
    assert_eq!(Extras::default().cache_diagnosis(), None);
}

#[test]
fn reports_about_edits_are_read_and_unknown_ones_kept() {
    let report = r#"{"applied_edits":[
        {"type":"clear_tool_uses_20250919","cleared_tool_uses":8,"cleared_input_tokens":50000},
        {"type":"clear_thinking_20251015","cleared_thinking_turns":3,"cleared_input_tokens":1500},
        {"type":"moon"}]}"#;
    let extras = Extras {
        context_management: Some(serde_json::from_str(report).unwrap()),
        input_transformations: Some(
            serde_json::from_str(r#"[{"type":"thinking_dropped"},{"type":"x"}]"#).unwrap(),
        ),
        ..Extras::default()
    };
    let expected = [
        AppliedEdit::ToolUses {
            cleared: 8,
            tokens: Tokens(50_000),
        },
        AppliedEdit::Thinking {
            turns: 3,
            tokens: Tokens(1_500),
        },
        AppliedEdit::Other(serde_json::from_str(r#"{"type":"moon"}"#).unwrap()),
    ];
    assert_eq!(extras.applied_edits(), expected);
    assert_eq!(extras.dropped_thinking(), 1);
    assert!(Extras::default().applied_edits().is_empty());
}
