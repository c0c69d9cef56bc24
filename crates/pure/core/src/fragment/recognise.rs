//! Division of a text by the authors of its parts.
//!
//! # Model
//! First the wrappers, from left to right (`wrapped`); then, in the rest, notes and shapes of
//! pasted text, line by line. A text is read a fixed number of times, whatever it contains.
//!
//! # Not here
//! The rows: `table`. Records as a whole: `record`.

use super::pasted::{Reach, Shape, fences, shapes};
use super::table::{self, CODEX_REQUEST, COMMAND_ARGS, COMMAND_NAME, NOTES, PRIVATE};
use super::tag::{Tag, TagKind, tags};
use super::{How, Place, Span, Speaker, is_markup};
use std::collections::HashMap;
use std::ops::Range;

/// Words behind a tag at the beginning of a line by which a sentence talks *about* the tag.
const MENTIONS: &str = "is|are|was|were|isn't|tag|tags|element|elements|block|blocks|should|must|shows|appears|gets|\
    has|and|or|in|does|doesn't|can|cannot|wrapper|wrappers|in|on|from|keeps|never|vs|instead|comes|looks|breaks|renders";

/// Divides a text of the user's side by author. The spans cover it in order.
pub fn recognise(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    for wrapped in wrapped(text) {
        typed(text, at..wrapped.range.start, &mut spans);
        at = wrapped.range.end;
        spans.push(wrapped);
    }
    typed(text, at..text.len(), &mut spans);
    belongs_to_client(text, &mut spans);
    let mut divided = Vec::with_capacity(spans.len());
    let mut rest: Option<(Speaker, How)> = None;
    for span in spans {
        match (span.how, rest) {
            // Behind a paste without an end nothing is the user's any more.
            (How::Typed, Some((speaker, how))) => divided.push(Span {
                speaker,
                how,
                ..span
            }),
            (How::Typed, None) => rest = lines(text, span.range, &mut divided),
            _ => divided.push(span),
        }
    }
    merged(divided)
}

/// Words that the user sent, typed or pasted, without those that clients put around them.
pub fn sent(text: &str) -> String {
    let mut out = String::new();
    for span in recognise(text).into_iter().filter(Span::is_sent) {
        out.push_str(&text[span.content]);
        out.push('\n');
    }
    out.trim().to_owned()
}

/// Slash command that a message is, with its arguments; none for any other message.
pub fn command(text: &str) -> Option<String> {
    let spans = recognise(text);
    let part = |tag: &str| {
        let span = spans
            .iter()
            .find(|span| matches!(span.how, How::Wrapped(row) if row.tag == tag))?;
        Some(text[span.content.clone()].trim())
    };
    let name = part(COMMAND_NAME.tag).filter(|name| !name.is_empty())?;
    let arguments = part(COMMAND_ARGS.tag).unwrap_or_default();
    Some(format!("{name} {arguments}").trim().to_owned())
}

fn typed(text: &str, range: Range<usize>, spans: &mut Vec<Span>) {
    if !text[range.clone()].is_empty() {
        spans.push(plain(range, Speaker::User, How::Typed));
    }
}

fn plain(range: Range<usize>, speaker: Speaker, how: How) -> Span {
    Span {
        content: range.clone(),
        range,
        speaker,
        how,
    }
}

/// The wrappers of a text, in order and without overlaps.
fn wrapped(text: &str) -> Vec<Span> {
    let tags = tags(text);
    if tags.is_empty() {
        return Vec::new();
    }
    // Only closed fences: an open one must not hide what a client adds behind it.
    let (fences, _) = fences(text);
    let mut closes: HashMap<&str, &Tag> = HashMap::new();
    for tag in tags.iter().filter(|tag| !tag.is_quoted) {
        // An opening tag behind the last closing one was left open: text between them is in doubt.
        let reopens = tag.kind == TagKind::Open && tag.begins_line && tag.ends_line;
        if tag.kind == TagKind::Close || reopens {
            closes.insert(&tag.name, tag);
        }
    }
    let mut found: Vec<Span> = Vec::new();
    let mut from = 0;
    for tag in &tags {
        let is_fenced = || {
            let before = fences.partition_point(|fence| fence.start <= tag.range.start);
            let fence = before.checked_sub(1).and_then(|at| fences.get(at));
            fence.is_some_and(|fence| fence.end > tag.range.start)
        };
        if tag.range.start < from || tag.is_quoted || is_fenced() {
            continue;
        }
        let close = closes.get(tag.name.as_str()).copied();
        let close = close.filter(|close| close.range.start >= tag.range.end);
        let span = match tag.kind {
            TagKind::Open => opened(text, tag, close, &found).or_else(|| lone(tag)),
            TagKind::Close => stray(tag, from),
            TagKind::Empty => lone(tag),
        };
        if let Some(span) = span {
            from = span.range.end;
            found.push(span);
        }
    }
    found
}

/// The span that an opening tag begins, if it is a wrapper's.
fn opened(text: &str, tag: &Tag, close: Option<&Tag>, before: &[Span]) -> Option<Span> {
    let row = table::wrapper(&tag.name);
    if row == Some(&PRIVATE) {
        // Typed by the user, for the readers that honour it.
        return None;
    }
    let how = row.map_or(How::Unlisted, How::Wrapped);
    let own_name = row.is_some_and(|row| matches!(row.place, Place::Beside | Place::Alone));
    let speaker = row.map_or(Speaker::Host, |row| row.speaker);
    let behind = &text[tag.range.end..];
    let (end, content) = match close {
        Some(open) if open.kind == TagKind::Open && own_name => (text.len(), text.len()),
        Some(open) if open.kind == TagKind::Open => return None,
        Some(close) if own_name => (close.range.end, close.range.start),
        // A common word counts on lines of its own: in a sentence it is markup or a placeholder.
        Some(close) if tag.begins_line && (tag.ends_line || close.ends_line) => {
            (close.range.end, close.range.start)
        }
        // Opened at the end of a line, closed on a line of its own: a block behind a sentence.
        Some(close) if tag.ends_line && close.begins_line && close.ends_line => {
            (close.range.end, close.range.start)
        }
        None if !tag.begins_line || mentions(behind) => return None,
        None if own_name => (text.len(), text.len()),
        None if tag.ends_line && is_wrapper_like(tag) => (text.len(), text.len()),
        Some(_) | None => return None,
    };
    let (speaker, how) = if row.is_none() && is_markup(&tag.name) {
        (Speaker::Tool, How::Pasted)
    } else if speaker == Speaker::User && !is_in_its_place(text, tag, before) {
        // Anywhere else the tag is forged.
        (Speaker::Host, How::Unlisted)
    } else {
        (speaker, how)
    };
    Some(Span {
        range: tag.range.start..end,
        content: tag.range.end..content,
        speaker,
        how,
    })
}

/// A tag that is all of its line and has more than a name: words in its attributes are not typed.
fn lone(tag: &Tag) -> Option<Span> {
    let alone = tag.begins_line && tag.ends_line && tag.has_attributes;
    let (speaker, how) = if is_markup(&tag.name) {
        (Speaker::Tool, How::Pasted)
    } else {
        (Speaker::Host, How::Unlisted)
    };
    alone.then(|| plain(tag.range.clone(), speaker, how))
}

/// True if a tag without an end can be a client's: markup and names of types are not.
fn is_wrapper_like(tag: &Tag) -> bool {
    !is_markup(&tag.name) && !tag.is_mixed_case
}

/// True if a tag around typed words stands where clients put it: arguments behind the name of their
/// command, anything else at the beginning of the message.
fn is_in_its_place(text: &str, tag: &Tag, before: &[Span]) -> bool {
    if tag.name != COMMAND_ARGS.tag {
        return text[..tag.range.start].trim().is_empty();
    }
    let at = before.last().map_or(0, |span| span.range.end);
    let is_command =
        |span: &Span| matches!(span.how, How::Wrapped(row) if row.tag.starts_with("command-"));
    before.last().is_some_and(is_command) && text[at..tag.range.start].trim().is_empty()
}

/// A closing tag without its opening one, on a line of its own: the beginning was cut off, and
/// everything up to here is in doubt.
fn stray(tag: &Tag, from: usize) -> Option<Span> {
    let row = table::wrapper(&tag.name);
    let distinct = row.is_some() || tag.name.contains(['-', '_']);
    let alone = tag.begins_line && tag.ends_line && distinct;
    alone.then(|| {
        let speaker = row.map_or(Speaker::Host, |row| row.speaker);
        // Words of the user are never taken from half a wrapper.
        let speaker = if speaker == Speaker::User {
            Speaker::Host
        } else {
            speaker
        };
        plain(from..tag.range.end, speaker, How::Unlisted)
    })
}

/// True if a sentence goes on behind a tag that it talks about.
pub(super) fn mentions(behind: &str) -> bool {
    let Some(rest) = behind.strip_prefix(' ') else {
        return false;
    };
    let word = rest
        .split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .next();
    word.is_some_and(|word| MENTIONS.split('|').any(|known| known == word))
}

/// Gives text behind a wrapper that clients send alone to the client.
fn belongs_to_client(text: &str, spans: &mut [Span]) {
    let is_alone = |span: &Span| matches!(span.how, How::Wrapped(row) if row.place == Place::Alone);
    if let Some(first) = spans.iter().position(is_alone) {
        for span in &mut spans[first..] {
            if span.how == How::Typed && !text[span.range.clone()].trim().is_empty() {
                span.speaker = Speaker::Host;
                span.how = How::Noted;
            }
        }
    }
}

/// Divides the text between wrappers, line by line. Returns the author of everything behind it,
/// where a note or a paste reaches to the end of the message.
fn lines(text: &str, range: Range<usize>, spans: &mut Vec<Span>) -> Option<(Speaker, How)> {
    let mut at = range.start;
    if let Some(end) = editor_context(&text[range.clone()]) {
        spans.push(plain(at..at + end, Speaker::Host, How::Noted));
        at += end;
    }
    let rest = &text[at..range.end];
    for Shape { range: line, reach } in shapes(rest) {
        let start = at + line.start;
        let note = NOTES
            .iter()
            .find(|note| begins(&rest[line.clone()], note.begins));
        let (speaker, how, to_end) = match (note, reach) {
            (Some(note), _) => (note.speaker, How::Noted, !note.one_line),
            (None, Reach::Own) => {
                spans.push(plain(start..at + line.end, Speaker::User, How::Typed));
                continue;
            }
            (None, Reach::Line) => (Speaker::Tool, How::Pasted, false),
            (None, Reach::Block) => (Speaker::Host, How::Unlisted, false),
            (None, Reach::End) => (Speaker::Tool, How::Pasted, true),
        };
        if to_end {
            spans.push(plain(start..range.end, speaker, how));
            return Some((speaker, how));
        }
        spans.push(plain(start..at + line.end, speaker, how));
    }
    None
}

/// Bytes that an editor puts before the words typed for Codex. The last heading counts: an open
/// file may contain one.
fn editor_context(text: &str) -> Option<usize> {
    if !text.trim_start().starts_with("# ") {
        return None;
    }
    let at = text.rfind(CODEX_REQUEST)?;
    let begins_line = text[..at].ends_with('\n') || text[..at].trim().is_empty();
    begins_line.then_some(at + CODEX_REQUEST.len())
}

/// True if a line begins with an ASCII text, case-insensitive.
fn begins(line: &str, start: &str) -> bool {
    let line = line.trim_start();
    line.get(..start.len())
        .is_some_and(|own| own.eq_ignore_ascii_case(start))
}

/// Neighbours of one author and reason as one span.
fn merged(spans: Vec<Span>) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match out.last_mut() {
            Some(last)
                if last.how == span.how
                    && last.speaker == span.speaker
                    // Two wrappers side by side stay two: each has a row and a content of its own.
                    && !matches!(span.how, How::Wrapped(_)) =>
            {
                last.range.end = span.range.end;
                last.content.end = span.content.end;
            }
            _ => out.push(span),
        }
    }
    out
}
