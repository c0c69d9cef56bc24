//! Figures of a run, added up from its events: for the end of a run and for status lines.

use crate::protocol::Event;
use dormouse_core::id::MessageId;
use dormouse_core::record::Purpose;
use dormouse_core::usage::{TokenUsage, Usd};
use serde::Serialize;
use std::collections::BTreeMap;

/// Message id of a response, and a number of its own where the id does not name one response.
type ResponseKey = (Option<MessageId>, usize);

/// Usage of a run so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Figures by response: a response that is told twice counts once.
    responses: BTreeMap<ResponseKey, (String, TokenUsage, Option<Usd>)>,
    unnamed: usize,
}

/// Usage of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ModelFigures {
    /// Tokens of all responses.
    pub usage: TokenUsage,
    /// Price of all responses that have one.
    pub cost: Usd,
    /// Responses without a price.
    pub unpriced: usize,
}

impl Figures {
    /// Takes an event in; all but usage are passed by.
    pub fn take(&mut self, event: &Event) {
        let Event::Usage {
            message,
            model,
            usage,
            cost,
            purpose,
        } = event
        else {
            return;
        };
        // Responses without an id are told once, each by a record of its own.
        let key = match message {
            Some(_) if *purpose == Purpose::Turn => (message.clone(), 0),
            _ => {
                self.unnamed += 1;
                (message.clone(), self.unnamed)
            }
        };
        let figures = (model.clone(), *usage, *cost);
        self.responses.insert(key, figures);
    }

    /// Takes figures of earlier responses in, which were added up elsewhere.
    pub fn absorb(&mut self, earlier: Self) {
        for ((message, number), figures) in earlier.responses {
            if number == 0 {
                // Told again since, the newer figures count.
                self.responses.entry((message, 0)).or_insert(figures);
            } else {
                self.unnamed += 1;
                self.responses.insert((message, self.unnamed), figures);
            }
        }
    }

    /// Tokens and price of each model.
    pub fn by_model(&self) -> BTreeMap<String, ModelFigures> {
        let mut models: BTreeMap<String, ModelFigures> = BTreeMap::new();
        for (model, usage, cost) in self.responses.values() {
            let figures = models.entry(model.clone()).or_default();
            figures.usage += *usage;
            figures.unpriced += usize::from(cost.is_none());
            figures.cost += cost.unwrap_or_default();
        }
        models
    }

    /// Tokens of all models, and the price if every response has one.
    pub fn all(&self) -> (TokenUsage, Option<Usd>) {
        let mut usage = TokenUsage::default();
        let mut cost = Usd::default();
        let mut unpriced = 0;
        for figures in self.by_model().values() {
            usage += figures.usage;
            cost += figures.cost;
            unpriced += figures.unpriced;
        }
        (usage, (unpriced == 0).then_some(cost))
    }
}
