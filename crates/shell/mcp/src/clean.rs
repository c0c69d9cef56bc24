//! Words of servers, made harmless: names, descriptions, schemas, instructions.
//!
//! # Model
//! A server is a stranger. Its names must not take the place of others, its texts must not move a
//! cursor or fill the window, and its schemas must be objects of a bounded size. A tool whose
//! definition cannot be made harmless is left out.

use serde_json::{Value, json};

/// Characters of a server's name, so that with a tool's name the model's limit of 64 is kept often.
pub(crate) const LONGEST_NAME: usize = 48;
/// Characters of a tool's whole name that providers take.
const LONGEST_TOOL: usize = 128;
/// Characters of a description; long ones repeat themselves, and each is paid when it is shown.
const LONGEST_DESCRIPTION: usize = 2_000;
/// Bytes of a schema as JSON. Real ones have a few thousand.
const LARGEST_SCHEMA: usize = 32 * 1024;
/// Tools of one server; a list without end must not fill the prompt.
const MOST_TOOLS: usize = 256;
/// Characters of a server's instructions, as in other agents.
const LONGEST_INSTRUCTIONS: usize = 2_000;
/// Prefix of the tools of servers, as rules know it.
const PREFIX: &str = "mcp__";

/// A tool of a server, as the model may see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerTool {
    /// Name by which the model and the rules know it: `mcp__<server>__<tool>`.
    pub name: String,
    /// Name by which its server knows it.
    pub own_name: String,
    /// Its purpose, in the server's words.
    pub description: String,
    /// JSON schema of its input.
    pub schema: Value,
    /// True if the server says that it changes nothing.
    pub only_reads: bool,
}

impl ServerTool {
    /// Definition as a request carries it.
    pub fn definition(&self) -> Value {
        json!({
            "name": self.name, "description": self.description, "input_schema": self.schema,
        })
    }
}

/// Tools of a server from its list, in the order of their names, and the reasons for those that are
/// left out.
pub fn server_tools(server: &str, listed: &[Value]) -> (Vec<ServerTool>, Vec<String>) {
    let (mut tools, mut faults): (Vec<ServerTool>, Vec<String>) = (Vec::new(), Vec::new());
    for tool in listed.iter().take(MOST_TOOLS) {
        match server_tool(server, tool) {
            Ok(tool) if tools.iter().any(|known| known.name == tool.name) => {
                faults.push(format!("{} is listed twice", tool.name));
            }
            Ok(tool) => tools.push(tool),
            Err(why) => faults.push(why),
        }
    }
    if listed.len() > MOST_TOOLS {
        faults.push(format!(
            "{} tools beyond the first {MOST_TOOLS} are left out",
            listed.len() - MOST_TOOLS
        ));
    }
    // A server may change the order from one connection to the next; listings must not.
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    (tools, faults)
}

fn server_tool(server: &str, tool: &Value) -> Result<ServerTool, String> {
    let own_name = tool["name"].as_str().unwrap_or_default();
    let shown = line(own_name, LONGEST_NAME);
    // Servers may use these; providers take neither.
    let plain = own_name.replace(['.', '/'], "_");
    if !is_name(&plain) {
        return Err(format!("`{shown}` is no name of a tool"));
    }
    let name = format!("{PREFIX}{server}__{plain}");
    if name.len() > LONGEST_TOOL {
        return Err(format!("the name `{shown}…` is too long"));
    }
    let mut schema = tool["inputSchema"].clone();
    if !schema.is_object() {
        schema = json!({ "type": "object" });
    }
    harmless(&mut schema);
    if schema.to_string().len() > LARGEST_SCHEMA {
        return Err(format!(
            "the schema of `{shown}` is larger than {LARGEST_SCHEMA} bytes"
        ));
    }
    Ok(ServerTool {
        name,
        own_name: own_name.to_owned(),
        description: text(
            tool["description"].as_str().unwrap_or_default(),
            LONGEST_DESCRIPTION,
        ),
        schema,
        only_reads: tool["annotations"]["readOnlyHint"] == true,
    })
}

/// Names that providers take, and that no terminal, rule or other name takes for something else.
fn is_name(name: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    !name.is_empty() && name.chars().all(plain)
}

/// Judges the name of a server. A double underscore would let it speak for the tools of another:
/// `a__b` with the tool `c`, and `a` with the tool `b__c`, have one name.
pub(crate) fn server_name(name: &str) -> Result<(), String> {
    if name.len() > LONGEST_NAME {
        return Err(format!("its name is longer than {LONGEST_NAME} characters"));
    }
    if !is_name(name) || name.contains("__") || name.starts_with('_') || name.ends_with('_') {
        return Err("its name may have letters, digits, `-` and single `_` inside".to_owned());
    }
    Ok(())
}

/// Instructions of a server, within their limit; `None` if it has none.
pub(crate) fn instructions(given: Option<&str>) -> Option<String> {
    let text = text(given?, LONGEST_INSTRUCTIONS);
    (!text.is_empty()).then_some(text)
}

/// A text with line breaks, without control characters and characters that are not seen.
pub(crate) fn text(given: &str, most: usize) -> String {
    let kept = given
        .trim()
        .chars()
        .filter(|char| matches!(char, '\n' | '\t') || is_visible(*char));
    let mut text: String = kept.take(most).collect();
    if given.trim().chars().count() > most {
        text.push('…');
    }
    text
}

/// A text on one line.
pub(crate) fn line(given: &str, most: usize) -> String {
    let words: Vec<&str> = given.split_whitespace().collect();
    text(&words.join(" "), most)
}

/// False for control characters, and for those that hide or reorder text: people who are asked for
/// permission would read something else than the model does.
fn is_visible(char: char) -> bool {
    let hidden = matches!(char,
        '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    !char.is_control() && !hidden
}

/// Makes the texts of a schema harmless, in place.
fn harmless(value: &mut Value) {
    match value {
        Value::String(given) if !given.chars().all(is_visible) => {
            *given = text(given, LONGEST_DESCRIPTION);
        }
        Value::Array(items) => items.iter_mut().for_each(harmless),
        Value::Object(members) => {
            members.retain(|name, _| name.chars().all(is_visible));
            members.values_mut().for_each(harmless);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn definitions_of_a_hostile_server_are_bounded_and_harmless() {
        let listed = [
            json!({ "name": "fine", "description": "Adds\u{1b}[2J two\u{202e} numbers", "inputSchema": { "type": "object", "properties": { "a\u{7}": {}, "b": { "description": "x\u{200b}y" } } } }),
            json!({ "name": "fine", "description": "another of the name" }),
            json!({ "name": "a b" }),
            json!({ "name": "" }),
            json!({ "name": "a\nb" }),
            json!({ "name": "x".repeat(500) }),
            json!({ "name": "big", "inputSchema": { "type": "object", "x": "y".repeat(64 * 1024) } }),
            json!({ "name": "long", "description": "d".repeat(100_000), "inputSchema": [] }),
            json!(7),
        ];
        let (tools, faults) = server_tools("s", &listed);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["mcp__s__fine", "mcp__s__long"]);
        assert_eq!(faults.len(), 7, "{faults:#?}");
        assert_eq!(tools[0].description, "Adds[2J two numbers");
        assert_eq!(
            tools[0].schema["properties"],
            json!({ "b": { "description": "xy" } })
        );
        assert_eq!(tools[1].schema, json!({ "type": "object" }));
        assert_eq!(
            tools[1].description.chars().count(),
            LONGEST_DESCRIPTION + 1
        );
        let many: Vec<Value> = (0..1_000)
            .map(|n| json!({ "name": format!("t{n}") }))
            .collect();
        assert_eq!(server_tools("s", &many).0.len(), MOST_TOOLS);
    }

    #[test]
    fn no_server_can_speak_for_another() {
        for name in [
            "a__b",
            "a_",
            "",
            "a b",
            "ä",
            "a.b",
            "a\u{0}",
            &"n".repeat(49),
        ] {
            assert!(server_name(name).is_err(), "{name}");
        }
        for name in ["a", "a_b", "a-b", "GitHub2"] {
            assert!(server_name(name).is_ok(), "{name}");
        }
    }
}
