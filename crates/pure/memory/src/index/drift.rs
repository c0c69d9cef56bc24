//! Report on an index: lines that mending changes, and lines that only a person can change.
//!
//! # Not here
//! Mending (`mend`), which this report follows: an index that was mended has nothing to mend.

use super::mend::{self, Gone, Piece, exists, is_own};
use super::{Form, IndexEntry, IndexFacts, LONGEST_LINE, entries, is_listed};
use crate::snapshot::{PINNED, Snapshot, StoredFile, is_topic};
use crate::topic::{Kind, Topic};
use dormouse_guard::paths::SafePath;
use jiff::civil::Date;
use std::collections::{BTreeMap, BTreeSet};

/// Disagreements between index and files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drift {
    /// Memories without a line that mending lists.
    pub unlisted: Vec<SafePath>,
    /// Lines of Dormouse's that say what their file said earlier; mending updates them.
    pub outdated: Vec<IndexEntry>,
    /// Lines that mending removes, with the reason.
    pub removable: Vec<(IndexEntry, &'static str)>,
    /// A person's lines whose file is not here, though Dormouse did not remove it.
    pub missing: Vec<IndexEntry>,
    /// Links in text of a person's to files that Dormouse removed.
    pub left: Vec<IndexEntry>,
    /// A person's lines that repeat an earlier description of their file.
    pub stale: Vec<IndexEntry>,
    /// A person's lines about memories that no longer hold.
    pub over: Vec<IndexEntry>,
    /// Lines about a memory that an earlier line is about.
    pub repeated: Vec<IndexEntry>,
    /// Lines longer than [`LONGEST_LINE`].
    pub long: Vec<IndexEntry>,
    /// Number of memories without a line because the index is full.
    pub unfit: usize,
    /// True if mending changes the index.
    pub mendable: bool,
}

impl Drift {
    /// True if index and files agree. A matter of taste (a long line, a second one) does not count.
    pub fn is_none(&self) -> bool {
        !self.mendable && self.missing.is_empty()
    }
}

/// Compares the index of a snapshot with its files.
pub fn drift(snapshot: &Snapshot, facts: &IndexFacts<'_>) -> Drift {
    let text = snapshot.index();
    let plan = mend::plan(snapshot, facts);
    let links = entries(&text);
    let topics: BTreeMap<&SafePath, (&Topic, &StoredFile)> = links
        .iter()
        .filter(|link| is_topic(&link.path))
        .filter_map(|link| {
            let file = snapshot.get(&link.path)?;
            Some((&link.path, (snapshot.topic(&link.path)?, file)))
        })
        .collect();
    let mut drift = Drift {
        mendable: plan.text != text,
        unfit: plan.unfit,
        unlisted: plan.added,
        ..Drift::default()
    };
    let mut seen = BTreeSet::new();
    for link in &links {
        let here = |range: &std::ops::Range<usize>| range.contains(&link.link.start);
        let piece = plan.pieces.iter().find(|piece| match piece {
            Piece::Person(range) | Piece::Own(range, ..) | Piece::Gone(range, ..) => here(range),
        });
        match piece {
            Some(Piece::Gone(_, _, why)) => {
                if let Some(why) = removal(*why) {
                    drift.removable.push((link.clone(), why));
                }
                continue;
            }
            Some(Piece::Own(range, _, line)) => {
                if text[range.clone()].trim_end_matches(['\r', '\n']) != line {
                    drift.outdated.push(link.clone());
                }
            }
            _ => person(link, snapshot, &topics, facts, &text, &mut drift),
        }
        if link.form == Form::Entry {
            let length = text[link.range.clone()].trim_end().chars().count();
            if length > LONGEST_LINE {
                drift.long.push(link.clone());
            }
            if !seen.insert(&link.path) {
                drift.repeated.push(link.clone());
            }
        }
    }
    drift
}

/// Looks at a link in a person's line.
fn person(
    link: &IndexEntry,
    snapshot: &Snapshot,
    topics: &BTreeMap<&SafePath, (&Topic, &StoredFile)>,
    facts: &IndexFacts<'_>,
    text: &str,
    drift: &mut Drift,
) {
    if !exists(snapshot, &link.path) {
        let removed = facts.past.removed(&link.path, &text[link.range.clone()]);
        let list = if removed {
            &mut drift.left
        } else {
            &mut drift.missing
        };
        list.push(link.clone());
        return;
    }
    let Some((topic, _)) = topics.get(&link.path) else {
        return;
    };
    if topic.is_over(facts.today) {
        drift.over.push(link.clone());
    } else if link.hook != topic.description
        && !is_own(text, link, topics, facts.past)
        && facts.past.described(&link.path, &link.hook)
    {
        drift.stale.push(link.clone());
    }
}

/// Reason for people why a line goes, to be read behind its file's name.
const fn removal(why: Gone) -> Option<&'static str> {
    match why {
        Gone::Removed => Some("which was removed"),
        Gone::Twice => Some("which has another line"),
        Gone::Over => Some("which no longer holds"),
        Gone::Untrusted => Some("which is not trusted"),
        Gone::Missing => Some("which is not here"),
        Gone::Remark => None,
    }
}

/// Index made from the files alone: pinned ones first, then by type.
pub fn generated(snapshot: &Snapshot, today: Date) -> String {
    let mut all: Vec<(&SafePath, Topic)> = snapshot
        .topics()
        .map(|(path, file)| (path, Topic::read(&file.text())))
        .filter(|(_, topic)| is_listed(topic, today))
        .collect();
    let pinned = |path: &SafePath| path.components().next() == Some(PINNED);
    let order = |(path, topic): &(&SafePath, Topic)| {
        // Untyped memories come last.
        let kind = topic.kind.map_or(Kind::ALL.len(), |kind| kind as usize);
        (!pinned(path), kind, (*path).clone())
    };
    all.sort_by_cached_key(order);
    let mut out = String::from("# Memory\n");
    let mut heading = "";
    for (path, topic) in &all {
        let own = match topic.kind {
            _ if pinned(path) => "Pinned",
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
        out.push_str(&super::line_of(path, topic));
        out.push('\n');
    }
    out
}
