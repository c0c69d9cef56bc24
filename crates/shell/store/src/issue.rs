//! Lines and references of a log that could not be read, with their places.

use dormouse_core::id::{RecordId, Seq, SessionId};
use dormouse_core::record::{LineError, LineIssue};

/// Issues kept one by one; beyond that only the count grows. A file of another kind has an issue on
/// every line, and a hundred are more than a user reads.
pub const MAX_ISSUES: usize = 100;

/// One line, part or reference that could not be read.
#[derive(Debug)]
pub struct ReadIssue {
    /// The line, counted from one; unknown when the file was read from its end.
    pub line: Option<u64>,
    /// Byte offset of the line; for a reference that of the record that makes it.
    pub offset: u64,
    /// The kind of damage.
    pub what: Trouble,
}

/// Damage of a line, or of a reference to one.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// Not JSON, not an object, or not a record.
    #[error("the line was skipped")]
    NotARecord(#[source] LineError),
    /// The line is not valid UTF-8, so it cannot be JSON.
    #[error("the line was skipped: it is not valid UTF-8")]
    NotUtf8,
    /// The line is longer than [`crate::MAX_LINE`].
    #[error("the line was skipped: it has {bytes} bytes, more than is read of one line")]
    Overlong {
        /// Its length in bytes.
        bytes: u64,
    },
    /// The last line ends in the middle.
    #[error("the last line was skipped: it is torn after {bytes} bytes")]
    Torn {
        /// Bytes of it that reached the disk.
        bytes: u64,
    },
    /// A part of the line is no record; the rest was read.
    #[error("{bytes} bytes of the line were skipped; {records} of its records were read")]
    PartlyLost {
        /// Records of the line that were read.
        records: u64,
        /// Bytes that are no record.
        bytes: u64,
    },
    /// Several records stand on one line, without a newline between them.
    #[error("the line holds {records} records; all were read")]
    SeveralRecords {
        /// Records of the line.
        records: u64,
    },
    /// Zero bytes, as file systems leave them after a crash. Records beside them were read.
    #[error("{bytes} zero bytes of the line were skipped")]
    Zeros {
        /// Number of zero bytes.
        bytes: u64,
    },
    /// A part of the line was left out.
    #[error("a part of the line was left out")]
    Part(#[source] LineIssue),
    /// A range that a manifest names is not where it should be, nor anywhere else.
    #[error("records {first} to {last} are still in use but were not found (searched for {id})")]
    RangeNotFound {
        /// The first record of the range.
        first: Seq,
        /// The last record of the range.
        last: Seq,
        /// The id of the first one, which was searched for in the whole log.
        id: RecordId,
    },
    /// A range lacks its first or its last records.
    #[error("records {first} to {last} are still in use, but not all of them were found")]
    RangeCutShort {
        /// The first record of the range.
        first: Seq,
        /// The last record of the range.
        last: Seq,
    },
    /// The log of another session is needed and is not there.
    #[error("the log of session {session}, which this one continues, is missing")]
    LogMissing {
        /// The session whose log is missing.
        session: SessionId,
    },
    /// A message that a compaction says it kept is not there.
    #[error("message {id}, which the compaction kept, was not found")]
    PreservedNotFound {
        /// The id of the message.
        id: RecordId,
    },
}

/// A bounded list of issues.
#[derive(Debug, Default)]
pub struct Issues {
    list: Vec<ReadIssue>,
    total: u64,
}

impl Issues {
    /// The first ones, at most [`MAX_ISSUES`].
    pub fn list(&self) -> &[ReadIssue] {
        &self.list
    }

    /// Number of issues, those beyond [`MAX_ISSUES`] included.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// True if everything could be read.
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub(crate) fn add(&mut self, line: Option<u64>, offset: u64, what: Trouble) {
        // Counted beyond the bound too, so that the user learns how much is wrong.
        self.total += 1;
        if self.list.len() < MAX_ISSUES {
            self.list.push(ReadIssue { line, offset, what });
        }
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.total += other.total;
        // The earliest ones are kept: later damage is often the consequence of the first.
        let room = MAX_ISSUES.saturating_sub(self.list.len());
        self.list.extend(other.list.into_iter().take(room));
    }
}
