//! Programs that are spoken with through their standard streams.

use super::commands::{RealRunning, Rest, Shared, watch};
use super::sandbox::kill_group;
use crate::commands::{MARK, Piped, PipedOrder};
use crate::sandbox::SandboxError;
use crate::secrets::is_secret_variable;
use std::env;
use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Starts a program and keeps its streams.
pub(super) fn converse(order: &PipedOrder) -> Result<Piped, SandboxError> {
    let failed = |source: io::Error| SandboxError::Start {
        program: order.program.clone(),
        directory: order.directory.clone(),
        source,
    };
    let mut command = Command::new(&order.program);
    for (name, value) in env::vars_os() {
        // A key reaches the programs whose settings name it, and no others.
        if is_secret_variable(&name, &value) {
            command.env_remove(name);
        }
    }
    let variables = order.variables.iter().map(|(name, value)| (name, value));
    command
        .args(&order.arguments)
        .envs(variables)
        .env(MARK, &order.mark)
        .current_dir(&order.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    super::warden::sign(&mut command);
    #[cfg(unix)]
    // A group of its own, so that its children can be killed with it, and an interrupt of the
    // terminal does not reach it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(failed)?;
    let group = child.id();
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let state = Shared::drained();
    if let Err(error) = watch(child, &state, Rest::Killed) {
        // Without a watcher the program could not be ended.
        kill_group(group);
        return Err(SandboxError::Watch(error));
    }
    let (Some(input), Some(output), Some(errors)) = streams else {
        kill_group(group);
        return Err(failed(io::ErrorKind::BrokenPipe.into()));
    };
    Ok(Piped {
        input,
        output,
        errors,
        running: Arc::new(RealRunning::unconfined(group, &state)),
    })
}
