//! What could not be read of a log, and where.

use dormouse_core::id::{RecordId, Seq, SessionId};
use dormouse_core::record::{LineError, LineIssue};

/// How many issues are kept one by one; of the others only the number is known.
pub const MAX_ISSUES: usize = 100;

/// One thing that could not be read.
#[derive(Debug)]
pub struct ReadIssue {
    /// The line, counted from one; unknown when the file was read from its end.
    pub line: Option<u64>,
    /// Where the line begins.
    pub offset: u64,
    /// What is wrong with it.
    pub what: Trouble,
}

/// What is wrong with a line, or with a reference to one.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// It is no record.
    #[error("the line was skipped")]
    NotARecord(#[source] LineError),
    /// It is not UTF-8.
    #[error("the line was skipped: it is not valid UTF-8")]
    NotUtf8,
    /// It is too long.
    #[error("the line was skipped: it has {bytes} bytes, more than is read of one line")]
    Overlong {
        /// Its length.
        bytes: u64,
    },
    /// The last line ends in the middle.
    #[error("the last line was skipped: it is torn, {bytes} bytes of it are there")]
    Torn {
        /// What is there of it.
        bytes: u64,
    },
    /// A part of the line was left out.
    #[error("a part of the line was left out")]
    Part(#[source] LineIssue),
    /// A range that a manifest names is not where it should be, nor anywhere else.
    #[error("records {first} to {last} that are still in use were not found (looked for {id})")]
    RangeNotFound {
        /// The first record of the range.
        first: Seq,
        /// The last one.
        last: Seq,
        /// The id of the first one.
        id: RecordId,
    },
    /// A range ends before its last record.
    #[error("of records {first} to {last} that are still in use the last was not found")]
    RangeCutShort {
        /// The first record of the range.
        first: Seq,
        /// The last one.
        last: Seq,
    },
    /// The log of another session is needed and is not there.
    #[error("the log of session {session}, which this one continues, is missing")]
    LogMissing {
        /// That session.
        session: SessionId,
    },
    /// A message that a compaction says it kept is not there.
    #[error("message {id}, which the compaction kept, was not found")]
    PreservedNotFound {
        /// The message.
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

    /// How many there were.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Whether everything could be read.
    pub const fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub(crate) fn add(&mut self, line: Option<u64>, offset: u64, what: Trouble) {
        self.total += 1;
        if self.list.len() < MAX_ISSUES {
            self.list.push(ReadIssue { line, offset, what });
        }
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.total += other.total;
        let room = MAX_ISSUES.saturating_sub(self.list.len());
        self.list.extend(other.list.into_iter().take(room));
    }
}
