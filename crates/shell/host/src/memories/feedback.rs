//! Judgements of the user on memories.

use super::names;
use crate::error::HostError;
use crate::host::Host;
use crate::place::Which;
use dormouse_guard::paths::SafePath;
use dormouse_memory::topic::Topic;
use dormouse_memory::write::{self, Judgement};
use serde::Serialize;

/// Outcome of a judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryJudged {
    /// File of the memory, relative to its directory.
    pub path: SafePath,
    /// Times it was called useful.
    pub useful: u32,
    /// Times it was called wrong.
    pub wrong: u32,
    /// True if recall may show it.
    pub recalled: bool,
    /// Entry of the journal, by which the judgement can be undone.
    pub entry: Option<String>,
}

impl Host {
    /// Counts a memory as useful or as wrong, by the word of the user.
    ///
    /// # Errors
    /// When the name means no single memory, or the directory cannot be changed.
    pub fn judge_memory(
        &self,
        which: &Which,
        name: &str,
        judgement: Judgement,
    ) -> Result<MemoryJudged, HostError> {
        let mut judged = None;
        let word = match judgement {
            Judgement::Useful => "useful",
            Judgement::Wrong => "wrong",
        };
        let mut found = self.find(which)?;
        let entry = found.update(|snapshot| {
            let path = names::find(snapshot, name)?;
            let change = write::judge(snapshot, &path, judgement, &format!("{word}: {path}"))?;
            judged = Some(path);
            Ok(change)
        })?;
        // The change was made of this path; without one the closure has failed before.
        let path = judged.ok_or_else(|| HostError::NotText(name.to_owned()))?;
        let text = found
            .snapshot()?
            .get(&path)
            .map(|file| file.text().into_owned());
        let topic = Topic::read(&text.unwrap_or_default());
        Ok(MemoryJudged {
            recalled: !topic.is_wrong(),
            useful: topic.useful,
            wrong: topic.wrong,
            path,
            entry: entry.map(|entry| entry.id),
        })
    }
}
