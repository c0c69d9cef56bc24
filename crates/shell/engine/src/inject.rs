//! What others put into the conversation and its state, and how they watch it.

use crate::error::EngineError;
use crate::ports::{Injection, Seen};
use crate::session::Session;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::Seq;
use dormouse_core::record::{Body, Fragment, Record, StateChange};
use std::collections::BTreeSet;

impl Session {
    /// Puts fragments in, and records which memories they show.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn inject(&mut self, injections: Vec<Injection>) -> Result<(), EngineError> {
        for injection in injections {
            self.append(Body::Fragment(Fragment {
                kind: injection.kind,
                block: Block::text(&injection.text),
            }))?;
            if !injection.memories.is_empty() {
                let memories = injection.memories;
                self.append(Body::State(StateChange::Surfaced { memories }))?;
            }
        }
        Ok(())
    }

    /// Writes a change of state down.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn note(&mut self, change: StateChange) -> Result<(), EngineError> {
        self.append(Body::State(change))?;
        Ok(())
    }

    /// Begins to keep records for somebody who deals with them later: those behind the cursor of
    /// that name, and all that follow. The log is read once; from then on a turn costs its own
    /// records.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn watch(&mut self, cursor: &str) -> Result<(), EngineError> {
        if self.watched.is_none() {
            let dealt_with = self.conversation.state().cursors.get(cursor).copied();
            let mut records = self.records()?;
            records.retain(|record| dealt_with.is_none_or(|seq| record.seq > seq));
            self.watched = Some(records);
        }
        Ok(())
    }

    /// The records that nobody has dealt with yet; none unless [`Session::watch`] was called.
    pub fn watched(&self) -> &[Record] {
        self.watched.as_deref().unwrap_or_default()
    }

    /// Records up to here are dealt with, and the cursor of that name says so.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn dealt_with(&mut self, cursor: &str, at: Seq) -> Result<(), EngineError> {
        if let Some(watched) = &mut self.watched {
            watched.retain(|record| record.seq > at);
        }
        self.note(StateChange::Cursor {
            name: cursor.to_owned(),
            at,
        })
    }

    /// What companions may look at.
    pub(crate) fn seen(&self) -> Seen {
        let state = self.conversation.state();
        let mut files: BTreeSet<String> = state.read_files.keys().cloned().collect();
        files.extend(self.files_read());
        Seen {
            memories: state.surfaced.clone(),
            files: files.into_iter().collect(),
        }
    }

    /// The files whose reading is in the prompt. What a compaction took away is not.
    fn files_read(&self) -> Vec<String> {
        let segments = self.conversation.view().segments();
        let calls = segments
            .iter()
            .map(|segment| &segment.block)
            .filter(|block| block.kind() == BlockKind::ToolUse);
        let reads = calls.filter(|block| {
            let tool = block.tool();
            tool.is_some_and(|tool| self.ports.tools.traits(tool).reads_files)
        });
        let named = |block: &Block| {
            let path = block.input_text("file_path");
            path.or_else(|| block.input_text("path"))
        };
        reads.filter_map(named).collect()
    }
}
