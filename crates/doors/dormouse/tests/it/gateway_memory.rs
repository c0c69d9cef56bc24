//! Memory of a project in conversations that pass through the gateway.

use crate::gateway::Gateway;
use crate::program::Machine;
use dormouse_testkit::processes::until;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// An upstream that keeps what it is asked and always answers the same.
struct Upstream {
    address: String,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Upstream {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if let Some(body) = answer(&stream) {
                    kept.lock().unwrap().push(body);
                }
            }
        });
        Self { address, seen }
    }

    /// The last prompt, as text.
    fn last(&self) -> String {
        let seen = self.seen.lock().unwrap();
        seen.last()
            .map_or(String::new(), |body| body["messages"].to_string())
    }
}

/// Reads one request and answers it.
fn answer(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let reply = json!({"id": "msg_1", "type": "message", "role": "assistant",
        "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "Understood, I will."}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 50, "output_tokens": 5}});
    let reply = reply.to_string();
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{reply}",
        reply.len()
    )
    .ok()?;
    serde_json::from_slice(&body).ok()
}

/// A client with one conversation.
struct Client<'a> {
    gateway: &'a Gateway,
    project: Option<String>,
    session: &'static str,
    messages: Vec<Value>,
}

impl<'a> Client<'a> {
    fn new(gateway: &'a Gateway, session: &'static str) -> Self {
        Self {
            gateway,
            project: None,
            session,
            messages: Vec::new(),
        }
    }

    fn say(&mut self, words: &str) {
        self.messages
            .push(json!({"role": "user", "content": words}));
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 100,
            "messages": self.messages,
            "tools": [{"name": "Bash", "input_schema": {"type": "object"}}]});
        let body = body.to_string();
        let project = self.project.as_ref();
        let project = project.map_or(String::new(), |name| {
            format!("x-dormouse-project: {name}\r\n")
        });
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: sk-of-a-user-0123456789\r\n\
             x-session-id: {}\r\n{project}connection: close\r\ncontent-length: {}\r\n\r\n",
            self.session,
            body.len()
        );
        let mut stream = TcpStream::connect(&self.gateway.address).unwrap();
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
        self.messages.push(json!({"role": "assistant", "content":
            [{"type": "text", "text": "Understood, I will."}]}));
    }
}

#[test]
fn a_rule_told_through_the_gateway_is_in_a_later_conversation_where_it_matters() {
    let machine = Machine::new(&[("other/README.md", "Another project.\n")]);
    let upstream = Upstream::start();
    let gateway = Gateway::start_with(&machine, &upstream.address, "--memory .");
    let mut first = Client::new(&gateway, "one");
    first.say("From now on always run the database migrations with `make migrate-safe`.");
    // A detached process draws the memory.
    let memories = || machine.run("memory list --json").stdout;
    until(|| memories().contains("migrat"), "no memory was drawn");
    let mut second = Client::new(&gateway, "two");
    second.say("How do I run the database migrations here?");
    let prompt = upstream.last();
    assert!(prompt.contains("make migrate-safe"), "{prompt}");
    let words = second.messages.len();
    second.say("Thanks. Now draw me a picture of a cat in ASCII.");
    let later = upstream.last();
    // A recalled memory stays where it was, and is not repeated.
    assert_eq!(words, 2);
    assert_eq!(
        later.matches("make migrate-safe").count(),
        prompt.matches("make migrate-safe").count()
    );
    let turns: Value = serde_json::from_str(&prompt).unwrap();
    let same: Value = serde_json::from_str(&later).unwrap();
    let bare = |turn: &Value| {
        turn.to_string()
            .replace(r#","cache_control":{"type":"ephemeral"}"#, "")
    };
    assert_eq!(bare(&turns[0]), bare(&same[0]));
    // Another project's conversation gets nothing of it, whatever it asks.
    let mut third = Client::new(&gateway, "three");
    third.project = Some(machine.home().join("other").display().to_string());
    third.say("How do I run the database migrations here?");
    assert!(!upstream.last().contains("make migrate-safe"));
    // The client's own copy of its words is untouched, so that it never sees the memory.
    assert!(
        !Value::from(second.messages.clone())
            .to_string()
            .contains("migrate-safe")
    );
}
