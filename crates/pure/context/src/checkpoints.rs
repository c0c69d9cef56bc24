//! Files that tools changed, and the way back.
//!
//! # Model
//! Before a tool changes a file, a record names the blob with its old content and the hash of the
//! new one. The records of a log are in the order of the changes on the disk, whatever branch of the
//! conversation they were made on. Going back to a moment gives every file changed since the content
//! it had before its first change; a file that is not as its last change left it was changed by
//! others and is refused. Going back is a change of files like any other, so that it can be taken
//! back in the same way.
//!
//! # Not here
//! Reading and writing the files, and the blobs: `dormouse-agent`.

use dormouse_core::block::{Block, BlockKind};
use dormouse_core::hash::Hash;
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::record::{Body, MessageOrigin, Record, Role, StateChange};
use dormouse_core::units::Millis;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// Characters of a prompt that are shown beside a point: a line of a screen.
const WORDS_SHOWN: usize = 72;

/// Data that the file tools record about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileNote {
    /// Hash of the content that the model knows; none if it has to read the file again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
    /// Change that follows the record; none if the file was only read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<FileChange>,
}

/// Change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Blob with the content before; none if there was no file.
    pub before: Option<Hash>,
    /// Hash of the content after; none if the file is gone.
    pub after: Option<Hash>,
    /// Name of the rewind that made it; none for a tool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewind: Option<String>,
}

impl FileNote {
    /// The note as a record for a path.
    pub fn record(&self, path: &str) -> StateChange {
        StateChange::ReadState {
            path: path.to_owned(),
            // Texts and hashes always are JSON; null would only forget that the file was read.
            detail: serde_json::to_value(self).unwrap_or_default(),
        }
    }
}

/// A change as a log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedChange {
    /// Place in the order of the log.
    pub seq: Seq,
    /// Path as the tool resolved it.
    pub path: String,
    /// Content before and after the change.
    pub change: FileChange,
}

/// Changes of files in the order they were made.
pub fn changes(records: &[Record]) -> Vec<RecordedChange> {
    let change = |record: &Record| {
        let Body::State(StateChange::ReadState { path, detail }) = &record.body else {
            return None;
        };
        let note: FileNote = serde_json::from_value(detail.clone()).ok()?;
        Some(RecordedChange {
            seq: record.seq,
            path: path.clone(),
            change: note.change?,
        })
    };
    records.iter().filter_map(change).collect()
}

/// A moment to go back to: just before a prompt of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RewindPoint {
    /// Number of the prompt on this branch, from 1.
    pub number: usize,
    /// Record of the prompt.
    pub prompt: RecordId,
    /// Record that becomes the last one of the conversation.
    pub to: RecordId,
    /// Records behind this one are undone.
    #[serde(skip)]
    pub after: Seq,
    /// Time of the prompt, if it has one.
    #[serde(skip)]
    pub at: Option<Millis>,
    /// Beginning of the prompt.
    pub words: String,
    /// Files that were changed between this prompt and the next one, in order.
    pub files: Vec<String>,
}

/// Points of the newest branch, oldest first.
pub fn points(records: &[Record]) -> Vec<RewindPoint> {
    let by_id: HashMap<&RecordId, &Record> =
        records.iter().map(|record| (&record.id, record)).collect();
    let newest = records.iter().rev().find(|record| !record.side_chain);
    let mut chain = Vec::new();
    let mut next = newest;
    // Bounded by the number of records: a damaged log may lead round in a cycle.
    while let Some(record) = next.filter(|_| chain.len() < records.len()) {
        chain.push(record);
        next = record.parent.as_ref().and_then(|id| by_id.get(id).copied());
    }
    chain.reverse();
    let mut points: Vec<RewindPoint> = Vec::new();
    for pair in chain.windows(2) {
        let [before, record] = pair else { continue };
        if let Some(words) = prompt_words(record) {
            points.push(RewindPoint {
                number: points.len() + 1,
                prompt: record.id.clone(),
                to: before.id.clone(),
                after: before.seq,
                at: record.at,
                words,
                files: Vec::new(),
            });
        }
    }
    let ends: Vec<Option<Seq>> = (1..=points.len())
        .map(|at| points.get(at).map(|point| point.after))
        .collect();
    let all = changes(records);
    for (point, end) in points.iter_mut().zip(ends) {
        for change in &all {
            let inside = change.seq > point.after && end.is_none_or(|end| change.seq <= end);
            if inside && !point.files.contains(&change.path) {
                point.files.push(change.path.clone());
            }
        }
    }
    points
}

/// First line of a prompt that the user gave; `None` for every other record.
fn prompt_words(record: &Record) -> Option<String> {
    let Body::Message(message) = &record.body else {
        return None;
    };
    let is_result = |block: &Block| block.kind() == BlockKind::ToolResult;
    if message.role != Role::User
        || message.origin != MessageOrigin::Conversation
        || record.side_chain
        || message.content.iter().any(is_result)
    {
        return None;
    }
    let text: Vec<_> = message
        .content
        .iter()
        .filter_map(Block::readable_text)
        .collect();
    let line = text
        .join(" ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    Some(line.chars().take(WORDS_SHOWN).collect())
}

/// A file that goes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRestore {
    /// Path of the file.
    pub path: String,
    /// Blob with the content it gets; none removes it.
    pub content: Option<Hash>,
    /// Hash of the content that its last change left; none if there should be no file.
    pub expected: Option<Hash>,
}

/// Step for a file, by the content it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreStep {
    /// The file is as it was: nothing to do.
    Same,
    /// The content may be replaced.
    Restore,
    /// Others changed the file: it is left as it is.
    Refuse,
}

impl FileRestore {
    /// Step for a file with this content now; none if there is no file.
    pub fn step(&self, now: Option<Hash>) -> RestoreStep {
        if now == self.content {
            RestoreStep::Same
        } else if now == self.expected {
            RestoreStep::Restore
        } else {
            RestoreStep::Refuse
        }
    }
}

/// Files that were changed behind a record, with the content before, by path.
pub fn restores(records: &[Record], after: Seq) -> Vec<FileRestore> {
    let mut files: BTreeMap<String, FileRestore> = BTreeMap::new();
    for RecordedChange { path, change, .. } in changes(records)
        .into_iter()
        .filter(|change| change.seq > after)
    {
        files
            .entry(path.clone())
            .or_insert(FileRestore {
                path,
                content: change.before,
                expected: None,
            })
            .expected = change.after;
    }
    files.into_values().collect()
}

/// Moment before the newest rewind of files, to which undoing it goes back; `None` if no rewind was
/// the last change.
pub fn before_last_rewind(records: &[Record]) -> Option<Seq> {
    let all = changes(records);
    let name = all.last()?.change.rewind.as_ref()?;
    let first = all
        .iter()
        .find(|change| change.change.rewind.as_ref() == Some(name))?;
    Some(Seq::new(first.seq.get().saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::record::Message;

    fn record(seq: u64, parent: Option<u64>, body: Body) -> Record {
        Record {
            seq: Seq::new(seq),
            offset: 0,
            id: RecordId::new(format!("r{seq}")),
            parent: parent.map(|parent| RecordId::new(format!("r{parent}"))),
            session: None,
            at: None,
            caused_by: None,
            side_chain: false,
            agent: None,
            own: true,
            body,
        }
    }

    fn says(words: &str) -> Body {
        Body::Message(Message::user(vec![Block::text(words)]))
    }

    fn hash(text: &str) -> Option<Hash> {
        (!text.is_empty()).then(|| Hash::of(text.as_bytes()))
    }

    fn changed(path: &str, before: &str, after: &str, rewind: Option<&str>) -> Body {
        let note = FileNote {
            hash: hash(after),
            change: Some(FileChange {
                before: hash(before),
                after: hash(after),
                rewind: rewind.map(str::to_owned),
            }),
        };
        Body::State(note.record(path))
    }

    fn log() -> Vec<Record> {
        vec![
            record(1, None, says("first")),
            record(2, Some(1), says("second\n  prompt")),
            record(3, Some(2), changed("/a", "one", "two", None)),
            record(4, Some(3), changed("/a", "two", "three", None)),
            record(5, Some(4), changed("/b", "", "new", None)),
            record(6, Some(5), says("third")),
            record(7, Some(6), changed("/a", "three", "four", None)),
        ]
    }

    #[test]
    fn points_are_prompts_with_their_files() {
        let points = points(&log());
        let told: Vec<_> = points
            .iter()
            .map(|point| (point.words.as_str(), point.to.as_str(), point.files.len()))
            .collect();
        // The first record has none before it: there is nothing to go back to.
        assert_eq!(told, [("second prompt", "r1", 2), ("third", "r5", 1)]);
    }

    #[test]
    fn a_file_goes_back_to_its_content_before_the_first_change() {
        let files = restores(&log(), Seq::new(1));
        assert_eq!(files.len(), 2);
        assert_eq!(
            (files[0].content, files[0].expected),
            (hash("one"), hash("four"))
        );
        // Made since: it goes again.
        assert_eq!((files[1].content, files[1].expected), (None, hash("new")));
        assert_eq!(files[0].step(hash("four")), RestoreStep::Restore);
        assert_eq!(files[0].step(hash("one")), RestoreStep::Same);
        assert_eq!(files[0].step(hash("by hand")), RestoreStep::Refuse);
        assert_eq!(files[0].step(None), RestoreStep::Refuse);
        assert!(restores(&log(), Seq::new(7)).is_empty());
    }

    #[test]
    fn a_rewind_is_taken_back_like_any_change() {
        let mut log = log();
        assert_eq!(before_last_rewind(&log), None);
        log.push(record(8, Some(7), changed("/a", "four", "one", Some("x"))));
        log.push(record(9, Some(8), changed("/b", "new", "", Some("x"))));
        let before = before_last_rewind(&log).unwrap();
        let files = restores(&log, before);
        assert_eq!(
            (files[0].content, files[0].expected),
            (hash("four"), hash("one"))
        );
        assert_eq!((files[1].content, files[1].expected), (hash("new"), None));
        // Changes of an abandoned branch are on the disk all the same.
        log.push(record(10, Some(1), says("another branch")));
        assert_eq!(points(&log).last().unwrap().words, "another branch");
        assert_eq!(restores(&log, Seq::new(6)).len(), 2);
    }
}
