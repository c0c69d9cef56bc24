//! Compactions before the live part of another tool's log.
//!
//! # Model
//! Other tools' boundaries carry no state: what the log proved before the newest of them is lost to
//! a resume. For the window of a model two lines of each stretch are enough, the last response and
//! the boundary behind it, so these are looked for backwards, without reading the rest.
//!
//! # Not here
//! The live part itself ([`crate::Resumed`]). Dormouse's own boundaries, whose manifests carry it.

use crate::log_file::{LogFile, ReadError};
use crate::search::newest_line;
use dormouse_core::record::{Body, Record, Role};
use dormouse_system::{FileResult, RandomRead};
use memchr::memmem::Finder;
use std::ops::Range;

/// Bytes that are looked through at most: some tens of milliseconds, and more than the longest
/// stretch between two compactions of a million tokens.
const LOOK_BACK: u64 = 64 * 1024 * 1024;
/// Compactions that are looked for at most: a longer history repeats itself.
const MOST: usize = 16;

impl LogFile {
    /// For each compaction before `offset` the last response before it and its boundary, oldest
    /// first; at the end the last response before `offset`.
    pub fn earlier_compactions(&self, offset: u64) -> Result<Vec<Record>, ReadError> {
        let from = offset.saturating_sub(LOOK_BACK);
        self.during(look_back(self.file(), from..offset))
    }
}

fn look_back(file: &dyn RandomRead, range: Range<u64>) -> FileResult<Vec<Record>> {
    let usage = [Finder::new("\"usage\"")];
    let boundary = [Finder::new("\"compact_boundary\"")];
    let mut found = Vec::new();
    let mut end = range.end;
    for _ in 0..MOST {
        let response = newest(file, range.start..end, &usage, is_response)?;
        let Some(response) = response else { break };
        end = response.offset;
        found.push(response);
        let before = newest(file, range.start..end, &boundary, is_boundary)?;
        let Some(before) = before else { break };
        end = before.offset;
        found.push(before);
    }
    found.reverse();
    Ok(found)
}

fn newest(
    file: &dyn RandomRead,
    range: Range<u64>,
    needles: &[Finder<'_>],
    wanted: fn(&Record) -> bool,
) -> FileResult<Option<Record>> {
    let line = newest_line(file, range, needles, |offset, line| {
        let record = Record::parse(line, offset).ok()?.record;
        wanted(&record).then_some(record)
    })?;
    Ok(line.map(|line| line.value))
}

/// True for a response of the main conversation with figures.
fn is_response(record: &Record) -> bool {
    match &record.body {
        Body::Message(message) => {
            message.role == Role::Assistant && message.usage.is_some() && !record.side_chain
        }
        _ => false,
    }
}

fn is_boundary(record: &Record) -> bool {
    matches!(record.body, Body::Boundary(_)) && !record.side_chain
}
