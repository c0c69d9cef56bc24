//! Wishes, reports and failures of installations, as values for doors.

use super::clients::Client;
use serde::Serialize;
use std::path::PathBuf;

/// Reason why an installation is refused or fails. Nothing is left half done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// Nothing says where the settings of the user lie.
    #[error("the user's home directory is not known")]
    NoHome,
    /// The path of the program is not Unicode, which no settings file holds.
    #[error("the path `{}` is not Unicode", .0.display())]
    NotUnicode(PathBuf),
    /// A settings file cannot be edited safely.
    #[error("`{}` was left as it is: {why}", file.display())]
    Refused {
        /// Settings file that was not changed.
        file: PathBuf,
        /// The reason, in words.
        why: String,
    },
    /// An entry of the same name was made by something else.
    #[error("`{}` has an entry `{key}` that is not from this installation", file.display())]
    Taken {
        /// Settings file that has the entry.
        file: PathBuf,
        /// Keys of the entry, joined.
        key: String,
    },
    /// The client's own program is needed and not there.
    #[error("the program `{0}` is not in the search path")]
    NoProgram(&'static str),
    /// A command of the client failed.
    #[error("`{line}` failed: {output}")]
    Command {
        /// Command line as it was run.
        line: String,
        /// Last lines of its output.
        output: String,
    },
    /// There is nothing to take away.
    #[error("nothing is installed in {}", .0.title())]
    NotInstalled(Client),
}

/// A wish to install memory in a client.
#[derive(Clone, Debug)]
pub struct InstallAsk {
    /// The agent that gets memory.
    pub client: Client,
    /// Program that the agent is to start.
    pub program: PathBuf,
    /// Settings for its command lines, as `key=value`.
    pub settings: Vec<String>,
    /// True to plan and change nothing.
    pub dry_run: bool,
    /// True to switch the client's own memory off, where it has one.
    pub instead: bool,
}

/// An installation, or its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InstallReport {
    /// The agent at hand.
    pub client: Client,
    /// State afterwards, or the state that would follow.
    pub state: InstallState,
    /// True if nothing was changed because only the plan was asked for.
    pub dry_run: bool,
    /// Settings files of the client that change.
    pub files: Vec<ClientFile>,
    /// Files in Dormouse's home that are made for the client.
    pub own_files: Vec<String>,
    /// Command lines of the client.
    pub commands: Vec<String>,
    /// Facts that the user should know.
    pub notes: Vec<InstallNote>,
}

/// State of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallState {
    /// Memory is installed now.
    Installed,
    /// Everything was there already; nothing changed.
    Unchanged,
    /// Memory is taken away.
    Removed,
}

/// A settings file of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientFile {
    /// Path of the file.
    pub path: String,
    /// Copy of the file as it was before, if one is kept.
    pub backup: Option<String>,
    /// True if the file has the bytes that it had before the installation, after its end.
    pub restored: bool,
    /// Text before; `None` if there was no file. Not for programs: it may hold keys.
    #[serde(skip)]
    pub before: Option<String>,
    /// Text after; `None` if there is no file, or if the client's command writes it.
    #[serde(skip)]
    pub after: Option<String>,
}

/// A fact beside an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallNote {
    /// The user has a status line, which stays.
    StatusLineKept,
    /// No sign of the client was found on this machine.
    ClientNotFound,
    /// The client reads the entry only with an adapter of others.
    NeedsAdapter(&'static str),
    /// A file changed since: only the entries were removed, and the backup stays.
    ChangedSince(String),
}

/// A client and whether memory is installed in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClientState {
    /// The client at hand.
    pub client: Client,
    /// Its name as people know it.
    pub title: &'static str,
    /// True if its program or its folder was found.
    pub found: bool,
    /// True if memory is installed in it.
    pub installed: bool,
}
