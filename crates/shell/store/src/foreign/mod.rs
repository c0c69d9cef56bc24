//! Transcripts of tools that write other lines than Dormouse does: Codex and pi.
//!
//! # Model
//! A file's first lines say whose it is ([`ForeignFormat`]). A translator then goes through it line
//! by line and writes down, for each, one record or a few: messages with Dormouse's own blocks,
//! calls and results paired by id, compactions as boundaries with their summaries. A line it does
//! not know becomes a record without effect; one that is no JSON object is an issue.
//!
//! # Responsibilities
//! Text that a host put into the user's messages (instruction files, descriptions of the
//! surroundings) comes out as *meta*: the user did not say it. In a session that another agent
//! leads, no message is the user's.
//!
//! # Not here
//! Claude Code's transcripts, which are Dormouse's own lines ([`LogFile::read_all`]). Reasoning is
//! left out: another model cannot use it, and it is not evidence of anything.

mod codex;
mod codex_tools;
mod detect;
mod divide;
mod import;
mod pi;
mod scribe;
mod value;

pub use import::import;

use crate::chunks::as_u64;
use crate::issue::{Issues, Trouble};
use crate::lines::{Line, Lines};
use crate::log_file::{LogFile, ReadError};
use crate::read::{ReadLog, Scanned};
use dormouse_core::id::SessionId;
use dormouse_core::record::{LineError, Record};
use scribe::Scribe;
use serde_json::Value;
use std::fmt;
use std::ops::ControlFlow;

/// Lines read to recognise a format: a header usually comes first, but a torn or unknown line does
/// not tell, and a file of anything else must not be read to its end.
const LOOKED_AT: usize = 32;

/// Tool that wrote a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForeignFormat {
    /// A rollout of Codex, of any generation.
    Codex,
    /// A session of pi, with or without a tree.
    Pi,
}

impl ForeignFormat {
    /// The tool's name as the screen shows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Codex => "Codex",
            Self::Pi => "pi",
        }
    }
}

impl fmt::Display for ForeignFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A foreign transcript as it was read.
#[derive(Debug)]
pub struct ForeignLog {
    /// The tool that wrote it.
    pub format: ForeignFormat,
    /// Records made of its lines, and lines that could not be read.
    pub read: ReadLog,
    /// Facts about the session that its header names.
    pub about: AboutSession,
}

/// Facts a foreign transcript names about its session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AboutSession {
    /// Id that the tool gave the session.
    pub session: Option<SessionId>,
    /// Working folder of the session.
    pub cwd: Option<String>,
    /// Git branch at the start; pi does not record it.
    pub git_branch: Option<String>,
}

/// Makes records of the lines of one tool.
trait Translator {
    /// Writes the records of one line.
    fn line(&mut self, line: &Value, scribe: &mut Scribe);
}

impl LogFile {
    /// The tool that wrote the transcript; `None` for Dormouse's or Claude Code's.
    pub fn foreign_format(&self) -> Result<Option<ForeignFormat>, ReadError> {
        let len = self.len()?;
        for line in Lines::new(self.file(), 0..len).take(LOOKED_AT) {
            if let Line::Text { bytes, .. } = self.during(line)?
                && let Ok(value) = serde_json::from_slice(&bytes)
                && let Some(verdict) = detect::verdict(&value)
            {
                return Ok(verdict);
            }
        }
        Ok(None)
    }

    /// Reads the transcript if Codex or pi wrote it; `None` otherwise.
    pub fn read_foreign(&self) -> Result<Option<ForeignLog>, ReadError> {
        let Some(format) = self.foreign_format()? else {
            return Ok(None);
        };
        let bytes = self.len()?;
        let mut scribe = Scribe::new(match format {
            ForeignFormat::Codex => "codex",
            ForeignFormat::Pi => "pi",
        });
        let mut translator: Box<dyn Translator> = match format {
            ForeignFormat::Codex => Box::<codex::Codex>::default(),
            ForeignFormat::Pi => Box::<pi::Pi>::default(),
        };
        let mut read = ReadLog {
            bytes,
            ..ReadLog::default()
        };
        for line in Lines::whole(self.file(), 0..bytes) {
            read.lines += 1;
            let line = self.during(line)?;
            if let Some((offset, value)) = parse(&line, &mut read) {
                scribe.turn_to(offset);
                translator.line(&value, &mut scribe);
                // Several records of one line share its number; a line without records adds none.
                read.line_of.resize(scribe.written(), read.lines);
            }
        }
        let (records, about) = scribe.finish();
        read.records = records;
        Ok(Some(ForeignLog {
            format,
            read,
            about,
        }))
    }

    /// Hands out every record with the number of its line, of any tool's transcript.
    pub fn for_each_of_any(
        &self,
        mut each: impl FnMut(Record, u64) -> ControlFlow<()>,
    ) -> Result<Scanned, ReadError> {
        let Some(foreign) = self.read_foreign()? else {
            return self.for_each_record(each);
        };
        let read = foreign.read;
        for (record, line) in read.records.into_iter().zip(read.line_of) {
            if each(record, line).is_break() {
                break;
            }
        }
        Ok(Scanned {
            issues: read.issues,
            lines: read.lines,
            bytes: read.bytes,
            torn_tail: read.torn_tail,
        })
    }

    /// Reads every record of any tool's transcript.
    pub fn read_any(&self) -> Result<ReadLog, ReadError> {
        match self.read_foreign()? {
            Some(foreign) => Ok(foreign.read),
            None => self.read_all(),
        }
    }
}

/// The JSON object on a line; any other line becomes an issue.
fn parse(line: &Line, read: &mut ReadLog) -> Option<(u64, Value)> {
    let number = Some(read.lines);
    let issues: &mut Issues = &mut read.issues;
    let (offset, bytes, ended) = match line {
        Line::Overlong { offset, bytes } => {
            issues.add(number, *offset, Trouble::Overlong { bytes: *bytes });
            return None;
        }
        Line::Text {
            offset,
            bytes,
            ended,
        } => (*offset, bytes, *ended),
    };
    if bytes.trim_ascii().is_empty() {
        return None;
    }
    let what = match serde_json::from_slice(bytes) {
        Ok(value @ Value::Object(_)) => return Some((offset, value)),
        Ok(_) => Trouble::NotARecord(LineError::NotAnObject),
        // Only the last line can lack its newline: a crash of the tool, not damage.
        Err(_) if !ended => {
            read.torn_tail = true;
            let bytes = as_u64(bytes.len());
            Trouble::Torn { bytes }
        }
        // The more useful reason: the parser would only name a bad byte.
        Err(_) if std::str::from_utf8(bytes).is_err() => Trouble::NotUtf8,
        Err(error) => Trouble::NotARecord(LineError::NotJson(error)),
    };
    issues.add(number, offset, what);
    None
}

#[cfg(test)]
#[path = "codex_tests.rs"]
mod codex_tests;
#[cfg(test)]
#[path = "pi_tests.rs"]
mod pi_tests;
