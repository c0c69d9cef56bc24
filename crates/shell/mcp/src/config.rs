//! Servers as settings files name them.
//!
//! # Model
//! One shape for `.mcp.json`, the settings and the command line: an object by name, each entry with a
//! `command` or a `url`. Variables in it (`${NAME}`, `${NAME:-default}`) are replaced by the caller's
//! values. An entry that cannot be used is a [`ConfigFault`] and costs no other entry.
//!
//! # Not here
//! Files and trust: `dormouse-host`, which reads nothing of a folder that is not trusted.

use crate::clean;
use serde_json::{Map, Value};
use std::fmt;

/// Entries of one file that are read; a longer list is a mistake or an attack.
const MOST_SERVERS: usize = 64;

/// A server to connect to.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Name by which tools and rules know it.
    pub name: String,
    /// Way to reach it.
    pub way: Way,
    /// File or flag that names it.
    pub origin: String,
}

/// Way to reach a server. Values may be keys, so that no form of it prints them.
#[derive(Clone, PartialEq, Eq)]
pub enum Way {
    /// A process that is spoken with through its standard streams.
    Process {
        /// Program, by its name or path.
        command: String,
        /// Arguments of the program.
        args: Vec<String>,
        /// Variables that it gets beside the usual ones.
        env: Vec<(String, String)>,
    },
    /// An address that answers requests (streamable HTTP).
    Http {
        /// Address of the server.
        url: String,
        /// Headers of every request.
        headers: Vec<(String, String)>,
    },
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process { .. } => "Process",
            Self::Http { .. } => "Http",
        })
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("name", &self.name)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// An entry that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server {name} of {origin} is left out: {why}")]
pub struct ConfigFault {
    /// Name of the entry, made harmless.
    pub name: String,
    /// File or flag that names it.
    pub origin: String,
    /// The reason, in words.
    pub why: String,
}

/// Entries of an object by name, and those that cannot be used. `variable` gives the values of
/// variables; it is asked only for those that the entries name.
pub fn read_servers(
    servers: &Value,
    origin: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> (Vec<ServerConfig>, Vec<ConfigFault>) {
    let (mut read, mut faults) = (Vec::new(), Vec::new());
    let empty = Map::new();
    let entries = servers.as_object().unwrap_or(&empty);
    for (number, (name, entry)) in entries.iter().enumerate() {
        let way = if number < MOST_SERVERS {
            clean::server_name(name).and_then(|()| way(entry, variable))
        } else {
            Err(format!("there are more than {MOST_SERVERS} servers"))
        };
        match way {
            Ok(way) => read.push(ServerConfig {
                name: name.clone(),
                way,
                origin: origin.to_owned(),
            }),
            Err(why) => faults.push(ConfigFault {
                name: clean::line(name, clean::LONGEST_NAME),
                origin: origin.to_owned(),
                why,
            }),
        }
    }
    (read, faults)
}

fn way(entry: &Value, variable: &dyn Fn(&str) -> Option<String>) -> Result<Way, String> {
    let text = |name: &str| -> Result<Option<String>, String> {
        match &entry[name] {
            Value::Null => Ok(None),
            Value::String(text) => expand(text, variable).map(Some),
            _ => Err(format!("`{name}` has to be a text")),
        }
    };
    let kind = text("type")?;
    let (command, url) = (text("command")?, text("url")?);
    match (kind.as_deref(), command, url) {
        (None | Some("stdio"), Some(command), None) => Ok(Way::Process {
            command: filled("command", command)?,
            args: list(entry, "args", variable)?,
            env: pairs(entry, "env", variable)?,
        }),
        (None | Some("http" | "streamable-http"), None, Some(url)) => {
            let scheme = url.split_once("://").map(|(scheme, _)| scheme);
            if !matches!(scheme, Some("http" | "https")) {
                return Err("`url` has to begin with http:// or https://".to_owned());
            }
            Ok(Way::Http {
                url,
                headers: pairs(entry, "headers", variable)?,
            })
        }
        (None | Some("stdio"), None, None) => Err("it has neither `command` nor `url`".to_owned()),
        (None, Some(_), Some(_)) => Err("it has both `command` and `url`".to_owned()),
        (Some("stdio"), ..) => Err("a server of type `stdio` needs a `command`".to_owned()),
        (Some("http" | "streamable-http"), ..) => {
            Err("a server of type `http` needs a `url`".to_owned())
        }
        (Some("sdk"), ..) => {
            Err("it lives in a program that does not drive this session".to_owned())
        }
        (Some(kind), ..) => Err(format!(
            "servers of type `{}` are not reached; `stdio` and `http` are",
            clean::line(kind, clean::LONGEST_NAME)
        )),
    }
}

fn filled(name: &str, text: String) -> Result<String, String> {
    // A zero byte would end the name for the system, but not for people.
    if text.trim().is_empty() || text.contains('\0') {
        return Err(format!("`{name}` is empty or no text"));
    }
    Ok(text)
}

fn list(
    entry: &Value,
    name: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, String> {
    let wrong = || format!("`{name}` has to be a list of texts");
    match &entry[name] {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items
            .iter()
            .map(|item| expand(item.as_str().ok_or_else(wrong)?, variable))
            .collect(),
        _ => Err(wrong()),
    }
}

/// Names with their values: an object of texts, or a list of objects with `name` and `value`, as
/// editors write them.
fn pairs(
    entry: &Value,
    name: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, String> {
    let wrong = || format!("`{name}` has to be an object of texts");
    let pair = |key: &str, value: &Value| {
        let value = expand(value.as_str().ok_or_else(wrong)?, variable)?;
        // The system refuses such names, and with them the whole process.
        if key.is_empty() || key.contains(['=', '\0']) || value.contains('\0') {
            return Err(format!(
                "`{name}` has a name or value that no process takes"
            ));
        }
        Ok((key.to_owned(), value))
    };
    match &entry[name] {
        Value::Null => Ok(Vec::new()),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| pair(key, value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| pair(item["name"].as_str().ok_or_else(wrong)?, &item["value"]))
            .collect(),
        _ => Err(wrong()),
    }
}

/// The text with its variables replaced. A name without value and default is an error: an empty key
/// in its place would be sent to the server.
fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        whole.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            // No variable: the text goes on as it is.
            whole.push_str("${");
            rest = after;
            continue;
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            whole.push_str("${");
            rest = after;
            continue;
        }
        let value = variable(name).filter(|value| default.is_none() || !value.is_empty());
        match (value, default) {
            (Some(value), _) => whole.push_str(&value),
            (None, Some(default)) => whole.push_str(default),
            (None, None) => return Err(format!("the variable {name} is not set")),
        }
        rest = behind;
    }
    whole.push_str(rest);
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn variable(name: &str) -> Option<String> {
        match name {
            "KEY" => Some("k".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    #[test]
    fn entries_of_both_kinds_are_read_with_their_variables() {
        let written = json!({
            "files": { "command": "${CMD:-npx}", "args": ["-y", "x-${KEY}"], "env": { "TOKEN": "${KEY}" } },
            "web": { "type": "http", "url": "https://example.com/mcp", "headers": { "Authorization": "Bearer ${KEY}" } },
            "editor": { "command": "/bin/tool", "args": [], "env": [{ "name": "A", "value": "b" }] },
        });
        let (read, faults) = read_servers(&written, "`.mcp.json`", &variable);
        assert_eq!(faults, []);
        let text = |text: &str| text.to_owned();
        let ways: Vec<Way> = read.into_iter().map(|server| server.way).collect();
        let expected = [
            Way::Process {
                command: text("npx"),
                args: vec![text("-y"), text("x-k")],
                env: vec![(text("TOKEN"), text("k"))],
            },
            Way::Http {
                url: text("https://example.com/mcp"),
                headers: vec![(text("Authorization"), text("Bearer k"))],
            },
            Way::Process {
                command: text("/bin/tool"),
                args: Vec::new(),
                env: vec![(text("A"), text("b"))],
            },
        ];
        assert!(ways == expected);
    }

    #[test]
    fn entries_that_cannot_be_used_are_named_and_cost_no_other() {
        let written = json!({
            "both": { "command": "a", "url": "http://b" },
            "neither": {},
            "old": { "type": "sse", "url": "http://b" },
            "number": { "command": 7 },
            "args": { "command": "a", "args": "b" },
            "unset": { "command": "a", "args": ["${MISSING}"] },
            "bad name": { "command": "a" },
            "a__b": { "command": "a" },
            "file": { "url": "file:///etc/passwd" },
            "zero": { "command": "a\u{0}b" },
            "env": { "command": "a", "env": { "A=B": "c" } },
            "fine": { "command": "a" },
        });
        let (read, faults) = read_servers(&written, "here", &variable);
        assert_eq!(read.len(), 1);
        assert_eq!(faults.len(), 11, "{faults:#?}");
        let why = |name: &str| {
            let fault = faults.iter().find(|fault| fault.name == name);
            fault.unwrap().to_string()
        };
        assert!(why("unset").contains("MISSING is not set"));
        assert!(why("old").contains("`sse`"));
    }

    #[test]
    fn a_default_stands_for_a_variable_that_is_unset_or_empty() {
        let expanded = |text: &str| expand(text, &variable);
        assert_eq!(expanded("${KEY:-x}").unwrap(), "k");
        assert_eq!(expanded("${EMPTY:-x}").unwrap(), "x");
        assert_eq!(expanded("${EMPTY}").unwrap(), "");
        assert_eq!(expanded("${NO:-}").unwrap(), "");
        // Texts that are no variables stay: a value is not read again.
        for text in ["$KEY", "${", "${}", "${a b}", "$${", "}${"] {
            assert_eq!(expanded(text).unwrap(), text);
        }
    }

    #[test]
    fn no_form_of_a_server_prints_its_values() {
        let written = json!({ "s": { "command": "c", "env": { "TOKEN": "hidden-value" } } });
        let (read, _) = read_servers(&written, "here", &variable);
        assert!(!format!("{read:?}").contains("hidden-value"));
    }
}
