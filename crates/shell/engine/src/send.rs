//! Sending a request and taking its answer in.

use crate::error::EngineError;
use crate::notice::Notice;
use crate::ports::Purpose;
use crate::session::Session;
use dormouse_context::plan::{RequestInputs, RequestPlan, Verdict, plan_request, repairs};
use dormouse_context::window::Relief;
use dormouse_core::json::RawJson;
use dormouse_core::record::{Body, CacheObservation, Message, Role, UsageReport};
use dormouse_core::settings::keys;
use dormouse_model::{Event, ModelError, Request, Response};
use std::sync::Arc;

impl Session {
    /// Plans the next request.
    pub(crate) fn plan(&self, relief: Relief, params: &RawJson) -> RequestPlan {
        plan_request(&RequestInputs {
            conversation: &self.conversation,
            ledger: &self.ledger,
            prefix: &self.config.prefix,
            params,
            thresholds: &self.settings.thresholds,
            relief,
            ttls: self.ttls(),
            now: self.now(),
            cached: dormouse_context::plan::CachedPart::Whole,
            ending: dormouse_context::plan::Ending::User,
        })
    }

    /// Sends the conversation and appends the answer. `notes_due`: an update of the notes leaves as
    /// soon as the provider has taken this prompt, and reads all of it from the cache.
    pub(crate) async fn request(
        &mut self,
        relief: Relief,
        notes_due: bool,
    ) -> Result<Response, EngineError> {
        if let Some(repairs) = repairs(self.conversation.view()) {
            self.append(Body::Message(repairs))?;
        }
        let (params, betas) = self.request_params()?;
        let plan = self.plan(relief, &params);
        match plan.verdict {
            Verdict::Send | Verdict::InFlight | Verdict::CompactFirst => {}
            Verdict::NothingToSend => return Err(EngineError::NothingToSend),
            Verdict::Blocked => {
                return Err(EngineError::Blocked {
                    used: plan.count.tokens,
                    limit: self.settings.thresholds.blocking_limit,
                });
            }
        }
        let body = plan.body();
        let record = plan.record();
        self.append(record)?;
        let now = self.now();
        let estimate = plan.count.tokens;
        let markers = plan.markers.clone();
        self.ledger.sent(plan.into_shape(), markers, now);
        let request = Request::streamed(body)
            .with_betas(&betas)
            .with_estimate(estimate);
        let response = self.stream(request, notes_due).await?;
        self.take_in(&response)?;
        Ok(response)
    }

    async fn stream(&mut self, request: Request, notes_due: bool) -> Result<Response, ModelError> {
        let mut stream = self.ports.asker.ask(Purpose::Turn, request);
        let mut notes_due = notes_due;
        while let Some(event) = stream.next().await {
            let event = event?;
            // The prompt is in the cache from now on.
            if notes_due && matches!(event, Event::MessageStart { .. }) {
                notes_due = false;
                self.start_notes();
            }
            match event {
                Event::Done(response) => return Ok(*response),
                event => self.tell(Notice::Answer(Box::new(event))),
            }
        }
        Err(ModelError::Cut)
    }

    fn take_in(&mut self, response: &Response) -> Result<(), EngineError> {
        let message = Message {
            role: Role::Assistant,
            content: response.blocks.clone(),
            id: Some(response.id.clone()),
            model: Some(Arc::clone(&response.model)),
            usage: Some(response.usage),
            stop_reason: Some(response.stop_reason.as_str().into()),
            ..Message::user(Vec::new())
        };
        self.append(Body::Message(message))?;
        let report = self.ledger.responded(&response.usage);
        let watched = self
            .settings
            .raw
            .switch(keys::CACHE_BREAK_DETECTION)
            .is_on();
        let cache = report.as_ref().map(|report| CacheObservation {
            predicted: report.predicted,
            broken: report.cause.as_ref().map(ToString::to_string),
            expected: report.announced.is_some(),
        });
        if let Some(report) = report.filter(|report| watched && report.is_unexpected()) {
            self.tell(Notice::CacheBroken {
                lost: report.lost,
                why: report
                    .cause
                    .map_or_else(String::new, |cause| cause.to_string()),
            });
        }
        self.append(Body::Usage(Box::new(UsageReport {
            message: Some(response.id.clone()),
            model: response.model.to_string(),
            usage: response.usage,
            purpose: Default::default(),
            cache,
        })))?;
        self.observe_edits(response)?;
        self.prove_compaction(response)
    }
}
