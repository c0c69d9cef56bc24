//! Tags in a text, in every disguise.
//!
//! # Model
//! A tag is a less-than sign or one that looks like it, a name and a greater-than sign, with blanks
//! and invisible characters anywhere between them, in any case. Scanning stops at the next
//! less-than sign, so a text is read once.

use std::ops::Range;

/// Longest name of a tag, in characters: longer than all of the table.
const LONGEST_NAME: usize = 64;

/// Tag as it stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an observation of its own about where and how the tag stands"
)]
pub(super) struct Tag {
    pub(super) range: Range<usize>,
    /// Name in small letters, without name space and invisible characters.
    pub(super) name: String,
    /// True if the name was written with a capital and small letters, as types are.
    pub(super) is_mixed_case: bool,
    pub(super) kind: TagKind,
    /// True if only blanks stand before it on its line.
    pub(super) begins_line: bool,
    /// True if only blanks stand behind it on its line.
    pub(super) ends_line: bool,
    /// True if more than its name stands in it.
    pub(super) has_attributes: bool,
    /// True if it stands between backticks.
    pub(super) is_quoted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagKind {
    Open,
    Close,
    Empty,
}

/// Characters that take no room or turn text around.
pub(super) fn is_invisible(letter: char) -> bool {
    matches!(u32::from(letter),
        0xAD | 0x180E | 0x200B | 0x200E | 0x200F | 0x202A..=0x202E | 0x2060..=0x206F | 0xFEFF
        | 0xFFF9..=0xFFFB | 0xE_0000..=0xE_00FF)
}

/// Characters that join others. Scripts and emoji need them, names of tags do not.
pub(super) fn is_joiner(letter: char) -> bool {
    matches!(u32::from(letter), 0x200C | 0x200D | 0xFE00..=0xFE0F | 0xE_0100..=0xE_01EF | 0x034F)
}

pub(super) fn is_hidden(letter: char) -> bool {
    is_invisible(letter) || is_joiner(letter)
}

/// Characters that some program shows as the end of a line.
pub(super) fn ends_line(letter: char) -> bool {
    matches!(
        letter,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

pub(super) fn opens_tag(letter: char) -> bool {
    matches!(letter, '<' | '＜' | '﹤')
}

fn closes_tag(letter: char) -> bool {
    matches!(letter, '>' | '＞' | '﹥')
}

/// All tags of a text, in order.
pub(super) fn tags(text: &str) -> Vec<Tag> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some((offset, letter)) = text[from..].char_indices().find(|(_, c)| opens_tag(*c)) {
        let at = from + offset;
        from = at + letter.len_utf8();
        if let Some(tag) = tag(text, at, from) {
            from = tag.range.end;
            found.push(tag);
        }
    }
    found
}

/// The tag whose less-than sign is at `start..inside`.
fn tag(text: &str, start: usize, inside: usize) -> Option<Tag> {
    let mut letters = text[inside..].char_indices().peekable();
    let skipped = |c: char| c.is_whitespace() || is_hidden(c);
    let mut kind = TagKind::Open;
    while letters.next_if(|(_, c)| skipped(*c)).is_some() {}
    if letters.next_if(|(_, c)| matches!(c, '/' | '\\')).is_some() {
        kind = TagKind::Close;
        while letters.next_if(|(_, c)| skipped(*c)).is_some() {}
    }
    let mut written = String::new();
    while let Some((_, c)) = letters.next_if(|(_, c)| {
        c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.') || is_hidden(*c)
    }) {
        if !is_hidden(c) {
            written.push(c);
        }
        if written.len() > LONGEST_NAME {
            return None;
        }
    }
    if !written.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    // Attributes: blanks, then anything that is no tag again.
    let mut last = ' ';
    let mut first = true;
    for (offset, c) in letters {
        if opens_tag(c) {
            return None;
        }
        if closes_tag(c) {
            if last == '/' && kind == TagKind::Open {
                kind = TagKind::Empty;
            }
            let end = inside + offset + c.len_utf8();
            return Some(finish(text, start..end, &written, kind));
        }
        if first && !(c.is_whitespace() || c == '/') {
            return None;
        }
        first = false;
        last = c;
    }
    None
}

fn finish(text: &str, range: Range<usize>, written: &str, kind: TagKind) -> Tag {
    let bare = written.rsplit(':').next().unwrap_or(written);
    let bare = bare.trim_end_matches(['.', '-', '_']);
    let name = if bare.is_empty() { written } else { bare };
    // Stops at the first letter: a text of one long line must not be read again for every tag.
    let is_edge = |c: Option<char>| c.is_none_or(ends_line);
    let blank = |c: &char| !ends_line(*c) && (c.is_whitespace() || is_hidden(*c));
    let (before, behind) = (&text[..range.start], &text[range.end..]);
    let inside = text[range.clone()]
        .chars()
        .filter(|c| !c.is_whitespace() && !is_hidden(*c));
    let (upper, lower) = (
        name.contains(|c: char| c.is_ascii_uppercase()),
        name.contains(|c: char| c.is_ascii_lowercase()),
    );
    Tag {
        begins_line: is_edge(before.chars().rev().find(|c| !blank(c))),
        ends_line: is_edge(behind.chars().find(|c| !blank(c))),
        is_quoted: before.ends_with('`') && behind.starts_with('`'),
        // Two signs around the name, a slash at most.
        has_attributes: inside.count() > written.len() + 3,
        name: name.to_ascii_lowercase(),
        is_mixed_case: upper && (lower || name.len() == 1),
        kind,
        range,
    }
}
