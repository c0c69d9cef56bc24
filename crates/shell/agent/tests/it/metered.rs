//! A provider that answers as the test says and counts as the simulator does: every request is checked
//! against the provider's rules, and its usage is the one of a real cache.

use crate::kit::{Kit, MODEL};
use dormouse_agent::{AgentAsk, Mode};
use dormouse_core::block::Block;
use dormouse_core::id::MessageId;
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use dormouse_engine::{Asker, Purpose};
use dormouse_model::{Capabilities, Feature, Features, Model as _, Request, ResponseStream};
use dormouse_sim::{SimConfig, SimRequest, Simulator};
use dormouse_testkit_model::{Answer, Script, ScriptedModel};
use serde_json::{Value, json};
use std::fmt;
use std::sync::{Arc, Mutex};

/// A request with its usage.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) body: Value,
    pub(crate) usage: TokenUsage,
}

impl Sent {
    /// Text of the last block of the last message of the user's side.
    pub(crate) fn last_text(&self) -> String {
        last_text(&self.body)
    }

    /// Messages without cache markers.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let mut messages = self.body["messages"].as_array().unwrap().clone();
        for message in &mut messages {
            for block in message["content"].as_array_mut().into_iter().flatten() {
                block.as_object_mut().unwrap().remove("cache_control");
            }
        }
        messages
    }

    /// Tokens up to the last cache marker.
    pub(crate) fn marked(&self) -> Tokens {
        self.usage.cache_read + self.usage.cache_write_5m + self.usage.cache_write_1h
    }
}

fn last_text(body: &Value) -> String {
    let last = body["messages"].as_array().unwrap().last().unwrap();
    let block = last["content"].as_array().unwrap().last().unwrap();
    block["text"].as_str().unwrap_or_default().to_owned()
}

type Reply = Box<dyn Fn(&Sent, usize) -> Answer + Send + Sync>;

/// Provider whose answers follow from the request and its number, from 1 on.
pub(crate) struct Metered {
    simulator: Mutex<Simulator>,
    sent: Mutex<Vec<Sent>>,
    reply: Reply,
}

impl fmt::Debug for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metered")
    }
}

impl Metered {
    pub(crate) fn new(reply: impl Fn(&Sent, usize) -> Answer + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            simulator: Mutex::new(Simulator::new(SimConfig::default()).unwrap()),
            sent: Mutex::default(),
            reply: Box::new(reply),
        })
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    /// Requests whose body has these words.
    pub(crate) fn sent_with(&self, words: &str) -> Vec<Sent> {
        let mut sent = self.sent();
        sent.retain(|sent| sent.body.to_string().contains(words));
        sent
    }

    pub(crate) fn ask(self: &Arc<Self>, kit: &Kit) -> AgentAsk {
        AgentAsk {
            model: Some((MODEL.to_owned(), Arc::clone(self) as Arc<dyn Asker>)),
            mode: Mode::All,
            ..kit.ask()
        }
    }

    fn count(&self, request: &Request) -> TokenUsage {
        let mut http = SimRequest::post("/v1/messages", request.body.to_vec());
        if !request.betas.is_empty() {
            http = http.with("anthropic-beta", &request.betas.join(","));
        }
        // One moment: every entry of the cache is alive.
        let reply = self.simulator.lock().unwrap().handle(&http, Millis(1_000));
        let bytes = reply.bytes();
        let words = String::from_utf8_lossy(&bytes);
        assert_eq!(reply.status, 200, "the simulator refuses: {words}");
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        let usage = &message["usage"];
        let figure = |value: &Value| Tokens(value.as_u64().unwrap_or(0));
        let written = &usage["cache_creation"];
        TokenUsage {
            input: figure(&usage["input_tokens"]),
            cache_read: figure(&usage["cache_read_input_tokens"]),
            cache_write_5m: figure(&written["ephemeral_5m_input_tokens"]),
            cache_write_1h: figure(&written["ephemeral_1h_input_tokens"]),
            output: Tokens(20),
        }
    }
}

impl Asker for Metered {
    fn capabilities(&self, model: &str) -> Capabilities {
        let scripted = ScriptedModel::new(Script::new());
        Capabilities {
            features: Features::of(&[Feature::ToolUse]),
            ..scripted.capabilities(model)
        }
    }

    fn ask(&self, _: Purpose, request: Request) -> ResponseStream {
        let usage = self.count(&request);
        let sent = Sent {
            body: serde_json::from_slice(&request.body).unwrap(),
            usage,
        };
        let number = {
            let mut all = self.sent.lock().unwrap();
            all.push(sent.clone());
            all.len()
        };
        let answer = (self.reply)(&sent, number).using(usage).with(|response| {
            response.id = MessageId::new(format!("msg_{number}"));
            response.model = MODEL.into();
        });
        ScriptedModel::new(Script::new().then(answer)).stream(request)
    }
}

/// A call as a block.
pub(crate) fn call(id: &str, tool: &str, input: &Value) -> Block {
    let call = json!({ "type": "tool_use", "id": id, "name": tool, "input": input });
    Block::from_value(&call).unwrap()
}
