//! Index compared with the files there are.
//!
//! # Not here
//! The index of a dream, which also keeps its limits ([`crate::dream`]).

use super::{IndexEntry, LONGEST_LINE, entries, line};
use crate::snapshot::{PINNED, Snapshot};
use crate::topic::{Kind, Topic};
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};

/// Memory as the index lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// File, relative to the memory directory.
    pub path: SafePath,
    /// Name of the memory, or the file's name without its ending.
    pub title: String,
    /// Description; empty if the memory has none.
    pub hook: String,
    /// Subject, which decides the heading of a generated index.
    pub kind: Option<Kind>,
}

/// Disagreements between index and files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// Lines whose file does not exist.
    pub dangling: Vec<IndexEntry>,
    /// Files without a line.
    pub unlisted: Vec<SafePath>,
    /// Lines whose file an earlier line points to already.
    pub repeated: Vec<IndexEntry>,
    /// Lines longer than [`LONGEST_LINE`].
    pub long: Vec<IndexEntry>,
}

impl Drift {
    /// True if index and files agree. A long line is a matter of taste and does not count.
    pub fn is_none(&self) -> bool {
        self.dangling.is_empty() && self.unlisted.is_empty() && self.repeated.is_empty()
    }
}

/// All memories of a snapshot, as the index would list them. Overtaken ones have no place in it.
pub fn listed(snapshot: &Snapshot, today: Date) -> Vec<Listed> {
    let current = snapshot.topics().filter_map(|(path, file)| {
        let topic = Topic::read(&file.text());
        (!topic.is_over(today)).then(|| Listed {
            path: path.clone(),
            title: title(path, &topic),
            hook: topic.description.clone(),
            kind: topic.kind,
        })
    });
    current.collect()
}

/// Title for people: the name, or the file's name without its ending.
fn title(path: &SafePath, topic: &Topic) -> String {
    if topic.name.is_empty() {
        let name = path.file_name();
        return name
            .get(..name.len().saturating_sub(3))
            .unwrap_or(name)
            .to_owned();
    }
    topic.name.clone()
}

/// Compares the index of a snapshot with its files.
pub fn drift(snapshot: &Snapshot, today: Date) -> Drift {
    let text = snapshot.index();
    let topics: BTreeSet<&str> = snapshot.topics().map(|(path, _)| path.as_str()).collect();
    let mut seen = BTreeSet::new();
    let mut drift = Drift::default();
    for entry in entries(&text) {
        // A link to a heading within a memory lists that memory.
        let target = entry
            .target
            .split('#')
            .next()
            .unwrap_or_default()
            .to_owned();
        if text[entry.range.clone()].trim_end().chars().count() > LONGEST_LINE {
            drift.long.push(entry.clone());
        }
        if !exists(snapshot, &target) {
            drift.dangling.push(entry);
        } else if !seen.insert(target) {
            drift.repeated.push(entry);
        }
    }
    let unlisted = listed(snapshot, today)
        .into_iter()
        .map(|listed| listed.path);
    // Overtaken memories are not in `listed`, so an index without them is no drift.
    let missing = |path: &SafePath| topics.contains(path.as_str()) && !seen.contains(path.as_str());
    drift.unlisted = unlisted.filter(missing).collect();
    drift
}

/// True for any file of the directory: a line may also point to a log or a folder's index.
fn exists(snapshot: &Snapshot, target: &str) -> bool {
    SafePath::parse(target).is_ok_and(|path| snapshot.get(&path).is_some())
}

/// Index with its drift mended and everything else as it was.
pub fn reconciled(snapshot: &Snapshot, today: Date) -> String {
    let text = snapshot.index();
    let drift = drift(snapshot, today);
    let gone: BTreeSet<usize> = drift
        .dangling
        .iter()
        .chain(&drift.repeated)
        .map(|entry| entry.line)
        .collect();
    let mut out = String::with_capacity(text.len());
    for (number, old) in text.split_inclusive('\n').enumerate() {
        if !gone.contains(&(number + 1)) {
            out.push_str(old);
        }
    }
    // Otherwise the first new line would join the last old one.
    if !drift.unlisted.is_empty() && !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    let all: BTreeMap<SafePath, Listed> = listed(snapshot, today)
        .into_iter()
        .map(|listed| (listed.path.clone(), listed))
        .collect();
    for path in &drift.unlisted {
        if let Some(listed) = all.get(path) {
            out.push_str(&line(&listed.title, path.as_str(), &listed.hook));
            out.push('\n');
        }
    }
    out
}

/// Index made from the files alone: pinned ones first, then by type.
pub fn generated(snapshot: &Snapshot, today: Date) -> String {
    let mut all = listed(snapshot, today);
    let pinned = |listed: &Listed| listed.path.components().next() == Some(PINNED);
    let order = |listed: &Listed| {
        // Untyped memories come last.
        let kind = listed.kind.map_or(Kind::ALL.len(), |kind| kind as usize);
        (!pinned(listed), kind)
    };
    all.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.path.cmp(&b.path)));
    let mut out = String::from("# Memory\n");
    let mut heading = "";
    for listed in &all {
        let own = match listed.kind {
            _ if pinned(listed) => "Pinned",
            Some(Kind::User) => "User",
            Some(Kind::Feedback) => "How to work",
            Some(Kind::Project) => "Project",
            Some(Kind::Reference) => "Where things are",
            None => "Other",
        };
        if own != heading {
            heading = own;
            out.push_str("\n## ");
            out.push_str(own);
            out.push_str("\n\n");
        }
        out.push_str(&line(&listed.title, listed.path.as_str(), &listed.hook));
        out.push('\n');
    }
    out
}
