//! Work at hand: tools, files and commands that the agent uses.

use super::triggers::languages;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most names of each sort. Rules match the work of now; work of an hour ago is not at hand.
const MOST_KEPT: usize = 64;
/// Most bytes of a name; a longer one is a text that was passed as a path.
const LONGEST: usize = 1_024;

/// Tools, files, languages and commands in use, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Tools that were called, by their names.
    pub tools: Vec<String>,
    /// Files that were worked on, as the calls name them.
    pub paths: Vec<String>,
    /// Languages of these files, lower case, and others that are known to be in use.
    pub languages: Vec<String>,
    /// Commands that were run, each a simple command of a command line.
    pub commands: Vec<String>,
}

impl Work {
    /// Empty work: no call was seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool call: its name, the files and the command that its input names.
    pub fn add_call(&mut self, tool: &str, input: &Value) {
        note(&mut self.tools, tool);
        for key in ["file_path", "notebook_path", "path", "filePath", "file"] {
            if let Some(path) = input.get(key).and_then(Value::as_str) {
                self.add_path(path);
            }
        }
        for key in ["command", "cmd"] {
            match input.get(key) {
                Some(Value::String(line)) => self.add_command_line(line),
                // Some agents pass the command as a list of words.
                Some(Value::Array(words)) => {
                    let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                    self.add_command_line(&words.join(" "));
                }
                _ => {}
            }
        }
    }

    /// Adds a file and its language.
    pub fn add_path(&mut self, path: &str) {
        note(&mut self.paths, path);
        if let Some(language) = languages::of_path(path) {
            note(&mut self.languages, language);
        }
    }

    /// Adds the simple commands of a command line.
    pub fn add_command_line(&mut self, line: &str) {
        // A cut inside quotes gives odd commands, which match no rule; parsing the shell is not
        // worth it here.
        let simple = line.split(['\n', ';', '|', '&']).filter_map(simple_command);
        for command in simple.take(MOST_KEPT) {
            note(&mut self.commands, &command);
        }
    }

    /// True as long as no call was seen.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Simple command without the words before its name: assignments, `sudo`, `(`.
fn simple_command(text: &str) -> Option<String> {
    let words = text
        .split_whitespace()
        .map(|word| word.trim_start_matches(['(', '{', '!', '$']))
        .skip_while(|word| {
            word.is_empty() || is_assignment(word) || matches!(*word, "sudo" | "env" | "time")
        });
    let words: Vec<&str> = words.collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// Puts a name at the end of a list, once, and drops the oldest beyond the limit.
fn note(list: &mut Vec<String>, name: &str) {
    let name = name.trim();
    if name.is_empty() || name.len() > LONGEST {
        return;
    }
    // Used again: it moves to the end, so that it is not dropped as old.
    list.retain(|known| known != name);
    list.push(name.to_owned());
    if list.len() > MOST_KEPT {
        list.remove(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn calls_tell_what_is_worked_on() {
        let mut work = Work::new();
        work.add_call("Edit", &json!({"file_path": "src/main.rs"}));
        work.add_call(
            "Bash",
            &json!({"command": "cd x && RUST_LOG=1 sudo cargo test -p a | tail -5"}),
        );
        work.add_call("shell", &json!({"command": ["git", "commit", "-m", "x"]}));
        assert_eq!(work.tools, ["Edit", "Bash", "shell"]);
        assert_eq!(work.paths, ["src/main.rs"]);
        assert_eq!(work.languages, ["rust"]);
        assert_eq!(
            work.commands,
            ["cd x", "cargo test -p a", "tail -5", "git commit -m x"]
        );
    }

    #[test]
    fn only_the_newest_are_kept_each_once() {
        let mut work = Work::new();
        for number in 0..200 {
            work.add_path(&format!("a{number}.py"));
        }
        assert_eq!(work.paths.len(), MOST_KEPT);
        assert_eq!(work.paths.last().map(String::as_str), Some("a199.py"));
        assert_eq!(work.languages, ["python"]);
    }
}
