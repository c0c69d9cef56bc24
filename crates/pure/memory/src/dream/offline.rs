//! A dream without a model.
//!
//! # Model
//! Four steps in a fixed order: relative dates get their day, logs are distilled, duplicates are
//! merged, the index is mended. Each is careful enough that nothing needs to be understood, and
//! dreaming again changes nothing.
//!
//! # Not here
//! The steps themselves (`dating`, `distil`, `merge`, `tidy`).

use super::dating::{Writing, absolute};
use super::merge::{is_untouchable, merge, set};
use super::{Draft, Stated, What, distil, tidy};
use crate::index::{self, Limits};
use crate::snapshot::{INDEX, Snapshot, is_pinned};
use crate::topic::{self, Field, Topic};
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;

/// Facts that an offline dream needs.
#[derive(Clone, Debug)]
pub struct OfflineFacts {
    /// Day of the dream.
    pub today: Date,
    /// Facts about the time of writing of memories.
    pub writing: Writing,
    /// Limits of the index.
    pub index: Limits,
}

/// Dreams without a model.
pub fn offline(before: &Snapshot, facts: &OfflineFacts) -> Draft {
    let mut after = before.clone();
    let mut changes = Vec::new();
    // Dates first: merged later, a memory has no single day of writing any more.
    date(&mut after, &mut changes, &facts.writing);
    distil::distil(&mut after, &mut changes, facts.today);
    merge(&mut after, &mut changes, facts.today);
    let text = tidy::settled(&after, facts.today, facts.index);
    if text != before.index()
        && let Ok(path) = SafePath::parse(INDEX)
    {
        tidy::put(&mut after, text);
        changes.push(Stated {
            path,
            what: What::Indexed,
            reason: "a line for each memory that holds, none for others".to_owned(),
            sources: Vec::new(),
        });
    }
    Draft { after, changes }
}

/// Gives relative dates the day they mean.
fn date(snapshot: &mut Snapshot, changes: &mut Vec<Stated>, writing: &Writing) {
    let dated: Vec<(SafePath, Topic, String)> = snapshot
        .topics()
        .filter(|(path, _)| !is_pinned(path))
        .filter_map(|(path, file)| {
            let text = std::str::from_utf8(&file.content).ok()?;
            let topic = Topic::read(text);
            // The parts of a merged file were written on different days, and dated before.
            let written = writing
                .day(file, &topic)
                .filter(|_| topic.sources.is_empty())?;
            let kind = topic.kind;
            let description = absolute(&topic.description, written, kind);
            let body = absolute(&text[topic.body..], written, kind);
            if description.is_none() && body.is_none() {
                return None;
            }
            let body = body.as_deref().unwrap_or(&text[topic.body..]);
            let mut new = format!("{}{body}", &text[..topic.body]);
            if let Some(description) = description {
                new = topic::edit(&new, &[Field::Description(description)]);
            }
            (!is_untouchable(path, text)).then(|| (path.clone(), topic, new))
        })
        .collect();
    for (path, old, text) in dated {
        relist(snapshot, &path, &old, &Topic::read(&text));
        set(snapshot, &path, text);
        changes.push(Stated {
            path: path.clone(),
            what: What::Dated,
            reason: "relative dates got the day they mean".to_owned(),
            sources: vec![path],
        });
    }
}

/// Keeps an index line that repeats the description in step with it.
fn relist(snapshot: &mut Snapshot, path: &SafePath, old: &Topic, new: &Topic) {
    let text = snapshot.index();
    let entry = index::entries(&text)
        .into_iter()
        .find(|entry| entry.target == path.as_str());
    let Some(entry) = entry else {
        return;
    };
    if text[entry.range.clone()].trim_end() == tidy::line_of(path, old) {
        let end = if text[entry.range.clone()].ends_with('\n') {
            "\n"
        } else {
            ""
        };
        let line = tidy::line_of(path, new);
        let (head, tail) = (&text[..entry.range.start], &text[entry.range.end..]);
        tidy::put(snapshot, format!("{head}{line}{end}{tail}"));
    }
}

#[cfg(test)]
#[path = "offline_tests.rs"]
mod tests;
