//! Rules: their text, and which calls they are about.

use crate::call::{Action, Call, Ground};
use crate::files::FilePattern;
use crate::hosts::HostPattern;
use crate::shell::LinePattern;
use dormouse_guard::shell::Part;
use std::fmt;
use std::path::{Path, PathBuf};

/// Prefix of the tools of MCP servers.
const MCP: &str = "mcp__";
/// Tools that a rule for `Read` covers.
const READERS: [&str; 3] = ["Read", "Grep", "Glob"];
/// Tools that a rule for `Edit` covers.
const EDITORS: [&str; 3] = ["Edit", "Write", "NotebookEdit"];

/// Effect of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behaviour {
    /// The call runs without a question.
    Allow,
    /// A person is asked.
    Ask,
    /// The call is refused.
    Deny,
}

/// Place where a rule was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// File or flag, as people know it.
    pub name: String,
    /// Folder that patterns beginning with `/` start from.
    pub root: PathBuf,
}

impl Origin {
    /// A file or flag and the folder its patterns start from.
    pub fn new(name: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            root: root.into(),
        }
    }
}

/// Text that is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The text does not have the form of a rule.
    #[error("`{text}` is no rule; write `Tool` or `Tool(pattern)`, such as `Bash(npm test)`")]
    Form {
        /// The text as given.
        text: String,
    },
    /// The pattern within the brackets cannot be read.
    #[error("the pattern of the rule `{text}` cannot be read: {why}")]
    Pattern {
        /// The text as given.
        text: String,
        /// Defect of the pattern.
        why: String,
    },
    /// The tool takes no patterns.
    #[error(
        "the rule `{text}` has a pattern, but calls of `{tool}` have nothing to compare it with; write `{tool}`"
    )]
    NoPattern {
        /// The text as given.
        text: String,
        /// Name of the tool.
        tool: String,
    },
}

/// A rule. Its text is kept: verdicts name it.
#[derive(Clone, Debug)]
pub struct Rule {
    text: String,
    tool: String,
    subject: Subject,
    origin: Origin,
}

#[derive(Clone, Debug)]
enum Subject {
    /// Every call of the tool.
    Any,
    Line(LinePattern),
    File(FilePattern),
    Host(HostPattern),
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// When the text is no rule, or its pattern cannot be read.
    pub fn parse(text: &str, origin: &Origin) -> Result<Self, RuleError> {
        let text = text.trim();
        let form = || RuleError::Form {
            text: text.to_owned(),
        };
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(form)?)),
        };
        let is_name = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '-' | '.');
        let name = tool.strip_suffix("__*").unwrap_or(tool);
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(form());
        }
        let subject = match pattern.map(str::trim) {
            None | Some("*") => Subject::Any,
            Some("") => return Err(form()),
            Some(pattern) => subject(tool, pattern, text)?,
        };
        Ok(Self {
            text: text.to_owned(),
            tool: tool.to_owned(),
            subject,
            origin: origin.clone(),
        })
    }

    /// The rule as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Place where it was written.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// True if the rule is about every call of the tool: such a refusal takes the tool out of the
    /// model's sight.
    pub fn covers_tool(&self, tool: &str) -> bool {
        matches!(self.subject, Subject::Any) && self.names(tool)
    }

    fn names(&self, tool: &str) -> bool {
        let covered = match self.tool.as_str() {
            "Read" => READERS.contains(&tool),
            "Edit" => EDITORS.contains(&tool),
            // The older name of the same tool.
            "Task" => tool == "Agent",
            _ => false,
        };
        covered || self.tool == tool || self.names_server(tool)
    }

    /// `mcp__server` and `mcp__server__*` name every tool of a server.
    fn names_server(&self, tool: &str) -> bool {
        let server = self.tool.strip_suffix("__*").unwrap_or(&self.tool);
        let whole = server
            .strip_prefix(MCP)
            .is_some_and(|name| !name.contains("__"));
        whole
            && tool
                .strip_prefix(server)
                .is_some_and(|rest| rest.starts_with("__"))
    }

    /// True if the rule is about a call that is not a command line.
    pub(crate) fn matches(&self, behaviour: Behaviour, call: &Call<'_>, ground: &Ground) -> bool {
        // A file that must not be read must not be edited either: an edit shows parts of it.
        let named = self.names(call.tool)
            || (behaviour == Behaviour::Deny
                && self.tool == "Read"
                && matches!(call.action, Action::Edit { .. }));
        if !named {
            return false;
        }
        match (&self.subject, &call.action) {
            (Subject::Any, _) => true,
            (Subject::File(pattern), Action::Read { .. } | Action::Edit { .. }) => {
                let at = |path: &Path| pattern.names(path, behaviour, &self.origin.root, ground);
                let mut paths = call.action.paths().into_iter();
                match behaviour {
                    // A link must not lead out of what was allowed, nor around what was refused.
                    Behaviour::Allow => paths.all(at),
                    Behaviour::Ask | Behaviour::Deny => paths.any(at),
                }
            }
            (Subject::Host(pattern), Action::Fetch { host }) => pattern.names(host),
            _ => false,
        }
    }

    /// True if the rule is about one command of a line.
    pub(crate) fn matches_part(&self, behaviour: Behaviour, tool: &str, part: &Part) -> bool {
        self.names(tool)
            && match &self.subject {
                Subject::Any => true,
                Subject::Line(pattern) if behaviour == Behaviour::Allow => pattern.allows(part),
                Subject::Line(pattern) => pattern.touches(part),
                Subject::File(_) | Subject::Host(_) => false,
            }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn subject(tool: &str, pattern: &str, text: &str) -> Result<Subject, RuleError> {
    let unreadable = |why: String| RuleError::Pattern {
        text: text.to_owned(),
        why,
    };
    if tool == "Bash" {
        return Ok(Subject::Line(
            LinePattern::new(pattern).map_err(unreadable)?,
        ));
    }
    if READERS.contains(&tool) || EDITORS.contains(&tool) {
        return Ok(Subject::File(
            FilePattern::new(pattern).map_err(unreadable)?,
        ));
    }
    match (tool, pattern.strip_prefix("domain:")) {
        ("WebFetch", Some(host)) => Ok(Subject::Host(HostPattern::new(host))),
        ("WebFetch", None) => Err(unreadable("write `domain:` and a host".to_owned())),
        _ => Err(RuleError::NoPattern {
            text: text.to_owned(),
            tool: tool.to_owned(),
        }),
    }
}

/// Rules by their effect, each list in the order of writing.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
}

impl Rules {
    /// Adds a rule behind those of its kind.
    pub fn add(&mut self, behaviour: Behaviour, rule: Rule) {
        match behaviour {
            Behaviour::Allow => self.allow.push(rule),
            Behaviour::Ask => self.ask.push(rule),
            Behaviour::Deny => self.deny.push(rule),
        }
    }

    /// Rules of one kind.
    pub fn of(&self, behaviour: Behaviour) -> &[Rule] {
        match behaviour {
            Behaviour::Allow => &self.allow,
            Behaviour::Ask => &self.ask,
            Behaviour::Deny => &self.deny,
        }
    }

    /// True if every call of the tool is refused, so that the model need not see it.
    pub fn hides(&self, tool: &str) -> bool {
        self.deny.iter().any(|rule| rule.covers_tool(tool))
    }
}
