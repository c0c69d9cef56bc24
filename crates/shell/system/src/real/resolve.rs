//! Resolving a path below a directory without ever leaving it.
//!
//! # Model
//! A [`Root`] holds the directory open. A path is a list of names ([`names_beneath`]), and the
//! kernel resolves it against the open directory at the moment of use, under the condition that
//! there is no link and no change of file system on the way. Checking first and opening later would
//! leave a gap in which an attacker could put a link in; here there is none.
//!
//! Kernels without that ability (and sandboxes that hide it) are served name by name: each
//! directory is opened from the one above it and must not be a link. That is just as safe against
//! links, but knows another file system only by the number its directories have, so a directory of
//! the same file system mounted elsewhere passes, and so does a single file.
//!
//! [`names_beneath`]: crate::files::names_beneath

use crate::files::{FileKind, Metadata, Stamp};
use dormouse_core::units::Millis;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::path::PathBuf;

/// Method by which paths are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By the kernel in one go; name by name where it cannot.
    AtOnce,
    /// Name by name, for old kernels and for tests.
    NameByName,
}

/// Opened only to go on from there, which needs no permission to read.
#[cfg(target_os = "linux")]
const PASSING: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASSING: OFlags = OFlags::RDONLY;

/// Flags of every open: never wait for the other end of a pipe, never become the controlling
/// terminal, never be inherited by a child.
const ALWAYS: OFlags = OFlags::CLOEXEC
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

/// Repetitions of a resolution that the kernel says was disturbed by a rename. Each needs another
/// rename at the wrong moment; a bound, because an attacker can go on renaming.
#[cfg(target_os = "linux")]
const MOST_DISTURBANCES: u32 = 128;

/// A directory held open, below which everything happens.
#[derive(Debug)]
pub(super) struct Root {
    directory: OwnedFd,
    device: u64,
    way: Way,
}

impl Root {
    pub(super) fn new(directory: OwnedFd, way: Way) -> io::Result<Self> {
        let device = device_of(&rustix::fs::fstat(&directory)?);
        Ok(Self {
            directory,
            device,
            way,
        })
    }

    pub(super) fn way(&self) -> Way {
        self.way
    }

    /// A directory below the root; the root itself without names.
    pub(super) fn directory(&self, names: &[&OsStr]) -> io::Result<OwnedFd> {
        if names.is_empty() {
            return self.directory.try_clone();
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        self.open(self.directory.as_fd(), names, flags, Mode::empty())
    }

    /// The directory that something lies in, and its name there.
    pub(super) fn parent<'a>(&self, names: &[&'a OsStr]) -> io::Result<(OwnedFd, &'a OsStr)> {
        match names {
            // The root has no name of its own, so it can be neither written nor removed.
            [] => Err(io::ErrorKind::IsADirectory.into()),
            [above @ .., name] => Ok((self.directory(above)?, name)),
        }
    }

    /// One step down from a directory that was found before.
    pub(super) fn enter(&self, above: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        self.open(above, &[name], flags, Mode::empty())
    }

    /// Facts about the entry that the names lead to.
    pub(super) fn stat(&self, names: &[&OsStr]) -> io::Result<Stat> {
        let found = if names.is_empty() {
            self.directory.try_clone()?
        } else {
            self.open(self.directory.as_fd(), names, PASSING, Mode::empty())?
        };
        let stat = rustix::fs::fstat(found)?;
        // With `PASSING` a link itself is opened, not refused; reporting its facts would reveal
        // one.
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(link_in_the_way());
        }
        Ok(stat)
    }

    /// Opens a regular file that has no other name. `mode` is for one that is created.
    pub(super) fn file(&self, names: &[&OsStr], flags: OFlags, mode: Mode) -> io::Result<File> {
        if names.is_empty() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // Checked on the open file: a check by name could meet another one.
        let opened = self.open(self.directory.as_fd(), names, flags, mode)?;
        check_ordinary(&rustix::fs::fstat(&opened)?)?;
        Ok(opened.into())
    }

    /// Opens below `start`, which must be the root or lie below it.
    fn open(
        &self,
        start: BorrowedFd<'_>,
        names: &[&OsStr],
        flags: OFlags,
        mode: Mode,
    ) -> io::Result<OwnedFd> {
        let flags = flags | ALWAYS;
        #[cfg(target_os = "linux")]
        if self.way == Way::AtOnce {
            match open_at_once(start, names, flags, mode) {
                // An old kernel, or a sandbox that does not know the call.
                Err(Errno::NOSYS | Errno::PERM) => {}
                Err(Errno::NOTDIR) if ends_in_link(start, names) => {
                    return Err(link_in_the_way());
                }
                result => return result.map_err(explain),
            }
        }
        self.open_name_by_name(start, names, flags, mode)
    }

    fn open_name_by_name(
        &self,
        start: BorrowedFd<'_>,
        names: &[&OsStr],
        flags: OFlags,
        mode: Mode,
    ) -> io::Result<OwnedFd> {
        // Without a name there is nothing to open; the root has a way of its own.
        let [above @ .., last] = names else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut directory: Option<OwnedFd> = None;
        for name in above {
            let here = directory.as_ref().map_or(start, AsFd::as_fd);
            let flags = PASSING | OFlags::DIRECTORY | ALWAYS;
            directory = Some(self.open_name(here, name, flags, Mode::empty())?);
        }
        let here = directory.as_ref().map_or(start, AsFd::as_fd);
        self.open_name(here, last, flags, mode)
    }

    fn open_name(
        &self,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        flags: OFlags,
        mode: Mode,
    ) -> io::Result<OwnedFd> {
        // A handle to pass through never waits, and the kernel refuses these flags with it.
        let flags = if flags.contains(PASSING) && PASSING != OFlags::RDONLY {
            flags - OFlags::NONBLOCK - OFlags::NOCTTY
        } else {
            flags
        };
        match rustix::fs::openat(directory, name, flags, mode) {
            Ok(opened) if self.leads_elsewhere(&opened)? => Err(explain(Errno::XDEV)),
            Ok(opened) => Ok(opened),
            // A link that is opened as a directory is reported as no directory.
            Err(Errno::NOTDIR) if is_link(directory, name) => Err(explain(Errno::LOOP)),
            Err(error) => Err(explain(error)),
        }
    }
}

impl Root {
    /// True for a directory of another file system. Only directories are asked: an overlay shows
    /// its files with the numbers of the file systems that lie beneath it.
    fn leads_elsewhere(&self, opened: &OwnedFd) -> io::Result<bool> {
        let stat = rustix::fs::fstat(opened)?;
        let is_directory = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Ok(is_directory && device_of(&stat) != self.device)
    }
}

#[cfg(target_os = "linux")]
fn open_at_once(
    start: BorrowedFd<'_>,
    names: &[&OsStr],
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let path: PathBuf = names.iter().collect();
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    // This call refuses flags that mean nothing where `open` overlooks them.
    let flags = if flags.contains(OFlags::PATH) {
        flags & (OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC)
    } else {
        flags
    };
    let mut disturbed = 0;
    loop {
        match rustix::fs::openat2(start, &path, flags, mode, resolve) {
            // The kernel cannot tell a rename nearby from an escape, and asks to be called again.
            Err(Errno::AGAIN | Errno::INTR) if disturbed < MOST_DISTURBANCES => disturbed += 1,
            result => return result,
        }
    }
}

/// True if a path that is no directory is a link. The kernel reports both alike.
#[cfg(target_os = "linux")]
fn ends_in_link(start: BorrowedFd<'_>, names: &[&OsStr]) -> bool {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open_at_once(start, names, flags, Mode::empty())
        .and_then(rustix::fs::fstat)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Refuses everything but a regular file with a single name.
pub(super) fn check_ordinary(stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        // Writing to it would change a file outside, under its other name.
        FileType::RegularFile if stat.st_nlink > 1 => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the file has a second name (hard link), which may lie anywhere",
        )),
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(io::ErrorKind::IsADirectory.into()),
        FileType::Symlink => Err(link_in_the_way()),
        _ => Err(no_regular_file()),
    }
}

/// Kernel errors that stand for a refusal here, in words.
fn explain(error: Errno) -> io::Error {
    match error {
        Errno::LOOP => link_in_the_way(),
        Errno::XDEV => io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the path leads into another file system",
        ),
        // Error of opening a socket, or a pipe without a reader.
        Errno::NXIO => no_regular_file(),
        error => error.into(),
    }
}

fn link_in_the_way() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "the path leads over a symbolic link",
    )
}

fn no_regular_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

fn is_link(directory: BorrowedFd<'_>, name: &OsStr) -> bool {
    rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// True if an error says that an entry is gone.
pub(super) fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR)
}

fn device_of(stat: &Stat) -> u64 {
    stat.st_dev
}

pub(super) fn stamp_of(stat: &Stat) -> Stamp {
    /// Nanoseconds in a second.
    const NANOS: i128 = 1_000_000_000;
    Stamp {
        inode: stat.st_ino,
        len: u64::try_from(stat.st_size).unwrap_or(0),
        modified_ns: i128::from(stat.st_mtime) * NANOS + i128::from(stat.st_mtime_nsec),
        changed_ns: i128::from(stat.st_ctime) * NANOS + i128::from(stat.st_ctime_nsec),
    }
}

pub(super) fn facts_of(stat: &Stat) -> Metadata {
    /// Nanoseconds in a millisecond.
    const NANOS_PER_MILLI: i128 = 1_000_000;
    let stamp = stamp_of(stat);
    let millis = stamp.modified_ns.div_euclid(NANOS_PER_MILLI);
    Metadata {
        kind: match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => FileKind::File,
            FileType::Directory => FileKind::Directory,
            FileType::Symlink => FileKind::Symlink,
            _ => FileKind::Other,
        },
        len: stamp.len,
        // Beyond 64 bits of milliseconds only a damaged file system dates its files.
        modified: Millis(i64::try_from(millis).unwrap_or_default()),
        mode: Some(stat.st_mode & 0o7777),
        stamp,
    }
}
