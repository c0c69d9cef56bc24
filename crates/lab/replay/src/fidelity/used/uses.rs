//! The uses of a session: values that came from a tool or a message, and that the model wrote again.
//!
//! A value is a path, an identifier, a number, or a quoted span of several words. It counts from its
//! first appearance on the user's side; a value that the model wrote first is its own invention. A
//! use is old enough when at least [`YOUNGEST`] requests lie between it and the last time anyone
//! wrote the value.
//!
//! Written apart from the engine's evidence on purpose: the measure must not share the mistakes of
//! the measured.
//!
//! # Not here
//! Where a value is at the moment of its use: [`super`].

use super::super::find::arguments;
use crate::script::{Input, Script};
use dormouse_core::block::{Block, BlockKind};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Requests since the last appearance from which a use counts: nearer ones are in every prompt, and
/// would flatter every policy alike.
const YOUNGEST: usize = 3;
/// Shortest identifier: shorter ones are found everywhere by chance.
const SHORTEST_NAME: usize = 5;
/// Fewest digits of a number: two of them are a line number or a count.
const FEWEST_DIGITS: usize = 3;
/// Longest value; what is longer is data, not something a model writes from memory.
const LONGEST: usize = 160;
/// Shortest quoted span, in bytes: below, a phrase may have been said by chance.
const SHORTEST_QUOTE: usize = 16;

/// Kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsedKind {
    /// A path, a file name or an address.
    Path,
    /// A name of code: with a case change, an underscore or a digit in it.
    Identifier,
    /// A number of three digits or more, a version, a date.
    Number,
    /// A quoted span whose line spoke of an error.
    ErrorText,
    /// Any other quoted span of several words.
    Quote,
}

impl UsedKind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 5] = [
        Self::Path,
        Self::Identifier,
        Self::Number,
        Self::ErrorText,
        Self::Quote,
    ];

    /// Its name in reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Identifier => "identifier",
            Self::Number => "number",
            Self::ErrorText => "error_text",
            Self::Quote => "quote",
        }
    }
}

/// A value that the model used, some requests after it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Request whose answer has the value, from one.
    pub step: usize,
    /// Requests since the value was last written by anyone.
    pub age: usize,
    /// Kind of the value.
    pub kind: UsedKind,
    /// The tool whose result brought the value; `None` for the user's words.
    pub tool: Option<Arc<str>>,
    /// The value as it stands in the answer.
    pub value: String,
    /// The line of the answer that has it.
    pub line: String,
}

/// The last appearance of a value, and the tool that brought it.
#[derive(Clone, Debug)]
struct Seen {
    step: usize,
    tool: Option<Arc<str>>,
    /// True if the model wrote it before anyone else did.
    own: bool,
}

/// A text of the user's side, for quoted spans.
struct Told {
    step: usize,
    tool: Option<Arc<str>>,
    text: String,
}

/// The uses of a script, in order.
pub fn uses(script: &Script) -> Vec<Use> {
    let mut seen: HashMap<String, Seen> = HashMap::new();
    let mut told: Vec<Told> = Vec::new();
    let mut found = Vec::new();
    for (step, content) in (1..).zip(&script.steps) {
        for (tool, text) in content.inputs.iter().flat_map(texts) {
            for (value, _) in values(&text) {
                let new = Seen {
                    step,
                    tool: tool.clone(),
                    own: false,
                };
                let entry = seen.entry(value.to_owned()).or_insert_with(|| new.clone());
                entry.step = step;
                if !entry.own {
                    entry.tool = new.tool;
                }
            }
            told.push(Told { step, tool, text });
        }
        let answer: Vec<String> = content.answer.iter().map(written).collect();
        let mut once = HashSet::new();
        for line in answer.iter().flat_map(|text| text.lines()) {
            for (value, kind) in values(line) {
                let Some(before) = seen.get(value).filter(|seen| !seen.own) else {
                    continue;
                };
                let age = step - before.step;
                if age >= YOUNGEST && once.insert(value.to_owned()) {
                    found.push(Use {
                        step,
                        age,
                        kind,
                        tool: before.tool.clone(),
                        value: value.to_owned(),
                        line: line.to_owned(),
                    });
                }
            }
            for quote in quotes(line) {
                let Some(used) = quoted(quote, line, step, &told) else {
                    continue;
                };
                if once.insert(quote.to_owned()) {
                    found.push(used);
                }
            }
        }
        // After the answer was looked at: a value is not used by its own appearance.
        for text in &answer {
            for (value, _) in values(text) {
                let own = Seen {
                    step,
                    tool: None,
                    own: true,
                };
                seen.entry(value.to_owned()).or_insert(own).step = step;
            }
            // The model's own words renew a quotation, too.
            told.push(Told {
                step,
                tool: None,
                text: text.clone(),
            });
        }
    }
    found
}

/// A quoted span that came from the user's side, if it is old enough.
fn quoted(quote: &str, line: &str, step: usize, told: &[Told]) -> Option<Use> {
    let first = told.iter().find(|told| told.text.contains(quote))?;
    let last = told.iter().rev().find(|told| told.text.contains(quote))?;
    let age = step.checked_sub(last.step).filter(|age| *age >= YOUNGEST)?;
    let around = first.text.lines().find(|line| line.contains(quote));
    let is_error = around.is_some_and(|line| {
        let line = line.to_lowercase();
        ["error", "failed", "panic", "exception", "cannot", "denied"]
            .iter()
            .any(|word| line.contains(word))
    });
    Some(Use {
        step,
        age,
        kind: if is_error {
            UsedKind::ErrorText
        } else {
            UsedKind::Quote
        },
        tool: first.tool.clone(),
        value: quote.to_owned(),
        line: line.to_owned(),
    })
}

/// The texts of an item of the user's side, each with its tool.
fn texts(input: &Input) -> Vec<(Option<Arc<str>>, String)> {
    match input {
        Input::Message(message) => message
            .content
            .iter()
            .filter_map(|block| Some((None, block.readable_text()?)))
            .collect(),
        Input::Results(results) => results
            .iter()
            .map(|(tool, output)| (Some(Arc::from(tool.as_str())), output.text.clone()))
            .collect(),
    }
}

/// Words of a block, or the arguments of its call.
fn written(block: &Block) -> String {
    match block.kind() {
        BlockKind::ToolUse => arguments(block),
        BlockKind::Text => block.readable_text().unwrap_or_default(),
        // Thinking is the model's own draft; what it needs shows in what it does.
        _ => String::new(),
    }
}

/// The values of a text with their kinds.
fn values(text: &str) -> impl Iterator<Item = (&str, UsedKind)> {
    let part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '/' | '.' | '-');
    text.split(move |letter: char| !part(letter))
        // A full stop ends a sentence more often than a value.
        .map(|word| word.trim_matches(['.', '-']).trim_end_matches('/'))
        .filter(|word| word.len() <= LONGEST)
        .filter_map(|word| Some((word, kind_of(word)?)))
}

fn kind_of(word: &str) -> Option<UsedKind> {
    let letters = word.chars().filter(|letter| letter.is_alphabetic()).count();
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if letters == 0 {
        let is_number = digits >= FEWEST_DIGITS && !word.contains('/');
        return is_number.then_some(UsedKind::Number);
    }
    if word.len() < SHORTEST_NAME {
        return None;
    }
    let has_ending = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    // `and/or` is a word of prose; a path has a dot, a digit, or two slashes.
    let slashes = word.matches('/').count();
    if has_ending || slashes > 1 || (slashes == 1 && (digits > 0 || word.contains(['_', '.']))) {
        return Some(UsedKind::Path);
    }
    let changes_case = word
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let is_name = word.contains('_') || changes_case || (digits > 0 && letters > 0);
    (is_name && slashes == 0).then_some(UsedKind::Identifier)
}

/// Spans between quotation marks or backticks, of several words.
fn quotes(line: &str) -> impl Iterator<Item = &str> {
    ['"', '`']
        .into_iter()
        .flat_map(move |mark| {
            let mut parts = line.split(mark);
            // Every second part stands between two marks; an odd mark at the end leaves none open.
            parts.next();
            let marks = line.matches(mark).count();
            parts.step_by(2).take(marks / 2)
        })
        .filter(|span| {
            (SHORTEST_QUOTE..=LONGEST).contains(&span.len()) && span.trim().contains(' ')
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn values_have_a_shape_of_their_own() {
        use UsedKind::{Identifier, Number, Path};
        let found: Vec<_> =
            values("See src/main.rs, call parse_args or readLine (4711) and/or 12.").collect();
        assert_eq!(
            found,
            [
                ("src/main.rs", Path),
                ("parse_args", Identifier),
                ("readLine", Identifier),
                ("4711", Number),
            ]
        );
        assert_eq!(kind_of("hello"), None);
        assert_eq!(kind_of("1.2.13"), Some(Number));
        assert_eq!(kind_of("v2beta7"), Some(Identifier));
        assert_eq!(kind_of("README.md"), Some(Path));
    }

    #[test]
    fn quotations_need_both_marks_and_several_words() {
        let line = "it says \"no such file or directory\" and `word` and \"open end";
        assert_eq!(
            quotes(line).collect::<Vec<_>>(),
            ["no such file or directory"]
        );
    }
}
