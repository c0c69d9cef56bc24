//! Dormouse itself, started once more for work that outlives its caller.

use crate::sandbox::SandboxError;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Starts this program with other arguments. Clients kill the group of a hook when they end, and
/// wait until its streams are closed: the process has a group and no streams of its own.
pub(super) fn detach(arguments: &[String], directory: &Path) -> Result<(), SandboxError> {
    let failed = |source: io::Error| SandboxError::Start {
        program: "dormouse".to_owned(),
        directory: directory.to_owned(),
        source,
    };
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // Not waited for: the caller ends first, and the system collects the process then.
    command.spawn().map(drop).map_err(failed)
}
