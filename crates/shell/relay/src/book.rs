//! The book on disk: one file a day, one line a request.
//!
//! # Model
//! A thread owns the open file and takes entries from a channel, so that no request waits for a
//! disk. Lines that arrive together are written together. A line that cannot be written is counted
//! and dropped: figures are not worth a failed request.
//!
//! # Not here
//! The meaning of entries: [`crate::report`], [`crate::relay`].

use crate::entry::Entry;
use dormouse_core::units::Millis;
use dormouse_system::{Access, AppendFile, FileError, Files, LockGuard, System};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Beginning of the name of a day's file.
const PREFIX: &str = "requests-";
/// End of the name of a day's file.
const SUFFIX: &str = ".jsonl";
/// Bytes read of a day's file: some ten million requests, more than a day has.
const LONGEST_FILE: u64 = 4 * 1024 * 1024 * 1024;
/// Bytes read at a time while a file is scanned.
const PIECE: u64 = 1024 * 1024;

/// Reason that the book cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// Another process writes it.
    #[error("another gateway writes {}", .0.display())]
    Taken(PathBuf),
    /// The folder or its secret cannot be read or written.
    #[error("the gateway's folder cannot be used")]
    File(#[from] FileError),
}

/// Folder of the gateway below the home.
pub fn folder(home: &Path) -> PathBuf {
    home.join("gateway")
}

/// The writer of the book.
#[derive(Debug)]
pub(crate) struct Book {
    sender: Option<Sender<Entry>>,
    thread: Option<JoinHandle<()>>,
    lost: Arc<AtomicU64>,
    _lock: LockGuard,
}

impl Book {
    /// Takes the lock and starts the writer.
    pub(crate) fn open(system: &System, folder: &Path) -> Result<Self, BookError> {
        system.files.create_dir_all(folder, Access::Private)?;
        let lock = folder.join("book");
        let Some(guard) = system.files.lock_exclusive(&lock)? else {
            return Err(BookError::Taken(folder.to_owned()));
        };
        let (sender, receiver) = channel();
        let lost = Arc::new(AtomicU64::new(0));
        let writer = Writer {
            files: Arc::clone(&system.files),
            folder: folder.to_owned(),
            open: None,
            lost: Arc::clone(&lost),
        };
        Ok(Self {
            sender: Some(sender),
            thread: Some(std::thread::spawn(move || writer.run(&receiver))),
            lost,
            _lock: guard,
        })
    }

    /// Hands an entry to the writer.
    pub(crate) fn write(&self, entry: Entry) {
        let sent = match &self.sender {
            Some(sender) => sender.send(entry).is_ok(),
            None => false,
        };
        if !sent {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of entries that could not be written.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Book {
    // Everything that was handed over is written before the lock is released.
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

struct Writer {
    files: Arc<dyn Files>,
    folder: PathBuf,
    /// Day and file that the last entry went to.
    open: Option<(String, Box<dyn AppendFile>)>,
    lost: Arc<AtomicU64>,
}

impl Writer {
    fn run(mut self, entries: &Receiver<Entry>) {
        while let Ok(first) = entries.recv() {
            let mut batch = vec![first];
            batch.extend(entries.try_iter());
            for of_day in batch.chunk_by(|one, next| day(one.at) == day(next.at)) {
                if self.append(of_day).is_err() {
                    // Opened anew for the next entry: a full disk may have room again.
                    self.open = None;
                    self.lost.fetch_add(of_day.len() as u64, Ordering::Relaxed);
                }
            }
        }
    }

    fn append(&mut self, entries: &[Entry]) -> Result<(), FileError> {
        let Some(day) = entries.first().map(|entry| day(entry.at)) else {
            return Ok(());
        };
        let mut lines = Vec::new();
        for entry in entries {
            // Plain values without maps: serialising them cannot fail.
            if serde_json::to_writer(&mut lines, entry).is_ok() {
                lines.push(b'\n');
            }
        }
        if self.open.as_ref().is_none_or(|(open, _)| *open != day) {
            let path = self.folder.join(format!("{PREFIX}{day}{SUFFIX}"));
            let file = self.files.append(&path, Access::Private)?;
            self.open = Some((day, file));
        }
        match &mut self.open {
            Some((_, file)) => file.append(&lines),
            None => Ok(()),
        }
    }
}

/// The day of a time, in UTC, as files are named by it.
fn day(at: Millis) -> String {
    let time = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    time.strftime("%F").to_string()
}

/// The files of the book, oldest first.
pub(crate) fn days(files: &dyn Files, folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut paths = Vec::new();
    match files.list(folder) {
        Ok(entries) => {
            for entry in entries {
                let path = folder.join(&entry.name);
                let name = path.file_name().and_then(|name| name.to_str());
                if name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX)) {
                    paths.push(path);
                }
            }
        }
        // Before the first request there is no folder.
        Err(error) if error.not_found() => {}
        Err(error) => return Err(error),
    }
    paths.sort();
    Ok(paths)
}

/// Hands out the entries of one file in order, and returns the number of lines that are none.
pub(crate) fn scan(
    files: &dyn Files,
    path: &Path,
    mut each: impl FnMut(Entry),
) -> Result<u64, FileError> {
    let file = files.open(path)?;
    let length = file.len()?.min(LONGEST_FILE);
    let (mut at, mut rest, mut skipped) = (0, Vec::new(), 0);
    while at < length {
        let piece = file.read_range(at, PIECE.min(length - at))?;
        at += piece.len() as u64;
        rest.extend_from_slice(&piece);
        // Lines that are complete; a line that a crash cut off is the last one, and is skipped.
        let whole = rest
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        for line in rest[..whole]
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            match serde_json::from_slice(line) {
                Ok(entry) => each(entry),
                Err(_) => skipped += 1,
            }
        }
        rest.drain(..whole);
        if piece.is_empty() {
            break;
        }
    }
    Ok(skipped + u64::from(!rest.is_empty()))
}
