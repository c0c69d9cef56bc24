//! Background work is counted request by request, and ends when the day's budget is spent.
//!
//! # Model
//! A [`Metered`] asker stands between a task and the model. Before each request it asks the budget,
//! after each answer it counts: so a task that is ended early is paid for too, and a long one cannot
//! spend many times what a day may cost.
//!
//! # Not here
//! What follows when the budget is spent: each job does it without a model then.

use crate::keeper::Keeper;
use dormouse_core::models::ModelTable;
use dormouse_core::usage::TokenUsage;
use dormouse_engine::{Asker, Purpose};
use dormouse_model::{Capabilities, Event, ModelError, Reply, Request, Response, ResponseStream};
use std::fmt;
use std::sync::Arc;

/// An asker that counts.
pub(crate) struct Metered {
    asker: Arc<dyn Asker>,
    meter: Meter,
}

/// Where it is counted.
#[derive(Clone)]
struct Meter {
    budget: crate::budget::Budget,
    settings: crate::keeper::SettingsSource,
    models: Arc<ModelTable>,
    model: String,
}

impl fmt::Debug for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metered")
            .field("asker", &self.asker)
            .finish_non_exhaustive()
    }
}

impl Keeper {
    /// An asker whose requests count against the day's budget.
    pub(crate) fn metered(&self, asker: Arc<dyn Asker>, model: &str) -> Arc<dyn Asker> {
        let meter = Meter {
            budget: self.budget.clone(),
            settings: Arc::clone(&self.settings),
            models: Arc::clone(&self.models),
            model: model.to_owned(),
        };
        Arc::new(Metered { asker, meter })
    }
}

impl Meter {
    fn allows(&self) -> Result<(), ModelError> {
        self.budget.allows(&(self.settings)()).map_err(|spent| {
            ModelError::SpendLimit(Box::new(Reply {
                message: spent.to_string(),
                ..Reply::default()
            }))
        })
    }

    /// That it cannot be counted is no reason to lose the work.
    fn count(&self, usage: &TokenUsage) {
        let _counted = self.budget.charge(&self.models, &self.model, usage);
    }

    fn count_end(&self, end: &Result<Response, ModelError>) {
        match end {
            Ok(response) => self.count(&response.billed),
            // What had arrived is billed all the same.
            Err(error) => {
                if let Some(partial) = error.partial() {
                    self.count(&partial.usage);
                }
            }
        }
    }
}

impl Asker for Metered {
    fn capabilities(&self, model: &str) -> Capabilities {
        self.asker.capabilities(model)
    }

    fn ask(&self, purpose: Purpose, request: Request) -> ResponseStream {
        let (asker, meter) = (Arc::clone(&self.asker), self.meter.clone());
        ResponseStream::new(|emitter| async move {
            meter.allows()?;
            let mut stream = asker.ask(purpose, request);
            let end = loop {
                match stream.next().await {
                    Some(Ok(Event::Done(response))) => break Ok(*response),
                    Some(Ok(event)) => emitter.emit(event).await,
                    Some(Err(error)) => break Err(error),
                    None => break Err(ModelError::Cut),
                }
            };
            meter.count_end(&end);
            end
        })
    }
}
