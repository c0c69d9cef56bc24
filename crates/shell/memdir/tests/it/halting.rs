//! Files that stop the process at a chosen step, so that it can be killed exactly there.

use bytes::Bytes;
use dormouse_core::units::Millis;
use dormouse_system::{
    Access, AppendFile, DirEntry, FileResult, Files, LockGuard, Metadata, RandomRead, Walked,
};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Passes everything on, until a number of steps that write have been made.
#[derive(Clone, Debug)]
pub(crate) struct Halting {
    inner: Arc<dyn Files>,
    left: Arc<AtomicU64>,
}

impl Halting {
    pub(crate) fn new(inner: Arc<dyn Files>, steps: u64) -> Self {
        Self {
            inner,
            left: Arc::new(AtomicU64::new(steps)),
        }
    }

    /// A named point: says where it is and waits to be killed, if it is the one.
    fn point(&self, what: &str, path: &Path) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            let mut out = std::io::stdout().lock();
            writeln!(out, "\nhalted before {what} {}", path.display()).unwrap();
            out.flush().unwrap();
            drop(out);
            loop {
                std::thread::park();
            }
        }
    }

    fn appending(&self, path: &Path, file: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
        Box::new(Appending {
            files: self.clone(),
            path: path.to_owned(),
            file,
        })
    }
}

#[derive(Debug)]
struct Appending {
    files: Halting,
    path: PathBuf,
    file: Box<dyn AppendFile>,
}

impl AppendFile for Appending {
    fn append(&mut self, bytes: &[u8]) -> FileResult<()> {
        self.files.point("append", &self.path);
        self.file.append(bytes)
    }

    fn sync_data(&mut self) -> FileResult<()> {
        self.files.point("sync", &self.path);
        self.file.sync_data()
    }

    fn len(&self) -> FileResult<u64> {
        self.file.len()
    }
}

impl Files for Halting {
    fn read(&self, path: &Path, limit: u64) -> FileResult<Bytes> {
        self.inner.read(path, limit)
    }

    fn open(&self, path: &Path) -> FileResult<Arc<dyn RandomRead>> {
        self.inner.open(path)
    }

    fn append(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>> {
        self.point("open for appending", path);
        Ok(self.appending(path, self.inner.append(path, access)?))
    }

    fn create_new(&self, path: &Path, access: Access) -> FileResult<Box<dyn AppendFile>> {
        self.point("create", path);
        Ok(self.appending(path, self.inner.create_new(path, access)?))
    }

    fn replace(&self, path: &Path, content: &[u8], access: Access) -> FileResult<()> {
        self.point("replace", path);
        self.inner.replace(path, content, access)
    }

    fn replace_dated(
        &self,
        path: &Path,
        content: &[u8],
        access: Access,
        modified: Millis,
    ) -> FileResult<()> {
        self.point("replace", path);
        self.inner.replace_dated(path, content, access, modified)
    }

    fn list(&self, path: &Path) -> FileResult<Vec<DirEntry>> {
        self.inner.list(path)
    }

    fn walk(&self, path: &Path, skip: &dyn Fn(&Path) -> bool) -> FileResult<Vec<Walked>> {
        self.inner.walk(path, skip)
    }

    fn metadata(&self, path: &Path) -> FileResult<Metadata> {
        self.inner.metadata(path)
    }

    fn real_path(&self, path: &Path) -> FileResult<PathBuf> {
        self.inner.real_path(path)
    }

    fn create_dir_all(&self, path: &Path, access: Access) -> FileResult<()> {
        self.point("create directory", path);
        self.inner.create_dir_all(path, access)
    }

    fn remove_file(&self, path: &Path) -> FileResult<()> {
        self.point("remove", path);
        self.inner.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> FileResult<()> {
        self.point("remove", path);
        self.inner.remove_dir(path)
    }

    fn lock_exclusive(&self, path: &Path) -> FileResult<Option<LockGuard>> {
        self.inner.lock_exclusive(path)
    }

    fn lock_waiting(&self, path: &Path, most: Duration) -> FileResult<Option<LockGuard>> {
        self.inner.lock_waiting(path, most)
    }

    fn beneath(&self, root: &Path) -> FileResult<Arc<dyn Files>> {
        Ok(Arc::new(Self {
            inner: self.inner.beneath(root)?,
            left: Arc::clone(&self.left),
        }))
    }
}
