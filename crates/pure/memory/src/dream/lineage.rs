//! Lineage of the statements of a dream.
//!
//! # Model
//! The lineage of a changed file is its earlier self, the files it says it was made of, those the
//! dream declares, and those that support its new sentences. Every new sentence must have support,
//! and the file has no more trust than the least of its lineage. Parts of the lineage that a model
//! forgets to write down are added by code ([`stamped`]).
//!
//! # Not here
//! Comparing one sentence with its sources (`support`); the other objections ([`super::check()`]).

use super::check::{Check, CheckLimits, SUPPORT_PERCENT, front, is_own_key};
use super::distil::MARK;
use super::merge::set;
use super::sentence::{Sentence, unlinked};
use super::support::{Ground, Side, source_trust};
use super::{Declared, Objection};
use crate::daily;
use crate::index;
use crate::snapshot::{INDEX, Snapshot, is_pinned, is_topic};
use crate::topic::{self, Field, Topic};
use crate::transaction::{Author, Transaction, between};
use crate::trust::Trust;
use dormouse_guard::paths::SafePath;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

impl Check<'_> {
    /// Files that one was made of, and those that they were made of in turn.
    fn ancestors(&self, path: &SafePath) -> Vec<SafePath> {
        reached(&self.made_of, path)
    }

    /// Files that one went into, and those that they went into in turn.
    pub(super) fn heirs(&self, path: &SafePath) -> Vec<SafePath> {
        reached(&self.went_into, path)
    }

    /// Sentences of a few files that are likely to support others; `None` if those of the whole
    /// directory are known already, or are cheaper to read.
    pub(super) fn near(&self, lineage: &[SafePath]) -> Option<Ground> {
        let bytes = lineage.iter().flat_map(|path| {
            let both = [self.before.get(path), self.after.get(path)];
            both.into_iter().flatten().map(|file| file.content.len())
        });
        // Together they read no more than the whole once: a memory that thousands were merged into
        // would be read for each of them.
        let left = self.near_bytes.get().checked_sub(bytes.sum());
        let left = left.filter(|_| self.ground.get().is_none())?;
        self.near_bytes.set(left);
        let snapshots = (self.before, self.after);
        Some(Ground::among(
            &self.reader,
            snapshots,
            lineage,
            &self.limits.writing,
        ))
    }

    /// Least trust of a sentence's sources; `None` if it has none. The files near it are asked
    /// first: a dream that merged a few memories of many need not read the others.
    pub(super) fn support(
        &self,
        sentence: &Sentence,
        side: Side,
        lineage: &[SafePath],
        near: Option<&Ground>,
    ) -> Option<Trust> {
        let ask = |ground: &Ground| ground.support(sentence, SUPPORT_PERCENT, side, lineage);
        near.and_then(ask).or_else(|| ask(self.ground()))
    }

    /// Objects to new statements without a source and to raised trust.
    pub(super) fn sources(&mut self, transaction: &Transaction) {
        for merge in &self.declared.merges {
            let missing = |path: &&SafePath| self.before.get(path).is_none();
            for source in merge.sources.iter().filter(missing) {
                self.objections.push(Objection::NoSuchSource {
                    into: merge.into.clone(),
                    source_file: source.clone(),
                });
            }
        }
        for operation in &transaction.operations {
            let path = &operation.path;
            // An index of a folder states things as well; the one at the top was looked at.
            let log = daily::day_of(path).is_some();
            let checked = path.as_str() != INDEX && !log && !is_pinned(path);
            let Some(content) = operation.content.as_ref().filter(|_| checked) else {
                continue;
            };
            let text = String::from_utf8_lossy(content);
            let (due, invented) = self.lineage(path, &text);
            for sentence in invented {
                let path = path.clone();
                self.objections.push(Objection::invented(path, &sentence));
            }
            let claimed = source_trust(path, &Topic::read(&text));
            if claimed > due && is_topic(path) {
                let path = path.clone();
                self.objections
                    .push(Objection::TrustRaised { path, claimed, due });
            }
            self.merged_keys(path, &text);
        }
    }

    /// Trust that a changed file may have, and its sentences without a source.
    fn lineage(&self, path: &SafePath, text: &str) -> (Trust, Vec<String>) {
        let topic = Topic::read(text);
        let trust_of = |path: &SafePath| {
            let topic = self.before.topic(path)?;
            Some(source_trust(path, topic))
        };
        let named = topic
            .sources
            .iter()
            .filter_map(|name| SafePath::parse(name).ok());
        let declared = self.sources_of(path).cloned();
        let parents: Vec<SafePath> = named.chain(declared).chain([path.clone()]).collect();
        let mut due = parents
            .iter()
            .filter_map(trust_of)
            .min()
            // No parent at all: then every sentence needs support, which sets the trust.
            .unwrap_or(Trust::User);
        let old = self.before.get(path).map(|file| file.text().into_owned());
        let known: Vec<_> = old.map_or_else(Vec::new, |old| {
            let was = Topic::read(&old);
            let mut known = self.reader.sentences(&old[was.body..]);
            known.push(self.reader.sentence(&was.name));
            known.push(self.reader.sentence(&was.description));
            known
        });
        // Files that the parents themselves were made of, in the same dream.
        let mut near_by = parents.clone();
        near_by.extend(self.ancestors(path));
        let mut near = None;
        let mut invented = Vec::new();
        let mut said = self.reader.sentences(&unlinked(&text[topic.body..]));
        said.push(self.reader.sentence(&topic.description));
        for sentence in &said {
            // Its own old sentences need no further source.
            if known.iter().any(|old| sentence.repeats(old)) {
                continue;
            }
            let near = near.get_or_insert_with(|| self.near(&near_by));
            match self.support(sentence, Side::Before, &near_by, near.as_ref()) {
                Some(trust) => due = due.min(trust),
                None => invented.push(sentence.text.clone()),
            }
        }
        (due, invented)
    }

    /// Objects to lost keys of other tools in the files that one was made of.
    fn merged_keys(&mut self, path: &SafePath, text: &str) {
        let values = front(text);
        let sources = self
            .sources_of(path)
            .filter(|source| *source != path && is_topic(source));
        let mut lost = BTreeSet::new();
        for file in sources.filter_map(|source| self.before.get(source)) {
            let keys = front(&file.text()).into_iter().map(|(key, _)| key);
            lost.extend(keys.filter(|key| !is_own_key(key) && !values.contains_key(key)));
        }
        for key in lost {
            let path = path.clone();
            self.objections.push(Objection::KeyLost { path, key });
        }
    }
}

/// Files that declared merges lead to from one, over any number of them, nearest first.
fn reached(merges: &HashMap<&SafePath, BTreeSet<&SafePath>>, path: &SafePath) -> Vec<SafePath> {
    let mut all: Vec<SafePath> = Vec::new();
    let mut seen: HashSet<&SafePath> = HashSet::from([path]);
    let mut open = VecDeque::from([path]);
    while let Some(path) = open.pop_front() {
        for next in merges.get(path).into_iter().flatten().copied() {
            if seen.insert(next) {
                all.push(next.clone());
                open.push_back(next);
            }
        }
    }
    all
}

/// Staged copy with facts that code knows better than a model: no changed memory has more trust
/// than its lineage, logs that the dream made something of are marked as read, and the index is
/// mended from the one before.
#[must_use]
pub fn stamped(
    before: &Snapshot,
    staged: &Snapshot,
    declared: &Declared,
    limits: &CheckLimits,
) -> Snapshot {
    let mut after = staged.clone();
    let check = Check::new(before, staged, declared, limits);
    let changed = between(before, staged, Author::Dream, "");
    for operation in &changed.operations {
        let path = &operation.path;
        let content = operation.content.as_deref().map(std::str::from_utf8);
        let Some(Ok(text)) = content.filter(|_| is_topic(path) && !is_pinned(path)) else {
            continue;
        };
        let (due, _) = check.lineage(path, text);
        if source_trust(path, &Topic::read(text)) > due {
            set(&mut after, path, topic::edit(text, &[Field::Trust(due)]));
        }
    }
    for log in declared.merges.iter().flat_map(|merge| &merge.sources) {
        // Today's log is still being written; marking it would often conflict with the agent's
        // appends.
        let over = daily::day_of(log).is_some_and(|day| day < limits.today);
        let Some(file) = after.get(log).filter(|_| over) else {
            continue;
        };
        let text = file.text().into_owned();
        if !text.ends_with(MARK) {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            set(&mut after, log, format!("{text}{end}{MARK}"));
        }
    }
    // The index is a person's file: whatever a model wrote into it, only lines of Dormouse's change.
    let text = limits.mended(before, &after);
    index::put(&mut after, text);
    after
}
