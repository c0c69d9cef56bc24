//! The port to a session's log, and the values that pass through it.
//!
//! # Model
//! A log has one writer and one head, its newest record. Appending is compare-and-append: the
//! caller names the head its decision was made for, and if the log has moved on meanwhile nothing
//! is written. Numbers, parents and the rest of the envelope are the log's business; what a record
//! says is the caller's ([`Draft`]).
//!
//! # Not here
//! How a log is stored: see [`crate::FileLog`] and [`crate::MemoryLog`]. Other stores can sit
//! behind the same values.

use crate::log_file::ReadError;
use crate::read::ReadLog;
use crate::resume::Resumed;
use dormouse_core::id::{AgentId, RecordId, Seq, SessionId};
use dormouse_core::record::{Batch, Body, FORMAT, Record};
use dormouse_core::units::Millis;
use dormouse_system::FileError;
use std::fmt;
use std::path::PathBuf;

/// A session's log.
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

    /// Whether nothing is in it.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the records behind a number.
    fn records_after(&self, seq: Seq) -> Result<Vec<Record>, ReadError> {
        let mut records = self.read()?.records;
        records.retain(|record| record.seq > seq);
        Ok(records)
    }

    /// How much the log has grown since the folded state was last in it.
    fn bytes_since_checkpoint(&self) -> u64 {
        0
    }

    /// Reads everything.
    fn read(&self) -> Result<ReadLog, ReadError>;

    /// Reads the live part.
    fn resume(&self) -> Result<Resumed, ReadError>;
}

/// The newest record of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its identity.
    pub id: RecordId,
    /// Its number.
    pub seq: Seq,
    /// Where it begins.
    pub offset: u64,
}

/// What a new record hangs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Parent {
    /// The head: the conversation goes on.
    #[default]
    Head,
    /// An earlier record: a branch begins. It is the caller's to name one that exists.
    Record(RecordId),
}

/// A record to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its identity.
    pub id: RecordId,
    /// What it hangs on.
    pub parent: Parent,
    /// When it is written.
    pub at: Option<Millis>,
    /// The rewrite that made it necessary.
    pub caused_by: Option<RecordId>,
    /// Whether it belongs to a side conversation.
    pub side_chain: bool,
    /// The agent that writes it, if not the main one.
    pub agent: Option<AgentId>,
    /// What it says.
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

/// Why a record was not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The log has moved on since the caller looked.
    #[error(
        "the log has moved on: expected {}, found {}",
        name(expected.as_ref()),
        name(found.as_ref())
    )]
    HeadMoved {
        /// The head the caller knows.
        expected: Option<RecordId>,
        /// The head there is.
        found: Option<RecordId>,
    },
    /// A log begins with its session record and has only one.
    #[error("record {id} is out of place: a log begins with one `session` record")]
    OutOfPlace {
        /// The record.
        id: RecordId,
    },
    /// The session record names a format that this version does not write.
    #[error("cannot write a log of format {found}: this version writes format {FORMAT}")]
    Format {
        /// The format asked for.
        found: u32,
    },
    /// The record cannot be put into a line.
    #[error("record {id} cannot be encoded")]
    Unencodable {
        /// The record.
        id: RecordId,
        /// Why not.
        #[source]
        source: serde_json::Error,
    },
    /// No reader would take a line that long.
    #[error("record {id} is too long: {bytes} bytes")]
    TooLong {
        /// The record.
        id: RecordId,
        /// The length of its line.
        bytes: u64,
    },
    /// The disk refused. What is in the file now is unknown, so the writer gives up.
    #[error("failed to append record {id}; the log must be opened anew")]
    File {
        /// The record.
        id: RecordId,
        /// What went wrong.
        #[source]
        source: FileError,
    },
    /// An earlier append failed.
    #[error("`{}` is closed after a failed write; open it anew", path.display())]
    Poisoned {
        /// The log.
        path: PathBuf,
    },
}

fn name(head: Option<&RecordId>) -> &str {
    head.map_or("an empty log", RecordId::as_str)
}

/// Checks what every log checks before it writes, and gives the new record its number and parent.
pub(crate) fn place(
    head: Option<&Head>,
    expected: Option<&RecordId>,
    draft: &Draft,
) -> Result<(Seq, Option<RecordId>), AppendError> {
    let found = head.map(|head| &head.id);
    if found != expected {
        return Err(AppendError::HeadMoved {
            expected: expected.cloned(),
            found: found.cloned(),
        });
    }
    let seq = match (head, &draft.body) {
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
