//! Strings that break programs, as every text argument of every tool.

use crate::kit::Kit;
use dormouse_system::{ScriptedSandbox, System};
use dormouse_testkit::material::naughty_strings;
use serde_json::{Value, json};
use std::sync::Arc;

/// Each tool with a sound input, and the names of its text arguments.
fn tools(kit: &Kit) -> Vec<(&'static str, Value, &'static [&'static str])> {
    let memory = kit.text("memory/a.md");
    vec![
        ("Read", json!({ "file_path": "a" }), &["file_path"]),
        (
            "Grep",
            json!({ "pattern": "x", "path": "src", "glob": "*", "output_mode": "content" }),
            &["pattern", "path", "glob", "output_mode"],
        ),
        (
            "Glob",
            json!({ "pattern": "*", "path": "src" }),
            &["pattern", "path"],
        ),
        ("Bash", json!({ "command": "ls" }), &["command"]),
        (
            "Edit",
            json!({ "file_path": memory, "old_string": "x", "new_string": "y" }),
            &["file_path", "old_string", "new_string"],
        ),
        (
            "Write",
            json!({ "file_path": memory, "content": "x" }),
            &["file_path", "content"],
        ),
    ]
}

#[test]
fn no_string_breaks_a_tool_or_leaves_a_trace() {
    // Command lines that pass the judgement are not run here, only counted: other tests run them.
    let system = System {
        sandbox: Arc::new(ScriptedSandbox::default()),
        ..System::real()
    };
    let kit = Kit::on(&system);
    kit.put("project/a", "some text\n");
    kit.put("project/src/b", "some more\n");
    let before = kit.disk();
    for string in naughty_strings() {
        for (tool, input, arguments) in tools(&kit) {
            for argument in arguments {
                kit.notes.put("a.md", "x");
                let mut input = input.clone();
                input[*argument] = json!(string);
                let output = kit.call(tool, &input);
                assert!(
                    !output.text.contains("precious"),
                    "{tool} {argument} {string:?}"
                );
                // A path below the memory is the likeliest to be let through.
                if *argument == "file_path" {
                    input[*argument] = json!(format!("{}/{string}", kit.text("memory")));
                    kit.call(tool, &input);
                }
            }
        }
    }
    assert_eq!(kit.disk(), before);
    for name in kit.notes.names() {
        let parts: Vec<&str> = name.split('/').collect();
        assert!(
            !parts.iter().any(|part| ["", ".", ".."].contains(part)),
            "{name:?}"
        );
    }
}

#[test]
fn no_string_as_a_tool_name_is_a_tool() {
    let kit = Kit::new();
    for string in naughty_strings() {
        let output = kit.call(&string, &json!({ "file_path": "a", "content": "x" }));
        assert!(output.is_error, "{string:?}");
    }
    assert_eq!(kit.notes.names(), [""; 0]);
}
