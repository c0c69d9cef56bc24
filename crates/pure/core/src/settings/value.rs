//! Values of settings: forms, display, and what stays hidden.

use crate::units::Tokens;
use crate::usage::Usd;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// The value of a setting, of the kind its row in the table asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// On or off, for switches.
    Flag(bool),
    /// A whole number, in the setting's unit.
    Count(u64),
    /// A share of a whole.
    Percent(Percent),
    /// A time span, to the millisecond.
    Duration(Duration),
    /// An amount in US dollars.
    Money(Usd),
    /// A text, a path, or one of the names of a choice.
    Text(String),
    /// Several texts, in order.
    List(Vec<String>),
    /// Structured data that the user of the setting understands.
    Structure(toml::Value),
    /// A text that is never shown.
    Secret(Secret),
}

impl fmt::Display for Value {
    /// As one would write it in a file, except that what may hold a secret stays hidden: secrets,
    /// the user part of an address, and all but the top-level names of structured data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Percent(percent) => percent.fmt(f),
            Self::Duration(span) => f.write_str(&show_duration(*span)),
            Self::Money(amount) => f.write_str(&amount.to_decimal()),
            Self::Text(text) => write!(f, "{}", toml::Value::from(without_user(text).as_ref())),
            Self::List(list) => write!(f, "{}", toml::Value::from(list.clone())),
            Self::Structure(toml::Value::Table(table)) => {
                let names: Vec<&str> = table.keys().map(String::as_str).collect();
                // Names only: commands and addresses inside may carry keys.
                write!(f, "table of {}: {}", names.len(), names.join(", "))
            }
            Self::Structure(toml::Value::Array(list)) => write!(f, "list of {}", list.len()),
            Self::Structure(_) => f.write_str("structured data"),
            Self::Secret(_) => f.write_str("set (hidden)"),
        }
    }
}

impl Serialize for Value {
    /// For programs that read this output: typed where that loses nothing, and with the same parts
    /// hidden as on screen. A hidden value is the text that is shown for it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(flag) => flag.serialize(serializer),
            Self::Count(count) => count.serialize(serializer),
            Self::Percent(percent) => percent.as_f64().serialize(serializer),
            Self::Money(amount) => amount.serialize(serializer),
            Self::Text(text) => without_user(text).serialize(serializer),
            Self::List(list) => list.serialize(serializer),
            Self::Duration(_) | Self::Structure(_) | Self::Secret(_) => {
                serializer.collect_str(self)
            }
        }
    }
}

/// An address without the name and password it may begin with.
fn without_user(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Cow::Borrowed(text);
    };
    // Only an `@` before the path separates user and host; one behind it is part of the path.
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    match authority.rfind('@') {
        Some(at) => Cow::Owned(format!("{scheme}://(hidden){}", &rest[at..])),
        None => Cow::Borrowed(text),
    }
}

/// A text that must not be shown: neither `Debug` nor `Display` of a [`Value`] reveals it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text, which only `reveal` gives back.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// A share above 0 and up to 100 per cent, exact to a ten-thousandth of a per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent {
    steps: u32,
}

impl Percent {
    /// Parts of a per cent that are kept: four decimals, more than any file writes.
    const STEPS_PER_PERCENT: u32 = 10_000;
    const STEPS_MAX: u32 = 100 * Self::STEPS_PER_PERCENT;

    /// The whole: 100 per cent.
    pub(crate) const FULL: Self = Self {
        steps: Self::STEPS_MAX,
    };

    /// A whole number of per cent, brought into 1 to 100.
    pub const fn whole(percent: u8) -> Self {
        let percent = match percent {
            0 => 1,
            1..=100 => percent,
            _ => 100,
        };
        // `as` because `From` is not const; the widening cannot lose anything.
        Self {
            steps: percent as u32 * Self::STEPS_PER_PERCENT,
        }
    }

    /// A number of per cent; `None` unless it is above 0 and at most 100.
    pub fn new(percent: f64) -> Option<Self> {
        // Written so that NaN fails as well.
        if !(percent > 0.0 && percent <= 100.0) {
            return None;
        }
        let steps = (percent * f64::from(Self::STEPS_PER_PERCENT)).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and 1,000,000"
        )]
        let steps = (steps as u32).clamp(1, Self::STEPS_MAX);
        Some(Self { steps })
    }

    /// The share as a number from 0 to 100.
    pub fn as_f64(self) -> f64 {
        f64::from(self.steps) / f64::from(Self::STEPS_PER_PERCENT)
    }

    /// This share of a number of tokens, rounded down.
    pub fn of(self, tokens: Tokens) -> Tokens {
        // Wide enough that no count of tokens can overflow before the division.
        let share = u128::from(tokens.get()) * u128::from(self.steps) / u128::from(Self::STEPS_MAX);
        Tokens(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

impl Default for Percent {
    fn default() -> Self {
        Self::FULL
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_f64().fmt(f)
    }
}

/// Units of time spans, longest first, in milliseconds.
const TIME_UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Reads a whole number as people write it: `200000`, `200_000`, `200,000`, `200k`, `1m`. Numbers are
/// copied from settings files and from screens, and windows are named in thousands.
pub fn parse_count(text: &str) -> Option<u64> {
    let plain = text.trim().replace(['_', ','], "").to_ascii_lowercase();
    let (digits, factor) = match plain.strip_suffix('k') {
        Some(digits) => (digits, 1_000),
        None => plain
            .strip_suffix('m')
            .map_or((plain.as_str(), 1), |digits| (digits, 1_000_000)),
    };
    // `parse` takes a sign, which no count has.
    let number = Some(digits).filter(|digits| !digits.starts_with('+'))?;
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Reads `90`, `90s`, `5m`, `1h`, `250ms`, `2d`; a bare number is seconds.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = if unit.is_empty() {
        "s"
    } else {
        unit.trim_start()
    };
    // Compared whole: `m` is minutes and `ms` milliseconds.
    let (_, factor) = TIME_UNITS.iter().find(|(name, _)| *name == unit)?;
    Some(Duration::from_millis(
        // An overflow is a wrong value, not a short time.
        number.parse::<u64>().ok()?.checked_mul(*factor)?,
    ))
}

/// The span in the longest unit that is exact.
fn show_duration(span: Duration) -> String {
    let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    // Zero is a multiple of every unit and would be shown as days.
    if millis == 0 {
        return "0s".to_owned();
    }
    TIME_UNITS
        .iter()
        .find(|(_, factor)| millis.is_multiple_of(*factor))
        .map_or_else(
            || format!("{millis}ms"),
            |(unit, factor)| format!("{}{unit}", millis / factor),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn durations_read_and_show_in_units() {
        let cases = [
            ("90", "90s"),
            ("60s", "1m"),
            ("60 m", "1h"),
            ("24h", "1d"),
            ("1500ms", "1500ms"),
            ("0", "0s"),
        ];
        for (text, shown) in cases {
            assert_eq!(
                show_duration(parse_duration(text).unwrap()),
                shown,
                "{text}"
            );
        }
        for text in [
            "",
            "h",
            "-5s",
            "1.5h",
            "5 weeks",
            "99999999999999999999s",
            "9999999999999999d",
        ] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn percentages_are_exact() {
        assert_eq!(
            Percent::new(33.3).unwrap().of(Tokens(180_000)),
            Tokens(59_940)
        );
        assert_eq!(Percent::new(0.01).unwrap().of(Tokens(180_000)), Tokens(18));
        assert_eq!(Percent::whole(50).of(Tokens(3)), Tokens(1));
        assert_eq!(Percent::FULL.of(Tokens(u64::MAX)), Tokens(u64::MAX));
        assert_eq!(Percent::new(92.5).unwrap().to_string(), "92.5");
        for number in [0.0, -1.0, 100.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Percent::new(number), None, "{number}");
        }
    }

    #[test]
    fn values_serialise_as_they_are_and_hide_what_the_screen_hides() {
        let servers: toml::Table = "one = { token = \"sk-1\" }".parse().unwrap();
        let values = [
            Value::Flag(true),
            Value::Count(7),
            Value::Percent(Percent::new(92.5).unwrap()),
            Value::Duration(Duration::from_mins(5)),
            Value::Money(Usd::from_cents(150)),
            Value::Text("http://me:pass@host".to_owned()),
            Value::List(vec!["a".to_owned()]),
            Value::Structure(toml::Value::Table(servers)),
            Value::Secret(Secret::new("sk-123")),
        ];
        assert_eq!(
            serde_json::to_string(&values).unwrap(),
            r#"[true,7,92.5,"5m","1.5","http://(hidden)@host",["a"],"table of 1: one","set (hidden)"]"#
        );
    }

    #[test]
    fn a_secret_shows_nothing() {
        let value = Value::Secret(Secret::new("sk-123"));
        assert!(!format!("{value} {value:?}").contains("123"));
        assert_eq!(value.to_string(), "set (hidden)");
        let proxy = Value::Text("http://me:pass@host:8080/a@b".to_owned());
        assert_eq!(proxy.to_string(), "\"http://(hidden)@host:8080/a@b\"");
        let plain = Value::Text("http://host/a@b".to_owned());
        assert_eq!(plain.to_string(), "\"http://host/a@b\"");
        let servers: toml::Table = "one = { token = \"sk-1\" }\ntwo = {}".parse().unwrap();
        let servers = Value::Structure(toml::Value::Table(servers));
        assert_eq!(servers.to_string(), "table of 2: one, two");
    }
}
