//! Labelled sessions, run through both writers.
//!
//! # Model
//! A [`Case`] is a short session with the files that a gullible model would write after it. It is
//! run in two ways: by the rules without a model, and by the model's writes; both go through the
//! judge. An adversarial case passes if nothing of it would be recalled as trusted, a benign one if
//! the user's words would be, without approval.
//!
//! Credentials in cases are places (`{{secret:…}}`) that are filled when a case is read: none
//! stands in a file.
//!
//! # Not here
//! The command that runs them (`dormouse eval pollution`).

use super::judge::{Context, Judged, Proposed, Review, judge};
use super::offline;
use super::span::{Span, SpanKind, is_external, said_by_user};
use crate::snapshot::{Snapshot, StoredFile};
use crate::topic::Topic;
use crate::transaction::Author;
use crate::trust::Speaker;
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Cases that come with the program. The held-out ones were written after the rules had been fitted
/// to the first and then fitted to as well; the rules have never been changed for the unseen ones.
pub const BUILT_IN: [(&str, &str); 6] = [
    (
        "adversarial",
        include_str!("../../data/pollution/adversarial.jsonl"),
    ),
    (
        "adversarial, held out",
        include_str!("../../data/pollution/adversarial_held_out.jsonl"),
    ),
    (
        "adversarial, unseen",
        include_str!("../../data/pollution/adversarial_unseen.jsonl"),
    ),
    ("benign", include_str!("../../data/pollution/benign.jsonl")),
    (
        "benign, held out",
        include_str!("../../data/pollution/benign_held_out.jsonl"),
    ),
    (
        "benign, unseen",
        include_str!("../../data/pollution/benign_unseen.jsonl"),
    ),
];

/// Expectation for a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Attack: nothing of it may be recalled as trusted.
    Adversarial,
    /// Ordinary session: the user's words are to be recalled.
    Benign,
}

/// Speaker of a line in a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum By {
    User,
    Assistant,
    Tool,
    Fragment,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    by: By,
    text: String,
    #[serde(default)]
    tool: Option<String>,
}

/// Write of a gullible model: a whole file, or its parts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelWrite {
    path: String,
    #[serde(default)]
    raw: Option<String>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    source: Option<String>,
}

/// Labelled session of the built-in or the user's own files.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique name, shown in reports.
    pub id: String,
    /// Expectation that decides if it passes.
    pub label: Label,
    /// Sort of attack or statement, for grouping reports.
    pub sort: String,
    messages: Vec<Line>,
    #[serde(default)]
    time: Option<String>,
    #[serde(default)]
    recalled: Vec<String>,
    #[serde(default)]
    known: Vec<String>,
    /// Files that exist before: name and content.
    #[serde(default)]
    files: Vec<(String, String)>,
    #[serde(default)]
    model_writes: Vec<ModelWrite>,
    /// Words that must be recallable: all of each list in one memory.
    #[serde(default)]
    must: Vec<Vec<String>>,
    /// Set if one of the lists suffices.
    #[serde(default)]
    any: bool,
    /// Words that must not be recallable: all of a list in one memory; `!word` must be missing.
    /// Without any list, no memory at all.
    #[serde(default)]
    must_not: Vec<Vec<String>>,
}

/// Writer that a case is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// The rules without a model.
    Offline,
    /// Model that writes whatever it is told.
    Model,
}

impl Way {
    /// Both ways, in the order of reports.
    pub const ALL: [Self; 2] = [Self::Offline, Self::Model];

    /// Lower-case name, for reports and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::Model => "model",
        }
    }
}

/// Result of running a case one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ran {
    /// True if the expectation holds.
    pub passed: bool,
    /// Texts of the memories that would be recalled without approval, in lower case.
    pub recallable: Vec<String>,
    /// Number of memories that wait for approval.
    pub waiting: usize,
    /// Reasons for which others were refused.
    pub refused: Vec<String>,
}

/// Line of a file of cases that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is not a case")]
pub struct CaseError {
    /// Line number, from 1.
    pub line: usize,
    /// Reason of the JSON parser.
    #[source]
    pub source: serde_json::Error,
}

/// Reads cases, one a line.
pub fn cases(text: &str) -> Result<Vec<Case>, CaseError> {
    let lines = text.lines().enumerate();
    let filled = lines.filter(|(_, line)| !line.trim().is_empty());
    filled
        .map(|(at, line)| {
            serde_json::from_str(&with_secrets(line)).map_err(|source| CaseError {
                line: at + 1,
                source,
            })
        })
        .collect()
}

/// Fills the places for credentials. The values have the right form and open nothing.
fn with_secrets(line: &str) -> String {
    let mut out = line.to_owned();
    for (name, head, length) in [
        ("aws", "AKIA", 16_usize),
        ("github", "ghp_", 36),
        ("password", "Tr0ub4", 8),
        ("slack", "xoxb-2-", 34),
    ] {
        let place = format!("{{{{secret:{name}}}}}");
        if out.contains(&place) {
            out = out.replace(&place, &format!("{head}{}", scrambled(length, head)));
        }
    }
    out
}

/// Letters and digits in scrambled order, always the same for a seed.
fn scrambled(length: usize, seed: &str) -> String {
    const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    const MIXED: &[u8] = b"aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567890zYxWvUtSrQpOnMlKjIhGfEdCbA1";
    let letters = if seed == "AKIA" { UPPER } else { MIXED };
    // Golden-ratio start and a common linear congruential step: any fixed scramble would do, and a
    // random one would make runs differ.
    let mut state = seed.bytes().fold(0x9E37_79B9_u32, |state, byte| {
        state.rotate_left(5) ^ u32::from(byte)
    });
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = (state >> 16) as usize % letters.len();
        char::from(letters[at])
    };
    (0..length).map(next).collect()
}

impl Case {
    /// Runs it one way and compares the result with the expectation.
    pub fn run(&self, way: Way) -> Ran {
        let spans = self.spans();
        let mut snapshot = self.snapshot();
        let before = snapshot.clone();
        let recalled: Vec<&str> = self.recalled.iter().map(String::as_str).collect();
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        let mut ran = Ran {
            passed: false,
            recallable: Vec::new(),
            waiting: 0,
            refused: Vec::new(),
        };
        let mut take = |snapshot: &mut Snapshot, proposed: &Proposed<'_>| {
            let context = Context {
                snapshot,
                spans: &spans,
                recalled: &recalled,
                known: &known,
                review: Review::Untrusted,
                author: Author::Extractor,
            };
            match judge(proposed, &context) {
                Judged::Write(change) => *snapshot = change.applied(snapshot, self.time()),
                Judged::Inbox(_) => ran.waiting += 1,
                Judged::Refuse(refused) => ran.refused.push(refused.to_string()),
                Judged::Known(_) => {}
            }
        };
        match way {
            Way::Offline => {
                for proposal in offline::extract(&spans, &snapshot.clone(), &known) {
                    take(&mut snapshot, &Proposed::Memory(&proposal.memory));
                }
            }
            Way::Model => {
                for write in &self.model_writes {
                    let content = write.content();
                    if let Ok(path) = SafePath::parse(&write.path) {
                        let content = content.as_str();
                        take(
                            &mut snapshot,
                            &Proposed::File {
                                path: &path,
                                content,
                            },
                        );
                    }
                }
            }
        }
        ran.recallable = recallable(&before, &snapshot);
        ran.passed = self.holds(&ran.recallable);
        ran
    }

    fn holds(&self, recallable: &[String]) -> bool {
        let has = |words: &Vec<String>| {
            recallable.iter().any(|text| {
                words.iter().all(|word| match word.strip_prefix('!') {
                    Some(missing) => !text.contains(&missing.to_lowercase()),
                    None => text.contains(&word.to_lowercase()),
                })
            })
        };
        match self.label {
            Label::Adversarial if self.must_not.is_empty() => recallable.is_empty(),
            Label::Adversarial => !self.must_not.iter().any(has),
            Label::Benign if self.any => self.must.iter().any(has),
            Label::Benign => self.must.iter().all(has),
        }
    }

    fn time(&self) -> Millis {
        // A Monday: cases that say "on Friday" then mean the same week.
        let noon = || Millis::parse("2026-03-02T12:00:00Z");
        let time = self.time.as_deref().and_then(Millis::parse);
        time.or_else(noon).unwrap_or_default()
    }

    fn snapshot(&self) -> Snapshot {
        let mut snapshot = Snapshot::new();
        for (name, content) in &self.files {
            if let Ok(path) = SafePath::parse(name) {
                let file = StoredFile {
                    content: content.clone().into(),
                    modified: Millis(0),
                };
                snapshot.insert(path, file);
            }
        }
        snapshot
    }

    fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for (at, line) in self.messages.iter().enumerate() {
            let span = |speaker, kind| Span {
                session: Some(self.id.clone()),
                record: format!("m{at}"),
                seq: at as u64 + 1,
                speaker,
                text: line.text.clone(),
                time: self.time(),
                kind,
            };
            match line.by {
                By::User => {
                    spans.extend(said_by_user(
                        &line.text,
                        &span(Speaker::User, SpanKind::Said),
                    ));
                }
                By::Assistant => spans.push(span(Speaker::Assistant, SpanKind::Said)),
                By::Fragment => spans.push(span(Speaker::Tool, SpanKind::Fragment)),
                By::Tool => {
                    let tool = line.tool.clone();
                    let external = is_external(tool.as_deref(), None);
                    let kind = SpanKind::ToolResult { tool, external };
                    spans.push(span(Speaker::Tool, kind));
                }
            }
        }
        spans
    }
}

impl ModelWrite {
    fn content(&self) -> String {
        if let Some(raw) = &self.raw {
            return raw.clone();
        }
        let quoted =
            |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut content = format!("---\nname: {}\n", quoted(&self.description));
        let _ = writeln!(content, "description: {}", quoted(&self.description));
        if let Some(kind) = &self.kind {
            let _ = writeln!(content, "type: {kind}");
        }
        if let Some(source) = &self.source {
            let _ = writeln!(content, "source: {}", quoted(source));
        }
        let _ = writeln!(content, "---\n{}", self.body);
        content
    }
}

/// Texts that recall would bring into a conversation: new or changed, trusted, in force. In lower
/// case.
fn recallable(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let changed = after.topics().filter(|(path, file)| {
        before
            .get(path)
            .is_none_or(|old| old.content != file.content)
    });
    changed
        .map(|(_, file)| file.text().into_owned())
        .filter(|text| {
            let topic = Topic::read(text);
            let trusted = topic.trust.is_none_or(crate::trust::Trust::is_recalled);
            trusted && topic.superseded_by.is_none()
        })
        .map(|text| text.to_lowercase())
        .collect()
}

#[cfg(test)]
#[path = "trial_tests.rs"]
mod tests;
