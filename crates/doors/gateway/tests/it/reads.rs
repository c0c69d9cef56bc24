//! Our tool in front of a client that cannot open our files: offered, called, answered, put back.

use crate::kit::{Message, Options, Pieces, Recorder, Running, Speaks, post, send, streamed};
use dormouse_gateway::Reads;
use http::Response;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

/// Blocks of an answer as a reply, streamed or not as the request wants it.
fn reply(request: &Message, number: usize, blocks: &[Value]) -> Response<Pieces> {
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let stop = if calls { "tool_use" } else { "end_turn" };
    let usage = json!({"input_tokens": 100 * number, "output_tokens": 10});
    let message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant",
        "model": "claude-sonnet-4-5", "content": [], "usage": usage});
    if request.json()["stream"] != true {
        let mut whole = message;
        whole["content"] = json!(blocks);
        whole["stop_reason"] = stop.into();
        let body = Pieces::whole(whole.to_string());
        let response = Response::builder().header("content-type", "application/json");
        return response.body(body).unwrap();
    }
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in blocks.iter().enumerate() {
        let (start, delta) = match block["type"].as_str().unwrap() {
            "text" => (
                json!({"type": "text", "text": ""}),
                json!({"type": "text_delta", "text": block["text"]}),
            ),
            "thinking" => (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                json!({"type": "signature_delta", "signature": block["signature"]}),
            ),
            _ => (
                json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
                json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}),
            ),
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": stop},
        "usage": {"output_tokens": 10}}),
    );
    events.push(json!({"type": "message_stop"}));
    let framed = events.iter().map(|event| {
        let name = event["type"].as_str().unwrap();
        format!("event: {name}\ndata: {event}\n\n")
    });
    streamed(Pieces::whole(framed.collect::<String>()))
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn thinking(signature: &str) -> Value {
    json!({"type": "thinking", "thinking": "", "signature": signature})
}

fn call(id: &str, name: &str, input: &Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// The path of a text in the last message of a request.
fn path(request: &Value) -> Option<String> {
    let last = request["messages"].as_array()?.last()?.to_string();
    let at = last.find("dormouse://")?;
    let name = |c: char| c.is_alphanumeric() || ":/._-".contains(c);
    Some(last[at..].chars().take_while(|c| name(*c)).collect())
}

/// A client that appends, with a shell that has printed a lot.
struct Client {
    url: String,
    streams: bool,
    messages: Vec<Value>,
}

impl Client {
    fn new(url: &str, streams: bool) -> Self {
        Self {
            url: url.to_owned(),
            streams,
            messages: vec![json!({"role": "user", "content": "Look through the log."})],
        }
    }

    /// Sends the history; returns the reply, and its blocks as the client has them.
    async fn ask(&self) -> (Message, Vec<Value>) {
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 1_000,
            "stream": self.streams, "messages": self.messages,
            "tools": [{"name": "Bash", "input_schema": {"type": "object"}}]});
        let reply = send(
            Speaks::One,
            post(&self.url, "/v1/messages", body.to_string()),
        )
        .await;
        let blocks = if self.streams {
            blocks(&reply)
        } else {
            let content = reply.json()["content"].as_array().cloned();
            content.unwrap_or_default()
        };
        (reply, blocks)
    }

    /// Appends an answer, and the results of its calls or other words.
    fn append(&mut self, answer: &[Value], words: &str) {
        self.messages
            .push(json!({"role": "assistant", "content": answer}));
        let calls = answer.iter().filter(|block| block["type"] == "tool_use");
        let mut content: Vec<Value> = calls
            .map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": words}))
            .collect();
        if content.is_empty() {
            content.push(text(words));
        }
        self.messages
            .push(json!({"role": "user", "content": content}));
    }
}

fn events(reply: &Message) -> Vec<Value> {
    let body = String::from_utf8(reply.body.to_vec()).unwrap();
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// Blocks of a streamed reply; their numbers have to follow each other.
fn blocks(reply: &Message) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    for event in events(reply) {
        let at = usize::try_from(event["index"].as_u64().unwrap_or(0)).unwrap();
        match event["type"].as_str().unwrap() {
            "content_block_start" => {
                assert_eq!(at, blocks.len());
                blocks.push(event["content_block"].clone());
            }
            "content_block_delta" => {
                let (block, delta) = (&mut blocks[at], &event["delta"]);
                match delta["type"].as_str().unwrap() {
                    "text_delta" => block["text"] = delta["text"].clone(),
                    "signature_delta" => block["signature"] = delta["signature"].clone(),
                    _ => {
                        let input = delta["partial_json"].as_str().unwrap();
                        block["input"] = serde_json::from_str(input).unwrap();
                    }
                }
            }
            _ => {}
        }
    }
    blocks
}

fn log() -> String {
    let lines = (0..9_000).map(|at| format!("line {at} of the log is ordinary"));
    lines.collect::<Vec<_>>().join("\n")
}

fn on(home: Option<Arc<TempDir>>) -> Options {
    Options {
        layers: true,
        reads: Some(Reads::Tool),
        home,
        ..Options::default()
    }
}

/// Number of an upstream's request, and the answer that a script gives to it.
type Answers = fn(usize, &Value) -> Vec<Value>;

async fn upstream(answers: Answers) -> Recorder {
    let count = AtomicUsize::new(0);
    Recorder::start(move |request| {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        reply(request, number, &answers(number, &request.json()))
    })
    .await
}

/// Starts a shell, then reads the excerpt's text, then ends.
fn reads_once(number: usize, request: &Value) -> Vec<Value> {
    let read = |path: String| {
        call(
            "r1",
            "dormouse_read",
            &json!({"path": path, "pattern": "8123"}),
        )
    };
    match number {
        1 => vec![
            thinking("s1"),
            call("c1", "Bash", &json!({"command": "cat log"})),
        ],
        2 => vec![
            thinking("s2"),
            text("I look it up."),
            read(path(request).unwrap()),
        ],
        3 => vec![thinking("s3"), text("Line 8123 is ordinary.")],
        _ => vec![text("Done, and nothing else was to do here.")],
    }
}

fn roles(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().unwrap();
    let role = |message: &'_ Value| message["role"].as_str().unwrap_or_default().to_owned();
    messages
        .iter()
        .map(|message| match role(message).as_str() {
            "user" => "user",
            _ => "assistant",
        })
        .collect()
}

#[tokio::test]
async fn a_read_is_answered_within_the_clients_request_and_put_back_later() {
    for streams in [true, false] {
        let recorder = upstream(reads_once).await;
        let gateway = Running::with(&recorder.url(), on(None)).await;
        let mut client = Client::new(&gateway.url(), streams);
        let (first, answer) = client.ask().await;
        assert_eq!(first.header("x-dormouse-layers"), "read");
        client.append(&answer, &log());
        let (second, answer) = client.ask().await;
        assert_eq!(second.header("x-dormouse-layers"), "offload, read, markers");
        // One message without a trace of the read.
        let words = String::from_utf8_lossy(&second.body).into_owned();
        assert!(!words.contains("dormouse_read"), "{words}");
        assert!(
            words.contains("msg_2") && !words.contains("msg_3"),
            "{words}"
        );
        let kinds: Vec<&str> = answer
            .iter()
            .map(|block| block["type"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["thinking", "text", "thinking", "text"]);
        client.append(&answer, "Go on.");
        let (_, answer) = client.ask().await;
        assert_eq!(answer.len(), 1);
        let seen: Vec<Value> = recorder.seen().iter().map(Message::json).collect();
        assert_eq!(seen.len(), 4);
        for request in &seen {
            let tools = request["tools"].as_array().unwrap();
            assert_eq!(tools.last().unwrap()["name"], "dormouse_read");
        }
        // The upstream was asked to go on with the line that was asked for.
        let read = seen[2]["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(read["content"][0]["tool_use_id"], "r1");
        let shown = read["content"][0]["content"].to_string();
        assert!(shown.contains("8124\\tline 8123 of the log"), "{shown}");
        // The next request has the model's own turns, in order and by their roles.
        assert_eq!(
            roles(&seen[3]),
            [
                "user",
                "assistant",
                "user",
                "assistant",
                "user",
                "assistant",
                "user"
            ]
        );
        let (before, after) = (&seen[2]["messages"], &seen[3]["messages"]);
        for (at, message) in before.as_array().unwrap().iter().enumerate() {
            let bare = |message: &Value| {
                let text = message.to_string();
                text.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
            };
            assert_eq!(bare(message), bare(&after[at]), "{at}");
        }
        let (report, _) = gateway.stop().await;
        // Four samplings are paid for, though the client sees three replies.
        assert_eq!(report.all.requests, 3);
        assert_eq!(report.all.prompt_tokens.0, 100 + 200 + 300 + 400);
    }
}

/// Calls the shell and our tool in one answer.
fn reads_beside(number: usize, request: &Value) -> Vec<Value> {
    let read = |path: String| call("r1", "dormouse_read", &json!({"path": path, "limit": 2}));
    match number {
        1 => vec![call("c1", "Bash", &json!({"command": "cat log"}))],
        2 => vec![
            text("Both at once."),
            read(path(request).unwrap()),
            call("c2", "Bash", &json!({"command": "wc log"})),
        ],
        _ => vec![text("Done, and nothing else was to do here.")],
    }
}

#[tokio::test]
async fn a_read_beside_a_call_of_the_client_goes_out_with_its_results() {
    let recorder = upstream(reads_beside).await;
    let gateway = Running::with(&recorder.url(), on(None)).await;
    let mut client = Client::new(&gateway.url(), true);
    let (_, answer) = client.ask().await;
    client.append(&answer, &log());
    let (_, answer) = client.ask().await;
    let names: Vec<&Value> = answer.iter().map(|block| &block["name"]).collect();
    assert_eq!(names, [&Value::Null, &json!("Bash")]);
    client.append(&answer, "9000 log");
    client.ask().await;
    // A restart changes nothing.
    let (_, home) = gateway.stop().await;
    let gateway = Running::with(&recorder.url(), on(Some(home))).await;
    client.url = gateway.url();
    client.ask().await;
    let seen: Vec<Value> = recorder.seen().iter().map(Message::json).collect();
    assert_eq!(seen.len(), 4);
    let messages = seen[2]["messages"].as_array().unwrap();
    let names: Vec<&Value> = messages[3]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["name"])
        .collect();
    assert_eq!(
        names,
        [&Value::Null, &json!("dormouse_read"), &json!("Bash")]
    );
    let answered: Vec<&Value> = messages[4]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["tool_use_id"])
        .collect();
    assert_eq!(answered, ["r1", "c2"]);
    assert_eq!(seen[2]["messages"], seen[3]["messages"]);
}

#[tokio::test]
async fn an_upstream_that_does_not_go_on_is_an_error_and_the_retry_is_whole() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let recorder = Recorder::start(move |request| {
        let number = counted.fetch_add(1, Ordering::Relaxed) + 1;
        if number == 3 {
            let error = json!({"type": "error", "error":
                {"type": "overloaded_error", "message": "busy"}});
            let response = Response::builder().status(529);
            return response.body(Pieces::whole(error.to_string())).unwrap();
        }
        // The retry is answered like the first attempt.
        let number = if number > 3 { number - 2 } else { number };
        reply(request, number, &reads_once(number, &request.json()))
    })
    .await;
    let gateway = Running::with(&recorder.url(), on(None)).await;
    let mut client = Client::new(&gateway.url(), true);
    let (_, answer) = client.ask().await;
    client.append(&answer, &log());
    let (broken, _) = client.ask().await;
    let last = events(&broken).pop().unwrap();
    assert_eq!(
        (&last["type"], &last["error"]["type"]),
        (&json!("error"), &json!("overloaded_error"))
    );
    let (_, answer) = client.ask().await;
    assert_eq!(answer.len(), 4);
    let seen = recorder.seen();
    // Sent again because the client asked again, in the same bytes.
    assert_eq!(seen[1].body, seen[3].body);
    assert_eq!(seen.len(), 5);
}

#[tokio::test]
async fn a_client_that_leaves_behind_a_read_ends_the_question_upstream() {
    let count = AtomicUsize::new(0);
    let stalled = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&stalled);
    let recorder = Recorder::start(move |request| {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        if number < 3 {
            return reply(request, number, &reads_once(number, &request.json()));
        }
        let (sender, body) = Pieces::new();
        *kept.lock().unwrap() = Some(sender);
        streamed(body)
    })
    .await;
    let gateway = Running::with(&recorder.url(), on(None)).await;
    let mut client = Client::new(&gateway.url(), true);
    let (_, answer) = client.ask().await;
    client.append(&answer, &log());
    let asking = tokio::spawn(async move { client.ask().await });
    let sender = loop {
        let sender = stalled.lock().unwrap().take();
        if let Some(sender) = sender {
            break sender;
        }
        tokio::task::yield_now().await;
    };
    asking.abort();
    sender.closed().await;
}

/// Names files of others, and reads without an end.
fn wanders(number: usize, request: &Value) -> Vec<Value> {
    if number == 1 {
        return vec![call("c1", "Bash", &json!({"command": "cat log"}))];
    }
    let tools = request["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 2);
    let paths = [
        "dormouse://../secret",
        "/etc/passwd",
        "../../secret",
        "dormouse:////etc/passwd",
    ];
    let path = paths[number % paths.len()];
    vec![call(
        &format!("r{number}"),
        "dormouse_read",
        &json!({"path": path}),
    )]
}

#[tokio::test]
async fn a_read_never_leaves_its_conversation_and_does_not_go_on_for_ever() {
    let recorder = upstream(wanders).await;
    let gateway = Running::with(&recorder.url(), on(None)).await;
    let mut client = Client::new(&gateway.url(), true);
    let (_, answer) = client.ask().await;
    client.append(&answer, &log());
    let (reply, _) = client.ask().await;
    assert_eq!(reply.line, "200");
    let seen: Vec<Value> = recorder.seen().iter().map(Message::json).collect();
    // Some 25 reads, and then the reply ends.
    assert!(seen.len() < 30, "{}", seen.len());
    for request in &seen[2..] {
        let last = request["messages"].as_array().unwrap().last().unwrap();
        let result = &last["content"][0];
        assert_eq!(result["is_error"], true, "{result}");
        let text = result["content"].to_string();
        assert!(!text.contains("root:"), "{text}");
    }
    // Nothing that the client could answer is asked of it.
    let ends = events(&reply);
    let end = ends
        .iter()
        .find(|event| event["type"] == "message_delta")
        .unwrap();
    assert_eq!(end["delta"]["stop_reason"], "end_turn");
}

#[tokio::test]
async fn a_conversation_that_has_begun_and_one_without_tools_get_no_tool() {
    let recorder = upstream(|_, _| vec![text("Nothing that would need a tool.")]).await;
    let gateway = Running::with(&recorder.url(), on(None)).await;
    let mut client = Client::new(&gateway.url(), true);
    client.append(&[text("An answer from before the gateway.")], "Go on.");
    let (reply, _) = client.ask().await;
    assert_eq!(reply.header("x-dormouse-layers"), "on");
    let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 10,
        "messages": [{"role": "user", "content": "A title for this, please."}]});
    send(
        Speaks::One,
        post(&gateway.url(), "/v1/messages", body.to_string()),
    )
    .await;
    let named = json!({"model": "claude-sonnet-4-5", "max_tokens": 10,
        "messages": [{"role": "user", "content": "Through two gateways."}],
        "tools": [{"name": "dormouse_read", "input_schema": {"type": "object"}}]});
    let request = post(&gateway.url(), "/v1/messages", named.to_string());
    send(Speaks::One, request).await;
    let seen = recorder.seen();
    assert_eq!(seen[0].json()["tools"].as_array().unwrap().len(), 1);
    assert_eq!(seen[1].body, body.to_string());
    assert_eq!(seen[2].body, named.to_string());
}
