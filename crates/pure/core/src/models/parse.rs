//! Parser of the data file, and of a user's file on top of it, field by field.
//!
//! Strict: a misspelt field or a price of the wrong type is an error, because a wrong bill would
//! otherwise go unnoticed. Every error names the model and the field.

use super::field::Place;
use super::price::{LongPrompt, Price, PriceSet, Prices};
use super::{
    BytesPerToken, Effort, HiddenToolTokens, Matched, ModelInfo, ModelTable, Names,
    ThinkingBinding, Tokenizer, UNKNOWN_MODEL,
};
use crate::place::line_column;
use crate::units::Tokens;
use toml::{Table, Value};

/// Newest version of the file format that this program reads.
const VERSION: i64 = 1;
/// Default price of a batch, in thousandths: half, as the vendor lists it for all its models.
const BATCH_THOUSANDTHS: u32 = 500;

/// Reason why a model file was rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelTableError {
    /// Text that is not TOML.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error in characters, from 1.
        column: usize,
        /// Message of the TOML parser.
        message: String,
    },
    /// File written for a newer program.
    #[error(
        "version {found} of the model file is newer than {VERSION}, the newest this program reads"
    )]
    Version {
        /// Version number in the file.
        found: i64,
    },
    /// Top-level name that the format does not define.
    #[error("unknown section `{section}`; known are version, tokenizers and models")]
    UnknownSection {
        /// Name as written in the file.
        section: String,
    },
    /// Field that the format does not define.
    #[error("model `{model}`: unknown field `{field}`")]
    UnknownField {
        /// Model id, or `tokenizers.<generation>`.
        model: String,
        /// Field name, with its inner table where it has one.
        field: String,
    },
    /// Field with a value of the wrong type or out of range.
    #[error("model `{model}`: `{field}` must be {expected}")]
    WrongValue {
        /// Model id, or `tokenizers.<generation>`.
        model: String,
        /// Field name, with its inner table where it has one.
        field: String,
        /// Description of a valid value.
        expected: &'static str,
    },
    /// Field that is required by others that were given.
    #[error("model `{model}`: `{field}` is missing")]
    MissingField {
        /// Id of the model.
        model: String,
        /// Name of the missing field.
        field: String,
    },
    /// Name claimed by two models.
    #[error("model `{model}`: the name `{name}` already belongs to `{other}`")]
    NameTaken {
        /// Id of the model that was read later.
        model: String,
        /// Name or alias that both have.
        name: String,
        /// Id of the model that has the name already.
        other: String,
    },
}

impl ModelTable {
    /// This table with the entries of a file on top.
    pub(super) fn merged(mut self, text: &str) -> Result<Self, ModelTableError> {
        let file: Table = text.parse().map_err(|error: toml::de::Error| {
            let (line, column) = line_column(text, error.span().map_or(0, |span| span.start));
            ModelTableError::Syntax {
                line,
                column,
                message: error.message().to_owned(),
            }
        })?;
        for (section, value) in &file {
            match (section.as_str(), value) {
                // Fields of a newer version may mean something else, and a guess would give wrong
                // bills.
                ("version", Value::Integer(found)) if *found > VERSION => {
                    return Err(ModelTableError::Version { found: *found });
                }
                ("version", Value::Integer(_)) => {}
                ("tokenizers", Value::Table(generations)) => self.merge_tokenizers(generations)?,
                ("models", Value::Table(models)) => self.merge_models(models)?,
                _ => {
                    return Err(ModelTableError::UnknownSection {
                        section: section.clone(),
                    });
                }
            }
        }
        self.finish()
    }

    fn merge_tokenizers(&mut self, generations: &Table) -> Result<(), ModelTableError> {
        for (name, value) in generations {
            let at = Place {
                model: &format!("tokenizers.{name}"),
                group: "",
            };
            let generation = tokenizer(at, name)?;
            // A file may set one ratio of a generation and keep the other.
            let ratios = self.tokenizers.entry(generation).or_default();
            for (field, value) in at.table(name, value)? {
                match field.as_str() {
                    "text_bytes_per_token" => ratios.text = at.ratio(field, value)?,
                    "json_bytes_per_token" => ratios.json = at.ratio(field, value)?,
                    _ => return Err(at.unknown(field)),
                }
            }
        }
        Ok(())
    }

    fn merge_models(&mut self, models: &Table) -> Result<(), ModelTableError> {
        for (id, value) in models {
            let at = Place {
                model: id,
                group: "",
            };
            let fields = at.table(id, value)?;
            // Kept apart from the listed models: it must neither be matched by name nor listed.
            let info = if id == UNKNOWN_MODEL {
                &mut self.unknown
            } else {
                self.models.entry(id.clone()).or_insert_with(|| ModelInfo {
                    id: id.clone(),
                    // A family of its own: thinking is only passed on where the file says it can be
                    // read.
                    thinking_family: id.clone(),
                    ..ModelInfo::fallback()
                })
            };
            info.merge(at, fields)?;
        }
        Ok(())
    }

    /// Computes derived values: estimates and the index of names. Runs after all merges, because a
    /// file may change a tokenizer after a model that uses it.
    fn finish(mut self) -> Result<Self, ModelTableError> {
        for info in self
            .models
            .values_mut()
            .chain(std::iter::once(&mut self.unknown))
        {
            let generation = self
                .tokenizers
                .get(&info.tokenizer)
                .copied()
                .unwrap_or_default();
            info.bytes_per_token = BytesPerToken {
                text: info.own_text_ratio.unwrap_or(generation.text),
                json: info.own_json_ratio.unwrap_or(generation.json),
            };
        }
        // Rebuilt as a whole, since a merge may have removed an alias.
        self.names = Names::default();
        for info in self.models.values() {
            let names = std::iter::once((&info.id, Matched::Id))
                .chain(info.aliases.iter().map(|alias| (alias, Matched::Alias)));
            for (name, matched) in names {
                if let Some(other) = self.names.add(name, &info.id, matched) {
                    return Err(ModelTableError::NameTaken {
                        model: info.id.clone(),
                        name: name.clone(),
                        other,
                    });
                }
            }
        }
        Ok(self)
    }
}

impl ModelInfo {
    fn merge(&mut self, at: Place<'_>, fields: &Table) -> Result<(), ModelTableError> {
        for (field, value) in fields {
            match field.as_str() {
                "aliases" => self.aliases = at.texts(field, value)?,
                "window" => self.window = at.tokens(field, value)?,
                "max_output" => self.max_output = at.tokens(field, value)?,
                "cache_minimum" => self.cache_minimum = at.tokens(field, value)?,
                "tokenizer" => self.tokenizer = tokenizer(at, at.text(field, value)?)?,
                "text_bytes_per_token" => self.own_text_ratio = Some(at.ratio(field, value)?),
                "json_bytes_per_token" => self.own_json_ratio = Some(at.ratio(field, value)?),
                "thinking_binding" => self.thinking_binding = thinking_binding(at, field, value)?,
                "thinking_family" => at.text(field, value)?.clone_into(&mut self.thinking_family),
                "strips_prior_thinking" => self.strips_prior_thinking = at.flag(field, value)?,
                "mid_conversation_system" => {
                    self.mid_conversation_system = at.flag(field, value)?;
                }
                "default_effort" => self.default_effort = Some(effort(at, field, value)?),
                "hidden_tool_tokens" => {
                    self.hidden_tool_tokens = Some(hidden_tool_tokens(
                        at,
                        "hidden_tool_tokens",
                        value,
                        self.hidden_tool_tokens,
                    )?);
                }
                "context_awareness" => self.context_awareness = at.flag(field, value)?,
                "retired" => self.retired = at.flag(field, value)?,
                // Read by `merge_prices` below.
                "prices" | "long_prompt" | "fast" | "batch_factor" => {}
                _ => return Err(at.unknown(field)),
            }
        }
        self.merge_prices(at, fields)
    }

    /// Merges the prices. Separate from the other fields because steps and tiers require standard
    /// prices, and the members of a TOML table come in no useful order.
    fn merge_prices(&mut self, at: Place<'_>, fields: &Table) -> Result<(), ModelTableError> {
        if let Some(value) = fields.get("prices") {
            let standard = price_set(
                at,
                "prices",
                value,
                self.prices.map(|prices| prices.standard),
            )?;
            self.prices = Some(match self.prices {
                Some(prices) => Prices { standard, ..prices },
                None => Prices {
                    standard,
                    long_prompt: None,
                    fast: None,
                    batch_thousandths: BATCH_THOUSANDTHS,
                },
            });
        }
        // Without standard prices these would price some requests of a model and not others.
        let dependent = ["long_prompt", "fast", "batch_factor"]
            .iter()
            .find(|field| fields.contains_key(**field));
        let Some(prices) = &mut self.prices else {
            return match dependent {
                Some(_) => Err(at.missing("prices")),
                None => Ok(()),
            };
        };
        if let Some(value) = fields.get("long_prompt") {
            let before = prices.long_prompt;
            let inner = Place {
                group: "long_prompt",
                ..at
            };
            let over = match (at.table("long_prompt", value)?.get("over"), before) {
                (Some(over), _) => inner.tokens("over", over)?,
                // A user's file may change the prices of a step and keep its threshold.
                (None, Some(before)) => before.over,
                (None, None) => return Err(inner.missing("over")),
            };
            let set = price_set(at, "long_prompt", value, before.map(|step| step.prices))?;
            prices.long_prompt = Some(LongPrompt { over, prices: set });
        }
        if let Some(value) = fields.get("fast") {
            prices.fast = Some(price_set(at, "fast", value, prices.fast)?);
        }
        if let Some(value) = fields.get("batch_factor") {
            prices.batch_thousandths = at.scaled(
                "batch_factor",
                value,
                1_000.0,
                "a number from 0 to 1",
                1_000,
            )?;
        }
        Ok(())
    }
}

/// Parses a price set over an older one. Without one, cache prices are derived from the input price
/// by the vendor's multipliers: 1.25 for a five-minute write, 2 for an hour, 0.1 for a read.
fn price_set(
    at: Place<'_>,
    group: &'static str,
    value: &Value,
    before: Option<PriceSet>,
) -> Result<PriceSet, ModelTableError> {
    let fields = at.table(group, value)?;
    let at = Place { group, ..at };
    let is_price =
        |field: &str| matches!(field, "input" | "output" | "write_5m" | "write_1h" | "read");
    let is_step = |field: &str| group == "long_prompt" && field == "over";
    if let Some(field) = fields
        .keys()
        .find(|field| !is_price(field) && !is_step(field))
    {
        return Err(at.unknown(field));
    }
    let given = |field: &str| {
        fields
            .get(field)
            .map(|value| at.price(field, value))
            .transpose()
    };
    let pick = |field: &str, old: Option<Price>| match given(field)?.or(old) {
        Some(price) => Ok(price),
        None => Err(at.missing(field)),
    };
    let input = pick("input", before.map(|set| set.input))?;
    Ok(PriceSet {
        input,
        output: pick("output", before.map(|set| set.output))?,
        write_5m: pick(
            "write_5m",
            Some(before.map_or(input.scaled(1_250), |set| set.write_5m)),
        )?,
        write_1h: pick(
            "write_1h",
            Some(before.map_or(input.scaled(2_000), |set| set.write_1h)),
        )?,
        read: pick(
            "read",
            Some(before.map_or(input.scaled(100), |set| set.read)),
        )?,
    })
}

fn tokenizer(at: Place<'_>, name: &str) -> Result<Tokenizer, ModelTableError> {
    match name {
        "old" => Ok(Tokenizer::Old),
        "new" => Ok(Tokenizer::New),
        _ => Err(at.wrong("tokenizer", "\"old\" or \"new\"")),
    }
}

fn thinking_binding(
    at: Place<'_>,
    field: &str,
    value: &Value,
) -> Result<ThinkingBinding, ModelTableError> {
    match at.text(field, value)? {
        "none" => Ok(ThinkingBinding::None),
        "prefix" => Ok(ThinkingBinding::Prefix),
        "account" => Ok(ThinkingBinding::Account),
        _ => Err(at.wrong(field, "\"none\", \"prefix\" or \"account\"")),
    }
}

fn effort(at: Place<'_>, field: &str, value: &Value) -> Result<Effort, ModelTableError> {
    match at.text(field, value)? {
        "low" => Ok(Effort::Low),
        "medium" => Ok(Effort::Medium),
        "high" => Ok(Effort::High),
        "max" => Ok(Effort::Max),
        _ => Err(at.wrong(field, "\"low\", \"medium\", \"high\" or \"max\"")),
    }
}

fn hidden_tool_tokens(
    at: Place<'_>,
    group: &'static str,
    value: &Value,
    before: Option<HiddenToolTokens>,
) -> Result<HiddenToolTokens, ModelTableError> {
    let fields = at.table(group, value)?;
    let at = Place { group, ..at };
    if let Some(field) = fields
        .keys()
        .find(|field| !matches!(field.as_str(), "auto" | "any"))
    {
        return Err(at.unknown(field));
    }
    let pick = |field: &str, old: Option<Tokens>| match (fields.get(field), old) {
        (Some(value), _) => at.tokens(field, value),
        (None, Some(old)) => Ok(old),
        (None, None) => Err(at.missing(field)),
    };
    Ok(HiddenToolTokens {
        auto: pick("auto", before.map(|tokens| tokens.auto))?,
        any: pick("any", before.map(|tokens| tokens.any))?,
    })
}
