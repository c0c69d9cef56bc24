//! The port to a session's log, and the values that pass through it.
//!
//! # Model
//! A log has one writer and one head, its newest record. Appending is compare-and-append: the
//! caller names the head its decision was made for, and if the log has moved on meanwhile nothing
//! is written. Numbers, parents and the rest of the envelope are the log's business; the content of
//! a record is the caller's ([`Draft`]).
//!
//! # Not here
//! Storage: see [`crate::FileLog`] and [`crate::MemoryLog`]. Other stores can sit behind the same
//! values.

use crate::log_file::ReadError;
use crate::read::ReadLog;
use crate::resume::Resumed;
use dormouse_core::id::{AgentId, RecordId, Seq, SessionId};
use dormouse_core::record::{Batch, Body, FORMAT, Record};
use dormouse_core::units::Millis;
use dormouse_system::FileError;
use std::fmt;
use std::path::PathBuf;

/// A session's log, behind which a file, memory or another store may sit.
pub trait SessionLog: fmt::Debug {
    /// The newest record; none if the log is new.
    fn head(&self) -> Option<&Head>;

    /// Appends a record if `expected` is still the head (`None`: if the log is still empty), and
    /// returns it as it was written.
    fn append(&mut self, expected: Option<&RecordId>, draft: Draft) -> Result<Record, AppendError>;

    /// Appends a batch if its expected head is still the log's: all of it or nothing.
    fn append_batch(&mut self, batch: &Batch) -> Result<(), AppendError>;

    /// The log's length in bytes, as offsets of records count it.
    fn len(&self) -> u64;

    /// True if the log has no bytes yet.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records behind a number, oldest first. This default reads the whole log; [`crate::FileLog`]
    /// reads from its end.
    fn records_after(&self, seq: Seq) -> Result<Vec<Record>, ReadError> {
        let mut records = self.read()?.records;
        records.retain(|record| record.seq > seq);
        Ok(records)
    }

    /// Bytes appended since the last record a resume can start at. Zero by default: a log in memory
    /// resumes without a checkpoint.
    fn bytes_since_checkpoint(&self) -> u64 {
        0
    }

    /// Reads every record, for exports and checks.
    fn read(&self) -> Result<ReadLog, ReadError>;

    /// Reads the live part only: the newest manifest, the records it names, and the tail.
    fn resume(&self) -> Result<Resumed, ReadError>;
}

/// The newest record of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its identity, which the next append must name.
    pub id: RecordId,
    /// Its number; the next record gets the one behind it.
    pub seq: Seq,
    /// Byte offset of its line.
    pub offset: u64,
}

/// Record that a new record hangs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Parent {
    /// The head: the conversation goes on.
    #[default]
    Head,
    /// An earlier record: a branch begins. The log does not check that it exists.
    Record(RecordId),
}

/// A record to be written, without the envelope that the log adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its identity, made by the caller and unique in the log.
    pub id: RecordId,
    /// The record it hangs on.
    pub parent: Parent,
    /// Time of writing by the caller's clock.
    pub at: Option<Millis>,
    /// The rewrite that made it necessary.
    pub caused_by: Option<RecordId>,
    /// True for a side conversation; a resume neither starts nor ends at such a record.
    pub side_chain: bool,
    /// The agent that writes it, if not the main one.
    pub agent: Option<AgentId>,
    /// Its content, written as given.
    pub body: Body,
}

impl Draft {
    /// A record of the main conversation that hangs on the head.
    pub fn new(id: RecordId, at: Millis, body: Body) -> Self {
        Self {
            id,
            parent: Parent::Head,
            at: Some(at),
            caused_by: None,
            side_chain: false,
            agent: None,
            body,
        }
    }

    /// The record at its place in a log of ours.
    pub(crate) fn record(
        self,
        session: &SessionId,
        seq: Seq,
        parent: Option<RecordId>,
        offset: u64,
    ) -> Record {
        Record {
            seq,
            offset,
            id: self.id,
            parent,
            session: Some(session.clone()),
            at: self.at,
            caused_by: self.caused_by,
            side_chain: self.side_chain,
            agent: self.agent,
            own: true,
            body: self.body,
        }
    }

    /// Makes the record hang on an earlier one.
    #[must_use]
    pub fn on(mut self, parent: RecordId) -> Self {
        self.parent = Parent::Record(parent);
        self
    }
}

/// Reason that a record was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The log has moved on since the caller looked.
    #[error(
        "the log has moved on: expected {}, found {}",
        name(expected.as_ref()),
        name(found.as_ref())
    )]
    HeadMoved {
        /// The head that the caller named.
        expected: Option<RecordId>,
        /// The head that the log has.
        found: Option<RecordId>,
    },
    /// A log begins with its session record and has only one.
    #[error("record {id} is out of place: a log begins with one `session` record")]
    OutOfPlace {
        /// The record that was refused; nothing was written.
        id: RecordId,
    },
    /// The session record names a format that this version does not write.
    #[error("cannot write a log of format {found}: this version writes format {FORMAT}")]
    Format {
        /// The format named in the session record.
        found: u32,
    },
    /// The record cannot be put into a line.
    #[error("record {id} cannot be encoded")]
    Unencodable {
        /// The record that was refused.
        id: RecordId,
        /// The error of the JSON encoder.
        #[source]
        source: serde_json::Error,
    },
    /// No reader would take a line that long.
    #[error("record {id} is too long: {bytes} bytes")]
    TooLong {
        /// The record that was refused.
        id: RecordId,
        /// Length of its line in bytes.
        bytes: u64,
    },
    /// The disk refused. The content of the file is unknown now, so the writer closes itself.
    #[error("failed to append record {id}; the log must be opened anew")]
    File {
        /// The record that may or may not be in the file.
        id: RecordId,
        /// The error of the operating system.
        #[source]
        source: FileError,
    },
    /// An earlier append failed; the file must be examined again before the next one.
    #[error("`{}` is closed after a failed write; open it anew", path.display())]
    Poisoned {
        /// Path of the log.
        path: PathBuf,
    },
}

fn name(head: Option<&RecordId>) -> &str {
    head.map_or("an empty log", RecordId::as_str)
}

/// Checks common to all logs before a write; gives the new record its number and parent.
pub(crate) fn place(
    head: Option<&Head>,
    expected: Option<&RecordId>,
    draft: &Draft,
) -> Result<(Seq, Option<RecordId>), AppendError> {
    let found = head.map(|head| &head.id);
    // Compare-and-append: a decision made for another head would be written after facts it did not
    // see.
    if found != expected {
        return Err(AppendError::HeadMoved {
            expected: expected.cloned(),
            found: found.cloned(),
        });
    }
    let seq = match (head, &draft.body) {
        // Readers of the named format would take our lines for something else.
        (None, Body::Session(start)) if start.format != FORMAT => {
            return Err(AppendError::Format {
                found: start.format,
            });
        }
        // A fork counts on from its parent, so that the keys of blocks stay unique.
        (None, Body::Session(start)) => match &start.lineage {
            Some(lineage) => lineage.seq.next(),
            None => Seq::new(1),
        },
        (Some(head), body) if !matches!(body, Body::Session(_)) => head.seq.next(),
        _ => {
            let id = draft.id.clone();
            return Err(AppendError::OutOfPlace { id });
        }
    };
    let parent = match &draft.parent {
        Parent::Head => found.cloned(),
        Parent::Record(id) => Some(id.clone()),
    };
    Ok((seq, parent))
}
