//! Front matter: where it is, and what it says.

use serde_json::{Map, Value};
use std::ops::Range;

/// Longer front matter is no front matter.
const MOST_BYTES: usize = 64 * 1024;

/// The front matter of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    /// The lines between the fences.
    pub inner: Range<usize>,
    /// How lines end in it.
    pub newline: &'static str,
}

/// A key at the left edge, with everything up to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) range: Range<usize>,
}

/// Cuts a file into front matter and body; the body begins at the number given.
pub fn split(text: &str) -> (Option<FrontMatter>, usize) {
    let start = if text.starts_with('\u{feff}') {
        '\u{feff}'.len_utf8()
    } else {
        0
    };
    let Some((first, mut at)) = line_at(text, start) else {
        return (None, start);
    };
    if first.trim_end() != "---" {
        return (None, start);
    }
    let newline = if first.ends_with('\r') { "\r\n" } else { "\n" };
    let inner = at;
    while let Some((line, next)) = line_at(text, at) {
        if matches!(line.trim_end(), "---" | "...") {
            let front = FrontMatter {
                inner: inner..at,
                newline,
            };
            return (Some(front), next);
        }
        if next - inner > MOST_BYTES || next == text.len() {
            break;
        }
        at = next;
    }
    (None, start)
}

/// The line at a place, without its newline, and where the next one begins.
fn line_at(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
    match rest.find('\n') {
        Some(end) => Some((&rest[..end], at + end + 1)),
        None => Some((rest, text.len())),
    }
}

impl FrontMatter {
    /// What it says. What is no YAML is read line by line.
    pub fn values(&self, text: &str) -> Map<String, Value> {
        let inner = &text[self.inner.clone()];
        match serde_saphyr::from_str::<Value>(inner) {
            Ok(Value::Object(map)) => map,
            Ok(_) | Err(_) => self.plain_values(text),
        }
    }

    /// `key: value` at the left edge; everything behind the first colon is the value.
    fn plain_values(&self, text: &str) -> Map<String, Value> {
        let entries = self.entries(text);
        let value = |entry: Entry| {
            let lines = &text[entry.range];
            let (_, value) = lines.split_once(':')?;
            let value = value.trim();
            // What Dormouse itself wrote is readable by itself, whatever stands around it.
            if value.starts_with(['[', '{'])
                && let Ok(structured) = serde_saphyr::from_str::<Value>(value)
            {
                return Some((entry.key, structured));
            }
            let value = value.trim_matches(['"', '\'']);
            Some((entry.key, Value::String(value.to_owned())))
        };
        entries.into_iter().filter_map(value).collect()
    }

    /// The keys at the left edge with their lines. Comments and blank lines before a key belong to
    /// nobody and stay where they are.
    pub(crate) fn entries(&self, text: &str) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut at = self.inner.start;
        // Lines behind the last key that belong to it: indented ones, and list items.
        let mut open = false;
        while at < self.inner.end {
            let Some((line, next)) = line_at(text, at) else {
                break;
            };
            let next = next.min(self.inner.end);
            if let Some(key) = key_of(line) {
                entries.push(Entry {
                    key: key.to_owned(),
                    range: at..next,
                });
                open = true;
            } else if open && continues(line) {
                if let Some(last) = entries.last_mut() {
                    last.range.end = next;
                }
            } else {
                open = false;
            }
            at = next;
        }
        entries
    }
}

fn continues(line: &str) -> bool {
    line.starts_with([' ', '\t']) || line.starts_with("- ") || line.trim_end() == "-"
}

/// The key of a line at the left edge.
fn key_of(line: &str) -> Option<&str> {
    if line.starts_with([' ', '\t', '#', '-']) {
        return None;
    }
    let (key, rest) = line.split_once(':')?;
    let ends = rest.is_empty() || rest.starts_with([' ', '\t', '\r']);
    let key = key.trim_end().trim_matches(['"', '\'']);
    (ends && !key.is_empty()).then_some(key)
}
