//! Errors of files, with the step at which they happened.
//!
//! # Not here
//! Errors of formats: the stores have their own.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Result of the file ports.
pub type FileResult<T> = Result<T, FileError>;

/// One step of work on a file, about as fine as a system call.
///
/// The same names are used to report an error and to say where a [`Fault`](crate::Fault) strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Reading a whole file.
    Read,
    /// Opening a file for random access.
    Open,
    /// Reading a range of an opened file.
    ReadAt,
    /// Asking for kind, length and time of a path or of an opened file.
    Metadata,
    /// Listing the entries of a directory.
    List,
    /// Creating one directory; its parents are steps of their own.
    CreateDir,
    /// Creating a file, also the temporary one of an atomic replacement.
    CreateFile,
    /// Opening a file for appending, creating it if need be.
    OpenAppend,
    /// One write call, perhaps of a part.
    Write,
    /// Forcing a file's content to disk.
    SyncData,
    /// Moving a temporary file over the one it replaces.
    Rename,
    /// Forcing a directory's entries to disk.
    SyncDir,
    /// Removing a file or an empty directory.
    Remove,
    /// Taking the lock that belongs to a file.
    Lock,
}

impl fmt::Display for Operation {
    /// A verb that fits after "failed to" and before a path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read | Self::ReadAt => "read",
            Self::Open => "open",
            Self::Metadata => "inspect",
            Self::List => "list",
            Self::CreateDir => "create directory",
            Self::CreateFile => "create",
            Self::OpenAppend => "open for appending",
            Self::Write => "write",
            Self::SyncData => "sync",
            Self::Rename => "replace",
            Self::SyncDir => "sync directory",
            Self::Remove => "remove",
            Self::Lock => "lock",
        })
    }
}

/// An operation on a file that did not succeed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {operation} `{}`", path.display())]
pub struct FileError {
    /// The step that failed.
    pub operation: Operation,
    /// The path the caller gave, not a temporary file's.
    pub path: PathBuf,
    /// The error of the operating system.
    #[source]
    pub source: io::Error,
}

impl FileError {
    /// Puts an operation and a path to an error of the operating system.
    pub fn new(operation: Operation, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self {
            operation,
            path: path.into(),
            source,
        }
    }

    /// The kind the operating system gave.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    /// True if nothing is there. A file where a parent directory was expected counts: a caller that
    /// asks for `notes/today.md` does not care that `notes` is a file.
    pub fn not_found(&self) -> bool {
        matches!(
            self.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    }

    /// Something is there already.
    pub fn already_exists(&self) -> bool {
        self.kind() == io::ErrorKind::AlreadyExists
    }

    /// The user may not do this here.
    pub fn permission_denied(&self) -> bool {
        matches!(
            self.kind(),
            // For a user both mean the same: nothing can be written here.
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
        )
    }

    /// A directory is where a file was expected.
    pub fn is_directory(&self) -> bool {
        self.kind() == io::ErrorKind::IsADirectory
    }

    /// The file is longer than the reader was willing to take.
    pub fn too_large(&self) -> bool {
        self.kind() == io::ErrorKind::FileTooLarge
    }

    /// The disk, or the user's share of it, is full.
    pub fn storage_full(&self) -> bool {
        matches!(
            self.kind(),
            // Deleting files helps in both cases.
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }
}

/// Turns "not there" into `None` where absence is an ordinary answer.
pub trait OptionalFile<T> {
    /// `Ok(None)` if the error is [`FileError::not_found`]; other errors stay.
    fn optional(self) -> FileResult<Option<T>>;
}

impl<T> OptionalFile<T> for FileResult<T> {
    fn optional(self) -> FileResult<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            // Only absence: a missing permission must not look like a missing file.
            Err(error) if error.not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// `result.during(operation, path)`: adds step and path to an [`io::Result`].
pub(crate) trait During<T> {
    fn during(self, operation: Operation, path: &Path) -> FileResult<T>;
}

impl<T> During<T> for io::Result<T> {
    fn during(self, operation: Operation, path: &Path) -> FileResult<T> {
        self.map_err(|source| FileError::new(operation, path, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn the_message_names_operation_and_path_and_leaves_the_cause_to_the_chain() {
        let error = FileError::new(
            Operation::OpenAppend,
            "/a/b",
            io::Error::other("cable unplugged"),
        );
        assert_eq!(error.to_string(), "failed to open for appending `/a/b`");
        assert_eq!(error.source().unwrap().to_string(), "cable unplugged");
    }

    #[test]
    fn only_absence_becomes_none() {
        let fail = |kind: io::ErrorKind| -> FileResult<()> {
            Err(FileError::new(Operation::Read, "/x", kind.into()))
        };
        assert!(matches!(fail(io::ErrorKind::NotFound).optional(), Ok(None)));
        assert!(matches!(
            fail(io::ErrorKind::NotADirectory).optional(),
            Ok(None)
        ));
        assert!(fail(io::ErrorKind::PermissionDenied).optional().is_err());
        assert!(matches!(Ok(7).optional(), Ok(Some(7))));
    }
}
