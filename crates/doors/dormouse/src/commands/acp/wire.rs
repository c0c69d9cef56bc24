//! JSON-RPC on the standard streams: lines in, messages out, answers to requests of ours.

use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt::Display;
use std::io::BufRead as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// Lines that may wait; an editor that sends more is slowed down by its pipe.
const WAITING: usize = 64;

/// A message of the editor.
#[derive(Debug)]
pub(super) enum Incoming {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    Response {
        id: u64,
        answer: Result<Value, String>,
    },
    /// A line that is no message.
    Wrong(Problem),
}

/// An error as JSON-RPC tells it.
#[derive(Debug)]
pub(super) struct Problem {
    code: i64,
    message: String,
}

impl Problem {
    /// The line is no JSON.
    fn parse(why: impl Display) -> Self {
        Self {
            code: -32_700,
            message: format!("the line is no message: {why}"),
        }
    }

    /// The method is not served here.
    pub(super) fn method(name: &str) -> Self {
        Self {
            code: -32_601,
            message: format!("there is no method `{name}` here"),
        }
    }

    /// The request has parameters that cannot be used.
    pub(super) fn params(why: impl Display) -> Self {
        Self {
            code: -32_602,
            message: why.to_string(),
        }
    }

    /// The request was fine, and its work failed.
    pub(super) const fn failed(message: String) -> Self {
        Self {
            code: -32_603,
            message,
        }
    }
}

/// Way to the editor. Clones speak to the same one.
#[derive(Clone, Debug)]
pub(super) struct Editor {
    frames: mpsc::UnboundedSender<Value>,
    asked: Arc<Mutex<Asked>>,
}

/// Requests that the editor has not answered.
#[derive(Debug, Default)]
struct Asked {
    next: u64,
    waiting: HashMap<u64, oneshot::Sender<Result<Value, String>>>,
}

impl Editor {
    /// The way, and the messages that are to be printed.
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Value>) {
        let (sender, frames) = mpsc::unbounded_channel();
        let editor = Self {
            frames: sender,
            asked: Arc::default(),
        };
        (editor, frames)
    }

    fn send(&self, frame: Value) {
        // The receiver lives as long as the program.
        let _sent = self.frames.send(frame);
    }

    pub(super) fn answer(&self, id: &Value, answer: Result<Value, Problem>) {
        self.send(match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(Problem { code, message }) => {
                let error = json!({ "code": code, "message": message });
                json!({ "jsonrpc": "2.0", "id": id, "error": error })
            }
        });
    }

    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Puts a request to the editor and waits for the answer, for as long as it lives.
    pub(super) async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut asked = self.asked();
            asked.next += 1;
            let id = asked.next;
            asked.waiting.insert(id, sender);
            id
        };
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answered = answer.await;
        answered.unwrap_or_else(|_| Err("the editor has closed its end".to_owned()))
    }

    /// Hands an answer of the editor to whoever asked.
    pub(super) fn take(&self, id: u64, answer: Result<Value, String>) {
        let asker = self.asked().waiting.remove(&id);
        let _heard = asker.map(|asker| asker.send(answer));
    }

    /// Tells everyone who waits that no answer will come.
    pub(super) fn forget_all(&self) {
        self.asked().waiting.clear();
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Messages from the standard input, read on a thread of their own.
pub(super) fn lines() -> mpsc::Receiver<Incoming> {
    let (sender, lines) = mpsc::channel(WAITING);
    // Not joined: it may wait for input for ever, and ends with the program.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else {
                return;
            };
            if !line.trim().is_empty() && sender.blocking_send(parse(&line)).is_err() {
                return;
            }
        }
    });
    lines
}

fn parse(line: &str) -> Incoming {
    let mut value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => return Incoming::Wrong(Problem::parse(error)),
    };
    let params = value["params"].take();
    let method = value["method"].as_str().map(str::to_owned);
    let id = value.get("id").filter(|id| !id.is_null()).cloned();
    match (method, id) {
        (Some(method), Some(id)) => Incoming::Request { id, method, params },
        (Some(method), None) => Incoming::Notification { method, params },
        (None, Some(id)) => {
            let answer = match value.get("error").filter(|error| !error.is_null()) {
                Some(error) => Err(error["message"].as_str().unwrap_or("refused").to_owned()),
                None => Ok(value["result"].take()),
            };
            match id.as_u64() {
                Some(id) => Incoming::Response { id, answer },
                None => Incoming::Wrong(Problem::parse("nothing was asked under this id")),
            }
        }
        (None, None) => Incoming::Wrong(Problem::parse("it has neither method nor id")),
    }
}
