//! `AskUserQuestion`, `Memory` and `SearchMemory`: calls that ports of the caller answer.

use super::Inner;
use super::ports::{PersonAnswer, PersonQuestion};
use crate::input::given;
use crate::reply::{Failure, Reply, shorten};
use dormouse_core::id::CallId;
use dormouse_drive::ToolCall;
use serde::Deserialize;

/// Most questions of a call, and options of a question: what fits a screen, as models know it.
const MOST_ASKED: usize = 4;
/// Bytes of a search's result: about four thousand tokens, a page of memories and a dozen passages.
const SEARCH_RESULT: usize = 16_000;
/// Bytes of a search's words; more are a pasted text, which no index answers better.
const LONGEST_QUERY: usize = 1_000;

/// Input of `AskUserQuestion`, as the model writes it.
#[derive(Debug, Deserialize)]
pub(super) struct Ask {
    questions: Vec<PersonQuestion>,
}

/// Input of `SearchMemory`, as the model writes it.
#[derive(Debug, Deserialize)]
pub(super) struct SearchMemory {
    query: String,
}

impl Inner {
    pub(super) fn ask_person(&self, call: &CallId, input: &Ask) -> Reply {
        let questions = &input.questions;
        if questions.is_empty() || questions.len() > MOST_ASKED {
            return Err(Failure::failed(format!(
                "`questions` has {} entries; ask 1 to {MOST_ASKED} at once.",
                questions.len()
            )));
        }
        for (at, question) in questions.iter().enumerate() {
            let count = question.options.len();
            if !(2..=MOST_ASKED).contains(&count) {
                return Err(Failure::failed(format!(
                    "`questions[{at}].options` has {count} entries; give 2 to {MOST_ASKED}. Another \
                     answer can always be written."
                )));
            }
            if question.question.trim().is_empty() {
                return Err(Failure::failed(format!(
                    "`questions[{at}].question` is empty; write the question."
                )));
            }
        }
        match self.services.people.ask(call, questions) {
            PersonAnswer::Answered(answers) => {
                let lines = questions.iter().zip(&answers);
                let lines = lines.map(|(asked, answer)| format!("{}\n→ {answer}", asked.question));
                Ok(lines.collect::<Vec<_>>().join("\n"))
            }
            PersonAnswer::Declined => Err(Failure::failed(
                "The user did not answer. Go on with what is certain, or stop and say what is missing.",
            )),
            PersonAnswer::NoOne => Err(Failure::failed(
                "No one can be asked here. Choose what is safest and easiest to take back, and say in \
                 the answer what you assumed.",
            )),
        }
    }

    pub(super) fn memory(&self, call: &ToolCall) -> Reply {
        let desk = self.services.memory.as_ref().ok_or_else(off)?;
        desk.command(&given(call)).map_err(Failure::Failed)
    }

    pub(super) fn search_memory(&self, input: &SearchMemory) -> Reply {
        let desk = self.services.memory.as_ref().ok_or_else(off)?;
        let words = shorten(input.query.trim(), LONGEST_QUERY);
        if words.is_empty() {
            return Err(Failure::failed(
                "`query` is empty; give some words to look for.",
            ));
        }
        let found = desk.search(words, SEARCH_RESULT).map_err(Failure::Failed)?;
        Ok(shorten(&found, SEARCH_RESULT).to_owned())
    }
}

fn off() -> Failure {
    Failure::failed("Memory is switched off in this session.")
}
