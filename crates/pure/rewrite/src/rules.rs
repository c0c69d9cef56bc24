//! Settings of the layers in front of a client, and the names of its tools.

use dormouse_context::clear::ClearSettings;
use dormouse_context::compaction::CompactSettings;
use dormouse_context::distil::DistilSettings;
use dormouse_core::settings::{Settings, WindowSettings, keys};

/// Settings that the planner reads.
#[derive(Clone, Debug)]
pub struct Rules {
    /// True if long results become files (`offload`).
    pub(crate) offload: bool,
    limit: u64,
    shell_limit: u64,
    search_limit: u64,
    /// Most characters of all results of a round.
    pub(crate) round_limit: u64,
    /// Bytes of a preview.
    pub(crate) preview: u64,
    pub(crate) distil: DistilSettings,
    pub(crate) clear: ClearSettings,
    pub(crate) compact: CompactSettings,
    pub(crate) window: WindowSettings,
}

impl Rules {
    /// Reads the values from the settings table.
    pub fn new(settings: &Settings) -> Self {
        Self {
            offload: settings.switch(keys::OFFLOAD).is_on(),
            limit: settings.get(keys::OFFLOAD_DEFAULT_LIMIT),
            shell_limit: settings.get(keys::OFFLOAD_LIMIT_BASH),
            search_limit: settings.get(keys::OFFLOAD_LIMIT_GREP),
            round_limit: settings.get(keys::OFFLOAD_TURN_LIMIT),
            preview: settings.get(keys::OFFLOAD_PREVIEW),
            distil: DistilSettings::new(settings),
            clear: ClearSettings::new(settings),
            compact: CompactSettings::new(settings),
            window: settings.window_settings(),
        }
    }

    /// Most characters of a tool's result that stays whole.
    pub(crate) fn limit(&self, tool: Tool) -> u64 {
        match tool {
            Tool::Shell => self.shell_limit,
            Tool::Search => self.search_limit,
            Tool::Read | Tool::Other => self.limit,
        }
    }

    /// True if results of such a tool may be distilled.
    pub(crate) fn distils(&self, tool: Tool, name: &str) -> bool {
        let listed = |names: &str| {
            self.distil
                .tools
                .iter()
                .any(|one| one.eq_ignore_ascii_case(names))
        };
        // The setting names our own shell; other clients have other names for theirs.
        self.distil.on && (listed(name) || (tool == Tool::Shell && listed("bash")))
    }
}

/// Purpose of a client's tool, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Runs commands in a shell.
    Shell,
    /// Shows a file, which is a file already.
    Read,
    /// Searches the contents or names of files.
    Search,
    Other,
}

impl Tool {
    pub(crate) fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        match name.as_str() {
            "bash" | "shell" | "exec" | "execute" | "terminal" | "powershell" | "local_shell"
            | "exec_command" | "run_command" | "execute_command" | "run_shell_command"
            | "run_terminal_cmd" => Self::Shell,
            "read" | "view" | "cat" | "open" | "read_file" | "readfile" | "view_file"
            | "notebookread" | "read_many_files" => Self::Read,
            "grep" | "glob" | "search" | "find" | "list" | "ls" | "grep_search" | "file_search"
            | "codebase_search" => Self::Search,
            _ => Self::Other,
        }
    }
}
