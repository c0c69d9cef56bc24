//! Meter of background work: counted request by request, ended when the day's budget is spent.
//!
//! # Model
//! A [`Metered`] asker stands between a task and the model. Before each request it asks the budget,
//! after each answer it counts: so a task that is ended early is paid for too, and a long one
//! cannot spend many times a day's budget. Each attempt of a retried request is a request here.
//!
//! # Not here
//! Retries: the driver's, or [`crate::once`]'s. Falling back when the budget is spent: each job
//! does its work without a model then.

use crate::keeper::Keeper;
use dormouse_core::id::MessageId;
use dormouse_core::models::ModelTable;
use dormouse_core::record::UsageReport;
use dormouse_core::usage::TokenUsage;
use dormouse_engine::{Asker, Purpose};
use dormouse_model::{Capabilities, Event, ModelError, Reply, Request, Response, ResponseStream};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Usage by answer, oldest first, for the log of the conversation that a task belongs to. Kept
/// outside the task, because a task that fails or is aborted has used tokens too. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(Arc<Mutex<Vec<UsageReport>>>);

impl Tally {
    /// Reports since the last call.
    pub(crate) fn take(&self) -> Vec<UsageReport> {
        std::mem::take(&mut self.reports())
    }

    fn reports(&self) -> MutexGuard<'_, Vec<UsageReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asker that counts its requests.
pub(crate) struct Metered {
    asker: Arc<dyn Asker>,
    meter: Meter,
}

/// Accounts that a request is counted in.
#[derive(Clone)]
struct Meter {
    budget: crate::budget::Budget,
    settings: crate::keeper::SettingsSource,
    models: Arc<ModelTable>,
    model: String,
    tally: Tally,
}

impl fmt::Debug for Metered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metered")
            .field("asker", &self.asker)
            .finish_non_exhaustive()
    }
}

impl Keeper {
    /// Asker whose requests count against the day's budget, and are recorded in `tally`.
    pub(crate) fn metered(
        &self,
        asker: Arc<dyn Asker>,
        model: &str,
        tally: &Tally,
    ) -> Arc<dyn Asker> {
        let meter = Meter {
            budget: self.budget.clone(),
            settings: Arc::clone(&self.settings),
            models: Arc::clone(&self.models),
            model: model.to_owned(),
            tally: tally.clone(),
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

    fn count(&self, message: Option<&MessageId>, model: Option<&str>, usage: TokenUsage) {
        // A figure that cannot be stored is no reason to lose the work.
        let _counted = self.budget.charge(&self.models, &self.model, &usage);
        self.tally.reports().push(UsageReport {
            message: message.cloned(),
            model: model.unwrap_or(&self.model).to_owned(),
            usage,
            purpose: Purpose::Fork,
            cache: None,
        });
    }

    fn count_end(&self, end: &Result<Response, ModelError>) {
        match end {
            Ok(response) => {
                let (id, model) = (&response.id, &response.model);
                self.count(Some(id), Some(model), response.billed);
            }
            // The part of an answer that had arrived is billed all the same, if it was measured.
            Err(error) => {
                let partial = error.partial();
                if let Some(partial) = partial.filter(|part| part.usage != TokenUsage::default()) {
                    let (id, model) = (partial.id.as_ref(), partial.model.as_deref());
                    self.count(id, model, partial.usage);
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
            // Inside the stream, so that a request that waited long is judged by the budget of its
            // start.
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
