//! Tools of servers whose input the model was shown, kept over compactions and restarts.

use dormouse_core::record::{FoldedState, StateChange};
use dormouse_engine::Recorder;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Name of the fact under which the log keeps the names.
const FACT: &str = "loaded_tools";
/// Tools that are remembered: their definitions fill the room that a compaction gives them.
const MOST: usize = 20;

/// Names of the tools, oldest first. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct LoadedTools(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    names: Mutex<Vec<String>>,
    recorder: OnceLock<Recorder>,
}

impl LoadedTools {
    /// Goes on with the names that the log has.
    pub(super) fn attach(&self, recorder: Recorder, state: &FoldedState) {
        let _before = self.0.recorder.set(recorder);
        let recorded = state.facts.get(FACT).cloned();
        let names = recorded.and_then(|value| serde_json::from_value(value).ok());
        *self.names() = names.unwrap_or_default();
    }

    /// Takes note of tools whose input was shown now.
    pub(super) fn shown<'a>(&self, tools: impl Iterator<Item = &'a str>) {
        let mut names = self.names();
        let before = names.clone();
        for tool in tools {
            names.retain(|known| known != tool);
            names.push(tool.to_owned());
        }
        let over = names.len().saturating_sub(MOST);
        names.drain(..over);
        if let Some(recorder) = self.0.recorder.get().filter(|_| *names != before) {
            recorder.send(StateChange::Fact {
                name: FACT.to_owned(),
                value: serde_json::to_value(&*names).unwrap_or_default(),
            });
        }
    }

    /// Names of the loaded tools, the newest first.
    pub(super) fn newest_first(&self) -> Vec<String> {
        self.names().iter().rev().cloned().collect()
    }

    fn names(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
