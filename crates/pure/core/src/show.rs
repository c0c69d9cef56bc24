//! Values as text for people and models: numbers, shortened texts, errors with their causes.
//!
//! # Model
//! Each of these is needed by many crates and must look the same in all of them. Lengths are in
//! characters, and the mark of a cut counts: a text limited to 60 is at most 60 long.
//!
//! # Not here
//! Columns of a terminal (`dormouse`'s `output`), tokens and bytes of a preview
//! (`dormouse-context`'s `offload`), text made harmless for a prompt (`dormouse-recall`'s `neutral`).

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// Mark of a cut.
const MARK: char = '…';

/// A number with its thousands apart: `12,345`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouped(pub u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

/// First characters of a text.
pub fn head(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(most);
    end.map_or(text, |(at, _)| &text[..at])
}

/// Last characters of a text.
pub fn tail(text: &str, most: usize) -> &str {
    let Some(back) = most.checked_sub(1) else {
        return "";
    };
    let start = text.char_indices().rev().nth(back);
    start.map_or(text, |(at, _)| &text[at..])
}

/// A text of at most so many characters; one that was cut ends in a mark.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.char_indices().nth(most).is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}{MARK}", head(text, most.saturating_sub(1))))
}

/// The words of a text on one line of at most so many characters, cut between words if it can be.
pub fn one_line(text: &str, most: usize) -> String {
    let line = flat(text);
    if line.char_indices().nth(most).is_none() {
        return line;
    }
    let kept = head(&line, most.saturating_sub(1));
    let end = kept.rfind(' ').unwrap_or(kept.len());
    format!("{}{MARK}", &kept[..end])
}

/// The words of a text with one blank between them.
pub fn flat(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// An error and its causes on one line. No message of ours repeats its cause, so each fact is there
/// once.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A path as a person writes it: `~` and `~/` stand for the user's home. Without a home they stay,
/// so that the message about the missing file shows the path as it was written.
pub fn expand_home(text: &str, user_home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix('~'), user_home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[test]
    fn thousands_are_apart() {
        let cases = [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ];
        for (number, text) in cases {
            assert_eq!(Grouped(number).to_string(), text);
        }
    }

    #[test]
    fn a_cut_is_marked_within_the_limit() {
        for (text, most, expected) in [
            ("äöü", 3, "äöü"),
            ("äöü", 2, "ä…"),
            ("äöü", 1, "…"),
            ("äöü", 0, "…"),
            ("", 0, ""),
        ] {
            assert_eq!(shortened(text, most), expected, "{text} {most}");
        }
        assert_eq!(one_line("one  two\nthree", 99), "one two three");
        assert_eq!(one_line("one two three", 9), "one two…");
        assert_eq!(one_line("onetwothree", 4), "one…");
    }

    #[test]
    fn a_chain_has_each_cause_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::fmt::Error);
        let error = Outer(std::fmt::Error);
        let cause = std::fmt::Error.to_string();
        assert_eq!(chain(&error), format!("outer: {cause}"));
    }

    #[test]
    fn a_tilde_is_the_home_only_as_a_whole_part() {
        let home = Some(Path::new("/home/u"));
        for (text, expected) in [
            ("~", "/home/u"),
            ("~/a", "/home/u/a"),
            ("~//a", "/home/u/a"),
            ("~other/a", "~other/a"),
            ("/a/~", "/a/~"),
            ("a", "a"),
        ] {
            assert_eq!(expand_home(text, home), Path::new(expected), "{text}");
        }
        assert_eq!(expand_home("~/a", None), Path::new("~/a"));
    }

    proptest! {
        #[test]
        fn head_and_tail_are_parts_of_the_text(text in "\\PC{0,20}", most in 0_usize..25) {
            let length = text.chars().count();
            prop_assert!(text.starts_with(head(&text, most)));
            prop_assert!(text.ends_with(tail(&text, most)));
            prop_assert_eq!(head(&text, most).chars().count(), most.min(length));
            prop_assert_eq!(tail(&text, most).chars().count(), most.min(length));
            prop_assert!(shortened(&text, most).chars().count() <= most.max(1));
        }
    }
}
