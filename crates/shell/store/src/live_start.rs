//! The beginning of the live part of a log, for readers that trace the rest themselves.
//!
//! A log without a boundary is live as a whole, and may be longer than the memory should hold, even
//! as outlines. Its reader goes over it twice: once for the links, once for the records on the
//! path.
//!
//! Not here: the table of links (`dormouse-context`), and reading the live part at once
//! ([`LogFile::resume`]).

use crate::issue::{Issues, Trouble};
use crate::log_file::{LogFile, ReadError};
use crate::parse::for_each_parsed;
use crate::resume::{Resumed, newest_carrier};
use dormouse_core::id::SessionId;
use dormouse_core::record::Record;
use std::ops::Range;

/// Newest carrier of a log with the records it names. Whether the path leads to it is not known
/// yet: after a rewind it may lie on an abandoned branch.
#[derive(Debug, Default)]
pub struct LiveStart {
    /// Carrier, kept records and issues; the tail is empty.
    pub live: Resumed,
    /// Bytes of the file behind the carrier; without one, the whole file.
    pub tail: Range<u64>,
}

impl LogFile {
    /// Reads the newest carrier and the records it names. `siblings` opens the logs of other
    /// sessions that a fork refers to.
    pub fn live_start(
        &self,
        siblings: &dyn Fn(&SessionId) -> Option<Self>,
    ) -> Result<LiveStart, ReadError> {
        let len = self.len()?;
        let file = self.counted();
        let mut start = LiveStart {
            live: Resumed::default(),
            tail: 0..len,
        };
        if let Some(found) = self.during(newest_carrier(&file, len))? {
            start.tail.start = found.next;
            let live = &mut start.live;
            for issue in found.value.issues {
                live.issues.add(None, found.offset, Trouble::Part(issue));
            }
            let carrier = found.value.record;
            self.read_kept(&file, &carrier, siblings, live)?;
            live.carrier = Some(carrier);
        }
        start.live.bytes_read += file.bytes_read();
        Ok(start)
    }

    /// Hands out the records in a range of the file, which begins at a line, and adds the issues
    /// met.
    pub fn for_each_telling(
        &self,
        range: Range<u64>,
        issues: &mut Issues,
        each: impl FnMut(Record),
    ) -> Result<(), ReadError> {
        self.during(for_each_parsed(self.file(), range, issues, each))
    }
}
