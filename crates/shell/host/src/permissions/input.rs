//! Calls as models and hooks write them, and what they would do.

use dormouse_permit::{Action, Ground};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Tools that change nothing outside the conversation and the memory beside it, whose own guard and
/// journal watch over every write.
const HARMLESS: [&str; 10] = [
    "Memory",
    "TodoWrite",
    "AskUserQuestion",
    "SearchMemory",
    "ToolSearch",
    "ExitPlanMode",
    "EnterPlanMode",
    // The calls of a sub-agent are judged one by one.
    "Agent",
    // A letter is shown as another agent's words, and its addressee's calls are judged as well.
    "SendMessage",
    // Words of a file of the user's; the calls that follow from them are judged.
    "Skill",
];

/// A call as text: a tool and its input. The names of a hook's input are understood too.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct CallText {
    /// Name of the tool.
    #[serde(alias = "tool_name")]
    pub tool: String,
    /// Input of the tool, as the model wrote it.
    #[serde(default, alias = "tool_input")]
    pub input: Value,
}

impl CallText {
    /// Effect of the call. `real` gives the path behind links, where it differs.
    pub(super) fn action(
        &self,
        ground: &Ground,
        real: &dyn Fn(&Path) -> Option<PathBuf>,
    ) -> Action<'_> {
        let file = |names: &[&str]| {
            let named = names.iter().find_map(|name| self.text(name));
            let named = named.unwrap_or(".");
            // Another person's home, as a shell would write it: nothing here resolves it.
            let unknown = || ground.folder.join(named);
            let path = ground.absolute(named).unwrap_or_else(unknown);
            let real = real(&path);
            (path, real)
        };
        match self.tool.as_str() {
            "Bash" => Action::Shell {
                line: self.text("command").unwrap_or_default(),
                outside: self.input["dangerouslyDisableSandbox"] == Value::Bool(true),
            },
            "Read" | "Grep" | "Glob" => {
                let (path, real) = file(&["file_path", "path", "notebook_path"]);
                Action::Read { path, real }
            }
            "Edit" | "Write" | "NotebookEdit" => {
                let (path, real) = file(&["file_path", "notebook_path"]);
                Action::Edit { path, real }
            }
            "WebFetch" => match self.host() {
                Some(host) => Action::Fetch { host },
                None => Action::Other,
            },
            name if HARMLESS.contains(&name) => Action::Harmless,
            _ => Action::Other,
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.input.get(name)?.as_str()
    }

    /// Host of the address, as a part of the input's text.
    fn host(&self) -> Option<&str> {
        let text = self.text("url")?;
        let address: http::Uri = text.parse().ok()?;
        let host = address.host()?;
        // The parser's copy does not outlive this function; the same letters stand in the text.
        let at = text.find(host)?;
        text.get(at..at + host.len())
    }
}
