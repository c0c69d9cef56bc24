//! Calls and results in Codex's rollouts.
//!
//! # Model
//! Most items name the call they are or answer. The oldest rollouts do not: there a result belongs
//! to the oldest open call of the same tool. The command of a call is put under `command` as one
//! line of text, where the rest of Dormouse looks for it.
//!
//! # Not here
//! Messages and events: [`super::codex`].

use super::value::{call, readable, result, text};
use dormouse_core::block::Block;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// Calls without an id that may wait for their result. A bound on memory; a session that never
/// answers a thousand calls is damaged.
const MOST_WAITING: usize = 1_000;

/// True if an item is a call whose result is another item.
pub(super) fn is_call(kind: &str) -> bool {
    matches!(
        kind,
        "function_call"
            | "tool_call"
            | "custom_tool_call"
            | "local_shell_call"
            | "tool_search_call"
    )
}

/// True if an item is the result of a call.
pub(super) fn is_result(kind: &str) -> bool {
    matches!(
        kind,
        "tool_result" | "function_result" | "tool_search_output"
    ) || kind.ends_with("_call_output")
}

/// Calls without an id that have no result yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    /// Name of the tool and made-up id of the call.
    waiting: VecDeque<(String, String)>,
}

impl OpenCalls {
    /// The call in an item; `place` becomes its id if it has none.
    pub(super) fn call(&mut self, kind: &str, item: &Value, place: &str) -> Option<Block> {
        let name = tool(item).unwrap_or_else(|| kind.trim_end_matches("_call"));
        let id = text(item, "call_id").unwrap_or(place);
        if id == place {
            self.waiting.push_back((name.to_owned(), id.to_owned()));
            // The oldest goes: its result will not come any more.
            if self.waiting.len() > MOST_WAITING {
                self.waiting.pop_front();
            }
        }
        let input = ["arguments", "input", "action"];
        let input = input.iter().find_map(|name| item.get(name));
        call(id, name, normal(input.unwrap_or(&Value::Null)))
    }

    /// The result in an item; `None` if no call is open for it, since the API refuses such a
    /// result.
    pub(super) fn result(&mut self, kind: &str, item: &Value) -> Option<Block> {
        let id = if let Some(id) = text(item, "call_id") {
            id.to_owned()
        } else {
            let name = tool(item).unwrap_or_else(|| kind.trim_end_matches("_output"));
            let at = self.waiting.iter().position(|(tool, _)| tool == name)?;
            self.waiting.remove(at)?.1
        };
        let output = ["output", "result", "content", "tools"];
        let output = output.iter().find_map(|name| item.get(name));
        let output = output.unwrap_or(&Value::Null);
        // Some versions put output and exit code into an object, some print that object as text.
        let printed = output.as_str().and_then(parsed);
        let told = printed.as_ref().filter(|told| told.get("output").is_some());
        let output = told.unwrap_or(output);
        let content = match output {
            // An object without text would become an empty result; its JSON at least shows the
            // fields.
            Value::Object(_) | Value::Array(_) if readable(output).is_empty() => {
                Value::String(output.to_string())
            }
            Value::Object(told) => told.get("output").unwrap_or(output).clone(),
            other => other.clone(),
        };
        result(&id, &content, failed(output))
    }
}

/// The name of the tool in an item.
fn tool(item: &Value) -> Option<&str> {
    text(item, "name").or_else(|| text(item.get("function")?, "name"))
}

fn failed(output: &Value) -> bool {
    let code = |value: &Value| {
        let code = ["exit_code", "exitCode"]
            .iter()
            .find_map(|it| value.get(it));
        code.and_then(Value::as_i64)
    };
    let code = code(output).or_else(|| code(output.get("metadata")?));
    code.is_some_and(|code| code != 0) || output.get("success") == Some(&Value::Bool(false))
}

fn parsed(text: &str) -> Option<Value> {
    let begins = text.trim_start().starts_with('{');
    let value: Option<Value> = begins.then(|| serde_json::from_str(text).ok())?;
    value.filter(Value::is_object)
}

/// The input of a call as an object, with the command it runs as one line of text.
fn normal(input: &Value) -> Value {
    let mut members = match input {
        Value::Object(members) => members.clone(),
        Value::String(text) => match parsed(text) {
            Some(Value::Object(members)) => members,
            _ => Map::from_iter([("command".to_owned(), json!(text))]),
        },
        _ => Map::new(),
    };
    let run = members.remove("command").or_else(|| members.remove("cmd"));
    if let Some(run) = run {
        members.insert("command".to_owned(), command_line(run));
    }
    Value::Object(members)
}

/// `["bash", "-lc", "make"]` is `make`; other lists are joined.
fn command_line(run: Value) -> Value {
    let Value::Array(words) = &run else {
        return run;
    };
    let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
    match words.as_deref() {
        Some([_, flag, script]) if matches!(*flag, "-c" | "-lc") => json!(script),
        Some(words) => json!(words.join(" ")),
        None => run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn bytes(block: Option<Block>) -> String {
        block.map_or_else(String::new, |block| format!("{block:?}"))
    }

    #[test]
    fn commands_become_one_line_of_text() {
        let cases = [
            (
                json!("{\"command\":[\"bash\",\"-lc\",\"curl x\"]}"),
                "curl x",
            ),
            (json!({"command": ["git", "log"]}), "git log"),
            (json!({"cmd": "ls"}), "ls"),
            (json!("*** Begin Patch"), "*** Begin Patch"),
        ];
        for (input, expected) in cases {
            assert_eq!(normal(&input)["command"], json!(expected), "{input}");
        }
    }

    #[test]
    fn an_answer_without_an_id_belongs_to_the_oldest_call_of_its_tool() {
        let mut calls = OpenCalls::default();
        for place in ["a", "b"] {
            let item = json!({"function": {"name": "sh"}, "arguments": {}});
            assert!(calls.call("tool_call", &item, place).is_some());
        }
        let answer = json!({"name": "sh", "result": {"stdout": "hi", "exitCode": 1}});
        let block = bytes(calls.result("tool_result", &answer));
        assert!(block.contains("\"a\"") && block.contains("hi") && block.contains("is_error"));
        assert!(bytes(calls.result("tool_result", &answer)).contains("\"b\""));
        assert!(calls.result("tool_result", &answer).is_none());
    }

    #[test]
    fn printed_outputs_are_taken_out_of_their_wrapping() {
        let mut calls = OpenCalls::default();
        let printed = json!({"call_id": "c", "output": "{\"output\":\"boom\",\"metadata\":{\"exit_code\":2}}"});
        let block = calls.result("function_call_output", &printed).unwrap();
        assert_eq!(
            (block.readable_text().unwrap().as_str(), block.is_error()),
            ("boom", true)
        );
        let plain = json!({"call_id": "c", "output": "{\"a\":1}"});
        let block = calls.result("function_call_output", &plain).unwrap();
        assert_eq!(block.readable_text().unwrap(), "{\"a\":1}");
    }
}
