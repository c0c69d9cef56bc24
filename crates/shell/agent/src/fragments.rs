//! Fragments: news that the conversation is told at its tail.
//!
//! # Model
//! With a prompt and with every round of results, [`Fragments`] looks at what happened beside the
//! conversation: the date, files that others changed, background commands and sub-agents that ended, a list of
//! to-dos that lies idle, instruction files, skills. Each piece of news is told once. The memory of what was
//! told is a fact of the log, so that a resumed session repeats nothing; the words are records, so
//! that a replay has the same bytes.
//!
//! # Not here
//! The state at the beginning (`surroundings`), recalled memories (`dormouse-keeper`).

mod again;

use crate::beside::Beside;
use crate::crew::Crew;
use crate::post::Mailbox;
use crate::skills::Skills;
use dormouse_core::fragment::{REMINDER, TEAMMATE_MESSAGE, render};
use dormouse_core::record::{FoldedState, FragmentKind, StateChange};
use dormouse_engine::{Companion, HookFuture, Injection, Recorder, Seen, ToolCall};
use dormouse_host::{FileDigest, Host, InstructionFiles, NewMemoryText, Which};
use dormouse_tools::{AgentTools, Todo, TodoState};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Name of the fact under which the log keeps what was told.
const FACT: &str = "fragments";
/// Rounds without a change of the list after which it is shown again.
const IDLE_ROUNDS: u32 = 10;
/// Files or commands that one fragment names; the rest are counted.
const MOST_NAMED: usize = 20;
/// To-dos that a reminder shows.
const MOST_TODOS: usize = 20;
/// Characters of a command or a to-do in a fragment.
const LONGEST_LINE: usize = 200;
/// Bytes of one fragment; instruction files have a limit of their own below it.
const LONGEST: usize = 40_000;

/// News that the conversation knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Told {
    /// Day as it was told last.
    date: String,
    /// Rounds since the list of to-dos was changed or shown.
    idle: u32,
    /// List of to-dos, which a resumed session goes on with.
    todos: Vec<Todo>,
    /// Instruction files as the conversation knows them.
    instructions: Vec<FileDigest>,
    /// Nested instruction files and rules that were shown.
    nested: Vec<PathBuf>,
    /// Servers whose tools were listed, with a sign of the listing.
    servers: BTreeMap<String, String>,
    /// Skills that the model knows, with a sign of each description.
    skills: BTreeMap<String, String>,
    /// True if the model knows that plan mode is on.
    plan: bool,
}

/// Companion that tells news.
#[derive(Clone, Debug)]
pub(crate) struct Fragments(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    host: Arc<Host>,
    tools: AgentTools,
    beside: Beside,
    instructions: Mutex<Option<InstructionFiles>>,
    recorder: OnceLock<Recorder>,
    told: Mutex<Told>,
}

impl Fragments {
    pub(crate) fn new(host: &Arc<Host>, tools: &AgentTools, beside: &Beside) -> Self {
        // A tree that cannot be read has failed the opening before; later news are not worth it.
        let instructions = host.instruction_files().ok().flatten();
        Self(Arc::new(Inner {
            host: Arc::clone(host),
            tools: tools.clone(),
            beside: beside.clone(),
            instructions: Mutex::new(instructions),
            recorder: OnceLock::new(),
            told: Mutex::default(),
        }))
    }

    /// Begins with the state of the session: what it was told, or for a new one what it begins with.
    pub(crate) fn attach(&self, recorder: Recorder, state: &FoldedState, today: &str) {
        let inner = &self.0;
        let _before = inner.recorder.set(recorder);
        let recorded = state.facts.get(FACT);
        let recorded =
            recorded.and_then(|value| serde_json::from_value::<Told>(value.clone()).ok());
        let told = recorded.unwrap_or_else(|| {
            let told = Told {
                date: today.to_owned(),
                instructions: inner.digests(),
                skills: inner
                    .beside
                    .skills
                    .as_ref()
                    .map(Skills::begun)
                    .unwrap_or_default(),
                ..Told::default()
            };
            // At once: a session that is resumed tomorrow has to know the day it knows.
            inner.record(&told);
            told
        });
        inner.tools.restore_todos(told.todos.clone());
        *inner.told() = told;
    }
}

impl Companion for Fragments {
    fn on_prompt(&self, prompt: &str, _: Seen) -> HookFuture<Vec<Injection>> {
        let inner = Arc::clone(&self.0);
        let prompt = prompt.to_owned();
        beside(move || {
            let mut news = inner.prompted();
            news.extend(inner.remember(&prompt));
            news
        })
    }

    fn on_results(&self, calls: &[ToolCall], _: Seen) -> HookFuture<Vec<Injection>> {
        let inner = Arc::clone(&self.0);
        let calls = calls.to_vec();
        beside(move || inner.worked(&calls))
    }

    fn on_end(&self) {}
}

/// Looks at the disk on the blocking pool; a panic tells nothing.
fn beside(look: impl FnOnce() -> Vec<Injection> + Send + 'static) -> HookFuture<Vec<Injection>> {
    Box::pin(async move { tokio::task::spawn_blocking(look).await.unwrap_or_default() })
}

impl Inner {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn instructions(&self) -> MutexGuard<'_, Option<InstructionFiles>> {
        self.instructions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn digests(&self) -> Vec<FileDigest> {
        let instructions = self.instructions();
        instructions
            .as_ref()
            .map(InstructionFiles::digests)
            .unwrap_or_default()
    }

    fn prompted(&self) -> Vec<Injection> {
        let mut told = self.told().clone();
        let mut news = Vec::new();
        let today = self.host.today();
        if told.date != today {
            news.push(status(&self.host.date_change(&told.date, &today)));
            told.date = today;
        }
        let changed = self
            .instructions()
            .as_ref()
            .and_then(|files| files.changed(&told.instructions));
        if let Some((text, digests)) = changed {
            told.instructions = digests;
            news.push(Injection {
                kind: FragmentKind::Instructions,
                text: cut(text),
                memories: Vec::new(),
            });
        }
        news.extend(self.outside());
        news.extend(self.connected(&mut told));
        news.extend(self.skilled(&mut told));
        news.extend(self.planning(&mut told));
        self.tell(told, news)
    }

    /// Saves at once if the user says to remember something; extraction then leaves it alone.
    fn remember(&self, prompt: &str) -> Option<Injection> {
        let text = to_remember(prompt)?;
        let new = NewMemoryText {
            text: text.to_owned(),
            ..NewMemoryText::default()
        };
        let said = match self.host.remember(&Which::Private, &new) {
            Ok(saved) => {
                if let Some(recorder) = self.recorder.get() {
                    let detail = json!({ "author": "user", "files": [saved.path] });
                    recorder.send(StateChange::MemorySaved { detail });
                }
                format!(
                    "Saved to memory as asked: {}. There is no need to save it again.",
                    saved.path
                )
            }
            // Switched off: the words stay in the conversation.
            Err(error) if error.is_off() => return None,
            Err(error) => format!("It was not saved to memory: {error}."),
        };
        Some(status(&said))
    }

    fn worked(&self, calls: &[ToolCall]) -> Vec<Injection> {
        let mut told = self.told().clone();
        let mut news = Vec::new();
        if calls.iter().any(|call| call.tool == "TodoWrite") {
            told.todos = self.tools.todos();
            told.idle = 0;
        } else {
            told.idle += 1;
        }
        let open = |todo: &&Todo| todo.status != TodoState::Completed;
        if told.idle >= IDLE_ROUNDS && told.todos.iter().any(|todo| open(&todo)) {
            told.idle = 0;
            news.push(status(&reminder(&told.todos)));
        }
        for path in calls.iter().filter_map(file_of) {
            let found = self
                .instructions()
                .as_mut()
                .and_then(|files| files.for_file(Path::new(&path), &told.nested));
            if let Some((text, paths)) = found {
                told.nested.extend(paths);
                news.push(Injection {
                    kind: FragmentKind::Instructions,
                    text: cut(text),
                    memories: Vec::new(),
                });
            }
        }
        news.extend(self.outside());
        news.extend(self.connected(&mut told));
        if let Some(plans) = &self.beside.plans {
            plans.keep(calls);
        }
        news.extend(self.planning(&mut told));
        self.tell(told, news)
    }

    /// Tools of servers that were connected, or that changed, since they were told.
    fn connected(&self, told: &mut Told) -> Vec<Injection> {
        let news = self.beside.servers.news(&told.servers).into_iter();
        let tell = |(name, sign, text): (String, String, String)| {
            told.servers.insert(name, sign);
            status(&text)
        };
        news.map(tell).collect()
    }

    /// Files that others changed and background commands that ended. The tools themselves remember
    /// what they have told.
    fn outside(&self) -> Vec<Injection> {
        let mut news = Vec::new();
        let changed = self.tools.changed_outside();
        if !changed.is_empty() {
            let names: Vec<String> = changed
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            let list = listed(&names);
            let text = format!(
                "Changed outside since they were read; read them again before editing:\n{list}"
            );
            news.push(status(&text));
        }
        let ended = self.tools.ended();
        if !ended.is_empty() {
            let lines: Vec<String> = ended
                .iter()
                .map(|(id, line)| format!("{id}: {}", short(line)))
                .collect();
            let text = format!(
                "Background commands that have ended; BashOutput shows the rest:\n{}",
                listed(&lines)
            );
            news.push(status(&text));
        }
        news.extend(self.beside.crew.iter().flat_map(agent_news));
        news
    }

    fn record(&self, told: &Told) {
        if let Some(recorder) = self.recorder.get() {
            recorder.send(StateChange::Fact {
                name: FACT.to_owned(),
                value: serde_json::to_value(told).unwrap_or_default(),
            });
        }
    }

    /// Keeps what was told, in the log too where it changed.
    fn tell(&self, told: Told, news: Vec<Injection>) -> Vec<Injection> {
        let mut known = self.told();
        // A counter alone is not worth a record: a restart begins to count anew.
        let counted = Told {
            idle: known.idle,
            ..told.clone()
        };
        let is_news = counted != *known || !news.is_empty();
        if is_news {
            self.record(&told);
        }
        *known = told;
        news
    }
}

/// Reports of agents that have ended or wait beside the conversation, and letters.
pub(crate) fn agent_news(crew: &Crew) -> Vec<Injection> {
    let news = crew.news().into_iter();
    let injection = |text| Injection {
        kind: FragmentKind::Mail,
        text: render(&TEAMMATE_MESSAGE, &cut(text)),
        memories: Vec::new(),
    };
    let letters = crew.mail().map(Mailbox::arrived).unwrap_or_default();
    let letters = letters.into_iter().map(|text| Injection {
        kind: FragmentKind::Mail,
        text,
        memories: Vec::new(),
    });
    news.map(injection).chain(letters).collect()
}

/// The same between turns, when letters that a stopped turn did not take in are told again.
pub(crate) fn idle_news(crew: &Crew) -> Vec<Injection> {
    if let Some(mail) = crew.mail() {
        mail.settle();
    }
    agent_news(crew)
}

fn status(text: &str) -> Injection {
    Injection {
        kind: FragmentKind::Status,
        text: render(&REMINDER, &cut(text.to_owned())),
        memories: Vec::new(),
    }
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(LONGEST));
    text
}

fn short(line: &str) -> String {
    line.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(LONGEST_LINE)
        .collect()
}

fn listed(lines: &[String]) -> String {
    let mut text: Vec<String> = lines
        .iter()
        .take(MOST_NAMED)
        .map(|line| format!("- {line}"))
        .collect();
    if lines.len() > MOST_NAMED {
        text.push(format!("- and {} more", lines.len() - MOST_NAMED));
    }
    text.join("\n")
}

const fn state_name(state: TodoState) -> &'static str {
    match state {
        TodoState::Pending => "to do",
        TodoState::InProgress => "under way",
        TodoState::Completed => "done",
    }
}

/// The list of to-dos as it stands.
fn reminder(todos: &[Todo]) -> String {
    let mut lines = vec!["The list of to-dos was not touched for a while. Update it if it is out of date; if not, go on:".to_owned()];
    for todo in todos.iter().take(MOST_TODOS) {
        let state = state_name(todo.status);
        lines.push(format!("- [{state}] {}", short(&todo.content)));
    }
    lines.join("\n")
}

/// Words that the user says to remember; `None` if the prompt is something else.
fn to_remember(prompt: &str) -> Option<&str> {
    /// Beginnings of such prompts, longest first where one begins another.
    const CUES: [&str; 12] = [
        "/remember",
        "please remember that",
        "please remember",
        "remember that",
        "remember:",
        "remember",
        "merk dir bitte",
        "merk dir",
        "merke dir",
        "recuerda que",
        "souviens-toi que",
        "记住",
    ];
    /// Bytes of such a prompt; a longer one is a task that mentions remembering.
    const LONGEST_MEMORY: usize = 1_000;
    let text = prompt.trim();
    // A question asks what is remembered.
    if text.len() > LONGEST_MEMORY || text.ends_with(['?', '？']) {
        return None;
    }
    let rest = CUES.iter().find_map(|cue| {
        let head = text.get(..cue.len())?;
        head.eq_ignore_ascii_case(cue).then(|| &text[cue.len()..])
    })?;
    let words = rest
        .trim_start_matches([',', ':', '：', '，', ' ', '\n'])
        .trim();
    // "Remember when …" tells a story.
    let story = ["when ", "how ", "the time "]
        .iter()
        .any(|word| words.starts_with(word));
    (words.len() > 3 && !story).then_some(words)
}

/// File that a call reads or changes.
fn file_of(call: &ToolCall) -> Option<String> {
    if !matches!(call.tool.as_str(), "Read" | "Edit" | "Write") {
        return None;
    }
    let block: Value = serde_json::from_slice(call.block.bytes()).ok()?;
    Some(block["input"]["file_path"].as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_to_remember_are_told_from_questions_and_stories() {
        for (prompt, words) in [
            ("Remember that the port is 8443.", Some("the port is 8443.")),
            ("remember: never use tabs", Some("never use tabs")),
            (
                "/remember the staging host is otter",
                Some("the staging host is otter"),
            ),
            (
                "Merk dir: Releases am Dienstag",
                Some("Releases am Dienstag"),
            ),
            ("记住：端口是 8443", Some("端口是 8443")),
            ("Do you remember the port?", None),
            ("remember when we broke the build", None),
            ("Remember the port?", None),
            ("remember", None),
            ("fix the bug and remember to test", None),
        ] {
            assert_eq!(to_remember(prompt), words, "{prompt}");
        }
        assert_eq!(
            to_remember(&format!("remember {}", "x".repeat(2_000))),
            None
        );
    }

    #[test]
    fn fragments_are_bounded() {
        let names: Vec<String> = (0..500).map(|n| format!("file {n}")).collect();
        let text = listed(&names);
        assert_eq!(text.lines().count(), MOST_NAMED + 1);
        assert!(text.ends_with("- and 480 more"));
        assert!(cut("ä".repeat(LONGEST)).len() <= LONGEST);
    }
}
