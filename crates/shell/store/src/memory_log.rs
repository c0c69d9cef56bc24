//! A session's log in memory, behind the port: for tests and for sessions that leave no trace.

use crate::issue::Trouble;
use crate::log_file::ReadError;
use crate::read::ReadLog;
use crate::resume::{Resumed, is_carrier};
use crate::session_log::{AppendError, Draft, Head, SessionLog, place};
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::record::{Batch, Body, Record};
use std::collections::{BTreeMap, HashMap};

/// A log that is gone with its process.
#[derive(Clone, Debug)]
pub struct MemoryLog {
    session: SessionId,
    records: Vec<Record>,
    head: Option<Head>,
    len: u64,
    siblings: BTreeMap<SessionId, Vec<Record>>,
}

impl MemoryLog {
    /// An empty log.
    pub fn new(session: SessionId) -> Self {
        Self {
            session,
            records: Vec::new(),
            head: None,
            len: 0,
            siblings: BTreeMap::new(),
        }
    }

    /// Adds the records of another session that this one may refer to.
    #[must_use]
    pub fn with_sibling(mut self, session: SessionId, records: Vec<Record>) -> Self {
        self.siblings.insert(session, records);
        self
    }

    /// Everything that was appended.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The newest carrier on the path of the newest record.
    fn carrier(&self) -> Option<usize> {
        let at = |id: &RecordId| self.records.iter().position(|record| record.id == *id);
        let mut next = self.records.iter().rposition(|record| !record.side_chain);
        let mut steps = self.records.len();
        while let Some(index) = next.filter(|_| steps > 0) {
            let record = &self.records[index];
            if is_carrier(record) {
                return Some(index);
            }
            next = record.parent.as_ref().and_then(at);
            steps -= 1;
        }
        None
    }
}

impl SessionLog for MemoryLog {
    fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    fn append(&mut self, expected: Option<&RecordId>, draft: Draft) -> Result<Record, AppendError> {
        let (seq, parent) = place(self.head.as_ref(), expected, &draft)?;
        let record = Record {
            seq,
            offset: seq.get(),
            id: draft.id,
            parent,
            session: Some(self.session.clone()),
            at: draft.at,
            caused_by: draft.caused_by,
            side_chain: draft.side_chain,
            agent: draft.agent,
            own: true,
            body: draft.body,
        };
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
        let mut resumed = Resumed::default();
        let Some(carrier) = self.carrier() else {
            resumed.tail.clone_from(&self.records);
            return Ok(resumed);
        };
        resumed.tail = self.records[carrier + 1..].to_vec();
        let carrier = self.records[carrier].clone();
        let ranges = match &carrier.body {
            Body::Boundary(boundary) if boundary.manifest.is_none() => &[],
            body => body.manifest().map_or(&[][..], |manifest| &manifest.ranges),
        };
        let by_session: HashMap<&SessionId, &Vec<Record>> = self.siblings.iter().collect();
        for range in ranges {
            let records = match &range.session {
                Some(session) if *session != self.session => by_session.get(session).copied(),
                _ => Some(&self.records),
            };
            let Some(records) = records else {
                let session = range
                    .session
                    .clone()
                    .unwrap_or_else(|| self.session.clone());
                let what = Trouble::LogMissing { session };
                resumed.issues.add(None, carrier.offset, what);
                continue;
            };
            let kept = records
                .iter()
                .filter(|record| (range.first..=range.last).contains(&record.seq))
                .filter(|record| record.id != carrier.id);
            let named = kept.map(|record| (range.session.clone(), record.clone()));
            resumed.kept.extend(named);
        }
        resumed.carrier = Some(carrier);
        Ok(resumed)
    }
}
