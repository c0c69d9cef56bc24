//! Prices and what usage costs at them.

use crate::units::Tokens;
use crate::usage::{TokenUsage, Usd};

/// Price of one kind of token.
///
/// Kept in pico-dollars per token, which is the same number as millionths of a dollar per million
/// tokens: six decimal places of a list price are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Price {
    pico_per_token: u64,
}

impl Price {
    /// A price in millionths of a dollar per million tokens (2,500,000 is $2.50).
    pub const fn from_micros_per_million(micros: u64) -> Self {
        Self {
            pico_per_token: micros,
        }
    }

    /// Dollars per million tokens, for display and for ratios between prices.
    #[expect(
        clippy::cast_precision_loss,
        reason = "prices are far below 2^53 millionths"
    )]
    pub fn per_million(self) -> f64 {
        self.pico_per_token as f64 / 1_000_000.0
    }

    /// What that many tokens cost.
    pub fn of(self, tokens: Tokens) -> Usd {
        // The product of two u64 is below 2^128; only beyond 2^127 pico-dollars would it not fit.
        let pico = u128::from(self.pico_per_token) * u128::from(tokens.get());
        Usd::from_pico(i128::try_from(pico).unwrap_or(i128::MAX))
    }

    pub(super) fn scaled(self, thousandths: u64) -> Self {
        Self {
            pico_per_token: self.pico_per_token.saturating_mul(thousandths) / 1_000,
        }
    }
}

/// The five prices of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceSet {
    /// Prompt tokens outside any cache.
    pub input: Price,
    /// Tokens the model writes.
    pub output: Price,
    /// Writing to a cache that lives five minutes.
    pub write_5m: Price,
    /// Writing to a cache that lives one hour.
    pub write_1h: Price,
    /// Reading from a cache.
    pub read: Price,
}

impl PriceSet {
    /// What usage costs at these prices.
    pub fn cost(&self, usage: &TokenUsage) -> Usd {
        self.input.of(usage.input)
            + self.output.of(usage.output)
            + self.write_5m.of(usage.cache_write_5m)
            + self.write_1h.of(usage.cache_write_1h)
            + self.read.of(usage.cache_read)
    }
}

/// Prices for long prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongPrompt {
    /// Prompts longer than this pay these prices for the whole request.
    pub over: Tokens,
    /// The prices.
    pub prices: PriceSet,
}

/// How a request is served, where that has its own price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// As usual.
    Standard,
    /// Faster and dearer.
    Fast,
    /// Later and cheaper.
    Batch,
}

/// All prices of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// What applies unless something below does.
    pub standard: PriceSet,
    /// The step for long prompts, if the model has one.
    pub long_prompt: Option<LongPrompt>,
    /// Fast mode, if the model has one.
    pub fast: Option<PriceSet>,
    /// What a batch costs, in thousandths of the standard price.
    pub batch_thousandths: u32,
}

impl Prices {
    /// The standard prices of a request whose prompt has this length.
    pub fn for_prompt(&self, prompt: Tokens) -> &PriceSet {
        match &self.long_prompt {
            Some(step) if prompt > step.over => &step.prices,
            _ => &self.standard,
        }
    }

    /// What **one** request cost at standard service.
    ///
    /// Where a model has a step for long prompts, price each request and add the money: added-up
    /// usage looks like one long prompt.
    pub fn cost(&self, usage: &TokenUsage) -> Usd {
        self.for_prompt(usage.prompt()).cost(usage)
    }

    /// What one request cost as served; `None` if this service has no known price.
    pub fn cost_as(&self, service: Service, usage: &TokenUsage) -> Option<Usd> {
        match service {
            Service::Standard => Some(self.cost(usage)),
            Service::Fast => self.fast.map(|prices| prices.cost(usage)),
            Service::Batch => {
                let pico = self.cost(usage).pico();
                Some(Usd::from_pico(
                    pico.saturating_mul(i128::from(self.batch_thousandths)) / 1_000,
                ))
            }
        }
    }
}
