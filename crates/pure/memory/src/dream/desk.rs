//! Directory in the hands of a dream: its memories, read once, and the links between them.
//!
//! # Model
//! Merging looks at the same memories again and again, and asks which of them link to a file. Both
//! would be a pass over the whole directory for each merge. The desk keeps every memory as it was
//! read, and the memories that mention a name, and follows each change.
//!
//! # Not here
//! The decision to merge (`merge`); the text of a merge (`carry`).

use super::Stated;
use super::carry::contradicted;
use super::merge::{is_untouchable, set};
use super::tally::{self, Step};
use crate::snapshot::{Snapshot, StoredFile, is_topic};
use crate::topic::{Topic, split};
use crate::write::links_to;
use dormouse_guard::paths::SafePath;
use dormouse_text::duplicates::Sketch;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Memory that is compared.
pub(super) struct Memory {
    pub(super) path: SafePath,
    pub(super) text: String,
    pub(super) topic: Topic,
    sketch: OnceCell<Sketch>,
    untouchable: OnceCell<bool>,
}

impl Memory {
    fn read(path: &SafePath, file: &StoredFile, topic: &Topic) -> Option<Self> {
        // Bytes that are no text would not survive a merge.
        let text = std::str::from_utf8(&file.content).ok()?.to_owned();
        Some(Self {
            path: path.clone(),
            topic: topic.clone(),
            text,
            sketch: OnceCell::new(),
            untouchable: OnceCell::new(),
        })
    }

    pub(super) fn body(&self) -> &str {
        &self.text[self.topic.body..]
    }

    /// Text by which it is compared.
    pub(super) fn statement(&self) -> &str {
        let body = self.body().trim();
        if body.is_empty() {
            &self.topic.description
        } else {
            body
        }
    }

    /// Sketch of its statement, made once.
    pub(super) fn sketch(&self) -> &Sketch {
        self.sketch.get_or_init(|| Sketch::new(self.statement()))
    }

    /// True if a dream must leave it as it is; looked at once, since that scans for credentials.
    pub(super) fn is_untouchable(&self) -> bool {
        let judged = || is_untouchable(&self.path, &self.text);
        *self.untouchable.get_or_init(judged)
    }

    pub(super) fn is_complete(&self) -> bool {
        !self.topic.name.is_empty()
            && !self.topic.description.is_empty()
            && self.topic.kind.is_some()
    }
}

/// Directory that a dream works on.
pub(super) struct Desk<'a> {
    snapshot: &'a mut Snapshot,
    changes: &'a mut Vec<Stated>,
    memories: BTreeMap<SafePath, Rc<Memory>>,
    links: Links,
    fixed: RefCell<HashMap<SafePath, bool>>,
}

impl<'a> Desk<'a> {
    pub(super) fn new(snapshot: &'a mut Snapshot, changes: &'a mut Vec<Stated>) -> Self {
        let links = Links::of(snapshot);
        let read = |(path, file, topic): (&SafePath, &StoredFile, &Topic)| {
            Some((path.clone(), Rc::new(Memory::read(path, file, topic)?)))
        };
        Self {
            memories: snapshot.read_topics().filter_map(read).collect(),
            snapshot,
            changes,
            links,
            fixed: RefCell::default(),
        }
    }

    /// All memories that are text, by path.
    pub(super) fn memories(&self) -> impl Iterator<Item = &Rc<Memory>> {
        self.memories.values()
    }

    /// Memory as it is now.
    pub(super) fn memory(&self, path: &SafePath) -> Option<Rc<Memory>> {
        self.memories.get(path).cloned()
    }

    /// Memories that may link to a file or name it: all that do, and perhaps some that do not.
    pub(super) fn linking(&self, path: &SafePath) -> Vec<Rc<Memory>> {
        match self.links.to(path) {
            Some(paths) => paths.filter_map(|path| self.memory(path)).collect(),
            None => self.memories.values().cloned().collect(),
        }
    }

    /// True if an untouchable memory links to a file. Asked once for each: such memories do not
    /// change.
    pub(super) fn is_fixed(&self, path: &SafePath) -> bool {
        if let Some(known) = self.fixed.borrow().get(path) {
            return *known;
        }
        let mut from = self.linking(path).into_iter();
        let fixed = from.any(|other| {
            tally::add(Step::Linked, 1);
            other.path != *path && links_to(&other.text, path) && other.is_untouchable()
        });
        self.fixed.borrow_mut().insert(path.clone(), fixed);
        fixed
    }

    /// Gives a memory another text.
    pub(super) fn set(&mut self, path: &SafePath, text: String) {
        set(self.snapshot, path, text);
        let now = self.snapshot.get(path).zip(self.snapshot.topic(path));
        let Some((file, topic)) = now else {
            return;
        };
        if let Some(memory) = Memory::read(path, file, topic) {
            self.links.add(path, &memory.text);
            self.memories.insert(path.clone(), Rc::new(memory));
        }
    }

    pub(super) fn remove(&mut self, path: &SafePath) {
        self.snapshot.remove(path);
        self.memories.remove(path);
    }

    /// Records a change with its reason.
    pub(super) fn state(&mut self, change: Stated) {
        self.changes.push(change);
    }
}

/// Memories by the names that they mention. A memory that no longer mentions a name stays in the
/// list; callers look at its text anyway.
#[derive(Debug, Default)]
pub(super) struct Links {
    by_name: HashMap<String, BTreeSet<SafePath>>,
}

impl Links {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut links = Self::default();
        for (path, file) in snapshot.topics() {
            links.add(path, &file.text());
        }
        links
    }

    fn add(&mut self, path: &SafePath, text: &str) {
        for name in names(text) {
            let mentions = self.by_name.entry(name).or_default();
            mentions.insert(path.clone());
        }
    }

    /// Memories that mention a file, by path; `None` if its name has marks of links in it, so that
    /// no mention of it can be told from text.
    pub(super) fn to(&self, path: &SafePath) -> Option<impl Iterator<Item = &SafePath>> {
        if path.as_str().contains(['[', ']', '(', ')', '|']) || !is_topic(path) {
            return None;
        }
        // With and without its ending, as people and wikis write it.
        let bare = &path.as_str()[..path.as_str().len() - 3];
        let both = [path.as_str(), bare].map(|name| self.by_name.get(name));
        let all: BTreeSet<&SafePath> = both.into_iter().flatten().flatten().collect();
        Some(all.into_iter())
    }
}

/// Names of files that a text links to, or has in a key of its front matter.
fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices("[[") {
        // `[[[a]]`: the name begins behind the last bracket.
        let rest = text[at..].trim_start_matches('[');
        let line = rest.lines().next().unwrap_or_default();
        let end = line.find("]]").unwrap_or(line.len());
        let name = &line[..end];
        let name = &name[..name.find('|').unwrap_or(name.len())];
        names.push(name.to_owned());
        // `[[a.md#part]]` leads to `a.md`.
        let lower = name.to_ascii_lowercase();
        names.extend(
            lower
                .match_indices(".md")
                .map(|(end, _)| name[..end + 3].to_owned()),
        );
    }
    for (at, _) in text.match_indices("](") {
        let rest = &text[at + 2..];
        names.push(rest[..rest.find([')', '\n']).unwrap_or(rest.len())].to_owned());
    }
    // Few files have these keys; reading the front matter of all would cost more than the links.
    if let (Some(front), _) = split(text) {
        let inner = &text[front.inner];
        if inner.contains("superseded_by") || inner.contains("contradicts") {
            names.extend(Topic::read(text).superseded_by);
            names.extend(contradicted(text));
        }
    }
    names
}
