//! Policy of the caller for a command line.

use std::path::PathBuf;

/// Directories whose files may be read. Names may be listed anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Below the working directory: no absolute path, no `..`, no `~`.
    #[default]
    Inside,
    /// Also below these directories, given by absolute paths.
    Below(Vec<PathBuf>),
    /// Anywhere except devices and files that the kernel generates.
    Anywhere,
}

/// Permissions of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Directories whose files may be read.
    pub reach: Reach,
    /// True if commands may use the network. Off by default: a request can carry away what was
    /// read.
    pub network: bool,
}
