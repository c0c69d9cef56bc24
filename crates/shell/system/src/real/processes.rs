//! Processes of the operating system.
//!
//! With a `/proc`, a start is the boot's id and the ticks since that boot; elsewhere the
//! system only tells whether a number is in use.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the place the ban on file functions points to"
)]

use crate::processes::{ProcessId, ProcessStart, Processes};
use std::fs;

/// Processes of the machine, as the kernel lists them.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealProcesses;

impl Processes for RealProcesses {
    fn own(&self) -> ProcessId {
        let pid = std::process::id();
        ProcessId {
            pid,
            start: self.start_of(pid).unwrap_or_else(ProcessStart::unknown),
        }
    }

    fn start_of(&self, pid: u32) -> Option<ProcessStart> {
        match fs::read(format!("/proc/{pid}/stat")) {
            Ok(stat) => match parse_stat(&String::from_utf8_lossy(&stat))? {
                // A zombie holds no lock any more; counting it as running would block until it is
                // reaped.
                (b'Z' | b'X', _) => None,
                (_, ticks) => Some(started_at(ticks)),
            },
            // No `/proc`, or one that hides other users' processes: only the existence can be
            // asked.
            Err(_) => exists(pid).then(ProcessStart::unknown),
        }
    }
}

fn started_at(ticks: u64) -> ProcessStart {
    match fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        // Ticks restart with the machine; the boot's id tells two boots apart.
        Ok(boot) => ProcessStart::new(format!("{}/{ticks}", boot.trim())),
        // A container may hide the file; then any process of the number counts.
        Err(_) => ProcessStart::unknown(),
    }
}

/// State and start, fields 3 and 22. The second field is the program's name in parentheses, which
/// may itself hold blanks and parentheses, so the search starts at the last one.
fn parse_stat(stat: &str) -> Option<(u8, u64)> {
    /// Distance between the fields 3 and 22 of `man 5 proc`.
    const FIELDS_FROM_STATE_TO_START: usize = 19;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let start = fields.nth(FIELDS_FROM_STATE_TO_START - 1)?.parse().ok()?;
    Some((state, start))
}

#[cfg(unix)]
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| {
        // Any other error, such as a missing permission, still means that the process exists.
        !matches!(
            rustix::process::test_kill_process(pid),
            Err(rustix::io::Errno::SRCH)
        )
    })
}

#[cfg(not(unix))]
fn exists(_: u32) -> bool {
    // The system cannot be asked: treated as running, so that no lock is broken.
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let stat = "77 (a) b (c)) S 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        assert_eq!(parse_stat(stat), Some((b'S', 98_765)));
        assert_eq!(parse_stat("77 (a) S 1"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn this_process_runs_and_started_once() {
        let own = RealProcesses.own();
        assert_eq!(own, RealProcesses.own());
        assert!(RealProcesses.is_running(&own));
        let earlier = ProcessId {
            start: ProcessStart::new("another-boot/1"),
            ..own
        };
        if cfg!(target_os = "linux") {
            assert!(!RealProcesses.is_running(&earlier));
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_ended_child_does_not_run() {
        let mut child = std::process::Command::new("sh")
            .args(["-c", "read line"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        let start = RealProcesses.start_of(pid).unwrap();
        let id = ProcessId { pid, start };
        assert!(RealProcesses.is_running(&id));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!RealProcesses.is_running(&id));
        assert_eq!(RealProcesses.start_of(u32::MAX), None);
    }
}
