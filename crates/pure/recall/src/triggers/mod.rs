//! Rules that apply to the work at hand, whatever the words of the prompt.
//!
//! # Model
//! A rule such as "never mock the database" is needed exactly when the prompt does not mention it,
//! so looking for similar words misses it. Feedback and user memories therefore say when they
//! apply: when a tool is used, a file worked on, a language written, a command run. [`matching`]
//! compares that with the work; [`derive()`] guesses it from a text when the memory is written.
//!
//! # Not here
//! The number of rules that are shown (`plan`); collecting the work (`work`).

mod derive;
pub mod languages;
mod programs;

pub use derive::derive;

use super::work::Work;
use dormouse_guard::paths::SafePath;
use dormouse_memory::card::Card;
use dormouse_memory::topic::{Kind, Triggers};
use globset::GlobBuilder;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;

/// Most triggers of one sort that are looked at; a file may list any number.
const MOST: usize = 32;
/// Most bytes of a glob; a longer one names nothing.
const LONGEST_GLOB: usize = 256;

/// Part of the work that triggers a memory, the most specific first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Match {
    /// Command that was run.
    Command(String),
    /// Glob that matches a file worked on.
    Path(String),
    /// Tool that was used.
    Tool(String),
    /// Language that is written.
    Language(String),
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(command) => write!(f, "applies to the command `{command}`"),
            Self::Path(glob) => write!(f, "applies to files like `{glob}`"),
            Self::Tool(tool) => write!(f, "applies to the tool `{tool}`"),
            Self::Language(language) => write!(f, "applies to {language}"),
        }
    }
}

/// Memory that the work triggers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Triggered {
    /// File, relative to its memory directory.
    pub path: SafePath,
    /// Most specific trigger that matched.
    pub by: Match,
}

/// Feedback and user memories that the work triggers: the most specific first, feedback before
/// user, then the newest.
pub fn matching(work: &Work, cards: &[Card]) -> Vec<Triggered> {
    if work.is_empty() {
        return Vec::new();
    }
    let mut ready = Ready::new(work);
    let mut found: Vec<(Match, &Card)> = cards
        .iter()
        .filter(|card| card.is_standing() && !card.triggers.is_empty())
        .filter_map(|card| Some((ready.matched(&card.triggers)?, card)))
        .collect();
    found.sort_by_cached_key(|(by, card)| {
        (
            rank(by),
            card.kind != Some(Kind::Feedback),
            Reverse(card.modified),
            // Last, so that files written in one moment keep a stable order.
            card.path.clone(),
        )
    });
    found
        .into_iter()
        .map(|(by, card)| Triggered {
            path: card.path.clone(),
            by,
        })
        .collect()
}

const fn rank(by: &Match) -> u8 {
    match by {
        Match::Command(_) => 0,
        Match::Path(_) => 1,
        Match::Tool(_) => 2,
        Match::Language(_) => 3,
    }
}

/// Most specific trigger that the work matches.
pub fn matched(work: &Work, triggers: &Triggers) -> Option<Match> {
    Ready::new(work).matched(triggers)
}

/// Work, made ready for being compared with many triggers.
struct Ready<'a> {
    work: &'a Work,
    languages: Vec<String>,
    tools: Vec<String>,
    paths: Vec<String>,
    /// Verdicts on globs: many memories have the same ones.
    globs: HashMap<String, bool>,
}

impl<'a> Ready<'a> {
    fn new(work: &'a Work) -> Self {
        let languages = work.languages.iter();
        Self {
            work,
            languages: languages.map(|name| languages::canonical(name)).collect(),
            tools: work.tools.iter().map(|tool| tool.to_lowercase()).collect(),
            paths: work
                .paths
                .iter()
                .map(|path| path.replace('\\', "/"))
                .collect(),
            globs: HashMap::new(),
        }
    }

    fn matched(&mut self, triggers: &Triggers) -> Option<Match> {
        let commands = triggers.commands.iter().take(MOST);
        let tools = triggers.tools.iter().take(MOST);
        let languages = triggers.languages.iter().take(MOST);
        let mut commands =
            commands.filter(|wanted| self.work.commands.iter().any(|run| runs(run, wanted)));
        if let Some(command) = commands.next() {
            return Some(Match::Command(command.clone()));
        }
        for glob in triggers.paths.iter().take(MOST) {
            if self.worked_on(glob) {
                return Some(Match::Path(glob.clone()));
            }
        }
        let mut tools = tools.filter(|wanted| self.tools.iter().any(|used| is_tool(used, wanted)));
        if let Some(tool) = tools.next() {
            return Some(Match::Tool(tool.clone()));
        }
        let mut languages =
            languages.filter(|wanted| self.languages.contains(&languages::canonical(wanted)));
        languages.next().cloned().map(Match::Language)
    }

    fn worked_on(&mut self, glob: &str) -> bool {
        if let Some(known) = self.globs.get(glob) {
            return *known;
        }
        let found = matches_any(glob, &self.paths);
        self.globs.insert(glob.to_owned(), found);
        found
    }
}

/// True if a command that was run is the one wanted: its first words, options passed over.
fn runs(run: &str, wanted: &str) -> bool {
    // Bounded, because `follows` tries two ways at every option.
    let wanted: Vec<&str> = wanted.split_whitespace().take(6).collect();
    let run: Vec<&str> = run.split_whitespace().take(12).collect();
    let (Some((program, rest)), Some((first, more))) = (wanted.split_first(), run.split_first())
    else {
        return false;
    };
    // `/usr/bin/git` is `git`.
    let name = first.rsplit(['/', '\\']).next().unwrap_or(first);
    name == *program && follows(more, rest)
}

/// True if the words wanted follow. An option may have a value behind it, or not.
fn follows(run: &[&str], wanted: &[&str]) -> bool {
    let Some((first, more_wanted)) = wanted.split_first() else {
        return true;
    };
    let Some((word, more)) = run.split_first() else {
        return false;
    };
    if word == first {
        return follows(more, more_wanted);
    }
    word.starts_with(['-', '+'])
        && (follows(more, wanted)
            || more
                .split_first()
                .is_some_and(|(_, rest)| follows(rest, wanted)))
}

/// True if a tool, in lower case, is the one wanted.
fn is_tool(used: &str, wanted: &str) -> bool {
    let wanted = wanted.trim().to_lowercase();
    if wanted.is_empty() {
        return false;
    }
    match wanted.strip_suffix('*') {
        // A bare `*` would be triggered by all work.
        Some("") => false,
        Some(start) => used.starts_with(start),
        None => {
            // Naming an MCP server means all of its tools.
            let server = used
                .strip_prefix("mcp__")
                .and_then(|rest| rest.split("__").next());
            used == wanted || server == Some(wanted.as_str())
        }
    }
}

/// True if a glob matches one of some paths with plain slashes. One without a folder is about
/// names; a relative one holds anywhere, because calls name files by absolute paths too.
fn matches_any(glob: &str, paths: &[String]) -> bool {
    let glob = glob.trim().trim_start_matches("./");
    if glob.is_empty() || glob.len() > LONGEST_GLOB {
        return false;
    }
    // Building a matcher costs more than all else here; mostly the plain part decides.
    let plain = glob
        .split(['*', '?', '[', ']', '{', '}', '!', ',', '\\'])
        .max_by_key(|part| part.len())
        .unwrap_or_default()
        .trim_matches('/');
    // Alternatives and classes have no part that every match must contain.
    let plain = if glob.contains(['{', '[', '\\']) {
        ""
    } else {
        plain
    };
    let mut likely = paths.iter().filter(|path| path.contains(plain)).peekable();
    if likely.peek().is_none() {
        return false;
    }
    let anywhere = if glob.starts_with('/') || glob.starts_with("**/") {
        glob.to_owned()
    } else {
        format!("**/{glob}")
    };
    let built = GlobBuilder::new(&anywhere).literal_separator(true).build();
    built.is_ok_and(|built| {
        let matcher = built.compile_matcher();
        likely.any(|path| matcher.is_match(path))
    })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
