//! The program at the other end of the pipes, which may ask and be asked.
//!
//! # Model
//! [`Program`] is the way to ask: it can be cloned into hooks and tools, which run elsewhere. A
//! request is a frame that waits to be printed, and a place where the answer will be put. [`Wire`]
//! owns the pipes: it prints the frames and hands out the lines that come in; answers it keeps for
//! those who asked.
//!
//! # Not here
//! Meaning of the program's requests: `control`.

use super::input::{self, Incoming, Line};
use crate::app::App;
use crate::error::Outcome;
use dormouse_system::Ids;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Answer to a request: a value, or the reason why there is none.
pub(super) type Answer = Result<Value, String>;

/// Requests that wait for their answers, by id.
type Waiting = HashMap<String, oneshot::Sender<Answer>>;

/// Way to ask the program. Clones ask the same one.
#[derive(Clone)]
pub(super) struct Program {
    frames: mpsc::UnboundedSender<Value>,
    waiting: Arc<Mutex<Waiting>>,
    ids: Arc<dyn Ids>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

impl Program {
    /// Puts a request to the program and waits for its answer, as long as `patience` lasts; without
    /// one for as long as the program lives.
    pub(super) async fn ask(&self, request: Value, patience: Option<Duration>) -> Answer {
        let id = self.ids.fresh();
        let (sender, answer) = oneshot::channel();
        self.waiting().insert(id.clone(), sender);
        let frame = json!({ "type": "control_request", "request_id": id, "request": request });
        let _printed = self.frames.send(frame);
        // Without a limit of its own the wait ends with the program.
        let patience = patience.unwrap_or(Duration::MAX);
        let Ok(answered) = tokio::time::timeout(patience, answer).await else {
            self.waiting().remove(&id);
            return Err(format!("no answer within {} s", patience.as_secs()));
        };
        answered.unwrap_or_else(|_| Err("the program has ended its input".to_owned()))
    }

    /// Answers a request of the program.
    pub(super) fn answer(&self, id: &str, answer: Answer) {
        let response = match answer {
            Ok(value) => json!({ "subtype": "success", "request_id": id, "response": value }),
            Err(why) => json!({ "subtype": "error", "request_id": id, "error": why }),
        };
        let frame = json!({ "type": "control_response", "response": response });
        let _printed = self.frames.send(frame);
    }

    fn take(&self, id: &str, answer: Answer) {
        let asker = self.waiting().remove(id);
        // The asker may be gone: its time was over, or the turn was stopped.
        let _heard = asker.map(|asker| asker.send(answer));
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that needs the attention of whoever owns the pipes.
#[derive(Debug)]
pub(super) enum Heard {
    /// A line came in; `None` when no more will.
    Line(Option<Line>),
    /// A frame is to be printed.
    Frame(Value),
}

/// The pipes to the program.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) program: Program,
    frames: mpsc::UnboundedReceiver<Value>,
    incoming: Option<mpsc::Receiver<Line>>,
    /// Lines that came before their time.
    early: VecDeque<Line>,
}

impl Wire {
    /// Pipes to a program that sends lines, or to one that only reads.
    pub(super) fn new(ids: Arc<dyn Ids>, listens: bool) -> Self {
        let (sender, frames) = mpsc::unbounded_channel();
        Self {
            program: Program {
                frames: sender,
                waiting: Arc::default(),
                ids,
            },
            frames,
            incoming: listens.then(input::lines),
            early: VecDeque::new(),
        }
    }

    /// The next line, early ones first. Cancelling loses nothing.
    pub(super) async fn hear(&mut self) -> Heard {
        if let Some(line) = self.early.pop_front() {
            return Heard::Line(Some(line));
        }
        self.receive().await
    }

    async fn receive(&mut self) -> Heard {
        loop {
            let line = async {
                match &mut self.incoming {
                    Some(incoming) => incoming.recv().await,
                    None => std::future::pending().await,
                }
            };
            let line = tokio::select! {
                frame = self.frames.recv() => {
                    // Never closed: the wire holds a sender itself.
                    return Heard::Frame(frame.unwrap_or_default());
                }
                line = line => line,
            };
            match line {
                Some(Ok(Incoming::Answer { id, answer })) => self.program.take(&id, answer),
                Some(line) => return Heard::Line(Some(line)),
                None => {
                    self.incoming = None;
                    // Dropping the senders tells those who wait that no answer will come.
                    self.program.waiting().clear();
                    return Heard::Line(None);
                }
            }
        }
    }

    /// Prints frames and hands answers out while some work goes on; other lines are kept for later.
    pub(super) async fn during<T>(
        &mut self,
        app: &mut App,
        work: impl Future<Output = T>,
    ) -> Result<T, crate::error::Failure> {
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                heard = self.receive() => match heard {
                    Heard::Frame(frame) => app.out.json_line(&frame)?,
                    Heard::Line(Some(line)) => self.early.push_back(line),
                    // Said again by the next reader: `incoming` is gone then, so it is kept.
                    Heard::Line(None) => self.early.push_back(Ok(Incoming::End)),
                },
            }
        }
    }

    /// Puts a line back that was heard too early.
    pub(super) fn keep(&mut self, line: Line) {
        self.early.push_back(line);
    }

    /// Prints the frames that still wait.
    pub(super) fn flush(&mut self, app: &mut App) -> Outcome {
        while let Ok(frame) = self.frames.try_recv() {
            app.out.json_line(&frame)?;
        }
        Ok(())
    }
}
