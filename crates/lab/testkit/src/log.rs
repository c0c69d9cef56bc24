//! A log in memory, record by record.
//!
//! # Not here
//! Lines and files: `dormouse-store`.

use dormouse_core::block::Block;
use dormouse_core::id::{MessageId, RecordId, Seq};
use dormouse_core::record::{Body, Fragment, FragmentKind, Message, Record};
use dormouse_core::units::Millis;
use dormouse_core::usage::TokenUsage;

/// Milliseconds between two records: one second, so that order shows in times.
const STEP: i64 = 1_000;

/// Appends records the way a writer does: numbered, chained to the head.
#[derive(Clone, Debug)]
pub struct LogBuilder {
    records: Vec<Record>,
    head: Option<RecordId>,
    first: Seq,
    prefix: &'static str,
}

impl Default for LogBuilder {
    fn default() -> Self {
        Self::starting_at(Seq::new(1), "r")
    }
}

impl LogBuilder {
    /// A log without any record, not even a session record.
    pub fn new() -> Self {
        Self::default()
    }

    /// A log whose records count from `first` and have ids that begin with `prefix`.
    pub fn starting_at(first: Seq, prefix: &'static str) -> Self {
        Self {
            records: Vec::new(),
            head: None,
            first,
            prefix,
        }
    }

    /// All records in the order of the log.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The newest record of the current branch.
    pub fn head(&self) -> Option<&RecordId> {
        self.head.as_ref()
    }

    /// The number the next record will have.
    pub fn next_seq(&self) -> Seq {
        Seq::new(self.first.get() + self.records.len() as u64)
    }

    /// The id the next record will have.
    pub fn next_id(&self) -> RecordId {
        RecordId::new(format!("{}{}", self.prefix, self.next_seq()))
    }

    /// Goes on from an earlier record: the next one starts a branch.
    pub fn rewind_to(&mut self, id: &RecordId) {
        assert!(
            self.records.iter().any(|record| record.id == *id),
            "no record {id}"
        );
        self.head = Some(id.clone());
    }

    /// Appends a record to the head of the current branch.
    pub fn push(&mut self, body: Body) -> &Record {
        self.push_caused_by(body, None)
    }

    /// Appends a record that a rewrite made necessary.
    pub fn push_caused_by(&mut self, body: Body, caused_by: Option<RecordId>) -> &Record {
        let seq = self.next_seq();
        let at = i64::try_from(seq.get()).map_or(0, |seq| seq * STEP);
        let record = Record {
            seq,
            // Any increasing figure will do where there is no file.
            offset: seq.get() * 1_000,
            id: self.next_id(),
            parent: self.head.clone(),
            session: Some("session".into()),
            at: Some(Millis(1_770_000_000_000 + at)),
            caused_by,
            side_chain: false,
            agent: None,
            own: true,
            body,
        };
        self.head = Some(record.id.clone());
        self.records.push(record);
        let Some(last) = self.records.last() else {
            panic!("just pushed")
        };
        last
    }

    /// Appends words of the user.
    pub fn user(&mut self, text: &str) -> &Record {
        self.push(Body::Message(Message::user(vec![Block::text(text)])))
    }

    /// Appends blocks of the user's side, such as results.
    pub fn user_blocks(&mut self, blocks: Vec<Block>) -> &Record {
        self.push(Body::Message(Message::user(blocks)))
    }

    /// Appends an answer of the model, without usage.
    pub fn assistant(&mut self, id: &str, blocks: Vec<Block>) -> &Record {
        self.push(Body::Message(Message::assistant(
            MessageId::from(id),
            "model",
            blocks,
        )))
    }

    /// Appends an answer of the model with its usage.
    pub fn assistant_with_usage(
        &mut self,
        id: &str,
        blocks: Vec<Block>,
        usage: TokenUsage,
    ) -> &Record {
        let mut message = Message::assistant(MessageId::from(id), "model", blocks);
        message.usage = Some(usage);
        self.push(Body::Message(message))
    }

    /// Appends a fragment that a component injects.
    pub fn fragment(&mut self, kind: FragmentKind, text: &str) -> &Record {
        self.push(Body::Fragment(Fragment {
            kind,
            block: Block::text(text),
        }))
    }
}
