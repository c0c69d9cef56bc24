//! A log that is opened for reading.
//!
//! # Model
//! A [`LogFile`] is a path and an opened file. It sees later appends; every operation on
//! it works on the length the file has when the operation begins.
//!
//! # Responsibilities
//! Naming the exact reason that something cannot be read as a log at all ([`ReadError`]). Opening
//! looks for one line of a conversation; damage to single lines does not refuse the file.
//!
//! # Not here
//! Reading records ([`crate::ReadLog`], [`crate::Resumed`]) and writing ([`crate::LogWriter`]).

use crate::chunks::as_u64;
use crate::foreign::detect;
use crate::lines::{Line, Lines};
use crate::mend::{Part, divide};
use dormouse_system::{FileError, FileResult, Files, RandomRead};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes read to describe a file that is no log: enough to tell text from binary.
const LOOK: u64 = 512;

/// Objects of an unknown kind looked at before a file is refused. A transcript shows itself within
/// its first lines; data of another kind must not be read to its end.
const MOST_STRANGE: usize = 1_000;

/// Characters of it quoted in the error, so that the message stays on one line of a terminal.
const SHOWN: usize = 40;

/// Reason that a file cannot be read as a log.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No file has this path.
    #[error("there is no file `{}`", path.display())]
    Missing {
        /// The path as the caller gave it.
        path: PathBuf,
    },
    /// A directory is there.
    #[error("`{}` is a directory, not a transcript", path.display())]
    Directory {
        /// The path as the caller gave it.
        path: PathBuf,
    },
    /// The user may not read it.
    #[error("no permission to read `{}`", path.display())]
    Denied {
        /// The path as the caller gave it.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: FileError,
    },
    /// The file holds nothing.
    #[error("`{}` is empty", path.display())]
    Empty {
        /// The path as the caller gave it.
        path: PathBuf,
    },
    /// No line is one of a conversation.
    #[error("`{}` is not a transcript: {lacks}; {looks}", path.display())]
    NotATranscript {
        /// The path as the caller gave it.
        path: PathBuf,
        /// Sort of line that was looked for in vain.
        lacks: Lacks,
        /// Its first bytes, so that the user recognises the file.
        looks: FirstBytes,
    },
    /// Anything else that the file system refuses.
    #[error("failed to read the log `{}`", path.display())]
    File {
        /// The path as the caller gave it.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: FileError,
    },
}

impl ReadError {
    pub(crate) fn new(path: &Path, source: FileError) -> Self {
        let path = path.to_owned();
        if source.not_found() {
            Self::Missing { path }
        } else if source.is_directory() {
            Self::Directory { path }
        } else if source.permission_denied() {
            Self::Denied { path, source }
        } else {
            Self::File { path, source }
        }
    }
}

/// Sort of line that a file lacks, for [`ReadError::NotATranscript`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacks {
    /// No line is a JSON object.
    Objects,
    /// There are objects, and none is a message of a tool whose transcripts are read.
    Messages,
}

impl fmt::Display for Lacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Objects => "no line is a JSON object",
            Self::Messages => "no line is a message of Claude Code, Codex, pi or Dormouse",
        })
    }
}

/// Description of a file's first bytes, for [`ReadError::NotATranscript`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstBytes {
    /// Bytes that are no text.
    Binary,
    /// Text, the beginning of which is given.
    Text(String),
}

impl FirstBytes {
    fn of(bytes: &[u8]) -> Self {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // A character cut in two at the end of the window is still text, not binary data.
            Err(error) if error.error_len().is_none() => {
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
            Err(_) => return Self::Binary,
        };
        // Valid UTF-8 alone is no proof of text: an image or archive of low bytes passes that test.
        let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if text.chars().any(is_control) {
            return Self::Binary;
        }
        Self::Text(text.trim_start().chars().take(SHOWN).collect())
    }
}

impl fmt::Display for FirstBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary => f.write_str("it holds binary data"),
            Self::Text(text) => write!(f, "it begins with {text:?}"),
        }
    }
}

/// A log, opened for reading. Clones share the opened file.
#[derive(Clone, Debug)]
pub struct LogFile {
    path: PathBuf,
    file: Arc<dyn RandomRead>,
}

impl LogFile {
    /// Opens a transcript, Dormouse's own or another tool's.
    pub fn open(files: &dyn Files, path: &Path) -> Result<Self, ReadError> {
        // A person may name a pipe; in the place of Dormouse's own log it would only be waited for.
        let log = Self::of(path, files.open_named(path))?;
        let len = log.len()?;
        if len == 0 {
            return Err(ReadError::Empty {
                path: path.to_owned(),
            });
        }
        let Some(lacks) = log.lacks(len)? else {
            return Ok(log);
        };
        // Only for the message: what the file begins with tells the user which file was meant.
        let bytes = log.during(log.file.read_range(0, LOOK))?;
        Err(ReadError::NotATranscript {
            path: path.to_owned(),
            lacks,
            looks: FirstBytes::of(&bytes),
        })
    }

    /// Opens a file without looking into it: a log may be empty or torn while it is being born.
    pub(crate) fn open_any(files: &dyn Files, path: &Path) -> Result<Self, ReadError> {
        Self::of(path, files.open(path))
    }

    fn of(path: &Path, opened: FileResult<Arc<dyn RandomRead>>) -> Result<Self, ReadError> {
        let file = opened.map_err(|source| ReadError::new(path, source))?;
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// The path it was opened with; the file may have been renamed since.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Current length in bytes; grows while a writer appends.
    pub fn len(&self) -> Result<u64, ReadError> {
        self.during(self.file.len())
    }

    /// True if the file has no bytes at this moment.
    pub fn is_empty(&self) -> Result<bool, ReadError> {
        Ok(self.len()? == 0)
    }

    /// All lines as raw bytes, blank and unreadable ones included.
    pub fn lines(&self) -> Result<impl Iterator<Item = Result<Line, ReadError>> + '_, ReadError> {
        let len = self.len()?;
        let lines = Lines::whole(&*self.file, 0..len);
        Ok(lines.map(|line| self.during(line)))
    }

    pub(crate) fn file(&self) -> &dyn RandomRead {
        &*self.file
    }

    /// Adds the path to a file error, which by itself does not name the log.
    pub(crate) fn during<T>(&self, result: FileResult<T>) -> Result<T, ReadError> {
        result.map_err(|source| ReadError::new(&self.path, source))
    }

    /// The same log, with a count of the bytes read of it.
    pub(crate) fn counted(&self) -> Counted {
        Counted {
            file: Arc::clone(&self.file),
            read: AtomicU64::new(0),
        }
    }

    /// Reason that the file is no transcript; `None` once a line of a conversation was found.
    fn lacks(&self, len: u64) -> Result<Option<Lacks>, ReadError> {
        let mut strange = 0;
        let mut lacks = Lacks::Objects;
        // In small reads: a transcript has a message among its first lines.
        for line in Lines::new(&*self.file, 0..len) {
            let Line::Text { bytes, .. } = self.during(line)? else {
                continue;
            };
            for value in objects(&bytes) {
                if detect::is_conversation(&value) {
                    return Ok(None);
                }
                lacks = Lacks::Messages;
                // Bookkeeping of Claude Code may fill many lines before the first message.
                strange += usize::from(!detect::is_bookkeeping(&value));
                if strange > MOST_STRANGE {
                    return Ok(Some(lacks));
                }
            }
        }
        Ok(Some(lacks))
    }
}

/// The JSON objects of a line, those beside damage included.
fn objects(line: &[u8]) -> Vec<Value> {
    if let Ok(value) = serde_json::from_slice::<Value>(line) {
        return if value.is_object() {
            vec![value]
        } else {
            Vec::new()
        };
    }
    let parts = divide(line)
        .parts
        .into_iter()
        .filter_map(|part| match part {
            Part::Object(range) => serde_json::from_slice(&line[range]).ok(),
            Part::Lost(_) => None,
        });
    parts.collect()
}

/// True if the whole line is one JSON object.
pub(crate) fn is_object(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

/// A file that counts the bytes read from it; tests hold the cost of a resume against it.
#[derive(Debug)]
pub(crate) struct Counted {
    file: Arc<dyn RandomRead>,
    read: AtomicU64,
}

impl Counted {
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

impl RandomRead for Counted {
    fn len(&self) -> FileResult<u64> {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> FileResult<usize> {
        let read = self.file.read_at(offset, buffer)?;
        self.read.fetch_add(as_u64(read), Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_text_from_data() {
        let cases: [(&[u8], FirstBytes); 5] = [
            (b"\n hello\nworld", FirstBytes::Text("hello\nworld".into())),
            (b"\x7fELF\x02\x01\x01\0", FirstBytes::Binary),
            (b"PK\x03\x04", FirstBytes::Binary),
            (b"caf\xc3", FirstBytes::Text("caf".into())),
            (b"\xff\xfe{\0", FirstBytes::Binary),
        ];
        for (bytes, expected) in cases {
            assert_eq!(FirstBytes::of(bytes), expected, "{bytes:?}");
        }
    }
}
