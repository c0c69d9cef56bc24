//! Hooks: commands that settings run at certain moments of a session.
//!
//! They stand in Dormouse's setting `hooks` and in the settings files of Claude Code, in one shape:
//! by event, a list of matchers with their commands. Hooks of a project that is not trusted are left
//! out, and a remark says so once.
//!
//! # Not here
//! Running them, and the JSON they read and write: `dormouse-agent`.

use crate::host::Host;
use crate::remark::Remark;
use dormouse_core::settings::{IgnoreReason, Trust, Value, keys};
use dormouse_core::show;
use dormouse_system::Files;
use regex::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a settings file that are read; real ones have a few thousand.
const LARGEST: u64 = 1024 * 1024;
/// Bytes that a compiled matcher may take: names of tools and alternatives of them need a few
/// thousand, and a pattern of a stranger must not fill the memory.
const LARGEST_MATCHER: usize = 1024 * 1024;

/// Moment at which hooks run, by the names of Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
pub enum HookEvent {
    /// A session begins or goes on.
    SessionStart,
    /// The user says something.
    UserPromptSubmit,
    /// A tool is about to run.
    PreToolUse,
    /// A tool has run.
    PostToolUse,
    /// The model has finished.
    Stop,
    /// The conversation is about to be compacted.
    PreCompact,
    /// The conversation was compacted.
    PostCompact,
    /// A person is waited for.
    Notification,
    /// The session is about to end.
    SessionEnd,
}

impl HookEvent {
    /// Every event that hooks can be set for.
    pub const ALL: [Self; 9] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::Stop,
        Self::PreCompact,
        Self::PostCompact,
        Self::Notification,
        Self::SessionEnd,
    ];

    /// Event by its name; `None` for those of other versions.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Name in settings and in the JSON of hooks.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Notification => "Notification",
            Self::SessionEnd => "SessionEnd",
        }
    }
}

/// Hooks in force, in the order of their files.
#[derive(Clone, Debug, Default)]
pub struct HookTable(Vec<Entry>);

#[derive(Clone, Debug)]
struct Entry {
    event: HookEvent,
    matcher: Matcher,
    hook: HookCommand,
}

/// A hook: a command, or a question to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCommand {
    /// Line for the shell, or the name by which the client knows the hook.
    pub line: String,
    /// Side that answers it.
    pub by: HookBy,
    /// Time it may take, where its settings say so.
    pub timeout: Option<Duration>,
    /// File or layer it stands in.
    pub origin: String,
}

/// Side that answers a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookBy {
    /// Shell of this machine.
    Shell,
    /// Program that drives the agent.
    Client,
}

#[derive(Clone, Debug)]
enum Matcher {
    All,
    Pattern(Regex),
}

/// Matcher with its commands, as written.
#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    matcher: Option<String>,
    #[serde(default)]
    hooks: Vec<Written>,
}

/// Hook as written; kinds other than commands are left out with a remark.
#[derive(Deserialize)]
struct Written {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    command: Option<String>,
    /// Seconds that the command may take.
    #[serde(default)]
    timeout: Option<f64>,
}

/// The one member of a settings file of Claude Code that is of interest.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    hooks: Option<serde_json::Value>,
}

impl HookTable {
    /// Commands for an event, each line once. The subject is the tool, or the source, trigger or
    /// reason that an event has.
    pub fn matching(&self, event: HookEvent, subject: Option<&str>) -> Vec<HookCommand> {
        let mut found: Vec<HookCommand> = Vec::new();
        let fits = |entry: &&Entry| {
            entry.event == event
                && match (&entry.matcher, subject) {
                    (Matcher::All, _) | (_, None) => true,
                    (Matcher::Pattern(pattern), Some(subject)) => pattern.is_match(subject),
                }
        };
        for entry in self.0.iter().filter(fits) {
            // Two files may have the same hook; it runs once.
            let is_known =
                |known: &HookCommand| (&known.line, known.by) == (&entry.hook.line, entry.hook.by);
            if !found.iter().any(is_known) {
                found.push(entry.hook.clone());
            }
        }
        found
    }

    /// Adds a hook that the client answers.
    ///
    /// # Errors
    /// When the matcher is no pattern.
    pub fn add_client(
        &mut self,
        event: HookEvent,
        matcher: Option<&str>,
        name: &str,
        timeout: Option<Duration>,
    ) -> Result<(), regex::Error> {
        self.0.push(Entry {
            event,
            matcher: Matcher::parse(matcher)?,
            hook: HookCommand {
                line: name.to_owned(),
                by: HookBy::Client,
                timeout,
                origin: "the client".to_owned(),
            },
        });
        Ok(())
    }

    /// Adds the hooks of another table behind these.
    pub fn extend(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    /// True if a hook runs for an event.
    pub fn has(&self, event: HookEvent, subject: Option<&str>) -> bool {
        !self.matching(event, subject).is_empty()
    }
}

impl Host {
    /// Hooks in force now, as the files say.
    pub fn hooks(&self) -> HookTable {
        let settings = self.settings();
        let mut table = HookTable::default();
        // Marks the setting as read; the parts keep the place of each hook.
        settings.get(keys::HOOKS);
        if let Some(entry) = settings.entry(keys::HOOKS.name()) {
            for part in &entry.parts {
                let origin = part.origin.to_string();
                if let Value::Structure(written) = &part.value
                    && let Ok(written) = serde_json::to_value(written)
                {
                    self.add_hooks(&mut table, written, &origin);
                }
            }
            for ignored in &entry.ignored {
                if ignored.reason == IgnoreReason::ProjectNotTrusted {
                    let origin = ignored.given.origin.to_string();
                    self.remark_once(Remark::HooksUntrusted { origin });
                }
            }
        }
        let trusted = self.loaded().trust == Trust::Trusted;
        let project = self.places().project.root.join(".claude");
        let user = self.claude_home().map(|home| home.join("settings.json"));
        self.foreign_hooks(&mut table, user, true);
        for name in ["settings.json", "settings.local.json"] {
            self.foreign_hooks(&mut table, Some(project.join(name)), trusted);
        }
        table
    }

    fn foreign_hooks(&self, table: &mut HookTable, file: Option<PathBuf>, trusted: bool) {
        let Some(file) = file else {
            return;
        };
        let origin = format!("`{}`", file.display());
        match read(&*self.system().files, &file) {
            Ok(None) => {}
            Ok(Some(written)) if trusted => self.add_hooks(table, written, &origin),
            Ok(Some(_)) => self.remark_once(Remark::HooksUntrusted { origin }),
            Err(why) => self.remark_once(Remark::LeftOut { why }),
        }
    }

    fn add_hooks(&self, table: &mut HookTable, written: serde_json::Value, origin: &str) {
        let left_out = |what: String| {
            let why = format!("a hook of {origin}: {what}");
            self.remark_once(Remark::LeftOut { why });
        };
        let read: Result<BTreeMap<String, Vec<serde_json::Value>>, _> =
            serde_json::from_value(written);
        let events = match read {
            Ok(events) => events,
            Err(error) => return left_out(error.to_string()),
        };
        for (name, groups) in events {
            // Events of later versions are no mistake.
            let Some(event) = HookEvent::named(&name) else {
                continue;
            };
            for group in groups {
                let group: Group = match serde_json::from_value(group) {
                    Ok(group) => group,
                    Err(error) => {
                        left_out(format!("{name}: {error}"));
                        continue;
                    }
                };
                let matcher = match Matcher::parse(group.matcher.as_deref()) {
                    Ok(matcher) => matcher,
                    Err(error) => {
                        left_out(format!("{name}: {error}"));
                        continue;
                    }
                };
                for hook in group.hooks {
                    let kind = hook.kind.as_deref().unwrap_or("command");
                    let Some(line) = hook.command.filter(|_| kind == "command") else {
                        left_out(format!("{name}: hooks of the type `{kind}` are not run"));
                        continue;
                    };
                    let seconds = hook.timeout.filter(|seconds| *seconds > 0.0);
                    table.0.push(Entry {
                        event,
                        matcher: matcher.clone(),
                        hook: HookCommand {
                            line,
                            by: HookBy::Shell,
                            timeout: seconds
                                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
                            origin: origin.to_owned(),
                        },
                    });
                }
            }
        }
    }
}

impl Matcher {
    fn parse(text: Option<&str>) -> Result<Self, regex::Error> {
        match text {
            None | Some("" | "*") => Ok(Self::All),
            // The whole name, as in Claude Code: `Edit` must not fit `NotebookEdit`.
            Some(pattern) => regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
                .size_limit(LARGEST_MATCHER)
                .build()
                .map(Self::Pattern),
        }
    }
}

fn read(files: &dyn Files, path: &Path) -> Result<Option<serde_json::Value>, String> {
    let bytes = match files.read(path, LARGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.not_found() => return Ok(None),
        Err(error) => return Err(show::chain(&error)),
    };
    let read: Result<File, _> = serde_json::from_slice(&bytes);
    read.map(|file| file.hooks)
        .map_err(|error| format!("the hooks of `{}`: {error}", path.display()))
}
