//! The worked examples of prompt caching, each figure exact.

use crate::support::{
    MODEL, World, assistant, block, body, config, marked, numbered, parse, text, tool, user, with,
};
use dormouse_core::units::Tokens;
use dormouse_core::usage::Usd;
use dormouse_sim::{SimConfig, Switches};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Milliseconds of a minute.
const MINUTE: i64 = 60_000;

#[test]
fn a_hit_five_blocks_back_is_found_and_one_twenty_blocks_back_is_not() {
    let mut world = World::new();
    assert_eq!(world.bill(&numbered(10, &[(10, "5m")])), [0, 0, 1_000, 0]);
    assert_eq!(world.bill(&numbered(15, &[(15, "5m")])), [1_000, 0, 500, 0]);
    assert_eq!(world.bill(&numbered(35, &[(35, "5m")])), [0, 0, 3_500, 0]);
}

#[test]
fn a_second_marker_finds_what_the_first_one_misses() {
    let mut world = World::new();
    world.bill(&numbered(10, &[(10, "5m")]));
    world.bill(&numbered(15, &[(15, "5m")]));
    assert_eq!(
        world.bill(&numbered(35, &[(15, "5m"), (35, "5m")])),
        [1_500, 0, 2_000, 0]
    );
}

#[test]
fn the_marker_itself_is_one_of_the_twenty() {
    for (count, read) in [(34, 1_500), (35, 0)] {
        let mut world = World::new();
        world.bill(&numbered(15, &[(15, "5m")]));
        let bill = world.bill(&numbered(count, &[(count, "5m")]));
        assert_eq!(bill[0], read, "{count}");
    }
}

#[test]
fn only_what_was_written_can_be_read() {
    let mut world = World::new();
    world.bill(&numbered(10, &[(10, "5m")]));
    // Block 5 is as old as block 10, but no entry was written there.
    assert_eq!(world.bill(&numbered(5, &[(5, "5m")])), [0, 0, 500, 0]);
}

#[test]
fn the_marker_is_no_part_of_the_content() {
    let mut world = World::new();
    world.bill(&numbered(5, &[(3, "5m"), (5, "5m")]));
    assert_eq!(world.bill(&numbered(6, &[(6, "5m")])), [500, 0, 100, 0]);
    assert_eq!(world.bill(&numbered(3, &[(3, "5m")])), [300, 0, 0, 0]);
}

#[test]
fn without_a_marker_nothing_is_read_or_written() {
    let mut world = World::new();
    world.bill(&numbered(5, &[(5, "5m")]));
    assert_eq!(world.bill(&numbered(5, &[])), [0, 0, 0, 500]);
}

#[test]
fn mixed_lifetimes_are_billed_by_a_b_and_c() {
    // Nothing cached: A = 0, B = 2, C = 4 of 6 blocks.
    let mut world = World::new();
    let request = numbered(6, &[(2, "1h"), (4, "5m")]);
    assert_eq!(world.bill(&request), [0, 200, 200, 200]);
    // All cached: A = 4.
    assert_eq!(world.bill(&request), [400, 0, 0, 200]);
    // After ten minutes only the hour's entry is left: A = B = 2.
    world.now += 10 * MINUTE;
    assert_eq!(world.bill(&request), [200, 0, 200, 200]);
    // A hit in the middle: A = 4, B = 5, C = 7.
    assert_eq!(
        world.bill(&numbered(8, &[(2, "1h"), (5, "1h"), (7, "5m")])),
        [400, 100, 200, 100]
    );
}

#[test]
fn usage_and_cost_follow_from_the_bill() {
    let mut world = World::new();
    let request = with(numbered(6, &[(2, "1h"), (4, "5m")]), "max_tokens", json!(0));
    let response = world.post("/v1/messages", &request);
    let usage = &parse(&response)["usage"];
    assert_eq!(usage["input_tokens"], 200);
    assert_eq!(usage["cache_creation_input_tokens"], 400);
    assert_eq!(usage["cache_read_input_tokens"], 0);
    assert_eq!(
        usage["cache_creation"],
        json!({"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 200})
    );
    // Opus 5: 200 at $5, 200 at $10, 200 at $6.25 per million.
    let cost: Usd = "0.00425".parse().unwrap();
    assert_eq!(response.header("x-sim-cost-usd"), Some("0.00425"));
    assert_eq!(response.report.unwrap().cost, Some(cost));
}

#[test]
fn reading_has_a_price_per_model() {
    for (model, cost) in [
        ("claude-fable-5-1", "0.00025"),
        ("claude-opus-5-5", "0.0002"),
        ("claude-sonnet-5-5", "0.0001"),
        ("claude-opus-5", "0.0005"),
        ("claude-haiku-4-5", "0.0001"),
    ] {
        let mut world = World::new();
        let request = with(numbered(10, &[(10, "5m")]), "model", json!(model));
        let request = with(request, "max_tokens", json!(0));
        world.bill(&request);
        let report = world.report(&request);
        assert_eq!(report.usage.cache_read, Tokens(1_000), "{model}");
        assert_eq!(report.cost.unwrap().to_decimal(), cost, "{model}");
    }
}

#[test]
fn fast_mode_and_a_region_cost_more() {
    for (name, value, cost) in [
        ("speed", "standard", "0.005"),
        ("speed", "fast", "0.01"),
        ("inference_geo", "us", "0.0055"),
    ] {
        let request = with(numbered(10, &[]), "max_tokens", json!(0));
        let report = World::new().report(&with(request, name, json!(value)));
        assert_eq!(report.cost.unwrap().to_decimal(), cost, "{value}");
    }
}

#[test]
fn below_the_minimum_a_marker_is_ignored_without_a_word() {
    for (model, minimum) in [
        ("claude-opus-5", 512),
        ("claude-opus-4-8", 1_024),
        ("claude-opus-4-7", 2_048),
        ("claude-haiku-4-5", 4_096),
    ] {
        let config = SimConfig {
            cache_minimum: None,
            ..config()
        };
        let request = |tokens: usize| {
            let marked = marked(block("b", tokens), "5m");
            with(
                body(json!([{"role": "user", "content": [marked]}])),
                "model",
                json!(model),
            )
        };
        let mut world = World::with(config);
        let short = minimum - 1;
        assert_eq!(
            world.bill(&request(short)),
            [0, 0, 0, short as u64],
            "{model}"
        );
        assert_eq!(
            world.bill(&request(short)),
            [0, 0, 0, short as u64],
            "{model}"
        );
        assert_eq!(world.bill(&request(minimum)), [0, 0, minimum as u64, 0]);
        assert_eq!(world.bill(&request(minimum)), [minimum as u64, 0, 0, 0]);
    }
}

#[test]
fn parallel_requests_all_miss_and_hit_after_the_first_byte() {
    let mut world = World::with(SimConfig {
        first_byte_ms: 800,
        ..config()
    });
    let request = numbered(3, &[(3, "5m")]);
    for pause in [0, 0, 799] {
        world.now += pause;
        assert_eq!(world.bill(&request), [0, 0, 300, 0]);
    }
    world.now += 1;
    assert_eq!(world.bill(&request), [300, 0, 0, 0]);
}

#[test]
fn lifetimes_run_from_the_start_of_the_request_and_hits_renew_them() {
    for (ttl, minutes, written) in [("5m", 5, [0, 0, 300, 0]), ("1h", 60, [0, 300, 0, 0])] {
        let mut world = World::with(SimConfig {
            first_byte_ms: 2_000,
            ..config()
        });
        let request = numbered(3, &[(3, ttl)]);
        assert_eq!(world.bill(&request), written);
        for _ in 0..3 {
            world.now += minutes * MINUTE - 1;
            assert_eq!(world.bill(&request), [300, 0, 0, 0]);
        }
        world.now += minutes * MINUTE;
        assert_eq!(world.bill(&request), written);
    }
}

#[test]
fn reading_a_long_prefix_keeps_the_short_ones_on_it_warm() {
    let mut world = World::new();
    world.bill(&numbered(3, &[(3, "5m")]));
    world.bill(&numbered(6, &[(6, "5m")]));
    world.now += 4 * MINUTE;
    assert_eq!(world.bill(&numbered(6, &[(6, "5m")])), [600, 0, 0, 0]);
    world.now += 4 * MINUTE;
    // Eight minutes after block 3 was written, and four after it was read through.
    assert_eq!(world.bill(&numbered(3, &[(3, "5m")])), [300, 0, 0, 0]);
}

#[test]
fn keys_and_workspaces_do_not_share() {
    let mut world = World::new();
    let request = numbered(3, &[(3, "5m")]);
    world.bill(&request);
    world.header("anthropic-workspace-id", "other");
    assert_eq!(world.bill(&request), [0, 0, 300, 0]);
    world.header("x-api-key", "other");
    assert_eq!(world.bill(&request), [0, 0, 300, 0]);
    world.headers.clear();
    assert_eq!(world.bill(&request), [300, 0, 0, 0]);
}

#[test]
fn tools_take_positions_unless_switched_off() {
    for (takes, read) in [(true, 0), (false, 1)] {
        let mut world = World::with(SimConfig {
            switches: Switches {
                tools_take_positions: takes,
                ..Switches::default()
            },
            ..config()
        });
        let tools = |marker: bool| -> Vec<Value> {
            let mut tools: Vec<_> = (0..25).map(|at| tool(&format!("tool_{at}"))).collect();
            if marker {
                tools[0] = marked(tools[0].clone(), "5m");
            }
            tools
        };
        let request = |marker, messages| with(body(messages), "tools", json!(tools(marker)));
        let first = world.bill(&request(true, json!([user("a")])));
        assert!(first[2] > 0);
        let hit = world.bill(&request(
            false,
            json!([{"role": "user", "content": [marked(block("b", 10), "5m")]}]),
        ));
        assert_eq!(hit[0], first[2] * read, "{takes}");
    }
}

#[test]
fn automatic_caching_moves_with_the_conversation() {
    let mut world = World::new();
    let auto = |messages| {
        with(
            body(messages),
            "cache_control",
            json!({"type": "ephemeral"}),
        )
    };
    let first = json!([user(&text("one", 100))]);
    assert_eq!(world.bill(&auto(first)), [0, 0, 100, 0]);
    let second = json!([
        user(&text("one", 100)),
        assistant(json!(text("two", 50))),
        user(&text("three", 100)),
    ]);
    assert_eq!(world.bill(&auto(second)), [100, 0, 150, 0]);
}

#[test]
fn automatic_caching_walks_back_to_a_block_that_can_be_marked() {
    let mut world = World::new();
    let request = with(
        body(json!([{"role": "user", "content": [block("a", 100), {"type": "text", "text": ""}]}])),
        "cache_control",
        json!({"type": "ephemeral", "ttl": "1h"}),
    );
    assert_eq!(world.bill(&request), [0, 100, 0, 0]);
}

#[test]
fn automatic_caching_shares_the_four_slots_and_the_last_blocks_marker() {
    let mut world = World::new();
    let auto = |request, ttl| {
        with(
            request,
            "cache_control",
            json!({"type": "ephemeral", "ttl": ttl}),
        )
    };
    // The same marker is already there.
    assert_eq!(
        world.bill(&auto(numbered(3, &[(3, "5m")]), "5m")),
        [0, 0, 300, 0]
    );
    let (status, kind, _) = world.refusal(&auto(numbered(3, &[(3, "5m")]), "1h"));
    assert_eq!((status, kind.as_str()), (400, "invalid_request_error"));
    let four = numbered(9, &[(1, "5m"), (2, "5m"), (3, "5m"), (4, "5m")]);
    assert_eq!(
        world.refusal(&auto(four, "5m")).2,
        "A maximum of 4 blocks with cache_control may be provided. Found 5."
    );
}

#[test]
fn a_prewarm_writes_and_says_nothing() {
    let mut world = World::new();
    let request = |max_tokens: u64| {
        let system = json!([marked(block("system", 1_000), "5m")]);
        let request = with(body(json!([user("hello")])), "system", system);
        with(request, "max_tokens", json!(max_tokens))
    };
    let answer = world.message(&request(0));
    assert_eq!(answer["content"], json!([]));
    assert_eq!(answer["stop_reason"], "max_tokens");
    assert_eq!(answer["usage"]["output_tokens"], 0);
    assert_eq!(answer["usage"]["cache_creation_input_tokens"], 1_000);
    assert_eq!(world.bill(&request(100)), [1_000, 0, 0, 5]);
}

#[test]
fn a_prewarm_refuses_what_shapes_an_answer() {
    let mut world = World::new();
    let warm = with(body(json!([user("hello")])), "max_tokens", json!(0));
    let warm = with(warm, "tools", json!([tool("read")]));
    for (name, value) in [
        ("stream", json!(true)),
        ("thinking", json!({"type": "adaptive"})),
        (
            "output_config",
            json!({"format": {"type": "json_schema", "schema": {}}}),
        ),
        ("tool_choice", json!({"type": "any"})),
    ] {
        let (status, _, message) = world.refusal(&with(warm.clone(), name, value));
        assert_eq!(status, 400, "{name}");
        assert!(message.starts_with("max_tokens: 0"), "{message}");
    }
}

#[test]
fn diagnostics_name_what_changed() {
    let mut world = World::new();
    let ask = |previous: Value| {
        let request = json!({
            "model": MODEL,
            "max_tokens": 100,
            "tools": [tool("read")],
            "system": text("system", 300),
            "messages": [user(&text("one", 100))],
        });
        with(
            request,
            "diagnostics",
            json!({"previous_message_id": previous}),
        )
    };
    assert_eq!(
        world
            .message(&body(json!([user("not asked")])))
            .get("diagnostics"),
        None
    );
    let first = world.message(&ask(Value::Null));
    assert_eq!(first.get("diagnostics"), Some(&Value::Null));
    let tools = world.report(&ask(Value::Null)).positions[0].tokens.get();
    let previous = first["id"].clone();

    let mut check = |request: Value, expected: Value| {
        let answer = world.message(&request);
        assert_eq!(
            answer["diagnostics"],
            json!({"cache_miss_reason": expected})
        );
    };
    check(ask(previous.clone()), Value::Null);
    let longer = json!([user(&text("one", 100)), user("two")]);
    check(with(ask(previous.clone()), "messages", longer), Value::Null);
    let miss = |kind: &str, tokens: u64| json!({"type": kind, "cache_missed_input_tokens": tokens});
    let asked = ask(previous);
    check(
        with(asked.clone(), "model", json!("claude-opus-4-8")),
        miss("model_changed", tools + 400),
    );
    check(
        with(asked.clone(), "tools", json!([tool("write")])),
        miss("tools_changed", tools + 400),
    );
    check(
        with(asked.clone(), "system", json!("another")),
        miss("system_changed", 400),
    );
    check(
        with(asked, "messages", json!([user("another")])),
        miss("messages_changed", 100),
    );
    check(
        ask(json!("msg_unknown")),
        json!({"type": "previous_message_not_found"}),
    );
}

#[test]
fn hidden_tool_tokens_are_added_once() {
    let mut config = config();
    config.tokenizer.hidden_tool_tokens = true;
    let mut world = World::with(config);
    let tokens = |world: &mut World, choice: &str| {
        let request = with(
            body(json!([user("a")])),
            "tools",
            json!([tool("read"), tool("write")]),
        );
        let request = with(request, "tool_choice", json!({"type": choice}));
        world.report(&request).usage.prompt().get()
    };
    let any = tokens(&mut world, "any");
    assert_eq!(any - tokens(&mut world, "auto"), 406 - 286);
}

#[test]
fn a_perfect_cache_reads_every_prefix_that_was_ever_sent() {
    let mut world = World::with(SimConfig {
        switches: dormouse_sim::Switches {
            cache: dormouse_sim::CacheMode::Perfect,
            ..config().switches
        },
        ..config()
    });
    let said = |texts: &[&str]| {
        let blocks: Vec<Value> = texts
            .iter()
            .map(|text| json!({"type": "text", "text": text}))
            .collect();
        body(json!([{"role": "user", "content": blocks}]))
    };
    // No marker anywhere, and days between the requests.
    let first = world.bill(&said(&["abc", "de"]));
    assert_eq!((first[0], first[1], first[3]), (0, 0, 0));
    world.now += 1_000_000_000;
    let more = world.bill(&said(&["abc", "de", "f"]));
    assert_eq!(more, [first[2], 0, 1, 0]);
    world.now += 1_000_000_000;
    let [read, _, written, input] = world.bill(&said(&["abc", "xy"]));
    assert_eq!((written, input), (2, 0));
    assert_eq!(read + 2, first[2]);
}

#[test]
fn an_automatic_cache_reads_what_is_warm_and_charges_nothing_for_writing() {
    let mut world = World::with(SimConfig {
        switches: dormouse_sim::Switches {
            cache: dormouse_sim::CacheMode::Automatic,
            ..config().switches
        },
        ..config()
    });
    let long = "word ".repeat(4_000);
    let said = |more: &[&str]| {
        let texts = [long.as_str()].into_iter().chain(more.iter().copied());
        let blocks: Vec<Value> = texts
            .map(|text| json!({"type": "text", "text": text}))
            .collect();
        body(json!([{"role": "user", "content": blocks}]))
    };
    let [read, hour, written, input] = world.bill(&said(&["de"]));
    assert_eq!((read, hour, written), (0, 0, 0));
    // A minute later the prefix is read, though nothing marks it.
    world.now += 60_000;
    let [read, _, written, rest] = world.bill(&said(&["de", "fgh"]));
    assert_eq!((read, written), (input, 0));
    assert!(rest > 0);
    // Six minutes later it is cold.
    world.now += 360_000;
    let [read, _, written, again] = world.bill(&said(&["de", "fgh"]));
    assert_eq!((read, written, again), (0, 0, input + rest));
}
