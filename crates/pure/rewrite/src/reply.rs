//! Several answers of the upstream as the one answer that a client asked for.
//!
//! # Model
//! A call of our tool is held back from its first event on. The answer that follows the read continues
//! the one before: its start is dropped, its blocks are numbered on, and the closing events come once,
//! with the usage of the last prompt, all output, and one entry in `iterations` for each answer. So a
//! client sees one message with one id, whose prompt is as long as it really is, and whose bill adds up.
//!
//! # Not here
//! Framing of events, and what is asked next: the door.

use crate::aside::READ;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// One event for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Name of the event.
    pub name: String,
    /// JSON of the event, on one line.
    pub data: String,
}

/// The joined answer. See the module documentation.
#[derive(Clone, Debug, Default)]
pub struct Joined {
    /// Blocks that the client got so far.
    passed: u64,
    /// Places of the blocks of the answer under way; `None` for those held back.
    places: HashMap<u64, Option<u64>>,
    /// True if a call of the answer under way is held back.
    holds: bool,
    /// Answers before the one under way.
    earlier: usize,
    /// Usage of each sampling before the answer under way.
    iterations: Vec<Value>,
    /// Usage of the answer under way.
    usage: Map<String, Value>,
    /// Closing events of the answer under way, until it is known whether another one follows.
    closing: Vec<Event>,
}

impl Joined {
    /// Takes an event of the upstream; returns its JSON for the client, or nothing if it is held back.
    pub fn event(&mut self, name: &str, data: &str) -> Option<String> {
        match name {
            "message_start" => {
                let value: Value = serde_json::from_str(data).ok()?;
                self.measure(&value["message"]["usage"]);
                (self.earlier == 0).then(|| data.to_owned())
            }
            "content_block_start" | "content_block_delta" | "content_block_stop" => {
                self.block(name, data)
            }
            "message_delta" | "message_stop" => {
                if let Ok(value) = serde_json::from_str::<Value>(data) {
                    self.measure(&value["usage"]);
                }
                self.closing.push(Event {
                    name: name.to_owned(),
                    data: data.to_owned(),
                });
                None
            }
            // Pings, errors, and whatever is new.
            _ => Some(data.to_owned()),
        }
    }

    fn block(&mut self, name: &str, data: &str) -> Option<String> {
        let Ok(mut value) = serde_json::from_str::<Value>(data) else {
            return Some(data.to_owned());
        };
        let Some(index) = value["index"].as_u64() else {
            return Some(data.to_owned());
        };
        if name == "content_block_start" {
            let block = &value["content_block"];
            let is_ours = block["type"] == "tool_use" && block["name"] == READ;
            self.holds |= is_ours;
            let place = (!is_ours).then_some(self.passed);
            self.passed += u64::from(!is_ours);
            self.places.insert(index, place);
        }
        let place = (*self.places.get(&index)?)?;
        if place == index {
            return Some(data.to_owned());
        }
        value["index"] = place.into();
        Some(value.to_string())
    }

    fn measure(&mut self, usage: &Value) {
        for (name, figure) in usage.as_object().into_iter().flatten() {
            // Later events repeat only some figures.
            if !figure.is_null() {
                self.usage.insert(name.clone(), figure.clone());
            }
        }
    }

    /// True if the answer under way has called our tool.
    pub const fn holds(&self) -> bool {
        self.holds
    }

    /// Goes on to the next answer of the upstream.
    pub fn again(&mut self) {
        self.earlier += 1;
        self.close_usage();
        self.places.clear();
        self.closing.clear();
        self.holds = false;
    }

    fn close_usage(&mut self) {
        let mut usage = std::mem::take(&mut self.usage);
        if let Some(Value::Array(own)) = usage.remove("iterations") {
            self.iterations.extend(own);
            return;
        }
        usage.insert("type".to_owned(), "message".into());
        self.iterations.push(Value::Object(usage));
    }

    /// Ends the answer under way although its call of our tool stays unanswered.
    pub fn give_up(&mut self) {
        for event in &mut self.closing {
            if let Ok(mut value) = serde_json::from_str::<Value>(&event.data)
                && value["delta"]["stop_reason"] == "tool_use"
            {
                // The client sees no call that it could answer.
                value["delta"]["stop_reason"] = "end_turn".into();
                event.data = value.to_string();
            }
        }
    }

    /// Events that close the message, with the usage of all its answers.
    pub fn close(&mut self) -> Vec<Event> {
        let mut closing = std::mem::take(&mut self.closing);
        if self.earlier > 0 {
            let usage = self.joined_usage();
            for event in &mut closing {
                if event.name == "message_delta"
                    && let Ok(mut value) = serde_json::from_str::<Value>(&event.data)
                {
                    value["usage"] = usage.clone();
                    event.data = value.to_string();
                }
            }
        }
        closing
    }

    /// Usage of the last prompt and of all output.
    fn joined_usage(&mut self) -> Value {
        let mut joined = self.usage.clone();
        self.close_usage();
        let output = |usage: &Value| usage["output_tokens"].as_u64().unwrap_or(0);
        let written: u64 = self.iterations.iter().map(output).sum();
        joined.insert("output_tokens".to_owned(), written.into());
        joined.insert("iterations".to_owned(), self.iterations.clone().into());
        Value::Object(joined)
    }
}

/// Joins answers that came in one piece each. The first gives the id, the last its end; calls of our
/// tool are left out. `None` if one of them is no message.
pub fn joined(answers: &[Value]) -> Option<Value> {
    let mut whole = answers.first()?.clone();
    let mut content = Vec::new();
    let mut usage = Joined::default();
    for (number, answer) in answers.iter().enumerate() {
        if number > 0 {
            usage.again();
        }
        usage.measure(&answer["usage"]);
        let blocks = answer["content"].as_array()?.iter();
        let is_ours = |block: &&Value| block["type"] == "tool_use" && block["name"] == READ;
        content.extend(blocks.filter(|block| !is_ours(block)).cloned());
    }
    let last = answers.last()?;
    whole["content"] = json!(content);
    for name in ["stop_reason", "stop_sequence"] {
        whole[name] = last[name].clone();
    }
    if answers.len() > 1 {
        whole["usage"] = usage.joined_usage();
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// An answer of these blocks as events.
    fn answer(id: &str, prompt: u64, blocks: &[Value], stop: &str) -> Vec<(String, Value)> {
        let mut events = vec![json!({"type": "message_start", "message": {"id": id,
            "usage": {"input_tokens": prompt, "output_tokens": 1}}})];
        for (index, block) in blocks.iter().enumerate() {
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": block}),
            );
            events.push(json!({"type": "content_block_delta", "index": index, "delta": {}}));
            events.push(json!({"type": "content_block_stop", "index": index}));
        }
        events.push(
            json!({"type": "message_delta", "delta": {"stop_reason": stop},
            "usage": {"output_tokens": 10}}),
        );
        events.push(json!({"type": "message_stop"}));
        let name = |event: &Value| event["type"].as_str().unwrap().to_owned();
        events
            .into_iter()
            .map(|event| (name(&event), event))
            .collect()
    }

    fn passed(joined: &mut Joined, events: &[(String, Value)]) -> Vec<Value> {
        let data = events
            .iter()
            .filter_map(|(name, event)| joined.event(name, &event.to_string()));
        data.map(|data| serde_json::from_str(&data).unwrap())
            .collect()
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn call(name: &str) -> Value {
        json!({"type": "tool_use", "id": "t", "name": name, "input": {}})
    }

    #[test]
    fn an_answer_without_our_tool_passes_as_it_is() {
        let mut joined = Joined::default();
        let events = answer("m1", 7, &[text("a"), call("Bash")], "tool_use");
        let mut got = passed(&mut joined, &events);
        assert!(!joined.holds());
        for event in joined.close() {
            got.push(serde_json::from_str(&event.data).unwrap());
        }
        let sent: Vec<Value> = events.into_iter().map(|(_, event)| event).collect();
        assert_eq!(got, sent);
    }

    #[test]
    fn two_answers_are_one_message_with_numbers_that_go_on() {
        let mut joined = Joined::default();
        let first = answer("m1", 7, &[text("a"), call(READ), text("b")], "tool_use");
        let mut got = passed(&mut joined, &first);
        assert!(joined.holds());
        joined.again();
        got.extend(passed(
            &mut joined,
            &answer("m2", 30, &[text("c")], "end_turn"),
        ));
        assert!(!joined.holds());
        let starts: Vec<(u64, &str)> = got
            .iter()
            .filter(|event| event["type"] == "content_block_start")
            .map(|event| {
                let text = event["content_block"]["text"].as_str().unwrap();
                (event["index"].as_u64().unwrap(), text)
            })
            .collect();
        assert_eq!(starts, [(0, "a"), (1, "b"), (2, "c")]);
        let ids = got.iter().filter(|event| event["type"] == "message_start");
        assert_eq!(ids.count(), 1);
        let closing = joined.close();
        let delta: Value = serde_json::from_str(&closing[0].data).unwrap();
        assert_eq!(delta["delta"]["stop_reason"], "end_turn");
        let usage = &delta["usage"];
        // The last prompt, so that the client is not made to compact; all output; both bills.
        assert_eq!(
            (&usage["input_tokens"], &usage["output_tokens"]),
            (&json!(30), &json!(20))
        );
        let inputs: Vec<&Value> = usage["iterations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["input_tokens"])
            .collect();
        assert_eq!(inputs, [&json!(7), &json!(30)]);
        assert_eq!(closing[1].name, "message_stop");
    }

    #[test]
    fn answers_in_one_piece_are_joined_alike() {
        let answer = |id: &str, blocks: &[Value], stop: &str| {
            json!({"id": id, "type": "message", "content": blocks, "stop_reason": stop,
                "usage": {"input_tokens": 5, "output_tokens": 3}})
        };
        let one = answer("m1", &[text("a"), call(READ)], "tool_use");
        let two = answer("m2", &[call("Bash")], "tool_use");
        let whole = joined(&[one.clone(), two]).unwrap();
        assert_eq!(whole["id"], "m1");
        assert_eq!(whole["content"], json!([text("a"), call("Bash")]));
        assert_eq!(whole["usage"]["output_tokens"], 6);
        assert_eq!(whole["usage"]["iterations"].as_array().unwrap().len(), 2);
        assert_eq!(joined(&[one, json!({"type": "error"})]), None);
    }
}
