//! End of all processes of a session.
//!
//! # Model
//! A process belongs to a session if one of these signs says so; without one it is left alone, since
//! the program that embeds this one has children of its own:
//!
//! - The mark in its environment. A process loses it with an environment of its own making.
//! - An open end of the session's pipe ([`Thread`]). It is inherited under a number that no program
//!   uses; a process loses it by closing files that it has not opened.
//! - The domain of the session's cells, for confined lines. It cannot be lost ([`super::cell`]).
//! - A parent that belongs to it.
//!
//! A line that runs as the user, and gets rid of the first two and of its parent, outlives its session.
#![expect(
    clippy::disallowed_methods,
    reason = "processes are files of the kernel, which no port covers"
)]

#[cfg(target_os = "linux")]
use super::cell::{Cell, take_cells};
#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(target_os = "linux")]
use rustix::fd::OwnedFd;
#[cfg(target_os = "linux")]
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::BTreeMap;
#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
use std::io::{self, PipeReader};
#[cfg(target_os = "linux")]
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Rounds of listing and killing. A process may start another between the listing and its own end;
/// one that does so for longer than this cannot be ended by signals.
#[cfg(target_os = "linux")]
const ROUNDS: usize = 10;

/// Wait for a killed process to be gone. The kernel takes milliseconds; only a process in an
/// uninterruptible wait, as on a dead network disk, takes longer.
#[cfg(target_os = "linux")]
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Number under which bash keeps the session's pipe open: below those that it hands out itself, above
/// those that scripts choose.
const NUMBER: u32 = 57;
/// The number in plain shells, which know one digit only.
const PLAIN_NUMBER: u32 = 9;

/// Pipes of the sessions of this process. Nothing is ever written to them. They stay open, so that
/// no other pipe gets the same number from the kernel.
static PIPES: Mutex<BTreeMap<String, PipeReader>> = Mutex::new(BTreeMap::new());

/// Sign that every process of a session inherits beside its environment.
pub(super) struct Thread {
    /// Standard input of the line.
    pub(super) input: PipeReader,
    /// Put before the line: moves the pipe to its number, and gives the line an empty input.
    pub(super) before: String,
}

impl Thread {
    /// The session's sign for one more line.
    pub(super) fn of(mark: &str, shell: &str) -> io::Result<Self> {
        let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
        let input = if let Some(pipe) = pipes.get(mark) {
            pipe.try_clone()?
        } else {
            // Its other end is closed at once: a reader sees an end of file.
            let (reader, _) = io::pipe()?;
            let input = reader.try_clone()?;
            pipes.insert(mark.to_owned(), reader);
            input
        };
        let number = if shell.ends_with("bash") {
            NUMBER
        } else {
            PLAIN_NUMBER
        };
        let before = format!("exec {number}<&0 </dev/null\n");
        Ok(Self { input, before })
    }
}

/// Signs of a session's processes.
#[cfg(target_os = "linux")]
struct Signs {
    /// The entry of the environment.
    mark: Vec<u8>,
    /// Name of the pipe, as the kernel shows it.
    pipe: Option<String>,
    cells: Vec<Cell>,
}

#[cfg(target_os = "linux")]
impl Signs {
    fn take(mark: &str) -> Self {
        let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
        let pipe = pipes.remove(mark);
        let number = pipe.and_then(|pipe| rustix::fs::fstat(&pipe).ok());
        Self {
            mark: format!("{}={mark}", crate::commands::MARK).into_bytes(),
            pipe: number.map(|facts| format!("pipe:[{}]", facts.st_ino)),
            cells: take_cells(mark),
        }
    }

    /// True if a process shows one of the signs by itself.
    fn shown_by(&self, process: &Path) -> bool {
        // Environments of other users cannot be read, and their processes are not ours.
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        let mut entries = environment.split(|byte| *byte == 0);
        entries.any(|entry| entry == self.mark)
            || self.pipe.as_ref().is_some_and(|pipe| {
                [NUMBER, PLAIN_NUMBER].iter().any(|number| {
                    std::fs::read_link(process.join("fd").join(number.to_string()))
                        .is_ok_and(|link| link.as_os_str() == pipe.as_str())
                })
            })
    }

    /// Has the cells kill a process that may be theirs.
    fn killed_by_cell(&self, process: &Path, handle: &OwnedFd) -> bool {
        if self.cells.is_empty() || !is_confined(process) {
            return false;
        }
        self.cells
            .iter()
            .any(|cell| handle.try_clone().is_ok_and(|handle| cell.kill(handle)))
    }
}

/// True for a process that can get no new privileges and has a filter of system calls, as those of
/// cells have. Only such a process is tried: a kernel that failed to hold signals back would
/// otherwise end everything that the user runs.
#[cfg(target_os = "linux")]
fn is_confined(process: &Path) -> bool {
    let status = std::fs::read_to_string(process.join("status")).unwrap_or_default();
    let has = |line: &str| status.lines().any(|it| it == line);
    has("NoNewPrivs:\t1") && has("Seccomp:\t2")
}

/// Figures of a process as the kernel shows them; `None` where it shows none.
pub(super) fn stat(process: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{process}/stat")).ok()
}

/// Parent of a living process. The name stands in brackets and may hold anything; the figures follow
/// its last bracket.
#[cfg(target_os = "linux")]
fn parent(process: &Path) -> Option<i32> {
    let stat = std::fs::read(process.join("stat")).ok()?;
    let text = String::from_utf8_lossy(&stat).into_owned();
    let (_, figures) = text.rsplit_once(')')?;
    let mut figures = figures.split_whitespace();
    // A zombie is dead: it only waits for its parent to look.
    figures.next().filter(|state| *state != "Z")?;
    figures.next()?.parse().ok()
}

/// Kills every process of a session, waits until they are gone, and counts them.
#[cfg(target_os = "linux")]
pub(super) fn sweep(mark: &str) -> usize {
    let signs = Signs::take(mark);
    let own = rustix::process::getpid();
    let mut killed = 0;
    for _ in 0..ROUNDS {
        let before = killed;
        // Handles first: a number may pass to another process.
        let mut all = Vec::new();
        for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let number = process.file_name();
            let number = number.to_str().and_then(|name| name.parse::<i32>().ok());
            let pid = number.and_then(Pid::from_raw).filter(|pid| *pid != own);
            if let Some(pid) = pid
                && let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
                && let Some(parent) = parent(&process.path())
            {
                let pid = pid.as_raw_nonzero().get();
                all.push((pid, parent, process.path(), handle));
            }
        }
        let mut ours: BTreeSet<i32> = BTreeSet::new();
        for (pid, _, path, _) in &all {
            if signs.shown_by(path) {
                ours.insert(*pid);
            }
        }
        // Before anything is killed: the children of a dead process have another parent.
        loop {
            let found = ours.len();
            let children = all.iter().filter(|(_, parent, ..)| ours.contains(parent));
            let children: Vec<i32> = children.map(|(pid, ..)| *pid).collect();
            ours.extend(children);
            if ours.len() == found {
                break;
            }
        }
        for (pid, _, path, handle) in &all {
            let dead = if ours.contains(pid) {
                pidfd_send_signal(handle, Signal::KILL).is_ok()
            } else {
                signs.killed_by_cell(path, handle)
            };
            if dead {
                killed += 1;
                // A process on its way out still shows its environment, and would be counted again.
                let mut gone = [PollFd::new(handle, PollFlags::IN)];
                let _late = poll(&mut gone, Some(&PATIENCE));
            }
        }
        if killed == before {
            break;
        }
    }
    killed
}

/// Elsewhere processes do not show their signs.
#[cfg(not(target_os = "linux"))]
pub(super) fn sweep(mark: &str) -> usize {
    let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    pipes.remove(mark);
    drop(super::cell::take_cells(mark));
    0
}
