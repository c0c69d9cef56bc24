//! A client that appends to its history, and a line that is kept as records.

use bytes::Bytes;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Settings;
use dormouse_core::units::{Millis, Tokens};
use dormouse_recognise::Seen;
use dormouse_rewrite::{
    Answered, Ask, Body, Compaction, Composed, Line, Plan, Record, Rules, Surroundings, ask,
    boundary, compose, plan, without_model,
};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) const FOLDER: &str = "/home/nobody/gateway/results/c1";

/// The client's side: messages, and everything around them.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) model: &'static str,
    pub(crate) messages: Vec<Value>,
    pub(crate) calls: usize,
}

impl Client {
    pub(crate) fn new(prompt: &str) -> Self {
        Self {
            model: "claude-sonnet-4-5",
            messages: vec![json!({"role": "user", "content": prompt})],
            calls: 0,
        }
    }

    /// One round: a call of the shell, and its result.
    pub(crate) fn round(&mut self, tool: &str, result: &str) {
        self.calls += 1;
        let id = format!("toolu_{:04}", self.calls);
        self.messages.push(json!({"role": "assistant", "content": [
            {"type": "text", "text": format!("Check {} comes next.", self.calls)},
            {"type": "tool_use", "id": id, "name": tool, "input": {"command": format!("./check {}", self.calls)}}]}));
        self.messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": result}]}));
    }

    pub(crate) fn say(&mut self, answer: &str, words: &str) {
        self.messages
            .push(json!({"role": "assistant", "content": [{"type": "text", "text": answer}]}));
        self.messages
            .push(json!({"role": "user", "content": words}));
    }

    /// The body as this client writes it: a marker on its system prompt and on its last block.
    pub(crate) fn body(&self) -> Bytes {
        let mut messages = self.messages.clone();
        let last = messages.last_mut().unwrap();
        if let Some(text) = last["content"].as_str().map(str::to_owned) {
            last["content"] = json!([{"type": "text", "text": text}]);
        }
        let blocks = last["content"].as_array_mut().unwrap();
        blocks.last_mut().unwrap()["cache_control"] = json!({"type": "ephemeral"});
        let system = "You are a careful engineer. ".repeat(300);
        let body = json!({"unknown": [1, 2.50], "model": self.model, "max_tokens": 64, "stream": true,
            "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
            "tools": [{"name": "Bash", "input_schema": {"type": "object"}}],
            "messages": messages, "metadata": {"user_id": "u"}});
        body.to_string().into()
    }
}

/// Output of a command, each line its own.
pub(crate) fn output(lines: usize, seed: usize) -> String {
    let lines = (0..lines).map(|at| {
        let id = (at * 7_919 + seed * 104_729) % 1_000_003;
        format!("src/part_{seed}/file_{id:06}.rs:{at}: warn: slow flush after {id} ms")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The gateway's side: one line, with the records it is made of.
#[derive(Default)]
pub(crate) struct Gateway {
    pub(crate) line: Line,
    pub(crate) records: Vec<String>,
    pub(crate) saved: Vec<String>,
    pub(crate) local: bool,
    /// Milliseconds since the last answer, beside the usual second.
    pub(crate) silence: i64,
}

/// A request after it went through.
pub(crate) struct Passed {
    pub(crate) plan: Plan,
    pub(crate) composed: Composed,
    /// Question and boundary, if there was a compaction.
    pub(crate) compacted: Option<(Option<Bytes>, Compaction)>,
}

impl Passed {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.composed.body).unwrap()
    }

    pub(crate) fn messages(&self) -> Vec<Value> {
        self.json()["messages"].as_array().unwrap().clone()
    }
}

pub(crate) fn rules() -> Rules {
    Rules::new(&Settings::default())
}

pub(crate) fn models() -> Arc<ModelTable> {
    Arc::new(ModelTable::builtin().clone())
}

impl Gateway {
    pub(crate) fn new() -> Self {
        Self {
            local: true,
            ..Self::default()
        }
    }

    /// A gateway that was started again: its line is read from the records.
    pub(crate) fn restarted(&self) -> Self {
        let mut line = Line::default();
        for record in &self.records {
            line.apply(serde_json::from_str(record).unwrap());
        }
        Self {
            line,
            records: self.records.clone(),
            saved: self.saved.clone(),
            local: self.local,
            silence: self.silence,
        }
    }

    fn keep(&mut self, record: Record) {
        self.records.push(serde_json::to_string(&record).unwrap());
        self.line.apply(record);
    }

    /// Passes a request and takes a whole answer to it.
    pub(crate) fn pass(&mut self, bytes: &Bytes) -> Passed {
        let passed = self.send(bytes);
        // A request of usual growth: most of it read, some of it written.
        let prompt = u32::try_from(passed.composed.estimate.get()).unwrap();
        let cost = 5_000.0 + 0.1 * f64::from(prompt);
        self.keep(Record::Answered(Answered {
            at: Millis(1_000),
            prompt: passed.composed.estimate,
            estimate: passed.composed.estimate,
            untouched: passed.composed.untouched,
            cost,
            due: passed.plan.due.clone(),
            marked: passed.composed.marked,
            again: passed.plan.again,
        }));
        passed
    }

    /// Passes a request that is never answered.
    pub(crate) fn send(&mut self, bytes: &Bytes) -> Passed {
        let (rules, models) = (rules(), models());
        let around = Surroundings {
            rules: &rules,
            models: &models,
            folder: self.local.then_some(FOLDER),
            betas: &[],
            now: Millis(2_000 + self.silence),
            refused: false,
        };
        let body = Body::read(bytes).unwrap();
        let seen = Seen::read(bytes).unwrap();
        let plan = plan(&body, &seen, &self.line, &around);
        for save in &plan.saves {
            self.saved.push(save.text.clone());
        }
        for record in plan.records.clone() {
            self.keep(record);
        }
        self.line.in_use = plan.in_use;
        let mut compacted = None;
        if let Some(due) = plan.compact {
            let mut asked: Ask = ask(&body, &seen, &self.line, due.tail, &around).unwrap();
            let question = asked.body.take();
            let made = match &question {
                Some(question) => {
                    let answer = summary(question);
                    boundary(&body, &seen, &self.line, &asked, &[answer], &around).ok()
                }
                None if due.forced => without_model(&body, &seen, &self.line, &asked, &around).ok(),
                None => None,
            };
            if let Some(made) = made {
                self.saved
                    .extend(made.save.iter().map(|save| save.text.clone()));
                self.keep(Record::Boundary(made.boundary.clone()));
                compacted = Some((question, made));
            }
        }
        let composed = compose(&body, &seen, &self.line, &plan.due, &around);
        self.line.sending(&plan.due, composed.marked);
        Passed {
            plan,
            composed,
            compacted,
        }
    }
}

/// A summary as a model would write it for a question.
fn summary(question: &Bytes) -> dormouse_core::block::Block {
    assert!(serde_json::from_slice::<Value>(question).is_ok());
    let sections = dormouse_context::compaction::REQUIRED_SECTIONS
        .iter()
        .enumerate();
    let sections = sections.map(|(at, name)| format!("{}. {name}: as told.", at + 1));
    let text = sections.collect::<Vec<_>>().join("\n");
    dormouse_core::block::Block::text(&format!("<analysis>x</analysis><summary>{text}</summary>"))
}

/// All markers of a body.
pub(crate) fn markers(value: &Value) -> usize {
    match value {
        Value::Object(members) => {
            let own = usize::from(members.contains_key("cache_control"));
            own + members.values().map(markers).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(markers).sum(),
        _ => 0,
    }
}

/// Blocks of the messages in order, with roles and without markers.
pub(crate) fn blocks(messages: &[Value]) -> Vec<(String, Value)> {
    let mut blocks = Vec::new();
    for message in messages {
        let role = message["role"].as_str().unwrap().to_owned();
        let content = match &message["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            list => list.as_array().unwrap().clone(),
        };
        for mut block in content {
            block.as_object_mut().unwrap().remove("cache_control");
            blocks.push((role.clone(), block));
        }
    }
    blocks
}

/// Position of the last block with a marker, and the number of blocks up to it.
pub(crate) fn cached(messages: &[Value]) -> usize {
    let all = messages
        .iter()
        .flat_map(|message| match &message["content"] {
            Value::Array(list) => list.clone(),
            text => vec![text.clone()],
        });
    let marks: Vec<bool> = all
        .map(|block| block.get("cache_control").is_some())
        .collect();
    marks
        .iter()
        .rposition(|marked| *marked)
        .map_or(0, |at| at + 1)
}

pub(crate) fn tokens(body: &Bytes) -> Tokens {
    Tokens(body.len() as u64 / 4)
}
