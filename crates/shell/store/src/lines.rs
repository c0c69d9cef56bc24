//! Lines of a file, one by one.
//!
//! # Model
//! [`Lines`] cuts the blocks of [`crate::chunks`] into lines. A [`Line`] shares the block's memory
//! and knows its offset and whether its newline is there. Lines too long for memory come as
//! [`Line::Overlong`], so that a reader can report them and keep counting.
//!
//! # Not here
//! Blank lines and line ends of other systems: the parser of a line ignores the white space.
//! Reading from the end: [`crate::search`].

use crate::chunks::{Chunks, Piece, as_u64};
use bytes::Bytes;
use dormouse_system::{FileResult, RandomRead};
use std::ops::Range;

/// One line, or the news of one that is too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line that was read.
    Text {
        /// Byte offset of its first byte in the file.
        offset: u64,
        /// Its bytes, without the newline.
        bytes: Bytes,
        /// False for the last line of a torn file: its newline was never written.
        ended: bool,
    },
    /// A line longer than [`crate::MAX_LINE`], passed over.
    Overlong {
        /// Byte offset of its first byte in the file.
        offset: u64,
        /// Its length in bytes, without the newline.
        bytes: u64,
    },
}

/// The lines of one block.
#[derive(Debug, Default)]
pub(crate) struct BlockLines {
    block: Bytes,
    offset: u64,
}

impl BlockLines {
    /// Of a block that begins at `offset`.
    pub(crate) const fn new(block: Bytes, offset: u64) -> Self {
        Self { block, offset }
    }
}

impl Iterator for BlockLines {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        if self.block.is_empty() {
            return None;
        }
        let newline = memchr::memchr(b'\n', &self.block);
        let mut bytes = self
            .block
            .split_to(newline.map_or(self.block.len(), |at| at + 1));
        let offset = self.offset;
        self.offset += as_u64(bytes.len());
        // Kept in the slice above, so that offsets count it; a reader does not want it.
        if newline.is_some() {
            bytes.truncate(bytes.len() - 1);
        }
        Some(Line::Text {
            offset,
            bytes,
            ended: newline.is_some(),
        })
    }
}

/// Iterates over lines. After an error it ends, since the position in the file is unknown then.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    chunks: Chunks<'a>,
    block: BlockLines,
    failed: bool,
}

impl<'a> Lines<'a> {
    /// Over `range`, which begins at the beginning of a line; made for reading a few.
    pub(crate) fn new(file: &'a dyn RandomRead, range: Range<u64>) -> Self {
        Self::over(Chunks::new(file, range))
    }

    /// Over `range`; made for reading it to its end.
    pub(crate) fn whole(file: &'a dyn RandomRead, range: Range<u64>) -> Self {
        Self::over(Chunks::whole(file, range))
    }

    fn over(chunks: Chunks<'a>) -> Self {
        Self {
            chunks,
            block: BlockLines::default(),
            failed: false,
        }
    }
}

impl Iterator for Lines<'_> {
    type Item = FileResult<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(line) = self.block.next() {
            return Some(Ok(line));
        }
        if self.failed {
            return None;
        }
        // Dropped before the next read: even an empty slice keeps the buffer from being reused.
        self.block = BlockLines::default();
        match self.chunks.next_piece() {
            Ok(Some(Piece::Lines { offset, bytes })) => {
                self.block = BlockLines::new(bytes, offset);
                self.block.next().map(Ok)
            }
            Ok(Some(Piece::Overlong { offset, bytes })) => {
                Some(Ok(Line::Overlong { offset, bytes }))
            }
            Ok(None) => None,
            Err(error) => {
                self.failed = true;
                // Told once; after it the position is unknown, and the iterator ends.
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_system::{Files as _, MemoryFiles};
    use pretty_assertions::assert_eq;

    fn check(content: &str, expected: &[(u64, &str, bool)]) {
        let files = MemoryFiles::default();
        files.put("/f", content);
        let file = files.open("/f".as_ref()).unwrap();
        let lines: Vec<Line> = Lines::new(&*file, 0..as_u64(content.len()))
            .map(Result::unwrap)
            .collect();
        let expected: Vec<Line> = expected
            .iter()
            .map(|(offset, text, ended)| Line::Text {
                offset: *offset,
                bytes: Bytes::copy_from_slice(text.as_bytes()),
                ended: *ended,
            })
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn lines_know_their_place_and_their_end() {
        check("", &[]);
        check("\n", &[(0, "", true)]);
        check(
            "ab\n\nc",
            &[(0, "ab", true), (3, "", true), (4, "c", false)],
        );
    }
}
