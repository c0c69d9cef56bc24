use super::*;
use pretty_assertions::assert_eq;

#[test]
fn a_user_file_replaces_fields_and_adds_models() {
    let table = ModelTable::with_overrides(
        r#"
        [tokenizers.new]
        text_bytes_per_token = 2.5
        [models.claude-opus-5]
        prices = { read = 0.25 }
        window = 500_000
        [models."qwen/Qwen3-Coder"]
        aliases = ["qwen3*", "coder"]
        window = 262_144
        prices = { input = 0.2, output = 0.8 }
        text_bytes_per_token = 3.5
        "#,
    )
    .unwrap();
    let opus = table.lookup("claude-opus-5").info;
    let before = ModelTable::builtin().lookup("claude-opus-5").info;
    assert_eq!(opus.window, Tokens(500_000));
    assert_eq!(opus.max_output, before.max_output);
    let (prices, prices_before) = (opus.prices.unwrap(), before.prices.unwrap());
    assert_eq!(
        prices.standard.read,
        Price::from_micros_per_million(250_000)
    );
    assert_eq!(prices.standard.input, prices_before.standard.input);
    assert_eq!(prices.fast, prices_before.fast);
    assert_eq!(opus.bytes_per_token.text.tokens_of(250), Tokens(100));

    let qwen = table.lookup("qwen/qwen3-coder");
    assert_eq!(qwen.matched, Matched::Id);
    assert_eq!(table.lookup("coder").matched, Matched::Alias);
    assert_eq!(table.lookup("qwen3:30b-a3b").matched, Matched::Prefix);
    assert_eq!(qwen.info.bytes_per_token.text.tokens_of(35), Tokens(10));
    assert_eq!(qwen.info.bytes_per_token.json.tokens_of(20), Tokens(10));
    // Cache prices are derived from the input price when the file gives none.
    assert_eq!(
        qwen.info.prices.unwrap().standard.write_5m,
        Price::from_micros_per_million(250_000)
    );
    assert_eq!(
        qwen.info.prices.unwrap().standard.read,
        Price::from_micros_per_million(20_000)
    );
    assert_eq!(
        ModelTable::builtin().lookup("qwen3").matched,
        Matched::Unknown
    );
}

#[test]
fn the_longest_prefix_rule_wins() {
    let table = ModelTable::with_overrides(
        "[models.a]\naliases = [\"gpt*\"]\n[models.b]\naliases = [\"gpt-5*\"]",
    )
    .unwrap();
    assert_eq!(table.lookup("openai/gpt-5.2").info.id, "b");
    assert_eq!(table.lookup("gpt-4o").info.id, "a");
}

#[test]
fn errors_name_model_and_field() {
    let cases = [
        ("x = [", "line 1, column 6"),
        ("version = 2", "version 2 of the model file is newer than 1"),
        ("model = 1", "unknown section `model`"),
        ("[models.m]\nwindw = 1", "model `m`: unknown field `windw`"),
        (
            "[models.m]\nwindow = \"big\"",
            "model `m`: `window` must be a number of tokens above 0",
        ),
        ("[models.m]\nwindow = 0", "model `m`: `window` must be"),
        (
            "[models.m]\nprices = { input = 1 }",
            "model `m`: `prices.output` is missing",
        ),
        (
            "[models.m]\nprices = { input = -1, output = 1 }",
            "model `m`: `prices.input` must be dollars",
        ),
        (
            "[models.m]\nprices = { input = 0.0000001, output = 1 }",
            "model `m`: `prices.input` must be dollars",
        ),
        (
            "[models.claude-opus-5]\nprices = { reed = 1 }",
            "model `claude-opus-5`: unknown field `prices.reed`",
        ),
        (
            "[models.m]\nfast = { input = 1, output = 2 }",
            "model `m`: `prices` is missing",
        ),
        (
            "[models.claude-opus-5]\nlong_prompt = { input = 1, output = 2 }",
            "`long_prompt.over` is missing",
        ),
        (
            "[models.claude-opus-5]\nbatch_factor = 1.5",
            "`batch_factor` must be a number from 0 to 1",
        ),
        (
            "[models.m]\nthinking_binding = \"suffix\"",
            "model `m`: `thinking_binding` must be",
        ),
        (
            "[models.m]\ntokenizer = \"newer\"",
            "model `m`: `tokenizer` must be",
        ),
        (
            "[models.m]\ntext_bytes_per_token = 0",
            "model `m`: `text_bytes_per_token` must be",
        ),
        (
            "[models.m]\nhidden_tool_tokens = { auto = 1 }",
            "model `m`: `hidden_tool_tokens.any` is missing",
        ),
        (
            "[models.m]\nretired = \"no\"",
            "model `m`: `retired` must be true or false",
        ),
        (
            "[models.m]\naliases = [1]",
            "model `m`: `aliases` must be a list of texts",
        ),
        ("[models]\nm = 1", "model `m`: `m` must be a table"),
        (
            "[models.m]\naliases = [\"claude-opus-5\"]",
            "the name `claude-opus-5` already belongs to",
        ),
        (
            "[tokenizers.newest]\ntext_bytes_per_token = 2",
            "model `tokenizers.newest`: `tokenizer` must be",
        ),
    ];
    for (text, expected) in cases {
        let error = ModelTable::with_overrides(text).unwrap_err().to_string();
        assert!(
            error.contains(expected),
            "{text}\n  gave: {error}\n  want: {expected}"
        );
    }
}
