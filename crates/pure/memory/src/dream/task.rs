//! A running dream, for whoever watches it.
//!
//! # Model
//! A dream is `starting` until it writes for the first time, then `updating`; it runs until it is
//! completed, failed or killed, and nothing moves it after that.

use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

/// What a running dream is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It reads.
    Starting,
    /// It has written.
    Updating,
}

/// How a dream ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "state", content = "why")]
pub enum Ending {
    /// Its result is in place, or there was nothing to do.
    Completed,
    /// It changed nothing.
    Failed(String),
    /// The user ended it; it changed nothing.
    Killed,
}

/// What happens to a dream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// The model begins a turn.
    TurnBegan,
    /// It says something.
    Said(String),
    /// It calls a tool.
    ToolCalled,
    /// It wrote to the staged copy.
    Wrote(SafePath),
    /// It is over.
    Ended(Ending),
}

/// A turn as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// What the model said.
    pub text: String,
    /// How many tools it called.
    pub tools: u64,
}

/// A dream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// When it began.
    pub started: Millis,
    /// When it ended.
    pub ended: Option<Millis>,
    /// What it is at.
    pub phase: Phase,
    /// How it ended; `None` while it runs.
    pub ending: Option<Ending>,
    /// Its last turns, oldest first.
    pub turns: VecDeque<Turn>,
    /// Tools called in all turns.
    pub tools: u64,
    /// Files it wrote.
    pub files: BTreeSet<SafePath>,
    /// Most turns that are kept.
    kept: usize,
}

impl Task {
    /// A dream that begins. The text of the last `kept` turns is kept.
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

    /// Whether it runs.
    pub const fn is_running(&self) -> bool {
        self.ending.is_none()
    }

    /// Takes note of what happened. Whether anything changed: what comes late is nothing.
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
        while self.turns.len() > self.kept.max(1) {
            self.turns.pop_front();
        }
    }

    fn turn(&mut self) -> &mut Turn {
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
