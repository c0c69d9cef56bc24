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
pub(crate) mod detect;
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
use crate::mend::{Damage, Part, divide};
use crate::read::{ReadLog, Scanned};
use dormouse_core::id::SessionId;
use dormouse_core::record::{LineError, Record, Shape, UNREAD, members};
use dormouse_core::units::Millis;
use dormouse_core::usage::TokenUsage;
use dormouse_core::usage_book::ResponseKey;
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
    /// Usage of its responses, in the order of the file.
    pub usage: Vec<ForeignUsage>,
}

/// Usage of one response in a foreign transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignUsage {
    /// Identity of the response. A fork that repeats the beginning of another session repeats the
    /// keys too.
    pub key: ResponseKey,
    /// Time of the line that reports it.
    pub at: Option<Millis>,
    /// Model as the transcript names it; empty if it does not.
    pub model: String,
    /// Tokens by billing category.
    pub usage: TokenUsage,
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
        let mut looked_at = 0;
        for line in Lines::new(self.file(), 0..len) {
            let Line::Text { bytes, .. } = self.during(line)? else {
                continue;
            };
            for (_, value) in Objects::of(&bytes).values {
                if let Some(verdict) = detect::verdict(&value) {
                    return Ok(verdict);
                }
                // Damaged lines do not count: they hold no object.
                looked_at += 1;
                if looked_at >= LOOKED_AT {
                    return Ok(None);
                }
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
            for (offset, value) in parse(&line, &mut read) {
                scribe.turn_to(offset);
                translator.line(&value, &mut scribe);
                // Several records of one line share its number; a line without records adds none.
                read.line_of.resize(scribe.written(), read.lines);
            }
        }
        let (records, about, usage) = scribe.finish();
        read.records = records;
        Ok(Some(ForeignLog {
            format,
            read,
            about,
            usage,
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

/// JSON objects of one line.
struct Objects {
    /// Offset of each in the line, and its value.
    values: Vec<(usize, Value)>,
    /// Bytes that are no object.
    lost: usize,
    /// Zero bytes between the objects.
    zeros: usize,
}

impl Objects {
    fn of(line: &[u8]) -> Self {
        let mut objects = Self {
            values: Vec::new(),
            lost: 0,
            zeros: 0,
        };
        if let Ok(value @ Value::Object(_)) = serde_json::from_slice(line) {
            objects.values.push((0, value));
            return objects;
        }
        let divided = divide(line);
        objects.zeros = divided.zeros;
        for part in divided.parts {
            let (range, is_object) = match part {
                Part::Object(range) => (range, true),
                Part::Lost(range) => (range, false),
            };
            let text = &line[range.clone()];
            if let Some(value) = serde_json::from_slice(text).ok().filter(|_| is_object) {
                objects.values.push((range.start, value));
            } else {
                objects.lost += range.len();
                let shown = unread_entry(text).map(|value| (range.start, value));
                objects.values.extend(shown);
            }
        }
        objects
    }
}

/// Entry that stands for a lost one, if that still shows its id or its parent's: the entries that
/// hang on it keep their place in the tree.
fn unread_entry(text: &[u8]) -> Option<Value> {
    let mut entry = serde_json::Map::new();
    members(text, |name, value| match (name, value) {
        (b"id" | b"parentId", Shape::Text(id)) => {
            let name = String::from_utf8_lossy(name).into_owned();
            entry.entry(name).or_insert_with(|| id.into());
        }
        (b"parentId", Shape::Other(b"null")) => {
            entry.entry("parentId").or_insert(Value::Null);
        }
        _ => {}
    });
    if entry.is_empty() {
        return None;
    }
    entry.insert("type".to_owned(), UNREAD.into());
    Some(Value::Object(entry))
}

/// The JSON objects on a line with their offsets; lost parts become issues.
fn parse(line: &Line, read: &mut ReadLog) -> Vec<(u64, Value)> {
    let number = Some(read.lines);
    let issues: &mut Issues = &mut read.issues;
    let (offset, bytes, ended) = match line {
        Line::Overlong { offset, bytes } => {
            issues.add(number, *offset, Trouble::Overlong { bytes: *bytes });
            return Vec::new();
        }
        Line::Text {
            offset,
            bytes,
            ended,
        } => (*offset, bytes, *ended),
    };
    if bytes.trim_ascii().is_empty() {
        return Vec::new();
    }
    let objects = Objects::of(bytes);
    let is_whole = |value: &Value| value.get("type").and_then(Value::as_str) != Some(UNREAD);
    let whole = objects.values.iter().filter(|(_, value)| is_whole(value));
    let damage = Damage {
        records: as_u64(whole.count()),
        lost: as_u64(objects.lost),
        zeros: as_u64(objects.zeros),
        ended,
    };
    read.torn_tail |= damage.is_torn();
    if let Some(what) = damage.trouble(bytes, || match serde_json::from_slice::<Value>(bytes) {
        Err(error) => LineError::NotJson(error),
        Ok(_) => LineError::NotAnObject,
    }) {
        issues.add(number, offset, what);
    }
    let values = objects.values.into_iter();
    values
        .map(|(at, value)| (offset + as_u64(at), value))
        .collect()
}

#[cfg(test)]
#[path = "codex_tests.rs"]
mod codex_tests;
#[cfg(test)]
#[path = "pi_tests.rs"]
mod pi_tests;
