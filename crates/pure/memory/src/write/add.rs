//! Adding a memory, or finding the file that has it already.
//!
//! # Model
//! The most similar memory decides: the same statement makes the new one known, a near one takes in
//! its new lines, a contrary one stays beside it or is overtaken, and without any it gets a file
//! and a line in the index.
//!
//! # Not here
//! Likeness of texts (`dormouse_text::duplicates`); merging memories that exist ([`crate::dream`]).

use super::{put_index, supersede_in};
use crate::frame::{Frame, Relation, said};
use crate::index;
use crate::snapshot::{Snapshot, is_pinned};
use crate::topic::{self, Field, Kind, Topic, Triggers};
use crate::transaction::{Author, Transaction};
use crate::trust::{Origin, Trust};
use deunicode::deunicode;
use dormouse_guard::paths::SafePath;
use dormouse_text::duplicates::{Likeness, NEAR, Sketch};
use std::collections::HashSet;

/// Label of a rule's last part, as the offline extraction and the directive for models write it.
const HOW_TO_APPLY: &str = "**How to apply:**";
/// Most bytes of a made file name before its ending: long enough for six or seven words, short
/// enough for a line of the index.
const LONGEST_NAME: usize = 48;

/// Memory to be added, as parts that [`render`] joins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewMemory {
    /// Type; `None` is untyped.
    pub kind: Option<Kind>,
    /// Title for people; the file name is made from it.
    pub name: String,
    /// One line that recall and the index show.
    pub description: String,
    /// Text below the front matter, Markdown.
    pub body: String,
    /// Span it stems from; `None` for imports without one.
    pub origin: Option<Origin>,
    /// Trust found by the caller; `None` leaves the key out, which reads as the user's own.
    pub trust: Option<Trust>,
    /// Work that calls for it; empty if only its words do.
    pub triggers: Triggers,
    /// Last day on which it holds, as a date; `None` for ever.
    pub valid_until: Option<String>,
    /// Author for team memory; private memory leaves it out.
    pub author: Option<String>,
}

/// File that a memory belongs into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// A file of its own.
    Create(SafePath),
    /// Known: this file says the same.
    Known(SafePath),
    /// Nearly known: new lines are appended to this file.
    Merge(SafePath),
    /// A file of its own, and one that says something else about the same.
    Contradict {
        /// Path of its own file.
        path: SafePath,
        /// Path of the memory it contradicts.
        other: SafePath,
    },
}

impl Placement {
    /// File that has the memory in the end.
    pub const fn path(&self) -> &SafePath {
        match self {
            Self::Create(path)
            | Self::Known(path)
            | Self::Merge(path)
            | Self::Contradict { path, .. } => path,
        }
    }
}

/// Placed memory with the change that puts it there.
#[derive(Clone, Debug, PartialEq)]
pub struct Added {
    /// Decision on the file.
    pub placement: Placement,
    /// Change to be applied; empty if the memory is known.
    pub transaction: Transaction,
}

/// File of a memory: front matter and body.
pub fn render(memory: &NewMemory) -> String {
    let mut fields = vec![
        Field::Name(memory.name.clone()),
        Field::Description(memory.description.clone()),
    ];
    fields.extend(memory.kind.map(Field::Kind));
    fields.extend(memory.origin.clone().map(Field::Origin));
    fields.extend(memory.trust.map(Field::Trust));
    fields.push(Field::Triggers(memory.triggers.clone()));
    fields.push(Field::ValidUntil(memory.valid_until.clone()));
    fields.extend(memory.author.clone().map(Field::Author));
    // Made apart from the body: one that begins with front matter of its own must not be taken for
    // this file's.
    let front = topic::edit("", &fields);
    match memory.body.trim_end() {
        "" => format!("{front}\n"),
        body if body.starts_with(['\n', '\r']) => format!("{front}{body}\n"),
        body => format!("{front}\n{body}\n"),
    }
}

/// Looks for the most similar memory and decides where the new one goes.
pub fn place(snapshot: &Snapshot, memory: &NewMemory) -> Placement {
    let own = statement(&memory.description, &memory.body);
    let sketch = Sketch::new(&own);
    let frame = Frame::of(said(&own));
    let mut best: Option<(Likeness, f64, SafePath)> = None;
    for (path, file, topic) in snapshot.read_topics() {
        let text = file.text();
        // An overtaken or wrong memory must not swallow a new one: it is not recalled.
        if topic.superseded_by.is_some() || topic.is_wrong() {
            continue;
        }
        let its = statement(&topic.description, &text[topic.body..]);
        let other = Sketch::new(&its);
        let alike = sketch.likeness(&other, NEAR);
        let relation = frame
            .as_ref()
            .and_then(|frame| Some(frame.relation(&Frame::of(said(&its))?)));
        // Words tell less than the frame: one word may be the whole difference, or none of it.
        let likeness = match (relation, alike) {
            (_, Some(Likeness::Exact | Likeness::Same)) | (None, _) => alike,
            (Some(Relation::Same), _) => Some(Likeness::Same),
            (Some(Relation::Replaces), _) => Some(Likeness::Variant),
            (Some(Relation::Apart), _) => None,
        };
        let Some(likeness) = likeness else {
            continue;
        };
        let overlap = sketch.overlap(&other).jaccard;
        // The kind of likeness first: a verbatim copy wins over a longer text that merely overlaps.
        let better = best
            .as_ref()
            .is_none_or(|(known, most, _)| (likeness, overlap) > (*known, *most));
        if better {
            best = Some((likeness, overlap, path.clone()));
        }
    }
    match best {
        Some((Likeness::Exact | Likeness::Same, _, path)) => Placement::Known(path),
        Some((Likeness::Near, _, path)) => Placement::Merge(path),
        Some((Likeness::Variant, _, other)) => Placement::Contradict {
            path: free_path(snapshot, memory),
            other,
        },
        None => Placement::Create(free_path(snapshot, memory)),
    }
}

/// Text by which two memories are compared. A description repeats the body, and the application of
/// a rule is boilerplate that would make different rules look alike.
fn statement(description: &str, body: &str) -> String {
    let said: Vec<&str> = body
        .lines()
        .take_while(|line| !line.starts_with(HOW_TO_APPLY))
        .collect();
    let said = said.join("\n");
    // Some tools write the description only.
    if said.trim().is_empty() {
        description.to_owned()
    } else {
        said.trim().to_owned()
    }
}

/// Adds a memory: a new file, a merge, or nothing.
pub fn add(snapshot: &Snapshot, memory: &NewMemory, author: Author, reason: &str) -> Added {
    let placement = place(snapshot, memory);
    let mut transaction = Transaction::by(author, reason);
    transaction.source.clone_from(&memory.origin);
    // Vetting would refuse the whole transaction, and the memory with it.
    let untouchable = |path: &SafePath| author.is_automation() && is_pinned(path);
    match &placement {
        Placement::Known(_) => {}
        // The pinned file says nearly the same, which is good enough; a second file would be a
        // duplicate.
        Placement::Merge(path) if untouchable(path) => {
            return Added {
                placement: Placement::Known(path.clone()),
                transaction,
            };
        }
        Placement::Merge(path) => merge_into(&mut transaction, snapshot, path, memory),
        Placement::Create(path) => {
            create(&mut transaction, snapshot, path, memory, &snapshot.index());
        }
        Placement::Contradict { path, other } => {
            // Only the user's word overtakes; otherwise an assistant's guess could hide what the
            // user said.
            let overtakes = memory.trust == Some(Trust::User) && !untouchable(other);
            let mut index_text = snapshot.index();
            let mut memory = memory.clone();
            if overtakes {
                let by = (path, memory.origin.as_ref());
                index_text = supersede_in(&mut transaction, snapshot, other, by, &index_text);
            }
            let mut text = render(&memory);
            // Both stay in force; the new file names the one that it contradicts.
            if !overtakes {
                text = topic::edit(&text, &[Field::Contradicts(vec![other.to_string()])]);
                memory
                    .description
                    .clone_from(&Topic::read(&text).description);
            }
            let index_text = index::relisted(&index_text, path, None, &text);
            transaction.put(snapshot, path.clone(), text);
            put_index(&mut transaction, snapshot, index_text);
        }
    }
    Added {
        placement,
        transaction,
    }
}

fn create(
    transaction: &mut Transaction,
    snapshot: &Snapshot,
    path: &SafePath,
    memory: &NewMemory,
    index_text: &str,
) {
    let text = render(memory);
    let index_text = index::relisted(index_text, path, None, &text);
    transaction.put(snapshot, path.clone(), text);
    put_index(transaction, snapshot, index_text);
}

/// Appends the lines that the file does not have yet. Trust falls to the least of both.
fn merge_into(
    transaction: &mut Transaction,
    snapshot: &Snapshot,
    path: &SafePath,
    memory: &NewMemory,
) {
    let Some(file) = snapshot.get(path) else {
        return;
    };
    let text = file.text();
    let topic = Topic::read(&text);
    // By words, so that another bullet or a full stop does not make a line new.
    let has = |line: &str| text.lines().any(|old| same_words(old, line));
    let new: Vec<&str> = memory
        .body
        .lines()
        .filter(|line| !line.trim().is_empty() && !has(line))
        .collect();
    if new.is_empty() {
        return;
    }
    let mut merged = text.trim_end().to_owned();
    merged.push_str("\n\n");
    merged.push_str(&new.join("\n"));
    merged.push('\n');
    let least = match (topic.trust, memory.trust) {
        (Some(old), Some(new)) => Some(old.min(new)),
        // A file without a trust key counts as the user's own.
        (None, Some(new)) if new < Trust::User => Some(new),
        (old, _) => old,
    };
    // Rewriting an equal key would change bytes for nothing.
    if let Some(least) = least.filter(|least| Some(*least) != topic.trust) {
        merged = topic::edit(&merged, &[Field::Trust(least)]);
    }
    let index_text = index::relisted(&snapshot.index(), path, Some(&text), &merged);
    transaction.put(snapshot, path.clone(), merged);
    put_index(transaction, snapshot, index_text);
}

fn same_words(a: &str, b: &str) -> bool {
    let fold = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        words.join(" ")
    };
    fold(a) == fold(b)
}

/// Unused file name: the type, then the words of the name.
pub fn free_path(snapshot: &Snapshot, memory: &NewMemory) -> SafePath {
    let mut name = String::new();
    if let Some(kind) = memory.kind {
        name.push_str(kind.name());
    }
    let own = if memory.name.trim().is_empty() {
        &memory.description
    } else {
        &memory.name
    };
    // ASCII only: names survive every file system and archive. Other scripts are written as they
    // sound, so that a folder of Chinese memories can be read too.
    for word in deunicode(own).split(|c: char| !c.is_ascii_alphanumeric()) {
        if word.is_empty() || (name.is_empty() && word.len() > LONGEST_NAME) {
            continue;
        }
        if name.len() + word.len() + 1 > LONGEST_NAME {
            break;
        }
        // `feedback_feedback_tests.md` would waste the name's few bytes.
        if !name.is_empty() && name.eq_ignore_ascii_case(word) {
            continue;
        }
        if !name.is_empty() {
            name.push('_');
        }
        name.push_str(&word.to_lowercase());
    }
    if name.is_empty() {
        name.push_str("memory");
    }
    free_name(snapshot, &name)
}

fn free_name(snapshot: &Snapshot, name: &str) -> SafePath {
    // Folded once: a name that thousands share is tried with as many numbers.
    let files: HashSet<String> = snapshot.files().map(|(path, _)| path.folded()).collect();
    // Lines of the index count too: a dangling one would suddenly point to another memory.
    let index = index::entries(&snapshot.index()).into_iter();
    let listed: HashSet<SafePath> = index.map(|entry| entry.path).collect();
    let taken = |path: &SafePath| files.contains(&path.folded()) || listed.contains(path);
    let mut number = 1_usize;
    loop {
        let ending = if number == 1 {
            String::new()
        } else {
            format!("_{number}")
        };
        // Lower-case letters, digits and `_` only, so this always parses.
        if let Ok(path) = SafePath::parse(&format!("{name}{ending}.md"))
            && !taken(&path)
        {
            return path;
        }
        number += 1;
    }
}
