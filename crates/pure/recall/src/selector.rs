//! Choice among candidates by a small model.
//!
//! # Model
//! [`request`] makes the question: fixed instructions, and the user's request with the candidates'
//! lines as data. [`parse`] reads the answer; a model may say anything, and every answer has a
//! defined outcome: a choice (perhaps of nothing), or a [`Fault`] upon which the ranker's own pick
//! stands.
//!
//! # Not here
//! Calling the model, its time limit and its price (`dormouse-keeper`).

use dormouse_core::fragment::{CANDIDATES, QUERY, neutralise, one_line, render};
use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use dormouse_memory::manifest::render_line;
use serde_json::{Value, json};
use std::fmt;

const INSTRUCTIONS: &str = include_str!("selector.md");
/// Most characters of the user's request that the model sees; the question itself stands at the
/// beginning or at the end.
const LONGEST_QUERY: usize = 4_000;
/// Most characters of a description that the model sees: fifty candidates then fit into a few
/// thousand tokens.
const LONGEST_DESCRIPTION: usize = 300;
/// Most bytes of an answer: a list of five names has a few hundred.
const LONGEST_ANSWER: usize = 16 * 1024;
const KEY: &str = "selected_memories";

/// Question to the small model.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectorRequest {
    /// Instructions, the same bytes every time, so that they are cached.
    pub system: String,
    /// Request of the user, and the candidates.
    pub user: String,
    /// JSON schema of the answer.
    pub schema: Value,
}

/// Meaning of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Memories that help; an empty list is a valid choice.
    Selected(Vec<SafePath>),
    /// Useless answer: the ranker's own pick stands.
    Fallback(Fault),
}

/// Fault of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing but blanks, or nothing at all.
    Empty,
    /// No JSON object: a refusal or talk.
    NoObject,
    /// JSON that ends too early, mostly at the token limit.
    Truncated,
    /// JSON with a syntax error.
    Malformed,
    /// JSON that is something else than a list of names.
    WrongShape,
    /// Longer than any list of names.
    TooLong,
    /// Only names that were not offered.
    UnknownNames,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the small model's answer was empty",
            Self::NoObject => "the small model answered without JSON",
            Self::Truncated => "the small model's answer broke off",
            Self::Malformed => "the small model's JSON is broken",
            Self::WrongShape => "the small model's JSON is not a list of memories",
            Self::TooLong => "the small model's answer is far too long",
            Self::UnknownNames => "the small model named only memories that were not offered",
        })
    }
}

/// Question to the small model, for candidates in this order.
pub fn request(prompt: &str, candidates: &[Card], most: usize) -> SelectorRequest {
    let lines: Vec<String> = candidates.iter().map(safe_line).collect();
    SelectorRequest {
        // The limit is a setting, so these bytes change only with the settings.
        system: INSTRUCTIONS.trim_end().replace("{most}", &most.to_string()),
        user: format!(
            "{}\n\n{}",
            render(&QUERY, &shortened(prompt.trim())),
            render(&CANDIDATES, &lines.join("\n"))
        ),
        schema: schema(),
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {KEY: {"type": "array", "items": {"type": "string"}}},
        "required": [KEY],
        "additionalProperties": false,
    })
}

fn safe_line(card: &Card) -> String {
    let mut card = card.clone();
    // Descriptions are foreign text: one with a newline could add a candidate of its own.
    card.description = one_line(&card.description, LONGEST_DESCRIPTION);
    one_line(&render_line(&card), usize::MAX)
}

/// Beginning and end of a long request, made neutral after the cut: a cut can make a tag or a turn
/// of words that were none.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST_QUERY {
        return neutralise(text);
    }
    let half = LONGEST_QUERY / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - half).collect();
    format!("{}\n[…]\n{}", neutralise(&head), neutralise(&tail))
}

/// Reads an answer: fences and prose around the object are passed over, names that were not offered
/// and repeated ones dropped, and no more than `most` kept.
pub fn parse(answer: &str, candidates: &[SafePath], most: usize) -> Selection {
    match names(answer) {
        Err(fault) => Selection::Fallback(fault),
        Ok(names) => {
            let mut selected: Vec<SafePath> = Vec::new();
            for path in names.iter().filter_map(|name| offered(name, candidates)) {
                if !selected.contains(path) {
                    selected.push(path.clone());
                }
            }
            selected.truncate(most);
            // Names without a match are a fault and no choice of nothing: the ranker's pick is
            // better.
            if selected.is_empty() && !names.is_empty() && most > 0 {
                return Selection::Fallback(Fault::UnknownNames);
            }
            Selection::Selected(selected)
        }
    }
}

fn names(answer: &str) -> Result<Vec<String>, Fault> {
    let answer = answer.trim();
    if answer.is_empty() {
        return Err(Fault::Empty);
    }
    if answer.len() > LONGEST_ANSWER {
        return Err(Fault::TooLong);
    }
    let mut fault = Fault::NoObject;
    let mut from = 0;
    while let Some(at) = answer[from..].find('{').map(|at| from + at) {
        let mut values = serde_json::Deserializer::from_str(&answer[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                if let Some(names) = list(&value) {
                    return Ok(names);
                }
                fault = Fault::WrongShape;
                // At least one byte further, or the loop would not end.
                from = at + values.byte_offset().max(1);
            }
            Some(Err(error)) => {
                // The first object decides: an object inside a broken one is no answer.
                if fault == Fault::NoObject {
                    fault = if error.is_eof() {
                        Fault::Truncated
                    } else {
                        Fault::Malformed
                    };
                }
                from = at + 1;
            }
            None => break,
        }
    }
    Err(fault)
}

/// Names of an answer; anything but a list of strings is no answer.
fn list(value: &Value) -> Option<Vec<String>> {
    let items = value.get(KEY)?.as_array()?;
    items
        .iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// Candidate of a name: the path, or the name of exactly one file.
fn offered<'a>(name: &str, candidates: &'a [SafePath]) -> Option<&'a SafePath> {
    let name = name.trim().trim_matches(['`', '"', '\'']);
    let name = name.strip_prefix("./").unwrap_or(name);
    if let Some(exact) = candidates.iter().find(|path| path.as_str() == name) {
        return Some(exact);
    }
    // Models often drop the folder; a name that two files share says nothing.
    let mut alike = candidates.iter().filter(|path| path.file_name() == name);
    let first = alike.next()?;
    alike.next().is_none().then_some(first)
}

#[cfg(test)]
#[path = "selector_tests.rs"]
mod tests;
