//! Reading the records that a manifest names.
//!
//! # Model
//! A range says where its first record probably begins. The record there is read and its id
//! compared; if it is another one (the file was edited or copied), the place is found by number,
//! which grows with the file, and failing that by looking for the id itself.
//!
//! # Responsibilities
//! A right hint costs one read. A wrong one costs a few reads, and never gives wrong records.
//!
//! # Not here
//! Finding the manifest ([`crate::resume`]) and searching backwards ([`crate::search`]).

use crate::chunks::as_u64;
use crate::issue::{Issues, Trouble};
use crate::lines::{Line, Lines};
use crate::parse::read_records;
use crate::read::read_line;
use crate::search::{line_end, newest_line};
use dormouse_core::id::{RecordId, Seq};
use dormouse_core::record::{KeptRange, Record, peek};
use dormouse_system::{FileResult, RandomRead};
use memchr::memmem::Finder;

/// Bytes between the bounds of the bisection below which reading on is cheaper: one first read of
/// [`Lines`] takes as much anyway.
const CLOSE: u64 = 64 * 1024;

/// Upper bound on the bytes read on the strength of a hint. A damaged manifest may claim any
/// length; a longer range is read line by line once its first record was verified.
const MOST_AT_ONCE: u64 = 64 * 1024 * 1024;

/// Reads the records of a range that lies before `end`.
pub(crate) fn read(
    file: &dyn RandomRead,
    end: u64,
    range: &KeptRange,
    issues: &mut Issues,
) -> FileResult<Vec<Record>> {
    if let Some(records) = read_as_hinted(file, end, range, issues)? {
        return Ok(records);
    }
    if let Some(records) = read_from(file, range.offset, end, range, issues)? {
        return Ok(records);
    }
    let by_number = find_seq(file, end, range.first, &range.first_id)?;
    let first = match by_number {
        Numbered::At(offset) => Some(offset),
        Numbered::Other | Numbered::Lost { .. } => find_id(file, end, &range.first_id)?,
    };
    let records = match (first, by_number) {
        (Some(offset), _) => read_from(file, offset, end, range, issues)?,
        (None, by_number) => match read_rest(file, end, range, issues)? {
            Some(records) => Some(records),
            None => read_behind(file, by_number, end, range, issues)?,
        },
    };
    if records.is_none() {
        let what = Trouble::RangeNotFound {
            first: range.first,
            last: range.last,
            id: range.first_id.clone(),
        };
        issues.add(None, range.offset, what);
    }
    Ok(records.unwrap_or_default())
}

/// Reads the range if both of its ends are where they should be: the common case, and the fast one.
fn read_as_hinted(
    file: &dyn RandomRead,
    end: u64,
    range: &KeptRange,
    issues: &mut Issues,
) -> FileResult<Option<Vec<Record>>> {
    let size = range.last_offset.checked_sub(range.offset);
    // A manifest names only records before itself; anything else is a damaged hint.
    if range.last_offset >= end || size.is_none_or(|size| size > MOST_AT_ONCE) {
        return Ok(None);
    }
    let next = (line_end(file, range.last_offset, end)? + 1).min(end);
    // Kept apart: issues of a guess that turns out wrong must not be reported.
    let mut found = Issues::default();
    let records = read_records(file, range.offset..next, &mut found)?;
    let first = records.first().map(|record| &record.id);
    let last = records.last().map(|record| record.seq);
    if first != Some(&range.first_id) || last != Some(range.last) {
        return Ok(None);
    }
    issues.append(found);
    Ok(Some(records))
}

/// Reads the range if its first record begins at `offset`.
fn read_from(
    file: &dyn RandomRead,
    offset: u64,
    end: u64,
    range: &KeptRange,
    issues: &mut Issues,
) -> FileResult<Option<Vec<Record>>> {
    if offset >= end {
        return Ok(None);
    }
    let mut found = Issues::default();
    let mut records: Vec<Record> = Vec::new();
    'lines: for line in Lines::new(file, offset..end) {
        let read = read_line(&line?, None, &mut found).records;
        // Something else stands at the offset: the hint is wrong, the caller looks elsewhere.
        if records.is_empty() && read.first().is_none_or(|first| first.id != range.first_id) {
            return Ok(None);
        }
        for record in read {
            // Numbers and offsets do not compare: a foreign line among numbered ones does not tell
            // how far the reading is.
            let comparable = record.seq.is_offset() == range.last.is_offset();
            if comparable && record.seq > range.last {
                break 'lines;
            }
            let is_last = record.seq == range.last;
            records.push(record);
            if is_last {
                issues.append(found);
                return Ok(Some(records));
            }
        }
    }
    let what = Trouble::RangeCutShort {
        first: range.first,
        last: range.last,
    };
    found.add(None, offset, what);
    issues.append(found);
    Ok(Some(records))
}

/// Reads the numbered records of a range whose first one is lost. The numbers alone must do, so the
/// line at the hint has to be damaged: a sound one there means that this is another log.
fn read_rest(
    file: &dyn RandomRead,
    end: u64,
    range: &KeptRange,
    issues: &mut Issues,
) -> FileResult<Option<Vec<Record>>> {
    // A range of one record has no rest: lines without a number behind it belong to others.
    if range.first == range.last || range.first.is_offset() || range.offset >= end {
        return Ok(None);
    }
    let starts_line = range.offset == 0 || file.read_range(range.offset - 1, 1)?.as_ref() == b"\n";
    let mut lines = Lines::new(file, range.offset..end);
    let is_damaged = match lines.next().transpose()? {
        Some(Line::Text { bytes, .. }) => peek(&bytes).is_none(),
        _ => false,
    };
    if !starts_line || !is_damaged {
        return Ok(None);
    }
    let records = up_to_last(lines, range, issues)?;
    cut_short(range, issues);
    Ok(Some(records))
}

/// Reads the numbered records of a range whose first one is gone with its line. No record may have
/// its number: under another id this would be another log.
fn read_behind(
    file: &dyn RandomRead,
    place: Numbered,
    end: u64,
    range: &KeptRange,
    issues: &mut Issues,
) -> FileResult<Option<Vec<Record>>> {
    let Numbered::Lost { next: Some(next) } = place else {
        return Ok(None);
    };
    let records = up_to_last(Lines::new(file, next..end), range, issues)?;
    if records.is_empty() {
        return Ok(None);
    }
    cut_short(range, issues);
    Ok(Some(records))
}

/// Records of lines up to the last one of a range.
fn up_to_last(lines: Lines<'_>, range: &KeptRange, issues: &mut Issues) -> FileResult<Vec<Record>> {
    let mut records = Vec::new();
    for line in lines {
        for record in read_line(&line?, None, issues).records {
            let comparable = record.seq.is_offset() == range.last.is_offset();
            // The last record is lost too: without this the log would be read up to its end.
            if comparable && record.seq > range.last {
                return Ok(records);
            }
            let is_last = record.seq == range.last;
            records.push(record);
            if is_last {
                return Ok(records);
            }
        }
    }
    Ok(records)
}

fn cut_short(range: &KeptRange, issues: &mut Issues) {
    let (first, last) = (range.first, range.last);
    issues.add(None, range.offset, Trouble::RangeCutShort { first, last });
}

/// Place of a number among the numbers of a log, which grow with it.
#[derive(Clone, Copy)]
enum Numbered {
    /// Offset of the line that has the number and the id.
    At(u64),
    /// Number of a record with another id.
    Other,
    /// No line has the number; offset of the next one that has a higher number.
    Lost { next: Option<u64> },
}

/// Offset of the line of a record, by bisection over the numbers, which grow with the file.
fn find_seq(file: &dyn RandomRead, end: u64, seq: Seq, id: &RecordId) -> FileResult<Numbered> {
    let (mut low, mut high) = (0, end);
    while high - low > CLOSE {
        let middle = low + (high - low) / 2;
        // From `middle - 1`: if `middle` is the start of a line, that line must not be skipped.
        let next = (line_end(file, middle - 1, end)? + 1).min(end);
        match first_number(file, next, end)? {
            // Behind the line: it was looked at, and `low` must be the beginning of one.
            Some((_, after, found)) if found < seq => low = after,
            // Also without any number behind the middle: foreign lines may end the file.
            _ => high = middle,
        }
    }
    let mut at = low;
    while let Some((offset, after, found)) = first_number(file, at, end)? {
        // Numbers only grow, so the record cannot come later.
        if found > seq {
            return Ok(Numbered::Lost { next: Some(offset) });
        }
        if found == seq {
            let mut line = Lines::new(file, offset..after);
            let same = match line.next().transpose()? {
                Some(Line::Text { bytes, .. }) => peek(&bytes).and_then(|peek| peek.id),
                _ => None,
            };
            let is_it = same.as_ref() == Some(id);
            return Ok(if is_it {
                Numbered::At(offset)
            } else {
                Numbered::Other
            });
        }
        at = after;
    }
    Ok(Numbered::Lost { next: None })
}

/// The first line from `start` on that has a number: its offset, the next line's offset, and its
/// number.
fn first_number(
    file: &dyn RandomRead,
    start: u64,
    end: u64,
) -> FileResult<Option<(u64, u64, Seq)>> {
    for line in Lines::new(file, start..end) {
        if let Line::Text { offset, bytes, .. } = line?
            && let Some(seq) = peek(&bytes).and_then(|peek| peek.seq)
        {
            return Ok(Some((offset, offset + as_u64(bytes.len()) + 1, seq)));
        }
    }
    Ok(None)
}

/// Offset of the newest line before `end` with this id.
pub(crate) fn find_id(file: &dyn RandomRead, end: u64, id: &RecordId) -> FileResult<Option<u64>> {
    let needle = format!("\"{id}\"");
    // The id in quotes may also be a parent's; only the line's own id counts.
    let found = newest_line(file, 0..end, &[Finder::new(&needle)], |_, line| {
        let found = peek(line)?.id?;
        (found == *id).then_some(())
    })?;
    Ok(found.map(|found| found.offset))
}

/// Offset of the newest line before `end` whose parent has this id.
pub(crate) fn find_child(
    file: &dyn RandomRead,
    end: u64,
    id: &RecordId,
) -> FileResult<Option<u64>> {
    let needle = format!("\"{id}\"");
    let found = newest_line(file, 0..end, &[Finder::new(&needle)], |offset, line| {
        let record = Record::parse(line, offset).ok()?.record;
        (record.parent.as_ref() == Some(id)).then_some(())
    })?;
    Ok(found.map(|found| found.offset))
}
