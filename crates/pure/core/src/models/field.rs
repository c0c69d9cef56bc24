//! Typed access to single values of a model file, with errors that name model and field.

use super::Ratio;
use super::parse::ModelTableError;
use super::price::Price;
use crate::units::Tokens;
use toml::{Table, Value};

/// Position of a value in the file. Every reader of a value carries one, so that each error can
/// name model and field.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) model: &'a str,
    /// Name of the inner table (`prices`, `long_prompt`, …); empty at the top level of a model.
    pub(super) group: &'static str,
}

impl Place<'_> {
    fn field(self, field: &str) -> String {
        if self.group.is_empty() {
            field.to_owned()
        } else {
            format!("{}.{field}", self.group)
        }
    }

    pub(super) fn wrong(self, field: &str, expected: &'static str) -> ModelTableError {
        ModelTableError::WrongValue {
            model: self.model.to_owned(),
            field: self.field(field),
            expected,
        }
    }

    pub(super) fn unknown(self, field: &str) -> ModelTableError {
        ModelTableError::UnknownField {
            model: self.model.to_owned(),
            field: self.field(field),
        }
    }

    pub(super) fn missing(self, field: &str) -> ModelTableError {
        ModelTableError::MissingField {
            model: self.model.to_owned(),
            field: self.field(field),
        }
    }

    pub(super) fn table<'v>(
        self,
        field: &str,
        value: &'v Value,
    ) -> Result<&'v Table, ModelTableError> {
        value.as_table().ok_or_else(|| self.wrong(field, "a table"))
    }

    pub(super) fn flag(self, field: &str, value: &Value) -> Result<bool, ModelTableError> {
        value
            .as_bool()
            .ok_or_else(|| self.wrong(field, "true or false"))
    }

    pub(super) fn text<'v>(
        self,
        field: &str,
        value: &'v Value,
    ) -> Result<&'v str, ModelTableError> {
        value
            // An empty `thinking_family` would match every other empty one.
            .as_str()
            .filter(|text| !text.is_empty())
            .ok_or_else(|| self.wrong(field, "a text"))
    }

    pub(super) fn texts(self, field: &str, value: &Value) -> Result<Vec<String>, ModelTableError> {
        let wrong = || self.wrong(field, "a list of texts");
        let list = value.as_array().ok_or_else(wrong)?;
        list.iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
            .collect()
    }

    pub(super) fn tokens(self, field: &str, value: &Value) -> Result<Tokens, ModelTableError> {
        let number = value
            .as_integer()
            .and_then(|number| u64::try_from(number).ok());
        number
            .filter(|number| *number > 0)
            .map(Tokens)
            .ok_or_else(|| self.wrong(field, "a number of tokens above 0"))
    }

    pub(super) fn price(self, field: &str, value: &Value) -> Result<Price, ModelTableError> {
        const EXPECTED: &str =
            "dollars per million tokens, at least 0, with at most six decimal places";
        let micros = self.scaled(field, value, 1_000_000.0, EXPECTED, u32::MAX)?;
        Ok(Price::from_micros_per_million(u64::from(micros)))
    }

    pub(super) fn ratio(self, field: &str, value: &Value) -> Result<Ratio, ModelTableError> {
        const EXPECTED: &str = "bytes per token, from 0.01 to 100, with at most two decimal places";
        let hundredths = self.scaled(field, value, 100.0, EXPECTED, 10_000)?;
        if hundredths == 0 {
            Err(self.wrong(field, EXPECTED))
        } else {
            Ok(Ratio { hundredths })
        }
    }

    /// Decimal number as a whole number of steps of `1 / scale`; rejects values between two steps,
    /// so that a price with too many decimals is reported instead of rounded.
    pub(super) fn scaled(
        self,
        field: &str,
        value: &Value,
        scale: f64,
        expected: &'static str,
        max: u32,
    ) -> Result<u32, ModelTableError> {
        let number = match value {
            Value::Float(number) => Some(*number),
            Value::Integer(number) => i32::try_from(*number).ok().map(f64::from),
            _ => None,
        };
        let steps = number.map(|number| number * scale).filter(|steps| {
            // Decimal fractions are inexact in binary: 0.07 times 100 is not 7. A thousandth of a
            // step is far above that error and far below a real digit.
            (steps - steps.round()).abs() < 1e-3 && *steps >= 0.0 && steps.round() <= f64::from(max)
        });
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be in 0..=max just above"
        )]
        steps
            .map(|steps| steps.round() as u32)
            .ok_or_else(|| self.wrong(field, expected))
    }
}
