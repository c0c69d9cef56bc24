//! Streams are well formed and say the same as whole answers.

use crate::support::{World, assistant, body, config, marked, parse, text, tool, user, with};
use dormouse_sim::{
    AnswerBlock, AnswerConfig, SimAnswer, SimConfig, SimResponse, StopReason, UsageOverride,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// The events of a stream; panics unless every frame is `event` and `data` with the same name.
pub(crate) fn events(response: &SimResponse) -> Vec<Value> {
    let text = String::from_utf8(response.bytes().to_vec()).unwrap();
    assert!(text.ends_with("\n\n"));
    text.trim_end()
        .split("\n\n")
        .map(|frame| {
            let (name, data) = frame.split_once('\n').unwrap();
            let name = name.strip_prefix("event: ").unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(data["type"], name);
            data
        })
        .collect()
}

/// Puts a message together from its events, checking their order.
pub(crate) fn join(events: &[Value]) -> Value {
    let mut message = events[0]["message"].clone();
    assert_eq!(events[0]["type"], "message_start");
    assert_eq!(message["content"], json!([]));
    assert_eq!(message["stop_reason"], Value::Null);
    let mut open: Option<(Value, String)> = None;
    let mut stopped = false;
    for event in &events[1..] {
        assert!(!stopped, "{event} after message_stop");
        match event["type"].as_str().unwrap() {
            "ping" => {}
            "content_block_start" => {
                assert!(open.is_none());
                assert_eq!(event["index"], message["content"].as_array().unwrap().len());
                open = Some((event["content_block"].clone(), String::new()));
            }
            "content_block_delta" => {
                let (block, input) = open.as_mut().unwrap();
                let delta = &event["delta"];
                let append = |block: &mut Value, name: &str| {
                    let text = format!(
                        "{}{}",
                        block[name].as_str().unwrap(),
                        delta[name].as_str().unwrap()
                    );
                    block[name] = json!(text);
                };
                match delta["type"].as_str().unwrap() {
                    "text_delta" => append(block, "text"),
                    "thinking_delta" => append(block, "thinking"),
                    "signature_delta" => append(block, "signature"),
                    "input_json_delta" => input.push_str(delta["partial_json"].as_str().unwrap()),
                    "compaction_delta" => {
                        *block = delta.clone();
                        block["type"] = json!("compaction");
                    }
                    other => panic!("{other}"),
                }
            }
            "content_block_stop" => {
                let (mut block, input) = open.take().unwrap();
                if !input.is_empty() {
                    block["input"] = serde_json::from_str(&input).unwrap();
                }
                message["content"].as_array_mut().unwrap().push(block);
            }
            "message_delta" => {
                for (name, value) in event["delta"].as_object().unwrap() {
                    message[name] = value.clone();
                }
                message["usage"] = event["usage"].clone();
                if !event["context_management"].is_null() {
                    message["context_management"] = event["context_management"].clone();
                }
            }
            "message_stop" => stopped = true,
            other => panic!("{other}"),
        }
    }
    assert!(stopped && open.is_none());
    message
}

fn script(answers: Vec<SimAnswer>) -> World {
    World::with(SimConfig {
        answers: AnswerConfig {
            script: answers,
            ..AnswerConfig::default()
        },
        ..config()
    })
}

fn said(content: Vec<AnswerBlock>) -> SimAnswer {
    SimAnswer {
        content,
        ..SimAnswer::default()
    }
}

#[test]
fn a_stream_joins_to_the_whole_answer() {
    let requests = [
        body(json!([user("hello")])),
        with(
            body(json!([user("hello")])),
            "tools",
            json!([tool("read"), tool("write")]),
        ),
        with(
            body(json!([user("hello")])),
            "thinking",
            json!({"type": "disabled"}),
        ),
        with(body(json!([user("hello")])), "max_tokens", json!(30)),
        with(
            body(json!([user("hello")])),
            "thinking",
            json!({"type": "adaptive", "display": "omitted"}),
        ),
        with(
            body(json!([user("hello")])),
            "diagnostics",
            json!({"previous_message_id": null}),
        ),
    ];
    for request in requests {
        let whole = World::new().message(&request);
        let streamed = World::new().post("/v1/messages", &with(request, "stream", json!(true)));
        assert_eq!(
            streamed.header("content-type"),
            Some("text/event-stream; charset=utf-8")
        );
        assert_eq!(join(&events(&streamed)), whole);
    }
}

#[test]
fn recorded_and_scripted_blocks_stream_too() {
    let recorded = json!({"type": "redacted_thinking", "data": "abc"});
    let answer = said(vec![
        AnswerBlock::Recorded {
            block: recorded.clone(),
        },
        AnswerBlock::thinking("äöü ßßß thinking about it at some length, more than one piece"),
        AnswerBlock::text("text \"with\" quotes\nand lines, and more than forty characters"),
        AnswerBlock::tool("read", json!({"path": "a/b", "lines": [1, 2]})),
        AnswerBlock::tool("list", json!({})),
    ]);
    let request = body(json!([user("hello")]));
    let whole = script(vec![answer.clone()]).message(&request);
    assert_eq!(whole["content"][0], recorded);
    assert_eq!(whole["stop_reason"], "tool_use");
    let stream = script(vec![answer]).post("/v1/messages", &with(request, "stream", json!(true)));
    assert_eq!(join(&events(&stream)), whole);
}

#[test]
fn the_first_event_has_the_prompt_side_of_the_usage() {
    let request = with(
        with(
            body(json!([user(&text("a", 500))])),
            "cache_control",
            json!({"type": "ephemeral"}),
        ),
        "stream",
        json!(true),
    );
    let events = events(&World::new().post("/v1/messages", &request));
    let usage = &events[0]["message"]["usage"];
    assert_eq!(usage["cache_creation_input_tokens"], 500);
    assert!(usage["output_tokens"].as_u64().unwrap() <= 8);
    assert_eq!(events[1], json!({"type": "ping"}));
}

#[test]
fn answers_respect_max_tokens_stop_sequences_and_the_window() {
    let long = || vec![said(vec![AnswerBlock::text(&text("answer", 500))])];
    let request = |max: u64| {
        let request = with(
            body(json!([user("hello")])),
            "thinking",
            json!({"type": "disabled"}),
        );
        with(request, "max_tokens", json!(max))
    };
    let answer = script(long()).message(&request(100));
    assert_eq!(answer["stop_reason"], "max_tokens");
    assert_eq!(answer["usage"]["output_tokens"], 100);
    assert_eq!(answer["content"][0]["text"], text("answer", 100));

    let stop = with(request(1_000), "stop_sequences", json!(["zzz", "er..."]));
    let answer = script(long()).message(&stop);
    assert_eq!(answer["stop_reason"], "stop_sequence");
    assert_eq!(answer["stop_sequence"], "er...");
    assert_eq!(answer["content"][0]["text"], "answ");

    let mut world = World::with(SimConfig {
        window: Some(105),
        answers: AnswerConfig {
            script: long(),
            ..AnswerConfig::default()
        },
        ..config()
    });
    let answer = world.message(&request(1_000));
    assert_eq!(answer["stop_reason"], "model_context_window_exceeded");
    assert_eq!(answer["usage"]["output_tokens"], 100);
}

#[test]
fn a_call_that_does_not_fit_is_not_made() {
    let answer = said(vec![
        AnswerBlock::text("short"),
        AnswerBlock::tool("read", json!({"path": "x".repeat(100)})),
    ]);
    let request = with(body(json!([user("hello")])), "max_tokens", json!(50));
    let answer = script(vec![answer]).message(&request);
    assert_eq!(answer["stop_reason"], "max_tokens");
    assert_eq!(answer["content"].as_array().unwrap().len(), 1);
}

#[test]
fn an_answer_that_waits_lets_other_requests_pass() {
    let answer = SimAnswer {
        when: Some("[turn 2]".to_owned()),
        ..said(vec![AnswerBlock::text("the second turn")])
    };
    let mut world = script(vec![answer]);
    // The persona may begin with a call, which has no text.
    let text = |answer: &Value| {
        answer["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let first = world.message(&body(json!([user("[turn 1] hello")])));
    assert_ne!(text(&first), "the second turn");
    // An order quotes the turn, and is still the persona's.
    let order = "[turn 2] Write <analysis> and <summary> with these sections:\n1. Work: all of it";
    let ordered = world.message(&body(json!([user(order)])));
    assert_ne!(text(&ordered), "the second turn");
    let second = world.message(&body(json!([user("[turn 2] hello")])));
    assert_eq!(text(&second), "the second turn");
}

#[test]
fn scripts_give_reason_and_tokens_and_the_persona_goes_on() {
    let refusal = SimAnswer {
        stop_reason: Some(StopReason::Refusal),
        output_tokens: Some(7),
        ..SimAnswer::default()
    };
    let mut world = script(vec![refusal]);
    let request = body(json!([user("hello")]));
    let first = world.message(&request);
    assert_eq!(first["stop_reason"], "refusal");
    assert_eq!(first["usage"]["output_tokens"], 7);
    assert_eq!(world.message(&request)["stop_reason"], "end_turn");
}

#[test]
fn scripts_come_as_json_lines() {
    let lines = r#"
        {"content": [{"text": "hello"}]}

        {"content": [{"thinking": "hm"}, {"tool": "read", "input": {"path": "a"}}]}
    "#;
    let answers = AnswerConfig::from_json_lines(lines).unwrap();
    assert_eq!(
        answers.script,
        [
            said(vec![AnswerBlock::text("hello")]),
            said(vec![
                AnswerBlock::thinking("hm"),
                AnswerBlock::tool("read", json!({"path": "a"})),
            ]),
        ]
    );
    assert!(AnswerConfig::from_json_lines("{\"text\": 1}").is_err());
}

#[test]
fn the_persona_works_with_tools_and_comes_to_an_end() {
    let mut world = World::new();
    let mut messages = vec![user("do it")];
    let mut rounds = 0;
    loop {
        let request = with(body(json!(messages)), "tools", json!([tool("read")]));
        let answer = world.message(&request);
        assert_eq!(answer["content"][0]["type"], "thinking");
        messages.push(assistant(answer["content"].clone()));
        let call = answer["content"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .clone();
        if answer["stop_reason"] == "end_turn" {
            assert_eq!(call["type"], "text");
            break;
        }
        assert_eq!(answer["stop_reason"], "tool_use");
        assert!(call["input"]["path"].is_string());
        let result = json!({"type": "tool_result", "tool_use_id": call["id"], "content": "ok"});
        messages.push(json!({"role": "user", "content": [result]}));
        rounds += 1;
        assert!(rounds < 10);
    }
    assert_eq!(rounds, 3);
}

#[test]
fn the_same_seed_says_the_same() {
    let request = with(body(json!([user("do it")])), "tools", json!([tool("read")]));
    let answer = |seed: u64| {
        let config = SimConfig { seed, ..config() };
        World::with(config).post("/v1/messages", &request).bytes()
    };
    assert_eq!(answer(1), answer(1));
    assert_ne!(answer(1), answer(2));
}

#[test]
fn what_is_said_costs_the_same_when_it_is_sent_back() {
    let mut world = World::new();
    let first = world.message(&body(json!([user("hello")])));
    let output = first["usage"]["output_tokens"].as_u64().unwrap();
    let request = body(json!([
        user("hello"),
        assistant(first["content"].clone()),
        user("go on")
    ]));
    assert_eq!(world.report(&request).usage.prompt().get(), 5 + output + 5);
    assert!(
        first["usage"]["output_tokens_details"]["thinking_tokens"]
            .as_u64()
            .unwrap()
            > 0
    );
}

#[test]
fn a_usage_can_be_set() {
    let mut world = World::new();
    world.header(
        "x-sim-usage",
        "input=11,read=22,write_5m=33,write_1h=44,output=55",
    );
    let usage = world.message(&body(json!([user("hello")])))["usage"].clone();
    assert_eq!(usage["input_tokens"], 11);
    assert_eq!(usage["cache_read_input_tokens"], 22);
    assert_eq!(usage["cache_creation_input_tokens"], 77);
    assert_eq!(usage["output_tokens"], 55);
    world.header("x-sim-usage", "nonsense");
    assert_eq!(world.refusal(&body(json!([user("hello")]))).0, 400);
}

#[test]
fn a_factor_scales_every_count() {
    let mut world = World::new();
    world.header("x-sim-factor", "1500");
    let report = world.report(&body(json!([user(&text("a", 100))])));
    assert_eq!(report.usage.prompt().get(), 150);
}

#[test]
fn a_window_can_seem_nearly_full_all_the_time() {
    let full = UsageOverride {
        input: Some(3),
        read: Some(190_000),
        ..UsageOverride::default()
    };
    let world = |usage| World::with(SimConfig { usage, ..config() });
    let (mut counted, mut reported) = (world(None), world(Some(full)));
    let mut messages = vec![marked_user("hello")];
    for round in 0..3 {
        let request = body(json!(messages));
        for stream in [false, true] {
            let request = with(request.clone(), "stream", json!(stream));
            let expected = counted.post("/v1/messages", &request);
            let response = reported.post("/v1/messages", &request);
            let answers: Vec<Value> = [&expected, &response]
                .into_iter()
                .map(|response| {
                    if stream {
                        join(&events(response))
                    } else {
                        parse(response)
                    }
                })
                .collect();
            if stream {
                let start = &events(&response)[0]["message"]["usage"];
                assert_eq!(start["input_tokens"], 3);
                assert_eq!(start["cache_read_input_tokens"], 190_000);
            }
            let usage = &answers[1]["usage"];
            assert_eq!(usage["input_tokens"], 3);
            assert_eq!(usage["cache_read_input_tokens"], 190_000);
            for name in ["output_tokens", "cache_creation_input_tokens"] {
                assert_eq!(usage[name], answers[0]["usage"][name]);
            }
            assert_eq!(answers[1]["content"], answers[0]["content"]);
            // The bill is what was counted, not what was said.
            assert_eq!(response.report, expected.report);
            assert_eq!(
                response.header("x-sim-cost-usd"),
                expected.header("x-sim-cost-usd")
            );
            let report = response.report.unwrap();
            assert!(report.usage.prompt().get() < 10_000);
            let answer = answers[1]["content"].clone();
            if stream {
                messages.extend([assistant(answer), marked_user(&format!("go on {round}"))]);
            }
        }
    }
}

fn marked_user(text: &str) -> Value {
    let block = marked(json!({"type": "text", "text": text}), "5m");
    json!({"role": "user", "content": [block]})
}
