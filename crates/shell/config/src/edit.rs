//! Changing one setting in a settings file.
//!
//! A settings file belongs to the person who wrote it: one value is set or taken away, and every
//! other byte stays, comments included. The new text is read back before it is written; a value
//! that would not come out as it was asked for is refused, and so is a file that is no TOML.
//!
//! # Not here
//! Values that a layer may not set: reading reports them, since a file can be edited by hand too.

use crate::places::Places;
use dormouse_core::settings::{
    FileLayer, Kind, Layer, SettingsIssue, Value, all_settings, find_setting, flags_layer,
    parse_layer,
};
use dormouse_system::{Access, FileError, Files, OptionalFile as _};
use std::path::PathBuf;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

/// Largest settings file in bytes (1 MiB), as when they are read.
const LIMIT: u64 = 1 << 20;
/// Name of a group's own switch inside its table: `[compact] enabled = false`.
const ENABLED: &str = "enabled";

/// Reason that a setting was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// Key or value cannot be used.
    #[error(transparent)]
    Setting(SettingsIssue),
    /// The project has no settings of its own: its folder is Dormouse's home.
    #[error("this folder has no settings of a project: it is the home of Dormouse")]
    NoProject,
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is no TOML, and changing it could lose what its owner meant.
    #[error("`{}` was not changed: {message}", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// The first fault, for people.
        message: String,
    },
    /// Another value stands in the way, or the value cannot be written as TOML.
    #[error("`{key}` cannot be set in `{}` as it is written there", path.display())]
    InTheWay {
        /// Path of the file.
        path: PathBuf,
        /// Key that was to be set.
        key: String,
    },
    /// Another process is changing the file.
    #[error("`{}` is being changed by another process", path.display())]
    Locked {
        /// Path of the file.
        path: PathBuf,
    },
}

/// File and effect of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    /// Path of the file that holds the value.
    pub path: PathBuf,
    /// False if the file said so already.
    pub changed: bool,
}

/// Sets a setting in the file of a layer, or takes it away where `text` is `None`. The text is read
/// as a flag's.
///
/// # Errors
/// When the key or the value is wrong, or the file cannot be changed without losing something.
pub fn set_setting(
    files: &dyn Files,
    places: &Places,
    layer: FileLayer,
    key: &str,
    text: Option<&str>,
) -> Result<SettingChange, EditError> {
    // Validated as `key=value` on the command line is, so that both take the same words.
    let pair = format!("{key}={}", text.unwrap_or("true"));
    let (given, issues) = flags_layer([pair.as_str()]);
    let wrong_key = |issue: &SettingsIssue| !matches!(issue, SettingsIssue::WrongValue { .. });
    let issue = issues
        .into_iter()
        .find(|issue| text.is_some() || wrong_key(issue));
    if let Some(issue) = issue {
        return Err(EditError::Setting(issue));
    }
    // The layer knows the key under its own name: `compact.enabled` is the switch `compact`.
    let name = given.values.keys().next().map_or(key, String::as_str);
    let wanted = text.and_then(|_| given.values.get(name));
    let wanted = wanted.map(|given| &given.value);

    let mut found = places.settings_files().into_iter();
    let path = found.find(|(kind, _)| *kind == layer).map(|(_, path)| path);
    let path = path.ok_or(EditError::NoProject)?;
    if let Some(folder) = path.parent() {
        files.create_dir_all(folder, access(layer))?;
    }
    let Some(_lock) = files.lock_exclusive(&path)? else {
        return Err(EditError::Locked { path });
    };
    // Read under the lock: a text read before could lose another command's change.
    let old = files.read(&path, LIMIT).optional()?.unwrap_or_default();
    let malformed = |message: String| EditError::Malformed {
        path: path.clone(),
        message,
    };
    let old = String::from_utf8(old.to_vec()).map_err(|error| malformed(error.to_string()))?;
    let new =
        edited(&old, layer, name, wanted, text.unwrap_or_default()).map_err(|why| match why {
            Why::Malformed(message) => malformed(message),
            Why::InTheWay => EditError::InTheWay {
                path: path.clone(),
                key: name.to_owned(),
            },
        })?;
    let changed = new != old;
    if changed {
        files.replace(&path, new.as_bytes(), access(layer))?;
    }
    Ok(SettingChange { path, changed })
}

/// A project's file is committed with it and read by others; the user's may hold a key.
const fn access(layer: FileLayer) -> Access {
    match layer {
        FileLayer::Project => Access::Shared,
        FileLayer::Managed | FileLayer::User | FileLayer::ProjectLocal => Access::Private,
    }
}

#[derive(Debug)]
enum Why {
    Malformed(String),
    InTheWay,
}

/// The text with the value set or taken away.
fn edited(
    old: &str,
    layer: FileLayer,
    key: &str,
    wanted: Option<&Value>,
    typed: &str,
) -> Result<String, Why> {
    let document: DocumentMut = old
        .parse()
        .map_err(|error: toml_edit::TomlError| Why::Malformed(error.message().to_owned()))?;
    let value_in = |text: &str| {
        let (layer, _): (Layer, _) = parse_layer(layer, "", text);
        layer.values.get(key).map(|given| given.value.clone())
    };
    // Unchanged where the value is the same, however it is written.
    if value_in(old).as_ref() == wanted {
        return Ok(old.to_owned());
    }
    let Some(wanted) = wanted else {
        let mut document = document;
        remove(document.as_table_mut(), &path_of(key));
        // A switch without a table of its own stands under its plain name.
        remove(document.as_table_mut(), &key.split('.').collect::<Vec<_>>());
        let text = document.to_string();
        return value_in(&text)
            .is_none()
            .then_some(text)
            .ok_or(Why::InTheWay);
    };
    for candidate in candidates(wanted, typed) {
        let mut document = document.clone();
        if !insert(document.as_table_mut(), &path_of(key), candidate) {
            continue;
        }
        let text = document.to_string();
        // The reader decides which way of writing it means what was asked for.
        if value_in(&text).as_ref() == Some(wanted) {
            return Ok(text);
        }
    }
    Err(Why::InTheWay)
}

/// Names of the tables down to a key. A switch that is also a group has its value inside the
/// group's table, where members can stand beside it.
fn path_of(key: &str) -> Vec<&str> {
    let mut names: Vec<&str> = key.split('.').collect();
    let below = format!("{key}.");
    let is_group = all_settings().any(|setting| setting.key.starts_with(&below));
    if is_group && find_setting(key).is_some_and(|setting| setting.kind == Kind::Flag) {
        names.push(ENABLED);
    }
    names
}

/// Ways to write a value, the plainest first.
fn candidates(value: &Value, typed: &str) -> Vec<toml_edit::Value> {
    let typed = typed.trim();
    let number = typed.parse::<i64>().map(toml_edit::Value::from).ok();
    let fraction = typed.parse::<f64>().map(toml_edit::Value::from).ok();
    match value {
        Value::Flag(flag) => vec![(*flag).into()],
        Value::Count(count) => i64::try_from(*count).map(Into::into).into_iter().collect(),
        Value::List(items) => vec![items.iter().map(String::as_str).collect::<Array>().into()],
        Value::Text(text) => vec![text.as_str().into()],
        Value::Structure(_) => typed.parse().into_iter().collect(),
        Value::Percent(_) | Value::Duration(_) | Value::Money(_) | Value::Secret(_) => {
            let texts = [number, fraction, Some(typed.into())];
            texts.into_iter().flatten().collect()
        }
    }
}

/// Puts a value under its names, making tables on the way; false if something else stands there.
fn insert(table: &mut dyn TableLike, names: &[&str], value: toml_edit::Value) -> bool {
    let Some((name, rest)) = names.split_first() else {
        return false;
    };
    if rest.is_empty() {
        match table.get_mut(name) {
            // The comment behind the old value stays behind the new one.
            Some(Item::Value(old)) => {
                let decor = old.decor().clone();
                *old = value;
                *old.decor_mut() = decor;
            }
            Some(_) => return false,
            None => drop(table.insert(name, Item::Value(value))),
        }
        return true;
    }
    match table.get(name) {
        None => {
            let mut made = Table::new();
            // Only a table that holds values itself gets a head.
            made.set_implicit(rest.len() > 1);
            table.insert(name, Item::Table(made));
        }
        // `compact = false` makes room for members and keeps its meaning.
        Some(Item::Value(toml_edit::Value::Boolean(flag))) => {
            let mut made = InlineTable::new();
            made.insert(ENABLED, (*flag.value()).into());
            table.insert(name, Item::Value(made.into()));
        }
        Some(_) => {}
    }
    let inner = table.get_mut(name).and_then(Item::as_table_like_mut);
    inner.is_some_and(|inner| insert(inner, rest, value))
}

/// Takes a value away, and the table it was alone in.
fn remove(table: &mut dyn TableLike, names: &[&str]) {
    match names {
        [] => {}
        [name] => {
            if table.get(name).is_some_and(|item| !item.is_table_like()) {
                table.remove(name);
            }
        }
        [name, rest @ ..] => {
            let Some(inner) = table.get_mut(name).and_then(Item::as_table_like_mut) else {
                return;
            };
            let had = !inner.is_empty();
            remove(inner, rest);
            if had && inner.is_empty() {
                table.remove(name);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn set(old: &str, key: &str, text: &str) -> Result<String, String> {
        let (given, issues) = flags_layer([format!("{key}={text}").as_str()]);
        if let Some(issue) = issues.first() {
            return Err(issue.to_string());
        }
        let value = given.values.get(key).map(|given| given.value.clone());
        edited(old, FileLayer::User, key, value.as_ref(), text).map_err(|why| format!("{why:?}"))
    }

    fn unset(old: &str, key: &str) -> String {
        edited(old, FileLayer::User, key, None, "").unwrap()
    }

    #[test]
    fn one_value_changes_and_every_other_byte_stays() {
        let old = "# mine\n[compact]\nauto = false # for now\n\n[notes]\nstart = 5_000\n";
        let cases = [
            (
                "compact.auto",
                "on",
                "# mine\n[compact]\nauto = true # for now\n\n[notes]\nstart = 5_000\n",
            ),
            (
                "compact",
                "off",
                "# mine\n[compact]\nauto = false # for now\nenabled = false\n\n[notes]\nstart = 5_000\n",
            ),
            // The same value, written otherwise: nothing to do.
            ("notes.start", "5000", old),
        ];
        for (key, text, expected) in cases {
            assert_eq!(set(old, key, text).unwrap(), expected, "{key}={text}");
        }
    }

    #[test]
    fn tables_are_made_and_a_bare_switch_makes_room_for_members() {
        assert_eq!(
            set("", "notes.start", "7000").unwrap(),
            "[notes]\nstart = 7000\n"
        );
        let text = set("compact = false\n", "compact.auto", "off").unwrap();
        assert_eq!(text, "compact = { enabled = false, auto = false }\n");
    }

    #[test]
    fn a_setting_is_taken_away_with_the_table_it_was_alone_in() {
        let old = "[compact]\nauto = false\n[notes]\nstart = 1\n";
        assert_eq!(unset(old, "compact.auto"), "[notes]\nstart = 1\n");
        assert_eq!(unset("compact = false\n", "compact"), "");
        assert_eq!(unset("# only words\n", "compact.auto"), "# only words\n");
    }

    #[test]
    fn a_file_that_is_broken_is_left_alone() {
        assert!(set("[compact\n", "notes.start", "7000").is_err());
        assert!(set("", "notes.strat", "7000").is_err());
        assert!(set("", "notes.start", "soon").is_err());
    }

    /// Every kind of value comes back from the file as it was typed.
    #[test]
    fn the_default_of_every_setting_can_be_written() {
        for setting in all_settings().filter(|setting| !setting.hidden) {
            let Some(default) = setting.default_value() else {
                continue;
            };
            // A shell takes the quotation marks away before the program sees a word.
            let typed = default.to_string();
            let text = set("", setting.key, typed.trim_matches('"'));
            assert!(text.is_ok(), "{}: {default}: {text:?}", setting.key);
        }
    }
}
