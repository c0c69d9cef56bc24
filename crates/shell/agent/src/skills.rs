//! Skills of a session: listed, loaded when they are used, shown again after a compaction.
//!
//! # Model
//! The model sees names and descriptions, and the tool [`SKILL`] brings the instructions. The listing of a
//! new session is part of its prefix, which sessions of a project share; it is kept in a file, so that
//! the session begins with the same bytes when it is resumed. Skills that come, change or go while the
//! session lives are told at the tail ([`Skills::news`]) and leave the prefix as it is. The uses are a
//! fact of the log: a compaction brings back what they loaded, also after a restart.
//!
//! # Not here
//! Files of skills (`dormouse-host`); commands of a person (`slash`).

use crate::agent::AgentAsk;
use crate::client::{ClientTool, OutsideTools};
use crate::judge::{Judging, call_text};
use crate::protocol::Event;
use crate::stream::EventSender;
use dormouse_context::compaction::{RestoredKind, RestoredPart};
use dormouse_context::offload::ToolOutput;
use dormouse_context::tokens::estimate;
use dormouse_core::block::Block;
use dormouse_core::hash::Hash;
use dormouse_core::id::SessionId;
use dormouse_core::models::BytesPerToken;
use dormouse_core::record::{FoldedState, StateChange, Windows};
use dormouse_core::settings::keys;
use dormouse_core::units::Tokens;
use dormouse_drive::{ToolCall, ToolFuture};
use dormouse_engine::Recorder;
use dormouse_host::{Host, Skill};
use dormouse_permit::{Origin, Rule};
use dormouse_system::Access;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Name of the tool that loads a skill.
pub(crate) const SKILL: &str = "Skill";
/// Name of the fact under which the log keeps the uses.
const FACT: &str = "skills";
/// File in the session's folder with the listing of its prefix; collected as garbage with the log.
const LISTING_FILE: &str = "session-memory/skill-listing.md";
/// Bytes of that file that are read; one per cent of the largest window has fewer.
const LARGEST_LISTING: u64 = 1024 * 1024;
/// Part of the window that a listing may take: it is paid with every request, used or not.
const LISTING_SHARE: u64 = 100;
/// Characters of a description, tried in order until the listing fits; 0 leaves the names.
const DESCRIPTIONS: [usize; 6] = [1_024, 400, 200, 100, 50, 0];
/// Uses that are remembered: five fill the room that a compaction gives them.
const MOST_USED: usize = 20;

/// Skills of one session. Clones share everything.
#[derive(Clone, Debug)]
pub(crate) struct Skills(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    host: Arc<Host>,
    session: SessionId,
    judge: Arc<Judging>,
    events: EventSender,
    /// Most tokens of a listing.
    room: Tokens,
    bytes: BytesPerToken,
    recorder: OnceLock<Recorder>,
    used: Mutex<Vec<Used>>,
    /// Skills that the prefix of a new session lists, with their signs; empty if it goes on.
    begun: BTreeMap<String, String>,
    listing: Option<String>,
}

/// One use of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Used {
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    args: String,
}

/// News about skills, for the tail.
#[derive(Debug, Default)]
pub(crate) struct SkillNews {
    /// Words for the model; `None` if nothing changed.
    pub(crate) text: Option<String>,
    /// Skills that it knows from now on, with their signs.
    pub(crate) known: BTreeMap<String, String>,
}

impl Skills {
    /// Skills of a session; `None` if it was not to have them. `folder` is the session's own.
    pub(crate) fn new(
        host: &Arc<Host>,
        ask: &AgentAsk,
        (session, folder): (&SessionId, &Path),
        judge: &Arc<Judging>,
        events: &EventSender,
    ) -> Option<Self> {
        let wished = ask.tools.as_ref();
        let wished = wished.is_none_or(|tools| tools.iter().any(|tool| tool == SKILL));
        if !wished || judge.rules().hides(SKILL) {
            return None;
        }
        let model = match &ask.model {
            Some((name, _)) => name.clone(),
            None => host.settings().get(keys::MODEL).unwrap_or_default(),
        };
        let (window, _) = host.window_for(&model, &Windows::default());
        let models = host.models();
        let mut inner = Inner {
            host: Arc::clone(host),
            session: session.clone(),
            judge: Arc::clone(judge),
            events: events.clone(),
            room: Tokens(window.get() / LISTING_SHARE),
            bytes: models.lookup(&model).info.bytes_per_token,
            recorder: OnceLock::new(),
            used: Mutex::default(),
            begun: BTreeMap::new(),
            listing: None,
        };
        inner.begin(folder);
        Some(Self(Arc::new(inner)))
    }

    /// Listing for the prefix; `None` if there is nothing to list.
    pub(crate) fn listing(&self) -> Option<&str> {
        self.0.listing.as_deref()
    }

    /// Skills that a new session knows from its prefix.
    pub(crate) fn begun(&self) -> BTreeMap<String, String> {
        self.0.begun.clone()
    }

    /// Goes on with the uses that the log has.
    pub(crate) fn attach(&self, recorder: Recorder, state: &FoldedState) {
        let _before = self.0.recorder.set(recorder);
        let recorded = state.facts.get(FACT).cloned();
        let used = recorded.and_then(|value| serde_json::from_value(value).ok());
        *self.0.used() = used.unwrap_or_default();
    }

    /// Skills that came, changed or went since the model was told.
    pub(crate) fn news(&self, told: &BTreeMap<String, String>) -> SkillNews {
        let skills = self.0.listed();
        let known = signs(&skills);
        let changed = |skill: &&Skill| told.get(&skill.name) != known.get(&skill.name);
        let new: Vec<&Skill> = skills.iter().filter(changed).collect();
        let gone = told.keys().filter(|name| !known.contains_key(*name));
        let gone: Vec<&str> = gone.map(String::as_str).collect();
        let mut text = self.0.list("New or changed skills", &new);
        if !gone.is_empty() {
            let line = format!("Skills that are gone: {}.", gone.join(", "));
            text = Some(text.map_or(line.clone(), |text| format!("{text}\n{line}")));
        }
        SkillNews { text, known }
    }

    /// Instructions that were loaded, newest first, and the listing of skills that the prefix lacks;
    /// `told` are those that the model knows.
    pub(crate) fn restored(&self, told: &BTreeMap<String, String>) -> Vec<RestoredPart> {
        let skills = self.0.host.skills();
        let used = self.0.used().clone();
        let mut parts = Vec::new();
        for used in used.iter().rev() {
            // A skill that is gone, or whose folder is trusted no more, is not shown again.
            if let Some(skill) = skills.iter().find(|skill| skill.name == used.name) {
                parts.push(RestoredPart {
                    kind: RestoredKind::Skill,
                    name: used.name.clone(),
                    text: self.0.loaded(skill, &used.args),
                });
            }
        }
        let in_prefix = self.0.listing.as_deref().unwrap_or_default();
        let lacks = |skill: &&Skill| {
            let line = format!("\n- {}", skill.name);
            let mut lines = in_prefix.match_indices(&line);
            let named = lines.any(|(at, _)| {
                let rest = &in_prefix[at + line.len()..];
                rest.is_empty() || rest.starts_with([':', '\n'])
            });
            skill.by_model && told.contains_key(&skill.name) && !named
        };
        let missing: Vec<&Skill> = skills.iter().filter(lacks).collect();
        if let Some(text) = self.0.list("Further skills", &missing) {
            parts.push(RestoredPart {
                kind: RestoredKind::Listing,
                name: "skills".to_owned(),
                text,
            });
        }
        parts
    }

    /// Skills that a person may use by name.
    pub(crate) fn for_person(&self) -> Vec<Skill> {
        let mut skills = self.0.host.skills();
        skills.retain(|skill| skill.by_user);
        skills
    }

    /// Loads a skill for the conversation: its instructions, with its permissions in force for the turn.
    pub(crate) fn load(&self, skill: &Skill, args: &str) -> String {
        self.0.allow(skill);
        let use_now = Used {
            name: skill.name.clone(),
            args: args.to_owned(),
        };
        let mut used = self.0.used();
        used.retain(|known| *known != use_now);
        used.push(use_now);
        let over = used.len().saturating_sub(MOST_USED);
        used.drain(..over);
        if let Some(recorder) = self.0.recorder.get() {
            recorder.send(StateChange::Fact {
                name: FACT.to_owned(),
                value: serde_json::to_value(&*used).unwrap_or_default(),
            });
        }
        drop(used);
        self.0.loaded(skill, args)
    }

    fn answer(&self, call: &ToolCall) -> Result<String, String> {
        #[derive(Deserialize)]
        struct Wish {
            skill: String,
            #[serde(default)]
            args: Option<String>,
        }
        let wish: Wish = serde_json::from_value(call_text(call).input)
            .map_err(|error| format!("The input is not as the tool wants it: {error}."))?;
        let name = wish.skill.trim().trim_start_matches('/');
        let skills = self.0.host.skills();
        let found = skills.iter().find(|skill| skill.name == name);
        match found {
            Some(skill) if skill.by_model => {
                Ok(self.load(skill, wish.args.as_deref().unwrap_or_default().trim()))
            }
            Some(_) => Err(format!("Only the user may use `{name}`, as /{name}.")),
            None => {
                let names = skills.iter().filter(|skill| skill.by_model);
                let names: Vec<&str> = names.map(|skill| skill.name.as_str()).collect();
                let there = if names.is_empty() {
                    "none is there".to_owned()
                } else {
                    format!("there are {}", names.join(", "))
                };
                Err(format!("There is no skill `{name}`: {there}."))
            }
        }
    }
}

impl OutsideTools for Skills {
    fn offered(&self) -> Vec<ClientTool> {
        vec![tool()]
    }

    fn only_reads(&self, tool: &str) -> Option<bool> {
        (tool == SKILL).then_some(true)
    }

    fn run(&self, call: ToolCall) -> ToolFuture {
        let skills = self.clone();
        Box::pin(async move {
            let id = call.id.clone();
            let read = tokio::task::spawn_blocking(move || skills.answer(&call)).await;
            let answer = read.unwrap_or_else(|_| Err("The skill cannot be read.".to_owned()));
            let is_error = answer.is_err();
            ToolOutput {
                is_error,
                ..ToolOutput::text(id, answer.unwrap_or_else(|why| why))
            }
        })
    }
}

impl Inner {
    fn used(&self) -> MutexGuard<'_, Vec<Used>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Skills that a model may use.
    fn listed(&self) -> Vec<Skill> {
        let mut skills = self.host.skills();
        skills.retain(|skill| skill.by_model);
        skills
    }

    /// Takes the listing that the session began with, or makes one for a new session.
    fn begin(&mut self, folder: &Path) {
        let files = &self.host.system().files;
        let file = folder.join(LISTING_FILE);
        if let Ok(bytes) = files.read(&file, LARGEST_LISTING) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            self.listing = (!text.is_empty()).then_some(text);
            return;
        }
        let log = self.host.session_log(&self.session);
        // A session that began without skills is told of them at its tail.
        if log.is_ok_and(|log| files.metadata(&log).is_ok()) {
            return;
        }
        let skills = self.listed();
        let all: Vec<&Skill> = skills.iter().collect();
        let Some(text) = self.list("Skills", &all) else {
            return;
        };
        // Without the file a resumed session would begin with other bytes: nothing else is lost.
        let parent = file.parent().unwrap_or(folder);
        let made = files.create_dir_all(parent, Access::Private);
        if made.is_ok()
            && files
                .replace(&file, text.as_bytes(), Access::Private)
                .is_ok()
        {
            self.begun = signs(&skills);
            self.listing = Some(text);
        }
    }

    /// Names and descriptions within the room; `None` if there are none.
    fn list(&self, head: &str, skills: &[&Skill]) -> Option<String> {
        if skills.is_empty() {
            return None;
        }
        let fits = |text: &str| estimate(Block::text(text).weight(), self.bytes) <= self.room;
        let short = DESCRIPTIONS
            .iter()
            .map(|most| listed(head, skills, *most))
            .find(|text| fits(text));
        short.or_else(|| {
            // Even the names are too many: as many as fit, and the rest counted.
            let mut shown = skills.len();
            loop {
                shown /= 2;
                let mut text = listed(head, &skills[..shown], 0);
                let _always = write!(
                    text,
                    "\n{} more; {SKILL} with an unknown name lists all.",
                    skills.len() - shown
                );
                if shown == 0 || fits(&text) {
                    return Some(text);
                }
            }
        })
    }

    /// Instructions of a skill, as the conversation gets them.
    fn loaded(&self, skill: &Skill, args: &str) -> String {
        let text = skill.text(args, self.session.as_str());
        let kind = if skill.is_command { "command" } else { "skill" };
        let files = if skill.is_command {
            String::new()
        } else {
            format!("; files that they name are in {}", skill.folder.display())
        };
        format!(
            "Instructions of the {kind} {}{files}:\n\n{text}",
            skill.name
        )
    }

    /// Lets the calls run that a skill names, until the turn ends, and its own files be read.
    fn allow(&self, skill: &Skill) {
        let name = format!("the skill {}", skill.name);
        let folder = self.host.places().current_dir.clone();
        let mut rules = Vec::new();
        for text in &skill.allowed_tools {
            match Rule::parse(text, &Origin::new(name.clone(), folder.clone())) {
                Ok(rule) => rules.push(rule),
                Err(error) => self.events.tell(Event::Notice {
                    text: format!("{name}: {error}"),
                }),
            }
        }
        if !skill.is_command {
            rules.extend(self.own_files(&name, &skill.folder));
        }
        self.judge.allow_for_turn(rules);
    }

    /// Rules by which files of a skill may be read; its folder may lie outside the project.
    fn own_files(&self, name: &str, folder: &Path) -> Vec<Rule> {
        let real = self.host.system().files.real_path(folder).ok();
        let mut folders: Vec<PathBuf> = vec![folder.to_owned()];
        folders.extend(real.filter(|real| real != folder));
        let rule = |folder| Rule::parse("Read(/**)", &Origin::new(name, folder)).ok();
        folders.into_iter().filter_map(rule).collect()
    }
}

/// Definition of the tool that loads a skill.
pub(crate) fn tool() -> ClientTool {
    let definition = json!({
        "name": SKILL,
        "description": include_str!("skill-tool.md").trim_end(),
        "input_schema": {
            "type": "object",
            "properties": { "skill": { "type": "string" }, "args": { "type": "string" } },
            "required": ["skill"],
        },
    });
    ClientTool {
        name: SKILL.to_owned(),
        definition,
        only_reads: true,
    }
}

/// Names and descriptions, the latter at most so long.
fn listed(head: &str, skills: &[&Skill], most: usize) -> String {
    let mut text = format!("{head} for the tool {SKILL}:");
    for skill in skills {
        let words: String = skill.description.chars().take(most).collect();
        let _always = match words.as_str() {
            "" => write!(text, "\n- {}", skill.name),
            words => write!(text, "\n- {}: {words}", skill.name),
        };
    }
    text
}

/// A sign of each skill's line in a listing.
fn signs(skills: &[Skill]) -> BTreeMap<String, String> {
    let sign = |skill: &Skill| Hash::of(skill.description.as_bytes()).to_string();
    let signs = skills.iter().map(|skill| (skill.name.clone(), sign(skill)));
    signs.collect()
}
