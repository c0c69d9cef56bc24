//! The one writer of a log.
//!
//! # Model
//! A [`LogWriter`] holds the log's lock for as long as it lives. Each record is one write of one
//! whole line; records that change what was sent, and requests, are on disk before the call
//! returns. A crash therefore loses at most the record being written.
//!
//! # Responsibilities
//! Refusing a second writer, a log of a newer format and a transcript of another tool; repairing an
//! end without newline; numbering; noticing that the head has moved; closing itself after a disk
//! error, because the file's content is unknown then.
//!
//! # Not here
//! Deciding when a checkpoint is due ([`LogWriter::bytes_since_checkpoint`] only measures), and the
//! choice offered to the user when the log is busy. Reading: [`crate::LogFile`].

use crate::chunks::{MAX_LINE, as_u64};
use crate::examine::{self, Beginning, Repair};
use crate::log_file::{LogFile, ReadError};
use crate::resume::is_carrier;
use crate::session_log::{AppendError, Draft, Head, place};
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::record::{Batch, CHECKPOINT_EVERY, FORMAT, LineContext, Record, encode};
use dormouse_system::{Access, AppendFile, FileError, LockGuard, System};
use std::path::{Path, PathBuf};

/// Reason that a log cannot be opened for writing.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process holds the lock. The log can still be read, or forked.
    #[error("`{}` is open in another process", path.display())]
    Busy {
        /// Path of the log.
        path: PathBuf,
    },
    /// A newer version wrote it. It can still be read.
    #[error("`{}` has format {found}; this version writes format {FORMAT} and opens it read-only", path.display())]
    NewerFormat {
        /// Path of the log.
        path: PathBuf,
        /// The format its session record names.
        found: u32,
    },
    /// Another tool wrote it. It can be read, or converted.
    #[error("`{}` is not a log of Dormouse; convert it first", path.display())]
    Foreign {
        /// Path of the transcript.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("failed to examine the log")]
    Read(#[source] ReadError),
    /// It cannot be created, locked or repaired.
    #[error("failed to open the log `{}` for writing", path.display())]
    File {
        /// Path of the log.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: FileError,
    },
}

/// The writer of a log. See the module documentation.
#[derive(Debug)]
pub struct LogWriter {
    file: Box<dyn AppendFile>,
    log: LogFile,
    context: LineContext,
    session: SessionId,
    head: Option<Head>,
    len: u64,
    checkpoint_end: u64,
    repair: Option<Repair>,
    poisoned: bool,
    // Last, so that the file is closed before the lock is released: fields drop in order.
    _lock: LockGuard,
}

impl LogWriter {
    /// Opens a log for writing and creates it, and the directories it lies in, if need be.
    pub fn open(
        system: &System,
        path: &Path,
        context: LineContext,
        session: SessionId,
    ) -> Result<Self, OpenError> {
        let files = &*system.files;
        let refused = |source| OpenError::File {
            path: path.to_owned(),
            source,
        };
        if let Some(folder) = path.parent() {
            files
                .create_dir_all(folder, Access::Private)
                .map_err(refused)?;
        }
        // Before anything is read: the end and the head must not change while they are examined.
        let lock = files.lock_exclusive(path).map_err(refused)?;
        // A busy log is no failure of the disk: the caller can read it or fork it.
        let lock = lock.ok_or_else(|| OpenError::Busy {
            path: path.to_owned(),
        })?;
        let mut file = files.append(path, Access::Private).map_err(refused)?;
        let log = LogFile::open_any(files, path).map_err(OpenError::Read)?;
        let len = log.len().map_err(OpenError::Read)?;
        match examine::beginning(log.file(), len).map_err(refused)? {
            Beginning::Own(found) if found > FORMAT => {
                let path = path.to_owned();
                return Err(OpenError::NewerFormat { path, found });
            }
            Beginning::Foreign => {
                let path = path.to_owned();
                return Err(OpenError::Foreign { path });
            }
            Beginning::Own(_) | Beginning::New => {}
        }
        let repair = examine::ending(log.file(), len).map_err(refused)?;
        // Without the newline the next record would be glued to the torn line and be lost with it.
        if repair.is_some() {
            file.append(b"\n").map_err(refused)?;
            file.sync_data().map_err(refused)?;
        }
        // Measured after the repair: offsets of new records count from here.
        let len = file.len().map_err(refused)?;
        let head = examine::head(log.file(), len).map_err(refused)?;
        let checkpoint_end =
            examine::last_carrier(log.file(), len, CHECKPOINT_EVERY).map_err(refused)?;
        Ok(Self {
            file,
            log,
            context,
            session,
            head,
            len,
            checkpoint_end,
            repair,
            poisoned: false,
            _lock: lock,
        })
    }

    /// The repair made when the log was opened; `None` for a log that ended cleanly.
    pub const fn repair(&self) -> Option<Repair> {
        self.repair
    }

    /// The newest numbered record; `None` for a new log. Appends must name it.
    pub const fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// The session that records are written for.
    pub const fn session(&self) -> &SessionId {
        &self.session
    }

    /// The same log for reading.
    pub const fn log(&self) -> &LogFile {
        &self.log
    }

    /// Bytes written since the last record that a resume can start at. At [`CHECKPOINT_EVERY`] the
    /// next checkpoint is due.
    pub const fn bytes_since_checkpoint(&self) -> u64 {
        self.len.saturating_sub(self.checkpoint_end)
    }

    /// Appends a record if `expected` is still the head (`None`: if the log is still empty).
    pub fn append(
        &mut self,
        expected: Option<&RecordId>,
        draft: Draft,
    ) -> Result<Record, AppendError> {
        if self.poisoned {
            return Err(AppendError::Poisoned {
                path: self.log.path().to_owned(),
            });
        }
        let (seq, parent) = place(self.head.as_ref(), expected, &draft)?;
        let record = draft.record(&self.session, seq, parent, self.len);
        let line = encode(&record, &self.context).map_err(|source| AppendError::Unencodable {
            id: record.id.clone(),
            source,
        })?;
        // Checked before the write: a reader would skip the line, and a resume would lack the
        // record.
        if line.len() > MAX_LINE {
            return Err(AppendError::TooLong {
                id: record.id,
                bytes: as_u64(line.len()),
            });
        }
        self.write(&line, record.body.must_be_durable())
            .map_err(|source| AppendError::File {
                id: record.id.clone(),
                source,
            })?;
        // From here a resume starts, so the next checkpoint is due that much later.
        if is_carrier(&record) {
            self.checkpoint_end = self.len;
        }
        self.head = Some(Head {
            id: record.id.clone(),
            seq: record.seq,
            offset: record.offset,
        });
        Ok(record)
    }

    /// Appends a batch of encoded records with one write, and one sync if the batch asks for it.
    pub fn append_batch(&mut self, batch: &Batch) -> Result<(), AppendError> {
        if self.poisoned {
            return Err(AppendError::Poisoned {
                path: self.log.path().to_owned(),
            });
        }
        let found = self.head.as_ref().map(|head| &head.id);
        // The offset too: the batch's records carry offsets that must match the file.
        if found != batch.expected.as_ref() || self.len != batch.offset {
            return Err(AppendError::HeadMoved {
                expected: batch.expected.clone(),
                found: found.cloned(),
            });
        }
        let Some(last) = batch.records.last() else {
            return Ok(());
        };
        self.write(&batch.lines, batch.sync)
            .map_err(|source| AppendError::File {
                id: last.id.clone(),
                source,
            })?;
        // A resume can start at the newest carrier: what follows it counts for the next one.
        let carrier = batch.records.iter().rposition(is_carrier);
        if let Some(carrier) = carrier {
            let behind = batch.records.get(carrier + 1);
            self.checkpoint_end = behind.map_or(self.len, |record| record.offset);
        }
        self.head = Some(Head {
            id: last.id.clone(),
            seq: last.seq,
            offset: last.offset,
        });
        Ok(())
    }

    /// Forces everything written so far to disk, for example before the program ends.
    pub fn sync(&mut self) -> Result<(), FileError> {
        self.write(b"", true)
    }

    /// One write, and a sync if wanted. An error leaves the writer poisoned: part of the bytes may
    /// be in the file.
    fn write(&mut self, bytes: &[u8], durable: bool) -> Result<(), FileError> {
        // Set first and cleared last, so that every early return by `?` leaves it set.
        self.poisoned = true;
        if !bytes.is_empty() {
            self.file.append(bytes)?;
        }
        if durable {
            self.file.sync_data()?;
        }
        self.len += as_u64(bytes.len());
        self.poisoned = false;
        Ok(())
    }

    /// Appends lines that are numbered already, the last of which is the new head.
    pub(crate) fn append_lines(&mut self, lines: &[u8], head: Head) -> Result<(), FileError> {
        self.write(lines, false)?;
        self.head = Some(head);
        Ok(())
    }

    /// Offset at which the next line will begin.
    pub(crate) const fn end(&self) -> u64 {
        self.len
    }
}
