//! Running dream, for a screen that shows it.
//!
//! # Model
//! A dream is `starting` until it writes for the first time, then `updating`; it runs until it is
//! completed, failed or killed, and nothing moves it after that.
//!
//! # Not here
//! Running it (`dormouse-keeper`); showing it (the doors).

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// Phase of a running dream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Reading; nothing is written yet.
    Starting,
    /// Has written to the staged copy.
    Updating,
}

/// End of a dream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "state", content = "why")]
pub enum Ending {
    /// Result is in place, or there was nothing to do.
    Completed,
    /// Failed with this reason; nothing changed.
    Failed(String),
    /// Cancelled by the user; nothing changed.
    Killed,
}

/// Event of a dream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// Model begins a turn.
    TurnBegan,
    /// Model says something; pieces of a turn are joined.
    Said(String),
    /// Model calls a tool.
    ToolCalled,
    /// File written in the staged copy.
    Wrote(SafePath),
    /// End, after which events are ignored.
    Ended(Ending),
}

/// Turn as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Words of the model in this turn.
    pub text: String,
    /// Number of tools it called.
    pub tools: u64,
}

/// Dream as a screen shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Unique id of the dream.
    pub id: String,
    /// Time of its beginning.
    pub started: Millis,
    /// Time of its end; `None` while it runs.
    pub ended: Option<Millis>,
    /// Phase it is in, or was in at its end.
    pub phase: Phase,
    /// End of it; `None` while it runs.
    pub ending: Option<Ending>,
    /// Last turns, oldest first.
    pub turns: VecDeque<Turn>,
    /// Number of tools called in all turns.
    pub tools: u64,
    /// Files written in the staged copy.
    pub files: BTreeSet<SafePath>,
    /// Most turns that are kept (`dream.turns_shown`).
    kept: usize,
}

impl Task {
    /// Dream that begins. The last `kept` turns stay readable.
    pub const fn new(id: String, started: Millis, kept: usize) -> Self {
        Self {
            id,
            started,
            ended: None,
            phase: Phase::Starting,
            ending: None,
            turns: VecDeque::new(),
            tools: 0,
            files: BTreeSet::new(),
            kept,
        }
    }

    /// True until an end was reported.
    pub const fn is_running(&self) -> bool {
        self.ending.is_none()
    }

    /// Records an event. Returns false for late ones, which change nothing.
    pub fn handle(&mut self, event: TaskEvent, now: Millis) -> bool {
        if !self.is_running() {
            return false;
        }
        match event {
            TaskEvent::TurnBegan => self.begin_turn(),
            TaskEvent::Said(text) => self.turn().text.push_str(&text),
            TaskEvent::ToolCalled => {
                self.tools += 1;
                self.turn().tools += 1;
            }
            TaskEvent::Wrote(path) => {
                // Never back: from here on a screen shows that the dream changes its copy.
                self.phase = Phase::Updating;
                self.files.insert(path);
            }
            TaskEvent::Ended(ending) => {
                self.ending = Some(ending);
                self.ended = Some(now);
            }
        }
        true
    }

    fn begin_turn(&mut self) {
        self.turns.push_back(Turn::default());
        // At least one: the current turn must have a place.
        while self.turns.len() > self.kept.max(1) {
            self.turns.pop_front();
        }
    }

    fn turn(&mut self) -> &mut Turn {
        // A model may speak before its first turn was reported.
        if self.turns.is_empty() {
            self.begin_turn();
        }
        let last = self.turns.len().saturating_sub(1);
        &mut self.turns[last]
    }

    /// One line for a status bar.
    pub fn line(&self) -> String {
        let state = match (&self.ending, self.phase) {
            (None, Phase::Starting) => "starting",
            (None, Phase::Updating) => "updating",
            (Some(Ending::Completed), _) => "completed",
            (Some(Ending::Failed(_)), _) => "failed",
            (Some(Ending::Killed), _) => "killed",
        };
        let mut line = format!(
            "dream {state}: {} tool calls, {} files",
            self.tools,
            self.files.len()
        );
        if let Some(Ending::Failed(why)) = &self.ending {
            line.push_str(": ");
            line.push_str(why);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_dream_updates_with_its_first_write_and_ends_once() {
        let mut task = Task::new("d1".into(), Millis(1), 2);
        for text in ["one", "two", "three"] {
            task.handle(TaskEvent::TurnBegan, Millis(2));
            task.handle(TaskEvent::Said(text.into()), Millis(2));
            task.handle(TaskEvent::ToolCalled, Millis(2));
        }
        assert_eq!(task.line(), "dream starting: 3 tool calls, 0 files");
        let kept: Vec<&str> = task.turns.iter().map(|turn| turn.text.as_str()).collect();
        assert_eq!(kept, ["two", "three"]);
        let path = SafePath::parse("a.md").unwrap();
        task.handle(TaskEvent::Wrote(path.clone()), Millis(3));
        task.handle(TaskEvent::Wrote(path), Millis(3));
        assert_eq!(task.line(), "dream updating: 3 tool calls, 1 files");
        let failed = Ending::Failed("no".into());
        assert!(task.handle(TaskEvent::Ended(failed), Millis(4)));
        assert!(!task.handle(TaskEvent::Ended(Ending::Completed), Millis(5)));
        assert!(!task.handle(TaskEvent::ToolCalled, Millis(5)));
        assert_eq!(task.ended, Some(Millis(4)));
        assert_eq!(task.line(), "dream failed: 3 tool calls, 1 files: no");
        let json = serde_json::to_string(&task).unwrap();
        assert_eq!(serde_json::from_str::<Task>(&json).unwrap(), task);
    }
}
