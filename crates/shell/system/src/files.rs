//! The port to files.
//!
//! # Model
//! Three shapes of access are all the stores need: whole small files (read with a limit, replaced
//! atomically), logs (appended to, synced, read at random places) and directories of them.
//! There is no writing in the middle of a file and no truncation, so bytes once synced can only
//! vanish together with their file.
//!
//! # After a crash
//! | call | after it returned |
//! |---|---|
//! | [`Files::create_new`], [`Files::append`] | the entry is there; the file may be empty |
//! | [`Files::create_dir_all`] | the entry is there |
//! | [`AppendFile::append`] | any prefix of the bytes since the last sync may be there |
//! | [`AppendFile::sync_data`] | everything appended so far is there |
//! | [`Files::replace`], [`Files::replace_dated`] | the new content is there, whole |
//! | [`Files::remove_file`], [`Files::remove_dir`] | the removed entry may come back |
//!
//! A crash during [`Files::replace`] leaves the old or the new content, never a mixture, and maybe
//! a stray temporary file that [`is_temporary`] recognises.
//!
//! # Not here
//! Paths are taken as given: no expansion of `~`, and no check against escaping a directory unless
//! the files are those [`beneath`](Files::beneath) one.

use crate::error::FileResult;
use bytes::Bytes;
use dormouse_core::units::Millis;
use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Files that [`Files::walk`] finds before it fails. More than any project with sources; a walk
/// that ended up in a disk's root must not fill the memory.
pub const MOST_WALKED: usize = 200_000;

/// Directories below its start that [`Files::walk`] enters before it fails: a bound on recursion
/// and open handles, far deeper than people nest.
pub const DEEPEST_WALK: usize = 64;

/// Files and directories, real or in memory.
pub trait Files: fmt::Debug + Send + Sync {
    /// Reads a whole file, unless it is longer than `limit` bytes
    /// ([`FileError::too_large`](crate::FileError::too_large)).
    fn read(&self, path: &Path, limit: u64) -> FileResult<Bytes>;

    /// Opens a regular file for reads at any offset.
    fn open(&self, path: &Path) -> FileResult<Arc<dyn RandomRead>>;

    /// Opens a file that a person named: a regular one, or a pipe, which is read to its end.
    fn open_named(&self, path: &Path) -> FileResult<Arc<dyn RandomRead>> {
        self.open(path)
    }

    /// Opens a file for appending and creates it if it is missing.
    fn append(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>>;

    /// Creates a file that must not exist yet, and opens it for appending.
    fn create_new(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>>;

    /// Replaces whatever the file holds with `content`, atomically and durably.
    ///
    /// An existing file keeps its permissions; a new one gets `access`. A symbolic link is itself
    /// replaced, never followed, so that a planted link cannot divert the write.
    fn replace(&self, path: &Path, content: &[u8], access: Access) -> FileResult<()>;

    /// Like [`Self::replace`], and the file has this time of change from the moment it is there.
    fn replace_dated(
        &self,
        path: &Path,
        content: &[u8],
        access: Access,
        modified: Millis,
    ) -> FileResult<()>;

    /// Like [`Self::replace`] for many files: after it returned all are there, and each is old or
    /// new at any time. Where the system allows it, contents and entries are forced to disk together,
    /// which costs about as much as one file.
    fn replace_many(&self, files: &[(&Path, &[u8])], access: Access) -> FileResult<()> {
        for (path, content) in files {
            self.replace(path, content, access)?;
        }
        Ok(())
    }

    /// Entries of a directory, ordered by name. Links are reported as such.
    fn list(&self, path: &Path) -> FileResult<Vec<DirEntry>>;

    /// All regular files in a directory and below it, ordered by path. Links are neither followed
    /// nor reported, and entries that vanish meanwhile are left out.
    ///
    /// `skip` is asked about every entry, by its path relative to the directory, before anything
    /// else is done with it; an entry it returns true for is not entered. More than [`MOST_WALKED`]
    /// files or directories deeper than [`DEEPEST_WALK`] are an error.
    fn walk(&self, path: &Path, skip: &dyn Fn(&Path) -> bool) -> FileResult<Vec<Walked>>;

    /// Facts about a path; links are followed.
    fn metadata(&self, path: &Path) -> FileResult<Metadata>;

    /// The absolute path without links, `.` and `..` that leads to the same thing, which must
    /// exist.
    fn real_path(&self, path: &Path) -> FileResult<PathBuf>;

    /// Creates a directory and its missing parents; directories that exist stay as they are.
    fn create_dir_all(&self, path: &Path, access: Access) -> FileResult<()>;

    /// Removes a file; of a link the link itself.
    fn remove_file(&self, path: &Path) -> FileResult<()>;

    /// Removes a directory that holds nothing.
    fn remove_dir(&self, path: &Path) -> FileResult<()>;

    /// Takes the lock that belongs to the file at `path`, without waiting. `None` means that
    /// another holder has it, in this process or another.
    ///
    /// The lock is on a file of its own ([`lock_path`]), because the data file may be replaced,
    /// and a lock on the replaced file would guard nothing. The lock file stays when the guard is
    /// dropped: removing it would let two holders lock two different files of the same name.
    fn lock_exclusive(&self, path: &Path) -> FileResult<Option<LockGuard>>;

    /// Like [`Self::lock_exclusive`], but waits up to `most` for the holder to release it, behind
    /// those that wait already; a waiting caller has a file beside the lock, `<lock>.<number>`. In
    /// memory nothing sleeps: other threads get some turns, for any `most`.
    fn lock_waiting(&self, path: &Path, most: Duration) -> FileResult<Option<LockGuard>>;

    /// The files below a directory that exists, and nothing else.
    ///
    /// Paths given to the result are relative to `root` (the empty path is `root` itself), and it
    /// keeps hold of the directory, not of its name. Each path is resolved anew when it is used, in
    /// a way that an attacker who swaps a directory for a link in between cannot divert:
    /// - absolute paths and `..` are refused;
    /// - a symbolic link on the way or at the end is refused, as is the way into another file
    ///   system. Removing a link is allowed: that touches nothing but the link;
    /// - only regular files are read and written, and a file that also has a name elsewhere (a
    ///   second hard link) neither read, appended to nor replaced.
    ///
    /// [`Self::real_path`] gives the relative path without `.`.
    fn beneath(&self, root: &Path) -> FileResult<Arc<dyn Files>>;
}

/// A file found by [`Files::walk`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Path relative to the directory that was walked.
    pub path: PathBuf,
    /// State of the file at the time of the walk.
    pub stamp: Stamp,
}

/// Identity of one state of a file, without reading it. As long as the stamp is the same, so is the
/// content, unless two writes fall within the resolution of the file system's clock and leave the
/// same length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The number of the file on its file system; zero where the platform has none.
    pub inode: u64,
    /// Length of the content in bytes.
    pub len: u64,
    /// Time of the last change of the content, which programs can set: nanoseconds since the epoch.
    pub modified_ns: i128,
    /// Time of the last change of any kind, which programs cannot set: nanoseconds since the epoch.
    pub changed_ns: i128,
}

/// An opened file that can be read at any offset, from any number of threads.
///
/// It sees bytes appended after opening, and stays readable after the file is removed.
pub trait RandomRead: fmt::Debug + Send + Sync {
    /// Current length in bytes; grows while the file is appended to.
    fn len(&self) -> FileResult<u64>;

    /// True if the file has no bytes at this moment.
    fn is_empty(&self) -> FileResult<bool> {
        Ok(self.len()? == 0)
    }

    /// Fills `buffer` from `offset` on. Fewer bytes than asked for mean that the file ends there.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize>;

    /// The bytes from `offset` on, at most `len` of them; fewer if the file ends before.
    fn read_range(&self, offset: u64, len: u64) -> FileResult<Bytes> {
        // A range from an untrusted index must not decide how much memory is taken.
        let wanted = len.min(self.len()?.saturating_sub(offset));
        let mut buffer = vec![0; usize::try_from(wanted).unwrap_or(usize::MAX)];
        let read = self.read_at(offset, &mut buffer)?;
        buffer.truncate(read);
        Ok(buffer.into())
    }
}

/// An opened file that only grows.
pub trait AppendFile: fmt::Debug + Send {
    /// Appends `bytes` in one write call, and further calls only for what a short write left over.
    ///
    /// After an error any prefix of `bytes` may be in the file; [`Self::len`] tells how much.
    fn append(&mut self, bytes: &[u8]) -> FileResult<()>;

    /// Forces everything appended so far to disk.
    ///
    /// After an error it is unknown what is on disk, and a second call may wrongly succeed.
    /// Give the file up and open it anew.
    fn sync_data(&mut self) -> FileResult<()>;

    /// Current length in bytes, after an error that of the torn end.
    fn len(&self) -> FileResult<u64>;

    /// True if the file has no bytes at this moment.
    fn is_empty(&self) -> FileResult<bool> {
        Ok(self.len()? == 0)
    }
}

/// Permissions of a file or directory that is created. Only meaningful on Unix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The owner alone: files `0600`, directories `0700`. For everything under our own home.
    Private,
    /// Permissions that the user's umask allows. For files in the user's projects.
    Shared,
}

impl Access {
    pub(crate) const fn file_mode(self) -> u32 {
        match self {
            Self::Private => 0o600,
            Self::Shared => 0o666,
        }
    }

    pub(crate) const fn dir_mode(self) -> u32 {
        match self {
            Self::Private => 0o700,
            Self::Shared => 0o777,
        }
    }
}

/// Kind of thing that a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, the only kind that can be read and written.
    File,
    /// A directory, or a link to one where links are followed.
    Directory,
    /// A symbolic link. Only in listings.
    Symlink,
    /// A pipe, socket or device.
    Other,
}

/// Facts about a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Kind of thing it is.
    pub kind: FileKind,
    /// Length in bytes; without meaning for anything but a regular file.
    pub len: u64,
    /// Time of the last change of its content; the epoch where the file system does not say.
    pub modified: Millis,
    /// Permission bits, where the platform has them.
    pub mode: Option<u32>,
    /// State of a file; of a directory without meaning.
    pub stamp: Stamp,
}

/// One entry of a listed directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name within the directory.
    pub name: OsString,
    /// Its facts; of the link itself if it is one.
    pub metadata: Metadata,
}

/// Holds a lock until it is dropped.
#[derive(Debug)]
#[must_use = "the lock is released as soon as the guard is dropped"]
pub struct LockGuard {
    path: PathBuf,
    _held: Box<dyn Any + Send + Sync>,
}

impl LockGuard {
    /// A guard for the file at `path`; dropping `held` must release the lock.
    pub fn new(path: impl Into<PathBuf>, held: impl Any + Send + Sync) -> Self {
        Self {
            path: path.into(),
            _held: Box::new(held),
        }
    }

    /// The file the lock protects (not the lock file).
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Path of a file's lock: beside it, with `.lock` put to its name.
pub fn lock_path(path: &Path) -> PathBuf {
    // Appended to the whole name: `a.md` and `a.json` must not share a lock.
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

/// Beginning of the names of temporary files: hidden, and recognisable as Dormouse's after a crash.
pub(crate) const TEMPORARY_PREFIX: &str = ".dormouse-";
/// End of the names of temporary files, so that no `*.md` or `*.jsonl` search finds them.
pub(crate) const TEMPORARY_SUFFIX: &str = ".tmp";

/// True if a file name is one that [`Files::replace`] gives to its temporary files. A crash can
/// leave such a file behind; it never holds anything that is not elsewhere.
pub fn is_temporary(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(TEMPORARY_PREFIX.as_bytes()) && name.ends_with(TEMPORARY_SUFFIX.as_bytes())
}

/// Names that lead from a directory to a file below it; an error for a path that leaves it.
pub(crate) fn names_beneath(path: &Path) -> io::Result<Vec<&OsStr>> {
    let refused = |why: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            // C strings end at a zero byte: the kernel would see a shorter path than the one that
            // was checked.
            Component::Normal(name) if name.as_encoded_bytes().contains(&0) => {
                return refused("the path holds a zero byte");
            }
            Component::Normal(name) => names.push(name),
            // Harmless, and common in paths that models write.
            Component::CurDir => {}
            // Refused even where it would stay inside: a link on the way would change its meaning.
            Component::ParentDir => return refused("the path leads out by `..`"),
            Component::RootDir | Component::Prefix(_) => {
                return refused("the path is absolute; only relative ones are allowed here");
            }
        }
    }
    Ok(names)
}

/// Error of a walk that would not end.
pub(crate) fn walk_too_deep() -> io::Error {
    io::Error::other(format!(
        "directories are nested deeper than {DEEPEST_WALK}; leave some out"
    ))
}

/// Error of a walk that found too much.
pub(crate) fn walk_too_long() -> io::Error {
    io::Error::other(format!("more than {MOST_WALKED} files; leave some out"))
}

/// The directory a path lies in; a bare name lies in the current one.
pub(crate) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        // The parent of a bare name is the empty path, which cannot be opened.
        Some(_) => Path::new("."),
        None => path,
    }
}

/// Hands `bytes` to `write` in one call, and calls again only for the rest of a short write.
///
/// Both implementations share it, so that the faults injected into one test the loop of the other.
pub(crate) fn write_fully(
    mut bytes: &[u8],
    mut write: impl FnMut(&[u8]) -> io::Result<usize>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(bytes) {
            // Without this a file system that writes nothing would keep the loop going for ever.
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            // A signal came first; nothing was written.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_lies_beside_the_file() {
        assert_eq!(
            lock_path(Path::new("/a/s.jsonl")),
            Path::new("/a/s.jsonl.lock")
        );
    }

    #[test]
    fn a_bare_name_lies_in_the_current_directory() {
        assert_eq!(parent_of(Path::new("a")), Path::new("."));
        assert_eq!(parent_of(Path::new("/a")), Path::new("/"));
        assert_eq!(parent_of(Path::new("/")), Path::new("/"));
    }

    #[test]
    fn only_our_own_temporary_names_are_recognised() {
        assert!(is_temporary(OsStr::new(".dormouse-x1.tmp")));
        assert!(!is_temporary(OsStr::new("notes.tmp")));
        assert!(!is_temporary(OsStr::new(".dormouse-settings")));
    }

    #[test]
    fn interrupted_writes_are_repeated_and_short_ones_continued() {
        let mut taken = Vec::new();
        let mut calls = 0;
        write_fully(b"abcdef", |bytes| {
            calls += 1;
            if calls == 2 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let part = &bytes[..bytes.len().min(4)];
            taken.extend_from_slice(part);
            Ok(part.len())
        })
        .unwrap();
        assert_eq!((taken.as_slice(), calls), (b"abcdef".as_slice(), 3));
    }
}
