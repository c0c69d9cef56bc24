//! Command lines on this machine.
//!
//! Two threads see to each line: one copies its output into the file, one waits for its end. A
//! confined line is started by a thread that gave up its rights (`cell`).
#![expect(
    clippy::disallowed_methods,
    reason = "a line gets the environment of this process"
)]

use super::cell::Cell;
use super::confine::{Reading, confine_this_thread};
use super::files::RealFiles;
use super::sandbox::{end_of, kill_group, wait_without_reaping};
use super::sweep::{Thread, sweep};
use crate::commands::{Commands, MARK, Order, Output, Piped, PipedOrder, Room, Running};
use crate::files::{Access, AppendFile, Files as _};
use crate::sandbox::{Confinement, End, SandboxError};
use crate::secrets::is_secret_variable;
use std::env;
use std::io::{self, PipeReader, Read as _};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Wait for output after the end of a line. Pipes are read at once; only a process in the background
/// that keeps them open takes longer, and its output still goes into the file.
const GRACE: Duration = Duration::from_millis(200);

/// Bytes read at once: a quarter of a Linux pipe's buffer, so that the program seldom waits.
const CHUNK: usize = 16 * 1024;

/// Shells, the first that exists is used. Models write for bash.
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/bin/sh"];

/// Variables that keep programs from waiting for a terminal.
const QUIET: [(&str, &str); 6] = [
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GH_PROMPT_DISABLED", "1"),
    ("TERM", "dumb"),
];

/// Variable that tells a line where to leave its folder.
const FOLDER_FILE: &str = "DORMOUSE_FOLDER_FILE";

/// Put before a line whose folder is asked for: its folder is left behind at the end, however the
/// line ends.
const LEAVE_FOLDER: &str = "trap 'pwd -P >\"$DORMOUSE_FOLDER_FILE\"' EXIT\n";

/// Runs command lines on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealCommands;

impl Commands for RealCommands {
    fn start(&self, order: &Order) -> Result<Arc<dyn Running>, SandboxError> {
        let failed = |source: io::Error| SandboxError::Start {
            program: order.line.clone(),
            directory: order.directory.clone(),
            source,
        };
        let file = RealFiles
            .create_new(&order.output, Access::Private)
            .map_err(|error| failed(io::Error::other(error)))?;
        let (reader, writer) = io::pipe().map_err(failed)?;
        let errors = writer.try_clone().map_err(failed)?;
        let mut command = command(order).map_err(failed)?;
        command.stdout(writer).stderr(errors);
        let (confinement, child) = spawn(command, order, &failed)?;
        let group = child.id();
        let state = Arc::new(Shared::default());
        let watched = copy(reader, file, order.output_limit, &state)
            .and_then(|()| watch(child, &state, Rest::Stays));
        if let Err(error) = watched {
            // Without a watcher the line could not be ended.
            kill_group(group);
            return Err(SandboxError::Watch(error));
        }
        Ok(Arc::new(RealRunning {
            group,
            state,
            confinement,
        }))
    }

    fn converse(&self, order: &PipedOrder) -> Result<Piped, SandboxError> {
        super::piped::converse(order)
    }

    fn capture(
        &self,
        line: &str,
        directory: &Path,
        most: Duration,
    ) -> Result<Option<(End, Vec<u8>)>, SandboxError> {
        super::capture::capture(shell(), line, directory, most)
    }

    fn detach(&self, arguments: &[String], directory: &Path) -> Result<(), SandboxError> {
        super::detach::detach(arguments, directory)
    }

    fn sweep(&self, mark: &str) -> usize {
        sweep(mark)
    }

    fn confinement(&self) -> Confinement {
        // On a thread of its own: confinement cannot be taken back.
        let tried = thread::spawn(|| confine_this_thread(&Reading::AndWriting(Room::default())));
        tried
            .join()
            .unwrap_or_else(|_| Confinement::None("the trial failed".to_owned()))
    }
}

/// Shell that lines are written for.
fn shell() -> &'static str {
    let found = SHELLS.into_iter().find(|shell| Path::new(shell).exists());
    found.unwrap_or("/bin/sh")
}

fn command(order: &Order) -> io::Result<Command> {
    let shell = shell();
    let thread = Thread::of(&order.mark, shell)?;
    let mut command = Command::new(shell);
    let mut line = order.line.clone();
    if let Some(file) = &order.folder_file {
        line.insert_str(0, LEAVE_FOLDER);
        command.env(FOLDER_FILE, file);
    }
    line.insert_str(0, &thread.before);
    if order.confined_to.is_some() {
        // A confined line needs no key: it reaches no machine that would ask for one.
        for (name, value) in env::vars_os() {
            if is_secret_variable(&name, &value) {
                command.env_remove(name);
            }
        }
    }
    command
        .args(["-c", &line])
        .envs(QUIET)
        .env(MARK, &order.mark)
        .current_dir(&order.directory)
        .stdin(thread.input);
    super::warden::sign(&mut command);
    #[cfg(unix)]
    // A group of its own, so that its children can be killed with it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    Ok(command)
}

fn spawn(
    mut command: Command,
    order: &Order,
    failed: &dyn Fn(io::Error) -> SandboxError,
) -> Result<(Confinement, Child), SandboxError> {
    let Some(room) = &order.confined_to else {
        let why = "the user allowed the line as it is".to_owned();
        return Ok((Confinement::None(why), command.spawn().map_err(failed)?));
    };
    Cell::of(&order.mark, room)?.start(command).map_err(failed)
}

/// State of a line, shared with its threads.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    end: Option<End>,
    drained: bool,
    output: Output,
}

impl Shared {
    /// State of a program whose output goes elsewhere: there is nothing to wait for behind its end.
    pub(super) fn drained() -> Arc<Self> {
        let shared = Self::default();
        shared.lock().drained = true;
        Arc::new(shared)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

#[derive(Debug)]
pub(super) struct RealRunning {
    group: u32,
    state: Arc<Shared>,
    confinement: Confinement,
}

impl Running for RealRunning {
    fn wait(&self, most: Duration) -> Option<End> {
        let begun = Instant::now();
        let mut state = self.state.lock();
        while state.end.is_none() {
            let left = most.checked_sub(begun.elapsed())?;
            state = self.pause(state, left);
        }
        // The end often comes before the last output does.
        let ended = Instant::now();
        while !state.drained {
            let Some(left) = GRACE.checked_sub(ended.elapsed()) else {
                break;
            };
            state = self.pause(state, left);
        }
        state.end
    }

    fn stop(&self) {
        // Once it was reaped its number may be another process's; the watcher killed the rest.
        if self.state.lock().end.is_none() {
            kill_group(self.group);
        }
    }

    fn output(&self) -> Output {
        self.state.lock().output
    }

    fn confinement(&self) -> Confinement {
        self.confinement.clone()
    }
}

impl RealRunning {
    pub(super) fn unconfined(group: u32, state: &Arc<Shared>) -> Self {
        Self {
            group,
            state: Arc::clone(state),
            confinement: Confinement::None("the user set the program up".to_owned()),
        }
    }

    fn pause<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        let waited = self.state.changed.wait_timeout(state, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Copies the output into the file, up to the limit, and counts the rest.
fn copy(
    mut reader: PipeReader,
    mut file: Box<dyn AppendFile>,
    limit: u64,
    state: &Arc<Shared>,
) -> io::Result<()> {
    let state = Arc::clone(state);
    let work = move || {
        let mut buffer = vec![0; CHUNK];
        let mut kept = 0;
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => break,
            };
            let room = usize::try_from(limit.saturating_sub(kept)).unwrap_or(usize::MAX);
            let bytes = buffer.get(..read.min(room)).unwrap_or_default();
            // A full disk must not stop the program: its output is counted as lost.
            let taken = if bytes.is_empty() || file.append(bytes).is_err() {
                0
            } else {
                bytes.len()
            };
            kept += taken as u64;
            state.change(|state| {
                state.output.kept = kept;
                state.output.dropped += (read - taken) as u64;
            });
        }
        state.change(|state| state.drained = true);
    };
    let thread = thread::Builder::new().name("commands-output".to_owned());
    thread.spawn(work).map(drop)
}

/// Processes that are left in a group when its first one ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// A server that the line started in the background is meant to stay.
    Stays,
    /// Helpers of a program are of no use without it.
    Killed,
}

/// Waits for the end of a line or program.
pub(super) fn watch(mut child: Child, state: &Arc<Shared>, rest: Rest) -> io::Result<()> {
    let state = Arc::clone(state);
    let work = move || {
        wait_without_reaping(&child);
        if rest == Rest::Killed {
            // Before it is reaped: its number is still the group's.
            kill_group(child.id());
        }
        // Reaped under the lock: no one must signal the number afterwards.
        let mut locked = state.lock();
        let end = end_of(&child.wait());
        locked.end = Some(end);
        drop(locked);
        state.changed.notify_all();
    };
    let thread = thread::Builder::new().name("commands-end".to_owned());
    thread.spawn(work).map(drop)
}
