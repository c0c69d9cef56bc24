//! Filter of system calls, for what Landlock has no word for.
//!
//! # Model
//! Like Landlock, a filter binds the thread that asks for it and every process it starts. Refused
//! calls fail with "permission denied", as if a file's rights forbade it; all others pass. Closed
//! are: sockets of every kind (pairs within a program excepted), the queue of calls that could open
//! one unseen, changes of rights, owners, times and attributes of files, memory and queues shared
//! by name, keys of the kernel, and the memory of other processes.
//!
//! # Not here
//! Files and directories: Landlock, in `sandbox`.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter};
use std::env::consts::ARCH;

/// Error number of refused calls, that of a missing permission.
const DENIED: u32 = libc::EACCES.unsigned_abs();

/// Bit that marks a call of the x32 kind, which the same kernel serves under other numbers.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// Calls newer than the table of numbers in use, refused to every program. They have one number on
/// every machine.
const NEWER: [i64; 2] = [
    425, // io_uring_setup
    438, // pidfd_getfd
];

/// Calls newer than the table that change facts about files.
const NEWER_CHANGES: [i64; 4] = [
    452, // fchmodat2
    463, // setxattrat
    466, // removexattrat
    469, // file_setattr
];

/// Calls that are refused to every program.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_socket,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_shmget,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
];

/// Calls that change facts about files, refused to programs that may only read.
const CHANGES: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

/// Older names of some of them, which newer machines do not have.
#[cfg(target_arch = "x86_64")]
const OLDER: &[libc::c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[libc::c_long] = &[];

/// Binds this thread for good; the error says why the machine does not allow it. A program that
/// `writes` may change the rights and times of its files: builds and version control do.
pub(super) fn refuse_calls(writes: bool) -> Result<(), String> {
    let machine = TargetArch::try_from(ARCH).map_err(|error| error.to_string())?;
    let always = REFUSED.iter().copied().chain(NEWER);
    let changes = CHANGES.iter().chain(OLDER).copied().chain(NEWER_CHANGES);
    let calls = always.chain(changes.filter(|_| !writes));
    #[cfg(target_arch = "x86_64")]
    let calls = calls.flat_map(|call| [call, call | X32]);
    let filter = SeccompFilter::new(
        calls.map(|call| (call, Vec::new())).collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(DENIED),
        machine,
    );
    let program: BpfProgram = filter
        .and_then(BpfProgram::try_from)
        .map_err(|error| error.to_string())?;
    apply_filter(&program).map_err(|error| error.to_string())
}
