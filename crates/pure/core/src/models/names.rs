//! Resolution of a model name, as users and providers write it, to an id of the table.
//!
//! A name is tried as it is, then without the provider's prefix, then without dates and tags at its
//! end, then with the dots of a version as dashes. Only exact matches count, and prefix rules where
//! an entry has one: `claude-opus-4-6` is no `claude-opus-4`, and an unlisted model is better
//! unknown than priced as its neighbour.

use super::Matched;
use std::collections::BTreeMap;

/// Suffix by which clients ask for the window of a million tokens; not part of the name.
const MILLION_SUFFIX: &str = "[1m]";

/// Exact names and prefix rules, each mapped to an id.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Names {
    exact: BTreeMap<String, (String, Matched)>,
    prefixes: BTreeMap<String, String>,
}

impl Names {
    /// Adds a name; returns the id of the other model that already has it, if any.
    pub(super) fn add(&mut self, name: &str, id: &str, matched: Matched) -> Option<String> {
        let name = name.trim().to_lowercase();
        let before = match name.strip_suffix('*') {
            Some(prefix) => self.prefixes.insert(prefix.to_owned(), id.to_owned()),
            None => self
                .exact
                .insert(name, (id.to_owned(), matched))
                .map(|(id, _)| id),
        };
        before.filter(|other| other != id)
    }

    pub(super) fn find(&self, query: &Query) -> Option<(&str, Matched)> {
        // Exact matches win over prefix rules, and of those the longest prefix wins: a rule for a
        // whole family must not hide an entry for one of its members.
        let exact = query.forms.iter().find_map(|form| self.exact.get(form));
        if let Some((id, matched)) = exact {
            return Some((id, *matched));
        }
        query
            .forms
            .iter()
            .flat_map(|form| {
                self.prefixes
                    .iter()
                    .filter(|(prefix, _)| form.starts_with(*prefix))
            })
            .max_by_key(|(prefix, _)| prefix.len())
            .map(|(_, id)| (id.as_str(), Matched::Prefix))
    }
}

/// Spellings of one name to try, most literal first.
pub(super) struct Query {
    forms: [String; 4],
    million_suffix: bool,
}

impl Query {
    pub(super) fn new(name: &str) -> Self {
        let lower = name.trim().to_lowercase();
        let (literal, million_suffix) = match lower.strip_suffix(MILLION_SUFFIX) {
            Some(rest) => (rest.trim_end().to_owned(), true),
            None => (lower, false),
        };
        let local = without_provider(&literal).to_owned();
        let plain = without_decoration(&local).to_owned();
        let dashed = plain.replace('.', "-");
        Self {
            forms: [literal, local, plain, dashed],
            million_suffix,
        }
    }

    pub(super) fn million_suffix(&self) -> bool {
        self.million_suffix
    }
}

/// Removes `anthropic/`, `us.anthropic.`, a resource name and similar prefixes.
fn without_provider(name: &str) -> &str {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.rsplit_once("anthropic.")
        .map_or(name, |(_, rest)| rest)
}

/// Removes dates, revisions and tags: `-20250929`, `@20250929`, `-v1:0`, `:beta`, `-latest`.
fn without_decoration(name: &str) -> &str {
    let name = name.split(['@', ':']).next().unwrap_or(name);
    let mut name = name;
    // Decorations are stacked: `-20250929-v1`.
    while let Some(shorter) = without_last_decoration(name) {
        name = shorter;
    }
    name
}

fn without_last_decoration(name: &str) -> Option<&str> {
    let (rest, last) = name.rsplit_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if last == "latest" || last.strip_prefix('v').is_some_and(digits) {
        return Some(rest);
    }
    if last.len() == 8 && digits(last) {
        return Some(rest);
    }
    // Date with dashes: `-2025-09-29`.
    let (rest, month) = rest.rsplit_once('-')?;
    let (rest, year) = rest.rsplit_once('-')?;
    let is_date = [(year, 4), (month, 2), (last, 2)]
        .iter()
        .all(|(part, len)| part.len() == *len && digits(part));
    is_date.then_some(rest)
}
