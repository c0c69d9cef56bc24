//! Making layers out of files, the environment and flags.
//!
//! Lenient: a value that cannot be used is reported, the rest counts. A file that is not TOML is
//! reported as a whole. Permission to set a key is not judged here but when layers are resolved, so
//! that ignored values can be shown beside those in force.
//!
//! # Not here
//! Reading files and the environment: the caller passes texts and a lookup.

use super::issue::{NoEffect, SettingsIssue};
use super::kind::{Kind, parse_flag};
use super::origin::{Given, LayerKind, Origin};
use super::setting::Setting;
use super::table::{all_settings, find_setting, is_group, is_removed, nearest_key, rows};
use super::value::Value;
use crate::place::line_column;
use crate::show;
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// Key of a file that lists locked settings.
const LOCKED: &str = "locked";
/// Name of a switch inside the group of its own name.
const ENABLED: &str = "enabled";
/// Characters of a wrong value that a message repeats: enough to recognise it, little enough for
/// one line.
const FOUND_CHARS: usize = 60;

/// Settings file that a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLayer {
    /// The administrator's file (`/etc/dormouse/settings.toml`).
    Managed,
    /// The user's (`settings.toml` in the home directory).
    User,
    /// The project's file (`.dormouse/settings.toml`), committed with it.
    Project,
    /// The project's for this checkout (`.dormouse/settings.local.toml`).
    ProjectLocal,
}

impl From<FileLayer> for LayerKind {
    fn from(file: FileLayer) -> Self {
        match file {
            FileLayer::Managed => Self::Managed,
            FileLayer::User => Self::User,
            FileLayer::Project => Self::Project,
            FileLayer::ProjectLocal => Self::ProjectLocal,
        }
    }
}

/// The values and locks that one place gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Kind of the layer, which decides its strength.
    pub kind: LayerKind,
    /// The values, by full key.
    pub values: BTreeMap<String, Given>,
    /// Keys it locks; only ever filled by the managed file.
    pub locks: Vec<Lock>,
}

impl Layer {
    fn empty(kind: LayerKind) -> Self {
        Self {
            kind,
            values: BTreeMap::new(),
            locks: Vec::new(),
        }
    }
}

/// A key, or with a final `*` all keys that begin so, that no layer behind the managed file may
/// set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The key, or a prefix with a final `*`.
    pub pattern: String,
    /// Place of the lock in the managed file.
    pub origin: Origin,
}

impl Lock {
    /// True if the lock covers this key.
    pub fn holds(&self, key: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(prefix) => key.starts_with(prefix),
            None => key == self.pattern,
        }
    }
}

/// Reads a settings file into a layer and its problems. Never fails: a wrong file is an empty
/// layer.
pub fn parse_layer(file: FileLayer, path: &str, text: &str) -> (Layer, Vec<SettingsIssue>) {
    let kind = LayerKind::from(file);
    let parsed = text
        .parse::<toml::Table>()
        // Parsed twice: values from the table, lines from the spans, which values do not carry.
        .and_then(|table| Ok((table, DeTable::parse(text)?)));
    let (table, spans) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            let (line, column) = line_column(text, error.span().map_or(0, |span| span.start));
            let (path, message) = (path.to_owned(), error.message().to_owned());
            return (
                Layer::empty(kind),
                vec![SettingsIssue::Syntax {
                    path,
                    line,
                    column,
                    message,
                }],
            );
        }
    };
    let mut reader = FileReader {
        path,
        text,
        layer: Layer::empty(kind),
        issues: Vec::new(),
    };
    reader.read_table("", &table, spans.get_ref());
    // Tables come sorted by key; messages are easier to follow in the order of the file.
    reader.issues.sort_by_key(|(line, _)| *line);
    (
        reader.layer,
        reader.issues.into_iter().map(|(_, issue)| issue).collect(),
    )
}

struct FileReader<'a> {
    path: &'a str,
    text: &'a str,
    layer: Layer,
    issues: Vec<(Option<usize>, SettingsIssue)>,
}

impl FileReader<'_> {
    fn read_table(&mut self, prefix: &str, table: &toml::Table, spans: &DeTable<'_>) {
        for (name, value) in table {
            let key = if prefix.is_empty() {
                name.clone()
            } else {
                format!("{prefix}.{name}")
            };
            let (line, inner) = match spans.get_key_value(name.as_str()) {
                Some((name, value)) => (
                    Some(line_column(self.text, name.span().start).0),
                    Some(value.get_ref()),
                ),
                None => (None, None),
            };
            if key == LOCKED {
                self.read_locks(value, line);
            } else {
                self.read_value(&key, value, line, inner.and_then(DeValue::as_table));
            }
        }
    }

    fn read_value(
        &mut self,
        key: &str,
        value: &toml::Value,
        line: Option<usize>,
        spans: Option<&DeTable<'_>>,
    ) {
        let setting = find_setting(key);
        match (setting, value, spans) {
            (
                Some(Setting {
                    kind: Kind::Flag, ..
                }),
                toml::Value::Table(group),
                Some(spans),
            ) => {
                self.read_group(key, group, spans);
            }
            (Some(setting), _, _) => self.read_setting(key, setting, value, line),
            (None, toml::Value::Table(group), Some(spans)) if is_group(key) => {
                self.read_table(key, group, spans);
            }
            (None, _, _) => self.report(line, |origin| unknown_key(origin, key)),
        }
    }

    fn read_setting(
        &mut self,
        key: &str,
        setting: &Setting,
        value: &toml::Value,
        line: Option<usize>,
    ) {
        if setting.hidden {
            // Reserved: told as without effect, and checked all the same.
            self.report(line, |origin| no_effect(origin, key, NoEffect::NotYet));
        }
        if let Some(value) = setting.kind.read_toml(value) {
            let origin = self.origin(line);
            self.layer
                .values
                .insert(key.to_owned(), Given { value, origin });
        } else {
            let found = found(setting, &value.to_string());
            self.report(line, |origin| wrong_value(origin, key, setting, found));
        }
    }

    /// A group whose name is also a switch: `enabled` is the switch, the rest its members.
    fn read_group(&mut self, key: &str, group: &toml::Table, spans: &DeTable<'_>) {
        let mut rest = group.clone();
        if let Some(value) = rest.remove(ENABLED) {
            let name = spans
                .get_key_value(ENABLED)
                .map(|(name, _)| name.span().start);
            let line = name.map(|start| line_column(self.text, start).0);
            self.read_value(key, &value, line, None);
        }
        self.read_table(key, &rest, spans);
    }

    // A lock in a user's or project's file would let that file overrule flags and environment.
    fn read_locks(&mut self, value: &toml::Value, line: Option<usize>) {
        if self.layer.kind != LayerKind::Managed {
            self.report(line, |origin| SettingsIssue::LockNotAllowed { origin });
            return;
        }
        let Some(Value::List(patterns)) = Kind::List.read_toml(value) else {
            let found = quoted(&value.to_string());
            self.report(line, |origin| SettingsIssue::WrongValue {
                origin,
                key: LOCKED.to_owned(),
                expected: Kind::List.to_string(),
                found,
            });
            return;
        };
        for pattern in patterns {
            let origin = self.origin(line);
            let lock = Lock {
                pattern: pattern.clone(),
                origin,
            };
            // A misspelt lock locks nothing, and the administrator would not notice.
            if find_setting(&pattern).is_none() && !rows().any(|setting| lock.holds(setting.key)) {
                let nearest = nearest_key(&pattern);
                self.report(line, |origin| SettingsIssue::UnknownLock {
                    origin,
                    pattern,
                    nearest,
                });
            } else {
                self.layer.locks.push(lock);
            }
        }
    }

    fn origin(&self, line: Option<usize>) -> Origin {
        Origin::File {
            kind: self.layer.kind,
            path: self.path.to_owned(),
            line,
        }
    }

    fn report(&mut self, line: Option<usize>, issue: impl FnOnce(Origin) -> SettingsIssue) {
        let origin = self.origin(line);
        self.issues.push((line, issue(origin)));
    }
}

/// Reads the environment through a function that looks a variable up. Empty means not set.
pub fn env_layer(lookup: impl Fn(&str) -> Option<String>) -> (Layer, Vec<SettingsIssue>) {
    let mut layer = Layer::empty(LayerKind::Environment);
    let mut issues = Vec::new();
    for setting in all_settings() {
        for variable in setting.env {
            let Some(text) = lookup(variable.name).filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            let origin = Origin::Variable {
                name: variable.name,
            };
            let value = if variable.negates {
                match parse_flag(text.trim()) {
                    Some(true) => Some(Value::Flag(false)),
                    // `DISABLE_X=0` is no wish to switch X on, only none to switch it off.
                    Some(false) => continue,
                    None => None,
                }
            } else {
                setting.kind.read_text(&text)
            };
            if let Some(value) = value {
                layer
                    .values
                    .insert(setting.key.to_owned(), Given { value, origin });
                // The first variable that is set wins, in the order of the table.
                break;
            }
            issues.push(wrong_value(
                origin,
                setting.key,
                setting,
                found(setting, &text),
            ));
        }
    }
    (layer, issues)
}

/// Reads settings given as `key=value`; the last one of a key counts.
pub fn flags_layer<'a>(pairs: impl IntoIterator<Item = &'a str>) -> (Layer, Vec<SettingsIssue>) {
    let mut layer = Layer::empty(LayerKind::Flags);
    let mut issues = Vec::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            issues.push(SettingsIssue::NotAPair { text: quoted(pair) });
            continue;
        };
        let key = key.trim();
        let Some((key, setting)) = find_setting(key)
            .map(|setting| (key, setting))
            .or_else(|| switch_of(key))
        else {
            issues.push(unknown_key(Origin::Flag, key));
            continue;
        };
        if setting.hidden {
            issues.push(no_effect(Origin::Flag, key, NoEffect::NotYet));
        }
        match setting.kind.read_text(text) {
            Some(value) => {
                layer.values.insert(
                    key.to_owned(),
                    Given {
                        value,
                        origin: Origin::Flag,
                    },
                );
            }
            None => issues.push(wrong_value(
                Origin::Flag,
                key,
                setting,
                found(setting, text),
            )),
        }
    }
    (layer, issues)
}

/// `compact.enabled` means the switch `compact`, as it does in files.
fn switch_of(key: &str) -> Option<(&str, &'static Setting)> {
    let group = key.strip_suffix(ENABLED)?.strip_suffix('.')?;
    let setting = find_setting(group).filter(|setting| setting.kind == Kind::Flag)?;
    Some((group, setting))
}

fn no_effect(origin: Origin, key: &str, why: NoEffect) -> SettingsIssue {
    let key = key.to_owned();
    SettingsIssue::NoEffect { origin, key, why }
}

fn unknown_key(origin: Origin, key: &str) -> SettingsIssue {
    // Told as removed, not as misspelt: a suggestion would name an unrelated key.
    if is_removed(key) {
        return no_effect(origin, key, NoEffect::Removed);
    }
    SettingsIssue::UnknownKey {
        origin,
        key: key.to_owned(),
        nearest: nearest_key(key),
    }
}

fn wrong_value(origin: Origin, key: &str, setting: &Setting, found: String) -> SettingsIssue {
    SettingsIssue::WrongValue {
        origin,
        key: key.to_owned(),
        expected: setting.kind.to_string(),
        found,
    }
}

fn found(setting: &Setting, text: &str) -> String {
    // A key pasted into the wrong setting must not appear in a message.
    if setting.kind == Kind::Secret {
        "what it is (hidden)".to_owned()
    } else {
        quoted(text)
    }
}

fn quoted(text: &str) -> String {
    format!("`{}`", show::shortened(text.trim(), FOUND_CHARS))
}
