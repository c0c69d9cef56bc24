//! A log that grows: its end first, then each part that is added.
//!
//! # Model
//! [`LogFile::tail`] reads stretches at the end, each twice as long as the one before, until the
//! caller has enough: at most about three times the wanted bytes, at any length of the file.
//! [`LogFile::added`] goes on where a reading ended. Both stop behind the last whole line: a line in
//! the making is read once, when it is whole.
//!
//! # Not here
//! Records behind a number ([`crate::after`]) and a number of records ([`crate::ending`]).

use crate::issue::Issues;
use crate::log_file::{Counted, LogFile, ReadError};
use crate::parse::read_records;
use crate::search::line_start_in_steps;
use dormouse_core::record::Record;
use dormouse_system::{FileResult, RandomRead};
use std::ops::Range;

/// First stretch in bytes: some screens of a conversation without long results.
const FIRST: u64 = 64 * 1024;

/// First read for the beginning of a line: most lines of a conversation are shorter.
const STEP: u64 = 4 * 1024;

/// Records of a part of a log.
#[derive(Debug, Default)]
pub struct LogPart {
    /// Records in the order of the file. Lines that cannot be read are left out; readers of the whole
    /// log report them.
    pub records: Vec<Record>,
    /// Bytes of the file that the part covers: whole lines.
    pub range: Range<u64>,
    /// Bytes read of the file; the cost of the reading.
    pub bytes_read: u64,
}

impl LogFile {
    /// The end of the log: the shortest stretch of which `enough` holds, or the whole.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn tail(&self, enough: impl Fn(&[Record]) -> bool) -> Result<LogPart, ReadError> {
        let file = self.counted();
        let end = self.during(line_start(&file, 0, self.len()?))?;
        let mut stretch = FIRST;
        loop {
            let start = match end.saturating_sub(stretch) {
                // Zero is the beginning of a line already; any other offset may lie inside one.
                0 => 0,
                inside => self.during(line_start(&file, 0, inside))?,
            };
            let part = self.during(part(&file, start..end))?;
            if start == 0 || enough(&part.records) {
                return Ok(part);
            }
            stretch *= 2;
        }
    }

    /// Everything up to an offset at which a line begins.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn before(&self, offset: u64) -> Result<LogPart, ReadError> {
        self.during(part(&self.counted(), 0..offset.min(self.len()?)))
    }

    /// Whole lines behind an offset at which a line begins.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn added(&self, offset: u64) -> Result<LogPart, ReadError> {
        let file = self.counted();
        let len = self.len()?;
        // A log is never cut, but for a last line that a crash left torn.
        let from = offset.min(len);
        let end = self.during(line_start(&file, from, len))?;
        self.during(part(&file, from..end))
    }
}

fn line_start(file: &dyn RandomRead, start: u64, end: u64) -> FileResult<u64> {
    line_start_in_steps(file, start, end, STEP)
}

fn part(file: &Counted, range: Range<u64>) -> FileResult<LogPart> {
    let records = if range.is_empty() {
        Vec::new()
    } else {
        read_records(file, range.clone(), &mut Issues::default())?
    };
    Ok(LogPart {
        records,
        range,
        bytes_read: file.bytes_read(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunks::as_u64;
    use dormouse_system::MemoryFiles;
    use pretty_assertions::assert_eq;

    fn line(number: usize) -> String {
        let words = "word ".repeat(200);
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{number}\",\"message\":{{\"role\":\"user\",\"content\":\"{words}\"}}}}\n"
        )
    }

    fn written(files: &MemoryFiles, text: &str) -> LogFile {
        files.put("/f", text);
        LogFile::open(files, "/f".as_ref()).unwrap()
    }

    fn ids(part: &LogPart) -> Vec<&str> {
        part.records.iter().map(|it| it.id.as_str()).collect()
    }

    #[test]
    fn the_end_costs_what_it_holds() {
        let text: String = (0..20_000).map(line).collect();
        let log = written(&MemoryFiles::default(), &text);
        let tail = log.tail(|records| records.len() >= 100).unwrap();
        assert_eq!(ids(&tail).last(), Some(&"u19999"));
        assert_eq!(tail.range.end, as_u64(text.len()));
        let length = tail.range.end - tail.range.start;
        assert!(
            tail.bytes_read <= 3 * length,
            "{} of {length}",
            tail.bytes_read
        );
        assert!(tail.bytes_read * 50 < as_u64(text.len()), "{tail:?}");
        // The part before it is the rest, to the record.
        let before = log.before(tail.range.start).unwrap();
        assert_eq!(before.records.len() + tail.records.len(), 20_000);
    }

    #[test]
    fn a_short_log_is_its_own_end() {
        let text: String = (0..3).map(line).collect();
        let log = written(&MemoryFiles::default(), &text);
        let tail = log.tail(|records| records.len() >= 100).unwrap();
        assert_eq!(tail.range, 0..as_u64(text.len()));
        assert_eq!(ids(&tail), ["u0", "u1", "u2"]);
    }

    #[test]
    fn an_added_line_is_read_once_and_when_it_is_whole() {
        let files = MemoryFiles::default();
        let mut text: String = (0..5_000).map(line).collect();
        let mut at = written(&files, &text).tail(|_| true).unwrap().range.end;
        for number in 5_000..5_050 {
            let new = line(number);
            let (half, rest) = new.split_at(new.len() / 2);
            text.push_str(half);
            let part = written(&files, &text).added(at).unwrap();
            assert_eq!(ids(&part), [""; 0]);
            at = part.range.end;
            text.push_str(rest);
            let part = written(&files, &text).added(at).unwrap();
            assert_eq!(ids(&part), [format!("u{number}")]);
            // The line once for its end, and once for its content.
            assert!(part.bytes_read <= 2 * as_u64(new.len()), "{part:?}");
            at = part.range.end;
        }
        let part = written(&files, &text).added(at).unwrap();
        assert_eq!((part.records.len(), part.bytes_read), (0, 0));
    }
}
