//! The settings table as documentation, for `config docs` and docs/settings.md.

use super::setting::{EnvName, Setting};
use super::table::all_settings;
use super::value::Value;
use crate::show::Grouped;
use std::fmt::Write as _;

/// A Markdown table of all settings.
pub fn reference_markdown() -> String {
    let mut page = String::from(
        "| Key | Default | Value | Who may set it | Environment | Meaning |\n|---|---|---|---|---|---|\n",
    );
    for setting in all_settings() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} | {} |",
            setting.key,
            default_cell(setting),
            cell(&value_cell(setting)),
            setting.scope,
            env_cell(setting.env),
            cell(setting.doc()),
        );
    }
    page
}

fn default_cell(setting: &Setting) -> String {
    match setting.default_value() {
        None => "–".to_owned(),
        Some(Value::Count(count)) => format!("`{}`", Grouped(count).to_string().replace(',', "_")),
        Some(value) => format!("`{}`", cell(&value.to_string())),
    }
}

fn value_cell(setting: &Setting) -> String {
    let unit = setting.unit.to_string();
    if unit.is_empty() {
        setting.kind.to_string()
    } else {
        format!("{} ({unit})", setting.kind)
    }
}

fn env_cell(names: &[EnvName]) -> String {
    let names = names.iter().map(|variable| {
        if variable.negates {
            format!("`{}` (off)", variable.name)
        } else {
            format!("`{}`", variable.name)
        }
    });
    names.collect::<Vec<_>>().join(", ")
}

/// Text that cannot end a table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
