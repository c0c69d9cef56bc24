//! What others put into the conversation and its state.

use crate::error::EngineError;
use crate::ports::{Injection, Seen};
use crate::session::Session;
use dormouse_core::block::Block;
use dormouse_core::record::{Body, Fragment, StateChange};

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

    /// What companions may look at.
    pub(crate) fn seen(&self) -> Seen {
        let state = self.conversation.state();
        Seen {
            memories: state.surfaced.clone(),
            files: state.read_files.keys().cloned().collect(),
        }
    }
}
