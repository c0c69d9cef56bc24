use super::*;
use proptest::prelude::*;

fn block(text: &str) -> Block {
    Block::parse(&Bytes::copy_from_slice(text.as_bytes())).unwrap()
}

#[test]
fn unknown_blocks_and_fields_survive_byte_for_byte() {
    for raw in [
        r#"{"type":"text","text":"a\u00e9\/b","citations":null,"zz":[1.0,1e3,12345678901234567890]}"#,
        r#"{"type":"hologram","depth":{"b":1,"a":2}}"#,
        r#"{"type":"tool_use","id":"t1","name":"Read","input":{"z":1,"a":2},"caller":{"type":"direct"}}"#,
    ] {
        assert_eq!(block(raw).bytes(), raw.as_bytes());
    }
}

#[test]
fn markers_are_no_part_of_identity() {
    let plain = block(r#"{"type":"text","text":"hi"}"#);
    for marked in [
        r#"{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}"#,
        r#"{"type":"text","cache_control":{"type":"ephemeral","ttl":"1h"},"text":"hi"}"#,
        r#"{ "type": "text", "text": "hi" }"#,
    ] {
        assert_eq!(block(marked), plain, "{marked}");
        assert_eq!(block(marked).hash(), plain.hash());
    }
    let nested = block(
        r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]}"#,
    );
    assert_eq!(
        nested.bytes(),
        &br#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}]}"#[..]
    );
}

#[test]
fn a_string_is_one_text_block() {
    let raw: &RawValue = serde_json::from_str(r#""a \"b\" c""#).unwrap();
    assert_eq!(Block::of_json_string(raw), Block::text("a \"b\" c"));
}

#[test]
fn what_the_provider_would_refuse_is_known() {
    assert!(Block::text("").is_unsendable());
    assert!(!Block::text(" ").is_unsendable());
    assert!(block(r#"{"type":"thinking","thinking":"x"}"#).is_unsendable());
    assert!(block(r#"{"type":"thinking","thinking":"x","signature":""}"#).is_unsendable());
    assert!(!block(r#"{"type":"thinking","thinking":"","signature":"s"}"#).is_unsendable());
}

#[test]
fn bad_blocks_say_what_is_wrong() {
    let error = |text: &str| Block::parse(&Bytes::copy_from_slice(text.as_bytes())).unwrap_err();
    assert!(matches!(
        error("\"x\""),
        BlockError::NotAnObject { found: "a string" }
    ));
    assert!(matches!(
        error("[1]"),
        BlockError::NotAnObject { found: "an array" }
    ));
    assert!(matches!(error("{}"), BlockError::NoType));
    assert!(matches!(error("{\"type\":"), BlockError::Malformed(_)));
}

#[test]
fn calls_and_results_know_each_other() {
    let call = block(r#"{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/a"}}"#);
    assert_eq!(call.call().map(CallId::as_str), Some("t1"));
    assert_eq!(call.tool(), Some("Read"));
    assert_eq!(call.input_text("file_path").as_deref(), Some("/a"));
    let result = Block::tool_result(&"t1".into(), "line \"1\"", true);
    assert_eq!(result, block(std::str::from_utf8(result.bytes()).unwrap()));
    assert!(result.is_error());
    assert_eq!(result.readable_text().as_deref(), Some("line \"1\""));
}

#[test]
fn weight_counts_scripts_escapes_and_pictures() {
    let latin = *Block::text("abcd\n").weight();
    assert_eq!((latin.text_bytes, latin.wide_chars), (5, 0));
    let wide = *Block::text("日本").weight();
    assert_eq!((wide.text_bytes, wide.wide_chars), (0, 2));
    let escaped = *block(r#"{"type":"text","text":"\u65e5x"}"#).weight();
    assert_eq!((escaped.text_bytes, escaped.wide_chars), (1, 1));
    // GIF header with a size of 280 by 56 pixels: 10 by 2 tiles.
    let gif = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        [&b"GIF89a"[..], &[0x18, 0x01, 0x38, 0x00, 0, 0, 0, 0, 0, 0]].concat(),
    );
    let picture = block(&format!(
        r#"{{"type":"image","source":{{"type":"base64","media_type":"image/gif","data":"{gif}"}}}}"#
    ));
    assert_eq!(picture.weight().media_tokens, 20);
    let unknown = block(r#"{"type":"image","source":{"type":"url","url":"x"}}"#);
    assert_eq!(
        unknown.weight().media_tokens,
        crate::weight::UNKNOWN_MEDIA_TOKENS
    );
}

proptest! {
    #[test]
    fn text_round_trips(text in ".*") {
        let made = Block::text(&text);
        let value: serde_json::Value = serde_json::from_slice(made.bytes()).unwrap();
        prop_assert_eq!(value["text"].as_str(), Some(text.as_str()));
        let read = block(std::str::from_utf8(made.bytes()).unwrap());
        prop_assert_eq!(&read, &made);
        prop_assert_eq!(made.weight(), read.weight());
    }

    #[test]
    fn parsing_anything_never_panics(text in ".{0,80}") {
        let _parsed = Block::parse(&Bytes::from(text));
    }
}
