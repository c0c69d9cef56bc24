//! Histories as clients write them.

use dormouse_core::hash::Hash;
use dormouse_recognise::{Caller, Seen};
use serde_json::{Value, json};

/// A caller with a key and perhaps a session.
pub(crate) fn caller(key: &str, session: Option<&str>) -> Caller {
    Caller {
        credential: Hash::of(key.as_bytes()),
        session: session.map(str::to_owned),
        agent: None,
    }
}

/// One client's copy of a conversation: it appends, and sends everything each time.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) system: Value,
    pub(crate) tools: Vec<&'static str>,
    pub(crate) messages: Vec<Value>,
}

impl Client {
    pub(crate) fn new(first: &str) -> Self {
        let mut client = Self {
            system: json!("You are an agent."),
            tools: vec!["Read", "Bash"],
            messages: Vec::new(),
        };
        client.user(first);
        client
    }

    pub(crate) fn user(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
    }

    /// A reply with a call, and its result.
    pub(crate) fn call(&mut self, id: &str, output: &str) {
        self.messages.push(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": format!("sig-{id}")},
            {"type": "text", "text": "Reading."},
            {"type": "tool_use", "id": id, "name": "Read", "input": {"path": "a.rs"}}]}));
        self.messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": output}]}));
    }

    /// A reply in words, and the next prompt.
    pub(crate) fn words(&mut self, reply: &str, prompt: &str) {
        self.messages
            .push(json!({"role": "assistant", "content": reply}));
        self.user(prompt);
    }

    /// Puts a cache marker on the last block of a message.
    pub(crate) fn mark(&mut self, at: usize) {
        let message = &mut self.messages[at];
        if let Some(text) = message["content"].as_str() {
            message["content"] = json!([{"type": "text", "text": text}]);
        }
        let content = message["content"].as_array_mut().unwrap();
        let last = content.last_mut().unwrap();
        last["cache_control"] = json!({"type": "ephemeral"});
    }

    pub(crate) fn seen(&self) -> Seen {
        let tools: Vec<Value> = self
            .tools
            .iter()
            .map(|name| json!({"name": name, "input_schema": {"type": "object"}}))
            .collect();
        let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 100, "system": self.system,
            "tools": tools, "messages": self.messages});
        Seen::read(body.to_string().as_bytes()).unwrap()
    }
}
