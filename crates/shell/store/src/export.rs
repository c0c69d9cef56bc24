//! From other tools' transcripts to Dormouse's log and back.
//!
//! # Model
//! Both are the same lines: Dormouse's log begins with a session record, its lines carry numbers,
//! and between them stand records that other tools do not know. Converting adds all three;
//! exporting leaves out the records. No other byte changes either way.
//!
//! # Not here
//! Transcripts in other shapes than one JSON object a line: [`crate::import`].

use crate::chunks::as_u64;
use crate::issue::{Issues, Trouble};
use crate::lines::Line;
use crate::log_file::{LogFile, ReadError, is_object};
use crate::mend::first_object;
use crate::read::read_line;
use crate::session_log::{AppendError, Draft, Head};
use crate::writer::{LogWriter, OpenError};
use bytes::Bytes;
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::record::{
    Body, FORMAT, LineContext, LineError, Record, SessionStart, UNREAD, peek, with_seq,
};
use dormouse_core::units::Millis;
use dormouse_system::{FileError, System};
use memchr::memmem::Finder;
use std::path::{Path, PathBuf};

/// Bytes gathered before a write: one system call for about a megabyte, not one a line.
const BATCH: usize = 1024 * 1024;

/// Identity and envelope of the log that a conversion writes.
#[derive(Clone, Debug)]
pub struct NewLog {
    /// The session it will hold.
    pub session: SessionId,
    /// Id of its first record, the session record.
    pub id: RecordId,
    /// Time written into the session record.
    pub at: Millis,
    /// The real path of the project.
    pub project: String,
    /// Members that Dormouse's own lines repeat for other tools.
    pub context: LineContext,
}

/// Result of a conversion.
#[derive(Debug)]
pub struct Converted {
    /// The new log's newest record.
    pub head: Head,
    /// Number of lines taken over.
    pub lines: u64,
    /// Lines left behind: no JSON object, torn, too long, or numbered by another tool.
    pub left: Issues,
}

/// Reason that a transcript was not converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The target is there already and not empty.
    #[error("`{}` exists already", path.display())]
    Exists {
        /// Path of the target.
        path: PathBuf,
    },
    /// The source is a log of Dormouse's.
    #[error("`{}` is a log of Dormouse already", path.display())]
    AlreadyOwn {
        /// Path of the source.
        path: PathBuf,
    },
    /// The source cannot be read.
    #[error("failed to read the transcript")]
    Read(#[source] ReadError),
    /// The target cannot be opened.
    #[error("failed to open the new log")]
    Open(#[source] OpenError),
    /// The first record cannot be written.
    #[error("failed to begin the new log")]
    Begin(#[source] AppendError),
    /// The lines cannot be written. What is in the target is incomplete.
    #[error("failed to write the new log `{}`", path.display())]
    Write {
        /// Path of the target, which should be removed.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: FileError,
    },
}

/// Makes a log of Dormouse's from another tool's transcript. The source is not touched.
pub fn convert(
    source: &LogFile,
    system: &System,
    target: &Path,
    new: NewLog,
) -> Result<Converted, ConvertError> {
    let lines = source.lines().map_err(ConvertError::Read)?;
    let mut writer =
        LogWriter::open(system, target, new.context, new.session).map_err(ConvertError::Open)?;
    // Checked under the writer's lock, so that no other process can fill it meanwhile.
    if writer.end() > 0 {
        let path = target.to_owned();
        return Err(ConvertError::Exists { path });
    }
    let start = SessionStart {
        format: FORMAT,
        project: new.project,
        lineage: None,
    };
    let draft = Draft::new(new.id, new.at, Body::Session(Box::new(start)));
    let mut batch = Batch::default();
    for (line, number) in lines.zip(1..) {
        let line = line.map_err(ConvertError::Read)?;
        for (offset, bytes) in batch.readable(&line, number) {
            // The session record is written only now: a source that is refused must leave an empty
            // target, which a second attempt accepts.
            if writer.head().is_none() {
                let own = Record::parse(&bytes, offset)
                    .is_ok_and(|parsed| matches!(parsed.record.body, Body::Session(_)));
                if own {
                    let path = source.path().to_owned();
                    return Err(ConvertError::AlreadyOwn { path });
                }
                writer
                    .append(None, draft.clone())
                    .map_err(ConvertError::Begin)?;
            }
            batch.take(&writer, offset, &bytes, number);
        }
        if batch.bytes.len() >= BATCH {
            batch.write(&mut writer, target)?;
        }
    }
    // A transcript without a readable line still becomes a valid, empty session.
    if writer.head().is_none() {
        writer.append(None, draft).map_err(ConvertError::Begin)?;
    }
    batch.write(&mut writer, target)?;
    writer.sync().map_err(|source| ConvertError::Write {
        path: target.to_owned(),
        source,
    })?;
    let Some(head) = writer.head().cloned() else {
        let path = target.to_owned();
        return Err(ConvertError::Exists { path });
    };
    Ok(Converted {
        head,
        lines: batch.lines,
        left: batch.left,
    })
}

/// Lines on their way to the new log.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    head: Option<Head>,
    lines: u64,
    left: Issues,
}

impl Batch {
    /// The texts of the records on a line with their offsets; anything else is noted.
    fn readable(&mut self, line: &Line, number: u64) -> Vec<(u64, Bytes)> {
        match line {
            Line::Text { offset, bytes, .. } if Record::parse(bytes, *offset).is_ok() => {
                vec![(*offset, bytes.clone())]
            }
            line => texts(line, number, &mut self.left),
        }
    }

    fn take(&mut self, writer: &LogWriter, offset: u64, line: &[u8], number: u64) {
        let newest = self.head.as_ref().or(writer.head());
        let Some(seq) = newest.map(|head| head.seq.next()) else {
            return;
        };
        // A line that has a number of another tool cannot get ours beside it.
        let Some(numbered) = with_seq(line, seq) else {
            let what = Trouble::NotARecord(LineError::NotAnObject);
            self.left.add(Some(number), offset, what);
            return;
        };
        let begins = writer.end() + as_u64(self.bytes.len());
        let id = peek(line).and_then(|peek| peek.id);
        self.bytes.extend_from_slice(&numbered);
        self.lines += 1;
        self.head = Some(Head {
            // Some foreign lines have no id; the offset names them as the reader does.
            id: id.unwrap_or_else(|| RecordId::new(format!("@{begins}"))),
            seq,
            offset: begins,
        });
    }

    fn write(&mut self, writer: &mut LogWriter, target: &Path) -> Result<(), ConvertError> {
        let Some(head) = self.head.take() else {
            return Ok(());
        };
        let written = writer.append_lines(&self.bytes, head);
        // Also after an error: the writer is poisoned then, and writing twice would be worse.
        self.bytes.clear();
        written.map_err(|source| ConvertError::Write {
            path: target.to_owned(),
            source,
        })
    }
}

/// Hands out the lines of a log that other tools understand, without their newlines, until the
/// caller has seen enough; returns the lines that were left behind because they are damaged.
pub fn export<E: From<ReadError>>(
    source: &LogFile,
    mut each: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Issues, E> {
    let mut issues = Issues::default();
    let finder = Finder::new("\"dormouse\"");
    for (line, number) in source.lines()?.zip(1..) {
        let line = line?;
        // Most lines are whole and go out as they are.
        if let Line::Text { bytes, .. } = &line
            && is_object(bytes)
        {
            if !is_own(&finder, bytes) {
                each(bytes)?;
            }
            continue;
        }
        // Torn and foreign remains stay behind: other tools would stop at them.
        for (_, object) in texts(&line, number, &mut issues) {
            if !is_own(&finder, &object) {
                each(&object)?;
            }
        }
    }
    Ok(issues)
}

/// The texts of the records on a damaged line, with their offsets.
fn texts(line: &Line, number: u64, issues: &mut Issues) -> Vec<(u64, Bytes)> {
    let records = read_line(line, Some(number), issues).records;
    let Line::Text { offset, bytes, .. } = line else {
        return Vec::new();
    };
    let is_unread = |record: &Record| matches!(&record.body, Body::Foreign(foreign) if &*foreign.kind == UNREAD);
    let text = |record: Record| {
        let from = usize::try_from(record.offset - offset).ok()?;
        let object = first_object(bytes.get(from..)?)?;
        Some((record.offset, bytes.slice_ref(object)))
    };
    records
        .into_iter()
        .filter(|record| !is_unread(record))
        .filter_map(text)
        .collect()
}

/// True for a line that only Dormouse knows. The search for the word comes first: parsing every
/// line to find the few of ours would be slow.
fn is_own(finder: &Finder<'_>, line: &[u8]) -> bool {
    finder.find(line).is_some() && peek(line).is_none_or(|peek| peek.kind == "dormouse")
}
