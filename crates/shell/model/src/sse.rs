//! Server-sent events, decoded without IO.
//!
//! # Model
//! Bytes go in as they arrive, events come out when their blank line does. The decoder keeps at
//! most one unfinished event; how the bytes were cut into chunks cannot be seen in the result.
//! Lines end in CR, LF or CRLF; text that is not UTF-8 is replaced, never refused. An event that
//! the end of the stream cuts off is dropped, as the standard says.
//!
//! # Responsibilities
//! Framing, and a bound on memory: an event longer than the limit is an error, after which the
//! decoder refuses everything.
//!
//! # Not here
//! The meaning of an event, reconnecting (a model's answer cannot be resumed) and the `retry` and
//! `id` fields, which no provider uses.

/// One decoded event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The `event` field; empty where the stream names none.
    pub name: String,
    /// The `data` lines, joined by line feeds.
    pub data: String,
}

/// Reason that a stream cannot be decoded further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event did not end in time.
    #[error("a server-sent event is longer than {limit} bytes")]
    TooLong {
        /// The limit in bytes that was exceeded.
        limit: usize,
    },
}

/// The decoder. See the module documentation.
#[derive(Debug)]
pub struct SseDecoder {
    /// The line that has not ended yet.
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    at_start: bool,
    /// The last byte was a CR: an LF that follows belongs to it.
    after_cr: bool,
    limit: usize,
    refused: Option<SseError>,
}

/// Byte order mark, which the standard allows once, at the beginning.
const BOM: &[u8] = b"\xEF\xBB\xBF";

impl Default for SseDecoder {
    fn default() -> Self {
        Self::new(Self::DEFAULT_LIMIT)
    }
}

impl SseDecoder {
    /// Bytes of one event: room for content that a provider sends whole, such as a fetched page.
    pub const DEFAULT_LIMIT: usize = 16 * 1024 * 1024;

    /// A decoder that refuses events longer than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            at_start: true,
            after_cr: false,
            limit,
            refused: None,
        }
    }

    /// Takes the next bytes and adds the events they complete.
    ///
    /// # Errors
    /// When an event is too long; what was complete before it is in `events`.
    pub fn feed(&mut self, mut chunk: &[u8], events: &mut Vec<SseEvent>) -> Result<(), SseError> {
        if let Some(error) = self.refused {
            return Err(error);
        }
        // A CR at the end of one chunk and an LF at the start of the next are one line end.
        if self.after_cr && !chunk.is_empty() {
            self.after_cr = false;
            chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
        }
        while let Some(end) = memchr::memchr2(b'\r', b'\n', chunk) {
            self.extend_line(&chunk[..end])?;
            let is_cr = chunk[end] == b'\r';
            chunk = &chunk[end + 1..];
            if is_cr {
                match chunk.first() {
                    Some(b'\n') => chunk = &chunk[1..],
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            if let Some(event) = self.end_line()? {
                events.push(event);
            }
        }
        self.extend_line(chunk)
    }

    /// Bytes held for the event that is not complete.
    pub fn buffered(&self) -> usize {
        self.line.len() + self.event.name.len() + self.event.data.len()
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        self.claim(bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn claim(&mut self, more: usize) -> Result<(), SseError> {
        if self.buffered().saturating_add(more) <= self.limit {
            return Ok(());
        }
        let error = SseError::TooLong { limit: self.limit };
        self.refused = Some(error);
        // Freed at once: the decoder refuses from here on, and the giant would stay in memory.
        self.line = Vec::new();
        self.event = SseEvent::default();
        Err(error)
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        let line = std::mem::take(&mut self.line);
        let mut text: &[u8] = &line;
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix(BOM).unwrap_or(text);
        }
        if text.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match memchr::memchr(b':', text) {
            Some(colon) => {
                let value = &text[colon + 1..];
                (&text[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (text, &b""[..]),
        };
        match field {
            // Replaced, not refused: one bad byte must not cost a paid answer.
            b"event" => self.event.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                let value = String::from_utf8_lossy(value);
                // Replaced characters are longer than the bytes they stand for.
                self.claim(value.len() + 1)?;
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(&value);
                self.has_data = true;
            }
            // Comments and fields that no provider uses.
            _ => {}
        }
        // The buffer is kept for the next line, but not one of more than 64 KiB that a giant made.
        if line.capacity() <= 64 * 1024 {
            self.line = line;
            self.line.clear();
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        // An event without data is not dispatched, as the standard says.
        std::mem::take(&mut self.has_data).then_some(event)
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
