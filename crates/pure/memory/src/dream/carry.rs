//! Companions of a merge: trust, sources, keys of other tools, links.
//!
//! # Not here
//! The decision to merge, and the text of the result (`merge`).

use super::desk::{Desk, Memory};
use super::tally::{self, Step};
use super::{Stated, What};
use crate::topic::{self, Field, Topic, Triggers};
use crate::trust::Trust;
use dormouse_guard::paths::SafePath;

/// Most files that a merged one names as its sources; the journal has all of them. A thousand copies
/// of one note would otherwise become a list longer than the note.
const MOST_SOURCES: usize = 32;

/// Front matter of a merged file, as far as it changes.
pub(super) fn fields(keeper: &Memory, gone: &Memory) -> Vec<Field> {
    let (k, g) = (&keeper.topic, &gone.topic);
    let mut sources: Vec<String> = Vec::new();
    let names = [gone.path.to_string()];
    for name in k.sources.iter().chain(&names).chain(&g.sources) {
        if !sources.contains(name) && *name != keeper.path.as_str() {
            sources.push(name.clone());
        }
    }
    sources.truncate(MOST_SOURCES);
    let mut fields = vec![Field::Sources(sources)];
    if k.name.is_empty() && !g.name.is_empty() {
        fields.push(Field::Name(g.name.clone()));
    }
    if k.description.is_empty() && !g.description.is_empty() {
        fields.push(Field::Description(g.description.clone()));
    }
    if let (None, Some(kind)) = (k.kind, g.kind) {
        fields.push(Field::Kind(kind));
    }
    // A file without a trust key counts as the user's own.
    let least = believed(k).min(believed(g));
    if least != believed(k) {
        fields.push(Field::Trust(least));
    }
    let triggers = both(&k.triggers, &g.triggers);
    if triggers != k.triggers {
        fields.push(Field::Triggers(triggers));
    }
    fields
}

/// Trust of a memory; one without a claim is the user's own.
pub(super) fn believed(topic: &Topic) -> Trust {
    topic.trust.unwrap_or(Trust::User)
}

fn both(a: &Triggers, b: &Triggers) -> Triggers {
    let join = |a: &[String], b: &[String]| {
        let mut all = a.to_vec();
        all.extend(b.iter().filter(|item| !a.contains(item)).cloned());
        all
    };
    Triggers {
        tools: join(&a.tools, &b.tools),
        paths: join(&a.paths, &b.paths),
        languages: join(&a.languages, &b.languages),
        commands: join(&a.commands, &b.commands),
    }
}

/// File with the keys of another that it does not have, as they are written there.
pub(super) fn with_keys(text: &str, other: &str) -> String {
    let (Some(theirs), _) = topic::split(other) else {
        return text.to_owned();
    };
    let text = match topic::split(text) {
        (Some(_), _) => text.to_owned(),
        // A file without front matter gets an empty one to put the keys into.
        (None, _) => topic::edit(text, &[]),
    };
    let (Some(mine), _) = topic::split(&text) else {
        return text;
    };
    let have: Vec<String> = mine.entries(&text).into_iter().map(|e| e.key).collect();
    let mut lines = String::new();
    for entry in theirs.entries(other) {
        // Our own keys are merged by `fields`, each by its meaning.
        if !have.contains(&entry.key) && !super::check::is_own_key(&entry.key) {
            lines.push_str(other[entry.range].trim_end());
            lines.push_str(mine.newline);
        }
    }
    let (head, tail) = text.split_at(mine.inner.end);
    format!("{head}{lines}{tail}")
}

/// Marks two memories as contradicting each other. Untouchable files stay unmarked.
pub(super) fn contradict(desk: &mut Desk<'_>, a: &SafePath, b: &SafePath) {
    for (path, other) in [(a, b), (b, a)] {
        let Some(memory) = desk.memory(path).filter(|memory| !memory.is_untouchable()) else {
            continue;
        };
        let mut list = contradicted(&memory.text);
        // Marked by an earlier dream: marking again would be a change without end.
        if list.iter().any(|known| known == other.as_str()) {
            continue;
        }
        list.push(other.to_string());
        let marked = topic::edit(&memory.text, &[Field::Contradicts(list)]);
        desk.set(path, marked);
        desk.state(Stated {
            path: path.clone(),
            what: What::Contradicts,
            reason: format!("{other} is about the same, but a number or a negation differs"),
            sources: vec![path.clone()],
        });
    }
}

/// Files that a memory says it contradicts.
pub(super) fn contradicted(text: &str) -> Vec<String> {
    let (Some(front), _) = topic::split(text) else {
        return Vec::new();
    };
    match front.values(text).get("contradicts") {
        Some(serde_json::Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
        Some(serde_json::Value::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    }
}

/// Lets links to a file lead to another.
pub(super) fn relink(desk: &mut Desk<'_>, from: &SafePath, to: &SafePath) {
    let bare = |path: &SafePath| path.as_str().trim_end_matches(".md").to_owned();
    let pairs = [
        (format!("[[{}]]", bare(from)), format!("[[{}]]", bare(to))),
        (format!("[[{}|", bare(from)), format!("[[{}|", bare(to))),
        (format!("[[{from}"), format!("[[{to}")),
        (format!("]({from})"), format!("]({to})")),
    ];
    for memory in desk.linking(from) {
        tally::add(Step::Linked, 1);
        let mut text = memory.text.clone();
        for (old, new) in &pairs {
            if text.contains(old.as_str()) {
                text = text.replace(old.as_str(), new);
            }
        }
        text = follow(&text, &memory.topic, from, to, &memory.path);
        // Writing an untouchable file would spoil the whole dream.
        if text != memory.text && !memory.is_untouchable() {
            desk.set(&memory.path, text);
            desk.state(Stated {
                path: memory.path.clone(),
                what: What::Linked,
                reason: format!("{from} is part of {to} now"),
                sources: Vec::new(),
            });
        }
    }
}

/// Text whose keys that name other files follow a merge.
fn follow(text: &str, topic: &Topic, from: &SafePath, to: &SafePath, own: &SafePath) -> String {
    let mut fields = Vec::new();
    if topic.superseded_by.as_deref() == Some(from.as_str()) {
        fields.push(Field::SupersededBy(Some(to.to_string())));
    }
    let mut list = contradicted(text);
    if list.iter().any(|name| name == from.as_str()) {
        list.retain(|name| name != from.as_str() && name != to.as_str());
        // A file cannot contradict itself: the two are one now.
        if to != own {
            list.push(to.to_string());
        }
        fields.push(Field::Contradicts(list));
    }
    if fields.is_empty() {
        text.to_owned()
    } else {
        topic::edit(text, &fields)
    }
}
