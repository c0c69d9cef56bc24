//! Shared by the tests: a machine in memory, drafts, and logs written by hand.

use dormouse_core::block::Block;
use dormouse_core::id::{RecordId, SessionId};
use dormouse_core::record::{
    Body, Boundary, BoundaryKind, Checkpoint, FORMAT, KeptRange, LineContext, Manifest, Message,
    Record, Request, SessionStart, Trigger,
};
use dormouse_core::units::Millis;
use dormouse_store::{Draft, LogFile, LogWriter, OpenError, Resumed};
use dormouse_system::MemorySystem;
use std::path::Path;

pub(crate) const LOG: &str = "/home/projects/p/s.jsonl";

pub(crate) fn open(memory: &MemorySystem) -> Result<LogWriter, OpenError> {
    open_at(memory, LOG, "s")
}

pub(crate) fn open_at(
    memory: &MemorySystem,
    path: &str,
    session: &str,
) -> Result<LogWriter, OpenError> {
    let context = LineContext {
        cwd: "/p".into(),
        version: "1".into(),
        git_branch: "main".into(),
    };
    LogWriter::open(&memory.system(), path.as_ref(), context, session.into())
}

pub(crate) fn session() -> Body {
    Body::Session(Box::new(SessionStart {
        format: FORMAT,
        project: "/p".into(),
        lineage: None,
    }))
}

pub(crate) fn says(text: &str) -> Body {
    Body::Message(Message::user(vec![Block::text(text)]))
}

pub(crate) fn request() -> Body {
    Body::Request(Box::new(Request {
        prefix: None,
        model: "m".into(),
        segments: 1,
        chain: dormouse_core::hash::Hash::START,
        markers: Vec::new(),
        params: dormouse_core::json::RawJson::from_value(&serde_json::json!({})).unwrap(),
        decisions: Vec::new(),
        distil: Vec::new(),
        marked: None,
    }))
}

pub(crate) fn checkpoint(ranges: Vec<KeptRange>) -> Body {
    let manifest = Manifest {
        ranges,
        ..Manifest::default()
    };
    Body::Checkpoint(Box::new(Checkpoint { manifest }))
}

pub(crate) fn boundary(ranges: Vec<KeptRange>) -> Body {
    Body::Boundary(Box::new(Boundary {
        trigger: Trigger::Auto,
        kind: BoundaryKind::Full,
        pre_tokens: None,
        post_tokens: None,
        fixed_tokens: None,
        summary_tokens: None,
        summary: vec![Block::text("so far")],
        restored: Vec::new(),
        text: Vec::new(),
        spliced: Vec::new(),
        previous: None,
        manifest: Some(Manifest {
            ranges,
            ..Manifest::default()
        }),
        preserved: None,
    }))
}

pub(crate) fn range(first: &Record, last: &Record) -> KeptRange {
    KeptRange {
        session: None,
        first: first.seq,
        last: last.seq,
        offset: first.offset,
        last_offset: last.offset,
        first_id: first.id.clone(),
    }
}

pub(crate) fn draft(id: &str, body: Body) -> Draft {
    Draft::new(id.into(), Millis(1_770_000_000_000), body)
}

/// Appends to the head, whatever it is.
pub(crate) fn push(writer: &mut LogWriter, id: &str, body: Body) -> Record {
    let head = writer.head().map(|head| head.id.clone());
    writer.append(head.as_ref(), draft(id, body)).unwrap()
}

/// Appends a record that hangs on an earlier one.
pub(crate) fn branch(writer: &mut LogWriter, id: &str, from: &str, body: Body) -> Record {
    let head = writer.head().map(|head| head.id.clone());
    let draft = draft(id, body).on(from.into());
    writer.append(head.as_ref(), draft).unwrap()
}

pub(crate) fn log(memory: &MemorySystem, path: &str) -> LogFile {
    LogFile::open(&memory.files, Path::new(path)).unwrap()
}

pub(crate) fn resume(memory: &MemorySystem) -> Resumed {
    log(memory, LOG).resume(&|_| None).unwrap()
}

pub(crate) fn ids<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<&'a str> {
    records
        .into_iter()
        .map(|record| record.id.as_str())
        .collect()
}

pub(crate) fn kept(resumed: &Resumed) -> Vec<(Option<&str>, &str)> {
    resumed
        .kept
        .iter()
        .map(|(session, record)| (session.as_ref().map(SessionId::as_str), record.id.as_str()))
        .collect()
}

pub(crate) fn carrier(resumed: &Resumed) -> Option<&str> {
    resumed.carrier.as_ref().map(|record| record.id.as_str())
}

pub(crate) fn id(text: &str) -> RecordId {
    text.into()
}
