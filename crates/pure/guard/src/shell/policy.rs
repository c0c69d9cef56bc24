//! What the caller lets a line do.

use std::path::PathBuf;

/// Where contents of files may be read. Names may be listed anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Below the working directory: no absolute path, no `..`, no `~`.
    #[default]
    Inside,
    /// Also below these directories, named by absolute paths.
    Below(Vec<PathBuf>),
    /// Anywhere but devices and what the kernel shows as files.
    Anywhere,
}

/// What the caller lets a line do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Where contents may be read.
    pub reach: Reach,
    /// Whether commands that ask the network may run. What is asked for can carry away what was
    /// read, so this is off unless the caller says otherwise.
    pub network: bool,
}
