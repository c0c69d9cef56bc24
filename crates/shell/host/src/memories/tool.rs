//! The provider's memory tool, answered from a memory directory.
//!
//! # Not here
//! The commands and their texts: `dormouse_memory::tool`.

use crate::error::{HostError, chain};
use crate::host::Host;
use crate::place::Which;
use bytes::Bytes;
use dormouse_guard::paths::SafePath;
use dormouse_memdir::MemdirError;
use dormouse_memory::snapshot::Snapshot;
use dormouse_memory::tool::{Change, Command, CommandAnswer, Overwrite, answer};
use dormouse_memory::transaction::{Author, Transaction};
use serde::Serialize;
use serde_json::Value;
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
        let mut told = None;
        let applied = found.open()?.update(|snapshot| {
            let answer = answer(input, &tree(snapshot), overwrite);
            let change = transaction(&answer, snapshot);
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

fn tree(snapshot: &Snapshot) -> BTreeMap<SafePath, Bytes> {
    snapshot
        .files()
        .map(|(path, file)| (path.clone(), file.content.clone()))
        .collect()
}

fn transaction(answer: &CommandAnswer, snapshot: &Snapshot) -> Transaction {
    let mut change = Transaction::by(Author::Agent, "memory tool");
    for operation in &answer.operations {
        match operation {
            Change::Put { path, content } => change.put(snapshot, path.clone(), content.clone()),
            Change::Delete { path } => change.delete(snapshot, path.clone()),
        }
    }
    change
}
