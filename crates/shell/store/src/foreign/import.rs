//! A log of Dormouse's from a foreign transcript.
//!
//! # Model
//! The records made of the transcript are written one after the other, each with the parent it had
//! there. Lines without effect are left out; their children hang on the nearest parent that
//! remains.
//!
//! # Not here
//! Transcripts in Dormouse's own lines: [`crate::convert`].

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
    // Checked under the writer's lock; an import never appends to a session that exists.
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
    // Several records of one line count as one line taken over.
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

/// Parents of records in the new log.
struct Parents {
    root: RecordId,
    /// For each record of the transcript the one that stands for it: itself, or its parent if it
    /// was left out.
    of: HashMap<RecordId, RecordId>,
}

impl Parents {
    /// The record as it is to be written; `None` for one that is left out or was written before.
    fn draft(&mut self, record: Record) -> Option<Draft> {
        // A transcript can repeat an id; two records with one id would make the path ambiguous.
        if self.of.contains_key(&record.id) {
            return None;
        }
        // A parent that is not in the transcript leads to the root, so that the record stays
        // reachable.
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
