//! The history search: content that one call of a tool could bring back.
//!
//! # Model
//! Every message, call and result of the log is cut into windows; each window is one text of a BM25
//! index. A call stands together with the beginning of its result, since its ending is the usual
//! question. A query returns the best windows, or the best lines of them, that fit into a budget of bytes.
//!
//! The queries are fixed: a template for the kind and words from around the fact, never the value.
//!
//! # Not here
//! Finding the fact in the windows: [`super::find`].

use super::facts::{Fact, FactKind, Facts};
use super::find::{Haystack, arguments};
use dormouse_core::block::{Block, BlockKind};
use dormouse_core::record::{Body, Message, MessageOrigin, Record};
use dormouse_text::rank::Index;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Bytes of one window: a paragraph or a screenful of output, so that a budget holds several.
const WINDOW: usize = 800;
/// Bytes of a result that are shown with its call: enough for an exit code and the first error.
const RESULT_HEAD: usize = 200;
/// Windows ranked for one query; the budget ends the list before.
const MOST_HITS: usize = 64;

/// The searchable history of a session.
#[derive(Debug)]
pub struct History {
    texts: Vec<String>,
    /// Position of the record that each text comes from; never falls.
    records: Vec<usize>,
    index: Index,
    budget: usize,
}

impl History {
    /// The history of a log, with the files of long results beside it. One answer has at most
    /// `budget` bytes.
    pub fn new(records: &[Record], files: &HashMap<PathBuf, String>, budget: usize) -> Self {
        let messages = || {
            records
                .iter()
                .enumerate()
                .filter_map(|(at, record)| match &record.body {
                    Body::Message(message) => Some((at, message)),
                    _ => None,
                })
        };
        let endings = endings(messages().map(|(_, message)| message));
        let mut texts = Vec::new();
        let mut positions = Vec::new();
        // Summaries and reminders are left out: found there, a fact would prove nothing about
        // history.
        let said = messages().filter(|(_, message)| message.origin == MessageOrigin::Conversation);
        for (at, message) in said {
            for block in &message.content {
                match block.kind() {
                    BlockKind::ToolUse => {
                        // A call and its result are two messages; the question is usually about
                        // both.
                        let ending = block.call().and_then(|call| endings.get(call.as_str()));
                        let ending = ending.map_or("", String::as_str);
                        call_windows(&arguments(block), ending, &mut texts);
                    }
                    BlockKind::Text | BlockKind::ToolResult => {
                        let text = block.readable_text().unwrap_or_default();
                        // A search reads the files that previews name, as that of transcripts does.
                        let whole = saved_at(&text).and_then(|path| files.get(path));
                        windows(whole.unwrap_or(&text), WINDOW, &mut texts);
                    }
                    _ => {}
                }
            }
            positions.resize(texts.len(), at);
        }
        let index = Index::new(texts.iter().map(String::as_str));
        Self {
            texts,
            records: positions,
            index,
            budget,
        }
    }

    /// The best windows for a query that fit into the budget.
    pub fn search(&self, query: &str) -> Vec<&str> {
        let mut left = self.budget;
        let mut found = Vec::new();
        for hit in self.index.search(query, MOST_HITS) {
            let Some(text) = self.texts.get(hit.document) else {
                continue;
            };
            // Not skipped for a shorter one: the order of the ranking is part of the measurement.
            if text.len() > left {
                break;
            }
            left -= text.len();
            found.push(text.as_str());
        }
        found
    }

    /// The best lines among the first `records` records of the log, as it was at an earlier moment.
    /// Rarity is counted over the whole log, which changes the order of hits little and saves an
    /// index a moment.
    pub fn lines_before(&self, query: &str, records: usize) -> Vec<&str> {
        let texts: Vec<&str> = self.texts.iter().map(String::as_str).collect();
        let earlier = |at: usize| self.records.get(at).is_some_and(|at| *at < records);
        let lines = self.index.lines(&texts, query, self.budget, earlier);
        let shown = lines.into_iter().filter_map(|line| {
            let text = self.texts.get(line.document)?;
            text.get(line.range)
        });
        shown.collect()
    }

    /// True if the fixed query for a fact brings it back.
    pub(super) fn brings_back(&self, fact: &Fact, facts: &Facts) -> bool {
        let found = self.search(&query(fact));
        Haystack::of_texts(found).has(fact, facts)
    }
}

/// The fixed query for a fact; it never contains the value, or finding it would be no feat.
pub(super) fn query(fact: &Fact) -> String {
    let template = match fact.kind {
        FactKind::UserRule | FactKind::UserNumber => "",
        FactKind::FilePath => "file",
        FactKind::Command => "Bash command",
        FactKind::ErrorText => "error failed",
        FactKind::Decision => "decided",
    };
    let words = fact.context.join(" ");
    format!("{template} {words}").trim().to_owned()
}

/// File that a preview names.
fn saved_at(text: &str) -> Option<&Path> {
    let preview = text.strip_prefix("<persisted-output>\n")?;
    preview.lines().nth(1).map(Path::new)
}

/// Ending of each call, by its id.
fn endings<'a>(messages: impl Iterator<Item = &'a Message>) -> HashMap<&'a str, String> {
    let results = messages.flat_map(|message| &message.content);
    results
        .filter(|block| block.kind() == BlockKind::ToolResult)
        .filter_map(|block| Some((block.call()?.as_str(), ending(block))))
        .collect()
}

fn ending(result: &Block) -> String {
    let text = result.readable_text().unwrap_or_default();
    let head = &text[..text.floor_char_boundary(RESULT_HEAD)];
    let sign = if result.is_error() { "failed" } else { "ok" };
    format!("{sign}: {head}")
}

/// Windows of a call: the first ends with its result's beginning.
fn call_windows(arguments: &str, ending: &str, texts: &mut Vec<String>) {
    let first = arguments.floor_char_boundary(WINDOW - RESULT_HEAD);
    texts.push(format!("{}\n→ {ending}", &arguments[..first]));
    windows(&arguments[first..], WINDOW, texts);
}

/// Cuts a text into windows, at ends of lines where there are any.
fn windows(text: &str, size: usize, texts: &mut Vec<String>) {
    let mut rest = text.trim();
    while !rest.is_empty() {
        let most = rest.floor_char_boundary(size);
        // Cut at a line's end, so that a fact on one line is never divided.
        let end = if most == rest.len() {
            most
        } else {
            rest[..most]
                .rfind('\n')
                .filter(|end| *end > 0)
                .unwrap_or(most)
        };
        texts.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_testkit::LogBuilder;
    use dormouse_testkit::blocks::{call, result};
    use serde_json::json;

    fn fact(kind: FactKind, value: &str, context: &[&str]) -> Fact {
        Fact {
            kind,
            value: value.to_owned(),
            ending: None,
            context: context.iter().map(|word| (*word).to_owned()).collect(),
            step: 1,
        }
    }

    #[test]
    fn a_query_finds_what_stands_beside_its_words() {
        let mut log = LogBuilder::new();
        log.user("The cache of the parser keeps at most 4711 entries.");
        log.assistant(
            "m",
            vec![call("a", "Bash", &json!({"command": "make lint"}))],
        );
        log.user_blocks(vec![result("a", "Exit code 2\nwarning: unused")]);
        log.user("Thanks, and what about the weather?");
        let history = History::new(log.records(), &HashMap::new(), 900);
        let number = fact(
            FactKind::UserNumber,
            "4711",
            &["entries", "parser", "cache"],
        );
        assert!(history.brings_back(&number, &Facts::default()));
        let command = fact(FactKind::Command, "make lint", &["unused", "warning"]);
        assert!(history.brings_back(&command, &Facts::default()));
        let wrong = fact(FactKind::UserNumber, "4711", &["weather"]);
        assert!(!history.brings_back(&wrong, &Facts::default()));
        assert!(!query(&number).contains("4711"));
    }

    #[test]
    fn answers_keep_within_the_budget() {
        let mut log = LogBuilder::new();
        log.user(&"a line about ducks\n".repeat(500));
        let history = History::new(log.records(), &HashMap::new(), 2_000);
        let found = history.search("ducks");
        let bytes: usize = found.iter().map(|text| text.len()).sum();
        assert!(found.len() == 2 && bytes <= 2_000, "{bytes}");
        // Equal lines are shown once; without that they would fill the budget.
        assert_eq!(history.lines_before("ducks", usize::MAX).len(), 1);
    }

    #[test]
    fn the_file_behind_a_preview_is_searched() {
        let mut log = LogBuilder::new();
        let path = "/sessions/replayed/tool-results/a.txt";
        let preview = format!("<persisted-output>\nThe output is long\n{path}\nwhich begins:\nx");
        log.assistant("m", vec![call("a", "Bash", &json!({"command": "make"}))]);
        log.user_blocks(vec![result("a", &preview)]);
        let whole = "x\nthe heron stands at 4711\n".to_owned();
        let files = HashMap::from([(PathBuf::from(path), whole)]);
        let found = |files| {
            let history = History::new(log.records(), files, 900);
            let texts = history.search("where stands the heron");
            texts.iter().any(|text| text.contains("4711"))
        };
        assert!(found(&files) && !found(&HashMap::new()));
    }

    #[test]
    fn windows_lose_nothing_but_blanks() {
        let text = "äöü ".repeat(700) + "\n" + &"x".repeat(900);
        let mut texts = Vec::new();
        windows(&text, WINDOW, &mut texts);
        assert!(texts.iter().all(|text| text.len() <= WINDOW));
        let joined: String = texts.concat();
        let count = |text: &str| {
            text.chars()
                .filter(|letter| !letter.is_whitespace())
                .count()
        };
        assert_eq!(count(&joined), count(&text));
    }
}
