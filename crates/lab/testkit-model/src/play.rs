//! Playing a script.
//!
//! # Not here
//! The script itself: [`crate::Script`].

use crate::script::{Answer, Script, Step, partial};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::MessageId;
use dormouse_core::json::RawJson;
use dormouse_core::models::ModelTable;
use dormouse_core::units::Tokens;
use dormouse_model::{
    Caching, Capabilities, Counting, Delta, Emitter, Event, Feature, Features, Model, ModelError,
    Request, Response, ResponseStream,
};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A model that follows a script. Clones share it.
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    state: Arc<Mutex<State>>,
    capabilities: Capabilities,
}

#[derive(Debug)]
struct State {
    steps: VecDeque<Step>,
    received: Vec<Request>,
    /// The first departure from the script, for streams that are not read to the end.
    failure: Option<String>,
}

impl ScriptedModel {
    /// A model that can do everything, with the window of an unknown model.
    pub fn new(script: Script) -> Self {
        let unknown = ModelTable::builtin().lookup("scripted").info;
        Self {
            state: Arc::new(Mutex::new(State {
                steps: script.steps.into(),
                received: Vec::new(),
                failure: None,
            })),
            capabilities: Capabilities {
                window: unknown.window,
                max_output: unknown.max_output,
                caching: Caching::Markers,
                cache_minimum: unknown.cache_minimum,
                thinking_binding: unknown.thinking_binding,
                features: Features::of(&[
                    Feature::ToolUse,
                    Feature::JsonSchema,
                    Feature::TokenCounting,
                    Feature::ContextEditing,
                    Feature::ServerCompaction,
                    Feature::BindingControl,
                    Feature::MidConversationSystem,
                    Feature::CacheDiagnostics,
                ]),
            },
        }
    }

    /// The model with other capabilities.
    #[must_use]
    pub const fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// The model with another window.
    #[must_use]
    pub const fn with_window(mut self, window: Tokens) -> Self {
        self.capabilities.window = window;
        self
    }

    /// The requests so far.
    pub fn received(&self) -> Vec<Request> {
        self.lock().received.clone()
    }

    /// The last request's body as JSON.
    pub fn last_body(&self) -> serde_json::Value {
        let state = self.lock();
        let last = state.received.last().expect("no request was made");
        serde_json::from_slice(&last.body).expect("the body is JSON")
    }

    /// Fails unless the whole script was played.
    #[track_caller]
    pub fn finish(&self) {
        let state = self.lock();
        if let Some(failure) = &state.failure {
            panic!("{failure}");
        }
        let made = state.received.len();
        let left: Vec<String> = (made + 1..)
            .zip(&state.steps)
            .map(|(number, step)| format!("request {number}: {:?}", step.expect))
            .collect();
        assert!(
            left.is_empty(),
            "{made} requests were made; the script goes on:\n  {}",
            left.join("\n  ")
        );
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the step for a request, or says how the request departs from the script.
    fn take(&self, request: &Request) -> (usize, Result<Step, String>) {
        let mut state = self.lock();
        state.received.push(request.clone());
        let number = state.received.len();
        let result = match state.steps.pop_front() {
            None => Err(format!(
                "request {number} may not be made: the script has ended\n{}",
                String::from_utf8_lossy(&request.body)
            )),
            Some(step) => match step.expect.verify(request) {
                Ok(()) => Ok(step),
                Err(why) => Err(format!("request {number} departs from the script: {why}")),
            },
        };
        // Kept for `finish`: the panic below may end in a task whose result is never looked at.
        if let Err(failure) = &result {
            state.failure.get_or_insert(failure.clone());
        }
        (number, result)
    }
}

impl Model for ScriptedModel {
    fn capabilities(&self, _: &str) -> Capabilities {
        self.capabilities
    }

    fn stream(&self, request: Request) -> ResponseStream {
        let model = self.clone();
        ResponseStream::new(|emitter| async move {
            let (number, step) = model.take(&request);
            let step = step.unwrap_or_else(|failure| panic!("{failure}"));
            pause(step.delay).await;
            play(number, step.answer, &emitter).await
        })
    }

    fn count_tokens(&self, request: Request) -> Counting {
        let model = self.clone();
        Box::pin(async move {
            let (number, step) = model.take(&request);
            let step = step.unwrap_or_else(|failure| panic!("{failure}"));
            pause(step.delay).await;
            match step.answer {
                Answer::Count(count) => Ok(count),
                Answer::Fault(fault) => Err(fault()),
                Answer::Silence => std::future::pending().await,
                Answer::Response(_) | Answer::Break { .. } => {
                    panic!("request {number} counts tokens; the script has an answer to it")
                }
            }
        })
    }
}

/// Waits, if there is a delay: even a sleep of no time lasts until the clock ticks.
async fn pause(delay: Duration) {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}

async fn play(number: usize, answer: Answer, emitter: &Emitter) -> Result<Response, ModelError> {
    let id = MessageId::new(format!("msg_scripted_{number}"));
    match answer {
        Answer::Response(mut response) => {
            // A test that sets an id keeps it; others get a number, so that no two are the same.
            if response.id.as_str().is_empty() {
                response.id = id;
            }
            show(&response, emitter).await;
            emitter.emit(Event::Usage(response.usage)).await;
            emitter
                .emit(Event::Stop(response.stop_reason.clone()))
                .await;
            Ok(*response)
        }
        Answer::Fault(fault) => Err(fault()),
        Answer::Break {
            blocks,
            text,
            fault,
        } => {
            let begun = Response {
                id,
                ..crate::script::response(blocks)
            };
            show(&begun, emitter).await;
            show_open_text(begun.blocks.len(), &text, emitter).await;
            Err(ModelError::Broken {
                partial: Box::new(partial(begun, text)),
                source: Box::new(fault()),
            })
        }
        Answer::Silence => std::future::pending().await,
        Answer::Count(_) => panic!("request {number} wants an answer; the script has a count"),
    }
}

/// The events of a stream, with each block in one piece.
async fn show(response: &Response, emitter: &Emitter) {
    let start = Event::MessageStart {
        id: response.id.clone(),
        model: response.model.clone(),
        usage: response.usage,
    };
    emitter.emit(start).await;
    for (index, block) in (0_u32..).zip(&response.blocks) {
        let (kind, head) = (block.kind(), block.into());
        emitter.emit(Event::BlockStart { index, kind, head }).await;
        if let Some(text) = block.readable_text() {
            let delta = if kind.is_thinking() {
                Delta::Thinking(text)
            } else {
                Delta::Text(text)
            };
            emitter.emit(Event::Delta { index, delta }).await;
        }
        let block = Some(block.clone());
        emitter.emit(Event::BlockStop { index, block }).await;
    }
}

/// The beginning of a text block that does not end.
async fn show_open_text(place: usize, text: &str, emitter: &Emitter) {
    if text.is_empty() {
        return;
    }
    let index = u32::try_from(place).expect("a script has few blocks");
    let (kind, head) = (BlockKind::Text, RawJson::from(&Block::text("")));
    emitter.emit(Event::BlockStart { index, kind, head }).await;
    let delta = Delta::Text(text.to_owned());
    emitter.emit(Event::Delta { index, delta }).await;
}
