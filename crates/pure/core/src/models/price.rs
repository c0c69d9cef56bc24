//! Prices per token, and the cost of usage at them.

use crate::units::Tokens;
use crate::usage::{TokenUsage, Usd};

/// Price of one kind of token.
///
/// Stored in pico-dollars per token, which is the same number as millionths of a dollar per million
/// tokens: six decimal places of a list price are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Price {
    pico_per_token: u64,
}

impl Price {
    /// Price in millionths of a dollar per million tokens (2,500,000 is $2.50).
    pub(crate) const fn from_micros_per_million(micros: u64) -> Self {
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

    /// Cost of `tokens` tokens.
    pub fn of(self, tokens: Tokens) -> Usd {
        // The product of two u64 fits into u128; `Usd` is signed, so only 2^127 pico-dollars and
        // more would saturate.
        let pico = u128::from(self.pico_per_token) * u128::from(tokens.get());
        Usd::from_pico(i128::try_from(pico).unwrap_or(i128::MAX))
    }

    pub(super) fn scaled(self, thousandths: u64) -> Self {
        Self {
            pico_per_token: self.pico_per_token.saturating_mul(thousandths) / 1_000,
        }
    }
}

/// The five prices of a request, one per billing category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceSet {
    /// Price of prompt tokens outside any cache.
    pub input: Price,
    /// Price of tokens the model writes.
    pub output: Price,
    /// Price of writing to a cache that lives five minutes.
    pub write_5m: Price,
    /// Price of writing to a cache that lives one hour.
    pub write_1h: Price,
    /// Price of reading from a cache.
    pub read: Price,
}

impl PriceSet {
    /// Cost of usage at these prices.
    pub fn cost(&self, usage: &TokenUsage) -> Usd {
        self.input.of(usage.input)
            + self.output.of(usage.output)
            + self.write_5m.of(usage.cache_write_5m)
            + self.write_1h.of(usage.cache_write_1h)
            + self.read.of(usage.cache_read)
    }
}

/// Price step for long prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongPrompt {
    /// Prompt length in tokens beyond which these prices apply to the whole request.
    pub over: Tokens,
    /// Prices beyond the step.
    pub prices: PriceSet,
}

/// Service tier of a request, where tiers have their own prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Default tier, at list price.
    Standard,
    /// Faster answers at a higher price.
    Fast,
    /// Asynchronous batches at a lower price.
    Batch,
}

/// All prices of a model, by tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// Prices that apply unless a step or tier below does.
    pub standard: PriceSet,
    /// Step for long prompts, if the model has one.
    pub long_prompt: Option<LongPrompt>,
    /// Prices of the fast tier, if the model has one.
    pub fast: Option<PriceSet>,
    /// Price of a batch in thousandths of the standard price.
    pub batch_thousandths: u32,
}

impl Prices {
    /// The same prices where a cached token costs as much as any other.
    #[must_use]
    pub fn without_cache(&self) -> Self {
        self.each(|set| PriceSet {
            write_5m: set.input,
            write_1h: set.input,
            read: set.input,
            ..set
        })
    }

    /// The same prices where writing the cache costs what input costs.
    #[must_use]
    pub fn with_free_writes(&self) -> Self {
        self.each(|set| PriceSet {
            write_5m: set.input,
            write_1h: set.input,
            ..set
        })
    }

    fn each(&self, change: impl Fn(PriceSet) -> PriceSet) -> Self {
        Self {
            standard: change(self.standard),
            long_prompt: self.long_prompt.map(|step| LongPrompt {
                prices: change(step.prices),
                ..step
            }),
            fast: self.fast.map(&change),
            ..*self
        }
    }

    /// Standard prices for a prompt of this length.
    pub fn for_prompt(&self, prompt: Tokens) -> &PriceSet {
        match &self.long_prompt {
            Some(step) if prompt > step.over => &step.prices,
            _ => &self.standard,
        }
    }

    /// Cost of **one** request at the standard tier.
    ///
    /// With a step for long prompts, price each request and add the money: summed usage would look
    /// like one long prompt.
    pub fn cost(&self, usage: &TokenUsage) -> Usd {
        self.for_prompt(usage.prompt()).cost(usage)
    }

    /// Cost of one request at a service tier; `None` if the price of that tier is unknown.
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
