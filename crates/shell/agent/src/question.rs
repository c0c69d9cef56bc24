//! Questions of the model to the user: the port between the tool and the person.
//!
//! A call that asks waits like one that needs permission: it is state of the conversation, survives
//! a restart, and runs once it was answered. The answers lie here until the tool fetches them.

use crate::protocol::Answers;
use dormouse_core::id::CallId;
use dormouse_tools::{People, PersonAnswer, PersonQuestion};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Name of the tool by which a model asks the user.
pub const ASK_USER: &str = "AskUserQuestion";

/// Answers of the user that no tool has fetched yet. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct UserAnswers {
    /// False if nobody answers.
    attended: bool,
    waiting: Arc<Mutex<BTreeMap<CallId, Answers>>>,
}

impl UserAnswers {
    pub(crate) fn new(attended: bool) -> Self {
        Self {
            attended,
            waiting: Arc::default(),
        }
    }

    /// Keeps the answers to the questions of a call.
    pub(crate) fn give(&self, call: CallId, answers: Answers) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.insert(call, answers);
    }
}

impl People for UserAnswers {
    fn ask(&self, call: &CallId, questions: &[PersonQuestion]) -> PersonAnswer {
        if !self.attended {
            return PersonAnswer::NoOne;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut answers) = waiting.remove(call) else {
            return PersonAnswer::Declined;
        };
        let answer = |asked: &PersonQuestion| answers.remove(&asked.question).unwrap_or_default();
        PersonAnswer::Answered(questions.iter().map(answer).collect())
    }
}
