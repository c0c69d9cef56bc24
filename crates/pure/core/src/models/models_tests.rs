use super::*;
use pretty_assertions::assert_eq;

fn builtin() -> &'static ModelTable {
    ModelTable::builtin()
}

#[test]
fn the_builtin_file_is_sound() {
    let table = ModelTable::empty().merged(BUILTIN).unwrap();
    assert_eq!(&table, builtin());
    for info in table.iter() {
        assert!(info.prices.is_some(), "{} has no prices", info.id);
        assert!(info.max_output < info.window, "{}", info.id);
        assert_eq!(table.lookup(&info.id).info, info);
    }
}

/// Expected figures by model: window, max output, then input, output, 5m write, 1h write, read.
type Row = (&'static str, u64, u64, [f64; 5]);

const ROWS: &[Row] = &[
    (
        "claude-fable-5-2",
        1_000_000,
        128_000,
        [8.0, 40.0, 10.0, 16.0, 0.20],
    ),
    (
        "claude-mythos-5-2",
        1_000_000,
        128_000,
        [8.0, 40.0, 10.0, 16.0, 0.20],
    ),
    (
        "claude-fable-5-1",
        1_000_000,
        128_000,
        [10.0, 50.0, 12.5, 20.0, 0.25],
    ),
    (
        "claude-mythos-5-1",
        1_000_000,
        128_000,
        [10.0, 50.0, 12.5, 20.0, 0.25],
    ),
    (
        "claude-opus-5-5",
        1_000_000,
        128_000,
        [4.0, 20.0, 5.0, 8.0, 0.20],
    ),
    (
        "claude-sonnet-5-5",
        1_000_000,
        128_000,
        [2.0, 10.0, 2.5, 4.0, 0.10],
    ),
    (
        "claude-haiku-5-5",
        1_000_000,
        128_000,
        [0.10, 0.50, 0.125, 0.20, 0.01],
    ),
    (
        "claude-fable-5",
        1_000_000,
        128_000,
        [10.0, 50.0, 12.5, 20.0, 1.0],
    ),
    (
        "claude-mythos-5",
        1_000_000,
        128_000,
        [10.0, 50.0, 12.5, 20.0, 1.0],
    ),
    (
        "claude-opus-5",
        1_000_000,
        128_000,
        [5.0, 25.0, 6.25, 10.0, 0.50],
    ),
    (
        "claude-opus-4-8",
        1_000_000,
        128_000,
        [5.0, 25.0, 6.25, 10.0, 0.50],
    ),
    (
        "claude-opus-4-7",
        1_000_000,
        128_000,
        [5.0, 25.0, 6.25, 10.0, 0.50],
    ),
    (
        "claude-opus-4-6",
        1_000_000,
        128_000,
        [5.0, 25.0, 6.25, 10.0, 0.50],
    ),
    (
        "claude-opus-4-5",
        200_000,
        64_000,
        [5.0, 25.0, 6.25, 10.0, 0.50],
    ),
    (
        "claude-sonnet-5",
        1_000_000,
        128_000,
        [2.0, 10.0, 2.5, 4.0, 0.20],
    ),
    (
        "claude-sonnet-4-6",
        1_000_000,
        128_000,
        [3.0, 15.0, 3.75, 6.0, 0.30],
    ),
    (
        "claude-sonnet-4-5",
        200_000,
        64_000,
        [3.0, 15.0, 3.75, 6.0, 0.30],
    ),
    (
        "claude-haiku-4-5",
        200_000,
        64_000,
        [1.0, 5.0, 1.25, 2.0, 0.10],
    ),
    (
        "claude-opus-4-1",
        200_000,
        32_000,
        [15.0, 75.0, 18.75, 30.0, 1.50],
    ),
    (
        "claude-opus-4",
        200_000,
        32_000,
        [15.0, 75.0, 18.75, 30.0, 1.50],
    ),
    (
        "claude-sonnet-4",
        200_000,
        64_000,
        [3.0, 15.0, 3.75, 6.0, 0.30],
    ),
    (
        "claude-3-7-sonnet",
        200_000,
        64_000,
        [3.0, 15.0, 3.75, 6.0, 0.30],
    ),
    (
        "claude-3-5-sonnet",
        200_000,
        8_192,
        [3.0, 15.0, 3.75, 6.0, 0.30],
    ),
    (
        "claude-3-5-haiku",
        200_000,
        8_192,
        [0.80, 4.0, 1.0, 1.6, 0.08],
    ),
    (
        "claude-3-opus",
        200_000,
        4_096,
        [15.0, 75.0, 18.75, 30.0, 1.50],
    ),
    (
        "claude-3-haiku",
        200_000,
        4_096,
        [0.25, 1.25, 0.30, 0.50, 0.03],
    ),
];

fn million_of(kind: usize) -> TokenUsage {
    let mut parts = [Tokens::ZERO; 5];
    parts[kind] = Tokens(1_000_000);
    let [input, output, cache_write_5m, cache_write_1h, cache_read] = parts;
    TokenUsage {
        input,
        cache_read,
        cache_write_5m,
        cache_write_1h,
        output,
    }
}

#[test]
fn every_price_row() {
    assert_eq!(builtin().iter().count(), ROWS.len());
    for (id, window, max_output, prices) in ROWS {
        let info = builtin().lookup(id).info;
        assert_eq!(
            (info.id.as_str(), info.window.get(), info.max_output.get()),
            (*id, *window, *max_output)
        );
        for (kind, dollars) in prices.iter().enumerate() {
            let expected: Usd = format!("{dollars:.6}").parse().unwrap();
            let standard = info.prices.unwrap().standard;
            assert_eq!(
                standard.cost(&million_of(kind)),
                expected,
                "{id}, price {kind}"
            );
        }
    }
}

/// Cases: name, id it resolves to, kind of match; `1m` where the suffix was recognised.
const NAMES: &str = "
    claude-sonnet-4-5 | claude-sonnet-4-5 | Id
    claude-sonnet-4-5-20250929 | claude-sonnet-4-5 | Id
    claude-sonnet-4-5[1m] | claude-sonnet-4-5 | Id 1m
    claude-sonnet-4-5-20250929[1m] | claude-sonnet-4-5 | Id 1m
    Claude-Opus-5 [1M] | claude-opus-5 | Id 1m
    claude-opus-4-6 | claude-opus-4-6 | Id
    claude-opus-4 | claude-opus-4 | Id
    claude-opus-4-20250514 | claude-opus-4 | Id
    claude-opus-4-0 | claude-opus-4 | Alias
    claude-opus-4-1-20250805 | claude-opus-4-1 | Id
    claude-3-7-sonnet-latest | claude-3-7-sonnet | Id
    claude-3-5-sonnet-20241022 | claude-3-5-sonnet | Id
    anthropic/claude-opus-5 | claude-opus-5 | Id
    openrouter/anthropic/claude-3.5-haiku:beta | claude-3-5-haiku | Id
    anthropic/claude-sonnet-4.5 | claude-sonnet-4-5 | Id
    anthropic/claude-sonnet-4.5-2025-09-29 | claude-sonnet-4-5 | Id
    us.anthropic.claude-sonnet-4-5-20250929-v1:0 | claude-sonnet-4-5 | Id
    anthropic.claude-3-5-sonnet-20241022-v2:0 | claude-3-5-sonnet | Id
    arn:aws:bedrock:x:1:profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0 | claude-haiku-4-5 | Id
    claude-opus-4-1@20250805 | claude-opus-4-1 | Id
    claude-opus-4-9 | unknown | Unknown
    claude-opus-4-6-1 | unknown | Unknown
    claude-opus | unknown | Unknown
    my-claude-opus-5 | unknown | Unknown
    qwen3[1m] | unknown | Unknown 1m
    unknown | unknown | Unknown
    <synthetic> | unknown | Unknown
     | unknown | Unknown
";

#[test]
fn names_resolve_in_every_written_form() {
    for row in NAMES.lines().filter(|row| row.contains('|')) {
        let parts: Vec<&str> = row.split('|').map(str::trim).collect();
        let found = builtin().lookup(parts[0]);
        let suffix = if found.million_suffix { " 1m" } else { "" };
        let how = format!("{:?}{suffix}", found.matched);
        assert_eq!([parts[0], &found.info.id, &how], parts[..], "{row}");
        assert_eq!(found.is_known(), parts[1] != UNKNOWN_MODEL);
    }
}

#[test]
fn an_unknown_model_has_a_window_but_no_cost() {
    let unknown = builtin().lookup("somebody-elses-model").info;
    assert_eq!(unknown.window, Tokens(200_000));
    assert_eq!(unknown.cost(&million_of(0)), None);
    assert_eq!(unknown.cost(&TokenUsage::default()), None);
    assert_eq!(unknown.bytes_per_token.text.tokens_of(4_001), Tokens(1_001));
    assert_eq!(unknown.bytes_per_token.json.tokens_of(4_000), Tokens(2_000));
}

#[test]
fn a_long_prompt_changes_the_price_of_the_whole_request() {
    let haiku = builtin().lookup("claude-haiku-5-5").info;
    let usage = |read: u64| TokenUsage {
        input: Tokens(40_000),
        cache_read: Tokens(read),
        cache_write_5m: Tokens(8_000),
        cache_write_1h: Tokens(2_000),
        output: Tokens(1_000),
    };
    // 40k·0.10 + 50k·0.01 + 8k·0.125 + 2k·0.20 + 1k·0.50 = 6,400 millionths of a dollar.
    assert_eq!(haiku.cost(&usage(50_000)), "0.0064".parse().ok());
    // One token past the step, and the whole request is billed at the higher prices.
    assert_eq!(haiku.cost(&usage(50_001)), "0.03200005".parse().ok());
    // Output tokens do not count towards the step.
    let long_answer = TokenUsage {
        output: Tokens(90_000),
        ..usage(50_000)
    };
    assert_eq!(haiku.cost(&long_answer), "0.0509".parse().ok());
}

#[test]
fn services_have_their_own_prices() {
    let usage = TokenUsage {
        input: Tokens(1_000_000),
        cache_read: Tokens(1_000_000),
        ..TokenUsage::default()
    };
    let opus = builtin().lookup("claude-opus-4-8").info.prices.unwrap();
    assert_eq!(
        opus.cost_as(Service::Standard, &usage),
        Some(Usd::from_cents(550))
    );
    assert_eq!(
        opus.cost_as(Service::Batch, &usage),
        Some(Usd::from_cents(275))
    );
    assert_eq!(
        opus.cost_as(Service::Fast, &usage),
        Some(Usd::from_cents(1_100))
    );
    let sonnet = builtin().lookup("claude-sonnet-5").info.prices.unwrap();
    assert_eq!(sonnet.cost_as(Service::Fast, &usage), None);
}

#[test]
fn behaviour_follows_the_published_lists() {
    let ids = |select: fn(&ModelInfo) -> bool| -> Vec<&str> {
        builtin()
            .iter()
            .filter(|info| select(info) && !info.retired)
            .map(|info| info.id.as_str())
            .collect()
    };
    assert_eq!(
        ids(|info| info.thinking_binding == ThinkingBinding::Prefix),
        [
            "claude-fable-5-1",
            "claude-fable-5-2",
            "claude-mythos-5-1",
            "claude-mythos-5-2",
            "claude-opus-5-5",
            "claude-sonnet-5-5"
        ]
    );
    assert_eq!(
        ids(|info| info.thinking_binding == ThinkingBinding::Account),
        ["claude-haiku-5-5"]
    );
    assert_eq!(
        ids(|info| info.strips_prior_thinking),
        ["claude-haiku-4-5", "claude-sonnet-4-5"]
    );
    assert_eq!(
        ids(|info| info.context_awareness),
        [
            "claude-haiku-4-5",
            "claude-sonnet-4-5",
            "claude-sonnet-4-6",
            "claude-sonnet-5"
        ]
    );
    assert!(
        !builtin()
            .lookup("claude-sonnet-5")
            .info
            .mid_conversation_system
    );
    assert!(
        builtin()
            .lookup("claude-opus-5")
            .info
            .mid_conversation_system
    );
    assert_eq!(
        builtin().lookup("claude-opus-4-6").info.tokenizer,
        Tokenizer::Old
    );
    assert_eq!(
        builtin().lookup("claude-opus-4-7").info.tokenizer,
        Tokenizer::New
    );
}

#[test]
fn thinking_is_read_within_a_family_only() {
    let info = |name| builtin().lookup(name).info;
    assert!(info("claude-mythos-5-1").reads_thinking_of(info("claude-fable-5-1")));
    assert!(!info("claude-fable-5-2").reads_thinking_of(info("claude-fable-5-1")));
    assert!(info("claude-opus-5-5").reads_thinking_of(info("claude-opus-5-5")));
    assert!(!info("claude-opus-5").reads_thinking_of(info("claude-opus-5-5")));
}

#[test]
fn the_newer_tokenizer_makes_about_thirty_percent_more() {
    let old = builtin().lookup("claude-opus-4-6").info.bytes_per_token;
    let new = builtin().lookup("claude-opus-4-7").info.bytes_per_token;
    for (old, new) in [(old.text, new.text), (old.json, new.json)] {
        let factor = old.as_f64() / new.as_f64();
        assert!((1.25..=1.35).contains(&factor), "{factor}");
    }
}
