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

/// Harm that programs named by settings of the working directory can do. `git diff` starts those
/// of the repository's configuration, `cargo` those of `.cargo/config.toml` and
/// `rust-toolchain.toml`, which arrive with a clone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Folder {
    /// None: the line runs in a sandbox that neither writes nor reaches the network, or the user
    /// trusts the folder.
    #[default]
    Held,
    /// Any: the folder is unknown, and nothing confines the line.
    Loose,
}

/// Permissions of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Directories whose files may be read.
    pub reach: Reach,
    /// True if commands may use the network. Off by default: a request can carry away what was
    /// read.
    pub network: bool,
    /// Harm that settings in the working directory can do.
    pub folder: Folder,
}
