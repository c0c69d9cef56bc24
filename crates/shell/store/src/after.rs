//! The records behind a number, read from the end of a log.
//!
//! A background job has a cursor; the records behind it are the end of the log. Stretches at the
//! end are tried, each twice as long as the one before, until one begins in front of the cursor: at
//! most about three times the wanted bytes are read, at any length of the file.

use crate::issue::Issues;
use crate::log_file::{LogFile, ReadError};
use crate::parse::read_records;
use crate::search::line_start;
use dormouse_core::id::Seq;
use dormouse_core::record::Record;
use dormouse_system::{FileResult, RandomRead};

/// First stretch in bytes: a few turns without long results, the usual distance of a cursor.
const FIRST: u64 = 64 * 1024;

impl LogFile {
    /// The records behind a number, oldest first. Lines that cannot be read are left out; readers
    /// of the whole log report them.
    pub fn records_after(&self, seq: Seq) -> Result<Vec<Record>, ReadError> {
        let len = self.len()?;
        self.during(after(self.file(), len, seq))
    }
}

pub(crate) fn after(file: &dyn RandomRead, len: u64, seq: Seq) -> FileResult<Vec<Record>> {
    let mut stretch = FIRST;
    loop {
        let start = match len.saturating_sub(stretch) {
            // Zero is the beginning of a line already; any other offset may lie inside one.
            0 => 0,
            inside => line_start(file, 0, inside)?,
        };
        let mut records = read_records(file, start..len, &mut Issues::default())?;
        // The stretch begins in front of the cursor, so nothing behind it is missing.
        let reaches = records.first().is_some_and(|first| first.seq <= seq);
        if reaches || start == 0 {
            records.retain(|record| record.seq > seq);
            return Ok(records);
        }
        stretch *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session_log::Draft;
    use crate::{FileLog, SessionLog};
    use dormouse_core::block::Block;
    use dormouse_core::id::{RecordId, SessionId};
    use dormouse_core::record::{Body, FORMAT, LineContext, Message, SessionStart};
    use dormouse_core::units::Millis;
    use dormouse_system::MemorySystem;

    fn log(records: u64) -> (MemorySystem, FileLog) {
        let machine = MemorySystem::new();
        let session = SessionId::new("s");
        let context = LineContext::default();
        let mut log =
            FileLog::open(&machine.system(), "/s.jsonl".as_ref(), context, session).unwrap();
        for number in 1..=records {
            let body = if number == 1 {
                Body::Session(Box::new(SessionStart {
                    format: FORMAT,
                    project: String::new(),
                    lineage: None,
                }))
            } else {
                Body::Message(Message::user(vec![Block::text(&"word ".repeat(200))]))
            };
            let head = log.head().map(|head| head.id.clone());
            let id = RecordId::new(format!("r{number}"));
            log.append(head.as_ref(), Draft::new(id, Millis(1), body))
                .unwrap();
        }
        (machine, log)
    }

    #[test]
    fn every_cursor_gives_what_lies_behind_it() {
        let (_machine, log) = log(300);
        for seq in [0, 1, 2, 150, 299, 300, 9_999] {
            let seqs = log.records_after(Seq::new(seq)).unwrap();
            let seqs: Vec<u64> = seqs.iter().map(|record| record.seq.get()).collect();
            assert_eq!(seqs, (seq + 1..=300).collect::<Vec<_>>(), "{seq}");
        }
    }

    #[test]
    fn the_cost_is_what_lies_behind_the_cursor() {
        let (_machine, mut log) = log(3_000);
        let file = log.writer().log().clone();
        let len = file.len().unwrap();
        let counted = file.counted();
        let behind = after(&counted, len, Seq::new(2_950)).unwrap();
        assert_eq!(behind.len(), 50);
        assert!(
            counted.bytes_read() * 10 < len,
            "{} of {len} bytes were read",
            counted.bytes_read()
        );
    }
}
