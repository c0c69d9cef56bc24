//! Definitions of the tools, as the model gets them.

use serde_json::{Map, Value, json};

/// Names of the tools, in the order of their definitions.
pub const TOOL_NAMES: [&str; 6] = ["Read", "Grep", "Glob", "Bash", "Edit", "Write"];

/// Tools that change nothing: several of their calls may run at once.
pub(crate) const READING_TOOLS: [&str; 4] = ["Read", "Grep", "Glob", "Bash"];

/// Definitions, one for each tool: name, description and the schema of its input.
///
/// They are the same for every task, so that a cached prompt that holds them can be reused.
pub fn definitions() -> Vec<Value> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let count = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let flag = |about: &str| json!({ "type": "boolean", "description": about });
    vec![
        define(
            "Read",
            include_str!("descriptions/read.md"),
            &["file_path"],
            json!({
                "file_path": text("The file."),
                "offset": count("The number of the first line to show; 1 is the beginning."),
                "limit": count("How many lines to show."),
            }),
        ),
        define(
            "Grep",
            include_str!("descriptions/grep.md"),
            &["pattern"],
            json!({
                "pattern": text("The regular expression."),
                "path": text("The file or directory to search; the working directory by default."),
                "glob": text("Only files of these names, such as `*.md` or `src/**/*.rs`."),
                "output_mode": {
                    "type": "string",
                    "enum": ["files_with_matches", "content", "count"],
                    "description": "What to show: names of files (the default), lines, or numbers of matches.",
                },
                "-i": flag("Upper and lower case are the same."),
                "-n": flag("Show line numbers with `content`; on by default."),
                "-A": count("Lines to show after a match, with `content`."),
                "-B": count("Lines to show before a match, with `content`."),
                "-C": count("Lines to show before and after a match, with `content`."),
                "multiline": flag("A match may span lines, and `.` stands for an end of line too."),
                "head_limit": count("How many lines or files to show at most."),
            }),
        ),
        define(
            "Glob",
            include_str!("descriptions/glob.md"),
            &["pattern"],
            json!({
                "pattern": text("The glob, such as `**/*.md`."),
                "path": text("The directory to search; the working directory by default."),
            }),
        ),
        define(
            "Bash",
            include_str!("descriptions/bash.md"),
            &["command"],
            json!({
                "command": text("The command line."),
                "timeout": count("After how many milliseconds to stop it."),
            }),
        ),
        define(
            "Edit",
            include_str!("descriptions/edit.md"),
            &["file_path", "old_string", "new_string"],
            json!({
                "file_path": text("The memory file, as an absolute path."),
                "old_string": text("The text to replace, exactly as it stands in the file."),
                "new_string": text("The text to put there."),
                "replace_all": flag("Replace every occurrence."),
            }),
        ),
        define(
            "Write",
            include_str!("descriptions/write.md"),
            &["file_path", "content"],
            json!({
                "file_path": text("The memory file, as an absolute path."),
                "content": text("Its whole content."),
            }),
        ),
    ]
}

pub(crate) fn define(name: &str, description: &str, required: &[&str], properties: Value) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    schema.insert("required".to_owned(), json!(required));
    // Otherwise models invent arguments, which would be ignored without a word.
    schema.insert("additionalProperties".to_owned(), json!(false));
    json!({
        "name": name,
        "description": description.trim_end(),
        "input_schema": schema,
    })
}
