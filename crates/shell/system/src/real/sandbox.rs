//! Programs confined by the operating system.
//!
//! # Model
//! Landlock and the filter of system calls (`calls`) restrict the thread that asks for them, for
//! good, and every process that thread starts. So each task is started by a thread of its own, which restricts itself first and ends right
//! after: the rest of this process keeps its rights, and nothing has to run between fork and exec.
//!
//! Three more threads see to the end: one waits for the program and then kills the rest of its
//! group, two read its output. A program that moves to another group escapes the killing, though
//! not the confinement; its output is awaited no longer than [`GRACE`].
//!
//! # Not here
//! The rights that a thread gives up (`confine`), the judgement of command lines (`dormouse-guard`) and
//! the port itself ([`crate::Sandbox`]).
#![expect(
    clippy::disallowed_methods,
    reason = "a program's environment is made from that of this process"
)]

use super::confine::{Reading, confine_this_thread, search_path};
use crate::sandbox::{
    Confinement, ENVIRONMENT, End, Finished, Program, Sandbox, SandboxError, Task,
};
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{env, mem};

/// Wait for the output of a program after its end. Pipes are read at once; only an escaped child
/// that keeps them open takes longer.
const GRACE: Duration = Duration::from_secs(1);

/// Bytes read at once: a quarter of a Linux pipe's buffer, so that the program seldom waits.
const CHUNK: usize = 16 * 1024;

/// Runs programs on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealSandbox;

impl Sandbox for RealSandbox {
    fn run(&self, task: &Task) -> Result<Finished, SandboxError> {
        finish(task, start(task, Reading::Everything)?)
    }

    fn run_below(&self, task: &Task, readable: &[PathBuf]) -> Result<Finished, SandboxError> {
        finish(task, start(task, Reading::Below(readable.to_vec()))?)
    }
}

/// Sees a started program to its end.
fn finish(task: &Task, started: (Confinement, Child)) -> Result<Finished, SandboxError> {
    let (confinement, mut child) = started;
    let group = child.id();
    let kept = Arc::new(Mutex::new(Kept::new(task.output_limit)));
    let (report, reports) = mpsc::channel();
    let streams: [(Option<Box<dyn Read + Send>>, Stream); 2] = [
        (child.stdout.take().map(|s| Box::new(s) as _), Stream::Out),
        (child.stderr.take().map(|s| Box::new(s) as _), Stream::Error),
    ];
    let watched = watch(child, report.clone()).and_then(|()| {
        for (source, stream) in streams {
            drain(source, stream, &kept, report.clone())?;
        }
        Ok(())
    });
    // The channel must close when the threads end, or the wait for reports would not.
    drop(report);
    if let Err(error) = watched {
        // Without a watcher the program would run unlimited.
        kill_group(group);
        return Err(SandboxError::Watch(error));
    }
    let end = await_end(&reports, group, task.time_limit);
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Finished {
        end,
        stdout: mem::take(&mut kept.stdout).into(),
        stderr: mem::take(&mut kept.stderr).into(),
        dropped: kept.dropped,
        confinement,
    })
}

/// Starts the program from a thread that gave up its rights.
fn start(task: &Task, reading: Reading) -> Result<(Confinement, Child), SandboxError> {
    let mut command = command(task);
    if matches!(reading, Reading::Below(_)) {
        // The user's settings may lie, or lead, where the program cannot read, and git would give
        // up.
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
    }
    let name = command.get_program().to_string_lossy().into_owned();
    let starter = thread::Builder::new()
        .name("sandbox".to_owned())
        .spawn(move || {
            // Before the program starts, since a running one cannot be confined from outside.
            let confinement = confine_this_thread(&reading);
            match (confinement, reading) {
                (Confinement::None(why), Reading::Below(_)) => Err(Unstarted::Unconfined(why)),
                (confinement, _) => match command.spawn() {
                    Ok(child) => Ok((confinement, child)),
                    Err(source) => Err(Unstarted::Failed(source)),
                },
            }
        })
        .map_err(SandboxError::Watch)?;
    let started = starter
        .join()
        .map_err(|_| SandboxError::Watch(io::Error::other("the starting thread failed")))?;
    started.map_err(|unstarted| match unstarted {
        Unstarted::Unconfined(why) => SandboxError::Unconfined { why },
        Unstarted::Failed(source) => SandboxError::Start {
            program: name,
            directory: task.directory.clone(),
            source,
        },
    })
}

/// Reason that the starting thread started nothing.
enum Unstarted {
    Unconfined(String),
    Failed(io::Error),
}

fn command(task: &Task) -> Command {
    let mut command = match &task.program {
        Program::Line(line) => {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", line]);
            shell
        }
        Program::Direct { program, arguments } => {
            let mut direct = Command::new(program);
            direct.args(arguments);
            direct
        }
    };
    command
        // Variables of this process may hold keys; only those named here are passed on.
        .env_clear()
        .env("PATH", search_path(env::var_os("PATH")))
        .envs(ENVIRONMENT)
        .envs(
            ["HOME", "LANG"]
                .into_iter()
                .filter_map(|name| Some((name, env::var_os(name)?))),
        )
        .current_dir(&task.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    // A group of its own, so that its children can be killed with it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}

/// Messages of the threads around a program.
enum Report {
    Ended(io::Result<ExitStatus>),
    Drained,
}

/// Waits for the program and then kills the rest of its group.
fn watch(mut child: Child, report: Sender<Report>) -> io::Result<()> {
    let work = move || {
        wait_without_reaping(&child);
        // Until it is reaped its number cannot belong to another process.
        kill_group(child.id());
        // Without effect once the time limit and the grace are over: the receiver is gone.
        let _unheard = report.send(Report::Ended(child.wait()));
    };
    thread::Builder::new()
        .name("sandbox-end".to_owned())
        .spawn(work)
        .map(drop)
}

#[cfg(unix)]
pub(super) fn wait_without_reaping(child: &Child) {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    if let Some(pid) = process_number(child.id()) {
        while matches!(
            waitid(WaitId::Pid(pid), options),
            Err(rustix::io::Errno::INTR)
        ) {}
    }
}

#[cfg(unix)]
pub(super) fn kill_group(group: u32) {
    if let Some(group) = process_number(group) {
        // Usually nothing is left to kill, which is an error of the call.
        let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(unix)]
fn process_number(pid: u32) -> Option<rustix::process::Pid> {
    i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
}

#[cfg(not(unix))]
pub(super) fn wait_without_reaping(_: &Child) {}

#[cfg(not(unix))]
pub(super) fn kill_group(_: u32) {}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Error,
}

/// The output so far.
#[derive(Debug)]
struct Kept {
    room: usize,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    dropped: u64,
}

impl Kept {
    fn new(room: usize) -> Self {
        Self {
            room,
            stdout: Vec::new(),
            stderr: Vec::new(),
            dropped: 0,
        }
    }

    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        // Further output is counted, so that the reader learns that some is missing.
        let (kept, rest) = bytes.split_at(bytes.len().min(self.room));
        self.room -= kept.len();
        self.dropped = self
            .dropped
            .saturating_add(u64::try_from(rest.len()).unwrap_or(u64::MAX));
        match stream {
            Stream::Out => self.stdout.extend_from_slice(kept),
            Stream::Error => self.stderr.extend_from_slice(kept),
        }
    }
}

/// Reads a stream to its end and keeps the part that fits.
fn drain(
    source: Option<Box<dyn Read + Send>>,
    stream: Stream,
    kept: &Arc<Mutex<Kept>>,
    report: Sender<Report>,
) -> io::Result<()> {
    let kept = Arc::clone(kept);
    let work = move || {
        let mut source = source;
        let mut buffer = vec![0; CHUNK];
        while let Some(source) = &mut source {
            match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => kept
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take(stream, buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A broken pipe ends the output; the exit code tells the rest.
                Err(_) => break,
            }
        }
        let _unheard = report.send(Report::Drained);
    };
    thread::Builder::new()
        .name("sandbox-output".to_owned())
        .spawn(work)
        .map(drop)
}

/// Collects the reports, and kills when the time is over.
fn await_end(reports: &Receiver<Report>, group: u32, time_limit: Duration) -> End {
    let mut patience = time_limit;
    let mut since = Instant::now();
    let mut end = None;
    let mut timed_out = false;
    loop {
        match reports.recv_timeout(patience.saturating_sub(since.elapsed())) {
            Ok(Report::Drained) => {}
            Ok(Report::Ended(status)) => {
                end = Some(end_of(&status));
                (patience, since) = (GRACE, Instant::now());
            }
            // The first timeout kills; the second, after the grace, gives up.
            Err(mpsc::RecvTimeoutError::Timeout) if end.is_none() && !timed_out => {
                timed_out = true;
                kill_group(group);
                (patience, since) = (GRACE, Instant::now());
            }
            // All threads have ended, or the grace is over.
            Err(_) => break,
        }
    }
    match end {
        // A program killed for its time may still report an exit; the limit is the reason to tell.
        Some(end) if !timed_out => end,
        _ => End::TimedOut,
    }
}

pub(super) fn end_of(status: &io::Result<ExitStatus>) -> End {
    #[cfg(unix)]
    let signal = |status: ExitStatus| std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = |_: ExitStatus| None;
    match status {
        Ok(status) => match (status.code(), signal(*status)) {
            (Some(code), _) => End::Exit(code),
            // Without a code the program was killed; on Unix the signal is known.
            (None, signal) => End::Signal(signal.unwrap_or_default()),
        },
        // Another part of the process reaped it: its end is not known, only that it was not
        // regular.
        Err(_) => End::Exit(-1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_kept_up_to_the_limit_over_both_streams() {
        let mut kept = Kept::new(5);
        kept.take(Stream::Out, b"abc");
        kept.take(Stream::Error, b"def");
        kept.take(Stream::Out, b"g");
        assert_eq!((&*kept.stdout, &*kept.stderr), (&b"abc"[..], &b"de"[..]));
        assert_eq!(kept.dropped, 2);
    }
}
