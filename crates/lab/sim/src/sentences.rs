//! Whole sentences out of running text, and an even sample of them.
//!
//! The sample is blind: it does not know which sentences matter. They survive by their share of the
//! text, which makes a summary of such sentences mediocre, and honest.
//!
//! # Not here
//! The form of summaries and notes: [`crate::scribe`].

use crate::dice::Dice;
use std::collections::HashSet;

/// Bytes after which a sentence that does not end is cut at a space: longer ones are lists or logs.
pub(crate) const LONGEST: usize = 300;
/// Bytes below which a piece (`Yes.`) says nothing without its surroundings.
const SHORTEST: usize = 8;
/// Marks of the answers that are written from sentences; a sentence that holds one would break the
/// answer's form.
const TAGS: [&str; 8] = [
    "<analysis",
    "</analysis",
    "<summary",
    "</summary",
    "<section",
    "</section",
    "<append",
    "</append",
];

/// The sentences of some texts in their order, each once.
pub(crate) fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut known = HashSet::new();
    let mut sentences = Vec::new();
    for paragraph in texts.into_iter().flat_map(paragraphs) {
        let mut rest = unmarked(paragraph);
        while !rest.is_empty() {
            let (sentence, after) = rest.split_at(end(rest));
            rest = after.trim_start();
            let sentence = sentence.trim();
            if is_worth_keeping(sentence) && known.insert(sentence) {
                sentences.push(sentence);
            }
        }
    }
    sentences
}

fn is_worth_keeping(sentence: &str) -> bool {
    sentence.len() >= SHORTEST
        // An announcement is not the list it announces, and a fence marks code but is none.
        && !sentence.ends_with(':')
        && !sentence.starts_with("```")
        && !TAGS.iter().any(|tag| sentence.contains(tag))
}

/// Lines, each with those that go on where it was wrapped.
fn paragraphs(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut at, mut fenced) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let words = line.trim_start();
        let is_fence = words.starts_with("```");
        // A small letter goes on where an editor wrapped the line; code in fences does not.
        let goes_on = !fenced && !is_fence && words.starts_with(char::is_lowercase);
        if !goes_on {
            found.push(&text[start..at]);
            start = at;
        }
        fenced ^= is_fence;
        at += line.len();
    }
    found.push(&text[start..]);
    found
}

/// A paragraph without the marks of lists, headings and quotations at its front.
fn unmarked(paragraph: &str) -> &str {
    let mut rest = paragraph.trim();
    while let Some((word, after)) = rest.split_once(char::is_whitespace) {
        let number = word.strip_suffix(['.', ')']).unwrap_or_default();
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let is_sign = word.bytes().all(|byte| b"-*+#>".contains(&byte));
        if !is_number && !is_sign {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

/// Byte at which the first sentence ends.
fn end(text: &str) -> usize {
    let mut space = None;
    for (at, char) in text.char_indices() {
        let after = at + char.len_utf8();
        let rest = &text[after..];
        let ends = match char {
            '.' | '!' | '?' => {
                let next = rest.trim_start();
                // A small letter behind it means that the dot belongs to an abbreviation.
                next.len() < rest.len() && !next.starts_with(char::is_lowercase)
            }
            '。' | '！' | '？' => true,
            _ => false,
        };
        if ends {
            return after;
        }
        // Without a space the cut falls anywhere; such text is data, not prose.
        if at >= LONGEST {
            return space.unwrap_or(at);
        }
        if char.is_whitespace() {
            space = Some(at);
        }
    }
    text.len()
}

/// Sentences of about so many characters, evenly over all there are.
pub(crate) fn sample<'a>(sentences: &[&'a str], chars: usize, dice: &mut Dice) -> Vec<&'a str> {
    let length = |sentence: &str| sentence.chars().count() + LINE_CHARS;
    let total: usize = sentences.iter().map(|sentence| length(sentence)).sum();
    // Everything fits: a sample would lose sentences for nothing.
    if total <= chars {
        return sentences.to_vec();
    }
    let count = (sentences.len() * chars / total).max(1);
    let mut taken = Vec::with_capacity(count);
    let mut spent = 0;
    for part in 0..count {
        let from = part * sentences.len() / count;
        let until = (part + 1) * sentences.len() / count;
        let sentence = sentences[from + dice.roll(until - from)];
        let due = chars * (part + 1) / count;
        // A run of long ones must not use up the share of the end.
        if spent + length(sentence) <= due + LONGEST {
            spent += length(sentence);
            taken.push(sentence);
        }
    }
    taken
}

/// Characters of a sentence's line besides the sentence.
const LINE_CHARS: usize = "- \n".len();

/// Sentences as lines of a list.
pub(crate) fn lines(sentences: &[&str]) -> String {
    let mut text = String::new();
    for sentence in sentences {
        text.push('-');
        for word in sentence.split_whitespace() {
            text.push(' ');
            text.push_str(word);
        }
        text.push('\n');
    }
    // A list without an entry would look like a broken answer.
    if text.is_empty() {
        text.push_str("- None.\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn dice(seed: u64) -> Dice {
        Dice::new(seed, Digest(7), b't')
    }

    #[test]
    fn text_falls_into_sentences() {
        let cases: [(&str, &[&str]); 9] = [
            (
                "One thing. Another thing!",
                &["One thing.", "Another thing!"],
            ),
            ("See e.g. the parser.", &["See e.g. the parser."]),
            ("Version 1.2.3 is out", &["Version 1.2.3 is out"]),
            (
                "A wrapped line\ngoes on here.\nA new one",
                &["A wrapped line\ngoes on here.", "A new one"],
            ),
            (
                "## A heading\n\n- first point\n2) second point\n> quoted words",
                &["A heading", "first point", "second point", "quoted words"],
            ),
            (
                "Code follows:\n```sh\ncargo test\ncargo run --all\n```\nThat was it.",
                &["cargo test", "cargo run --all", "That was it."],
            ),
            ("Yes. No. Perhaps so.", &["Perhaps so."]),
            ("Said twice.\nSaid twice.", &["Said twice."]),
            (
                "<summary>\nKept sentence.\n</summary> and more",
                &["Kept sentence."],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(of([text]), expected, "{text}");
        }
    }

    #[test]
    fn what_never_ends_is_cut() {
        let words = "word ".repeat(1_000);
        let marks = format!("é{}", "x".repeat(1_000));
        for text in [&words, &marks] {
            let pieces = of([text.as_str()]);
            assert!(!pieces.is_empty());
            assert!(pieces.iter().all(|piece| piece.len() <= LONGEST + 4));
        }
    }

    #[test]
    fn a_sample_is_even_and_keeps_the_order() {
        let text: Vec<String> = (0..1_000)
            .map(|number| format!("Sentence {number:03} of the text."))
            .collect();
        let all = of(text.iter().map(String::as_str));
        assert_eq!(all.len(), 1_000);
        let taken = sample(&all, 2_800, &mut dice(1));
        assert!(taken.is_sorted());
        for hundred in 0..10 {
            let name = format!("Sentence {hundred}");
            let here = taken.iter().filter(|taken| taken.starts_with(&name));
            assert!((8..=12).contains(&here.count()), "{taken:?}");
        }
        assert_ne!(taken, sample(&all, 2_800, &mut dice(2)));
        assert_eq!(sample(&all, 1_000_000, &mut dice(1)), all);
    }

    proptest! {
        #[test]
        fn a_sample_is_never_much_longer_than_asked(
            text in "([A-Za-z.!?\n -]{0,40}|[äß。<>`#]{0,9}){0,60}",
            chars in 0_usize..2_000,
            seed: u64,
        ) {
            let all = of([text.as_str()]);
            let taken = sample(&all, chars, &mut dice(seed));
            prop_assert!(lines(&taken).chars().count() <= chars + LONGEST + LINE_CHARS + 8);
            prop_assert!(taken.iter().all(|sentence| text.contains(sentence)));
        }
    }
}
