//! Answers of the Messages wire, however they are cut into pieces.

use crate::material::{
    ANSWER, BLOCKS, BODY, SHORT, ask, bytes, client, client_with, collect, options,
};
use crate::server::{Reply, Server};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;
use dormouse_model::anthropic::{AnthropicClient, ApiVersion};
use dormouse_model::features::CacheDiagnosis;
use dormouse_model::{
    ClientOptions, Credential, Delta, Event, Model, Refusal, Request, Response, StopReason,
};
use pretty_assertions::assert_eq;

fn check_answer(response: &Response) {
    assert_eq!(bytes(response), BLOCKS);
    assert_eq!(response.id.as_str(), "msg_1");
    assert_eq!(&*response.model, "claude-fable-5-2");
    assert_eq!(response.stop_reason, StopReason::ToolUse);
    let usage = TokenUsage {
        input: Tokens(12),
        cache_read: Tokens(4_000),
        cache_write_5m: Tokens(100),
        cache_write_1h: Tokens(200),
        output: Tokens(89),
    };
    assert_eq!((response.usage, response.billed), (usage, usage));
    let diagnosis = response.extras.cache_diagnosis();
    assert_eq!(diagnosis, Some(CacheDiagnosis::NoDivergence));
    assert!(response.extras.context_management.is_some());
}

#[tokio::test]
async fn an_answer_is_the_same_however_it_is_cut_up() {
    let crlf = ANSWER.replace('\n', "\r\n");
    let cr = ANSWER.replace('\n', "\r");
    let by_byte = |text: &str| {
        let chunks = text.as_bytes().chunks(1);
        chunks.fold(Reply::stream(), Reply::chunk).end()
    };
    let replies = [
        Reply::whole_stream(ANSWER),
        Reply::whole_stream(&crlf),
        Reply::whole_stream(&cr),
        Reply::whole_stream(&format!("\u{FEFF}: hello\n\n{ANSWER}")),
        by_byte(ANSWER),
        by_byte(&crlf),
    ];
    for reply in replies {
        let server = Server::new([reply]);
        check_answer(&ask(&client(&server)).await.unwrap());
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn events_tell_the_story_in_order() {
    let server = Server::new([Reply::whole_stream(ANSWER)]);
    let (events, error) = collect(client(&server).stream(Request::streamed(BODY))).await;
    assert!(error.is_none());
    let story: Vec<String> = events.iter().map(tell).collect();
    assert_eq!(
        story,
        [
            "start msg_1 4312",
            "0 Thinking",
            "ping",
            "0 thinking Let me look.",
            "0 signature c2ln",
            "0 stop",
            "1 Text",
            "1 text Grüße, ",
            "1 text 世界 \"🐭\"\n",
            "1 stop",
            "extra from_the_future {\"type\":\"from_the_future\",\"x\":1}",
            "2 ToolUse",
            "2 input ",
            "2 input {\"file_path\": \"/a",
            "2 input .rs\"}",
            "2 stop",
            "usage 89",
            "because tool_use",
            "done",
        ]
    );
}

fn tell(event: &Event) -> String {
    match event {
        Event::MessageStart { id, usage, .. } => format!("start {id} {}", usage.prompt()),
        Event::BlockStart { index, kind, .. } => format!("{index} {kind:?}"),
        Event::Delta { index, delta } => match delta {
            Delta::Text(text) => format!("{index} text {text}"),
            Delta::Thinking(text) => format!("{index} thinking {text}"),
            Delta::Signature(text) => format!("{index} signature {text}"),
            Delta::InputJson(text) => format!("{index} input {text}"),
            Delta::Citation(_) | Delta::Other(_) => format!("{index} other"),
        },
        Event::BlockStop { index, .. } => format!("{index} stop"),
        Event::Usage(usage) => format!("usage {}", usage.output),
        Event::Stop(reason) => format!("because {}", reason.as_str()),
        Event::Ping => "ping".to_owned(),
        Event::Extra { name, data } => format!("extra {name} {data:?}"),
        Event::Done(_) => "done".to_owned(),
    }
}

#[tokio::test]
async fn the_body_is_sent_untouched_with_its_headers() {
    let odd = br#"{ "model" : "m",  "big": 12345678901234567890123, "f": 1.50, "u": "\u00e9" }"#;
    let server = Server::new([Reply::whole_stream(SHORT)]);
    let betas = ["context-management-2025-06-27".into(), "x-1".into()];
    let client = AnthropicClient::new(&options(&server), ApiVersion::V2023, &betas[..1]).unwrap();
    let request = Request::streamed(&odd[..]).with_betas(&betas);
    client.stream(request).finish().await.unwrap();
    let seen = &server.requests()[0];
    assert_eq!(seen.body, odd);
    assert!(seen.head.starts_with("POST /base/v1/messages HTTP/1.1\r\n"));
    let headers = [
        ("host", "model.test"),
        ("content-type", "application/json"),
        ("anthropic-version", "2023-06-01"),
        ("x-api-key", "sk-very-secret"),
        ("anthropic-beta", "context-management-2025-06-27,x-1"),
    ];
    for (name, value) in headers {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    assert!(!format!("{client:?}").contains("secret"), "{client:?}");
}

#[tokio::test]
async fn a_bearer_and_the_new_version_are_sent_as_such() {
    let server = Server::new([Reply::whole_stream(SHORT)]);
    let mut options = options(&server);
    options.credential = Credential::Bearer("token".into());
    assert!(!format!("{options:?}").contains("token\""));
    ask(&client_with(&options)).await.unwrap();
    let seen = &server.requests()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer token"));
    assert_eq!(seen.header("x-api-key"), None);
    assert_eq!(seen.header("anthropic-version"), Some("2026-10-21"));
    assert_eq!(seen.header("anthropic-beta"), None);
}

#[tokio::test]
async fn an_answer_in_one_piece_is_the_same_response() {
    let content = BLOCKS.join(", ");
    let body = format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","model":"claude-fable-5-2",
        "content":[{content}],"stop_reason":"tool_use","diagnostics":{{"cache_miss_reason":null}},
        "context_management":{{"applied_edits":[]}},
        "usage":{{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,
        "cache_creation":{{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200}},
        "output_tokens":89}}}}"#
    );
    let server = Server::new([Reply::json(200, &[("request-id", "req_7")], &body)]);
    let stream = client(&server).stream(Request::whole(BODY));
    let response = stream.finish().await.unwrap();
    check_answer(&response);
    assert_eq!(response.request_id.as_deref(), Some("req_7"));
}

#[tokio::test]
async fn a_refusal_is_an_answer() {
    let refusal = SHORT.replace(
        r#"{"stop_reason":"end_turn"}"#,
        r#"{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"no"}}"#,
    );
    let server = Server::new([Reply::whole_stream(&refusal)]);
    let response = ask(&client(&server)).await.unwrap();
    let expected = StopReason::Refusal(Refusal {
        category: Some("cyber".to_owned()),
        explanation: Some("no".to_owned()),
    });
    assert_eq!(response.stop_reason, expected);
    assert_eq!(bytes(&response), [r#"{"type":"text","text":"ok"}"#]);
}

#[tokio::test]
async fn a_call_that_the_length_limit_cut_off_is_no_block() {
    let cut = ANSWER
        .replace(r#""partial_json":".rs\"}""#, r#""partial_json":".r""#)
        .replace(
            r#""stop_reason":"tool_use""#,
            r#""stop_reason":"max_tokens""#,
        );
    let server = Server::new([Reply::whole_stream(&cut)]);
    let response = ask(&client(&server)).await.unwrap();
    assert_eq!(bytes(&response), BLOCKS[..2]);
    assert_eq!(response.cut_off[0].received, r#"{"file_path": "/a.r"#);
}

#[tokio::test]
async fn a_compaction_block_comes_whole_and_every_sampling_is_billed() {
    let stream = r#"data: {"type":"message_start","message":{"id":"m","model":"m","content":[],"usage":{"input_tokens":5}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"sum","encrypted_content":"e"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"compaction"},"usage":{"output_tokens":9,"iterations":[{"type":"compaction","input_tokens":1000,"output_tokens":50},{"type":"message","input_tokens":5,"output_tokens":9}]}}

data: {"type":"message_stop"}

"#;
    let server = Server::new([Reply::whole_stream(stream)]);
    let response = ask(&client(&server)).await.unwrap();
    let block = r#"{"type":"compaction","content":"sum","encrypted_content":"e"}"#;
    assert_eq!(bytes(&response), [block]);
    assert_eq!(response.blocks[0].kind(), BlockKind::Compaction);
    assert_eq!(response.stop_reason, StopReason::Compaction);
    assert_eq!(response.usage.output, Tokens(9));
    assert_eq!(response.billed.input, Tokens(1_005));
}

#[tokio::test]
async fn blocks_are_ready_to_be_sent_again() {
    let server = Server::new([Reply::whole_stream(ANSWER)]);
    let response = ask(&client(&server)).await.unwrap();
    for block in &response.blocks {
        assert!(!block.is_unsendable(), "{block:?}");
        let again = Block::parse(block.bytes()).unwrap();
        assert_eq!(
            again.bytes().as_ptr(),
            block.bytes().as_ptr(),
            "not canonical"
        );
    }
}

#[tokio::test]
async fn tokens_are_counted() {
    let server = Server::new([Reply::json(
        200,
        &[],
        r#"{"input_tokens":40,"context_management":{"original_input_tokens":90}}"#,
    )]);
    let count = client(&server).count_tokens(Request::streamed(BODY)).await;
    let count = count.unwrap();
    assert_eq!(
        (count.input, count.before_editing),
        (Tokens(40), Some(Tokens(90)))
    );
    let seen = &server.requests()[0];
    assert!(
        seen.head
            .starts_with("POST /base/v1/messages/count_tokens ")
    );
}

#[tokio::test]
async fn a_connection_that_was_read_to_its_end_is_used_again() {
    let replies = [SHORT, ANSWER, SHORT].map(Reply::whole_stream);
    let server = Server::new(replies);
    let client = client(&server);
    for _ in 0..3 {
        ask(&client).await.unwrap();
    }
    assert_eq!((server.requests().len(), server.connections()), (3, 1));
    drop(client);
    server.all_closed().await;
}

#[tokio::test]
async fn real_sockets_work_too() {
    let server = Server::new([
        Reply::whole_stream(ANSWER),
        Reply::json(200, &[], r#"{"input_tokens":4}"#),
    ]);
    let url = server.listen().await;
    let client = client_with(&ClientOptions::new(url, Credential::None));
    check_answer(&ask(&client).await.unwrap());
    let count = client.count_tokens(Request::streamed(BODY)).await.unwrap();
    assert_eq!(count.input, Tokens(4));
    assert_eq!(server.connections(), 1);
}
