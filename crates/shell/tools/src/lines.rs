//! Lines of a file that may be of any length, with bounded memory.

use dormouse_system::RandomRead;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

/// Reader of an opened file from its beginning.
#[derive(Debug)]
pub(crate) struct Sequential {
    file: Arc<dyn RandomRead>,
    position: u64,
}

impl Sequential {
    pub(crate) fn new(file: Arc<dyn RandomRead>) -> Self {
        Self { file, position: 0 }
    }
}

impl Read for Sequential {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .file
            .read_at(self.position, buffer)
            .map_err(io::Error::other)?;
        // Saturating: a file that never ends must not wrap to its beginning.
        self.position = self
            .position
            .saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        Ok(read)
    }
}

/// One line, perhaps cut.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// First bytes of it, without the end of line.
    pub(crate) bytes: Vec<u8>,
    /// Number of further bytes.
    pub(crate) dropped: usize,
}

impl Line {
    /// Text of the line, with a remark if it was cut.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text.strip_suffix('\r').unwrap_or(&text);
        match self.dropped {
            0 => text.to_owned(),
            dropped => format!("{text} [{dropped} more bytes]"),
        }
    }
}

/// Lines of a source, each with at most `most` bytes.
pub(crate) struct Lines<R> {
    source: BufReader<R>,
    most: usize,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: R, most: usize) -> Self {
        Self {
            // Large reads, because each goes through the handle to the system.
            source: BufReader::with_capacity(64 * 1024, source),
            most,
        }
    }

    /// True if the beginning looks like text: no NUL byte in the first buffer.
    pub(crate) fn begins_as_text(&mut self) -> io::Result<bool> {
        Ok(!self.source.fill_buf()?.contains(&0))
    }

    /// Next line; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Line::default();
        let mut anything = false;
        loop {
            let chunk = self.source.fill_buf()?;
            if chunk.is_empty() {
                return Ok(anything.then_some(line));
            }
            anything = true;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = chunk.get(..end.unwrap_or(chunk.len())).unwrap_or(chunk);
            // Bytes beyond the limit are counted and dropped, so that an endless line costs no
            // memory.
            let room = self.most.saturating_sub(line.bytes.len()).min(part.len());
            line.bytes
                .extend_from_slice(part.get(..room).unwrap_or_default());
            line.dropped += part.len() - room;
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                return Ok(Some(line));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, most: usize) -> Vec<String> {
        let mut lines = Lines::new(text.as_bytes(), most);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(line.text());
        }
        found
    }

    #[test]
    fn lines_end_where_they_end() {
        assert_eq!(lines("", 9), [""; 0]);
        assert_eq!(lines("\n", 9), [""]);
        assert_eq!(lines("a\r\n\nb", 9), ["a", "", "b"]);
        assert_eq!(lines("a\n", 9), ["a"]);
    }

    #[test]
    fn long_lines_are_cut_and_do_not_spoil_the_next() {
        let text = format!("{}\nnext", "x".repeat(200_000));
        assert_eq!(
            lines(&text, 3),
            ["xxx [199997 more bytes]", "nex [1 more bytes]"]
        );
    }
}
