//! The objects on a line that is not one object.
//!
//! # Model
//! A crash, a full disk or two writers leave lines that no JSON parser takes: two records without a
//! newline between them, a torn record with a whole one behind it, runs of zero bytes, a byte order
//! mark. [`divide`] goes through such a line and gives the parts that are objects and the parts that
//! are lost. A line that is one object never comes here.
//!
//! Behind a tear only an object that a tool writes as a line is taken, and only if nothing but
//! further objects follows it: an object inside a torn record is part of that record and lost with
//! it.
//!
//! # Responsibilities
//! The cost is linear in the length of the line: attempts share a budget of bytes.
//!
//! # Not here
//! Records of the parts: [`crate::read`], [`crate::foreign`].

use crate::issue::Trouble;
use dormouse_core::record::{LineError, Shape, members};
use memchr::memmem::Finder;
use serde::de::IgnoredAny;
use std::ops::Range;

/// Bytes that attempts may parse, as a multiple of the line: a tear is followed by the rest of the
/// torn record and one whole record, which takes two passes; the rest is for odd content.
const PASSES: usize = 8;

/// Byte order mark of UTF-8, which some editors put in front of a file.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Parts of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Objects and lost stretches, in order.
    pub(crate) parts: Vec<Part>,
    /// Zero bytes between them.
    pub(crate) zeros: usize,
}

/// Part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// One whole JSON object.
    Object(Range<usize>),
    /// Bytes that are none.
    Lost(Range<usize>),
}

/// Divides a line into objects and lost parts.
pub(crate) fn divide(line: &[u8]) -> Parts {
    let mut found = Parts::default();
    let mut budget = line.len().saturating_mul(PASSES);
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        if let Some(length) = filler(rest) {
            found.zeros += memchr::memchr_iter(0, &rest[..length]).count();
            at += length;
        } else if let Some(length) = object(rest, &mut budget) {
            found.parts.push(Part::Object(at..at + length));
            at += length;
        } else {
            let next = next_line(line, at + 1, &mut budget);
            found.parts.push(Part::Lost(at..next));
            at = next;
        }
    }
    found
}

/// Damage of one line, as the readers count it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damage {
    /// Records that were read.
    pub(crate) records: u64,
    /// Bytes that are no record.
    pub(crate) lost: u64,
    /// Zero bytes beside them.
    pub(crate) zeros: u64,
    /// False for the last line of a file if its newline is missing.
    pub(crate) ended: bool,
}

impl Damage {
    /// True if the line is the torn end of the file: a crash in mid-write, not corruption.
    pub(crate) const fn is_torn(&self) -> bool {
        self.lost > 0 && !self.ended
    }

    /// Issue to report; none for a line that is one record, perhaps behind a byte order mark.
    pub(crate) fn trouble(self, line: &[u8], error: impl FnOnce() -> LineError) -> Option<Trouble> {
        Some(match (self.records, self.lost) {
            (0 | 1, 0) if self.zeros == 0 => return None,
            (_, 0) if self.zeros > 0 => Trouble::Zeros { bytes: self.zeros },
            (records, 0) => Trouble::SeveralRecords { records },
            (_, bytes) if self.is_torn() => Trouble::Torn { bytes },
            // Told apart only on failure: checking every line for UTF-8 would slow down good logs.
            (0, _) if std::str::from_utf8(line).is_err() => Trouble::NotUtf8,
            (0, _) => Trouble::NotARecord(error()),
            (records, bytes) => Trouble::PartlyLost { records, bytes },
        })
    }
}

/// Length of what stands between records and means nothing.
fn filler(rest: &[u8]) -> Option<usize> {
    if rest.starts_with(MARK) {
        return Some(MARK.len());
    }
    let is_filler = |byte: &&u8| **byte == 0 || byte.is_ascii_whitespace();
    let length = rest.iter().take_while(is_filler).count();
    (length > 0).then_some(length)
}

/// Length of the object at the beginning of a text.
fn object(text: &[u8], budget: &mut usize) -> Option<usize> {
    if !text.starts_with(b"{") || *budget == 0 {
        return None;
    }
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let read = match values.next() {
        Some(Ok(_)) => Ok(values.byte_offset()),
        // A line has no newline in it, so that the column counts its bytes.
        Some(Err(error)) => Err(error.column()),
        None => Err(0),
    };
    let spent = read.unwrap_or_else(|column| column);
    *budget = budget.saturating_sub(spent.max(1));
    read.ok()
}

/// The JSON object at the beginning of a text, whatever stands behind it.
pub(crate) fn first_object(text: &[u8]) -> Option<&[u8]> {
    let mut budget = text.len();
    let length = object(text, &mut budget)?;
    text.get(..length)
}

/// Offset of the next object that a tool wrote as a line; the end of the line if there is none.
fn next_line(line: &[u8], from: usize, budget: &mut usize) -> usize {
    let finder = Finder::new("{\"");
    let mut at = from;
    while let Some(found) = line.get(at..).and_then(|rest| finder.find(rest)) {
        let start = at + found;
        if let Some(length) = object(&line[start..], budget)
            && is_line(&line[start..start + length])
            && line[start + length..]
                .trim_ascii_start()
                .first()
                .is_none_or(|byte| *byte == b'{')
        {
            return start;
        }
        if *budget == 0 {
            break;
        }
        at = start + 1;
    }
    line.len()
}

/// True if an object has the members by which the lines of a known tool are linked and dated.
fn is_line(object: &[u8]) -> bool {
    let (mut kind, mut own, mut timed, mut payload, mut id) = (false, 0, false, false, false);
    members(object, |name, value| match (name, value) {
        (b"type", Shape::Text(_)) => kind = true,
        (b"uuid" | b"sessionId", Shape::Text(_)) => own += 1,
        (b"timestamp", Shape::Text(_)) => timed = true,
        (b"payload", Shape::Nested) => payload = true,
        (b"id", Shape::Text(_)) => id = true,
        _ => {}
    });
    // Dormouse and Claude Code, Codex, pi.
    kind && (own == 2 || timed && (payload || id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    const A: &str = r#"{"type":"user","uuid":"a","sessionId":"s"}"#;
    const B: &str = r#"{"type":"user","uuid":"b","sessionId":"s","m":{"type":"x","id":"1"}}"#;

    fn check(line: &str, expected: &[&str], zeros: usize) {
        let found = divide(line.as_bytes());
        let parts: Vec<String> = found
            .parts
            .iter()
            .map(|part| match part {
                Part::Object(range) => line[range.clone()].to_owned(),
                Part::Lost(range) => format!("lost {}", &line[range.clone()]),
            })
            .collect();
        let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!((parts, found.zeros), (expected, zeros), "{line}");
    }

    #[test]
    fn objects_without_a_newline_between_them_are_told_apart() {
        check(&format!("{A}{B}"), &[A, B], 0);
        check(&format!("\u{feff}{A}\r"), &[A], 0);
        check(&format!("\0\0{A}\0 {B}\0"), &[A, B], 4);
        check("\0\0\0", &[], 3);
    }

    #[test]
    fn a_whole_record_behind_a_torn_one_is_found() {
        let torn = &A[..20];
        check(&format!("{torn}{B}"), &[&format!("lost {torn}"), B], 0);
        check(
            &format!("{torn}{A}{B}"),
            &[&format!("lost {torn}"), A, B],
            0,
        );
        check(&format!("{A}{torn}"), &[A, &format!("lost {torn}")], 0);
        check("garbage", &["lost garbage"], 0);
    }

    #[test]
    fn an_object_inside_a_torn_record_is_lost_with_it() {
        // The tear comes right behind an inner object that looks like an entry.
        let torn = &B[..B.len() - 1];
        check(torn, &[&format!("lost {torn}")], 0);
        let nested = format!(r#"{{"type":"progress","data":{A},"x":"#);
        check(&nested, &[&format!("lost {nested}")], 0);
    }

    #[test]
    fn a_hostile_line_is_divided_in_linear_time() {
        // Each opening brace could begin an object that reaches to the end of the line.
        let line = "{\"a\":\"".repeat(50_000);
        let found = divide(line.as_bytes());
        assert_eq!(found.parts, [Part::Lost(0..line.len())]);
        let mut budget = line.len() * PASSES;
        next_line(line.as_bytes(), 1, &mut budget);
        assert!(budget < line.len() * PASSES);
    }
}
