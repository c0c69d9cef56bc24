//! Rows of the settings table, and the builders they are written with.
//!
//! # Not here
//! The rows themselves: `table`. Values and their parsing: `value` and `kind`.

use super::choice::Choice;
use super::kind::Kind;
use super::value::{Percent, Secret, Value};
use crate::units::Tokens;
use crate::usage::Usd;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// One row of the settings table.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Dotted name. A last part in angle brackets stands for any name (`offload.limit.<tool>`).
    pub key: &'static str,
    pub(super) doc: &'static str,
    /// Kind of values it takes.
    pub kind: Kind,
    pub(super) default: DefaultValue,
    /// Unit of its number, for documentation.
    pub unit: Unit,
    /// Places that may set it.
    pub scope: Scope,
    /// Treatment of values from several layers.
    pub merge: Merge,
    /// Environment variables that set it, the first one that is set wins.
    pub env: &'static [EnvName],
    /// For switches: other switches that must be on or off for it to have an effect.
    pub needs: &'static [Need],
    /// Nothing reads it yet: its name is taken and its value is checked, but no list, page or
    /// suggestion offers it, and a file that sets it is told so.
    pub hidden: bool,
}

impl Setting {
    /// Meaning of the setting, as one paragraph.
    pub fn doc(&self) -> &'static str {
        self.doc.trim()
    }

    /// The value where no layer sets it; `None` if it is then unset.
    pub fn default_value(&self) -> Option<Value> {
        Some(match self.default {
            DefaultValue::Unset => return None,
            DefaultValue::Flag(flag) => Value::Flag(flag),
            DefaultValue::Count(count) => Value::Count(count),
            DefaultValue::Percent(percent) => Value::Percent(percent),
            DefaultValue::Duration(span) => Value::Duration(span),
            DefaultValue::Money(amount) => Value::Money(amount),
            DefaultValue::Text(text) => Value::Text(text.to_owned()),
            DefaultValue::List(list) => {
                Value::List(list.iter().map(|item| (*item).to_owned()).collect())
            }
        })
    }

    /// For a key whose last part stands for any name: the key up to that part.
    pub(super) fn pattern_prefix(&self) -> Option<&'static str> {
        self.key
            .ends_with('>')
            .then(|| self.key.rsplit_once('<').map(|(prefix, _)| prefix))?
    }
}

/// A default, in a form that a constant can have.
#[derive(Clone, Copy, Debug)]
pub(super) enum DefaultValue {
    Unset,
    Flag(bool),
    Count(u64),
    Percent(Percent),
    Duration(Duration),
    Money(Usd),
    Text(&'static str),
    List(&'static [&'static str]),
}

/// Unit of a number in a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// No unit, or one that the kind implies.
    None,
    /// Model tokens, as the provider bills them.
    Tokens,
    /// Unicode characters, not bytes.
    Characters,
    /// Bytes of UTF-8 text or of a file.
    Bytes,
    /// Per cent of a whole.
    Percent,
    /// US dollars, with cents.
    Dollars,
    /// Days of 24 hours.
    Days,
    /// Lines of text, blank ones included.
    Lines,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "",
            Self::Tokens => "tokens",
            Self::Characters => "characters",
            Self::Bytes => "bytes",
            Self::Percent => "%",
            Self::Dollars => "US$",
            Self::Days => "days",
            Self::Lines => "lines",
        })
    }
}

/// Places that may set a setting. The managed file, the environment and flags always may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// No other place: it is needed before the user's file is found.
    Machine,
    /// The user too, but never a project's file.
    User,
    /// A project's file too, once its folder is trusted.
    TrustedProject,
    /// A project's file too, but only to switch it off.
    ProjectOff,
    /// Any layer, an untrusted project's file included.
    Project,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Machine => "machine",
            Self::User => "user",
            Self::TrustedProject => "trusted project",
            Self::ProjectOff => "project (off only)",
            Self::Project => "project",
        })
    }
}

/// Treatment of values that several layers give for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// The value of the strongest layer counts.
    Replace,
    /// They add up: lists are joined, tables are joined by name, later names win. So a project
    /// cannot empty the user's list of what is denied.
    Combine,
}

/// An environment variable that sets a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvName {
    /// Name of the variable, case-sensitive.
    pub name: &'static str,
    /// It names the opposite (`DISABLE_…`): a true value switches the setting off, a false value
    /// says nothing.
    pub negates: bool,
}

/// A variable that holds the setting's value.
pub(super) const fn var(name: &'static str) -> EnvName {
    EnvName {
        name,
        negates: false,
    }
}

/// A variable that switches the setting off.
pub(super) const fn disables(name: &'static str) -> EnvName {
    EnvName {
        name,
        negates: true,
    }
}

/// A condition for a switch to have an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// That switch must be on, and its own needs be met.
    On(&'static str),
    /// That switch must be off.
    Off(&'static str),
}

/// A setting's key together with the type its value is read as.
#[derive(Debug)]
pub struct Key<T> {
    name: &'static str,
    reads: PhantomData<fn() -> T>,
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

impl<T> Key<T> {
    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            reads: PhantomData,
        }
    }

    /// Dotted name of the key, as in files.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

/// A Rust type that values of settings are read as.
pub trait SettingType: Sized + Default {
    /// Reads a value (`None`: unset); `None` if it is of another kind.
    fn read(value: Option<&Value>) -> Option<Self>;
}

macro_rules! reads {
    ($($variant:ident($pattern:pat) => $ty:ty: $result:expr;)*) => {$(
        impl SettingType for $ty {
            fn read(value: Option<&Value>) -> Option<Self> {
                match value {
                    Some(Value::$variant($pattern)) => Some($result),
                    _ => None,
                }
            }
        }
    )*};
}

reads! {
    Flag(flag) => bool: *flag;
    Count(count) => u64: *count;
    Count(count) => Tokens: Tokens(*count);
    Percent(percent) => Percent: *percent;
    Duration(span) => Duration: *span;
    Money(amount) => Usd: *amount;
    List(list) => Vec<String>: list.clone();
}

macro_rules! reads_optional {
    ($($variant:ident($pattern:pat) => $ty:ty: $result:expr;)*) => {$(
        impl SettingType for Option<$ty> {
            fn read(value: Option<&Value>) -> Option<Self> {
                match value {
                    None => Some(None),
                    Some(Value::$variant($pattern)) => Some(Some($result)),
                    Some(_) => None,
                }
            }
        }
    )*};
}

reads_optional! {
    Count(count) => u64: *count;
    Count(count) => Tokens: Tokens(*count);
    Percent(percent) => Percent: *percent;
    Text(text) => String: text.clone();
    Structure(value) => toml::Value: value.clone();
    Secret(secret) => Secret: secret.clone();
}

/// A row under construction, with the type it is read as: a row and its key cannot disagree.
#[derive(Clone, Copy)]
pub(super) struct Def<T> {
    row: Setting,
    reads: PhantomData<fn() -> T>,
}

impl<T> Def<T> {
    const fn new(kind: Kind, default: DefaultValue) -> Self {
        let row = Setting {
            key: "",
            doc: "",
            kind,
            default,
            unit: Unit::None,
            // The widest scope and no merging are the common case; rows say where they differ.
            scope: Scope::Project,
            merge: Merge::Replace,
            env: &[],
            needs: &[],
            hidden: false,
        };
        Self {
            row,
            reads: PhantomData,
        }
    }

    pub(super) const fn named(self, key: &'static str, doc: &'static str) -> Setting {
        Setting {
            key,
            doc,
            ..self.row
        }
    }

    pub(super) const fn scope(mut self, scope: Scope) -> Self {
        self.row.scope = scope;
        self
    }

    pub(super) const fn env(mut self, env: &'static [EnvName]) -> Self {
        self.row.env = env;
        self
    }

    pub(super) const fn needs(mut self, needs: &'static [Need]) -> Self {
        self.row.needs = needs;
        self
    }

    /// Reserves the name for a later version; see [`Setting::hidden`].
    pub(super) const fn hidden(mut self) -> Self {
        self.row.hidden = true;
        self
    }

    pub(super) const fn combined(mut self) -> Self {
        self.row.merge = Merge::Combine;
        self
    }

    pub(super) const fn range(mut self, min: u64, max: u64) -> Self {
        self.row.kind = Kind::Count { min, max };
        self
    }

    const fn unit(mut self, unit: Unit) -> Self {
        self.row.unit = unit;
        self
    }
}

/// Any whole number; rows with bounds set them by `Def::range`.
const ANY_COUNT: Kind = Kind::Count {
    min: 0,
    max: u64::MAX,
};

pub(super) const fn flag(default: bool) -> Def<bool> {
    Def::new(Kind::Flag, DefaultValue::Flag(default))
}

pub(super) const fn count(default: u64) -> Def<u64> {
    Def::new(ANY_COUNT, DefaultValue::Count(default))
}

pub(super) const fn optional_count(unit: Unit) -> Def<Option<u64>> {
    Def::new(ANY_COUNT, DefaultValue::Unset).unit(unit)
}

pub(super) const fn measured(default: u64, unit: Unit) -> Def<u64> {
    count(default).unit(unit)
}

pub(super) const fn tokens(default: u64) -> Def<Tokens> {
    Def::new(ANY_COUNT, DefaultValue::Count(default)).unit(Unit::Tokens)
}

pub(super) const fn optional_tokens() -> Def<Option<Tokens>> {
    Def::new(ANY_COUNT, DefaultValue::Unset).unit(Unit::Tokens)
}

pub(super) const fn percent(default: u8) -> Def<Percent> {
    Def::new(
        Kind::Percent,
        DefaultValue::Percent(Percent::whole(default)),
    )
    .unit(Unit::Percent)
}

pub(super) const fn optional_percent() -> Def<Option<Percent>> {
    Def::new(Kind::Percent, DefaultValue::Unset).unit(Unit::Percent)
}

pub(super) const fn seconds(default: u64) -> Def<Duration> {
    Def::new(
        Kind::Duration,
        DefaultValue::Duration(Duration::from_secs(default)),
    )
}

pub(super) const fn money(cents: i64) -> Def<Usd> {
    Def::new(Kind::Money, DefaultValue::Money(Usd::from_cents(cents))).unit(Unit::Dollars)
}

pub(super) const fn text() -> Def<Option<String>> {
    Def::new(Kind::Text, DefaultValue::Unset)
}

pub(super) const fn list(default: &'static [&'static str]) -> Def<Vec<String>> {
    Def::new(Kind::List, DefaultValue::List(default))
}

pub(super) const fn structure() -> Def<Option<toml::Value>> {
    Def::new(Kind::Structure, DefaultValue::Unset)
}

// A project must not replace the user's key: requests would go out under a stranger's account.
pub(super) const fn secret() -> Def<Option<Secret>> {
    Def::new(Kind::Secret, DefaultValue::Unset).scope(Scope::User)
}

pub(super) const fn choice<C: Choice>() -> Def<C> {
    // The first name is the default, so that an enum's `Default` and the table cannot differ.
    Def::new(Kind::Choice(C::NAMES), DefaultValue::Text(C::NAMES[0]))
}
