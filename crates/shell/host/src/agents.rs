//! Definitions of sub-agents: Markdown files of the user and of the project.
//!
//! # Model
//! Front matter has the name, a description by which a model chooses, and limits; the body is the
//! agent's system prompt. Keys are those of Claude Code, so that its files work as they are; unknown
//! ones are passed over. Of two definitions with one name the project's counts before the user's,
//! and `.dormouse` before `.claude`. Those of a project that is not trusted are not read.
//!
//! # Not here
//! Running sub-agents: `dormouse-agent`.

use crate::agent_memory::MemoryScope;
use crate::host::Host;
use crate::remark::Remark;
use dormouse_core::models::ModelTable;
use dormouse_core::settings::Trust;
use dormouse_memory::topic;
use dormouse_permit::Mode;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Bytes of one definition; real ones have a few thousand.
const LARGEST: u64 = 256 * 1024;
/// Definitions that one folder may have: each is a line of every prompt.
const MOST: usize = 100;
/// Characters of a description that a model is shown, for the same reason.
const LONGEST_DESCRIPTION: usize = 500;
/// Characters of a name.
const LONGEST_NAME: usize = 64;
/// Folder of the definitions in the home, and in the folders of a project.
const FOLDER: &str = "agents";

/// A sort of sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentDefinition {
    /// Name by which a call asks for it.
    pub name: String,
    /// Purpose, in words for the model that chooses.
    pub description: String,
    /// System prompt that its conversation begins with.
    pub system: String,
    /// Tools that it has; `None` for all.
    pub tools: Option<Vec<String>>,
    /// Tools that it does not have.
    pub refused_tools: Vec<String>,
    /// Answer to calls that no rule decides; `None` for that of the session.
    pub mode: Option<Mode>,
    /// Most requests of one task; `None` for no limit of its own.
    pub most_requests: Option<usize>,
    /// True if it works beside the conversation unless the call says otherwise.
    pub background: bool,
    /// True if it works in a worktree of its own.
    pub worktree: bool,
    /// Reach of its own memory; `None` for no memory.
    pub memory: Option<MemoryScope>,
    /// Model by its name, or by that of a family; `None` for that of the session.
    pub model: Option<String>,
}

impl Host {
    /// Sub-agents that are defined for this project, by name.
    pub fn agent_definitions(&self) -> Vec<AgentDefinition> {
        let places = self.places();
        let mut definitions = Vec::new();
        // Strongest first: of two with one name the first is kept.
        if let Some(own) = &places.project.folder {
            let folders = [
                own.join(FOLDER),
                places.project.root.join(".claude").join(FOLDER),
            ];
            if self.loaded().trust == Trust::Trusted {
                for folder in folders {
                    self.read_definitions(&folder, &mut definitions);
                }
            } else if let Some(folder) = folders.into_iter().find(|folder| self.has_files(folder)) {
                self.remark_once(Remark::AgentsUntrusted { folder });
            }
        }
        self.read_definitions(&places.home.join(FOLDER), &mut definitions);
        definitions.sort_by(|one, other| one.name.cmp(&other.name));
        definitions
    }

    fn has_files(&self, folder: &Path) -> bool {
        let listed = self.system().files.list(folder);
        listed.is_ok_and(|entries| !entries.is_empty())
    }

    fn read_definitions(&self, folder: &Path, known: &mut Vec<AgentDefinition>) {
        // Most projects have none.
        let Ok(entries) = self.system().files.list(folder) else {
            return;
        };
        let mut files: Vec<PathBuf> = entries
            .into_iter()
            .map(|entry| folder.join(entry.name))
            .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
            .collect();
        files.sort();
        if files.len() > MOST {
            let why = format!("there are {}, and {MOST} are read", files.len());
            let file = folder.to_owned();
            self.remark_once(Remark::AgentUnread { file, why });
            files.truncate(MOST);
        }
        for file in files {
            match self.read_definition(&file) {
                Ok(read) if known.iter().any(|known| known.name == read.name) => {}
                Ok(read) => known.push(read),
                Err(why) => self.remark_once(Remark::AgentUnread { file, why }),
            }
        }
    }

    fn read_definition(&self, file: &Path) -> Result<AgentDefinition, String> {
        let bytes = self.system().files.read(file, LARGEST);
        let bytes = bytes.map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&bytes);
        let stem = file.file_stem().and_then(|stem| stem.to_str());
        parse(&text, stem.unwrap_or_default())
    }
}

/// The definition in a text; `stem` is the name of a file that says none.
fn parse(text: &str, stem: &str) -> Result<AgentDefinition, String> {
    let (front, body) = topic::split(text);
    let front = front.ok_or("it has no front matter")?;
    let values = front.values(text);
    let name = string(&values, "name").unwrap_or_else(|| stem.to_owned());
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        return Err(format!(
            "the name `{name}` has other characters than letters, digits, `-`, `_`, `:`, `.`, or more than {LONGEST_NAME}"
        ));
    }
    // The folder of its memory has its name; dots alone name the folder around it.
    if name.chars().all(|c| c == '.') {
        return Err(format!("the name `{name}` has no letter or digit"));
    }
    let description = string(&values, "description").unwrap_or_default();
    let description: Vec<&str> = description.split_whitespace().collect();
    if description.is_empty() {
        return Err("it has no description, by which a model could choose it".to_owned());
    }
    let mode = match string(&values, "permissionMode") {
        Some(mode) => Some(mode.parse().map_err(|error| format!("{error}"))?),
        None => None,
    };
    let memory = match string(&values, "memory") {
        Some(scope) => Some(scope.parse()?),
        None => None,
    };
    Ok(AgentDefinition {
        memory,
        model: string(&values, "model").filter(|model| model != "inherit"),
        name,
        description: description
            .join(" ")
            .chars()
            .take(LONGEST_DESCRIPTION)
            .collect(),
        system: text[body..].trim().to_owned(),
        tools: list(&values, "tools").filter(|tools| !tools.iter().any(|tool| tool == "*")),
        refused_tools: list(&values, "disallowedTools").unwrap_or_default(),
        mode,
        most_requests: number(&values, "maxTurns"),
        background: flag(&values, "background") == Some(true),
        worktree: string(&values, "isolation").as_deref() == Some("worktree"),
    })
}

impl AgentDefinition {
    /// Model that it asks for, in a session that asks `session`; `None` for the same. A family (`sonnet`)
    /// is its newest model, where the session's model is of the same maker.
    pub fn model_in(&self, session: &str, models: &ModelTable) -> Option<String> {
        let wish = self.model.as_deref()?;
        if wish.contains(|c: char| !c.is_ascii_lowercase()) {
            return Some(wish.to_owned());
        }
        let family = format!("claude-{wish}-");
        if !session.contains("claude-") || session.contains(&family) {
            return None;
        }
        let of_family = models.iter().filter(|model| model.id.starts_with(&family));
        let newest = of_family.filter(|model| !model.retired).last();
        newest.map(|model| model.id.clone())
    }
}

/// Text of a key, without blanks around it; `None` if it is empty.
pub(crate) fn string(values: &Map<String, Value>, key: &str) -> Option<String> {
    let text = values.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A yes or no. Front matter that is no valid YAML is read line by line, and its values as words.
pub(crate) fn flag(values: &Map<String, Value>, key: &str) -> Option<bool> {
    match values.get(key)? {
        Value::Bool(value) => Some(*value),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A count. Front matter that is no valid YAML is read line by line, its numbers as words.
fn number(values: &Map<String, Value>, key: &str) -> Option<usize> {
    match values.get(key)? {
        Value::String(text) => text.trim().parse().ok(),
        value => usize::try_from(value.as_u64()?).ok(),
    }
}

/// Names of a list, or of a text with commas.
pub(crate) fn list(values: &Map<String, Value>, key: &str) -> Option<Vec<String>> {
    let names: Vec<String> = match values.get(key)? {
        Value::String(text) => text.split(',').map(|name| name.trim().to_owned()).collect(),
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        _ => return None,
    };
    let names: Vec<String> = names.into_iter().filter(|name| !name.is_empty()).collect();
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn files_of_claude_code_are_read_as_they_are() {
        let text = "---\nname: reviewer\ndescription: Reads changes: finds faults.\ntools: Read, Grep\nmodel: opus\ncolor: red\npermissionMode: plan\nmaxTurns: 7\nisolation: worktree\n---\nYou review.\n";
        let read = parse(text, "file").unwrap();
        assert_eq!(
            read,
            AgentDefinition {
                name: "reviewer".to_owned(),
                description: "Reads changes: finds faults.".to_owned(),
                system: "You review.".to_owned(),
                tools: Some(vec!["Read".to_owned(), "Grep".to_owned()]),
                refused_tools: Vec::new(),
                mode: Some(Mode::Plan),
                most_requests: Some(7),
                background: false,
                worktree: true,
                memory: None,
                model: Some("opus".to_owned()),
            }
        );
    }

    #[test]
    fn a_definition_that_cannot_be_used_says_why() {
        for (text, why) in [
            ("You review.", "no front matter"),
            ("---\nname: a\n---\nx", "no description"),
            (
                "---\nname: ../x\ndescription: d\n---\nx",
                "other characters",
            ),
            ("---\nname: .\ndescription: d\n---\nx", "no letter"),
            (
                "---\nname: a\ndescription: d\npermissionMode: yes-sir\n---\nx",
                "yes-sir",
            ),
            (
                "---\nname: a\ndescription: d\nmemory: everywhere\n---\nx",
                "user, project or local",
            ),
        ] {
            let error = parse(text, "file").unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_family_is_its_newest_model_of_the_same_maker() {
        let models = ModelTable::builtin();
        let asked = |wish: &str, session: &str| {
            let text = format!("---\ndescription: d\nmodel: {wish}\n---\n");
            parse(&text, "stem").unwrap().model_in(session, models)
        };
        let newest = asked("haiku", "claude-opus-4-6").unwrap();
        assert!(models.lookup(&newest).is_known() && newest.starts_with("claude-haiku-"));
        // The session's own model is of the family already.
        assert_eq!(asked("opus", "claude-opus-4-6"), None);
        assert_eq!(asked("inherit", "claude-opus-4-6"), None);
        assert_eq!(asked("haiku", "qwen3-coder"), None);
        assert_eq!(asked("gpt-5.2", "qwen3").as_deref(), Some("gpt-5.2"));
    }

    #[test]
    fn lists_and_commas_name_tools() {
        for tools in ["Read, Bash", "[Read, Bash]", "\n  - Read\n  - Bash"] {
            let text = format!("---\ndescription: d\ntools: {tools}\nmaxTurns: 3\n---\n");
            let read = parse(&text, "stem").unwrap();
            assert_eq!(read.name, "stem");
            assert_eq!(read.tools.unwrap(), ["Read", "Bash"]);
            assert_eq!(read.most_requests, Some(3));
        }
    }
}
