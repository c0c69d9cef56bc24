//! A few words on what an agent is doing, from the call that it makes.
//!
//! # Model
//! The words follow from the tool and its input: they name the thing, are as new as the call, and cost
//! nothing. A request to a model would cost its price every half minute for words that say the same.

use dormouse_core::fragment::one_line;
use serde_json::Value;
use std::path::Path;

/// Words of a line: more do not fit beside a name.
const MOST_WORDS: usize = 5;
/// Characters of a line, for the same reason.
const LONGEST: usize = 60;

/// Words on a call, in the present; `None` for calls that are no work.
pub(super) fn words(tool: &str, input: &Value) -> Option<String> {
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    let file = || {
        let path = [text("file_path"), text("notebook_path")].concat();
        let name = Path::new(&path).file_name();
        name.map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let (doing, thing) = match tool {
        "Read" => ("Reading", file()),
        "Write" => ("Writing", file()),
        "Edit" | "NotebookEdit" => ("Editing", file()),
        "Bash" => ("Running", text("command").to_owned()),
        "BashOutput" => ("Watching", text("bash_id").to_owned()),
        "Grep" => ("Searching for", text("pattern").to_owned()),
        "Glob" => ("Looking for", text("pattern").to_owned()),
        "WebFetch" => ("Fetching", text("url").to_owned()),
        "WebSearch" => ("Searching for", text("query").to_owned()),
        "Agent" => ("Delegating", text("description").to_owned()),
        "SendMessage" => ("Writing to", text("to").to_owned()),
        "Memory" => ("Keeping", text("path").to_owned()),
        "SearchMemory" => ("Recalling", text("query").to_owned()),
        "TodoWrite" | "ToolSearch" => return None,
        // Tools of servers and clients: their names say what they do.
        name => ("Calling", name.to_owned()),
    };
    let line = format!("{doing} {thing}");
    let line: Vec<&str> = line.split_whitespace().take(MOST_WORDS).collect();
    Some(one_line(&line.join(" "), LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_name_the_thing_in_the_present_and_stay_short() {
        for (tool, input, expected) in [
            (
                "Read",
                json!({ "file_path": "/p/src/runAgent.ts" }),
                Some("Reading runAgent.ts"),
            ),
            ("Edit", json!({ "file_path": "a.rs" }), Some("Editing a.rs")),
            (
                "Bash",
                json!({ "command": "cargo test -p dormouse --test it\nlaws" }),
                Some("Running cargo test -p dormouse"),
            ),
            (
                "Grep",
                json!({ "pattern": "fn main" }),
                Some("Searching for fn main"),
            ),
            (
                "mcp__github__get_issue",
                json!({}),
                Some("Calling mcp__github__get_issue"),
            ),
            (
                "BashOutput",
                json!({ "bash_id": "bash_2" }),
                Some("Watching bash_2"),
            ),
            ("TodoWrite", json!({ "todos": [] }), None),
            ("Read", json!("nonsense"), Some("Reading")),
        ] {
            assert_eq!(words(tool, &input).as_deref(), expected, "{tool} {input}");
        }
        let long = words("Bash", &json!({ "command": "x".repeat(500) })).unwrap();
        assert!(long.chars().count() <= LONGEST + 1, "{long}");
    }
}
