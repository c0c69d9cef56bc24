//! Sessions as Claude Code writes them: parallel calls, side conversations, bookkeeping, rewinds.

use proptest::prelude::*;
use serde_json::{Value, json};

/// Events of a generated session.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Words,
    /// A response with so many parallel calls, a line for each, and their results beside the chain.
    Calls(usize),
    /// A line of a side conversation.
    Side,
    /// A line of bookkeeping without an id.
    Bookkeeping,
    /// The user goes back so many records.
    Rewind(usize),
}

pub(super) fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Words),
        3 => (1_usize..4).prop_map(Event::Calls),
        1 => Just(Event::Side),
        1 => Just(Event::Bookkeeping),
        1 => (1_usize..6).prop_map(Event::Rewind),
    ]
}

/// Lines of a session as Claude Code writes them.
pub(super) struct Lines {
    written: Vec<String>,
    chain: Vec<String>,
    side: Option<String>,
    next: usize,
}

impl Lines {
    pub(super) fn of(events: &[Event]) -> Vec<String> {
        let mut lines = Self {
            written: Vec::new(),
            chain: Vec::new(),
            side: None,
            next: 0,
        };
        lines.turn("begin");
        for event in events {
            match event {
                Event::Words => lines.turn("go on"),
                Event::Calls(calls) => lines.calls(*calls),
                Event::Side => lines.side(),
                Event::Bookkeeping => {
                    let title = json!({"type": "summary", "summary": "t", "leafUuid": "x"});
                    lines.written.push(title.to_string());
                }
                Event::Rewind(back) => {
                    let left = lines.chain.len().saturating_sub(*back).max(1);
                    lines.chain.truncate(left);
                    lines.turn("instead");
                }
            }
        }
        lines.turn("end");
        lines.written
    }

    fn id(&mut self) -> String {
        self.next += 1;
        format!("u-{:04}", self.next)
    }

    fn push(&mut self, role: &str, parent: Option<&str>, message: &Value) -> String {
        let id = self.id();
        let line = json!({
            "parentUuid": parent, "isSidechain": false, "sessionId": "s", "type": role,
            "message": message, "uuid": id, "timestamp": "2026-01-01T00:00:00.000Z",
        });
        self.written.push(line.to_string());
        id
    }

    fn on_chain(&mut self, role: &str, message: &Value) {
        let parent = self.chain.last().cloned();
        let id = self.push(role, parent.as_deref(), message);
        self.chain.push(id);
    }

    fn turn(&mut self, words: &str) {
        let number = self.next;
        let said = format!("{words} {number}");
        self.on_chain("user", &json!({"role": "user", "content": said}));
        let text = json!([{"type": "text", "text": format!("answer to {said}")}]);
        let usage = json!({"input_tokens": 10, "output_tokens": 5});
        let id = format!("msg_{number}");
        self.on_chain(
            "assistant",
            &json!({"role": "assistant", "id": id, "content": text, "usage": usage}),
        );
    }

    fn calls(&mut self, calls: usize) {
        let number = self.next;
        self.on_chain(
            "user",
            &json!({"role": "user", "content": format!("look {number}")}),
        );
        let id = format!("msg_{number}");
        let mut made = Vec::new();
        for call in 0..calls {
            let call = format!("toolu_{number}_{call}");
            let block = json!([{"type": "tool_use", "id": call, "name": "Read", "input": {}}]);
            self.on_chain(
                "assistant",
                &json!({"role": "assistant", "id": id, "content": block}),
            );
            made.push((call, self.chain.last().cloned()));
        }
        let mut last = None;
        for (call, line) in made {
            let text = format!("result of {call}");
            let block = json!([{"type": "tool_result", "tool_use_id": call, "content": text}]);
            let message = json!({"role": "user", "content": block});
            last = Some(self.push("user", line.as_deref(), &message));
        }
        self.chain.extend(last);
        let text = json!([{"type": "text", "text": format!("seen {number}")}]);
        self.on_chain(
            "assistant",
            &json!({"role": "assistant", "id": format!("{id}b"), "content": text}),
        );
    }

    fn side(&mut self) {
        let id = self.id();
        let parent = self.side.replace(id.clone());
        let line = json!({
            "parentUuid": parent, "isSidechain": true, "sessionId": "s", "type": "user",
            "message": {"role": "user", "content": format!("side {id}")}, "uuid": id,
        });
        self.written.push(line.to_string());
    }
}
