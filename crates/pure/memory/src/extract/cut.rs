//! A message of the user's side, cut by the authors of its parts.
//!
//! # Model
//! [`recognise`] tells words that clients and other agents put into the user's messages, which are
//! *injected*, and shapes that people paste. Left to this module are pastes that only their
//! surroundings give away: indented code, logs and tables, quotations, text behind "here is the
//! output:". The rest is the user's *own*. In doubt a part is not the user's own: a rule that was
//! lost can be said again, a rule that the user never said cannot be taken back once it was
//! followed.
//!
//! `<private>…</private>` is dropped before anything else.
//!
//! # Not here
//! Rules and facts in the user's words: the other modules of extraction.

use super::phrases::{Phrases, listed, visible};
use dormouse_core::fragment::{
    BASH_INPUT, How, PRIVATE, Span, Speaker, close, open, recognise, reported,
};
use dormouse_text::segment::{Kind, segment};

/// Author of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Words that the user typed.
    Own,
    /// Words of others that the user put there.
    Pasted,
    /// Words that a client put there.
    Injected,
}

/// A text without its private parts; one that is never closed reaches to the end.
pub(super) fn without_private(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let (open, close) = (open(&PRIVATE), close(&PRIVATE));
    while let Some(start) = find_folded(rest, &open) {
        out.push_str(&rest[..start]);
        let inside = &rest[start..];
        rest = find_folded(inside, &close).map_or("", |end| &inside[end + close.len()..]);
    }
    out.push_str(rest);
    out
}

/// Position of an ASCII needle in a text, case-insensitive.
fn find_folded(text: &str, needle: &str) -> Option<usize> {
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    text.windows(needle.len())
        .position(|window| window.eq_ignore_ascii_case(needle))
}

/// Cuts a message into the user's own words, pasted and injected ones.
pub(super) fn cut(text: &str) -> Vec<(Part, String)> {
    let text = visible(&without_private(text));
    let mut parts = Vec::new();
    let (mut own, mut pasted) = (String::new(), String::new());
    for span in recognise(&text) {
        match span.how {
            // A command is run, not said.
            How::Wrapped(row) if row.speaker == Speaker::User && row != &BASH_INPUT => {
                let typed = &text[span.content];
                for span in recognise(typed) {
                    sort(typed, &span, &mut own, &mut pasted, &mut parts);
                }
            }
            _ => sort(&text, &span, &mut own, &mut pasted, &mut parts),
        }
    }
    let own = own_words(&own, &mut pasted);
    if !pasted.trim().is_empty() {
        parts.push((Part::Pasted, pasted));
    }
    if !own.trim().is_empty() {
        parts.push((Part::Own, own));
    }
    parts
}

/// Puts a span where it belongs. Words on either side of another's must not grow together.
fn sort(
    text: &str,
    span: &Span,
    own: &mut String,
    pasted: &mut String,
    parts: &mut Vec<(Part, String)>,
) {
    let words = &text[span.range.clone()];
    match span.how {
        How::Typed => own.push_str(words),
        How::Pasted => {
            pasted.push_str(words);
            own.push('\n');
        }
        How::Wrapped(_) | How::Unlisted | How::Noted => {
            parts.push((Part::Injected, words.to_owned()));
            own.push('\n');
        }
    }
}

/// Tells the user's own words from what was pasted.
fn own_words(text: &str, pasted: &mut String) -> String {
    let mut own = String::new();
    let text = &without_indented(text, pasted);
    let mut mode = Mode::Own;
    for piece in segment(text) {
        let line = &text[piece.range.clone()];
        let foreign = match piece.kind {
            Kind::Code | Kind::Fence | Kind::Quote | Kind::TableRow | Kind::Log | Kind::Trace => {
                true
            }
            Kind::Prose | Kind::Heading | Kind::ListItem | Kind::Blank => mode == Mode::Pasted,
        };
        if foreign {
            pasted.push_str(line);
            continue;
        }
        match introduces(line) {
            // A fence says itself where it ends.
            Some(at)
                if !text[piece.range.start + at..]
                    .trim_start()
                    .starts_with("```") =>
            {
                own.push_str(&line[..at]);
                pasted.push_str(&line[at..]);
                own.push('\n');
                mode = Mode::Pasted;
            }
            _ => quoted_apart(line, &mut own, pasted),
        }
    }
    own
}

/// Takes out lines that are indented as code and comments are, and all that follows a line that
/// asks to look at something without saying where it begins.
fn without_indented(text: &str, pasted: &mut String) -> String {
    let mut left = String::with_capacity(text.len());
    let mut shown = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start();
        let indented = line.starts_with("    ") || line.starts_with('\t');
        let item =
            bare.starts_with(['-', '*', '•']) || bare.starts_with(|c: char| c.is_ascii_digit());
        let comment = ["//", "/*", "#!", "--", "<!--"]
            .iter()
            .any(|sign| bare.starts_with(sign));
        if shown || (indented && !item && !bare.is_empty()) || comment {
            pasted.push_str(line);
            continue;
        }
        left.push_str(line);
        shown = line.ends_with('\n') && shows(line);
    }
    left
}

/// True if a line asks for a look at the text that follows it.
fn shows(line: &str) -> bool {
    const ASKS: &str = "think of|opinion on|review|check|translate|summarise|summarize|explain|proofread|improve|rate|\
        comment on|look at|debug|was hältst du|übersetze|prüfe|analyse|analyze|rewrite|make sense of|refactor";
    let words = Phrases::of(line);
    let pointed = words.has("this|these|the following|diese|diesen|dieses|diesem|folgende");
    let thing = words.words().any(|word| listed(THINGS, word));
    // "Follow this list" makes the list the user's own rule; a full stop ends the announcement.
    let followed = words.has("follow|remember|stick to|obey|keep to|my|our|halte dich|befolge");
    let ends = line.trim_end().ends_with(['.', '!']);
    pointed && (thing || words.has(ASKS)) && !followed && !ends
}

#[derive(PartialEq, Eq)]
enum Mode {
    Own,
    Pasted,
}

/// Sorts of text that people paste.
const THINGS: &str = "guideline|guidelines|list|policy|policies|tips|instructions|advice|checklist|proposal|draft|text|code|\
    output|page|readme|log|logs|error|email|e-mail|mail|message|ticket|issue|article|\
        doc|docs|documentation|file|diff|snippet|config|transcript|response|comment|review|\
        trace|stacktrace|description|post|thread|website|site|blog|changelog|ausgabe|seite|\
        meldung|nachricht|fehlermeldung|paste|document|spec";

/// Position at which pasted text begins in a sentence that announces it.
fn introduces(line: &str) -> Option<usize> {
    const SIGNS: &str = "here is|here's|here are|this is|this is what|i got this|i found this|it says|says|\
        said|reads|wrote|writes|states|pasting|pasted|from the|below|see|look at|hier ist|\
        das ist|steht|schreibt|contents of|content of|output of|summarise|summarize|\
        translate|fix";
    // A rule that is announced is no paste.
    const OWN: &str = "remember|rule|rules|note|from now on|my|i|please always|never|always|merk|merke|\
        regel|preference";
    let colon = line.find(": ").or_else(|| {
        line.trim_end()
            .ends_with(':')
            .then(|| line.trim_end().len() - 1)
    })?;
    let head = Phrases::of(&line[..colon]);
    let thing = head.words().any(|word| listed(THINGS, word));
    let says = head.has("says|said|reads|wrote|writes|states|schreibt|steht");
    // Both may hold: "I got this" is the user speaking, and still announces a paste.
    let own = head.has(OWN) && !head.has("i got|i found|i see|i copied");
    let announced = (thing && head.has(SIGNS)) || says || head.has("i got this|i found this");
    (announced && (!own || says)).then_some(colon + 1)
}

/// Moves quotations inside a sentence, which are words of others, to the pasted part.
fn quoted_apart(line: &str, own: &mut String, pasted: &mut String) {
    let mut from = 0;
    for quotation in reported(line) {
        own.push_str(&line[from..quotation.start]);
        // The ellipsis keeps the halves of the sentence apart, as the quotation did.
        own.push('…');
        pasted.push_str(&line[quotation.clone()]);
        pasted.push('\n');
        from = quotation.end;
    }
    own.push_str(&line[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormouse_core::show;

    fn own(text: &str) -> String {
        let parts = cut(text).into_iter().filter(|(part, _)| *part == Part::Own);
        let text: String = parts.map(|(_, text)| text).collect();
        show::flat(&text)
    }

    #[test]
    fn only_what_a_person_typed_is_their_own() {
        let cases = [
            ("use tabs", "use tabs"),
            ("<system-reminder>x</system-reminder>\nuse tabs", "use tabs"),
            ("use <private>my pin</private>tabs", "use tabs"),
            ("a <PRIVATE>b", "a"),
            (
                "<task-notification>done</task-notification>\nAlways read the output.",
                "",
            ),
            (
                "take the <system-reminder> tags out",
                "take the <system-reminder> tags out",
            ),
            ("<system-reminder>\nnever closed", ""),
            (
                "<command-name>/x</command-name>\n<command-args>use tabs</command-args>",
                "use tabs",
            ),
            ("hi\nMemory (saved 3 days ago): a.md:\nuse tabs", "hi"),
            (
                "This session is being continued from a previous conversation. Use tabs.",
                "",
            ),
            (
                "fix this:\n```\nalways use tabs\n```\nthanks",
                "fix this: thanks",
            ),
            ("> always use tabs\n\nno", "no"),
            (
                "Here is the output: always use tabs.\nAnd spaces.",
                "Here is the output:",
            ),
            (
                "The README says \"always use tabs\", right?",
                "The README says …, right?",
            ),
            ("Remember: always use tabs", "Remember: always use tabs"),
            ("Subject: hi\nAlways use tabs.", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(own(text), expected, "{text:?}");
        }
    }
}
