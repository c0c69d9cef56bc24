//! The provider's memory tool, answered from a memory directory.
//!
//! # Not here
//! The commands and their texts: `dormouse_memory::tool`.

use crate::error::{HostError, chain};
use crate::host::Host;
use crate::place::Which;
use bytes::Bytes;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use dormouse_memdir::MemdirError;
use dormouse_memory::seal::{Seal, sealed, unsealed};
use dormouse_memory::snapshot::{Snapshot, StoredFile, is_topic};
use dormouse_memory::tool::{Change, Command, CommandAnswer, Overwrite, answer};
use dormouse_memory::topic::Topic;
use dormouse_memory::transaction::{Author, Transaction};
use dormouse_memory::trust::{Origin, Speaker, Trust};
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The answer to one command of the memory tool, as the model gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolAnswer {
    /// Text of the result, for the model.
    pub content: String,
    /// Set if the result is an error.
    pub is_error: bool,
}

impl Host {
    /// Answers one command of the provider's memory tool.
    ///
    /// # Errors
    /// When memory is off, or the directory fails in a way that is not the model's business.
    pub fn memory_tool(
        &self,
        which: &Which,
        input: &Value,
        overwrite: Overwrite,
    ) -> Result<ToolAnswer, HostError> {
        let answer = self.answered(which, input, overwrite)?;
        Ok(ToolAnswer {
            content: answer.text,
            is_error: answer.is_error,
        })
    }

    fn answered(
        &self,
        which: &Which,
        input: &Value,
        overwrite: Overwrite,
    ) -> Result<CommandAnswer, HostError> {
        let mut found = self.find(which)?;
        let reads = Command::parse(input).is_ok_and(|command| !command.writes());
        // Reading must not make the directory.
        if reads {
            return Ok(answer(input, &tree(&found.snapshot()?), overwrite));
        }
        let now = self.now();
        let mut told = None;
        let applied = found.open()?.update(|snapshot| {
            let answer = answer(input, &tree(snapshot), overwrite);
            let change = transaction(&answer, snapshot, now);
            told = Some(answer);
            Ok::<_, MemdirError>(change)
        });
        match (applied, told) {
            (Ok(_), Some(answer)) => Ok(answer),
            // A refusal of the guard or the disk is told to the model, which can try something
            // else; only faults of the directory itself end the call.
            (Err(MemdirError::Refused(why)), _) => Ok(refused(&why.to_string())),
            (Err(MemdirError::Files { source, .. }), _) => Ok(refused(&chain(&source))),
            (Err(error), _) => Err(error.into()),
            (Ok(_), None) => Ok(refused("nothing was done")),
        }
    }
}

fn refused(why: &str) -> CommandAnswer {
    CommandAnswer {
        text: format!("Error: {why}"),
        is_error: true,
        operations: Vec::new(),
    }
}

/// Files as the model knows them: without the provenance that code wrote into them.
fn tree(snapshot: &Snapshot) -> BTreeMap<SafePath, Bytes> {
    let seen = |(path, file): (&SafePath, &StoredFile)| (path.clone(), seen(path, file));
    snapshot.files().map(seen).collect()
}

fn seen(path: &SafePath, file: &StoredFile) -> Bytes {
    match std::str::from_utf8(&file.content) {
        Ok(text) if is_topic(path) => match unsealed(text) {
            Cow::Borrowed(_) => file.content.clone(),
            Cow::Owned(text) => text.into(),
        },
        _ => file.content.clone(),
    }
}

fn transaction(answer: &CommandAnswer, snapshot: &Snapshot, now: Millis) -> Transaction {
    // Named as the agent's, so that the journal tells it from the user's own changes.
    let mut change = Transaction::by(Author::Agent, "memory tool");
    let gone = |operation: &Change| match operation {
        Change::Delete { path } => Some((path.clone(), snapshot.get(path)?)),
        Change::Put { .. } => None,
    };
    let gone: Vec<(SafePath, &StoredFile)> = answer.operations.iter().filter_map(gone).collect();
    for operation in &answer.operations {
        match operation {
            Change::Put { path, content } => {
                let content = stated(path, content, snapshot, &gone, now);
                change.put(snapshot, path.clone(), content);
            }
            Change::Delete { path } => change.delete(snapshot, path.clone()),
        }
    }
    change
}

/// Content with the provenance of its writer. A model may say anything about a memory but where it
/// comes from.
fn stated(
    path: &SafePath,
    content: &Bytes,
    snapshot: &Snapshot,
    gone: &[(SafePath, &StoredFile)],
    now: Millis,
) -> Bytes {
    // A file under another name is the same memory, written by whom it was.
    if let Some((_, file)) = gone.iter().find(|(old, file)| seen(old, file) == *content) {
        return file.content.clone();
    }
    let Ok(text) = std::str::from_utf8(content) else {
        return content.clone();
    };
    if !is_topic(path) {
        return content.clone();
    }
    let believed = |file: &StoredFile| Topic::read(&file.text()).trust.unwrap_or(Trust::User);
    let before = gone.iter().map(|(_, file)| *file).chain(snapshot.get(path));
    let least = before.map(believed).min().unwrap_or(Trust::User);
    let seal = Seal {
        trust: least.min(Trust::Assistant),
        origin: Origin {
            session: None,
            message: None,
            speaker: Speaker::Assistant,
            time: now,
        },
    };
    sealed(text, &seal).into()
}
