//! Finding the newest line that satisfies a condition, from the end of the file.
//!
//! # Model
//! A needle is text that every wanted line contains. Blocks are read from the end, each larger
//! than the one before, and searched for the needles; the line around a hit is looked at once, the
//! newest first, and judged by the caller. What the caller accepts ends the search.
//!
//! A needle in quotes such as `"checkpoint"` cannot occur inside a JSON string, because the quotes
//! would be escaped there; still, only the caller's look at the line decides.
//!
//! # Responsibilities
//! The cost is the bytes behind the line found, never those before it. Needles across the edges of
//! blocks are found; lines longer than [`MAX_LINE`] are passed over.
//!
//! # Not here
//! Reading forwards ([`crate::chunks`]); the meaning of a line (the caller's `accept`).

use crate::chunks::{MAX_LINE, as_u64};
use bytes::Bytes;
use dormouse_system::{FileResult, RandomRead};
use memchr::memmem::Finder;
use std::ops::Range;

/// Size of the first read in bytes; each further block is twice as large, up to [`LARGEST_READ`]. A
/// head or a fresh checkpoint usually lies in the first one.
const FIRST_READ: u64 = 128 * 1024;
/// Size of the first read for the end of a line: as much as a boundary has, twice a page of a
/// chronicle, and more than nearly all messages have. A resume looks for one end a range, so that a
/// larger read would add up; with a smaller one a boundary would take a second read.
const FIRST_OF_LINE: u64 = 40 * 1024;
/// Largest block in bytes: beyond this a larger read saves no time, only takes memory.
const LARGEST_READ: u64 = 4 * 1024 * 1024;

/// A line that was accepted.
#[derive(Debug)]
pub(crate) struct Found<T> {
    /// Byte offset of the line.
    pub(crate) offset: u64,
    /// Byte offset of the next line; of the range's end for its last line.
    pub(crate) next: u64,
    /// The value that the caller's `accept` returned.
    pub(crate) value: T,
}

/// Finds the newest line within `range` that contains a needle and that `accept` makes something
/// of. The range begins at the beginning of a line and ends at the end of one.
pub(crate) fn newest_line<T>(
    file: &dyn RandomRead,
    range: Range<u64>,
    needles: &[Finder<'_>],
    accept: impl FnMut(u64, &Bytes) -> Option<T>,
) -> FileResult<Option<Found<T>>> {
    newest_line_in_steps(file, range, needles, FIRST_READ, accept)
}

fn newest_line_in_steps<T>(
    file: &dyn RandomRead,
    range: Range<u64>,
    needles: &[Finder<'_>],
    first_read: u64,
    mut accept: impl FnMut(u64, &Bytes) -> Option<T>,
) -> FileResult<Option<Found<T>>> {
    let longest = needles.iter().map(|needle| needle.needle().len()).max();
    // Each block overlaps its successor by a needle less one byte, so that a needle across the edge
    // is found, and no needle is found twice.
    let overlap = as_u64(longest.unwrap_or(1).saturating_sub(1));
    let mut step = first_read.max(1);
    let mut buffer = Vec::new();
    let mut hits = Vec::new();
    // Hits at or behind this place lie in a line that was looked at already.
    let mut seen_from = range.end;
    let mut end = range.end;
    while end > range.start {
        let start = end.saturating_sub(step).max(range.start);
        let block = Block::read(file, start, (end + overlap).min(range.end), &mut buffer)?;
        hits.clear();
        for needle in needles {
            let own = needle.find_iter(block.bytes).map(|at| start + as_u64(at));
            hits.extend(own.filter(|at| *at < end));
        }
        // From several needles: the newest line must be judged first.
        hits.sort_unstable();
        while let Some(hit) = hits.pop() {
            // Another needle in a line that was judged already.
            if hit >= seen_from {
                continue;
            }
            let line = line_around(file, &range, &block, hit)?;
            // Also for a line that was refused: judging it again would give the same answer.
            seen_from = line.offset;
            if let Some(bytes) = line.bytes
                && let Some(value) = accept(line.offset, &bytes)
            {
                return Ok(Some(Found {
                    offset: line.offset,
                    next: line.next,
                    value,
                }));
            }
        }
        end = start;
        step = (step * 2).min(LARGEST_READ);
    }
    Ok(None)
}

/// A part of the file in memory, with its offset.
struct Block<'a> {
    start: u64,
    bytes: &'a [u8],
}

impl<'a> Block<'a> {
    fn read(
        file: &dyn RandomRead,
        start: u64,
        end: u64,
        buffer: &'a mut Vec<u8>,
    ) -> FileResult<Self> {
        let size = usize::try_from(end - start).unwrap_or(usize::MAX);
        if buffer.len() < size {
            // Made anew: growing it would copy what is about to be overwritten.
            *buffer = vec![0; size];
        }
        let read = file.read_at(start, &mut buffer[..size])?;
        Ok(Self {
            start,
            bytes: &buffer[..read],
        })
    }
}

struct Around {
    offset: u64,
    next: u64,
    /// Missing if the line is too long.
    bytes: Option<Bytes>,
}

/// The line that the byte at `at` lies in, from the block if it holds all of it.
fn line_around(
    file: &dyn RandomRead,
    range: &Range<u64>,
    block: &Block<'_>,
    at: u64,
) -> FileResult<Around> {
    let within = usize::try_from(at - block.start).unwrap_or(usize::MAX);
    let within = within.min(block.bytes.len());
    let before = memchr::memrchr(b'\n', &block.bytes[..within]).map(|found| found + 1);
    let after = memchr::memchr(b'\n', &block.bytes[within..]).map(|found| within + found);
    let offset = match before {
        Some(found) => block.start + as_u64(found),
        None => line_start(file, range.start, block.start)?,
    };
    let end = match after {
        Some(found) => block.start + as_u64(found),
        None => line_end(file, block.start + as_u64(block.bytes.len()), range.end)?,
    };
    let next = (end + 1).min(range.end);
    let bytes = match (before, after) {
        (Some(from), Some(to)) => Some(Bytes::copy_from_slice(&block.bytes[from..to])),
        // The block did not hold the line; reading a giant whole would take its length in memory.
        _ if end - offset > as_u64(MAX_LINE) => None,
        _ => Some(file.read_range(offset, end - offset)?),
    };
    Ok(Around {
        offset,
        next,
        bytes,
    })
}

/// The beginning of the line that reaches up to `end`.
pub(crate) fn line_start(file: &dyn RandomRead, start: u64, end: u64) -> FileResult<u64> {
    line_start_in_steps(file, start, end, FIRST_READ)
}

/// The same, beginning with a read of `step` bytes: for a caller that reads little else.
pub(crate) fn line_start_in_steps(
    file: &dyn RandomRead,
    start: u64,
    mut end: u64,
    mut step: u64,
) -> FileResult<u64> {
    let mut buffer = Vec::new();
    while end > start {
        let from = end.saturating_sub(step).max(start);
        let block = Block::read(file, from, end, &mut buffer)?;
        if let Some(found) = memchr::memrchr(b'\n', block.bytes) {
            return Ok(from + as_u64(found) + 1);
        }
        end = from;
        step = (step * 2).min(LARGEST_READ);
    }
    Ok(start)
}

/// The end (the newline, or else `end`) of the line that `start` lies in.
pub(crate) fn line_end(file: &dyn RandomRead, mut start: u64, end: u64) -> FileResult<u64> {
    let mut buffer = Vec::new();
    let mut step = FIRST_OF_LINE;
    while start < end {
        let to = (start + step).min(end);
        let block = Block::read(file, start, to, &mut buffer)?;
        if let Some(found) = memchr::memchr(b'\n', block.bytes) {
            return Ok(start + as_u64(found));
        }
        start = to;
        step = (step * 2).min(LARGEST_READ);
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::{Files as _, MemoryFiles};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_finds_what_reading_everything_would_find(
            lines in prop::collection::vec("[abx]{0,12}", 0..12),
            ended: bool,
            step in 1_u64..20,
            wanted in "[ab]",
        ) {
            let mut text = lines.join("\n");
            if ended && !text.is_empty() {
                text.push('\n');
            }
            let files = MemoryFiles::default();
            files.put("/f", &text);
            let file = files.open("/f".as_ref()).unwrap();
            let needles = [Finder::new("ab"), Finder::new("ba")];
            let accept = |line: &[u8]| line.starts_with(wanted.as_bytes());
            let mut looked_at = Vec::new();
            let found = newest_line_in_steps(&*file, 0..as_u64(text.len()), &needles, step, |at, line| {
                looked_at.push(at);
                accept(line).then(|| line.clone())
            }).unwrap();
            let mut expected = None;
            let mut offset = 0;
            for line in text.split_inclusive('\n') {
                let bare = line.trim_end_matches('\n');
                if (bare.contains("ab") || bare.contains("ba")) && accept(bare.as_bytes()) {
                    expected = Some((offset, offset + as_u64(line.len()), bare.to_owned()));
                }
                offset += as_u64(line.len());
            }
            let found = found.map(|found| {
                let line = String::from_utf8(found.value.to_vec()).unwrap();
                (found.offset, found.next, line)
            });
            prop_assert_eq!(found, expected);
            prop_assert!(looked_at.is_sorted_by(|a, b| a > b), "each line once, newest first");
        }
    }
}
