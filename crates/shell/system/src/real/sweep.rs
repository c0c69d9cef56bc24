//! End of all processes that carry a session's mark in their environment.
//!
//! A process can give itself another environment, and with it lose the mark. Orphans therefore come to
//! this process instead of the system's first one ([`adopt_orphans`]): one that has no mark and a
//! group of its own was started by a command that hid it.
#![expect(
    clippy::disallowed_methods,
    reason = "processes are files of the kernel, which no port covers"
)]

#[cfg(target_os = "linux")]
use rustix::event::{PollFd, PollFlags, Timespec, poll};
#[cfg(target_os = "linux")]
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

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

/// Makes this process the parent of orphans that its commands leave behind.
#[cfg(target_os = "linux")]
pub(super) fn adopt_orphans() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // A kernel that refuses leaves the mark alone to go by.
    ONCE.call_once(|| {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).ok();
    });
}

/// Elsewhere orphans go to the system's first process.
#[cfg(not(target_os = "linux"))]
pub(super) fn adopt_orphans() {}

/// True for a living child of this process in a group of its own.
#[cfg(target_os = "linux")]
fn is_adopted(stat: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stat);
    // The name stands in brackets and may hold anything; the figures follow its last bracket.
    let mut fields = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let (state, parent, group) = (fields.next(), fields.next(), fields.next());
    let own = rustix::process::getpid().as_raw_nonzero().to_string();
    let ours = rustix::process::getpgrp().as_raw_nonzero().to_string();
    // A zombie is dead, and its end belongs to the thread that waits for it.
    state != Some("Z") && parent == Some(own.as_str()) && group.is_some_and(|group| group != ours)
}

/// Kills every process with the mark, waits until they are gone, and counts them.
#[cfg(target_os = "linux")]
pub(super) fn sweep(mark: &str) -> usize {
    let marked = format!("{}={mark}", crate::commands::MARK);
    let any_mark = format!("{}=", crate::commands::MARK);
    let mut killed = 0;
    for _ in 0..ROUNDS {
        let before = killed;
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        for process in processes {
            let number = process.file_name();
            let number = number.to_str().and_then(|name| name.parse::<i32>().ok());
            let Some(pid) = number.and_then(Pid::from_raw) else {
                continue;
            };
            // Opened before the environment is read: the number may pass to another process.
            let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
                continue;
            };
            // Environments of other users cannot be read, and their processes are not ours.
            let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
            let mut entries = environment.split(|byte| *byte == 0);
            let has_mark = |entry: &[u8]| entry.starts_with(any_mark.as_bytes());
            let ours = entries.clone().any(|entry| entry == marked.as_bytes())
                || (!entries.any(has_mark)
                    && is_adopted(&std::fs::read(process.path().join("stat")).unwrap_or_default()));
            if ours && pidfd_send_signal(&handle, Signal::KILL).is_ok() {
                killed += 1;
                // A process on its way out still shows its environment, and would be counted again.
                let mut gone = [PollFd::new(&handle, PollFlags::IN)];
                let _late = poll(&mut gone, Some(&PATIENCE));
            }
        }
        if killed == before {
            break;
        }
    }
    killed
}

/// Elsewhere processes do not show their environment.
#[cfg(not(target_os = "linux"))]
pub(super) fn sweep(_: &str) -> usize {
    0
}
