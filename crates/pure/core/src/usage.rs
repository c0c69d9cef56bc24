//! Token usage of a request, and money.
//!
//! Model: a provider bills five kinds of tokens, each at its own price. [`TokenUsage`] keeps them
//! apart; [`Usd`] is a whole number of pico-dollars, the finest step of any list price per token,
//! so that a sum over a million responses has no rounding error.
//!
//! Not here: prices (see [`crate::models`]) and the parsing of responses (`record/read.rs`).

use crate::units::Tokens;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};
use std::str::FromStr;

/// Tokens of one response, or of many added up, by billing category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Prompt tokens neither read from nor written to a cache; the provider's `input_tokens`.
    pub input: Tokens,
    /// Prompt tokens read from a cache.
    pub cache_read: Tokens,
    /// Prompt tokens written to a cache that lives five minutes.
    pub cache_write_5m: Tokens,
    /// Prompt tokens written to a cache that lives one hour.
    pub cache_write_1h: Tokens,
    /// Tokens the model wrote, thinking included.
    pub output: Tokens,
}

impl TokenUsage {
    /// Length of the whole prompt, regardless of how it was billed.
    pub fn prompt(&self) -> Tokens {
        self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h
    }

    /// Prompt and answer: the length of the conversation after this response.
    pub fn total(&self) -> Tokens {
        self.prompt() + self.output
    }

    /// True if these figures replace others that were reported for the same response. Figures grow
    /// while a response arrives; a copy of its lines may have been made before the end.
    pub fn supersedes(&self, known: &Self) -> bool {
        (self.output, self.total()) >= (known.output, known.total())
    }
}

impl Add for TokenUsage {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            cache_read: self.cache_read + other.cache_read,
            cache_write_5m: self.cache_write_5m + other.cache_write_5m,
            cache_write_1h: self.cache_write_1h + other.cache_write_1h,
            output: self.output + other.output,
        }
    }
}

impl AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for TokenUsage {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

impl<'a> Sum<&'a Self> for TokenUsage {
    fn sum<I: Iterator<Item = &'a Self>>(iter: I) -> Self {
        iter.copied().sum()
    }
}

/// A list price of $0.000001 per million tokens is one pico-dollar per token.
const PICO_PER_DOLLAR: i128 = 1_000_000_000_000;
/// Decimal places of a pico-dollar; has to match [`PICO_PER_DOLLAR`].
const PICO_DIGITS: usize = 12;

/// Exact amount of US dollars; negative for differences.
///
/// Serialised as a decimal string such as `"0.0123"`: JSON readers hold numbers as doubles, which
/// would round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd {
    pico: i128,
}

impl Usd {
    /// No money at all.
    pub const ZERO: Self = Self { pico: 0 };

    /// Amount in pico-dollars (10^-12 dollars).
    pub const fn from_pico(pico: i128) -> Self {
        Self { pico }
    }

    /// An amount in whole cents.
    pub(crate) const fn from_cents(cents: i64) -> Self {
        // `as` because `From` is not const; the widening cannot lose anything.
        Self {
            pico: cents as i128 * (PICO_PER_DOLLAR / 100),
        }
    }

    /// The amount in pico-dollars.
    pub const fn pico(self) -> i128 {
        self.pico
    }

    /// Approximate amount in dollars, for charts and ratios; sums of it accumulate errors.
    #[expect(clippy::cast_precision_loss, reason = "documented as approximate")]
    pub fn as_f64(self) -> f64 {
        self.pico as f64 / PICO_PER_DOLLAR as f64
    }

    /// Exact decimal form, without a currency sign and without trailing zeros.
    pub fn to_decimal(self) -> String {
        let magnitude = self.pico.unsigned_abs();
        let unit = PICO_PER_DOLLAR.unsigned_abs();
        let sign = if self.pico < 0 { "-" } else { "" };
        let fraction = format!("{:0PICO_DIGITS$}", magnitude % unit);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() {
            format!("{sign}{}", magnitude / unit)
        } else {
            format!("{sign}{}.{fraction}", magnitude / unit)
        }
    }
}

impl fmt::Display for Usd {
    /// Rounded for reading: `$12.34`, `$0.0123`, `$0.000042`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.pico.unsigned_abs();
        let unit = PICO_PER_DOLLAR.unsigned_abs();
        let sign = if self.pico < 0 { "-" } else { "" };
        // Fewer dollars get more digits: a request costs fractions of a cent, and `$0.00` says
        // nothing.
        let digits: usize = if magnitude == 0 || magnitude >= unit {
            2
        } else if magnitude >= unit / 100 {
            4
        } else {
            6
        };
        let scale = 10_u128.pow(u32::try_from(digits).unwrap_or(2));
        let step = unit / scale;
        let rounded = magnitude.saturating_add(step / 2) / step;
        // A positive amount must not be shown as zero.
        if rounded == 0 && magnitude > 0 {
            return write!(f, "{sign}<$0.000001");
        }
        write!(f, "{sign}${}.{:0digits$}", rounded / scale, rounded % scale)
    }
}

/// Text that is not an amount of dollars with at most twelve decimal places.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an amount of dollars such as 1.50")]
pub struct UsdParseError {
    /// Text as it was given.
    pub text: String,
}

impl FromStr for Usd {
    type Err = UsdParseError;

    fn from_str(text: &str) -> Result<Self, UsdParseError> {
        parse_pico(text.trim())
            .map(Self::from_pico)
            .ok_or_else(|| UsdParseError {
                text: text.to_owned(),
            })
    }
}

fn parse_pico(text: &str) -> Option<i128> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let text = text.strip_prefix('$').unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty()
        || !all_digits(whole)
        || !all_digits(fraction)
        // More digits would have to be rounded, and amounts are exact.
        || fraction.len() > PICO_DIGITS
    {
        return None;
    }
    let whole: i128 = whole.parse().ok()?;
    let fraction: i128 = format!("{fraction:0<PICO_DIGITS$}").parse().ok()?;
    let pico = whole.checked_mul(PICO_PER_DOLLAR)?.checked_add(fraction)?;
    Some(if negative { -pico } else { pico })
}

impl Serialize for Usd {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_decimal())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            pico: self.pico.saturating_add(other.pico),
        }
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Usd {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self {
            pico: self.pico.saturating_sub(other.pico),
        }
    }
}

impl Neg for Usd {
    type Output = Self;
    fn neg(self) -> Self {
        Self {
            pico: self.pico.saturating_neg(),
        }
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn usage(n: u64) -> TokenUsage {
        TokenUsage {
            input: Tokens(n),
            cache_read: Tokens(10 * n),
            cache_write_5m: Tokens(100 * n),
            cache_write_1h: Tokens(1_000 * n),
            output: Tokens(10_000 * n),
        }
    }

    #[test]
    fn usage_adds_by_kind() {
        assert_eq!(usage(1).prompt(), Tokens(1_111));
        assert_eq!(usage(1).total(), Tokens(11_111));
        assert_eq!([usage(1), usage(2)].iter().sum::<TokenUsage>(), usage(3));
        let mut total = usage(4);
        total += usage(5);
        assert_eq!(total, usage(9));
    }

    #[test]
    fn money_is_shown_with_sensible_digits() {
        let cases = [
            ("0", "$0.00"),
            ("12.344", "$12.34"),
            ("12.345", "$12.35"),
            ("1", "$1.00"),
            ("0.99996", "$1.0000"),
            ("0.0123", "$0.0123"),
            ("0.01", "$0.0100"),
            ("0.0000424", "$0.000042"),
            ("0.0000004", "<$0.000001"),
            ("-0.5", "-$0.5000"),
            ("1234.5", "$1234.50"),
        ];
        for (amount, shown) in cases {
            assert_eq!(
                amount.parse::<Usd>().unwrap().to_string(),
                shown,
                "{amount}"
            );
        }
    }

    #[test]
    fn money_refuses_what_is_no_amount() {
        for text in [
            "",
            "-",
            "$",
            ".5",
            "1,5",
            "1e3",
            "abc",
            "1.2.3",
            "0.1234567890123",
        ] {
            assert!(text.parse::<Usd>().is_err(), "{text:?}");
        }
        assert_eq!("$1.50".parse::<Usd>().unwrap(), Usd::from_cents(150));
    }

    #[test]
    fn ten_cents_thirty_times_are_three_dollars() {
        let sum: Usd = std::iter::repeat_n(Usd::from_cents(10), 30).sum();
        assert_eq!(sum, Usd::from_cents(300));
        assert!((sum.as_f64() - 3.0).abs() < f64::EPSILON);
    }

    proptest! {
        #[test]
        fn money_round_trips_through_its_stored_form(pico in -10_i128.pow(24)..10_i128.pow(24)) {
            let amount = Usd::from_pico(pico);
            let stored = serde_json::to_string(&amount).unwrap();
            prop_assert_eq!(serde_json::from_str::<Usd>(&stored).unwrap(), amount);
        }
    }
}
