//! Changing a memory: its text, or single fields.

use super::{names, wording};
use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use dormouse_guard::paths::SafePath;
use dormouse_memory::topic::{self, Field, Kind, Topic};
use dormouse_memory::transaction::{Author, Expected, MOST_BYTES, Transaction};
use dormouse_memory::write::retext;
use serde::Serialize;

/// A memory that is being changed. It remembers the state it was read in: if the memory changes
/// meanwhile, the draft is not written.
#[derive(Clone, Debug)]
pub struct MemoryDraft {
    /// Its file, relative to the directory.
    pub path: SafePath,
    /// The whole file, front matter included.
    pub text: String,
    expected: Expected,
}

/// Fields that get another value; `None` leaves one as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldChanges {
    /// Its name from now on; the file keeps its path.
    pub name: Option<String>,
    /// The line that recall reads.
    pub description: Option<String>,
    /// Its type from now on; `None` leaves it.
    pub kind: Option<Kind>,
    /// The last day on which it holds; `Some(None)` takes the date away.
    pub until: Option<Option<jiff::civil::Date>>,
    /// The text below the front matter.
    pub body: Option<String>,
}

/// The outcome of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryEdited {
    /// File of the memory, relative to its directory.
    pub path: SafePath,
    /// Unset if the text was the same.
    pub changed: bool,
    /// The entry of the journal, if anything changed.
    pub entry: Option<String>,
}

impl MemoryDraft {
    /// Bytes that an edited memory may have before it is judged: twice the limit, so that a text
    /// slightly too long is refused with the reason and not as an unreadable file.
    pub const LONGEST: u64 = MOST_BYTES as u64 * 2;

    /// Sets fields and the body. Keys of other tools, and everything that is not changed, stay byte
    /// for byte. A name and a description that were made of the old body follow the new one.
    pub fn change(&mut self, changes: &FieldChanges) {
        let mut fields = fields(changes);
        if let Some(body) = &changes.body {
            fields.extend(following(changes, &self.text, body));
        }
        // Without fields a file without front matter would get an empty one.
        if !fields.is_empty() {
            self.text = topic::edit(&self.text, &fields);
        }
        if let Some(body) = &changes.body {
            self.text = with_body(&self.text, body);
        }
    }
}

impl Host {
    /// A memory to be changed, as it is on disk now.
    ///
    /// # Errors
    /// When the name means no single memory, or it is no text.
    pub fn draft(&self, which: &Which, name: &str) -> Result<MemoryDraft, HostError> {
        let snapshot = self.find(which)?.snapshot()?;
        let path = names::find(&snapshot, name)?;
        let content = snapshot.get(&path).map(|file| file.content.to_vec());
        let text = String::from_utf8(content.unwrap_or_default())
            .map_err(|_| HostError::NotText(path.to_string()))?;
        Ok(MemoryDraft {
            expected: Expected::now(&snapshot, &path),
            path,
            text,
        })
    }

    /// Writes a draft, unless the memory changed since it was read.
    ///
    /// # Errors
    /// When it changed, or the directory cannot be changed.
    pub fn save_draft(
        &self,
        which: &Which,
        draft: &MemoryDraft,
    ) -> Result<MemoryEdited, HostError> {
        let MemoryDraft {
            path,
            text,
            expected,
        } = draft;
        let reason = format!("edit {path}");
        // The state at reading is demanded again at writing: an edit in another window is not
        // overwritten.
        let entry = self.find(which)?.update(|now| {
            let mut change: Transaction = retext(now, path, text, Author::User, &reason);
            for operation in &mut change.operations {
                if operation.path == *path {
                    operation.expected = *expected;
                }
            }
            Ok(change)
        })?;
        Ok(MemoryEdited {
            path: path.clone(),
            changed: entry.is_some(),
            entry: entry.map(|entry| entry.id),
        })
    }
}

fn fields(changes: &FieldChanges) -> Vec<Field> {
    let mut fields = Vec::new();
    fields.extend(changes.name.clone().map(Field::Name));
    fields.extend(changes.description.clone().map(Field::Description));
    fields.extend(changes.kind.map(Field::Kind));
    if let Some(until) = changes.until {
        fields.push(Field::ValidUntil(until.map(|day| day.to_string())));
    }
    fields
}

/// Name and description that were made of the old text, made anew; ones that the user wrote stay.
fn following(changes: &FieldChanges, old: &str, body: &str) -> Vec<Field> {
    let topic = Topic::read(old);
    let (was, is) = (
        wording::description(&old[topic.body..]),
        wording::description(body),
    );
    let mut fields = Vec::new();
    if changes.name.is_none() && !topic.name.is_empty() && topic.name == wording::name(&was) {
        fields.push(Field::Name(wording::name(&is)));
    }
    if changes.description.is_none() && !topic.description.is_empty() && topic.description == was {
        fields.push(Field::Description(is));
    }
    fields
}

/// The text with another body; the blank line behind the front matter stays.
fn with_body(text: &str, body: &str) -> String {
    let at = Topic::read(text).body;
    let head = &text[..at];
    let gap = if head.is_empty() { "" } else { "\n" };
    format!("{head}{gap}{}\n", body.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_body_keeps_the_front_matter() {
        let text = "---\nname: a\n---\n\nold\n";
        assert_eq!(with_body(text, "new"), "---\nname: a\n---\n\nnew\n");
        assert_eq!(with_body("old\n", "new\n\n"), "new\n");
    }
}
