//! Calls to judge, and the folders they are judged by.

use std::path::{Path, PathBuf};

/// Call of a tool, as far as permissions are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// Effect of the call.
    pub action: Action<'a>,
}

impl<'a> Call<'a> {
    /// A call of a tool.
    pub fn new(tool: &'a str, action: Action<'a>) -> Self {
        Self { tool, action }
    }
}

/// Effect of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// Runs a line in a shell.
    Shell {
        /// The line, as the model wrote it.
        line: &'a str,
        /// True if the call asks to run outside the sandbox.
        outside: bool,
    },
    /// Reads or searches a file or folder.
    Read {
        /// Absolute path, without `.` and `..`.
        path: PathBuf,
        /// Path behind links, if it differs.
        real: Option<PathBuf>,
    },
    /// Writes, changes or removes a file.
    Edit {
        /// Absolute path, without `.` and `..`.
        path: PathBuf,
        /// Path behind links, if it differs.
        real: Option<PathBuf>,
    },
    /// Fetches a page from a host.
    Fetch {
        /// Name of the host, lower case.
        host: &'a str,
    },
    /// Changes nothing outside the conversation: to-dos, questions, a search in memory.
    Harmless,
    /// Anything else, such as a tool of an MCP server.
    Other,
}

impl Action<'_> {
    /// Paths of a file action: as named and behind links.
    pub(crate) fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Read { path, real } | Self::Edit { path, real } => {
                let real = real.as_deref();
                std::iter::once(path.as_path()).chain(real).collect()
            }
            Self::Shell { .. } | Self::Fetch { .. } | Self::Harmless | Self::Other => Vec::new(),
        }
    }
}

/// Folders that decide about paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ground {
    /// Working folder of the session; relative patterns begin here.
    pub folder: PathBuf,
    /// Further folders in which the agent may work, the working folder's links resolved among them.
    pub further: Vec<PathBuf>,
    /// Home of the user, for patterns that begin with `~`.
    pub home: Option<PathBuf>,
    /// True if commands can be confined on this machine.
    pub sandbox: bool,
    /// True if the user trusts the working folder: settings in it may name programs to run.
    pub trusted: bool,
}

impl Ground {
    /// A working folder and a home, without a sandbox and without trust.
    pub fn new(folder: impl Into<PathBuf>, home: Option<&str>) -> Self {
        Self {
            folder: folder.into(),
            further: Vec::new(),
            home: home.map(PathBuf::from),
            sandbox: false,
            trusted: false,
        }
    }

    /// Every folder in which the agent works.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.folder.as_path()).chain(self.further.iter().map(PathBuf::as_path))
    }

    /// True if a path lies in one of the folders.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        self.roots().any(|root| path.starts_with(root))
    }

    /// Absolute form of a path that a call names, without `.` and `..`; `None` if it leads to
    /// another user's home.
    pub fn absolute(&self, named: &str) -> Option<PathBuf> {
        let path = match named.strip_prefix('~') {
            Some("") => self.home.clone()?,
            Some(rest) => self.home.as_ref()?.join(rest.strip_prefix('/')?),
            None => self.folder.join(named),
        };
        Some(lexical(&path))
    }
}

/// Path without `.` and `..`, by its text alone.
fn lexical(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                plain.push(component);
            }
        }
    }
    plain
}
