//! Prices relative to uncached input, and which of them apply.
//!
//! Not here: money. Decisions compare costs with each other, so the unit is the price of one token
//! of uncached input.

use super::figure;
use dormouse_core::models::ModelInfo;
use dormouse_core::settings::CacheTtl;
use dormouse_core::units::Tokens;
use dormouse_core::usage::TokenUsage;

/// Prices of a model's tokens relative to uncached input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Reading from the cache; about 0.1.
    pub read: f64,
    /// Writing a cache entry that lives five minutes; about 1.25.
    pub write_5m: f64,
    /// Writing a cache entry that lives one hour; about 2.
    pub write_1h: f64,
    /// Output tokens; about 5.
    pub output: f64,
    /// Prompt length above which the whole request is charged a higher price.
    pub dearer_over: Option<Tokens>,
}

impl Prices {
    /// Prices of most models in the table; used for a model without prices.
    pub const USUAL: Self = Self {
        read: 0.1,
        write_5m: 1.25,
        write_1h: 2.0,
        output: 5.0,
        dearer_over: None,
    };

    /// Standard prices of a model, or [`Self::USUAL`] if the table has none.
    pub fn of(model: &ModelInfo) -> Self {
        let Some(prices) = &model.prices else {
            return Self::USUAL;
        };
        let set = &prices.standard;
        let input = set.input.per_million();
        // A free model has no ratios; its context still has a size to keep.
        if input <= 0.0 {
            return Self::USUAL;
        }
        Self {
            read: set.read.per_million() / input,
            write_5m: set.write_5m.per_million() / input,
            write_1h: set.write_1h.per_million() / input,
            output: set.output.per_million() / input,
            dearer_over: prices.long_prompt.map(|step| step.over),
        }
    }

    /// Prices in force if static prefix and messages are cached with these lifetimes.
    pub fn rates(&self, prefix: CacheTtl, messages: CacheTtl) -> Rates {
        let write = |ttl| match ttl {
            CacheTtl::OneHour => self.write_1h,
            CacheTtl::FiveMinutes => self.write_5m,
        };
        Rates {
            read: self.read,
            write: write(messages),
            write_prefix: write(prefix),
            output: self.output,
            dearer_over: self.dearer_over,
        }
    }
}

impl Default for Prices {
    fn default() -> Self {
        Self::USUAL
    }
}

/// Prices in force for the cache lifetimes chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Reading from the cache, `r`.
    pub read: f64,
    /// Writing messages to the cache, `w`.
    pub write: f64,
    /// Writing the static prefix to the cache.
    pub write_prefix: f64,
    /// Tokens the model writes, `o`.
    pub output: f64,
    /// Prompt length above which the whole request is charged a higher price.
    pub dearer_over: Option<Tokens>,
}

impl Rates {
    /// Cost of a usage in tokens of uncached input. All writes count as those of messages: the
    /// static prefix is written once.
    pub fn cost(&self, usage: &TokenUsage) -> f64 {
        figure(usage.input)
            + self.read * figure(usage.cache_read)
            + self.write * figure(usage.cache_write_5m + usage.cache_write_1h)
            + self.output * figure(usage.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::models::ModelTable;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_model_without_prices_has_the_usual_ones() {
        let table = ModelTable::builtin();
        let unknown = table.lookup("nobody-knows-this-one").info;
        assert_eq!(unknown.prices, None);
        assert_eq!(Prices::of(unknown), Prices::USUAL);
    }

    #[test]
    fn listed_prices_become_ratios_to_input() {
        let table = ModelTable::builtin();
        let info = table
            .iter()
            .find(|info| {
                info.prices
                    .is_some_and(|prices| prices.long_prompt.is_some())
            })
            .expect("a model with a step for long prompts");
        let prices = Prices::of(info);
        let set = info.prices.expect("priced").standard;
        let back = prices.output * set.input.per_million();
        assert!((back - set.output.per_million()).abs() < 1e-9);
        assert!(prices.read < 1.0 && prices.write_5m > 1.0);
        assert!(prices.dearer_over.is_some());
    }

    #[test]
    fn lifetimes_choose_the_write_price() {
        let rates = Prices::USUAL.rates(CacheTtl::OneHour, CacheTtl::FiveMinutes);
        assert!((rates.write_prefix - 2.0).abs() < 1e-9);
        assert!((rates.write - 1.25).abs() < 1e-9);
    }
}
