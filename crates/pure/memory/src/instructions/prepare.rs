//! Preparation of a file's bytes for the prompt.

use super::markdown::{Mention, mentions, without_comments};
use super::rules;
use crate::topic;

/// Text for the prompt, with facts that decide about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prepared {
    /// Text within the limit, without the marker for a cut.
    pub(super) text: String,
    /// Files named in that text; those behind the cut are not followed.
    pub(super) mentions: Vec<Mention>,
    /// Characters of the whole text, if some had to go.
    pub(super) cut_from: Option<u64>,
    /// Patterns of its front matter (`paths`); empty for a file that always holds.
    pub(super) patterns: Vec<String>,
}

/// Prepares a text. `None` for bytes that are no text.
pub(super) fn prepare(bytes: &[u8], most_chars: u64) -> Option<Prepared> {
    let text = std::str::from_utf8(bytes).ok()?;
    // Valid UTF-8 may hold NUL bytes; no instruction file does, but many binaries.
    if text.contains('\0') {
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n");
    let (patterns, body) = conditions(&text);
    // Comments first: a comment must not use up the limit, nor may its includes count.
    let whole = without_comments(body);
    let whole = whole.trim_matches('\n').trim_end();
    let (text, cut_from) = cut(whole, most_chars);
    Some(Prepared {
        text: text.to_owned(),
        mentions: mentions(text),
        cut_from,
        patterns,
    })
}

/// Patterns of the front matter, and the text behind it. Front matter without patterns is part of
/// the text.
fn conditions(text: &str) -> (Vec<String>, &str) {
    let (Some(front), body) = topic::split(text) else {
        return (Vec::new(), text);
    };
    match front.values(text).get("paths") {
        Some(paths) => (rules::written(paths), &text[body..]),
        None => (Vec::new(), text),
    }
}

/// Text of at most so many characters, whole lines if there is a line end at all.
fn cut(text: &str, most: u64) -> (&str, Option<u64>) {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let Some((end, _)) = text.char_indices().nth(most) else {
        return (text, None);
    };
    let head = &text[..end];
    // Half a sentence could say the opposite of the whole.
    let head = head.rfind('\n').map_or(head, |line| &head[..line]);
    (head, Some(text.chars().count() as u64))
}

#[cfg(test)]
mod tests {
    use super::prepare;

    #[test]
    fn texts_are_cut_at_lines() {
        let cut = prepare("one\ntwo\nthree".as_bytes(), 9).unwrap();
        assert_eq!((cut.text.as_str(), cut.cut_from), ("one\ntwo", Some(13)));
        let line = prepare("äöüäöü".as_bytes(), 2).unwrap();
        assert_eq!((line.text.as_str(), line.cut_from), ("äö", Some(6)));
        let whole = prepare("one\ntwo".as_bytes(), 7).unwrap();
        assert_eq!((whole.text.as_str(), whole.cut_from), ("one\ntwo", None));
    }

    #[test]
    fn includes_behind_the_cut_are_not_followed() {
        let cut = prepare("@a\n@b".as_bytes(), 3).unwrap();
        assert_eq!(cut.mentions.len(), 1);
    }

    #[test]
    fn front_matter_with_patterns_is_taken_off() {
        let rule = prepare(b"---\npaths:\n  - src/**\n---\n\nBe kind.\n", 99).unwrap();
        assert_eq!(
            (rule.text.as_str(), rule.patterns),
            ("Be kind.", vec!["src/**".to_owned()])
        );
        let other = prepare(b"---\ntitle: x\n---\nBe kind.\n", 99).unwrap();
        assert_eq!(other.text, "---\ntitle: x\n---\nBe kind.");
        assert!(other.patterns.is_empty());
    }

    #[test]
    fn only_text_is_text() {
        assert_eq!(prepare(b"\xff\xfe", 9), None);
        assert_eq!(prepare(b"a\0b", 9), None);
        assert_eq!(
            prepare("\u{feff}a\r\nb\r\n".as_bytes(), 9).unwrap().text,
            "a\nb"
        );
    }
}
