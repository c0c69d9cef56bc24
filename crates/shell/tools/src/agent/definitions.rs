//! Definitions of the conversation's tools, as the model gets them.

use crate::definitions::define;
use serde_json::{Value, json};

/// Names of the tools, in the order of their definitions.
pub const AGENT_TOOLS: [&str; 9] = [
    "Read",
    "Write",
    "Edit",
    "Bash",
    "BashOutput",
    "KillShell",
    "Grep",
    "Glob",
    "TodoWrite",
];

/// Definitions, one for each tool. They are the same in every session, so that a cached prompt that
/// holds them can be reused.
pub fn agent_definitions() -> Vec<Value> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let plain = || json!({ "type": "string" });
    let count = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let flag = |about: &str| json!({ "type": "boolean", "description": about });
    vec![
        define(
            "Read",
            include_str!("../descriptions/agent/read.md"),
            &["file_path"],
            json!({
                "file_path": plain(),
                "offset": count("First line to show, from 1."),
                "limit": count("Number of lines."),
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
                "replace_all": flag("Replace every occurrence."),
            }),
        ),
        define(
            "Bash",
            include_str!("../descriptions/agent/bash.md"),
            &["command"],
            json!({
                "command": plain(),
                "timeout": count("Milliseconds; 120000 unless given, at most 600000."),
                "description": text("What it does, in five to ten words."),
                "run_in_background": flag("Return at once; read it later with BashOutput."),
            }),
        ),
        define(
            "BashOutput",
            include_str!("../descriptions/agent/bash_output.md"),
            &["bash_id"],
            json!({ "bash_id": plain(), "filter": text("Regular expression for lines to show.") }),
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
                "path": text("File or folder; the working folder unless given."),
                "glob": text("Names to search, such as `*.rs`."),
                "output_mode": { "type": "string", "enum": ["files_with_matches", "content", "count"] },
                "-i": flag("Ignore case."),
                "-n": flag("Line numbers, on unless false."),
                "-A": count("Lines after."),
                "-B": count("Lines before."),
                "-C": count("Lines around."),
                "multiline": flag("Let `.` match line ends."),
                "head_limit": count("Most lines or files."),
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
                        "additionalProperties": false,
                    },
                },
            }),
        ),
    ]
}
