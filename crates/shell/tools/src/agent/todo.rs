//! `TodoWrite`: the model's own list of what is left to do.

use super::Inner;
use crate::reply::{Failure, Reply};
use serde::{Deserialize, Serialize};
use std::sync::PoisonError;

/// Most entries of a list; a longer one is a plan, which belongs into a file.
const MOST: usize = 100;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    /// The thing, as an order: "Run the tests".
    pub content: String,
    /// How far it is.
    pub status: TodoState,
    /// The same as an activity: "Running the tests".
    #[serde(default, rename = "activeForm")]
    pub active_form: String,
}

/// How far a thing to do is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    /// The work has not begun.
    Pending,
    /// The work is under way.
    InProgress,
    /// The work is done.
    Completed,
}

/// Input of `TodoWrite`, as the model writes it.
#[derive(Debug, Deserialize)]
pub(super) struct Input {
    todos: Vec<Todo>,
}

impl Inner {
    /// Puts a new list in the place of the old one.
    pub(super) fn todo_write(&self, input: Input) -> Reply {
        let todos = input.todos;
        if todos.len() > MOST {
            let count = todos.len();
            return Err(Failure::failed(format!(
                "The list has {count} entries; keep it to {MOST}, or write a plan to a file."
            )));
        }
        let count = |state: TodoState| todos.iter().filter(|todo| todo.status == state).count();
        let said = format!(
            "{} done, {} under way, {} left.",
            count(TodoState::Completed),
            count(TodoState::InProgress),
            count(TodoState::Pending)
        );
        *self.todos.lock().unwrap_or_else(PoisonError::into_inner) = todos;
        Ok(said)
    }
}
