//! Tool calls in words: one line that names the path or pattern, a diff, the head of a result.

use crate::line::{Line, Role};
use crate::text::{clean, clean_lines, clip};
use dormouse_core::block::Block;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Members of an input that say best what a call is about, the first found.
const SUBJECTS: [&str; 15] = [
    "file_path",
    "notebook_path",
    "path",
    "command",
    "pattern",
    "url",
    "query",
    "description",
    "skill",
    "to",
    "question",
    "shell_id",
    "task",
    "prompt",
    "name",
];
/// Longest subject of a call: longer ones are commands, whose whole text is in the transcript.
const LONGEST_SUBJECT: usize = 400;
/// Lines of a result below its call: enough for an answer or an error, not for a file.
const RESULT_LINES: usize = 4;
/// Lines of a failed result: the reason of a compiler's error is rarely in the first four.
const ERROR_LINES: usize = 10;
/// Those of them that are its beginning: compilers name the first error there, tests fail at the end.
const ERROR_HEAD: usize = 4;
/// Lines of a diff that are shown; the rest is counted.
const DIFF_LINES: usize = 300;

/// Subject of a call: its path, pattern or command, in one line.
pub(crate) fn subject(input: &Value) -> String {
    let found = SUBJECTS.iter().find_map(|name| input[*name].as_str());
    let text = match found {
        Some(text) => text.to_owned(),
        None => match input.as_object() {
            Some(members) if members.is_empty() => String::new(),
            Some(_) => input.to_string(),
            None => String::new(),
        },
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let more = lines.count();
    let mut subject = clip(&clean(first.trim()), LONGEST_SUBJECT);
    // Where a search looks is half of what it is about.
    if let (Some(pattern), Some(path)) = (input["pattern"].as_str(), input["path"].as_str()) {
        subject = format!("{} in {}", clean(pattern), clean(path));
    }
    if more > 0 {
        subject = format!("{subject} (+{more} lines)");
    }
    subject
}

/// Changes that a call would make to a file; empty if it is no edit.
pub(crate) fn diff(tool: &str, input: &Value) -> Vec<Line> {
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    let (old, new) = match tool {
        "Edit" => (text("old_string"), text("new_string")),
        "Write" => ("", text("content")),
        "NotebookEdit" => ("", text("new_source")),
        _ => return Vec::new(),
    };
    // An edit names its place by its text: numbers would count from there, not from the file's beginning.
    let numbered = tool == "Write";
    let changes = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    let mut left_out = 0_usize;
    for group in changes.grouped_ops(3) {
        if !lines.is_empty() {
            lines.push(Line::of("      …", Role::Dim));
        }
        for change in group.iter().flat_map(|op| changes.iter_changes(op)) {
            if lines.len() >= DIFF_LINES {
                left_out += 1;
                continue;
            }
            let number = change
                .new_index()
                .or_else(|| change.old_index())
                .map_or(0, |at| at + 1);
            let (sign, role) = match change.tag() {
                ChangeTag::Delete => ('-', Role::Bad),
                ChangeTag::Insert => ('+', Role::Good),
                ChangeTag::Equal => (' ', Role::Plain),
            };
            let code = clean(change.value().trim_end_matches(['\n', '\r']));
            let line = if numbered {
                Line::of(format!("{number:>5} "), Role::Dim)
            } else {
                Line::of("  ", Role::Dim)
            };
            lines.push(line.with(format!("{sign} {code}"), role));
        }
    }
    if left_out > 0 {
        lines.push(Line::of(
            format!("      … {left_out} more lines"),
            Role::Dim,
        ));
    }
    lines
}

/// Head of a result, and the number of lines that are left out behind it. A failed one shows its end, too,
/// with the number of lines between.
pub(crate) fn result(content: &Block, is_error: bool) -> (Vec<String>, usize) {
    let value: Value = serde_json::from_slice(content.bytes()).unwrap_or_default();
    let text = match &value["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let shown = parts.iter().map(|part| match part["text"].as_str() {
                Some(text) => text.to_owned(),
                None => format!("[{}]", part["type"].as_str().unwrap_or("data")),
            });
            shown.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    let most = if is_error { ERROR_LINES } else { RESULT_LINES };
    let mut lines: Vec<String> = clean_lines(&text)
        .filter(|line| !line.trim().is_empty())
        .collect();
    if is_error && lines.len() > ERROR_LINES + 1 {
        let end = lines.len() - (ERROR_LINES - ERROR_HEAD);
        let between = format!("… {} lines between", end - ERROR_HEAD);
        lines.splice(ERROR_HEAD..end, [between]);
        return (lines, 0);
    }
    // One line more takes no more room than the line that counts it.
    let more = if lines.len() > most + 1 {
        lines.len() - most
    } else {
        0
    };
    lines.truncate(lines.len() - more);
    (lines, more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::id::CallId;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn a_call_is_named_by_its_path_pattern_or_command() {
        for (input, expected) in [
            (json!({ "file_path": "src/a.rs", "offset": 3 }), "src/a.rs"),
            (
                json!({ "command": "\ncargo test\ncargo doc" }),
                "cargo test (+1 lines)",
            ),
            (
                json!({ "pattern": "fn main", "path": "src" }),
                "fn main in src",
            ),
            (
                json!({ "command": "printf '\u{1b}[2J'" }),
                "printf '\u{fffd}[2J'",
            ),
            (json!({ "todos": [] }), "{\"todos\":[]}"),
            (json!({}), ""),
            (json!(null), ""),
        ] {
            assert_eq!(subject(&input), expected, "{input}");
        }
    }

    #[test]
    fn an_edit_is_shown_as_a_diff() {
        let input = json!({ "old_string": "a\nb\nc\n", "new_string": "a\nB\nc\n" });
        let lines: Vec<String> = diff("Edit", &input).iter().map(Line::text).collect();
        assert_eq!(lines, ["    a", "  - b", "  + B", "    c"]);
        assert_eq!(diff("Bash", &input), []);
        let long = json!({ "content": "x\n".repeat(400) });
        let lines = diff("Write", &long);
        assert_eq!(
            lines.last().map(Line::text),
            Some("      … 100 more lines".to_owned())
        );
    }

    #[test]
    fn the_head_of_a_result_is_shown_and_the_rest_counted() {
        let call = CallId::new("c");
        let block = Block::tool_result(&call, "1\n2\n\n3\n4\n5\n6\n7", false);
        assert_eq!(
            result(&block, false),
            (["1", "2", "3", "4"].map(str::to_owned).to_vec(), 3)
        );
        let five = Block::tool_result(&call, "1\n2\n3\n4\n5", false);
        assert_eq!(result(&five, false).1, 0);
        let failed: Vec<String> = (1..=20).map(|line| line.to_string()).collect();
        let failed = Block::tool_result(&call, &failed.join("\n"), true);
        let (shown, more) = result(&failed, true);
        assert_eq!(
            (shown.join(" "), more),
            ("1 2 3 4 … 10 lines between 15 16 17 18 19 20".to_owned(), 0)
        );
    }
}
