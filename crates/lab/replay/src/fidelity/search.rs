//! The history search: content that one call of a tool could bring back.
//!
//! # Model
//! The conversation is written as the log of a session, with the files of long results beside it,
//! and read by the search that the agent's tool and the command use. A query returns the best lines
//! that fit into a budget of bytes.
//!
//! The queries are fixed: a template for the kind and words from around the fact, never the value.
//!
//! # Not here
//! The search itself ([`dormouse_store::read_history`]); finding the fact in its lines
//! ([`super::find`]).

use super::facts::{Fact, FactKind, Facts};
use super::find::Haystack;
use dormouse_core::id::SessionId;
use dormouse_core::record::{Body, LineContext, MessageOrigin, Record, encode};
use dormouse_core::units::Millis;
use dormouse_store::{FoundLog, Passage, Said, SearchLimits, TranscriptHistory, read_history};
use dormouse_system::MemoryFiles;
use memchr::memmem;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Log of a replayed session, as prompts name it.
const LOG: &str = "/sessions/replayed.jsonl";

/// The searchable history of a session.
#[derive(Debug)]
pub struct History {
    read: TranscriptHistory,
    /// Offset in the log behind the messages of each record.
    ends: Vec<u64>,
    /// Offset in the log at which the file of a long result is named first.
    named: HashMap<PathBuf, u64>,
    budget: usize,
}

impl History {
    /// The history of a session's records, with its files. One answer has at most `budget` bytes.
    pub fn new(records: &[Record], files: &HashMap<PathBuf, String>, budget: usize) -> Self {
        let disk = MemoryFiles::default();
        let mut log = Vec::new();
        let mut ends = Vec::with_capacity(records.len());
        for record in records {
            // Summaries and reminders are left out: found there, a fact would prove nothing about
            // history.
            let said = matches!(&record.body,
                Body::Message(message) if message.origin == MessageOrigin::Conversation);
            let line = said.then(|| encode(record, &LineContext::default()).ok());
            log.extend(line.flatten().unwrap_or_default());
            ends.push(log.len() as u64);
        }
        let mut named = HashMap::new();
        for (path, text) in files {
            let name = path.display().to_string();
            if let Some(at) = memmem::find(&log, name.as_bytes()) {
                named.insert(path.clone(), at as u64);
            }
            disk.put(path, text);
        }
        let found = FoundLog {
            path: LOG.into(),
            session: SessionId::new("replayed"),
            agent: None,
            bytes: log.len() as u64,
            modified: Millis::default(),
        };
        disk.put(LOG, log);
        let limits = SearchLimits {
            threads: 1,
            ..SearchLimits::default()
        };
        Self {
            read: read_history(&disk, &[found], None, &limits, &AtomicBool::new(false)),
            ends,
            named,
            budget,
        }
    }

    /// The best lines for a query that fit into the budget.
    pub fn search(&self, query: &str) -> Vec<String> {
        self.search_before(query, usize::MAX)
    }

    /// The same among the first `records` records, as the log was at an earlier moment. Rarity is
    /// counted over the whole log, which changes the order of hits little and saves an index a
    /// moment.
    pub fn search_before(&self, query: &str, records: usize) -> Vec<String> {
        let end = match records.checked_sub(1) {
            Some(last) => self.ends.get(last).copied().unwrap_or(u64::MAX),
            None => 0,
        };
        let earlier = |passage: &Passage, _: &str| {
            let at = match self.named.get(&passage.path) {
                Some(at) => *at,
                None => passage.offset,
            };
            at < end && passage.said != Said::Other
        };
        let found = self.read.find(query, self.budget, usize::MAX, earlier);
        found.into_iter().flat_map(|found| found.lines).collect()
    }

    /// True if the fixed query for a fact brings it back.
    pub(super) fn brings_back(&self, fact: &Fact, facts: &Facts) -> bool {
        let found = self.search(&query(fact));
        Haystack::of_texts(found.iter().map(String::as_str)).has(fact, facts)
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
        // A result is found by the words of its call, a call by its own alone.
        let error = fact(FactKind::ErrorText, "warning: unused", &["make", "lint"]);
        assert!(history.brings_back(&error, &Facts::default()));
        let command = fact(FactKind::Command, "make lint", &["unused", "warning"]);
        assert!(!history.brings_back(&command, &Facts::default()));
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
        // Equal lines are shown once; without that they would fill the budget.
        assert_eq!(found.len(), 1);
        let mut log = LogBuilder::new();
        let lines: Vec<String> = (0..500).map(|at| format!("line {at} of ducks")).collect();
        log.user(&lines.join("\n"));
        let history = History::new(log.records(), &HashMap::new(), 2_000);
        let found = history.search("ducks");
        let bytes: usize = found.iter().map(String::len).sum();
        // A quarter is left to calls, and places of lines as short as these take half of the rest.
        assert!((700..1_500).contains(&bytes), "{bytes}");
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
}
