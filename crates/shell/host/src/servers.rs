//! Servers of tools that settings name: `mcp_servers`, and `.mcp.json` of the project.
//!
//! Servers of a project that is not trusted are not looked at: no entry is read, no variable is
//! replaced, no process started. A remark says so once.
//!
//! # Not here
//! Connecting to them: `dormouse-mcp`, at the wish of the agent.

use crate::host::Host;
use crate::remark::Remark;
use dormouse_core::settings::{IgnoreReason, LayerKind, Trust, Value, keys};
use dormouse_core::show;
use dormouse_mcp::{ServerConfig, read_servers};
use std::path::Path;

/// File of a project that names servers, as in Claude Code.
const FILE: &str = ".mcp.json";
/// Bytes of the file that are read; real ones have a few thousand.
const LARGEST: u64 = 1024 * 1024;

impl Host {
    /// Servers that the settings and the project name. The user's own come first: of two with one
    /// name the first counts, so that no project takes the place of a server that rules allow.
    pub fn servers(&self) -> Vec<ServerConfig> {
        let settings = self.settings();
        let mut servers = Vec::new();
        // Marks the setting as read; the parts keep the place of each server.
        settings.get(keys::MCP_SERVERS);
        if let Some(entry) = settings.entry(keys::MCP_SERVERS.name()) {
            let of_project = |kind| matches!(kind, LayerKind::Project | LayerKind::ProjectLocal);
            let mut parts: Vec<_> = entry.parts.iter().collect();
            parts.sort_by_key(|part| of_project(part.origin.kind()));
            for part in parts {
                if let Value::Structure(written) = &part.value
                    && let Ok(written) = serde_json::to_value(written)
                {
                    servers.extend(self.read_servers(&written, &part.origin.to_string()));
                }
            }
            for ignored in &entry.ignored {
                if ignored.reason == IgnoreReason::ProjectNotTrusted {
                    let origin = ignored.given.origin.to_string();
                    self.remark_once(Remark::ServersUntrusted { origin });
                }
            }
        }
        let file = self.places().project.root.join(FILE);
        servers.extend(self.project_servers(&file));
        servers
    }

    /// Entries of an object by name; those that cannot be used become remarks.
    pub fn read_servers(&self, written: &serde_json::Value, origin: &str) -> Vec<ServerConfig> {
        let variable = |name: &str| self.system().env.text(name);
        let (servers, faults) = read_servers(written, origin, &variable);
        for fault in faults {
            let why = fault.to_string();
            self.remark_once(Remark::LeftOut { why });
        }
        servers
    }

    fn project_servers(&self, file: &Path) -> Vec<ServerConfig> {
        let files = &self.system().files;
        let origin = format!("`{}`", file.display());
        if self.loaded().trust != Trust::Trusted {
            if files.metadata(file).is_ok() {
                self.remark_once(Remark::ServersUntrusted { origin });
            }
            return Vec::new();
        }
        let why = match files.read(file, LARGEST) {
            Ok(bytes) => match serde_json::from_slice::<serde_json::Value>(&bytes) {
                Ok(written) => return self.read_servers(&written["mcpServers"], &origin),
                Err(error) => format!("the servers of {origin}: {error}"),
            },
            Err(error) if error.not_found() => return Vec::new(),
            Err(error) => show::chain(&error),
        };
        self.remark_once(Remark::LeftOut { why });
        Vec::new()
    }
}
