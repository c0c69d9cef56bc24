//! Lines whose output is kept in memory only: they print a key.

use super::sandbox::{end_of, kill_group};
use crate::sandbox::{End, SandboxError};
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Bytes of output that are kept: a key has some hundreds.
const MOST: u64 = 64 * 1024;

/// Runs a line and returns its end with its output; `None` if it took too long and was killed.
pub(super) fn capture(
    shell: &str,
    line: &str,
    directory: &Path,
    most: Duration,
) -> Result<Option<(End, Vec<u8>)>, SandboxError> {
    let failed = |source: io::Error| SandboxError::Start {
        program: line.to_owned(),
        directory: directory.to_owned(),
        source,
    };
    let mut command = Command::new(shell);
    command
        .args(["-c", line])
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    super::warden::sign(&mut command);
    #[cfg(unix)]
    // A group of its own, so that its children can be killed with it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(failed)?;
    let group = child.id();
    let stdout = child.stdout.take();
    let (sender, ended) = mpsc::channel();
    let watcher = thread::Builder::new().name("capture".to_owned());
    let watched = watcher.spawn(move || {
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            // A line that prints more is cut; what it printed is no key anyway.
            let _read = stdout.take(MOST).read_to_end(&mut output);
        }
        let end = end_of(&child.wait());
        // The line was too slow, and its reader is gone.
        let _late = sender.send((end, output));
    });
    if let Err(error) = watched {
        kill_group(group);
        return Err(SandboxError::Watch(error));
    }
    if let Ok(ended) = ended.recv_timeout(most) {
        Ok(Some(ended))
    } else {
        kill_group(group);
        Ok(None)
    }
}
