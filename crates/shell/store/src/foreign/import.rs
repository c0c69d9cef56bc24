//! A log of Dormouse's from a foreign transcript.
//!
//! # Model
//! The records that were made of the transcript are written one after the other, each hanging on
//! what it hung on there. Lines without effect are left behind; what hung on them hangs on what
//! they hung on.

use super::ForeignLog;
use crate::chunks::as_u64;
use crate::export::{ConvertError, Converted, NewLog};
use crate::session_log::{Draft, Parent};
use crate::writer::LogWriter;
use dormouse_core::id::RecordId;
use dormouse_core::record::{Body, FORMAT, Record, SessionStart};
use dormouse_system::System;
use std::collections::HashMap;
use std::path::Path;

/// Makes a log of Dormouse's from another tool's transcript.
pub fn import(
    foreign: ForeignLog,
    system: &System,
    target: &Path,
    new: NewLog,
) -> Result<Converted, ConvertError> {
    let mut writer =
        LogWriter::open(system, target, new.context, new.session).map_err(ConvertError::Open)?;
    let exists = || ConvertError::Exists {
        path: target.to_owned(),
    };
    if writer.end() > 0 {
        return Err(exists());
    }
    let start = SessionStart {
        format: FORMAT,
        project: new.project,
        lineage: None,
    };
    let start = Draft::new(new.id.clone(), new.at, Body::Session(Box::new(start)));
    writer.append(None, start).map_err(ConvertError::Begin)?;
    let mut parents = Parents {
        root: new.id,
        of: HashMap::new(),
    };
    let mut lines = foreign.read.line_of;
    lines.dedup();
    for record in foreign.read.records {
        if let Some(draft) = parents.draft(record) {
            let head = writer.head().map(|head| head.id.clone());
            writer
                .append(head.as_ref(), draft)
                .map_err(ConvertError::Begin)?;
        }
    }
    writer.sync().map_err(|source| ConvertError::Write {
        path: target.to_owned(),
        source,
    })?;
    Ok(Converted {
        head: writer.head().cloned().ok_or_else(exists)?,
        lines: as_u64(lines.len()),
        left: foreign.read.issues,
    })
}

/// What records hang on in the new log.
struct Parents {
    root: RecordId,
    /// For each record of the transcript the one that stands for it.
    of: HashMap<RecordId, RecordId>,
}

impl Parents {
    /// The record as it is to be written; nothing for one that is left behind or there already.
    fn draft(&mut self, record: Record) -> Option<Draft> {
        if self.of.contains_key(&record.id) {
            return None;
        }
        let parent = record.parent.and_then(|parent| self.of.get(&parent));
        let parent = parent.unwrap_or(&self.root).clone();
        if matches!(record.body, Body::Foreign(_)) {
            self.of.insert(record.id, parent);
            return None;
        }
        self.of.insert(record.id.clone(), record.id.clone());
        Some(Draft {
            id: record.id,
            parent: Parent::Record(parent),
            at: record.at,
            caused_by: None,
            side_chain: record.side_chain,
            agent: None,
            body: record.body,
        })
    }
}
