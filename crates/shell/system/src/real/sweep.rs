//! End of all processes that carry a session's mark in their environment.

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

/// Kills every process with the mark, waits until they are gone, and counts them.
#[cfg(target_os = "linux")]
pub(super) fn sweep(mark: &str) -> usize {
    let marked = format!("{}={mark}", crate::commands::MARK);
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
            let ours = environment
                .split(|byte| *byte == 0)
                .any(|entry| entry == marked.as_bytes());
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
