//! The executor of requests: deltas go to subscribers, blocks and the end to the driver.
//!
//! # Not here
//! Retry, back-off and fallback: the driver decides on the outcome.

use crate::execute::{Executor, Outgoing};
use crate::subscribe::Told;
use dormouse_ask::{Failure, FailureKind, Partial, Unfinished};
use dormouse_core::json::RawJson;
use dormouse_core::record::Purpose;
use dormouse_drive::{Ask, EffectId, EffectOutcome, Notice, StreamEvent};
use dormouse_model::{Delta, Event, ModelError};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Sends one request and follows its answer to the end, or until it is stopped.
pub(crate) async fn ask(
    executor: &Executor,
    id: EffectId,
    ask: Ask,
    mut stopped: oneshot::Receiver<()>,
) -> EffectOutcome {
    // Answers of forks, summaries and keep-alives are not the conversation: screens must not show
    // them.
    let shown = matches!(ask.purpose, Purpose::Turn);
    let mut stream = executor.ports.asker.ask(ask.purpose, ask.request);
    let mut arrived = Arrived::default();
    loop {
        let event = tokio::select! {
            event = stream.next() => event,
            // The content so far is handed over: it was shown and paid for.
            Ok(()) = &mut stopped => return EffectOutcome::Answered(Err(arrived.cancelled())),
        };
        match event {
            Some(Ok(Event::Done(response))) => return EffectOutcome::Answered(Ok(response)),
            Some(Ok(event)) => {
                if let Some(progress) = arrived.take(&event) {
                    // The receiver lives as long as the engine that owns this task.
                    executor.outgoing.send(Outgoing::Stream(id, progress)).ok();
                }
                if shown {
                    executor.subscribers.tell(&Told::Answer(event.clone()));
                    (executor.ports.notices)(Notice::Answer(Box::new(event)));
                }
            }
            Some(Err(error)) => return failed(executor, ask.purpose, error),
            // A stream that ends without an end event was cut off, and the driver treats it as
            // such.
            None => return failed(executor, ask.purpose, ModelError::Cut),
        }
    }
}

fn failed(executor: &Executor, purpose: Purpose, error: ModelError) -> EffectOutcome {
    let failure = error.failure();
    // Only failures that a caller of the session sees keep their error; others are handled inside.
    if matches!(purpose, Purpose::Turn | Purpose::Fork | Purpose::KeepAlive) {
        executor.outgoing.send(Outgoing::Failed(error)).ok();
    }
    EffectOutcome::Answered(Err(failure))
}

/// The part of an answer that has arrived, so that a stop loses none of it.
#[derive(Debug, Default)]
struct Arrived {
    partial: Partial,
    open: BTreeMap<u32, (RawJson, String)>,
}

impl Arrived {
    fn take(&mut self, event: &Event) -> Option<StreamEvent> {
        match event {
            Event::MessageStart { id, model, usage } => {
                self.partial.id = Some(id.clone());
                self.partial.model = Some(Arc::clone(model));
                self.partial.usage = *usage;
                Some(StreamEvent::Began {
                    id: id.clone(),
                    model: Arc::clone(model),
                    usage: *usage,
                })
            }
            Event::BlockStart { index, head, .. } => {
                self.open.insert(*index, (head.clone(), String::new()));
                None
            }
            Event::Delta {
                index,
                delta: Delta::Text(text),
            } => {
                // Only text is kept of an open block: unfinished thinking or input cannot be sent
                // again.
                if let Some((_, received)) = self.open.get_mut(index) {
                    received.push_str(text);
                }
                None
            }
            // A block without content (a call cut off) has nothing to record.
            Event::BlockStop { index, block } => {
                self.open.remove(index);
                let block = block.clone()?;
                self.partial.blocks.push(block.clone());
                Some(StreamEvent::Block(block))
            }
            Event::Usage(usage) => {
                self.partial.usage = *usage;
                None
            }
            _ => None,
        }
    }

    fn cancelled(mut self) -> Failure {
        let open = std::mem::take(&mut self.open).into_values();
        let unfinished = open.map(|(head, received)| Unfinished { head, received });
        self.partial.unfinished = unfinished.collect();
        let begun = self.partial.id.is_some();
        Failure {
            // Without a message id nothing was answered, so there is nothing to record.
            partial: begun.then(|| Box::new(self.partial)),
            ..Failure::new(FailureKind::Connection, false, "cancelled")
        }
    }
}
