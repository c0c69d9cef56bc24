//! Facts a writer must know of a log before it appends.
//!
//! # Model
//! Both ends are examined: the first record says whether the log is ours and of which format, the
//! end of the file whether the last write was whole, and which record is the head.
//!
//! # Not here
//! Changing anything: [`crate::LogWriter`] acts on the findings.

use crate::chunks::{MAX_LINE, as_u64};
use crate::lines::{Line, Lines};
use crate::resume::is_carrier;
use crate::search::{line_start, newest_line};
use crate::session_log::Head;
use dormouse_core::record::{Body, Record};
use dormouse_system::{FileResult, RandomRead};
use memchr::memmem::Finder;

/// First bytes of every log, fixed by the order in which the encoder writes members. A torn first
/// line is recognised by them, since it does not parse.
const FIRST_WORDS: &[u8] = b"{\"type\":\"dormouse\",\"subtype\":\"session\"";

/// Owner of a log, as its first record says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    /// There is none: the log is new, or its first record was never finished.
    New,
    /// A log of Dormouse, of this format.
    Own(u32),
    /// A transcript of another tool, or no log at all.
    Foreign,
}

/// The end of a file that lacks its newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Bytes of a record that was being written when the machine went down. They stay in the file
    /// as a line that readers skip.
    pub torn_bytes: u64,
    /// True if only the newline was missing and the record is whole.
    pub kept_whole: bool,
}

/// Looks at the first record.
pub(crate) fn beginning(file: &dyn RandomRead, len: u64) -> FileResult<Beginning> {
    for line in Lines::new(file, 0..len) {
        // No first record of ours is that long.
        let Line::Text { offset, bytes, .. } = line? else {
            return Ok(Beginning::Foreign);
        };
        let text = bytes.trim_ascii();
        match Record::parse(&bytes, offset) {
            Ok(parsed) => {
                return Ok(match parsed.record.body {
                    Body::Session(start) => Beginning::Own(start.format),
                    _ => Beginning::Foreign,
                });
            }
            // The log's first record, torn by a crash: the log is still ours, and as good as new.
            Err(_) if FIRST_WORDS.starts_with(text) || text.starts_with(FIRST_WORDS) => {}
            Err(_) => return Ok(Beginning::Foreign),
        }
    }
    Ok(Beginning::New)
}

/// Looks at the end; nothing to repair gives nothing.
pub(crate) fn ending(file: &dyn RandomRead, len: u64) -> FileResult<Option<Repair>> {
    if len == 0 || file.read_range(len - 1, 1)?.as_ref() == b"\n" {
        return Ok(None);
    }
    let start = line_start(file, 0, len)?;
    // Checked first: a torn line of gigabytes must not be read into memory.
    let whole = len - start <= as_u64(MAX_LINE)
        && Record::parse(&file.read_range(start, len - start)?, start).is_ok();
    Ok(Some(Repair {
        torn_bytes: if whole { 0 } else { len - start },
        kept_whole: whole,
    }))
}

/// The newest record with a number.
pub(crate) fn head(file: &dyn RandomRead, len: u64) -> FileResult<Option<Head>> {
    let found = newest_line(file, 0..len, &[Finder::new("\"seq\"")], |offset, line| {
        let record = Record::parse(line, offset).ok()?.record;
        // A line that another tool appended has no number, and none can be counted on from it.
        (!record.seq.is_offset()).then_some(Head {
            id: record.id,
            seq: record.seq,
            offset,
        })
    })?;
    Ok(found.map(|found| found.value))
}

/// End offset of the newest record that a resume can start at, if it is among the last `within`
/// bytes; otherwise the offset where they begin: a checkpoint is then due in any log that long.
pub(crate) fn last_carrier(file: &dyn RandomRead, len: u64, within: u64) -> FileResult<u64> {
    let from = len.saturating_sub(within);
    let start = line_start(file, 0, from)?;
    let needles = ["\"compact_boundary\"", "\"checkpoint\"", "\"undo\""].map(Finder::new);
    let found = newest_line(file, start..len, &needles, |offset, line| {
        let record = Record::parse(line, offset).ok()?.record;
        is_carrier(&record).then_some(())
    })?;
    Ok(found.map_or(from, |found| found.next))
}
