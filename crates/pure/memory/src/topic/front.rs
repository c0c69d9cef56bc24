//! Front matter: its bounds and its values.

use serde_json::{Map, Value};
use std::ops::Range;

/// Longest front matter, in bytes. A note that merely begins with a rule (`---`) must not be read
/// as keys to its end; ours has a few hundred bytes.
const MOST_BYTES: usize = 64 * 1024;

/// Bounds of a file's front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    /// Bytes between the fences, without them.
    pub inner: Range<usize>,
    /// Line ending of the opening fence; edits use the same one.
    pub newline: &'static str,
}

/// Key at the left edge, with everything up to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) range: Range<usize>,
}

/// Cuts a file into front matter and body; the number is the byte offset of the body.
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
        // YAML ends a document with either.
        if matches!(line.trim_end(), "---" | "...") {
            let front = FrontMatter {
                inner: inner..at,
                newline,
            };
            return (Some(front), next);
        }
        // No closing fence: the file is all body.
        if next - inner > MOST_BYTES || next == text.len() {
            break;
        }
        at = next;
    }
    (None, start)
}

/// Line at an offset without its newline, and the offset of the next one.
fn line_at(text: &str, at: usize) -> Option<(&str, usize)> {
    let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
    match rest.find('\n') {
        Some(end) => Some((&rest[..end], at + end + 1)),
        None => Some((rest, text.len())),
    }
}

impl FrontMatter {
    /// Keys and values of valid YAML; `None` for anything else, duplicate keys among it.
    pub(crate) fn mapping(&self, text: &str) -> Option<Map<String, Value>> {
        match serde_saphyr::from_str::<Value>(&text[self.inner.clone()]) {
            Ok(Value::Object(map)) => Some(map),
            Ok(_) | Err(_) => None,
        }
    }

    /// Keys and values. Invalid YAML is read line by line, because an unquoted colon in a
    /// description is common and must not cost the type and the trust.
    pub fn values(&self, text: &str) -> Map<String, Value> {
        self.mapping(text)
            .unwrap_or_else(|| self.plain_values(text))
    }

    /// `key: value` at the left edge; everything behind the first colon is the value.
    fn plain_values(&self, text: &str) -> Map<String, Value> {
        let entries = self.entries(text);
        let value = |entry: Entry| {
            let lines = &text[entry.range];
            let (_, value) = lines.split_once(':')?;
            let value = value.trim();
            // Values that Dormouse wrote are valid by themselves, whatever stands around them.
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

    /// Keys at the left edge with their lines. Comments and blank lines before a key belong to
    /// none, so that replacing a key keeps them.
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
            // A comment ends the value; indented lines behind it are not ours to replace.
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

/// Key of a line at the left edge; `None` for comments, list items and continuation lines.
fn key_of(line: &str) -> Option<&str> {
    if line.starts_with([' ', '\t', '#', '-']) {
        return None;
    }
    let (key, rest) = line.split_once(':')?;
    // `http://…` has a colon, too, but no blank behind it.
    let ends = rest.is_empty() || rest.starts_with([' ', '\t', '\r']);
    let key = key.trim_end().trim_matches(['"', '\'']);
    (ends && !key.is_empty()).then_some(key)
}
