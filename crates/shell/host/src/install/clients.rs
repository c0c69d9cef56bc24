//! The agents that memory can be installed in, and the place where each looks for servers of tools.
//!
//! # Model
//! One row a client: the settings file, the keys of the entry in it, the shape of the entry. Files
//! follow the variables with which a client moves its folder.
//!
//! # Not here
//! Claude Code's plugin (`plugin`); editing the files (`edit`).

use super::edit::Notation;
use crate::host::user_home;
use dormouse_system::{Files, System};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Name of the entry, of the plugin and of its marketplace.
pub(super) const NAME: &str = "dormouse";

/// An agent that memory can be installed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// Claude Code: a plugin with hooks, tools, skills and a status line.
    ClaudeCode,
    /// Codex of the command line.
    Codex,
    /// opencode in the terminal.
    Opencode,
    /// Qwen Code in the terminal.
    Qwen,
    /// Gemini CLI in the terminal.
    Gemini,
    /// Kimi Code in the terminal.
    Kimi,
    /// Cursor, the editor and its agent.
    Cursor,
    /// Visual Studio Code, its default profile.
    Vscode,
    /// Zed, the editor and its agent.
    Zed,
    /// Windsurf, the editor and its agent.
    Windsurf,
    /// pi, through its adapter for servers of tools.
    Pi,
}

impl Client {
    /// All of them, in the order of lists.
    pub const ALL: [Self; 11] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Opencode,
        Self::Qwen,
        Self::Gemini,
        Self::Kimi,
        Self::Cursor,
        Self::Vscode,
        Self::Zed,
        Self::Windsurf,
        Self::Pi,
    ];

    /// Name on the command line and in receipts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Qwen => "qwen",
            Self::Gemini => "gemini",
            Self::Kimi => "kimi",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Zed => "zed",
            Self::Windsurf => "windsurf",
            Self::Pi => "pi",
        }
    }

    /// Name as people know it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "opencode",
            Self::Qwen => "Qwen Code",
            Self::Gemini => "Gemini CLI",
            Self::Kimi => "Kimi Code",
            Self::Cursor => "Cursor",
            Self::Vscode => "VS Code",
            Self::Zed => "Zed",
            Self::Windsurf => "Windsurf",
            Self::Pi => "pi",
        }
    }

    /// The client of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.name() == name)
    }

    /// Program by which the client is started.
    pub(super) const fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Vscode => "code",
            other => other.name(),
        }
    }
}

/// Place of an entry in a client's settings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slot {
    /// Settings file that the entry goes into.
    pub(super) file: PathBuf,
    /// Notation of the file: JSON with comments, or TOML.
    pub(super) notation: Notation,
    /// Keys of the entry, from the outside in.
    pub(super) keys: Vec<String>,
    /// Value that is written at these keys.
    pub(super) value: Value,
}

/// Folders of the machine that settings lie in.
#[derive(Clone, Debug)]
pub(super) struct Folders {
    home: PathBuf,
    /// Folder of settings by the convention of the desktop.
    config: PathBuf,
    claude: PathBuf,
    codex: PathBuf,
    pi: PathBuf,
}

impl Folders {
    /// Folders of the user; `None` if nothing says where the home is.
    pub(super) fn of(system: &System) -> Option<Self> {
        let home = user_home(system)?;
        let moved = |name: &str, usual: &str| {
            let moved = system.env.var(name).filter(|value| !value.is_empty());
            moved.map_or_else(|| home.join(usual), PathBuf::from)
        };
        Some(Self {
            config: moved("XDG_CONFIG_HOME", ".config"),
            claude: moved("CLAUDE_CONFIG_DIR", ".claude"),
            codex: moved("CODEX_HOME", ".codex"),
            pi: moved("PI_CODING_AGENT_DIR", ".pi/agent"),
            home,
        })
    }

    /// Folder of Claude Code's settings and plugins.
    pub(super) fn claude(&self) -> &Path {
        &self.claude
    }

    /// Folder whose existence shows that the client was used here.
    pub(super) fn sign(&self, client: Client) -> PathBuf {
        match client {
            Client::ClaudeCode => self.claude.clone(),
            Client::Codex => self.codex.clone(),
            Client::Opencode => self.config.join("opencode"),
            Client::Qwen => self.home.join(".qwen"),
            Client::Gemini => self.home.join(".gemini"),
            Client::Kimi => self.home.join(".kimi-code"),
            Client::Cursor => self.home.join(".cursor"),
            Client::Vscode => self.vscode(),
            Client::Zed => self.config.join("zed"),
            Client::Windsurf => self.home.join(".codeium/windsurf"),
            Client::Pi => self.pi.clone(),
        }
    }

    fn vscode(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            self.home.join("Library/Application Support/Code/User")
        } else {
            self.config.join("Code/User")
        }
    }

    /// Place of the server's entry; `None` for Claude Code, whose plugin brings it.
    pub(super) fn slot(
        &self,
        client: Client,
        command: &[String],
        files: &dyn Files,
    ) -> Option<Slot> {
        let (program, arguments) = command.split_first()?;
        let plain = json!({ "command": program, "args": arguments });
        let folder = self.sign(client);
        let (name, notation, container, value) = match client {
            Client::ClaudeCode => return None,
            Client::Codex => ("config.toml", Notation::Toml, "mcp_servers", plain),
            Client::Opencode => {
                // Either name is read; a second file beside the first would be a surprise.
                let commented = files.metadata(&folder.join("opencode.jsonc")).is_ok();
                let name = if commented {
                    "opencode.jsonc"
                } else {
                    "opencode.json"
                };
                let value = json!({ "type": "local", "enabled": true, "command": command });
                (name, Notation::Json, "mcp", value)
            }
            Client::Qwen | Client::Gemini => ("settings.json", Notation::Json, "mcpServers", plain),
            Client::Kimi | Client::Cursor | Client::Pi => {
                ("mcp.json", Notation::Json, "mcpServers", plain)
            }
            Client::Windsurf => ("mcp_config.json", Notation::Json, "mcpServers", plain),
            Client::Vscode => {
                let value = json!({ "type": "stdio", "command": program, "args": arguments });
                ("mcp.json", Notation::Json, "servers", value)
            }
            Client::Zed => {
                let value = json!({
                    "source": "custom", "command": program, "args": arguments, "env": {},
                });
                ("settings.json", Notation::Json, "context_servers", value)
            }
        };
        Some(Slot {
            file: folder.join(name),
            notation,
            keys: vec![container.to_owned(), NAME.to_owned()],
            value,
        })
    }
}

/// True if an entry was made by an earlier installation: its command line asks for this server.
pub(super) fn is_ours(entry: &Value) -> bool {
    let strings = |value: &Value| -> Vec<String> {
        let texts = value.as_array().into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut words = match &entry["command"] {
        Value::String(program) => vec![program.clone()],
        list => strings(list),
    };
    words.extend(strings(&entry["args"]));
    let mut words = words.iter().map(String::as_str);
    let program = words.next().map(Path::new).and_then(Path::file_stem);
    program.is_some_and(|name| name == NAME) && words.any(|word| word == "mcp")
}
