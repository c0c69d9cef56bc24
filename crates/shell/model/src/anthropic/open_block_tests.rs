//! Blocks from their pieces.

use super::*;
use pretty_assertions::assert_eq;

fn open(head: &str, deltas: &[&str]) -> OpenBlock {
    let head: &RawValue = serde_json::from_str(head).unwrap();
    let mut block = OpenBlock::new(head).unwrap();
    for delta in deltas {
        block.grow(serde_json::from_str(delta).unwrap()).unwrap();
    }
    block
}

fn build(head: &str, deltas: &[&str]) -> Closed {
    open(head, deltas).close().unwrap()
}

#[test]
fn every_kind_of_block_comes_out_as_one_object() {
    let cases: [(&str, &[&str], &str); 15] = [
        (
            r#"{"type":"text","text":""}"#,
            &[
                r#"{"type":"text_delta","text":"a\u00e9"}"#,
                r#"{"type":"text_delta","text":" \"b\""}"#,
            ],
            r#"{"type":"text","text":"aé \"b\""}"#,
        ),
        (
            r#"{"type":"text","text":"one "}"#,
            &[r#"{"type":"text_delta","text":"two"}"#],
            r#"{"type":"text","text":"one two"}"#,
        ),
        (
            r#"{"type":"text","text":"one"}"#,
            &[],
            r#"{"type":"text","text":"one"}"#,
        ),
        (
            r#"{"type":"thinking","thinking":"one ","signature":"s"}"#,
            &[r#"{"type":"thinking_delta","thinking":"two"}"#],
            r#"{"type":"thinking","thinking":"one two","signature":"s"}"#,
        ),
        (
            r#"{"citations":null,"type":"text","text":""}"#,
            &[
                r#"{"type":"citations_delta","citation":{"type":"page", "n":1}}"#,
                r#"{"type":"text_delta","text":"x"}"#,
                r#"{"type":"citations_delta","citation":{"n":2}}"#,
            ],
            r#"{"citations":[{"type":"page","n":1},{"n":2}],"type":"text","text":"x"}"#,
        ),
        (
            r#"{"type":"thinking","thinking":"","signature":""}"#,
            &[
                r#"{"type":"thinking_delta","thinking":"hm","estimated_tokens":3}"#,
                r#"{"type":"signature_delta","signature":"s=="}"#,
            ],
            r#"{"type":"thinking","thinking":"hm","signature":"s=="}"#,
        ),
        (
            r#"{"type":"thinking","thinking":"","signature":""}"#,
            &[r#"{"type":"signature_delta","signature":"s=="}"#],
            r#"{"type":"thinking","thinking":"","signature":"s=="}"#,
        ),
        (
            r#"{"type":"redacted_thinking","data":"abc"}"#,
            &[],
            r#"{"type":"redacted_thinking","data":"abc"}"#,
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#,
            &[
                r#"{"type":"input_json_delta","partial_json":""}"#,
                r#"{"type":"input_json_delta","partial_json":"{\"b\": 1.50, \"a"}"#,
                r#"{"type":"input_json_delta","partial_json":"\": \"x y\"}"}"#,
            ],
            r#"{"type":"tool_use","id":"t","name":"Read","input":{"b":1.50,"a":"x y"}}"#,
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"Now","input":{}}"#,
            &[r#"{"type":"input_json_delta","partial_json":""}"#],
            r#"{"type":"tool_use","id":"t","name":"Now","input":{}}"#,
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"Now"}"#,
            &[r#"{"type":"input_json_delta","partial_json":"{\"a\":1}"}"#],
            r#"{"type":"tool_use","id":"t","name":"Now","input":{"a":1}}"#,
        ),
        (
            r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#,
            &[r#"{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}"#],
            r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}"#,
        ),
        (
            r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[{"n":1e3}]}"#,
            &[],
            r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[{"n":1e3}]}"#,
        ),
        (
            r#"{"type":"compaction","content":null}"#,
            &[r#"{"type":"compaction_delta","content":"sum","encrypted_content":"e"}"#],
            r#"{"type":"compaction","content":"sum","encrypted_content":"e"}"#,
        ),
        (
            r#"{"type":"from_the_future","x":1}"#,
            &[r#"{"type":"future_delta","y":2}"#],
            r#"{"type":"from_the_future","x":1}"#,
        ),
    ];
    for (head, deltas, expected) in cases {
        let Closed::Block(block) = build(head, deltas) else {
            panic!("{head} did not close");
        };
        assert_eq!(block.bytes(), expected.as_bytes(), "{block:?}");
    }
}

#[test]
fn input_that_is_no_object_is_told_apart() {
    for input in [r#"{\"a\":"#, "[1]", "7", r#"{\"a\":1}}"#] {
        let delta = format!(r#"{{"type":"input_json_delta","partial_json":"{input}"}}"#);
        let head = r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#;
        let Closed::BadInput(unfinished, error) = build(head, &[&delta]) else {
            panic!("{input} was taken");
        };
        assert_eq!(unfinished.received.replace('"', "\\\""), input);
        assert!(error.to_string().contains("`Read`"));
    }
}

#[test]
fn an_unfinished_block_has_all_its_words() {
    let cases: [(&str, &[&str], &str); 4] = [
        (r#"{"type":"text","text":""}"#, &[], ""),
        (r#"{"type":"text","text":"one"}"#, &[], "one"),
        (
            r#"{"type":"text","text":"one "}"#,
            &[r#"{"type":"text_delta","text":"two"}"#],
            "one two",
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"Read","input":{}}"#,
            &[r#"{"type":"input_json_delta","partial_json":"{\"a"}"#],
            r#"{"a"#,
        ),
    ];
    for (head, deltas, expected) in cases {
        assert_eq!(open(head, deltas).unfinished().received, expected);
    }
}
