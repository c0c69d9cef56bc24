//! Skills and custom commands: Markdown files of the user and of the project.
//!
//! # Model
//! A skill is a folder with a `SKILL.md`, a command a Markdown file; both are instructions that enter a
//! conversation when they are used. Front matter has a name, a description by which a model chooses,
//! and permissions; keys are those of Claude Code, so that its files work as they are, and unknown ones
//! are passed over. Of two with one name the project's counts before the user's, `.dormouse` before
//! `.claude`, and a skill before a command. Those of a project that is not trusted are not read.
//!
//! # Not here
//! Using them in a conversation: `dormouse-agent`. Arguments in their text: `expand`.

mod expand;

use crate::agents::{flag, list, string};
use crate::host::Host;
use crate::remark::Remark;
use dormouse_core::settings::Trust;
use dormouse_memory::topic;
use dormouse_system::FileKind;
use std::path::{Path, PathBuf};

/// Bytes of one file; real ones have a few thousand, and longer ones name files for the details.
const LARGEST: u64 = 256 * 1024;
/// Files that one folder may have: all of them are read when a session begins.
const MOST: usize = 200;
/// Characters of a description that is kept; listings shorten it further.
const LONGEST_DESCRIPTION: usize = 1_024;
/// Characters of a name.
const LONGEST_NAME: usize = 64;
/// Folders of commands inside each other, which are parts of a name.
const DEEPEST: usize = 3;
/// Folder of the skills in the home, and in the folders of a project.
const SKILLS: &str = "skills";
/// Folder of the commands beside it.
const COMMANDS: &str = "commands";
/// File of a skill in a folder of its own.
const SKILL_FILE: &str = "SKILL.md";

/// A skill, or a command of the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Name by which a model or a person asks for it.
    pub name: String,
    /// Purpose; empty if the file tells none.
    pub description: String,
    /// Arguments, in words for a person.
    pub hint: Option<String>,
    /// Rules for calls that need no question in the turn that uses it.
    pub allowed_tools: Vec<String>,
    /// True if a model may use it on its own.
    pub by_model: bool,
    /// True if a person may use it by its name.
    pub by_user: bool,
    /// Folder of its file, in which files lie that it names.
    pub folder: PathBuf,
    /// True for a file of a folder of commands.
    pub is_command: bool,
    /// Names of the arguments, in their order.
    arguments: Vec<String>,
    body: String,
}

impl Host {
    /// Skills and commands that are there now, by name.
    pub fn skills(&self) -> Vec<Skill> {
        let places = self.places();
        let mut found = Vec::new();
        // Strongest first: of two with one name the first is kept.
        if let Some(own) = &places.project.folder {
            let claude = places.project.root.join(".claude");
            for folder in [own.as_path(), claude.as_path()] {
                if self.loaded().trust == Trust::Trusted {
                    self.read_skills(folder, &mut found);
                } else {
                    for folder in [folder.join(SKILLS), folder.join(COMMANDS)] {
                        let listed = self.system().files.list(&folder);
                        if listed.is_ok_and(|entries| !entries.is_empty()) {
                            self.remark_once(Remark::SkillsUntrusted { folder });
                        }
                    }
                }
            }
        }
        self.read_skills(&places.home, &mut found);
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }

    fn read_skills(&self, folder: &Path, known: &mut Vec<Skill>) {
        let skills = folder.join(SKILLS);
        let names = self.entries(&skills).into_iter();
        let files = names.map(|(name, _)| (skills.join(&name).join(SKILL_FILE), name));
        let files: Vec<_> = files
            .filter(|(file, _)| self.system().files.metadata(file).is_ok())
            .collect();
        self.read_each(&skills, files, false, known);
        let commands = folder.join(COMMANDS);
        let mut files = Vec::new();
        self.find_commands(&commands, "", DEEPEST, &mut files);
        self.read_each(&commands, files, true, known);
    }

    /// Names in a folder, sorted; none if there is no such folder.
    fn entries(&self, folder: &Path) -> Vec<(String, FileKind)> {
        let listed = self.system().files.list(folder).unwrap_or_default();
        let named = listed.into_iter().filter_map(|entry| {
            let name = entry.name.into_string().ok()?;
            (!name.starts_with('.')).then_some((name, entry.metadata.kind))
        });
        let mut names: Vec<_> = named.collect();
        names.sort_by(|one, other| one.0.cmp(&other.0));
        names
    }

    /// Files of commands with their names; those of folders have the folder's name in front.
    fn find_commands(
        &self,
        folder: &Path,
        space: &str,
        depth: usize,
        found: &mut Vec<(PathBuf, String)>,
    ) {
        for (name, kind) in self.entries(folder) {
            if kind == FileKind::Directory && depth > 1 {
                let inner = format!("{space}{name}:");
                self.find_commands(&folder.join(&name), &inner, depth - 1, found);
            } else if let Some(stem) = name.strip_suffix(".md") {
                found.push((folder.join(&name), format!("{space}{stem}")));
            }
        }
    }

    fn read_each(
        &self,
        folder: &Path,
        mut files: Vec<(PathBuf, String)>,
        is_command: bool,
        known: &mut Vec<Skill>,
    ) {
        if files.len() > MOST {
            let why = format!("there are {}, and {MOST} are read", files.len());
            let file = folder.to_owned();
            self.remark_once(Remark::SkillUnread { file, why });
            files.truncate(MOST);
        }
        for (file, name) in files {
            let read = self.system().files.read(&file, LARGEST);
            let read = read.map_err(|error| error.to_string());
            let folder = file.parent().unwrap_or(folder);
            let parsed = read.and_then(|bytes| {
                let text = String::from_utf8_lossy(&bytes);
                parse(&text, &name, folder, is_command)
            });
            match parsed {
                Ok(read) if known.iter().any(|known| known.name == read.name) => {}
                Ok(read) => known.push(read),
                Err(why) => self.remark_once(Remark::SkillUnread { file, why }),
            }
        }
    }
}

/// The skill in a text; `stem` is its name unless a skill says another.
fn parse(text: &str, stem: &str, folder: &Path, is_command: bool) -> Result<Skill, String> {
    let (front, body) = topic::split(text);
    let values = front.map(|front| front.values(text)).unwrap_or_default();
    let body = text.get(body..).unwrap_or_default().trim();
    // The name of a command is that of its file: front matter of others names something else there.
    let own = string(&values, "name").filter(|_| !is_command);
    let name = own.unwrap_or_else(|| stem.to_owned());
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    if name.is_empty() || name.chars().count() > LONGEST_NAME || !name.chars().all(plain) {
        return Err(format!(
            "the name `{name}` has other characters than letters, digits, `-`, `_`, `:`, `.`, or more than {LONGEST_NAME}"
        ));
    }
    if body.is_empty() {
        return Err("it has no text".to_owned());
    }
    let said = string(&values, "description");
    let has_description = said.is_some();
    let first_line = || {
        body.lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches('#')
    };
    let description = said.unwrap_or_else(|| first_line().to_owned());
    let description: Vec<&str> = description.split_whitespace().collect();
    Ok(Skill {
        name,
        description: description
            .join(" ")
            .chars()
            .take(LONGEST_DESCRIPTION)
            .collect(),
        hint: string(&values, "argument-hint"),
        allowed_tools: rules(list(&values, "allowed-tools").unwrap_or_default()),
        // A command that tells no purpose was written for a person who knows it.
        by_model: flag(&values, "disable-model-invocation") != Some(true)
            && (has_description || !is_command),
        by_user: flag(&values, "user-invocable") != Some(false),
        folder: folder.to_owned(),
        is_command,
        arguments: list(&values, "arguments").unwrap_or_default(),
        body: body.to_owned(),
    })
}

/// Rules of a list, joined again where a comma inside brackets has parted one.
fn rules(parts: Vec<String>) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    for part in parts {
        match rules.last_mut() {
            Some(last) if last.matches('(').count() > last.matches(')').count() => {
                last.push_str(", ");
                last.push_str(&part);
            }
            _ => rules.push(part),
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn read(text: &str, is_command: bool) -> Result<Skill, String> {
        parse(text, "stem", Path::new("/w/skills/stem"), is_command)
    }

    #[test]
    fn files_of_claude_code_are_read_as_they_are() {
        let text = "---\nname: pdf-forms\ndescription: Fills forms: use it for PDF files.\nallowed-tools: Bash(git log:*), Read\nargument-hint: \"[file]\"\nmodel: opus\nuser-invocable: false\n---\n\n# PDF\nFill in.\n";
        assert_eq!(
            read(text, false).unwrap(),
            Skill {
                name: "pdf-forms".to_owned(),
                description: "Fills forms: use it for PDF files.".to_owned(),
                hint: Some("[file]".to_owned()),
                allowed_tools: vec!["Bash(git log:*)".to_owned(), "Read".to_owned()],
                by_model: true,
                by_user: false,
                folder: PathBuf::from("/w/skills/stem"),
                is_command: false,
                arguments: Vec::new(),
                body: "# PDF\nFill in.".to_owned(),
            }
        );
    }

    #[test]
    fn front_matter_may_be_missing_or_no_yaml() {
        let plain = read("# Review\nLook at the diff.", true).unwrap();
        assert_eq!(
            (plain.name.as_str(), plain.description.as_str()),
            ("stem", "Review")
        );
        assert!(plain.by_user && !plain.by_model);
        let skill = read("Look at the diff.", false).unwrap();
        assert!(skill.by_model);
        let odd = "---\ndescription: a: b: c\ndisable-model-invocation: true\n---\nGo.";
        let odd = read(odd, false).unwrap();
        assert_eq!((odd.description.as_str(), odd.by_model), ("a: b: c", false));
    }

    #[test]
    fn a_file_that_cannot_be_used_says_why() {
        for (text, why) in [
            (
                "---\nname: ../x\ndescription: d\n---\nx",
                "other characters",
            ),
            ("---\nname: a\n---\n", "no text"),
            ("", "no text"),
        ] {
            let error = read(text, false).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_comma_inside_a_rule_parts_no_rule() {
        let text = "---\nallowed-tools: Bash(echo a, b), Edit(src/**)\n---\nx";
        let read = read(text, true).unwrap();
        assert_eq!(read.allowed_tools, ["Bash(echo a, b)", "Edit(src/**)"]);
    }
}
