//! Ids that a damaged line still shows.
//!
//! # Model
//! The text is walked as JSON without being checked: strings are passed over, braces counted. The
//! members of the outermost object that were seen before the damage are exact; behind it they are a
//! guess, which costs nothing, since an id that no record names is no link.
//!
//! # Not here
//! Use of the ids: [`super::Links`].

use super::{Body, Foreign, Record};
use crate::id::{AgentId, RecordId, Seq, SessionId};
use crate::json::string_end;

/// Kind of record that stands for a line which could not be read.
pub const UNREAD: &str = "unread";

/// Record for a damaged line, if the line still shows an id of its own or of its parent.
///
/// None for a line that Dormouse was writing, which shows a number before its ids: a record that was
/// never finished is none, and the next one hangs on the record before it.
pub fn unread(line: &[u8], offset: u64) -> Option<Record> {
    let mut shown = Shown::default();
    members(line, |name, value| shown.take(name, value));
    if shown.numbered || shown.id.is_none() && shown.parent.is_none() {
        return None;
    }
    let parent = match shown.parent {
        Some(Parent::Named(parent)) => Some(RecordId::from(parent)),
        Some(Parent::Absent) => None,
        // No record has this id: the walk bridges the gap.
        None => Some(RecordId::new(format!("?{offset}"))),
    };
    Some(Record {
        seq: Seq::from_offset(offset),
        offset,
        id: shown.id.map_or_else(
            || RecordId::new(format!("{UNREAD}@{offset}")),
            RecordId::from,
        ),
        parent,
        session: shown.session.map(SessionId::from),
        at: None,
        caused_by: None,
        side_chain: shown.side_chain,
        agent: shown.agent.map(AgentId::from),
        own: false,
        body: Body::Foreign(Foreign {
            kind: UNREAD.into(),
            subtype: None,
            title: None,
        }),
    })
}

/// Parent that a line shows.
#[derive(Clone, Copy)]
enum Parent<'a> {
    /// The line names it.
    Named(&'a str),
    /// The line says that it has none.
    Absent,
}

/// Members of the envelope that a line shows.
#[derive(Default)]
struct Shown<'a> {
    id: Option<&'a str>,
    parent: Option<Parent<'a>>,
    session: Option<&'a str>,
    agent: Option<&'a str>,
    side_chain: bool,
    numbered: bool,
}

impl<'a> Shown<'a> {
    fn take(&mut self, name: &[u8], value: Shape<'a>) {
        match (name, value) {
            (b"uuid", Shape::Text(id)) if self.id.is_none() => self.id = Some(id),
            (b"parentUuid", Shape::Text(id)) if self.parent.is_none() => {
                self.parent = Some(Parent::Named(id));
            }
            (b"parentUuid", Shape::Other(b"null")) if self.parent.is_none() => {
                self.parent = Some(Parent::Absent);
            }
            (b"seq", Shape::Other(_)) if self.id.is_none() => self.numbered = true,
            (b"sessionId", Shape::Text(id)) => self.session = Some(id),
            (b"agentId", Shape::Text(id)) => self.agent = Some(id),
            (b"isSidechain", Shape::Other(b"true")) => self.side_chain = true,
            _ => {}
        }
    }
}

/// Value of a member, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape<'a> {
    /// String without escapes; ids have none.
    Text(&'a str),
    /// Word or number, as it stands there.
    Other(&'a [u8]),
    /// String with escapes, list or object.
    Nested,
}

/// Calls `each` with the members of the outermost object of a line that may be damaged, in order.
pub fn members<'a>(line: &'a [u8], mut each: impl FnMut(&'a [u8], Shape<'a>)) {
    let mut depth = 0_usize;
    let mut name: Option<&[u8]> = None;
    let mut is_value = false;
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        match byte {
            b'"' => {
                let end = string_end(line, at);
                // A string without its closing quote is the torn end of the line.
                let closed = end > at + 1 && line.get(end - 1) == Some(&b'"');
                let inside = line.get(at + 1..end - 1).unwrap_or_default();
                if depth == 1 && closed {
                    match (is_value, name.take()) {
                        (true, Some(name)) => each(name, text(inside)),
                        _ => name = Some(inside),
                    }
                    is_value = false;
                }
                at = end;
                continue;
            }
            b':' if depth == 1 => is_value = name.is_some(),
            b',' if depth == 1 => (name, is_value) = (None, false),
            b'{' | b'[' => {
                if let (1, true, Some(name)) = (depth, is_value, name.take()) {
                    each(name, Shape::Nested);
                    is_value = false;
                }
                depth += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            byte if depth == 1 && is_value && byte.is_ascii_alphanumeric() => {
                let rest = &line[at..];
                let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric());
                let length = length.count();
                // A word that reaches the end of the text may be torn.
                if let Some(name) = name.take().filter(|_| at + length < line.len()) {
                    each(name, Shape::Other(&rest[..length]));
                }
                is_value = false;
                at += length;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

fn text(inside: &[u8]) -> Shape<'_> {
    let plain = !inside.contains(&b'\\') && inside.iter().all(|byte| !byte.is_ascii_control());
    match std::str::from_utf8(inside) {
        Ok(text) if plain => Shape::Text(text),
        _ => Shape::Nested,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn check(line: &str, expected: Option<(&str, Option<&str>, bool)>) {
        let found = unread(line.as_bytes(), 7);
        let found = found.as_ref().map(|record| {
            let parent = record.parent.as_ref().map(RecordId::as_str);
            (record.id.as_str(), parent, record.side_chain)
        });
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn a_torn_line_shows_the_ids_in_front_of_the_tear() {
        check(
            r#"{"parentUuid":"p","isSidechain":true,"uuid":"u","mess"#,
            Some(("u", Some("p"), true)),
        );
        check(
            r#"{"parentUuid":"p","message":{"uuid":"inner","text":"x"#,
            Some(("unread@7", Some("p"), false)),
        );
        check(
            r#"{"uuid":"u","message":"\"parentUuid\":\"no\""#,
            Some(("u", Some("?7"), false)),
        );
        check(
            r#"{"uuid":"u","parentUuid":null,"#,
            Some(("u", None, false)),
        );
        check(r#"{"parentUuid":"p"#, None);
        check(
            r#"{"uuid":"u","parentUuid":nul"#,
            Some(("u", Some("?7"), false)),
        );
        check(
            r#"{"type":"user","seq":4,"uuid":"u","parentUuid":"p","m"#,
            None,
        );
        check("garbage", None);
        check("", None);
        check("}}]\"", None);
    }
}
