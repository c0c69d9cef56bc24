//! The persona as a writer: summaries and notes of the conversation, if the user asks for them.
//!
//! Model: the user's last text may be an [`Order`], known by the form it asks the answer to have.
//! The scribe keeps the form to the letter and fills it with whole sentences that users and
//! assistants said, taken blindly; tool results are never quoted. It invents nothing and
//! understands nothing, so the loss of a summary can be measured without a model.
//!
//! Not here: summaries the provider makes on its own (see [`crate::compaction`]).

use crate::config::AnswerConfig;
use crate::dice::Dice;
use crate::sentences;
use memchr::memmem;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Characters of a summary unless configured: about 2,000 tokens, as agents write them.
const SUMMARY_CHARS: usize = 8_000;
/// Characters of notes unless configured: a few lines for each of three sections.
const NOTES_CHARS: usize = 1_600;
/// Sections that one answer writes notes for at most, as an update touches few.
const MOST_NOTES: usize = 3;
/// Length of the conversation's end that notes are taken from, as a multiple of their own.
const NOTES_REACH: usize = 4;

/// Bytes of the longest text that may be an order. Longer ones are pasted, and looking through them
/// would cost as much as reading the request.
const LONGEST_ORDER: usize = 256 * 1_024;

/// Element that replaces a section of the notes.
const SECTION: &str = "section";
/// Element that adds to a section of the notes.
const APPEND: &str = "append";

/// Text that the user wants written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// A summary with these sections: number with its dot, and heading.
    Summary(Vec<(String, String)>),
    /// Notes under some of these titles, in one of these elements.
    Notes {
        titles: Vec<String>,
        elements: Vec<&'static str>,
    },
}

/// True if a text may hold an order, seen from its JSON without taking out the escapes.
pub(crate) fn may_order(raw: &str) -> bool {
    let has = |words: &str| memmem::find(raw.as_bytes(), words.as_bytes()).is_some();
    raw.len() <= LONGEST_ORDER
        && ((has("analysis") && has("summary")) || has("section title") || has("append title"))
}

impl Order {
    /// The order in a text, if it has one of the forms known here.
    pub(crate) fn read(text: &str) -> Option<Self> {
        if text.len() > LONGEST_ORDER {
            return None;
        }
        // First: a summary's order may quote notes and their elements.
        if text.contains("<analysis>") && text.contains("<summary>") {
            return Some(Self::Summary(numbered(text)));
        }
        let asks_for = |element: &&str| text.contains(&format!("<{element} title=\""));
        let elements: Vec<_> = [SECTION, APPEND].into_iter().filter(asks_for).collect();
        (!elements.is_empty()).then(|| Self::Notes {
            titles: titles(text),
            elements,
        })
    }

    /// Writes the ordered text from the conversation before it.
    pub(crate) fn carry_out(
        &self,
        said: &[Cow<'_, str>],
        dice: &mut Dice,
        config: &AnswerConfig,
    ) -> String {
        let sentences = sentences::of(said.iter().map(AsRef::as_ref));
        match self {
            Self::Summary(headings) => {
                let chars = config.summary_chars.unwrap_or(SUMMARY_CHARS);
                summary(headings, &sentences, chars, dice)
            }
            Self::Notes { titles, elements } => {
                let chars = config.notes_chars.unwrap_or(NOTES_CHARS);
                notes(titles, elements, &sentences, chars, dice)
            }
        }
    }
}

/// The lines of a numbered list, each up to its colon. A list that is repeated, as in an example
/// of the answer, counts once.
fn numbered(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        let line = line.trim_start_matches(['#', '*', '_', ' ', '\t']);
        let Some((number, rest)) = line.split_once(char::is_whitespace) else {
            continue;
        };
        let digits = number.strip_suffix(['.', ')']).unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let heading = rest.split(':').next().unwrap_or_default();
        let heading = heading.trim().trim_matches(['*', '_', '`']).trim();
        let entry = (number.to_owned(), heading.to_owned());
        if !heading.is_empty() && !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

/// The headings of the notes that the text shows, or the titles of its examples.
fn titles(text: &str) -> Vec<String> {
    let count = |mark: &str| text.lines().filter(|line| line.starts_with(mark)).count();
    // A single top heading above others is the name of the notes, not a part of them.
    let has_name = count("# ") == 1 && count("## ") > 0;
    let heading = |line: &str| {
        let top = line.strip_prefix("# ").filter(|_| !has_name);
        let title = line.strip_prefix("## ").or(top)?;
        Some(title.trim().to_owned())
    };
    let mut titles: Vec<String> = text.lines().filter_map(heading).collect();
    // An order without headings still shows titles in its examples.
    if titles.is_empty() {
        let examples = text.split(" title=\"").skip(1);
        titles = examples
            .filter_map(|rest| rest.split_once('"'))
            .map(|(title, _)| title.to_owned())
            .collect();
    }
    // A title with such signs would break the element it is put into.
    titles.retain(|title| !title.is_empty() && !title.contains(['"', '<', '>']));
    let mut distinct = Vec::new();
    for title in titles {
        if !distinct.contains(&title) {
            distinct.push(title);
        }
    }
    // Some title is needed, or the answer would have no form at all.
    if distinct.is_empty() {
        distinct.push("Notes".to_owned());
    }
    distinct
}

fn share<'a, 'b>(all: &'b [&'a str], part: usize, parts: usize) -> &'b [&'a str] {
    &all[part * all.len() / parts..(part + 1) * all.len() / parts]
}

fn summary(
    headings: &[(String, String)],
    sentences: &[&str],
    chars: usize,
    dice: &mut Dice,
) -> String {
    let analysis = format!(
        "The conversation has {} sentences; the summary keeps some, evenly over its length.",
        sentences.len()
    );
    let frame = "<analysis>\n\n</analysis>\n\n<summary>\n</summary>".len() + analysis.len();
    let taken_by_headings: usize = headings
        .iter()
        .map(|(number, heading)| number.len() + heading.chars().count() + 4)
        .sum();
    // The form counts too, so that the whole answer has the configured length.
    let left = chars.saturating_sub(frame + taken_by_headings);
    let taken = sentences::sample(sentences, left, dice);
    let mut text = format!("<analysis>\n{analysis}\n</analysis>\n\n<summary>\n");
    if headings.is_empty() {
        text.push_str(&sentences::lines(&taken));
    }
    for (part, (number, heading)) in headings.iter().enumerate() {
        text.push_str(if part == 0 { "" } else { "\n" });
        let lines = sentences::lines(share(&taken, part, headings.len()));
        // Writing to a string cannot fail.
        let _ = write!(text, "{number} {heading}:\n{lines}");
    }
    text.push_str("</summary>");
    text
}

fn notes(
    titles: &[String],
    elements: &[&str],
    sentences: &[&str],
    chars: usize,
    dice: &mut Dice,
) -> String {
    let count = (1 + dice.roll(MOST_NOTES)).min(titles.len());
    let mut chosen: Vec<usize> = (0..titles.len()).collect();
    // Removing at random keeps the order of the rest.
    while chosen.len() > count {
        chosen.remove(dice.roll(chosen.len()));
    }
    let elements: Vec<_> = chosen
        .iter()
        .map(|_| elements[dice.roll(elements.len())])
        .collect();
    let frames: usize = chosen
        .iter()
        .zip(&elements)
        .map(|(title, element)| titles[*title].chars().count() + 2 * element.len() + 17)
        .sum();
    let left = chars.saturating_sub(frames);
    let newest = newest(sentences, left * NOTES_REACH);
    let taken = sentences::sample(newest, left, dice);
    let mut text = String::new();
    for (part, (title, element)) in chosen.iter().zip(&elements).enumerate() {
        let lines = sentences::lines(share(&taken, part, count));
        let title = &titles[*title];
        text.push_str(if part == 0 { "" } else { "\n" });
        // Writing to a string cannot fail.
        let _ = write!(text, "<{element} title=\"{title}\">\n{lines}</{element}>");
    }
    text
}

/// The end of a conversation, of about so many bytes.
fn newest<'a, 'b>(sentences: &'b [&'a str], bytes: usize) -> &'b [&'a str] {
    let mut left = bytes;
    let older = sentences.iter().rposition(|sentence| {
        let fits = sentence.len() <= left;
        left = left.saturating_sub(sentence.len());
        !fits
    });
    &sentences[older.map_or(0, |at| at + 1)..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn headings(text: &str) -> Vec<String> {
        let list = numbered(text).into_iter();
        list.map(|(number, heading)| format!("{number} {heading}"))
            .collect()
    }

    #[test]
    fn headings_are_the_lines_of_the_numbered_list() {
        let cases: [(&str, &[&str]); 6] = [
            (
                "1. Primary request and intent: what was wanted\n2. Errors",
                &["1. Primary request and intent", "2. Errors"],
            ),
            (
                "  3) **Files and code:** with parts",
                &["3) Files and code"],
            ),
            ("## 12. Next step\n", &["12. Next step"]),
            (
                "1. One: a\n2. Two: b\n1. One:\n2. Two:\n",
                &["1. One", "2. Two"],
            ),
            ("1.5 percent\n3.Four\n- bullet\n7. \n2024 was good", &[]),
            ("1. A\n3. C: six is written by others", &["1. A", "3. C"]),
        ];
        for (text, expected) in cases {
            assert_eq!(headings(text), expected, "{text}");
        }
    }

    #[test]
    fn orders_are_known_by_their_form() {
        let notes = |titles: &[&str], elements: &[&'static str]| {
            Some(Order::Notes {
                titles: titles.iter().map(|title| (*title).to_owned()).collect(),
                elements: elements.to_vec(),
            })
        };
        let cases = [
            (
                "Write <analysis> and <summary>.",
                Some(Order::Summary(Vec::new())),
            ),
            ("Write a <summary>, without analysis.", None),
            ("Please write a summary and an analysis.", None),
            (
                "SimAnswer <section title=\"T\">text</section>\n# State\n# Log\n## Files\n### Deep\n#no",
                notes(&["State", "Log", "Files"], &[SECTION]),
            ),
            (
                "<append title=\"T\"> or <section title=\"T\">\n# State\n# State",
                notes(&["State"], &[SECTION, APPEND]),
            ),
            (
                "<append title=\"T\">\n# My notes\n## State\n## Log",
                notes(&["State", "Log"], &[APPEND]),
            ),
            ("Use <append title=\"Log\">", notes(&["Log"], &[APPEND])),
            (
                "Use <append title=\"…<name>\">",
                notes(&["Notes"], &[APPEND]),
            ),
            ("The <section> element has a title.", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Order::read(text), expected, "{text}");
            if expected.is_some() {
                let json = serde_json::to_string(text).unwrap();
                assert!(may_order(&json), "{text}");
            }
        }
        assert!(!may_order("\"do it\""));
        let pasted = format!("<append title=\"T\">{}", " ".repeat(LONGEST_ORDER));
        assert!(!may_order(&pasted) && Order::read(&pasted).is_none());
    }

    #[test]
    fn the_end_of_a_conversation_is_measured_from_its_end() {
        let all = ["aaaa", "bbb", "cc", "d"];
        let cases: [(usize, &[&str]); 4] =
            [(100, &all), (6, &all[1..]), (5, &all[2..]), (0, &all[4..])];
        for (bytes, expected) in cases {
            assert_eq!(newest(&all, bytes), expected);
        }
    }
}
