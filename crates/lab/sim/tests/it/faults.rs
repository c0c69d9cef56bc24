//! Bad days: faults by header and by script, and rate limits.

use crate::streaming::{events, join};
use crate::support::{World, body, config, numbered, parse, refusal, text, user, with};
use dormouse_sim::{Body, FaultRule, Limits, Piece, SimConfig, SimResponse};
use pretty_assertions::assert_eq;
use serde_json::json;

fn streamed(fault: &str) -> SimResponse {
    let mut world = World::new();
    world.header("x-sim-fault", fault);
    let request = with(body(json!([user("hello")])), "stream", json!(true));
    world.post("/v1/messages", &request)
}

fn frames(response: &SimResponse) -> &[dormouse_sim::Frame] {
    match &response.body {
        Body::Stream(frames) => frames,
        Body::Whole { .. } => panic!("not a stream"),
    }
}

#[test]
fn errors_on_demand_have_their_status_type_and_hint() {
    for (fault, status, kind, retry_after) in [
        ("400", 400, "invalid_request_error", None),
        ("401", 401, "authentication_error", None),
        ("402", 402, "billing_error", None),
        ("403", 403, "permission_error", None),
        ("404", 404, "not_found_error", None),
        ("413", 413, "request_too_large", None),
        ("429", 429, "rate_limit_error", Some("1")),
        ("429; retry-after=7", 429, "rate_limit_error", Some("7")),
        ("spend", 429, "rate_limit_error", None),
        ("500", 500, "api_error", None),
        ("504", 504, "timeout_error", None),
        ("529", 529, "overloaded_error", None),
    ] {
        let response = streamed(fault);
        let (found, name, _) = refusal(&response);
        assert_eq!((found, name.as_str()), (status, kind), "{fault}");
        assert_eq!(response.header("retry-after"), retry_after, "{fault}");
    }
    assert_eq!(refusal(&streamed("529")).2, "Overloaded");
    assert_eq!(
        refusal(&streamed("too-long; tokens=5; window=4")).2,
        "prompt is too long: 5 tokens > 4 maximum"
    );
}

#[test]
fn a_refused_request_leaves_no_trace_in_the_cache() {
    let mut world = World::new();
    let request = numbered(3, &[(3, "5m")]);
    world.header("x-sim-fault", "529");
    assert_eq!(world.refusal(&request).0, 529);
    world.headers.clear();
    assert_eq!(world.bill(&request), [0, 0, 300, 0]);
}

#[test]
fn streams_can_be_cut_stalled_spoilt_and_slowed() {
    let good = streamed("slow; ms=0").bytes();
    for (fault, end) in [
        ("cut; bytes=100", Piece::Cut),
        ("stall; bytes=100", Piece::Stall),
    ] {
        let response = streamed(fault);
        assert_eq!(response.bytes(), good.slice(..100));
        assert_eq!(frames(&response).last().unwrap().piece, end);
    }
    let garbage = streamed("garbage; bytes=100").bytes();
    assert_eq!(garbage[..100], good[..100]);
    assert!(garbage.len() > good.len() && garbage.ends_with(&good[100..]));
    assert!(std::str::from_utf8(&garbage).is_err());

    let slow = streamed("slow; ms=30");
    assert!(frames(&slow).iter().all(|frame| frame.after == 30));
    join(&events(&slow));

    let error = events(&streamed("error-event; pieces=3"));
    assert_eq!(error.len(), 4);
    assert_eq!(
        error[3],
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    );
}

#[test]
fn faults_follow_a_script() {
    let rule = |at, every, fault: &str| FaultRule {
        at,
        every,
        fault: fault.parse().unwrap(),
    };
    let mut world = World::with(SimConfig {
        faults: vec![rule(2, None, "529"), rule(4, Some(3), "500")],
        ..config()
    });
    let mut send = || world.post("/v1/messages", &body(json!([user("a")]))).status;
    let found: Vec<u16> = (0..10).map(|_| send()).collect();
    assert_eq!(found, [200, 529, 200, 500, 200, 200, 500, 200, 200, 500]);
}

#[test]
fn chaos_is_the_same_for_the_same_seed() {
    let statuses = |seed: u64| -> Vec<u16> {
        let mut world = World::with(SimConfig {
            seed,
            chaos_permille: 300,
            chaos: vec!["529".parse().unwrap(), "429".parse().unwrap()],
            ..config()
        });
        let request = body(json!([user("a")]));
        (0..200)
            .map(|_| world.post("/v1/messages", &request).status)
            .collect()
    };
    assert_eq!(statuses(1), statuses(1));
    let bad = statuses(1).iter().filter(|status| **status != 200).count();
    assert!((30..90).contains(&bad), "{bad}");
}

#[test]
fn requests_are_limited_with_headers() {
    let mut world = World::with(SimConfig {
        limits: Limits {
            requests: Some(2),
            ..Limits::default()
        },
        ..config()
    });
    let request = body(json!([user("a")]));
    let first = world.post("/v1/messages", &request);
    assert_eq!(
        first.header("anthropic-ratelimit-requests-limit"),
        Some("2")
    );
    assert_eq!(
        first.header("anthropic-ratelimit-requests-remaining"),
        Some("1")
    );
    assert_eq!(
        first.header("anthropic-ratelimit-requests-reset"),
        Some("1970-01-01T00:17:10.000Z")
    );
    assert_eq!(world.post("/v1/messages", &request).status, 200);
    let third = world.post("/v1/messages", &request);
    assert_eq!(
        (third.status, third.header("retry-after")),
        (429, Some("30"))
    );
    world.now += 30_000;
    assert_eq!(world.post("/v1/messages", &request).status, 200);
    // Another account has its own.
    world.header("x-api-key", "another");
    assert_eq!(world.post("/v1/messages", &request).status, 200);
}

#[test]
fn input_tokens_are_limited_without_what_was_read() {
    let mut world = World::with(SimConfig {
        limits: Limits {
            input_tokens: Some(30_000),
            ..Limits::default()
        },
        ..config()
    });
    let request = with(
        body(json!([user(&text("long", 20_000))])),
        "cache_control",
        json!({"type": "ephemeral"}),
    );
    for _ in 0..5 {
        assert_eq!(world.post("/v1/messages", &request).status, 200);
    }
    let response = world.post("/v1/messages", &body(json!([user(&text("other", 20_000))])));
    let (status, kind, message) = refusal(&response);
    assert_eq!((status, kind.as_str()), (429, "rate_limit_error"));
    let organisation = response.header("anthropic-organization-id").unwrap();
    let expected = format!(
        "This request would exceed your organization's rate limit of 30,000 input tokens per \
         minute (org: {organisation}, model: claude-opus-5). "
    );
    assert!(message.starts_with(&expected), "{message}");
    assert_eq!(response.header("retry-after"), Some("20"));
}

#[test]
fn output_tokens_and_counting_are_limited() {
    let mut world = World::with(SimConfig {
        limits: Limits {
            output_tokens: Some(60),
            count_requests: Some(1),
            ..Limits::default()
        },
        ..config()
    });
    let request = body(json!([user("a")]));
    assert_eq!(world.post("/v1/messages", &request).status, 200);
    let second = world.post("/v1/messages", &request);
    assert_eq!(
        (second.status, second.header("retry-after")),
        (429, Some("1"))
    );
    let count = json!({"model": "claude-opus-5", "messages": [user("hello")]});
    let first = world.post("/v1/messages/count_tokens", &count);
    assert_eq!(parse(&first), json!({"input_tokens": 5}));
    assert_eq!(world.post("/v1/messages/count_tokens", &count).status, 429);
}

#[test]
fn a_configuration_is_a_toml_file() {
    let text = r#"
        listen = "127.0.0.1:8080"
        seed = 7
        virtual_time = true
        window = 100_000
        chaos_permille = 10
        chaos = ["529", "cut;bytes=50"]

        [tokenizer]
        factor_permille = 1_100

        [limits]
        requests = 50

        [switches]
        thinking_binding = "enforce"
        threads = "not_found"

        [[faults]]
        at = 3
        fault = "429;retry-after=2"

        [[answers.script]]
        content = [{ text = "hello" }]
    "#;
    let config = SimConfig::from_toml(text).unwrap();
    assert_eq!(config.seed, 7);
    assert_eq!(config.faults[0].fault.to_string(), "429;retry-after=2");
    assert_eq!(config.answers.script.len(), 1);
    assert_eq!(SimConfig::from_toml("").unwrap(), SimConfig::default());
    assert!(SimConfig::from_toml("surprise = 1").is_err());
    let again = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<SimConfig>(&again).unwrap(), config);
}
