//! Walking a directory by its handle: each directory is opened once, from the one above it, and
//! each file asked about by its bare name, so no path is resolved twice.
//!
//! # Not here
//! The rules for entering below a root: [`super::resolve`].

use super::resolve::{facts_of, is_gone, stamp_of};
use crate::files::{DEEPEST_WALK, DirEntry, MOST_WALKED, Walked, walk_too_deep, walk_too_long};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Step from a directory into one that lies in it.
pub(super) type Enter<'a> = &'a dyn Fn(BorrowedFd<'_>, &OsStr) -> io::Result<OwnedFd>;

/// The step where nothing is forbidden but to follow a link.
pub(super) fn enter(above: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(above, name, flags, Mode::empty())?)
}

/// All regular files below an opened directory, ordered by path.
pub(super) fn walk(
    start: &OwnedFd,
    skip: &dyn Fn(&Path) -> bool,
    enter: Enter<'_>,
) -> io::Result<Vec<Walked>> {
    let mut walk = Walk {
        skip,
        enter,
        found: Vec::new(),
    };
    walk.directory(start, Path::new(""), 0)?;
    Ok(walk.found)
}

struct Walk<'a> {
    skip: &'a dyn Fn(&Path) -> bool,
    enter: Enter<'a>,
    found: Vec<Walked>,
}

impl Walk<'_> {
    fn directory(&mut self, directory: &OwnedFd, path: &Path, depth: usize) -> io::Result<()> {
        // Recursion and open handles grow with the depth.
        if depth > DEEPEST_WALK {
            return Err(walk_too_deep());
        }
        for (name, kind) in entries(directory)? {
            let name = OsStr::from_bytes(name.to_bytes());
            let path = path.join(name);
            if (self.skip)(&path) {
                continue;
            }
            match kind {
                // Without a kind from the listing, each entry has to be asked for its own.
                FileType::RegularFile | FileType::Unknown => {
                    self.entry(directory, name, path, depth)?;
                }
                FileType::Directory => self.below(directory, name, &path, depth)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A file, as far as the listing tells; some file systems leave the kind open.
    fn entry(
        &mut self,
        directory: &OwnedFd,
        name: &OsStr,
        path: PathBuf,
        depth: usize,
    ) -> io::Result<()> {
        let stat = match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // Removed since the listing; a walk shows a moment, not an error.
            Err(error) if is_gone(error) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => self.below(directory, name, &path, depth),
            FileType::RegularFile if self.found.len() == MOST_WALKED => Err(walk_too_long()),
            FileType::RegularFile => {
                let stamp = stamp_of(&stat);
                self.found.push(Walked { path, stamp });
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn below(
        &mut self,
        directory: &OwnedFd,
        name: &OsStr,
        path: &Path,
        depth: usize,
    ) -> io::Result<()> {
        match (self.enter)(directory.as_fd(), name) {
            Ok(inner) => self.directory(&inner, path, depth + 1),
            // Removed, or made something else, since it was listed.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Name and kind of everything in an opened directory, ordered by name.
fn entries(directory: &OwnedFd) -> io::Result<Vec<(Box<CStr>, FileType)>> {
    let mut entries: Vec<(Box<CStr>, FileType)> = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        // Entering them would walk in a cycle.
        if name != c"." && name != c".." {
            entries.push((name.into(), entry.file_type()));
        }
    }
    // Paths come out in order without sorting them all at the end.
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

/// Entries of an opened directory with their facts, ordered by name.
pub(super) fn list(directory: &OwnedFd) -> io::Result<Vec<DirEntry>> {
    let mut listed = Vec::new();
    for (name, _) in entries(directory)? {
        match rustix::fs::statat(directory, &*name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => listed.push(DirEntry {
                name: OsStr::from_bytes(name.to_bytes()).to_owned(),
                metadata: facts_of(&stat),
            }),
            // Removed between the listing and the question; an entry that is gone is no error.
            Err(error) if is_gone(error) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(listed)
}
