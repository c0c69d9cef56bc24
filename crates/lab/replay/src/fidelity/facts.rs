//! The facts of a session, mined without a model.
//!
//! # Model
//! The script is read once from its beginning. A fact has a kind, the value that must be found
//! again, and words from around it that a query can be made of. The same value counts once; a
//! command that ran more than once has the ending of its last run.
//!
//! # Not here
//! Looking for them ([`super::find`], [`super::search`]) and the shapes of numbers and paths
//! ([`super::shapes`]).

use super::shapes::{exit_code, has_extension, numbers, paths_in};
use super::words::{has_phrase, plain, sentences, subject_words, typed};
use crate::script::{Input, Script};
use dormouse_context::offload::ToolOutput;
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::id::CallId;
use dormouse_core::record::MessageOrigin;
use dormouse_core::show::{head, tail};
use std::collections::HashMap;

/// Kind of a fact, which decides how it is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactKind {
    /// A sentence of the user that lays down a rule or a preference.
    UserRule,
    /// A number the user gave.
    UserNumber,
    /// A file that was read, changed or named by the user.
    FilePath,
    /// A command that was run, with its ending.
    Command,
    /// The first line of a failing tool's output.
    ErrorText,
    /// A sentence of the model that decides something.
    Decision,
}

impl FactKind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::UserRule,
        Self::UserNumber,
        Self::FilePath,
        Self::Command,
        Self::ErrorText,
        Self::Decision,
    ];

    /// Its name in reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserRule => "user_rule",
            Self::UserNumber => "user_number",
            Self::FilePath => "file_path",
            Self::Command => "command",
            Self::ErrorText => "error_text",
            Self::Decision => "decision",
        }
    }
}

/// Ending of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// No result came before the session ended.
    Unknown,
    /// Without an error and without a code.
    Ok,
    /// Badly, without a code.
    Failed,
    /// With this exit code.
    Exit(i32),
}

/// Something said or done that may matter later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Kind of the fact.
    pub kind: FactKind,
    /// Text that must be found, blanks taken together; a path relative to the session's folder.
    pub value: String,
    /// Its ending, of a command only.
    pub ending: Option<Ending>,
    /// Words from around it, nearest first; the value is not among them.
    pub context: Vec<String>,
    /// The step it comes from, counted from one.
    pub step: usize,
}

/// Facts of one session.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The facts, in the order of the session.
    pub facts: Vec<Fact>,
    /// The folder that paths are relative to; empty if there is none.
    pub root: String,
}

/// Phrases by which a sentence of the user lays down a rule.
const RULES: [&str; 17] = [
    "always",
    "never",
    "must",
    "don't",
    "do not",
    "only",
    "please keep",
    "make sure",
    "prefer",
    "from now on",
    "at most",
    "at least",
    "no more than",
    "should not",
    "shouldn't",
    "avoid",
    "ensure",
];

/// Phrases by which a sentence of the model decides something.
const DECISIONS: [&str; 13] = [
    "decided",
    "i'll use",
    "i will use",
    "we'll use",
    "going with",
    "instead of",
    "rather than",
    "chose",
    "opted",
    "settled on",
    "best approach",
    "root cause",
    "the fix is",
];

/// Characters of a sentence that can be a rule or a decision: a shorter one has no subject, a
/// longer one is pasted text.
const SENTENCE: std::ops::RangeInclusive<usize> = 12..=300;
/// Characters of a command's first line that must be found: a summary seldom quotes more.
const COMMAND_CHARS: usize = 100;
/// Characters of an error's first line that must be found: the message, without a long path behind.
const ERROR_CHARS: usize = 120;
/// Characters from which on a message is taken for pasted; the user's words are at its ends.
const PASTED: usize = 6_000;
/// Characters read of the beginning of a pasted message, and of its end: an introduction is longer
/// than a closing question.
const PASTED_ENDS: (usize, usize) = (1_500, 700);
/// Beginnings of results by which clients say that the user refused a call.
const REFUSALS: [&str; 2] = ["The user doesn't want to", "User chose to"];
/// Words of a query that come from around the fact: as many as a person would type at most.
const CONTEXT_WORDS: usize = 12;
/// Of those, words of the user's last request, so that the query has a topic.
const REQUEST_WORDS: usize = 4;

/// Mines the facts of a script, in one pass.
pub fn mine(script: &Script) -> Facts {
    let mut miner = Miner {
        root: root_of(script),
        ..Miner::default()
    };
    for (at, step) in (1..).zip(&script.steps) {
        miner.step = at;
        for input in &step.inputs {
            match input {
                Input::Message(message) if message.origin == MessageOrigin::Conversation => {
                    miner.user(&message.content, &step.answer);
                }
                Input::Message(_) => {}
                Input::Results(results) => {
                    for (_, output) in results {
                        miner.result(output);
                    }
                }
            }
        }
        for block in &step.answer {
            match block.kind() {
                BlockKind::Text => miner.said(&block.readable_text().unwrap_or_default()),
                BlockKind::ToolUse => miner.call(block),
                _ => {}
            }
        }
    }
    Facts {
        facts: miner.facts,
        root: miner.root,
    }
}

#[derive(Debug, Default)]
struct Miner {
    facts: Vec<Fact>,
    known: HashMap<(FactKind, String), usize>,
    root: String,
    step: usize,
    request: String,
    words: String,
    calls: HashMap<CallId, Called>,
}

#[derive(Debug, Default)]
struct Called {
    subject: String,
    command: Option<usize>,
}

impl Miner {
    fn add(&mut self, kind: FactKind, value: String, context: Vec<String>) -> usize {
        let key = (kind, value);
        // The same value counts once, with the context of its first telling.
        if let Some(at) = self.known.get(&key) {
            return *at;
        }
        let at = self.facts.len();
        self.facts.push(Fact {
            kind,
            value: key.1.clone(),
            ending: None,
            context,
            step: self.step,
        });
        self.known.insert(key, at);
        at
    }

    /// Words of the model's last remark, then of the user's last request, none of them in `value`.
    fn around(&self, near: &str, value: &str) -> Vec<String> {
        let taken: Vec<String> = parts(value).collect();
        let mut words: Vec<String> = Vec::new();
        let near = subject_words(near).chain(subject_words(&self.words));
        let request = subject_words(&self.request).take(REQUEST_WORDS);
        for word in near
            .take(CONTEXT_WORDS - REQUEST_WORDS)
            .chain(request)
            .filter(|word| !taken.contains(word))
        {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }

    fn user(&mut self, content: &[Block], answer: &[Block]) {
        let texts = content
            .iter()
            .filter(|block| block.kind() == BlockKind::Text)
            .filter_map(Block::readable_text);
        let pieces: Vec<String> = texts.flat_map(|text| typed(&text)).collect();
        // Fills up the context of a sentence that has few neighbours.
        let reply: String = answer.iter().filter_map(Block::readable_text).collect();
        for piece in pieces {
            self.request.clone_from(&piece);
            if piece.chars().count() > PASTED {
                let (first, last) = PASTED_ENDS;
                self.piece(head(&piece, first), &reply);
                self.piece(tail(&piece, last), &reply);
            } else {
                self.piece(&piece, &reply);
            }
        }
    }

    fn piece(&mut self, text: &str, reply: &str) {
        let found = sentences(text);
        for (at, sentence) in found.iter().enumerate() {
            if is_telling(sentence, &RULES) {
                let context = neighbours(&found, at, reply);
                self.add(FactKind::UserRule, plain(sentence), context);
            }
        }
        for (value, context) in numbers(text) {
            let at = self.add(FactKind::UserNumber, value, context);
            // A number given again counts from its last telling, which is in force.
            self.facts[at].step = self.step;
        }
        for path in paths_in(text) {
            let value = relative(&path, &self.root);
            let context = self.around(text, &value);
            self.add(FactKind::FilePath, value, context);
        }
    }

    fn said(&mut self, text: &str) {
        let found = sentences(text);
        for (at, sentence) in found.iter().enumerate() {
            if is_telling(sentence, &DECISIONS) {
                let request = self.request.clone();
                let context = neighbours(&found, at, &request);
                self.add(FactKind::Decision, plain(sentence), context);
            }
        }
        // A turn of calls alone has no remark; the last one still tells the topic.
        if !text.trim().is_empty() {
            text.clone_into(&mut self.words);
        }
    }

    fn call(&mut self, block: &Block) {
        let Some(id) = block.call() else { return };
        let mut called = Called::default();
        let text = |name: &str| {
            block
                .input_text(name)
                .filter(|text| !text.trim().is_empty())
        };
        if let Some(command) = text("command").or_else(|| text("cmd")) {
            let first = command.trim().lines().next().unwrap_or_default();
            let value = plain(head(&plain(first), COMMAND_CHARS));
            let about = text("description").unwrap_or_default();
            let context = self.around(&about, "");
            let at = self.add(FactKind::Command, value.clone(), context);
            // Reset on every run: only the last one's ending counts.
            self.facts[at].ending = Some(Ending::Unknown);
            called = Called {
                subject: value,
                command: Some(at),
            };
        } else if let Some(path) = text("file_path")
            .or_else(|| text("notebook_path"))
            .or_else(|| text("path").filter(|path| has_extension(path)))
            // Paths of searches are folders to search in, not files that were read.
            && !matches!(block.tool(), Some("Grep" | "Glob" | "LS"))
        {
            let value = relative(&plain(&path), &self.root);
            let context = self.around("", &value);
            called.subject.clone_from(&value);
            self.add(FactKind::FilePath, value, context);
        } else {
            called.subject = text("pattern")
                .or_else(|| text("query"))
                .unwrap_or_default();
        }
        self.calls.insert(id.clone(), called);
    }

    fn result(&mut self, output: &ToolOutput) {
        let Some(called) = self.calls.remove(&output.call) else {
            return;
        };
        let code = exit_code(&output.text);
        if let Some(fact) = called.command.and_then(|at| self.facts.get_mut(at)) {
            fact.ending = Some(match code {
                // The code is more exact than the flag, and some clients set only the code.
                Some(code) if code != 0 => Ending::Exit(code),
                _ if output.is_error => Ending::Failed,
                _ => Ending::Ok,
            });
        }
        let refused = REFUSALS.iter().any(|start| output.text.starts_with(start));
        // A refusal is the user's decision and no error of a tool.
        if !output.is_error || refused {
            return;
        }
        let lines = output.text.lines().map(|line| {
            line.trim()
                .trim_start_matches("<tool_use_error>")
                .trim_end_matches("</tool_use_error>")
        });
        let first = lines
            // The code is a fact of its own; the error is the text behind it.
            .filter(|line| exit_code(line).is_none())
            .map(plain)
            .find(|line| line.chars().any(char::is_alphanumeric));
        if let Some(line) = first {
            let value = plain(head(&line, ERROR_CHARS));
            let context = self.around(&called.subject, "");
            self.add(FactKind::ErrorText, value, context);
        }
    }
}

/// The folder all paths of a session are in, as far as the recording shows it.
fn root_of(script: &Script) -> String {
    // A recording that names its folder needs no guess.
    if !script.project.is_empty() {
        return script.project.trim_end_matches('/').to_owned();
    }
    let blocks = script.steps.iter().flat_map(|step| &step.answer);
    let paths = blocks
        .filter(|block| block.kind() == BlockKind::ToolUse)
        .filter_map(|block| block.input_text("file_path"))
        .filter(|path| path.starts_with('/'));
    let mut common: Option<Vec<String>> = None;
    for path in paths {
        let mut folders: Vec<String> = path.split('/').map(str::to_owned).collect();
        // The file's own name is no folder.
        folders.pop();
        common = Some(match common {
            None => folders,
            Some(before) => before
                .into_iter()
                .zip(folders)
                .take_while(|(a, b)| a == b)
                .map(|(a, _)| a)
                .collect(),
        });
    }
    common.unwrap_or_default().join("/")
}

fn relative(path: &str, root: &str) -> String {
    let path = path.trim_start_matches("./");
    let inside = (!root.is_empty())
        .then(|| path.strip_prefix(root)?.strip_prefix('/'))
        .flatten();
    inside
        .filter(|path| !path.is_empty())
        .unwrap_or(path)
        .to_owned()
}

fn is_telling(sentence: &str, cues: &[&str]) -> bool {
    SENTENCE.contains(&sentence.chars().count())
        && !sentence.ends_with('?')
        && has_phrase(sentence, cues)
}

/// Words of the sentences before and behind, or of another text where it stands alone.
fn neighbours(sentences: &[&str], at: usize, other: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let before = at.checked_sub(1).and_then(|at| sentences.get(at));
    let near = before.into_iter().chain(sentences.get(at + 1));
    let near = near.flat_map(|sentence| subject_words(sentence));
    for word in near.chain(subject_words(other)) {
        if words.len() < CONTEXT_WORDS && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// The parts of a name, in small letters.
fn parts(value: &str) -> impl Iterator<Item = String> + '_ {
    value
        .split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
        .filter(|part| !part.is_empty())
        .map(str::to_lowercase)
}

#[cfg(test)]
#[path = "facts_tests.rs"]
mod tests;
