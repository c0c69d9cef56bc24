//! Check of a dream's result before it is swapped in.
//!
//! # Model
//! The check compares two snapshots and trusts no writer: neither the model nor the offline dream.
//! It collects every [`Objection`]; a single one refuses the whole. Oddities that were there before
//! and were left alone are no objections: the check is about the dream's changes.
//!
//! # Not here
//! Sources and trust of new statements (`lineage`); mending; the question if a change is an
//! improvement.

use super::lines::Lines;
use super::sentence::{Reader, unlinked};
use super::support::{Ground, Side, percent};
use super::{Declared, Objection, Writing};
use crate::daily;
use crate::index::{self, IndexFacts, IndexPast, Limits, Missing};
use crate::snapshot::{INDEX, Snapshot, StoredFile, is_pinned, is_topic};
use crate::topic::{self, Topic};
use crate::transaction::{Author, MOST_BYTES, Refusal, Transaction, between};
use dormouse_core::settings::{Percent, Settings, keys};
use dormouse_guard::paths::SafePath;
use dormouse_guard::secrets;
use jiff::civil::Date;
use serde_json::{Map, Value};
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Keys that Dormouse writes itself; all others belong to other tools and must survive.
const OWN_KEYS: [&str; 15] = [
    "name",
    "description",
    "type",
    "origin",
    "trust",
    "triggers",
    "superseded_by",
    "valid_until",
    "verified",
    "author",
    "sources",
    "review",
    "contradicts",
    "useful",
    "wrong",
];
/// Keys of ours that name the source of a memory: their value may change, but not vanish.
const LINEAGE_KEYS: [&str; 2] = ["origin", "author"];
/// Least share of a sentence's terms, in percent, that its sources must have. A paraphrase may
/// exchange nearly every third word; numbers are all needed anyway.
pub(super) const SUPPORT_PERCENT: f64 = 70.0;
/// Share of a file's sentences below which it counts as emptied: with less than half it is no
/// longer the same memory.
const EMPTIED_PERCENT: f64 = 50.0;

/// True for a key of Dormouse's own.
pub(super) fn is_own_key(key: &str) -> bool {
    OWN_KEYS.contains(&key)
}

/// Limits that a result is measured by.
#[derive(Clone, Debug)]
pub struct CheckLimits {
    /// Limits of the index.
    pub index: Limits,
    /// Share of the memories that may be lost without a reason (`dream.loss`).
    pub loss: Percent,
    /// Day of the dream.
    pub today: Date,
    /// Facts about the time of writing of memories.
    pub writing: Writing,
    /// Facts of the journal about the files of the index.
    pub past: IndexPast,
}

impl CheckLimits {
    /// Reads the limits from the settings; without facts of a journal.
    pub fn from_settings(settings: &Settings, today: Date, writing: Writing) -> Self {
        Self {
            index: Limits::from_settings(settings),
            loss: settings.get(keys::DREAM_LOSS),
            today,
            writing,
            past: IndexPast::default(),
        }
    }

    /// Index of the directory before, mended to fit the files of a dream.
    pub(super) fn mended(&self, before: &Snapshot, after: &Snapshot) -> String {
        let mut result = after.clone();
        index::put(&mut result, before.index());
        let past = self.past.after(before, after);
        let facts = IndexFacts {
            today: self.today,
            limits: self.index,
            past: &past,
            missing: Missing::Keep,
        };
        index::mended(&result, &facts)
    }
}

/// Transaction that swaps the result in, or all objections to it. Equal snapshots give an empty
/// transaction.
pub fn check(
    before: &Snapshot,
    after: &Snapshot,
    declared: &Declared,
    limits: &CheckLimits,
) -> Result<Transaction, Vec<Objection>> {
    let mut transaction = between(before, after, Author::Dream, "dream");
    transaction.source = Some(declared.source.clone());
    // Nothing changed, so oddities that were there before must not refuse it.
    if transaction.is_empty() {
        return Ok(transaction);
    }
    let mut check = Check::new(before, after, declared, limits);
    check.files(&transaction);
    check.index();
    check.losses(&transaction);
    // All checks run, so that the user sees every fault of a dream and not only the first.
    check.sources(&transaction);
    if let Err(refusal) = transaction.vet(before) {
        check.refused(refusal);
    }
    if check.objections.is_empty() {
        Ok(transaction)
    } else {
        Err(check.objections)
    }
}

pub(super) struct Check<'a> {
    pub(super) before: &'a Snapshot,
    pub(super) after: &'a Snapshot,
    pub(super) declared: &'a Declared,
    pub(super) limits: &'a CheckLimits,
    pub(super) reader: Reader,
    pub(super) objections: Vec<Objection>,
    /// Declared merges by their file, each with its sources, and by their sources.
    pub(super) made_of: HashMap<&'a SafePath, BTreeSet<&'a SafePath>>,
    pub(super) went_into: HashMap<&'a SafePath, BTreeSet<&'a SafePath>>,
    pub(super) ground: OnceCell<Ground>,
    /// Bytes that grounds of a few files may still read; see [`Check::near`].
    pub(super) near_bytes: Cell<usize>,
}

impl<'a> Check<'a> {
    /// Check without objections yet.
    pub(super) fn new(
        before: &'a Snapshot,
        after: &'a Snapshot,
        declared: &'a Declared,
        limits: &'a CheckLimits,
    ) -> Self {
        let mut made_of: HashMap<_, BTreeSet<_>> = HashMap::new();
        let mut went_into: HashMap<_, BTreeSet<_>> = HashMap::new();
        for merge in &declared.merges {
            for source in &merge.sources {
                made_of.entry(&merge.into).or_default().insert(source);
                went_into.entry(source).or_default().insert(&merge.into);
            }
        }
        Self {
            before,
            after,
            declared,
            limits,
            reader: Reader::new(),
            objections: Vec::new(),
            made_of,
            went_into,
            ground: OnceCell::new(),
            near_bytes: Cell::new(before.files().map(|(_, file)| file.content.len()).sum()),
        }
    }

    /// Files that a dream says another was made of.
    pub(super) fn sources_of(&self, path: &SafePath) -> impl Iterator<Item = &'a SafePath> {
        let sources = self.made_of.get(path).cloned().unwrap_or_default();
        sources.into_iter()
    }

    /// Sentences of both directories. Made at the first need: reading every file is the dearest
    /// part of the check.
    pub(super) fn ground(&self) -> &Ground {
        self.ground.get_or_init(|| {
            let (excerpts, writing) = (&self.declared.excerpts, &self.limits.writing);
            Ground::between(&self.reader, self.before, self.after, excerpts, writing)
        })
    }

    /// Looks at each changed file by itself.
    fn files(&mut self, transaction: &Transaction) {
        for operation in &transaction.operations {
            let path = &operation.path;
            let old = self.before.get(path);
            // The content of a pinned file is not looked at: touching it is wrong already.
            if is_pinned(path) {
                self.objections.push(Objection::Pinned(path.clone()));
                continue;
            }
            if daily::day_of(path).is_some() {
                self.log(path, old, operation.content.as_deref());
                continue;
            }
            let Some(content) = &operation.content else {
                continue;
            };
            let text = String::from_utf8_lossy(content);
            for found in secrets::scan(&text) {
                self.objections.push(Objection::Secret {
                    path: path.clone(),
                    line: found.line,
                    rule: found.rule,
                });
            }
            if is_topic(path) {
                let old = old.map(|file| file.text().into_owned());
                self.topic(path, old.as_deref(), &text);
            }
        }
    }

    /// Objects to any change of a log but the mark that it was read.
    fn log(&mut self, path: &SafePath, old: Option<&StoredFile>, new: Option<&[u8]>) {
        let marked = old.zip(new).is_some_and(|(old, new)| {
            let added = new.strip_prefix(&old.content[..]).unwrap_or(new);
            // The mark needs a line of its own; a log may lack its last newline.
            let added = added.strip_prefix(b"\n").unwrap_or(added);
            added == super::distil::MARK.as_bytes()
        });
        if !marked {
            self.objections.push(Objection::Log(path.clone()));
        }
    }

    fn topic(&mut self, path: &SafePath, old: Option<&str>, new: &str) {
        if new.len() > MOST_BYTES {
            let (path, bytes) = (path.clone(), new.len());
            self.refused(Refusal::TooLong { path, bytes });
        }
        let (was, is) = (old.map(Topic::read), Topic::read(new));
        // A key that a file never had is not demanded; a new file needs all.
        let had = |has: fn(&Topic) -> bool| was.as_ref().is_none_or(has);
        let needs = [
            ("name", had(|t| !t.name.is_empty()) && is.name.is_empty()),
            (
                "description",
                had(|t| !t.description.is_empty()) && is.description.is_empty(),
            ),
            ("type", had(|t| t.kind.is_some()) && is.kind.is_none()),
        ];
        for (key, _) in needs.into_iter().filter(|(_, missing)| *missing) {
            let path = path.clone();
            self.objections.push(Objection::FrontMatter { path, key });
        }
        let values = front(new);
        for (key, value) in front(old.unwrap_or_default()) {
            let kept = if LINEAGE_KEYS.contains(&key.as_str()) {
                values.contains_key(&key)
            } else {
                // The value counts as well: a dream does not understand keys of other tools.
                is_own_key(&key) || values.get(&key) == Some(&value)
            };
            if !kept {
                let path = path.clone();
                self.objections.push(Objection::KeyLost { path, key });
            }
        }
    }

    /// Objects to an index that is invalid, incomplete, over its limits, or without a person's line.
    fn index(&mut self) {
        let (text, old) = (self.after.index(), self.before.index());
        let mended = self.limits.mended(self.before, self.after);
        let cut = index::load(&text, self.limits.index).cut;
        // Lines of a person that fill the index are theirs to change; growth is the dream's doing.
        let mended_fits = index::load(&mended, self.limits.index).cut.is_none();
        if let Some(cut) = cut.filter(|_| mended_fits || text.len() > old.len()) {
            self.objections.push(Objection::IndexTooLong {
                lines: cut.lines,
                bytes: cut.bytes,
            });
        }
        self.index_links(&text, &old);
        let linked: BTreeSet<SafePath> = paths(&text);
        for path in paths(&mended).difference(&linked) {
            // Links of a person's to what is not here are looked at below.
            if self.after.get(path).is_some() && is_topic(path) {
                self.objections.push(Objection::Unlisted(path.clone()));
            }
        }
        self.kept_lines(&text, &old, &mended);
        self.index_lines(&text, &old);
    }

    /// Objects to links that a dream broke or doubled; what was so before is not its business.
    fn index_links(&mut self, text: &str, old: &str) {
        let known: BTreeSet<&str> = old.lines().map(str::trim).collect();
        let mut seen = BTreeSet::new();
        for entry in index::entries(text) {
            let mut lines = text[entry.range.clone()].lines();
            let before = lines.all(|line| known.contains(line.trim()));
            let again = !seen.insert(entry.path.clone());
            let about = entry.form == index::Form::Entry;
            // A link in a person's prose stays, also to a memory that was merged.
            let lost = about && self.before.get(&entry.path).is_some();
            let why = if self.after.get(&entry.path).is_none() && (lost || !before) {
                "does not exist"
            } else if again && about && !before {
                "has a line already"
            } else {
                continue;
            };
            self.objections.push(Objection::IndexLine {
                line: entry.line,
                target: entry.path.to_string(),
                why,
            });
        }
    }

    /// Objects if a line that is not Dormouse's is changed or gone.
    fn kept_lines(&mut self, text: &str, old: &str, mended: &str) {
        let (mut left, mut stay) = (Lines::of(text), Lines::of(mended));
        for (number, line) in old.lines().enumerate() {
            // Lines that mending changes are Dormouse's own.
            if !stay.take(line) || left.take(line) {
                continue;
            }
            if !self.is_own_line(line) && !line.trim().is_empty() {
                self.objections
                    .push(Objection::IndexLineLost { line: number + 1 });
            }
        }
    }

    /// True for a line that Dormouse makes of a file as it is, or was before the dream.
    fn is_own_line(&self, line: &str) -> bool {
        let first = index::entries(line).into_iter().next();
        first.is_some_and(|entry| {
            let files = [self.before.get(&entry.path), self.after.get(&entry.path)];
            let mut files = files.into_iter().flatten();
            files.any(|file| index::line_of(&entry.path, &Topic::read(&file.text())) == line)
        })
    }

    /// Objects to new lines of the index that are no lines of memories, or say more than those.
    fn index_lines(&mut self, text: &str, old: &str) {
        let known: BTreeSet<&str> = old.lines().map(str::trim).collect();
        let mut entries: HashMap<usize, index::IndexEntry> = HashMap::new();
        for entry in index::entries(text) {
            entries.entry(entry.line).or_insert(entry);
        }
        let mut earlier: HashMap<SafePath, Vec<index::IndexEntry>> = HashMap::new();
        for entry in index::entries(old) {
            earlier.entry(entry.path.clone()).or_default().push(entry);
        }
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let number = number + 1;
            if line.is_empty() || known.contains(line) || index::is_remark(line) {
                continue;
            }
            let Some(entry) = entries.get(&number) else {
                // A new heading is harmless unless it states a number.
                let heading = self.reader.sentence(line);
                if !line.starts_with('#') || heading.figures().next().is_some() {
                    self.objections
                        .push(Objection::IndexContent { line: number });
                }
                continue;
            };
            let earlier = earlier.get(&entry.path).map_or(&[][..], Vec::as_slice);
            if !self.is_hook_of(entry, earlier) {
                let Ok(path) = SafePath::parse(INDEX) else {
                    continue;
                };
                self.objections.push(Objection::invented(path, line));
            }
        }
    }

    /// True if a line says no more than its memory, or than earlier lines about it.
    fn is_hook_of(&self, entry: &index::IndexEntry, earlier: &[index::IndexEntry]) -> bool {
        let Some(file) = self.after.get(&entry.path) else {
            return true;
        };
        let hook = entry.hook.trim_end_matches('…').trim_end();
        // A shortened beginning ends in `…`; it need not say all.
        let description = Topic::read(&file.text()).description;
        let begins = |whole: &str| {
            let whole: Vec<&str> = whole.split_whitespace().collect();
            !whole.is_empty() && whole.join(" ").starts_with(hook)
        };
        if begins(&description) || earlier.iter().any(|line| begins(&line.hook)) {
            return true;
        }
        let mut said = Snapshot::new();
        said.insert(entry.path.clone(), file.clone());
        let mut ground = Ground::of(&self.reader, &said, &self.limits.writing);
        // An old line may say more than its file; a dream may keep those words.
        for line in earlier {
            ground.say(&self.reader, &format!("{} {}", line.title, line.hook));
        }
        ground
            .support(
                &self.reader.sentence(hook),
                SUPPORT_PERCENT,
                Side::After,
                &[],
            )
            .is_some()
    }

    /// Objects if too many memories are gone, or emptied.
    fn losses(&mut self, transaction: &Transaction) {
        let mut lost = Vec::new();
        for operation in &transaction.operations {
            let path = &operation.path;
            let Some(old) = self.before.get(path).filter(|_| is_topic(path)) else {
                continue;
            };
            // Its own new text, and the files it went into.
            let mut heirs = self.heirs(path);
            heirs.push(path.clone());
            let near = self.near(&heirs);
            let text = old.text();
            let body = unlinked(&text[Topic::read(&text).body..]);
            let said = self.reader.sentences(&body);
            let kept = said
                .iter()
                .filter(|sentence| {
                    let heir = self.support(sentence, Side::After, &heirs, near.as_ref());
                    heir.is_some()
                })
                .count();
            // A file whose every sentence lives on elsewhere was merged, not lost.
            let gone = operation.content.is_none() && kept < said.len();
            if gone || percent(kept, said.len()) < EMPTIED_PERCENT {
                lost.push(path.clone());
            }
        }
        let all = self.before.topics().count();
        let losses = self.declared.losses.iter();
        let reasoned = losses.filter(|loss| !loss.reason.trim().is_empty());
        let stated: HashSet<&SafePath> = reasoned.map(|loss| &loss.path).collect();
        let unstated = lost.iter().filter(|path| !stated.contains(path));
        let unstated: Vec<SafePath> = unstated.cloned().collect();
        if !unstated.is_empty() && percent(lost.len(), all) > self.limits.loss.as_f64() {
            self.objections.push(Objection::Losses {
                lost: lost.len(),
                all,
                unstated,
            });
        }
    }

    /// Adds the gate's refusal. The gate names only its first reason; an objection that was made
    /// already is not repeated.
    fn refused(&mut self, refusal: Refusal) {
        let known = match &refusal {
            Refusal::Secret { .. } | Refusal::SecretName { .. } | Refusal::Pinned(_) => true,
            other => self.objections.contains(&Objection::Refused(other.clone())),
        };
        if !known {
            self.objections.push(refusal.into());
        }
    }
}

/// Files that an index links to.
fn paths(text: &str) -> BTreeSet<SafePath> {
    let links = index::entries(text).into_iter();
    links.map(|entry| entry.path).collect()
}

/// Front matter of a text as values.
pub(super) fn front(text: &str) -> Map<String, Value> {
    let (front, _) = topic::split(text);
    front.map(|front| front.values(text)).unwrap_or_default()
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
