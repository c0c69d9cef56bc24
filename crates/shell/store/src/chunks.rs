//! Reading a file forwards in large blocks of whole lines.
//!
//! # Model
//! A [`Chunks`] walks over a byte range of an opened file and hands out [`Piece`]s. A piece is
//! either a block of whole lines, as one shared buffer that lines can be sliced from without
//! copying, or the news that a line was too long to be taken into memory and was passed over.
//!
//! # Responsibilities
//! Bounded memory for any file; few, large, positioned reads; no copy but that of the line that
//! lies across two blocks; the buffer is reused once no line refers to it.
//!
//! # Not here
//! The meaning of a line. Cutting a block into lines: [`crate::lines`]. The range must begin at the
//! beginning of a line.

use bytes::{Bytes, BytesMut};
use dormouse_system::{FileResult, RandomRead};
use std::ops::Range;

/// Longest line in bytes that is read. Anything longer is passed over and reported: no message is
/// that long, and one line must not decide how much memory is taken.
pub const MAX_LINE: usize = dormouse_core::record::LONGEST_LINE;

/// Size of the first read in bytes: a caller that wants the first line only should not pay for
/// megabytes.
const FIRST_READ: usize = 64 * 1024;

/// Size of later reads in bytes, reached after two reads. A larger one is not faster: the buffer
/// should stay in the processor's cache between reading and searching.
const FULL_READ: usize = 1024 * 1024;

/// A part of a file.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Whole lines, each with its newline; only the last line of the range may lack it.
    Lines {
        /// Byte offset of the first line in the file.
        offset: u64,
        /// One shared buffer; lines are slices of it.
        bytes: Bytes,
    },
    /// A line longer than [`MAX_LINE`], passed over.
    Overlong {
        /// Byte offset of the line in the file.
        offset: u64,
        /// Its length, without the newline.
        bytes: u64,
    },
}

/// Walks over a range of a file. See the module documentation.
#[derive(Debug)]
pub(crate) struct Chunks<'a> {
    file: &'a dyn RandomRead,
    /// The part of the range not read yet.
    rest: Range<u64>,
    /// The buffer that was handed out last; its bytes from `carried` on are the beginning of the
    /// next line.
    last: Bytes,
    carried: usize,
    next_read: usize,
    largest_read: usize,
    limit: usize,
}

impl<'a> Chunks<'a> {
    /// Over `range`, which begins at the beginning of a line.
    pub(crate) fn new(file: &'a dyn RandomRead, range: Range<u64>) -> Self {
        Self {
            file,
            rest: range,
            last: Bytes::new(),
            carried: 0,
            next_read: FIRST_READ,
            largest_read: FULL_READ,
            limit: MAX_LINE,
        }
    }

    /// Like [`Self::new`], for a range that will be read to its end.
    pub(crate) fn whole(file: &'a dyn RandomRead, range: Range<u64>) -> Self {
        Self::in_blocks(file, range, FULL_READ)
    }

    /// Like [`Self::whole`], in blocks of about a certain size.
    pub(crate) fn in_blocks(file: &'a dyn RandomRead, range: Range<u64>, size: usize) -> Self {
        let len = range.end.saturating_sub(range.start);
        let mut chunks = Self::new(file, range);
        chunks.next_read = usize::try_from(len).unwrap_or(size).min(size);
        chunks.largest_read = size;
        chunks
    }

    /// Passes over lines longer than `limit` instead of [`MAX_LINE`].
    pub(crate) fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    #[cfg(test)]
    fn with_sizes(mut self, read: usize, limit: usize) -> Self {
        self.next_read = read;
        self.limit = limit;
        self
    }

    /// The next piece, or nothing at the end of the range.
    pub(crate) fn next_piece(&mut self) -> FileResult<Option<Piece>> {
        loop {
            // The beginning of a line that the last block cut; it goes in front of the next one.
            let carry = self.last.len() - self.carried;
            if self.rest.is_empty() {
                let offset = self.rest.start - as_u64(carry);
                let bytes = self.last.split_off(self.carried);
                self.last = Bytes::new();
                self.carried = 0;
                return Ok((!bytes.is_empty()).then_some(Piece::Lines { offset, bytes }));
            }
            // Not held any longer: one line must not decide how much memory is taken.
            if carry > self.limit {
                return self.pass_over(carry).map(Some);
            }
            let filled = self.fill(carry)?;
            let Some(newline) = memchr::memrchr(b'\n', &filled[carry..]) else {
                self.last = filled;
                self.carried = 0;
                // A long line: doubling the step keeps the copying linear in its length.
                self.next_read = self.next_read.max(self.last.len()).min(self.limit.max(1));
                continue;
            };
            let end = carry + newline + 1;
            let offset = self.rest.start - as_u64(filled.len());
            let bytes = filled.slice(..end);
            self.last = filled;
            self.carried = end;
            // Grown by four: a reader that stops early pays little, one that goes on soon reads
            // full blocks.
            self.next_read = (self.next_read * 4).min(self.largest_read.max(carry));
            return Ok(Some(Piece::Lines { offset, bytes }));
        }
    }

    /// A buffer with the carried bytes in front and freshly read ones behind them.
    fn fill(&mut self, carry: usize) -> FileResult<Bytes> {
        let left = usize::try_from(self.rest.end - self.rest.start).unwrap_or(usize::MAX);
        let fresh = self.next_read.max(1).min(left);
        let size = carry + fresh;
        let mut buffer = match std::mem::take(&mut self.last).try_into_mut() {
            // No line refers to the old buffer any more: no new memory, and nothing to be zeroed.
            Ok(mut old) if old.len() >= size => {
                old.copy_within(self.carried.., 0);
                old.truncate(size);
                old
            }
            Ok(old) => Self::grown(&old[self.carried..], size),
            // A reader still holds lines of the old buffer, so it cannot be written to.
            Err(shared) => Self::grown(&shared[self.carried..], size),
        };
        let read = self.file.read_at(self.rest.start, &mut buffer[carry..])?;
        buffer.truncate(carry + read);
        self.rest.start += as_u64(read);
        if read < fresh {
            // The file was truncated since its length was taken: the end moves, instead of a loop
            // of empty reads.
            self.rest.end = self.rest.start;
        }
        Ok(buffer.freeze())
    }

    fn grown(carried: &[u8], size: usize) -> BytesMut {
        let mut buffer = BytesMut::zeroed(size);
        buffer[..carried.len()].copy_from_slice(carried);
        buffer
    }

    /// Reads on to the next newline and keeps only the bytes behind it.
    fn pass_over(&mut self, carry: usize) -> FileResult<Piece> {
        let offset = self.rest.start - as_u64(carry);
        self.last = Bytes::new();
        self.carried = 0;
        // The line is gigantic already: small reads would only make passing over it slow.
        self.next_read = self.largest_read;
        loop {
            let before = self.rest.start;
            if self.rest.is_empty() {
                let bytes = before - offset;
                return Ok(Piece::Overlong { offset, bytes });
            }
            let filled = self.fill(0)?;
            if let Some(newline) = memchr::memchr(b'\n', &filled) {
                let bytes = before + as_u64(newline) - offset;
                self.last = filled;
                self.carried = newline + 1;
                return Ok(Piece::Overlong { offset, bytes });
            }
            self.last = filled;
            self.carried = self.last.len();
        }
    }
}

pub(crate) fn as_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::{Files as _, MemoryFiles};
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    /// Everything the chunks give, put together again, and the overlong lines.
    fn walk(content: &[u8], read: usize, limit: usize, hold: bool) -> (Vec<u8>, Vec<(u64, u64)>) {
        let files = MemoryFiles::default();
        files.put("/f", content);
        let file = files.open("/f".as_ref()).unwrap();
        let mut chunks = Chunks::new(&*file, 0..as_u64(content.len())).with_sizes(read, limit);
        let (mut text, mut skipped, mut held) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(piece) = chunks.next_piece().unwrap() {
            match piece {
                Piece::Lines { offset, bytes } => {
                    let from = usize::try_from(offset).unwrap();
                    assert_eq!(&content[from..from + bytes.len()], &bytes);
                    let last = from + bytes.len() == content.len();
                    assert!(bytes.ends_with(b"\n") || last);
                    text.extend_from_slice(&bytes);
                    if hold {
                        held.push((bytes.clone(), bytes.to_vec()));
                    }
                }
                Piece::Overlong { offset, bytes } => skipped.push((offset, bytes)),
            }
        }
        for (shared, copy) in held {
            assert_eq!(shared, copy, "a block that is held must not change");
        }
        (text, skipped)
    }

    #[test]
    fn a_line_beyond_the_limit_is_passed_over_and_the_next_is_read() {
        let mut content = b"first\n".to_vec();
        content.extend(std::iter::repeat_n(b'x', 5_000));
        content.extend_from_slice(b"\nlast");
        let (text, skipped) = walk(&content, 16, 64, false);
        assert_eq!(text, b"first\nlast");
        assert_eq!(skipped, [(6, 5_000)]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_whatever_the_sizes(
            lines in prop::collection::vec(prop::collection::vec(b'a'..=b'z', 0..40), 0..20),
            ended: bool,
            read in 1_usize..50,
            hold: bool,
        ) {
            let mut content = lines.join(&b'\n');
            if ended {
                content.push(b'\n');
            }
            prop_assert_eq!(walk(&content, read, 1_000, hold), (content, Vec::new()));
        }

        #[test]
        fn what_is_passed_over_is_exactly_the_long_lines(
            lengths in prop::collection::vec(0_usize..60, 1..12),
            read in 1_usize..10,
        ) {
            let mut content = Vec::new();
            for length in &lengths {
                content.extend(std::iter::repeat_n(b'x', *length));
                content.push(b'\n');
            }
            let (text, skipped) = walk(&content, read, 20, false);
            let gone: u64 = skipped.iter().map(|(_, bytes)| bytes + 1).sum();
            prop_assert_eq!(as_u64(text.len()) + gone, as_u64(content.len()));
            prop_assert!(skipped.iter().all(|(_, bytes)| *bytes > 20));
        }
    }
}
