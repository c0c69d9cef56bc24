//! A dream without a model.
//!
//! # Model
//! Four steps in a fixed order: relative dates get their day, logs are distilled, duplicates are
//! merged, the index is mended. Each is careful enough that nothing needs to be understood, and
//! dreaming again changes nothing.
//!
//! # Not here
//! The steps themselves (`dating`, `distil`, `merge`); mending the index ([`crate::index`]).

use super::dating::{Writing, absolute};
use super::merge::{is_untouchable, merge, set};
use super::{Draft, Stated, What, distil};
use crate::index::{self, IndexFacts, IndexPast, Limits, Missing};
use crate::snapshot::{INDEX, Snapshot, is_pinned};
use crate::topic::{self, Field};
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
    /// Facts of the journal about the files of the index.
    pub past: IndexPast,
}

/// Dreams without a model.
pub fn offline(before: &Snapshot, facts: &OfflineFacts) -> Draft {
    let mut after = before.clone();
    let mut changes = Vec::new();
    // Dates first: merged later, a memory has no single day of writing any more.
    date(&mut after, &mut changes, &facts.writing);
    distil::distil(&mut after, &mut changes, facts.today);
    merge(&mut after, &mut changes, facts.today);
    // Files that this dream merged are gone by its own hand, and their lines with them.
    let past = facts.past.after(before, &after);
    let text = index::mended(
        &after,
        &IndexFacts {
            today: facts.today,
            limits: facts.index,
            past: &past,
            missing: Missing::Keep,
        },
    );
    if text != before.index()
        && let Ok(path) = SafePath::parse(INDEX)
    {
        index::put(&mut after, text);
        changes.push(Stated {
            path,
            what: What::Indexed,
            reason: "lines of Dormouse's follow the files; a person's stay".to_owned(),
            sources: Vec::new(),
        });
    }
    Draft { after, changes }
}

/// Gives relative dates the day they mean.
fn date(snapshot: &mut Snapshot, changes: &mut Vec<Stated>, writing: &Writing) {
    let dated: Vec<(SafePath, String)> = snapshot
        .read_topics()
        .filter(|(path, _, _)| !is_pinned(path))
        .filter_map(|(path, file, topic)| {
            let text = std::str::from_utf8(&file.content).ok()?;
            // The parts of a merged file were written on different days, and dated before.
            let written = writing
                .day(file, topic)
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
            (!is_untouchable(path, text)).then(|| (path.clone(), new))
        })
        .collect();
    for (path, text) in dated {
        set(snapshot, &path, text);
        changes.push(Stated {
            path: path.clone(),
            what: What::Dated,
            reason: "relative dates got the day they mean".to_owned(),
            sources: vec![path],
        });
    }
}

#[cfg(test)]
#[path = "offline_tests.rs"]
mod tests;
