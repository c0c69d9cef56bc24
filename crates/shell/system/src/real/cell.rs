//! Threads that gave up their rights and start a session's confined lines.
//!
//! # Model
//! All lines of a session with the same room are started by one thread, so that they form one domain
//! of Landlock: they may signal each other and nothing outside. The thread stays until the session's
//! end, because the same rule serves the sweep: a signal from this thread reaches the processes that
//! it started, with all they started in turn, and the kernel refuses it to every other. No process
//! can leave its domain.
//!
//! # Not here
//! The rights themselves (`confine`); the other signs of a session's processes (`sweep`).

use super::confine::{Reading, confine_this_thread};
use crate::commands::Room;
use crate::sandbox::{Confinement, SandboxError};
use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

#[cfg(target_os = "linux")]
use rustix::{
    fd::OwnedFd,
    process::{Signal, pidfd_send_signal},
};

/// Work for the thread of a cell.
enum Job {
    Start(Box<Command>, SyncSender<io::Result<Child>>),
    #[cfg(target_os = "linux")]
    Kill(OwnedFd, SyncSender<bool>),
}

/// A thread that gave up its rights. Dropping the last clone ends it.
#[derive(Clone)]
pub(super) struct Cell {
    confinement: Confinement,
    jobs: SyncSender<Job>,
}

/// Cells of this process by session and room.
static CELLS: Mutex<Vec<(String, Room, Cell)>> = Mutex::new(Vec::new());

impl Cell {
    /// The cell of a session for a room, made if there is none.
    pub(super) fn of(mark: &str, room: &Room) -> Result<Self, SandboxError> {
        let mut cells = CELLS.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cells.iter().find(|(of, its, _)| of == mark && its == room);
        if let Some((_, _, cell)) = found {
            return Ok(cell.clone());
        }
        let cell = Self::new(room.clone())?;
        cells.push((mark.to_owned(), room.clone(), cell.clone()));
        Ok(cell)
    }

    fn new(room: Room) -> Result<Self, SandboxError> {
        let (confined, confinement) = channel();
        // Nothing waits in it: every job is waited for by its sender.
        let (jobs, work) = sync_channel(0);
        thread::Builder::new()
            .name("cell".to_owned())
            .spawn(move || {
                let confinement = confine_this_thread(&Reading::AndWriting(room));
                let starts = !matches!(confinement, Confinement::None(_));
                // The one who asked is gone only if its thread failed.
                let _unheard = confined.send(confinement);
                if starts {
                    serve(&work);
                }
            })
            .map_err(SandboxError::Watch)?;
        let gone = || SandboxError::Watch(io::Error::other("the confined thread failed"));
        match confinement.recv().map_err(|_| gone())? {
            Confinement::None(why) => Err(SandboxError::Unconfined { why }),
            confinement => Ok(Self { confinement, jobs }),
        }
    }

    /// Starts a program in the cell.
    pub(super) fn start(&self, command: Command) -> io::Result<(Confinement, Child)> {
        let (answer, answered) = sync_channel(1);
        let job = Job::Start(Box::new(command), answer);
        let gone = |()| io::Error::other("the confined thread has ended");
        self.jobs.send(job).map_err(|_| gone(()))?;
        let child = answered.recv().map_err(|_| gone(()))??;
        Ok((self.confinement.clone(), child))
    }

    /// Kills a process if it belongs to this cell; the kernel decides. False if it does not, or if
    /// the kernel cannot tell.
    #[cfg(target_os = "linux")]
    pub(super) fn kill(&self, process: OwnedFd) -> bool {
        // Without the whole confinement signals pass to every process of the user.
        if self.confinement != Confinement::Full {
            return false;
        }
        let (answer, answered) = sync_channel(1);
        let sent = self.jobs.send(Job::Kill(process, answer));
        sent.is_ok() && answered.recv().unwrap_or(false)
    }
}

fn serve(work: &Receiver<Job>) {
    while let Ok(job) = work.recv() {
        match job {
            Job::Start(mut command, answer) => {
                let _unheard = answer.send(command.spawn());
            }
            #[cfg(target_os = "linux")]
            Job::Kill(process, answer) => {
                let killed = pidfd_send_signal(&process, Signal::KILL).is_ok();
                let _unheard = answer.send(killed);
            }
        }
    }
}

/// Takes the cells of a session that ends.
pub(super) fn take_cells(mark: &str) -> Vec<Cell> {
    let mut cells = CELLS.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = cells.extract_if(.., |(of, _, _)| of == mark);
    taken.map(|(_, _, cell)| cell).collect()
}
