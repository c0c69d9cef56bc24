//! Kinds of settings: the values each accepts, from a file or from a text.

use super::value::{Percent, Secret, Value, parse_count, parse_duration};
use std::fmt;

/// Kind of value that a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// On or off: `true` or `false`, and words for them.
    Flag,
    /// A whole number within bounds.
    Count {
        /// Smallest number that is accepted.
        min: u64,
        /// Largest number that is accepted.
        max: u64,
    },
    /// A share above 0 and up to 100.
    Percent,
    /// A time span such as `90s`; a bare number is seconds.
    Duration,
    /// An amount in US dollars.
    Money,
    /// A text or path, never empty.
    Text,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// Several texts; in a variable, separated by commas.
    List,
    /// Structured data, not looked into here.
    Structure,
    /// A text that is never shown.
    Secret,
}

impl Kind {
    /// Reads a value of a settings file.
    pub(super) fn read_toml(self, value: &toml::Value) -> Option<Value> {
        match (self, value) {
            (Self::Flag, toml::Value::Boolean(flag)) => Some(Value::Flag(*flag)),
            (Self::Count { .. }, toml::Value::Integer(number)) => {
                // A negative number is a wrong value, not a huge one.
                self.count(u64::try_from(*number).ok()?)
            }
            (Self::Percent, toml::Value::Integer(number)) => {
                Percent::new(f64::from(i32::try_from(*number).ok()?)).map(Value::Percent)
            }
            (Self::Percent, toml::Value::Float(number)) => {
                Percent::new(*number).map(Value::Percent)
            }
            // One rule for both ways to write it: the number is read as its text.
            (Self::Duration | Self::Money, toml::Value::Integer(number)) => {
                self.read_text(&number.to_string())
            }
            // `Display` of a float is its shortest decimal form: what stands in the file.
            (Self::Money, toml::Value::Float(number)) => self.read_text(&number.to_string()),
            (Self::List, toml::Value::Array(items)) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect::<Option<_>>().map(Value::List)
            }
            (Self::Structure, toml::Value::Table(_) | toml::Value::Array(_)) => {
                Some(Value::Structure(value.clone()))
            }
            (
                Self::Duration | Self::Money | Self::Text | Self::Choice(_) | Self::Secret,
                toml::Value::String(text),
            ) => self.read_text(text),
            _ => None,
        }
    }

    /// Reads a value of an environment variable or a flag.
    pub(super) fn read_text(self, text: &str) -> Option<Value> {
        let text = text.trim();
        match self {
            Self::Flag => parse_flag(text).map(Value::Flag),
            Self::Count { .. } => self.count(parse_count(text)?),
            Self::Percent => {
                Percent::new(text.trim_end_matches('%').parse().ok()?).map(Value::Percent)
            }
            Self::Duration => parse_duration(text).map(Value::Duration),
            Self::Money => text
                .parse()
                .ok()
                .filter(|amount| *amount >= crate::usage::Usd::ZERO)
                .map(Value::Money),
            Self::Text => (!text.is_empty()).then(|| Value::Text(text.to_owned())),
            Self::Choice(names) => names
                .iter()
                .find(|name| **name == text)
                .map(|name| Value::Text((*name).to_owned())),
            // Items with a comma in them can only be written as TOML.
            Self::List if text.starts_with('[') => self.read_toml(&parse_toml_value(text)?),
            Self::List => {
                let items = text
                    .split(',')
                    .map(str::trim)
                    .filter(|item| !item.is_empty());
                Some(Value::List(items.map(str::to_owned).collect()))
            }
            Self::Structure => self.read_toml(&parse_toml_value(text)?),
            Self::Secret => (!text.is_empty()).then(|| Value::Secret(Secret::new(text))),
        }
    }

    fn count(self, number: u64) -> Option<Value> {
        match self {
            Self::Count { min, max } if (min..=max).contains(&number) => Some(Value::Count(number)),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    /// Instruction for writing a value, for the documentation and for messages about a wrong one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("true or false"),
            Self::Count {
                min: 0,
                max: u64::MAX,
            } => f.write_str("a whole number"),
            Self::Count { min, max: u64::MAX } => write!(f, "a whole number from {min}"),
            Self::Count { min, max } => write!(f, "a whole number from {min} to {max}"),
            Self::Percent => f.write_str("a number above 0 and up to 100"),
            Self::Duration => f.write_str("a time span such as \"90s\", \"5m\" or \"1h\""),
            Self::Money => f.write_str("an amount of dollars such as 1.50"),
            Self::Text => f.write_str("a text"),
            Self::Choice(names) => {
                let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
                write!(f, "one of {}", quoted.join(", "))
            }
            Self::List => f.write_str("a list of texts"),
            Self::Structure => f.write_str("a table or a list"),
            Self::Secret => f.write_str("a text, never shown"),
        }
    }
}

/// On and off in the words of people and scripts; case-insensitive.
pub(super) fn parse_flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn parse_toml_value(text: &str) -> Option<toml::Value> {
    let document: toml::Table = format!("value = {text}").parse().ok()?;
    // More than one key means the text held a line break and then something else.
    if document.len() == 1 {
        document.get("value").cloned()
    } else {
        None
    }
}
