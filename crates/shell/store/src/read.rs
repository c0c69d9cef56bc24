//! Reading a log from its beginning.
//!
//! # Model
//! Every line is a record or an issue; blank lines are neither. One bad line costs that line, and of
//! a line that is not one object every whole object is read ([`crate::mend`]).
//!
//! # Not here
//! Starting in the middle ([`crate::resume`]), and scans that need no records
//! ([`crate::scan_usage`], [`crate::summarise`]).

use crate::chunks::as_u64;
use crate::issue::{Issues, Trouble};
use crate::lines::{Line, Lines};
use crate::log_file::{LogFile, ReadError};
use crate::mend::{Damage, Part, divide};
use bytes::Bytes;
use dormouse_core::record::{LineError, ParsedLine, Record, unread};
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
            let read = read_line(&self.during(line)?, number, &mut scanned.issues);
            scanned.torn_tail |= read.torn;
            for record in read.records {
                // The callback found what it wanted; a gigabyte behind it stays unread.
                if each(record, scanned.lines).is_break() {
                    return Ok(scanned);
                }
            }
        }
        Ok(scanned)
    }
}

/// Records of one line, usually one.
#[derive(Debug, Default)]
pub(crate) struct LineRead {
    pub(crate) records: Vec<Record>,
    /// Set for the torn end of the file.
    pub(crate) torn: bool,
}

/// Makes records of a line; lines and parts that cannot be read become issues. A lost part that
/// still shows an id leaves an unread record, so that its children keep their place.
pub(crate) fn read_line(line: &Line, number: Option<u64>, issues: &mut Issues) -> LineRead {
    let mut read = LineRead::default();
    let (offset, bytes, ended) = match line {
        Line::Overlong { offset, bytes } => {
            issues.add(number, *offset, Trouble::Overlong { bytes: *bytes });
            return read;
        }
        Line::Text {
            offset,
            bytes,
            ended,
        } => (*offset, bytes, *ended),
    };
    if bytes.trim_ascii().is_empty() {
        return read;
    }
    match Record::parse(bytes, offset) {
        Ok(parsed) => read.take(parsed, number, issues),
        Err(error) => {
            let place = Place {
                number,
                offset,
                ended,
            };
            mend(bytes, error, place, &mut read, issues);
        }
    }
    read
}

impl LineRead {
    fn take(&mut self, parsed: ParsedLine, number: Option<u64>, issues: &mut Issues) {
        // A record with a bad part is still a record: only the part is lost.
        for issue in parsed.issues {
            issues.add(number, parsed.record.offset, Trouble::Part(issue));
        }
        self.records.push(parsed.record);
    }
}

/// Place of a damaged line.
#[derive(Clone, Copy)]
struct Place {
    number: Option<u64>,
    offset: u64,
    /// False for the last line of a file if its newline is missing.
    ended: bool,
}

/// Reads what is left of a line that is not one record.
fn mend(bytes: &Bytes, error: LineError, at: Place, read: &mut LineRead, issues: &mut Issues) {
    let divided = divide(bytes);
    let (mut whole, mut lost) = (0, 0);
    for part in divided.parts {
        let (range, is_object) = match part {
            Part::Object(range) => (range, true),
            Part::Lost(range) => (range, false),
        };
        let (text, offset) = (bytes.slice(range.clone()), at.offset + as_u64(range.start));
        if let Some(parsed) = Record::parse(&text, offset).ok().filter(|_| is_object) {
            whole += 1;
            read.take(parsed, at.number, issues);
        } else {
            lost += as_u64(range.len());
            // Nothing hangs on the torn end of a file.
            read.records
                .extend(unread(&text, offset).filter(|_| at.ended));
        }
    }
    let damage = Damage {
        records: whole,
        lost,
        zeros: as_u64(divided.zeros),
        ended: at.ended,
    };
    read.torn |= damage.is_torn();
    if let Some(what) = damage.trouble(bytes, || error) {
        issues.add(at.number, at.offset, what);
    }
}
