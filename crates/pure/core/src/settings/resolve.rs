//! Putting layers on top of one another.
//!
//! For each key: values that may not be set from their place drop out, with a reason; of the others
//! the strongest layer's counts, or they are combined where the table says so. A lock leaves the
//! managed file's value, or the default if it has none, and drops all behind it.
//!
//! # Not here
//! Parsing layers: `layers`. Typed views of the result: `views`.

use super::layers::{Layer, Lock};
use super::origin::{Given, LayerKind, Origin};
use super::setting::{Key, Merge, Scope, Setting, SettingType};
use super::table::{find_setting, rows};
use super::value::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Trust of the user in the project's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The user has not decided, or has refused.
    Untrusted,
    /// The user has agreed to the project's settings.
    Trusted,
}

/// All settings with their values and origins.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    entries: BTreeMap<String, ResolvedSetting>,
}

/// The value of one setting, and its way through the layers.
#[derive(Clone, Debug)]
pub struct ResolvedSetting {
    /// The key; under a pattern, the key as it was given.
    pub key: String,
    /// Row of the setting in the table.
    pub setting: &'static Setting,
    /// The value in force; `None` if unset.
    pub value: Option<Value>,
    /// Origin of the value; for combined values the strongest of them.
    pub origin: Origin,
    /// All parts of a combined value, weakest first; empty for others.
    pub parts: Vec<Given>,
    /// Valid values that a stronger layer overrode, weakest first.
    pub shadowed: Vec<Given>,
    /// Values given in a place that may not set the key.
    pub ignored: Vec<Ignored>,
    /// Mark of a reader.
    read: ReadMark,
}

/// Mark that something has read a value. A copy starts without it: it is another reader's.
#[derive(Debug, Default)]
struct ReadMark(AtomicBool);

impl Clone for ReadMark {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for ResolvedSetting {
    fn eq(&self, other: &Self) -> bool {
        // The row follows from the key.
        (&self.key, &self.value, &self.origin) == (&other.key, &other.value, &other.origin)
            && self.parts == other.parts
            && self.shadowed == other.shadowed
            && self.ignored == other.ignored
    }
}

impl ResolvedSetting {
    /// The value as text; secrets stay hidden.
    pub fn shown(&self) -> String {
        self.value
            .as_ref()
            .map_or_else(|| "not set".to_owned(), Value::to_string)
    }
}

/// A value that was given and not used.
#[derive(Clone, Debug, PartialEq)]
pub struct Ignored {
    /// The value and its place.
    pub given: Given,
    /// The rule that excludes it.
    pub reason: IgnoreReason,
}

/// Rule that excludes a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoreReason {
    /// The administrator locked the setting.
    Locked {
        /// Place of the lock.
        by: Origin,
    },
    /// No file of a project may set it.
    NotFromProject,
    /// A project may only switch it off.
    ProjectMayOnlyDisable,
    /// The project's folder is not trusted.
    ProjectNotTrusted,
    /// It must be known before the user's file is read.
    MachineOnly,
}

impl fmt::Display for IgnoreReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked { by } => write!(f, "locked by {by}"),
            Self::NotFromProject => f.write_str("not allowed in a project's settings"),
            Self::ProjectMayOnlyDisable => f.write_str("a project may only switch this off"),
            Self::ProjectNotTrusted => f.write_str("counts once the project's folder is trusted"),
            Self::MachineOnly => {
                f.write_str("only the managed file, the environment or a flag may set this")
            }
        }
    }
}

/// Puts layers on top of one another, in the order of their kinds whatever the order given; of two
/// layers of one kind the later one is stronger.
pub fn resolve(layers: &[Layer], trust: Trust) -> Settings {
    let mut ordered: Vec<&Layer> = layers.iter().collect();
    // Stable sort: of two layers of one kind the later stays the stronger.
    ordered.sort_by_key(|layer| layer.kind);

    let literal = rows().filter(|setting| setting.pattern_prefix().is_none());
    let given = ordered
        .iter()
        .flat_map(|layer| layer.values.keys().map(String::as_str));
    let keys: BTreeSet<&str> = literal.map(|setting| setting.key).chain(given).collect();

    let entries = keys.into_iter().filter_map(|key| {
        let setting = find_setting(key)?;
        Some((key.to_owned(), resolve_key(key, setting, &ordered, trust)))
    });
    Settings {
        entries: entries.collect(),
    }
}

fn resolve_key(
    key: &str,
    setting: &'static Setting,
    layers: &[&Layer],
    trust: Trust,
) -> ResolvedSetting {
    let lock = layers
        .iter()
        .flat_map(|layer| &layer.locks)
        .find(|lock| lock.holds(key));
    // A pattern's default belongs to the pattern, not to every key under it.
    let default = setting.default_value().filter(|_| setting.key == key);
    let mut accepted: Vec<Given> = default
        .map(|value| Given {
            value,
            origin: Origin::BuiltIn,
        })
        .into_iter()
        .collect();
    let mut ignored = Vec::new();
    for layer in layers {
        let Some(given) = layer.values.get(key).cloned() else {
            continue;
        };
        match refusal(setting, &given.value, layer.kind, trust, lock) {
            Some(reason) => ignored.push(Ignored { given, reason }),
            None => accepted.push(given),
        }
    }
    let mut entry = ResolvedSetting {
        key: key.to_owned(),
        setting,
        value: None,
        origin: Origin::BuiltIn,
        parts: Vec::new(),
        shadowed: Vec::new(),
        ignored,
        read: ReadMark::default(),
    };
    let Some(strongest) = accepted.pop() else {
        return entry;
    };
    entry.origin = strongest.origin.clone();
    match setting.merge {
        Merge::Replace => {
            entry.value = Some(strongest.value);
            entry.shadowed = accepted;
        }
        Merge::Combine => {
            accepted.push(strongest);
            entry.parts.clone_from(&accepted);
            entry.value = accepted
                .into_iter()
                .map(|given| given.value)
                .reduce(combine);
        }
    }
    entry
}

/// The rule that excludes a value given there, if one does.
fn refusal(
    setting: &Setting,
    value: &Value,
    kind: LayerKind,
    trust: Trust,
    lock: Option<&Lock>,
) -> Option<IgnoreReason> {
    // The managed file itself is not bound by its own locks.
    if kind > LayerKind::Managed
        && let Some(lock) = lock
    {
        return Some(IgnoreReason::Locked {
            by: lock.origin.clone(),
        });
    }
    match setting.scope {
        Scope::Machine if kind == LayerKind::User || kind.is_project() => {
            Some(IgnoreReason::MachineOnly)
        }
        Scope::User if kind.is_project() => Some(IgnoreReason::NotFromProject),
        Scope::TrustedProject if kind.is_project() && trust == Trust::Untrusted => {
            Some(IgnoreReason::ProjectNotTrusted)
        }
        Scope::ProjectOff if kind.is_project() && *value != Value::Flag(false) => {
            Some(IgnoreReason::ProjectMayOnlyDisable)
        }
        _ => None,
    }
}

/// Adds a stronger value to a weaker one.
fn combine(weaker: Value, stronger: Value) -> Value {
    match (weaker, stronger) {
        (Value::List(mut list), Value::List(more)) => {
            for item in more {
                // Joined lists would grow on every layer that repeats an item.
                if !list.contains(&item) {
                    list.push(item);
                }
            }
            Value::List(list)
        }
        (Value::Structure(weaker), Value::Structure(stronger)) => {
            Value::Structure(combine_toml(weaker, stronger))
        }
        (_, stronger) => stronger,
    }
}

fn combine_toml(weaker: toml::Value, stronger: toml::Value) -> toml::Value {
    match (weaker, stronger) {
        (toml::Value::Table(mut table), toml::Value::Table(more)) => {
            for (name, value) in more {
                let joined = match table.remove(&name) {
                    Some(before) => combine_toml(before, value),
                    None => value,
                };
                table.insert(name, joined);
            }
            toml::Value::Table(table)
        }
        (toml::Value::Array(mut list), toml::Value::Array(more)) => {
            list.extend(more);
            toml::Value::Array(list)
        }
        (_, stronger) => stronger,
    }
}

impl Settings {
    /// The value of a setting, typed by its key.
    pub fn get<T: SettingType>(&self, key: Key<T>) -> T {
        // The table's rows carry the type they are read as, so the value always fits.
        self.entry(key.name())
            .and_then(|entry| T::read(entry.value.as_ref()))
            .unwrap_or_default()
    }

    /// The same settings with the values of one more layer on top of all others.
    #[must_use]
    pub fn with(&self, layer: &Layer) -> Self {
        let mut settings = self.clone();
        for (key, given) in &layer.values {
            let Some(setting) = find_setting(key) else {
                continue;
            };
            let entry = settings.entries.entry(key.clone());
            let entry = entry.or_insert_with(|| resolve_key(key, setting, &[], Trust::Trusted));
            entry.value = Some(given.value.clone());
            entry.origin = given.origin.clone();
        }
        settings
    }

    /// A setting with all that is known about its value.
    pub fn entry(&self, key: &str) -> Option<&ResolvedSetting> {
        let entry = self.entries.get(key)?;
        // Relaxed: the mark is looked at when all work is done.
        entry.read.0.store(true, Ordering::Relaxed);
        Some(entry)
    }

    /// True if something has read the value of a key. A value that nothing reads has no effect.
    pub fn was_read(&self, key: &str) -> bool {
        let entry = self.entries.get(key);
        entry.is_some_and(|entry| entry.read.0.load(Ordering::Relaxed))
    }

    /// All settings that something reads, in the order of their keys; under a pattern, the keys
    /// that were given.
    pub fn iter(&self) -> impl Iterator<Item = &ResolvedSetting> {
        let entries = self.entries.values();
        entries
            .filter(|entry| !entry.setting.hidden)
            .inspect(|entry| entry.read.0.store(true, Ordering::Relaxed))
    }
}

impl Default for Settings {
    /// The built-in defaults, as an untrusted project without files has them.
    fn default() -> Self {
        resolve(&[], Trust::Untrusted)
    }
}

/// Keys whose values differ, in order: a running session has to take these over.
pub fn changed(old: &Settings, new: &Settings) -> Vec<String> {
    let keys: BTreeSet<&String> = old.entries.keys().chain(new.entries.keys()).collect();
    let value =
        |settings: &Settings, key: &str| settings.entry(key).and_then(|entry| entry.value.clone());
    keys.into_iter()
        .filter(|key| value(old, key) != value(new, key))
        .cloned()
        .collect()
}
