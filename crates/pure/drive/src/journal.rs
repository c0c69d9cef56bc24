//! Driver's side of the log: records are numbered, linked, encoded, and written in batches.
//!
//! # Model
//! A record is emitted once: it gets its number, its parent and its id, is encoded, and joins the
//! waiting batch. One batch is outstanding at a time; while it is written the next one fills. A
//! slow store therefore makes batches larger instead of delaying the driver, and one sync covers a
//! whole batch.
//!
//! # Responsibilities
//! Compare-and-append: a batch names the head its records were made for. The journal knows that
//! head and never asks the store for it. After a failure nothing more is emitted, because the
//! conversation in memory is ahead of the log.
//!
//! # Not here
//! Files, locks and syncing (`store`).

use crate::error::{DriveError, StoreFailure};
use bytes::Bytes;
use dormouse_core::hash::Hash;
use dormouse_core::id::{RecordId, Seq, SessionId};
use dormouse_core::record::{Batch, Body, LONGEST_LINE, LineContext, Record, encode};
use dormouse_core::units::Millis;

/// Journal of one driver.
#[derive(Debug)]
pub(crate) struct Journal {
    session: SessionId,
    line: LineContext,
    seed: u64,
    /// Newest record emitted; none for an empty log.
    head: Option<(RecordId, Seq)>,
    /// Newest record confirmed by the store.
    stored: Option<(RecordId, Seq)>,
    /// Parent of the next record, where it is not the head: the start of a branch.
    branch: Option<RecordId>,
    /// Length of the log in bytes, the waiting batch included.
    len: u64,
    /// End offset of the newest record that a resume can start at.
    carrier_end: u64,
    waiting: Vec<Record>,
    lines: Vec<u8>,
    waiting_from: u64,
    outstanding: Option<(RecordId, Seq)>,
    keeping: Keeping,
    failed: Option<StoreFailure>,
}

/// Destination of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// Records go to the log.
    Log,
    /// Records stay in memory and are discarded with the driver, as in a fork.
    Nowhere,
}

impl Journal {
    /// Empty journal; [`Journal::behind`] continues an existing log.
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

    /// Continues after records that are already stored.
    pub(crate) fn behind(&mut self, head: (RecordId, Seq), len: u64, since_carrier: u64) {
        self.head = Some(head.clone());
        self.stored = Some(head);
        self.len = len;
        self.waiting_from = len;
        self.carrier_end = len.saturating_sub(since_carrier);
    }

    /// Newest record emitted, stored or not.
    pub(crate) fn head(&self) -> Option<&(RecordId, Seq)> {
        self.head.as_ref()
    }

    /// Sequence number of the newest record emitted; 0 for an empty log.
    pub(crate) fn head_seq(&self) -> Seq {
        self.head.as_ref().map_or(Seq::default(), |(_, seq)| *seq)
    }

    /// Sequence number of the newest record that effects may rely on.
    pub(crate) fn stored_seq(&self) -> Seq {
        match self.keeping {
            Keeping::Log => self.stored.as_ref().map_or(Seq::default(), |(_, seq)| *seq),
            // Nothing is stored, so nothing has to be waited for.
            Keeping::Nowhere => self.head_seq(),
        }
    }

    /// Bytes since the newest record that a resume can start at; a checkpoint is due by this
    /// figure.
    pub(crate) fn since_carrier(&self) -> u64 {
        self.len.saturating_sub(self.carrier_end)
    }

    /// Failure after which nothing can be written any more.
    pub(crate) fn failed(&self) -> Option<&StoreFailure> {
        self.failed.as_ref()
    }

    /// Id that the record with this number will have. A compaction needs it before the record
    /// exists.
    pub(crate) fn id_of(&self, seq: Seq) -> RecordId {
        // The seed tells two openings of one log apart: both may emit the same number after a lost
        // batch.
        let text = format!("{}/{}/{}", self.session, seq.get(), self.seed);
        let hash = Hash::of(text.as_bytes()).to_string();
        // Shape of a version-8 UUID, because readers of transcripts expect one.
        RecordId::new(format!(
            "{}-{}-8{}-a{}-{}",
            &hash[..8],
            &hash[8..12],
            &hash[12..15],
            &hash[15..18],
            &hash[18..30]
        ))
    }

    /// Parent of the next record.
    pub(crate) fn next_parent(&self) -> Option<&RecordId> {
        self.branch
            .as_ref()
            .or_else(|| self.head.as_ref().map(|(id, _)| id))
    }

    /// Makes an earlier record the parent of the next one.
    pub(crate) fn branch_at(&mut self, record: RecordId) {
        self.branch = Some(record);
    }

    /// Sequence number of the next record.
    pub(crate) fn next_seq(&self) -> Seq {
        self.head_seq().next()
    }

    /// Creates a record and adds it to the waiting batch.
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
                // A fork counts on from its parent, so that block keys stay unique.
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
            // Checked before anything changes: the state must not contain a record the log cannot
            // hold.
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
        // A resume can start here, so the next checkpoint is due a full interval later.
        if record.body.manifest().is_some() {
            self.carrier_end = self.len;
        }
        // Only the first record of a branch has a parent other than the head.
        self.branch = None;
        self.head = Some((record.id.clone(), seq));
        Ok(record)
    }

    /// Next batch, if one waits and none is outstanding. `needed` is the newest record an effect
    /// waits for; a batch that contains it has to be synced.
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

    /// Ends the outstanding batch.
    pub(crate) fn appended(&mut self, result: Result<(), StoreFailure>) {
        match (result, self.outstanding.take()) {
            (Ok(()), Some(head)) => self.stored = Some(head),
            (Ok(()), None) => {}
            (Err(failure), _) => self.failed = Some(failure),
        }
    }
}
