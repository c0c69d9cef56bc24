//! A small model chooses among candidates.
//!
//! # Model
//! [`request`] makes what is asked: fixed instructions, and the user's request with the candidates'
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
/// Characters of the user's request that the model sees; what is asked stands at the beginning or
/// at the end.
const LONGEST_QUERY: usize = 4_000;
/// Characters of a description that the model sees.
const LONGEST_DESCRIPTION: usize = 300;
/// An answer that is longer is none.
const LONGEST_ANSWER: usize = 16 * 1024;
const KEY: &str = "selected_memories";

/// What the small model is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectorRequest {
    /// Its instructions: the same bytes every time.
    pub system: String,
    /// The request and the candidates.
    pub user: String,
    /// What the answer must look like.
    pub schema: Value,
}

/// What the answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// These help; perhaps none does.
    Selected(Vec<SafePath>),
    /// The answer is of no use: the ranker's own pick stands.
    Fallback(Fault),
}

/// What is wrong with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is empty.
    Empty,
    /// It has no JSON object: a refusal or talk.
    NoObject,
    /// Its JSON ends too early.
    Truncated,
    /// Its JSON is broken.
    Malformed,
    /// Its JSON is something else than a list of names.
    WrongShape,
    /// It is far too long.
    TooLong,
    /// It names only memories that were not offered.
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

/// What the small model is asked, for candidates in this order.
pub fn request(prompt: &str, candidates: &[Card], most: usize) -> SelectorRequest {
    let lines: Vec<String> = candidates.iter().map(safe_line).collect();
    SelectorRequest {
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
    card.description = one_line(&card.description, LONGEST_DESCRIPTION);
    one_line(&render_line(&card), usize::MAX)
}

/// The beginning and the end of a long request, made neutral after the cut: a cut can make a tag
/// or a turn of what was none.
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

/// What an answer means: fences and prose around the object are passed over, names that were not
/// offered and repeated ones dropped, and no more than `most` kept.
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
                from = at + values.byte_offset().max(1);
            }
            Some(Err(error)) => {
                // The first object decides: what is inside a broken one is no answer.
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

/// The names of an answer; anything but a list of strings is no answer.
fn list(value: &Value) -> Option<Vec<String>> {
    let items = value.get(KEY)?.as_array()?;
    items
        .iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// The candidate of a name: the path, or the name of exactly one file.
fn offered<'a>(name: &str, candidates: &'a [SafePath]) -> Option<&'a SafePath> {
    let name = name.trim().trim_matches(['`', '"', '\'']);
    let name = name.strip_prefix("./").unwrap_or(name);
    if let Some(exact) = candidates.iter().find(|path| path.as_str() == name) {
        return Some(exact);
    }
    let mut alike = candidates.iter().filter(|path| path.file_name() == name);
    let first = alike.next()?;
    alike.next().is_none().then_some(first)
}

#[cfg(test)]
#[path = "selector_tests.rs"]
mod tests;
