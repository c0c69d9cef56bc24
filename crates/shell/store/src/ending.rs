//! The last records of a log, read from its end.
//!
//! Stretches at the end of the file are tried, each twice as long as the one before, until one holds
//! as many records as are wanted: about three times their bytes are read, at any length of the file.
//! A line is numbered from the end, because the lines before it were not counted.
//!
//! # Not here
//! Records behind a cursor ([`crate::after`]), and the live part of a log ([`crate::resume`]).

use crate::issue::Issues;
use crate::lines::Lines;
use crate::log_file::{LogFile, ReadError};
use crate::read::read_line;
use crate::search::line_start;
use dormouse_core::record::Record;
use std::collections::VecDeque;

/// First stretch in bytes: some screens of records with long results. A shorter file is not worth
/// the trouble and is read whole, with all that a whole reading tells.
const FIRST: u64 = 1024 * 1024;

/// The end of a log, as far back as it was read.
#[derive(Debug, Default)]
pub struct LogEnding {
    /// The wanted records in the order of the file, each with the number of its line, counted from
    /// the end: 1 is the last line.
    pub records: Vec<(Record, u64)>,
    /// Lines of the stretch that could not be read.
    pub issues: Issues,
    /// True if the last line was cut off by a crash and is lost.
    pub torn_tail: bool,
    /// Bytes read of the file; the cost of the reading.
    pub bytes_read: u64,
}

impl LogFile {
    /// The last `count` records that are wanted. `None` if the whole log would have to be read for
    /// them, because it is short or holds too few.
    pub fn last_records(
        &self,
        count: usize,
        wanted: impl Fn(&Record) -> bool,
    ) -> Result<Option<LogEnding>, ReadError> {
        let len = self.len()?;
        let file = self.counted();
        let mut stretch = FIRST;
        while stretch < len {
            let start = self.during(line_start(&file, 0, len - stretch))?;
            let mut ending = LogEnding::default();
            let mut last: VecDeque<(Record, u64)> = VecDeque::new();
            let mut lines = 0;
            for line in Lines::whole(&file, start..len) {
                lines += 1;
                let read = read_line(&self.during(line)?, None, &mut ending.issues);
                ending.torn_tail |= read.torn;
                for record in read.records.into_iter().filter(&wanted) {
                    last.push_back((record, lines));
                    if last.len() > count {
                        last.pop_front();
                    }
                }
            }
            if last.len() == count {
                let from_end = |(record, line)| (record, lines - line + 1);
                ending.records = last.into_iter().map(from_end).collect();
                ending.bytes_read = file.bytes_read();
                return Ok(Some(ending));
            }
            stretch *= 2;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::MemoryFiles;
    use pretty_assertions::assert_eq;

    /// A log of numbered lines of about a kilobyte; `gap` lines in front of the last are no records.
    fn log(lines: usize, gap: usize) -> LogFile {
        let mut text = String::new();
        for line in 0..lines {
            if (lines - gap - 1..lines - 1).contains(&line) {
                text.push_str("damaged\n");
                continue;
            }
            let words = "word ".repeat(200);
            let written = format!(
                "{{\"type\":\"user\",\"uuid\":\"u{line}\",\"message\":{{\"role\":\"user\",\"content\":\"{words}\"}}}}\n"
            );
            text.push_str(&written);
        }
        let files = MemoryFiles::default();
        files.put("/f", &text);
        LogFile::open(&files, "/f".as_ref()).unwrap()
    }

    fn ids(ending: &LogEnding) -> Vec<(&str, u64)> {
        let records = ending.records.iter();
        records
            .map(|(record, line)| (record.id.as_str(), *line))
            .collect()
    }

    #[test]
    fn the_last_records_cost_the_end_of_the_file() {
        let log = log(20_000, 2);
        let ending = log.last_records(3, |_| true).unwrap().unwrap();
        let expected = [("u19995", 5), ("u19996", 4), ("u19999", 1)];
        assert_eq!(ids(&ending), expected);
        assert_eq!(ending.issues.total(), 2);
        let len = log.len().unwrap();
        assert!(
            ending.bytes_read * 10 < len,
            "{} of {len} bytes were read",
            ending.bytes_read
        );
    }

    #[test]
    fn rare_records_are_looked_for_further_back() {
        let log = log(20_000, 0);
        let wanted = |record: &Record| record.id.as_str() == "u15000";
        let ending = log.last_records(1, wanted).unwrap().unwrap();
        assert_eq!(ids(&ending), [("u15000", 5_000)]);
        assert!(log.last_records(2, wanted).unwrap().is_none());
    }
}
