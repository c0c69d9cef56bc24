//! The driver's side of the log: records numbered, linked, encoded, and written in batches.
//!
//! # Model
//! A record is emitted once: it gets its number, its parent and its id, is encoded, and joins the
//! batch that waits. One batch is outstanding at a time; while it is being written the next one
//! fills. So a slow store makes batches larger instead of making anyone wait, and one sync covers
//! all of a batch.
//!
//! # Responsibilities
//! Compare-and-append: a batch names the head its records were made for, which is the journal's
//! own knowledge and never asked back from the store. After a failure nothing is emitted any more,
//! because the conversation in memory is ahead of the log.

use crate::error::{DriveError, StoreFailure};
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::id::{RecordId, Seq, SessionId};
use dormouse_core::record::{Batch, Body, LONGEST_LINE, LineContext, Record, encode};
use dormouse_core::units::Millis;

/// The journal of one driver.
#[derive(Debug)]
pub(crate) struct Journal {
    session: SessionId,
    line: LineContext,
    seed: u64,
    /// The newest record emitted.
    head: Option<(RecordId, Seq)>,
    /// The newest record the store has confirmed.
    stored: Option<(RecordId, Seq)>,
    /// The record the next one hangs on, where it is not the head: a branch begins.
    branch: Option<RecordId>,
    /// Length of the log, the waiting batch included.
    len: u64,
    /// Where the newest record ends that a resume can start at.
    carrier_end: u64,
    waiting: Vec<Record>,
    lines: Vec<u8>,
    waiting_from: u64,
    outstanding: Option<(RecordId, Seq)>,
    keeping: Keeping,
    failed: Option<StoreFailure>,
}

/// Whether records are written at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// In a log.
    Log,
    /// In memory only: a fork's records are gone with it.
    Nowhere,
}

impl Journal {
    /// A journal that goes on behind `head`, in a log of `len` bytes.
    pub(crate) fn new(session: SessionId, line: LineContext, seed: u64, keeping: Keeping) -> Self {
        Self {
            session,
            line,
            seed,
            head: None,
            stored: None,
            branch: None,
            len: 0,
            carrier_end: 0,
            waiting: Vec::new(),
            lines: Vec::new(),
            waiting_from: 0,
            outstanding: None,
            keeping,
            failed: None,
        }
    }

    /// Goes on behind records that are stored already.
    pub(crate) fn behind(&mut self, head: (RecordId, Seq), len: u64, since_carrier: u64) {
        self.head = Some(head.clone());
        self.stored = Some(head);
        self.len = len;
        self.waiting_from = len;
        self.carrier_end = len.saturating_sub(since_carrier);
    }

    /// The newest record emitted.
    pub(crate) fn head(&self) -> Option<&(RecordId, Seq)> {
        self.head.as_ref()
    }

    /// The number of the newest record emitted.
    pub(crate) fn head_seq(&self) -> Seq {
        self.head.as_ref().map_or(Seq::default(), |(_, seq)| *seq)
    }

    /// The number of the newest record the store has confirmed.
    pub(crate) fn stored_seq(&self) -> Seq {
        match self.keeping {
            Keeping::Log => self.stored.as_ref().map_or(Seq::default(), |(_, seq)| *seq),
            Keeping::Nowhere => self.head_seq(),
        }
    }

    /// Bytes since the newest record that a resume can start at.
    pub(crate) fn since_carrier(&self) -> u64 {
        self.len.saturating_sub(self.carrier_end)
    }

    /// Why nothing can be written any more.
    pub(crate) fn failed(&self) -> Option<&StoreFailure> {
        self.failed.as_ref()
    }

    /// The id the record with this number will have.
    pub(crate) fn id_of(&self, seq: Seq) -> RecordId {
        let text = format!("{}/{}/{}", self.session, seq.get(), self.seed);
        let hash = Hash::of(text.as_bytes()).to_string();
        // The shape of a version-8 UUID: readers of transcripts expect one.
        RecordId::new(format!(
            "{}-{}-8{}-a{}-{}",
            &hash[..8],
            &hash[8..12],
            &hash[12..15],
            &hash[15..18],
            &hash[18..30]
        ))
    }

    /// The record that the next one will hang on.
    pub(crate) fn next_parent(&self) -> Option<&RecordId> {
        self.branch
            .as_ref()
            .or_else(|| self.head.as_ref().map(|(id, _)| id))
    }

    /// Makes the next record hang on an earlier one.
    pub(crate) fn branch_at(&mut self, record: RecordId) {
        self.branch = Some(record);
    }

    /// The number the next record will have.
    pub(crate) fn next_seq(&self) -> Seq {
        self.head_seq().next()
    }

    /// Emits a record.
    pub(crate) fn emit(
        &mut self,
        now: Millis,
        body: Body,
        caused_by: Option<RecordId>,
    ) -> Result<Record, DriveError> {
        if let Some(failed) = &self.failed {
            return Err(DriveError::Log(failed.clone()));
        }
        let seq = match &body {
            Body::Session(start) => match &start.lineage {
                // A fork counts on from its parent, so that the keys of blocks stay unique.
                Some(lineage) => lineage.seq.next(),
                None => Seq::new(1),
            },
            _ => self.next_seq(),
        };
        let record = Record {
            seq,
            offset: self.len,
            id: self.id_of(seq),
            parent: self.next_parent().cloned(),
            session: Some(self.session.clone()),
            at: Some(now),
            caused_by,
            side_chain: false,
            agent: None,
            own: true,
            body,
        };
        if self.keeping == Keeping::Log {
            let line = encode(&record, &self.line)
                .map_err(|error| DriveError::Record(error.to_string()))?;
            if line.len() > LONGEST_LINE {
                return Err(DriveError::Record(format!(
                    "its line has {} bytes, and a reader takes {LONGEST_LINE}",
                    line.len()
                )));
            }
            self.len += line.len() as u64;
            self.lines.extend_from_slice(&line);
            self.waiting.push(record.clone());
        }
        if record.body.manifest().is_some() {
            self.carrier_end = self.len;
        }
        self.branch = None;
        self.head = Some((record.id.clone(), seq));
        Ok(record)
    }

    /// The next batch, if one waits and none is outstanding. `needed`: an effect waits for records
    /// up to this one, so that the batch has to be on disk.
    pub(crate) fn batch(&mut self, needed: Option<Seq>) -> Option<Batch> {
        if self.outstanding.is_some() || self.waiting.is_empty() || self.failed.is_some() {
            return None;
        }
        let records = std::mem::take(&mut self.waiting);
        let lines = Bytes::from(std::mem::take(&mut self.lines));
        let offset = std::mem::replace(&mut self.waiting_from, self.len);
        let last = records.last()?;
        self.outstanding = Some((last.id.clone(), last.seq));
        let first = records.first()?.seq;
        let rewrites = records.iter().any(|record| record.body.must_be_durable());
        Some(Batch {
            expected: self.stored.as_ref().map(|(id, _)| id.clone()),
            sync: rewrites || needed.is_some_and(|needed| needed >= first),
            records,
            offset,
            lines,
        })
    }

    /// The outstanding batch has ended.
    pub(crate) fn appended(&mut self, result: Result<(), StoreFailure>) {
        match (result, self.outstanding.take()) {
            (Ok(()), Some(head)) => self.stored = Some(head),
            (Ok(()), None) => {}
            (Err(failure), _) => self.failed = Some(failure),
        }
    }
}
