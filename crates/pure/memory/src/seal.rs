//! Seal: the provenance of a memory whose text others wrote.
//!
//! # Model
//! A model that writes files by the memory tool writes their front matter, too. `trust`, `origin`,
//! `pinned` and the user's judgements (`useful`, `wrong`) are not its to say: they are taken out of whatever it wrote, in any spelling, and stated
//! anew by code, from the writer ([`sealed`]). The model does not see them ([`unsealed`]): it reads
//! back just the text that it wrote.
//!
//! Front matter that cannot be understood beyond doubt (duplicate keys, flow mappings, escapes,
//! anchors, merge keys) is not edited but written anew from the keys that were understood.
//!
//! # Not here
//! The trust of a writer ([`crate::trust`]); memories that extraction renders ([`crate::write`](mod@crate::write)).

use crate::topic::{self, Field, Topic, split};
use crate::trust::{Origin, Trust};
use deunicode::deunicode;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Keys that only code writes.
const SEALED: [&str; 5] = ["trust", "origin", "pinned", "useful", "wrong"];

/// Provenance of a text, from its writer.
#[derive(Clone, Debug, PartialEq)]
pub struct Seal {
    /// Trust that the text deserves.
    pub trust: Trust,
    /// Component that wrote it, and when.
    pub origin: Origin,
}

impl Seal {
    fn fields(&self) -> [Field; 2] {
        [Field::Origin(self.origin.clone()), Field::Trust(self.trust)]
    }

    /// True if a reader of the text finds this provenance.
    fn holds(&self, text: &str) -> bool {
        let topic = Topic::read(text);
        topic.trust == Some(self.trust) && topic.origin.as_ref() == Some(&self.origin)
    }
}

/// Text of a memory with its provenance. Everything else stays as it was written, where that can be
/// told apart.
pub fn sealed(text: &str, seal: &Seal) -> String {
    let (front, _) = split(text);
    let Some(front) = front.filter(|front| !text[front.inner.clone()].trim().is_empty()) else {
        return topped(text, seal);
    };
    // Lines of keys that are not the writer's to say.
    let mut bare = String::with_capacity(text.len());
    let mut at = 0;
    for entry in front.entries(text) {
        if is_sealed(&entry.key) {
            bare.push_str(&text[at..entry.range.start]);
            at = entry.range.end;
        }
    }
    bare.push_str(&text[at..]);
    let edited = is_plain(&bare).then(|| topic::edit(&bare, &seal.fields()));
    edited
        .filter(|edited| seal.holds(edited))
        .unwrap_or_else(|| restated(text, seal))
}

/// Text with front matter of its own above it; a byte order mark stays in front.
fn topped(text: &str, seal: &Seal) -> String {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mark = &text[..text.len() - rest.len()];
    let front = topic::edit("", &seal.fields());
    // Always one blank line, so that taking the front matter away gives the text back.
    format!("{mark}{front}\n{rest}")
}

/// Front matter written anew, from the keys that are understood.
fn restated(text: &str, seal: &Seal) -> String {
    let topic = Topic::read(text);
    let mut fields = Vec::new();
    if !topic.name.is_empty() {
        fields.push(Field::Name(topic.name));
    }
    if !topic.description.is_empty() {
        fields.push(Field::Description(topic.description));
    }
    fields.extend(topic.kind.map(Field::Kind));
    fields.push(Field::Triggers(topic.triggers));
    fields.push(Field::ValidUntil(topic.valid_until));
    fields.push(Field::SupersededBy(topic.superseded_by));
    fields.extend(seal.fields());
    let front = topic::edit("", &fields);
    let body = &text[topic.body..];
    let gap = if body.starts_with(['\n', '\r']) {
        ""
    } else {
        "\n"
    };
    format!("{front}{gap}{body}")
}

/// True if the lines of front matter say just what a reader of YAML finds in it, and none of it is
/// provenance.
fn is_plain(text: &str) -> bool {
    let (Some(front), _) = split(text) else {
        return false;
    };
    let keys: Vec<String> = front
        .entries(text)
        .into_iter()
        .map(|entry| entry.key)
        .collect();
    let Some(values) = front.mapping(text) else {
        // Only comments and blanks, which say nothing.
        let inner = text[front.inner].lines();
        return keys.is_empty()
            && inner
                .map(str::trim)
                .all(|line| line.is_empty() || line.starts_with('#'));
    };
    let known = keys.len() == values.len() && keys.iter().all(|key| values.contains_key(key));
    known && !names_sealed(&values)
}

/// True if a key on any level looks like one of provenance.
fn names_sealed(values: &Map<String, Value>) -> bool {
    values.iter().any(|(key, value)| {
        let inside = match value {
            Value::Object(inner) => names_sealed(inner),
            Value::Array(items) => items.iter().filter_map(Value::as_object).any(names_sealed),
            _ => false,
        };
        inside || is_sealed(key)
    })
}

/// True for a key that is, or looks like, one of provenance: in capitals, in letters of other
/// scripts, with marks or invisible characters in it.
fn is_sealed(key: &str) -> bool {
    let letters: String = deunicode(key)
        .chars()
        .filter(char::is_ascii_alphabetic)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    SEALED.contains(&letters.as_str())
}

/// Text without the provenance that [`sealed`] put there: as its writer knows it.
pub fn unsealed(text: &str) -> Cow<'_, str> {
    let (Some(front), body) = split(text) else {
        return Cow::Borrowed(text);
    };
    let entries = front.entries(text);
    let own = |key: &str| key != "pinned" && SEALED.contains(&key);
    if !entries.iter().any(|entry| own(&entry.key)) {
        return Cow::Borrowed(text);
    }
    let mut bare = String::with_capacity(text.len());
    let mut at = front.inner.start;
    for entry in entries.iter().filter(|entry| own(&entry.key)) {
        bare.push_str(&text[at..entry.range.start]);
        at = entry.range.end;
    }
    bare.push_str(&text[at..front.inner.end]);
    if bare.trim().is_empty() {
        let mark = if text.starts_with('\u{feff}') {
            "\u{feff}"
        } else {
            ""
        };
        let rest = &text[body..];
        let rest = rest
            .strip_prefix("\r\n")
            .or_else(|| rest.strip_prefix('\n'))
            .unwrap_or(rest);
        return Cow::Owned(format!("{mark}{rest}"));
    }
    let (head, tail) = (&text[..front.inner.start], &text[front.inner.end..]);
    Cow::Owned(format!("{head}{bare}{tail}"))
}

#[cfg(test)]
#[path = "seal_tests.rs"]
mod tests;
