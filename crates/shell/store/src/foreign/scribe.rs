//! Collects the records that a translator makes of a transcript's lines.
//!
//! # Model
//! The scribe knows the current line and the parent of the next record: the record before, unless
//! the translator sets another. Records of the same line get offsets of their own inside it, so
//! that each has its own number and id.
//!
//! # Not here
//! The meaning of lines: [`super::codex`] and [`super::pi`].

use super::{AboutSession, ForeignUsage};
use dormouse_core::block::Block;
use dormouse_core::id::{RecordId, Seq, SessionId};
use dormouse_core::record::{
    Body, Boundary, BoundaryKind, Foreign, Message, MessageOrigin, Preserved, Record, Trigger,
};
use dormouse_core::units::{Millis, Tokens};
use dormouse_core::usage::TokenUsage;
use dormouse_core::usage_book::ResponseKey;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Scribe {
    tool: &'static str,
    records: Vec<Record>,
    offset: u64,
    /// Records of this line so far.
    made: u64,
    /// Time that the line names.
    pub(super) at: Option<Millis>,
    /// Parent of the next record; translators set it to start a branch.
    pub(super) last: Option<RecordId>,
    /// True if another agent leads this session: its "user" is not a person.
    pub(super) side_chain: bool,
    /// Facts about the session found so far.
    pub(super) about: AboutSession,
    usage: Vec<ForeignUsage>,
}

impl Scribe {
    pub(super) fn new(tool: &'static str) -> Self {
        Self {
            tool,
            records: Vec::new(),
            offset: 0,
            made: 0,
            at: None,
            last: None,
            side_chain: false,
            about: AboutSession::default(),
            usage: Vec::new(),
        }
    }

    /// Goes to the line that begins at `offset`.
    pub(super) fn turn_to(&mut self, offset: u64) {
        self.offset = offset;
        self.made = 0;
        // A line without a time must not get that of the line before.
        self.at = None;
    }

    /// Number of records so far.
    pub(super) fn written(&self) -> usize {
        self.records.len()
    }

    pub(super) fn finish(self) -> (Vec<Record>, AboutSession, Vec<ForeignUsage>) {
        (self.records, self.about, self.usage)
    }

    /// Notes the usage of a response. `identity` is the same wherever the response is told again,
    /// in this transcript or in a fork of it.
    pub(super) fn bill(&mut self, identity: &str, model: &str, usage: TokenUsage) {
        let key = RecordId::new(format!("{}:{identity}", self.tool));
        self.usage.push(ForeignUsage {
            key: ResponseKey::Record(key),
            at: self.at,
            model: model.to_owned(),
            usage,
        });
    }

    /// A name for this place that no other place of any transcript has.
    pub(super) fn place_anywhere(&self) -> String {
        let session = self.about.session.as_ref().map_or("", SessionId::as_str);
        format!("{session}/{}", self.place())
    }

    /// A name for this place that no other place of the transcript has.
    pub(super) fn place(&self) -> String {
        match self.made {
            0 => format!("{}@{}", self.tool, self.offset),
            made => format!("{}@{}.{made}", self.tool, self.offset),
        }
    }

    /// Writes a record under an id made from its place.
    pub(super) fn write(&mut self, body: Body) {
        let id = self.place();
        self.write_as(&id, body);
    }

    /// Writes a record under the id that the transcript has for it.
    pub(super) fn write_as(&mut self, id: &str, body: Body) {
        let id = RecordId::from(id);
        self.records.push(Record {
            // Unique, because a line has more bytes than records are made of it.
            seq: Seq::from_offset(self.offset + self.made),
            offset: self.offset,
            id: id.clone(),
            parent: self.last.replace(id),
            session: self.about.session.clone(),
            at: self.at,
            caused_by: None,
            side_chain: self.side_chain,
            agent: None,
            own: false,
            body,
        });
        self.made += 1;
    }
}

/// A line without effect on the conversation; it keeps its place among the parents.
pub(super) fn without_effect(kind: &str, subtype: Option<&str>, title: Option<&str>) -> Body {
    Body::Foreign(Foreign {
        kind: kind.into(),
        subtype: subtype.map(Into::into),
        title: title.map(Into::into),
    })
}

/// A message of the user's side.
pub(super) fn user_side(content: Vec<Block>, origin: MessageOrigin) -> Body {
    Body::Message(Message {
        origin,
        ..Message::user(content)
    })
}

/// A compaction of another tool. It has no manifest: only a preserved stretch can survive it.
pub(super) fn boundary(pre_tokens: Option<u64>, preserved: Option<Preserved>) -> Body {
    Body::Boundary(Box::new(Boundary {
        trigger: Trigger::Unknown,
        kind: BoundaryKind::Foreign,
        pre_tokens: pre_tokens.map(Tokens),
        post_tokens: None,
        fixed_tokens: None,
        summary_tokens: None,
        summary: Vec::new(),
        restored: Vec::new(),
        text: Vec::new(),
        spliced: Vec::new(),
        previous: None,
        manifest: None,
        preserved,
    }))
}
