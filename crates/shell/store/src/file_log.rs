//! A session's log in a file, behind the port.
//!
//! # Not here
//! Format, lock and durability: [`crate::LogWriter`]. The twin in memory: [`crate::MemoryLog`].

use crate::log_file::{LogFile, ReadError};
use crate::read::ReadLog;
use crate::resume::Resumed;
use crate::session_log::{AppendError, Draft, Head, SessionLog};
use crate::writer::{LogWriter, OpenError};
use dormouse_core::id::{RecordId, Seq, SessionId};
use dormouse_core::record::{Batch, LineContext, Record};
use dormouse_system::{Files, System};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A log that is written to and can be read. The logs of other sessions that it refers to lie in
/// the same folder.
#[derive(Debug)]
pub struct FileLog {
    writer: LogWriter,
    files: Arc<dyn Files>,
    folder: PathBuf,
}

impl FileLog {
    /// Opens a log for writing; see [`LogWriter::open`].
    pub fn open(
        system: &System,
        path: &Path,
        context: LineContext,
        session: SessionId,
    ) -> Result<Self, OpenError> {
        Ok(Self {
            writer: LogWriter::open(system, path, context, session)?,
            files: Arc::clone(&system.files),
            folder: path.parent().map(Path::to_owned).unwrap_or_default(),
        })
    }

    /// The writer, for calls the port does not offer: repair report, sync, line context.
    pub const fn writer(&mut self) -> &mut LogWriter {
        &mut self.writer
    }

    /// The log of a session that this one was forked from. A missing one is no error here: the
    /// resume reports the records it lacks.
    fn sibling(&self, session: &SessionId) -> Option<LogFile> {
        let paths = crate::layout::logs_of_origin(&self.folder, session).ok()?;
        let mut logs = paths.iter();
        logs.find_map(|path| LogFile::open(&*self.files, path).ok())
    }
}

impl SessionLog for FileLog {
    fn head(&self) -> Option<&Head> {
        self.writer.head()
    }

    fn append(&mut self, expected: Option<&RecordId>, draft: Draft) -> Result<Record, AppendError> {
        self.writer.append(expected, draft)
    }

    fn append_batch(&mut self, batch: &Batch) -> Result<(), AppendError> {
        self.writer.append_batch(batch)
    }

    fn len(&self) -> u64 {
        self.writer.end()
    }

    fn bytes_since_checkpoint(&self) -> u64 {
        self.writer.bytes_since_checkpoint()
    }

    fn read(&self) -> Result<ReadLog, ReadError> {
        self.writer.log().read_all()
    }

    fn records_after(&self, seq: Seq) -> Result<Vec<Record>, ReadError> {
        self.writer.log().records_after(seq)
    }

    fn resume(&self) -> Result<Resumed, ReadError> {
        self.writer.log().resume(&|session| self.sibling(session))
    }
}
