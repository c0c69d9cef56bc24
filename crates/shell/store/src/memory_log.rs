//! A session's log in memory, behind the port: for tests and for sessions that leave no trace.
//!
//! # Not here
//! Lines and bytes: records are kept as values. The twin on disk: [`crate::FileLog`].

use crate::issue::{Issues, Trouble};
use crate::log_file::ReadError;
use crate::read::ReadLog;
use crate::resume::{Resumed, live_part_of};
use crate::session_log::{AppendError, Draft, Head, SessionLog, place};
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::record::{Batch, KeptRange, Record};

/// A log that ends with its process.
#[derive(Clone, Debug)]
pub struct MemoryLog {
    session: SessionId,
    records: Vec<Record>,
    head: Option<Head>,
    len: u64,
}

impl MemoryLog {
    /// An empty log, without its session record.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            records: Vec::new(),
            head: None,
            len: 0,
        }
    }

    /// All appended records, oldest first.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}

impl SessionLog for MemoryLog {
    fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    fn append(&mut self, expected: Option<&RecordId>, draft: Draft) -> Result<Record, AppendError> {
        let (seq, parent) = place(self.head.as_ref(), expected, &draft)?;
        // No bytes exist here; the number is as unique and as ordered as an offset.
        let record = draft.record(&self.session, seq, parent, seq.get());
        self.head = Some(Head {
            id: record.id.clone(),
            seq,
            offset: record.offset,
        });
        self.records.push(record.clone());
        Ok(record)
    }

    fn append_batch(&mut self, batch: &Batch) -> Result<(), AppendError> {
        let found = self.head.as_ref().map(|head| &head.id);
        if found != batch.expected.as_ref() {
            return Err(AppendError::HeadMoved {
                expected: batch.expected.clone(),
                found: found.cloned(),
            });
        }
        if let Some(last) = batch.records.last() {
            // As a file would count it: the driver computes the next batch's offsets from here.
            self.len = batch.offset + crate::chunks::as_u64(batch.lines.len());
            self.head = Some(Head {
                id: last.id.clone(),
                seq: last.seq,
                offset: last.offset,
            });
            self.records.extend(batch.records.iter().cloned());
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self) -> Result<ReadLog, ReadError> {
        let lines = crate::chunks::as_u64(self.records.len());
        Ok(ReadLog {
            records: self.records.clone(),
            lines,
            line_of: (1..=lines).collect(),
            ..ReadLog::default()
        })
    }

    fn resume(&self) -> Result<Resumed, ReadError> {
        let mut resumed = live_part_of(&self.records);
        // Without a manifest everything is in the tail already.
        let Some(carrier) = &resumed.carrier else {
            return Ok(resumed);
        };
        let manifest = carrier.body.manifest();
        for range in manifest.map_or(&[][..], |manifest| &manifest.ranges) {
            // A log in memory has no neighbours: ranges of another session cannot be read.
            let elsewhere = range
                .session
                .as_ref()
                .filter(|other| **other != self.session);
            if let Some(session) = elsewhere.cloned() {
                let what = Trouble::LogMissing { session };
                resumed.issues.add(None, carrier.offset, what);
                continue;
            }
            let is_before = |record: &Record| record.seq < carrier.seq;
            let end = self.records.partition_point(is_before);
            let named = named(&self.records[..end], range, &mut resumed.issues).iter();
            let kept = named.map(|record| (range.session.clone(), record.clone()));
            resumed.kept.extend(kept);
        }
        Ok(resumed)
    }
}

/// The records of a range, found by the rules that hold for files: the first by its number if its
/// id agrees, or else by the id alone; the others by their numbers.
fn named<'a>(records: &'a [Record], range: &KeptRange, issues: &mut Issues) -> &'a [Record] {
    let is_first = |record: &Record| record.id == range.first_id;
    let by_number = records.binary_search_by_key(&range.first, |record| record.seq);
    let first = by_number.ok().filter(|at| is_first(&records[*at]));
    let KeptRange {
        first: from, last, ..
    } = *range;
    let Some(first) = first.or_else(|| records.iter().position(is_first)) else {
        let id = range.first_id.clone();
        let what = Trouble::RangeNotFound {
            first: from,
            last,
            id,
        };
        issues.add(None, range.offset, what);
        return &[];
    };
    let found = &records[first..];
    let found = &found[..found.partition_point(|record| record.seq <= last)];
    // Kept as far as it is there: a shorter view is better than none.
    if found.last().is_none_or(|record| record.seq != last) {
        let what = Trouble::RangeCutShort { first: from, last };
        issues.add(None, range.offset, what);
    }
    found
}
