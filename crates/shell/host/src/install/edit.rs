//! One entry in a settings file of another program, and every other byte as it was.
//!
//! # Model
//! Text in, text out. An entry is named by its keys from the outside in. [`add`] only adds: the old
//! text is in the new one, in order, byte for byte, or the edit is refused. A file that cannot be
//! parsed is refused and never begun anew: installers that took such a file for an empty one have
//! cost people their settings.
//!
//! # Not here
//! Files, backups, receipts: the modules beside this one.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;
use toml_edit::{DocumentMut, Item, Table, TableLike};

/// Notation of a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    /// JSON, in which comments and trailing commas may stand.
    Json,
    /// TOML with its tables and comments.
    Toml,
}

/// Reason why a text is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditRefusal {
    /// The text is not in its notation.
    #[error("{0}")]
    Unparsable(String),
    /// A value on the way to the entry is no table of values.
    #[error("`{0}` is there and holds no entries")]
    NotAContainer(String),
    /// A name on the way to the entry stands in the text twice.
    #[error("`{0}` stands there twice")]
    Twice(String),
    /// The new text would not contain the old one.
    #[error("the entry cannot be added without changing other lines")]
    Rewrites,
}

/// A text with an entry in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Added {
    /// The text with the entry.
    pub(super) text: String,
    /// Containers that were made for it, from the outside in, by their keys.
    pub(super) made: Vec<Vec<String>>,
}

/// Adds an entry that is not there. An empty text is a file without entries.
pub(super) fn add(
    notation: Notation,
    text: &str,
    keys: &[String],
    value: &Value,
) -> Result<Added, EditRefusal> {
    let added = match notation {
        Notation::Json => add_json(text, keys, value)?,
        Notation::Toml => add_toml(text, keys, value)?,
    };
    // The promise of this module, held whatever the libraries below do.
    let holds = contains_in_order(added.text.as_bytes(), text.as_bytes())
        && get(notation, &added.text, keys)?.as_ref() == Some(value);
    if holds {
        Ok(added)
    } else {
        Err(EditRefusal::Rewrites)
    }
}

/// Removes an entry, and then the containers of the list that are empty.
pub(super) fn remove(
    notation: Notation,
    text: &str,
    keys: &[String],
    made: &[Vec<String>],
) -> Result<String, EditRefusal> {
    match notation {
        Notation::Json => {
            let root = parse_json(text)?;
            for path in std::iter::once(keys).chain(made.iter().rev().map(Vec::as_slice)) {
                let Some((last, outer)) = path.split_last() else {
                    continue;
                };
                let Some(holder) = object_at(&root, outer)? else {
                    continue;
                };
                if let Some(property) = holder.get(last) {
                    let is_entry = path == keys;
                    let inner = property.object_value();
                    let is_empty = inner.is_some_and(|inner| inner.properties().is_empty());
                    if is_entry || is_empty {
                        property.remove();
                    }
                }
            }
            Ok(root.to_string())
        }
        Notation::Toml => {
            let mut document = parse_toml(text)?;
            for path in std::iter::once(keys).chain(made.iter().rev().map(Vec::as_slice)) {
                let Some((last, outer)) = path.split_last() else {
                    continue;
                };
                let Some(holder) = table_at(document.as_table_mut(), outer)? else {
                    continue;
                };
                let inner = holder.get(last).and_then(Item::as_table_like);
                let is_empty = inner.is_some_and(TableLike::is_empty);
                if path == keys || is_empty {
                    holder.remove(last);
                }
            }
            Ok(document.to_string())
        }
    }
}

/// Value of an entry, if the text has it.
pub(super) fn get(
    notation: Notation,
    text: &str,
    keys: &[String],
) -> Result<Option<Value>, EditRefusal> {
    let Some((last, outer)) = keys.split_last() else {
        return Ok(None);
    };
    match notation {
        Notation::Json => {
            let root = parse_json(text)?;
            let holder = object_at(&root, outer)?;
            let property = holder.and_then(|holder| holder.get(last));
            Ok(property
                .and_then(|property| property.value())
                .and_then(|value| value.to_serde_value()))
        }
        Notation::Toml => {
            let mut document = parse_toml(text)?;
            let holder = table_at(document.as_table_mut(), outer)?;
            Ok(holder.and_then(|holder| holder.get(last)).map(json_of))
        }
    }
}

/// The whole text as a value; `None` for a text without one.
pub(super) fn whole(text: &str) -> Result<Option<Value>, EditRefusal> {
    Ok(parse_json(text)?.to_serde_value())
}

fn add_json(text: &str, keys: &[String], value: &Value) -> Result<Added, EditRefusal> {
    let root = parse_json(text)?;
    let fresh = root.value().is_none();
    let (last, outer) = keys
        .split_last()
        .ok_or_else(|| EditRefusal::NotAContainer(String::new()))?;
    let none = || EditRefusal::NotAContainer("the file".to_owned());
    let mut object = root.object_value_or_create().ok_or_else(none)?;
    let mut made = Vec::new();
    for (depth, key) in outer.iter().enumerate() {
        once(&object, key)?;
        if object.get(key).is_none() {
            made.push(keys[..=depth].to_vec());
        }
        let inner = object.object_value_or_create(key);
        object = inner.ok_or_else(|| EditRefusal::NotAContainer(key.clone()))?;
    }
    once(&object, last)?;
    object.append(last, input(value));
    let mut text = root.to_string();
    if fresh && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(Added { text, made })
}

/// Refuses a name that an object has twice: programs differ in which of the two they take.
fn once(object: &CstObject, key: &str) -> Result<(), EditRefusal> {
    let properties = object.properties();
    let named = properties
        .iter()
        .filter(|property| property.decoded_name().as_deref() == Some(key));
    if named.count() > 1 {
        return Err(EditRefusal::Twice(key.to_owned()));
    }
    Ok(())
}

/// The object at a path, if everything on the way is there.
fn object_at(root: &CstRootNode, keys: &[String]) -> Result<Option<CstObject>, EditRefusal> {
    let Some(mut object) = root.object_value() else {
        return Ok(None);
    };
    for key in keys {
        once(&object, key)?;
        let Some(property) = object.get(key) else {
            return Ok(None);
        };
        let inner = property.object_value();
        object = inner.ok_or_else(|| EditRefusal::NotAContainer(key.clone()))?;
    }
    Ok(Some(object))
}

fn parse_json(text: &str) -> Result<CstRootNode, EditRefusal> {
    // Comments and trailing commas are what such files are known to have; more than that is a
    // mistake, which the program itself would refuse, too.
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = CstRootNode::parse(text, &options);
    parsed.map_err(|error| EditRefusal::Unparsable(error.to_string()))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(map) => {
            let each = map.iter().map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(each.collect())
        }
    }
}

fn add_toml(text: &str, keys: &[String], value: &Value) -> Result<Added, EditRefusal> {
    let mut document = parse_toml(text)?;
    let (last, outer) = keys
        .split_last()
        .ok_or_else(|| EditRefusal::NotAContainer(String::new()))?;
    let (mut made, mut on_one_line) = (Vec::new(), false);
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, key) in outer.iter().enumerate() {
        if !table.contains_key(key) {
            made.push(keys[..=depth].to_vec());
            let mut inner = Table::new();
            // Its header would stand there without an entry of its own.
            inner.set_implicit(true);
            table.insert(key, Item::Table(inner));
        }
        let none = || EditRefusal::NotAContainer(key.clone());
        let item = table.get_mut(key).ok_or_else(none)?;
        on_one_line |= item.is_inline_table();
        table = item.as_table_like_mut().ok_or_else(none)?;
    }
    let mut entry = Table::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        if let Some(value) = toml_of(value) {
            entry.insert(key, Item::Value(value));
        }
    }
    // In a table that stands on one line the entry does, too.
    let item = if on_one_line {
        Item::Value(toml_edit::Value::InlineTable(entry.into_inline_table()))
    } else {
        Item::Table(entry)
    };
    table.insert(last, item);
    let mut text = document.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(Added { text, made })
}

fn table_at<'a>(
    table: &'a mut dyn TableLike,
    keys: &[String],
) -> Result<Option<&'a mut dyn TableLike>, EditRefusal> {
    let Some((key, rest)) = keys.split_first() else {
        return Ok(Some(table));
    };
    match table.get_mut(key) {
        None => Ok(None),
        Some(item) => match item.as_table_like_mut() {
            Some(inner) => table_at(inner, rest),
            None => Err(EditRefusal::NotAContainer(key.clone())),
        },
    }
}

fn parse_toml(text: &str) -> Result<DocumentMut, EditRefusal> {
    let parsed: Result<DocumentMut, toml_edit::TomlError> = text.parse();
    parsed.map_err(|error| EditRefusal::Unparsable(error.message().to_owned()))
}

fn toml_of(value: &Value) -> Option<toml_edit::Value> {
    match value {
        Value::Bool(value) => Some((*value).into()),
        Value::Number(value) => value.as_i64().map(Into::into),
        Value::String(value) => Some(value.as_str().into()),
        Value::Array(values) => {
            let values = values.iter().filter_map(toml_of);
            Some(toml_edit::Value::Array(values.collect()))
        }
        // No entry has tables inside, and the notation has no null.
        Value::Null | Value::Object(_) => None,
    }
}

fn json_of(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => json_of_value(value),
        Item::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, item)| (key.to_owned(), json_of(item)))
                .collect(),
        ),
        Item::ArrayOfTables(tables) => {
            let each = tables
                .iter()
                .map(|table| json_of(&Item::Table(table.clone())));
            Value::Array(each.collect())
        }
    }
}

fn json_of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().clone().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Datetime(at) => at.value().to_string().into(),
        toml_edit::Value::Array(values) => values.iter().map(json_of_value).collect(),
        toml_edit::Value::InlineTable(table) => Value::Object(
            table
                .iter()
                .map(|(key, value)| (key.to_owned(), json_of_value(value)))
                .collect(),
        ),
    }
}

/// True if `new` has every byte of `old`, in order.
fn contains_in_order(new: &[u8], old: &[u8]) -> bool {
    let mut rest = new.iter();
    old.iter().all(|byte| rest.any(|other| other == byte))
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
