//! Definitions of the conversation's tools, as the model gets them.

use crate::definitions::define;
use serde_json::{Value, json};

/// Names of the tools, in the order of their definitions.
pub const AGENT_TOOLS: [&str; 14] = [
    "Read",
    "Write",
    "Edit",
    "Bash",
    "BashOutput",
    "KillShell",
    "Grep",
    "Glob",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "AskUserQuestion",
    "Memory",
    "SearchMemory",
];

/// Tools of a conversation with a small window: enough to work on files, and to find again what had
/// to leave the window.
pub const LEAN_TOOLS: [&str; 5] = ["Read", "Edit", "Bash", "Grep", "SearchMemory"];

/// Way in which the web is searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchBy {
    /// Not at all: no tool is offered.
    #[default]
    Nothing,
    /// A command of the user's.
    Command,
    /// The provider, on its own servers.
    Provider,
}

/// Tools that a session offers. Fixed when it begins: other tools are another prefix, which breaks
/// the provider's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Toolset {
    /// True if there is a memory to read, write and search.
    pub memory: bool,
    /// Way in which the web is searched.
    pub search: SearchBy,
    /// True if the window is small.
    pub lean: bool,
}

impl Toolset {
    /// Names of the tools that are offered, in the order of their definitions.
    pub fn names(&self) -> Vec<&'static str> {
        let names = AGENT_TOOLS.into_iter();
        names.filter(|name| self.offers(name)).collect()
    }

    /// Definitions as a request carries them.
    pub fn definitions(&self) -> Vec<Value> {
        let mut all = agent_definitions();
        all.retain(|definition| self.offers(definition["name"].as_str().unwrap_or_default()));
        if self.search == SearchBy::Provider && !self.lean {
            // Run by the provider: it has a type of its own and no schema.
            all.push(json!({ "type": "web_search_20250305", "name": "web_search", "max_uses": 8 }));
        }
        all.iter_mut().for_each(leave_out_known);
        if self.lean {
            all.iter_mut().for_each(shorten_definition);
        }
        all
    }

    fn offers(self, name: &str) -> bool {
        let wanted = match name {
            "Memory" | "SearchMemory" => self.memory,
            "WebSearch" => self.search == SearchBy::Command,
            _ => true,
        };
        wanted && (!self.lean || LEAN_TOOLS.contains(&name))
    }
}

/// Leaves out of a definition what models send without being told, because its words are paid with every
/// request: a few parameters, which work all the same, their units, and bounds, which are checked when a
/// call comes.
fn leave_out_known(definition: &mut Value) {
    let known: &[&str] = match definition["name"].as_str() {
        Some("BashOutput") => &["filter"],
        Some("Grep") => &["-A", "-B", "-n", "multiline"],
        Some("WebSearch") => &["allowed_domains", "blocked_domains"],
        _ => &[],
    };
    if let Some(properties) = definition["input_schema"]["properties"].as_object_mut() {
        properties.retain(|name, _| !known.contains(&name.as_str()));
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.remove("minimum");
            property.remove("description");
        }
    }
}

/// Keeps a few words and the parameters that a small model uses.
fn shorten_definition(definition: &mut Value) {
    /// Parameters that need more words than they are worth in a small window.
    const RARE: [&str; 13] = [
        "-A",
        "-B",
        "-C",
        "-i",
        "-n",
        "multiline",
        "head_limit",
        "description",
        "output_mode",
        "timeout",
        "run_in_background",
        "dangerouslyDisableSandbox",
        "replace_all",
    ];
    let short = match definition["name"].as_str() {
        Some("Read") => "Shows a file.",
        Some("Edit") => "Replaces an exact text in a file that was read.",
        Some("Bash") => "Runs a command line.",
        Some("Grep") => "Searches files by regular expression.",
        _ => "Finds memories and older passages.",
    };
    definition["description"] = json!(short);
    if let Some(properties) = definition["input_schema"]["properties"].as_object_mut() {
        properties.retain(|name, _| !RARE.contains(&name.as_str()));
        for property in properties.values_mut() {
            *property = json!({ "type": property["type"] });
        }
    }
}

/// Definitions, one for each tool. They are the same in every session, so that a cached prompt that
/// holds them can be reused.
pub fn agent_definitions() -> Vec<Value> {
    let mut all = of_files_and_commands();
    all.extend(of_services());
    for definition in &mut all {
        // Arguments that models invent are ignored; fourteen times the words would be paid for.
        if let Some(schema) = definition["input_schema"].as_object_mut() {
            schema.remove("additionalProperties");
        }
    }
    all
}

/// Tools that need a service: a network, a person, a memory.
fn of_services() -> Vec<Value> {
    let plain = || json!({ "type": "string" });
    let names = || json!({ "type": "array", "items": { "type": "string" } });
    vec![
        define(
            "WebFetch",
            include_str!("../descriptions/agent/web_fetch.md"),
            &["url"],
            json!({
                "url": plain(),
                "prompt": plain(),
                "offset": { "type": "integer", "minimum": 0 },
            }),
        ),
        define(
            "WebSearch",
            include_str!("../descriptions/agent/web_search.md"),
            &["query"],
            json!({
                "query": plain(),
                "allowed_domains": names(),
                "blocked_domains": names(),
            }),
        ),
        define(
            "AskUserQuestion",
            include_str!("../descriptions/agent/ask_user_question.md"),
            &["questions"],
            json!({
                "questions": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "question": plain(),
                            "header": plain(),
                            "options": {
                                "type": "array",
                                "items": {
                                    "type": "object",
                                    "properties": { "label": plain(), "description": plain() },
                                    "required": ["label"],
                                },
                            },
                            "multiSelect": { "type": "boolean" },
                        },
                        "required": ["question", "options"],
                    },
                },
            }),
        ),
        define(
            "Memory",
            include_str!("../descriptions/agent/memory.md"),
            &["command"],
            json!({
                "command": {
                    "type": "string",
                    "enum": ["view", "create", "str_replace", "insert", "delete", "rename"],
                },
                "path": plain(),
                "view_range": { "type": "array", "items": { "type": "integer" } },
                "file_text": plain(),
                "old_str": plain(),
                "new_str": plain(),
                "insert_line": { "type": "integer" },
                "insert_text": plain(),
                "old_path": plain(),
                "new_path": plain(),
            }),
        ),
        define(
            "SearchMemory",
            include_str!("../descriptions/agent/search_memory.md"),
            &["query"],
            json!({ "query": plain() }),
        ),
    ]
}

fn of_files_and_commands() -> Vec<Value> {
    let plain = || json!({ "type": "string" });
    let count = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let switch = || json!({ "type": "boolean" });
    let number = || json!({ "type": "integer", "minimum": 0 });
    vec![
        define(
            "Read",
            include_str!("../descriptions/agent/read.md"),
            &["file_path"],
            json!({
                "file_path": plain(),
                "offset": count("First line to show, from 1."),
                "limit": number(),
            }),
        ),
        define(
            "Write",
            include_str!("../descriptions/agent/write.md"),
            &["file_path", "content"],
            json!({ "file_path": plain(), "content": plain() }),
        ),
        define(
            "Edit",
            include_str!("../descriptions/agent/edit.md"),
            &["file_path", "old_string", "new_string"],
            json!({
                "file_path": plain(),
                "old_string": plain(),
                "new_string": plain(),
                "replace_all": switch(),
            }),
        ),
        define(
            "Bash",
            include_str!("../descriptions/agent/bash.md"),
            &["command"],
            json!({
                "command": plain(),
                "timeout": count("Milliseconds, at most 600000."),
                "description": plain(),
                "run_in_background": switch(),
                "dangerouslyDisableSandbox": switch(),
            }),
        ),
        define(
            "BashOutput",
            include_str!("../descriptions/agent/bash_output.md"),
            &["bash_id"],
            json!({ "bash_id": plain(), "filter": plain() }),
        ),
        define(
            "KillShell",
            include_str!("../descriptions/agent/kill_shell.md"),
            &["shell_id"],
            json!({ "shell_id": plain() }),
        ),
        define(
            "Grep",
            include_str!("../descriptions/agent/grep.md"),
            &["pattern"],
            json!({
                "pattern": plain(),
                "path": plain(),
                "glob": plain(),
                "output_mode": { "type": "string", "enum": ["files_with_matches", "content", "count"] },
                "-i": switch(),
                "-n": switch(),
                "-A": number(),
                "-B": number(),
                "-C": number(),
                "multiline": switch(),
                "head_limit": number(),
            }),
        ),
        define(
            "Glob",
            include_str!("../descriptions/agent/glob.md"),
            &["pattern"],
            json!({ "pattern": plain(), "path": plain() }),
        ),
        define(
            "TodoWrite",
            include_str!("../descriptions/agent/todo_write.md"),
            &["todos"],
            json!({
                "todos": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "content": plain(),
                            "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
                            "activeForm": plain(),
                        },
                        "required": ["content", "status"],
                    },
                },
            }),
        ),
    ]
}
