//! Reading a log from its beginning.
//!
//! # Model
//! Every line is a record or an issue; blank lines are neither. One bad line costs that line.
//!
//! # Not here
//! Starting in the middle ([`crate::resume`]), and scans that need no records
//! ([`crate::scan_usage`], [`crate::summarise`]).

use crate::chunks::as_u64;
use crate::issue::{Issues, Trouble};
use crate::lines::{Line, Lines};
use crate::log_file::{LogFile, ReadError};
use bytes::Bytes;
use dormouse_core::record::Record;
use std::ops::ControlFlow;

/// A log that was read from beginning to end.
#[derive(Debug, Default)]
pub struct ReadLog {
    /// The records, in the order of the file.
    pub records: Vec<Record>,
    /// Lines that could not be read, with reasons.
    pub issues: Issues,
    /// Number of lines, blank ones included.
    pub lines: u64,
    /// Length of the file in bytes when the reading began.
    pub bytes: u64,
    /// True if the last line was cut off by a crash and is lost.
    pub torn_tail: bool,
    /// For each record the line it stands on, counted from one.
    pub line_of: Vec<u64>,
}

/// Everything a scan saw besides the records it handed out.
#[derive(Debug, Default)]
pub struct Scanned {
    /// Lines that could not be read, with reasons.
    pub issues: Issues,
    /// Number of lines, blank ones included.
    pub lines: u64,
    /// Length of the file in bytes when the scan began, also if the callback broke it off.
    pub bytes: u64,
    /// True if the last line was cut off by a crash and is lost.
    pub torn_tail: bool,
}

impl LogFile {
    /// Reads every record into memory; for a live session [`Self::resume`] costs less.
    pub fn read_all(&self) -> Result<ReadLog, ReadError> {
        let (mut records, mut line_of) = (Vec::new(), Vec::new());
        let scanned = self.for_each_record(|record, line| {
            records.push(record);
            line_of.push(line);
            ControlFlow::Continue(())
        })?;
        Ok(ReadLog {
            records,
            issues: scanned.issues,
            lines: scanned.lines,
            bytes: scanned.bytes,
            torn_tail: scanned.torn_tail,
            line_of,
        })
    }

    /// Hands out every record with the number of its line, and keeps nothing.
    pub fn for_each_record(
        &self,
        mut each: impl FnMut(Record, u64) -> ControlFlow<()>,
    ) -> Result<Scanned, ReadError> {
        let bytes = self.len()?;
        let mut scanned = Scanned {
            bytes,
            ..Scanned::default()
        };
        for line in Lines::whole(self.file(), 0..bytes) {
            scanned.lines += 1;
            let number = Some(scanned.lines);
            match read_line(&self.during(line)?, number, &mut scanned.issues) {
                LineOutcome::Record(record) => {
                    // The callback found what it wanted; a gigabyte behind it stays unread.
                    if each(*record, scanned.lines).is_break() {
                        break;
                    }
                }
                LineOutcome::Torn => scanned.torn_tail = true,
                LineOutcome::Nothing => {}
            }
        }
        Ok(scanned)
    }
}

/// Result of reading one line.
pub(crate) enum LineOutcome {
    Record(Box<Record>),
    /// The torn end of the file.
    Torn,
    /// A blank line, or one that was reported.
    Nothing,
}

/// Makes a record of a line; lines and parts that cannot be read become issues.
pub(crate) fn read_line(line: &Line, number: Option<u64>, issues: &mut Issues) -> LineOutcome {
    let (offset, bytes, ended) = match line {
        Line::Overlong { offset, bytes } => {
            issues.add(number, *offset, Trouble::Overlong { bytes: *bytes });
            return LineOutcome::Nothing;
        }
        Line::Text {
            offset,
            bytes,
            ended,
        } => (*offset, bytes, *ended),
    };
    if bytes.trim_ascii().is_empty() {
        return LineOutcome::Nothing;
    }
    match Record::parse(bytes, offset) {
        Ok(parsed) => {
            // A record with a bad part is still a record: only the part is lost.
            for issue in parsed.issues {
                issues.add(number, offset, Trouble::Part(issue));
            }
            LineOutcome::Record(Box::new(parsed.record))
        }
        // A parse error on a line without newline is a crash in mid-write, not corruption.
        Err(_) if !ended => {
            let bytes = as_u64(bytes.len());
            issues.add(number, offset, Trouble::Torn { bytes });
            LineOutcome::Torn
        }
        Err(error) => {
            // Told apart only on failure: checking every line for UTF-8 would slow down good logs.
            let what = if is_utf8(bytes) {
                Trouble::NotARecord(error)
            } else {
                Trouble::NotUtf8
            };
            issues.add(number, offset, what);
            LineOutcome::Nothing
        }
    }
}

fn is_utf8(bytes: &Bytes) -> bool {
    std::str::from_utf8(bytes).is_ok()
}
