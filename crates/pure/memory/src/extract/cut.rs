//! A message of the user's side, cut by who wrote its parts.
//!
//! # Model
//! Clients put things into the user's messages, wrapped in tags: those are *injected*. People paste
//! things: fenced or quoted blocks, logs, mails, diffs, whatever follows "here is the output:". What
//! is left is the user's *own*. In doubt a part is not the user's own: a rule that was lost can be
//! said again, a rule that nobody said cannot be taken back once it was followed.
//!
//! `<private>…</private>` is dropped before anything else.

use super::phrases::{Phrases, listed, visible};
use dormouse_text::segment::{Kind, segment};

/// Who wrote a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The user.
    Own,
    /// Somebody else; the user put it there.
    Pasted,
    /// A client put it there.
    Injected,
}

/// Wrappers whose content no person wrote.
const INJECTED: &str = "analysis|bash-input|bash-stderr|bash-stdout|command-message|command-name|command-stderr|\
    command-stdout|ide_diagnostics|ide_opened_file|ide_selection|local-command-caveat|\
    local-command-stderr|local-command-stdout|memory|new-diagnostics|persisted-output|\
    post-tool-use-hook|recalled-memory|summary|system-reminder|system|task-notification|\
    user-prompt-submit-hook";

/// Wrappers around what a person typed.
const TYPED: [&str; 4] = [
    "<command-args>",
    "</command-args>",
    "<user-memory-input>",
    "</user-memory-input>",
];

/// How messages begin that a client sends by itself.
const NOTICES: [&str; 2] = ["<task-notification>", "[Request interrupted by user"];

/// How texts begin that stand for earlier ones.
const SUMMARIES: &str = "this session is being continued from a previous|this conversation is being continued from|summary of the conversation so far";

/// A text without its private parts; one that is never closed reaches to the end.
pub(super) fn without_private(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = find_folded(rest, "<private>") {
        out.push_str(&rest[..start]);
        let inside = &rest[start..];
        rest =
            find_folded(inside, "</private>").map_or("", |end| &inside[end + "</private>".len()..]);
    }
    out.push_str(rest);
    out
}

/// The first place of an ASCII needle, in any case.
fn find_folded(text: &str, needle: &str) -> Option<usize> {
    let (text, needle) = (text.as_bytes(), needle.as_bytes());
    text.windows(needle.len())
        .position(|window| window.eq_ignore_ascii_case(needle))
}

/// Cuts a message.
pub(super) fn cut(text: &str) -> Vec<(Part, String)> {
    let mut text = visible(&without_private(text));
    for tag in TYPED {
        text = text.replace(tag, " ");
    }
    let start = text.trim_start();
    let notice = NOTICES.iter().any(|sign| start.starts_with(sign));
    if notice || Phrases::of(&text).starts(SUMMARIES) {
        return vec![(Part::Injected, text)];
    }
    let mut parts = Vec::new();
    let mut own = String::new();
    let mut rest = text.as_str();
    while let Some((start, end)) = injected(rest) {
        own.push_str(&rest[..start]);
        own.push('\n');
        parts.push((Part::Injected, rest[start..end].to_owned()));
        rest = &rest[end..];
    }
    own.push_str(rest);
    let (own, pasted) = own_words(&own);
    if !pasted.trim().is_empty() {
        parts.push((Part::Pasted, pasted));
    }
    if !own.trim().is_empty() {
        parts.push((Part::Own, own));
    }
    parts
}

/// The first injected part. A tag that begins a line and is never closed reaches to the end; one
/// inside a sentence that is never closed is somebody writing about it.
fn injected(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(found) = text[from..].find('<') {
        let at = from + found;
        from = at + 1;
        let Some(name) = INJECTED
            .split('|')
            .find(|name| opens(&text[at + 1..], name))
        else {
            continue;
        };
        let close = format!("</{name}>");
        if let Some(length) = find_folded(&text[at..], &close) {
            return Some((at, at + length + close.len()));
        }
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        if line.trim().is_empty() {
            return Some((at, text.len()));
        }
    }
    let marker = recalled(text)?;
    Some((marker, text.len()))
}

fn opens(rest: &str, name: &str) -> bool {
    let head = rest.as_bytes().get(..name.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()))
        && rest[name.len()..].starts_with(['>', ' '])
}

/// A line that recall writes in front of a memory.
fn recalled(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("Memory (saved ") {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Tells the user's own words from what was pasted.
fn own_words(text: &str) -> (String, String) {
    let (mut own, mut pasted) = (String::new(), String::new());
    let text = &without_indented(text, &mut pasted);
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
        if begins_foreign(line) {
            mode = Mode::Pasted;
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
            _ => quoted_apart(line, &mut own, &mut pasted),
        }
    }
    (own, pasted)
}

/// Takes out lines that are indented as code and comments are, and what follows a line that asks to
/// look at something without saying where it begins.
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

/// Whether a line asks for a look at what follows it.
fn shows(line: &str) -> bool {
    const ASKS: &str = "think of|opinion on|review|check|translate|summarise|summarize|explain|proofread|improve|rate|\
        comment on|look at|debug|was hältst du|übersetze|prüfe|analyse|analyze|rewrite|make sense of|refactor";
    let words = Phrases::of(line);
    let pointed = words.has("this|these|the following|diese|diesen|dieses|diesem|folgende");
    let thing = words.words().any(|word| listed(THINGS, word));
    let followed = words.has("follow|remember|stick to|obey|keep to|my|our|halte dich|befolge");
    let ends = line.trim_end().ends_with(['.', '!']);
    pointed && (thing || words.has(ASKS)) && !followed && !ends
}

#[derive(PartialEq, Eq)]
enum Mode {
    Own,
    Pasted,
}

/// Lines that mails, diffs, pages, transcripts and front matter begin with.
fn begins_foreign(line: &str) -> bool {
    const HEADS: &str = "from:|to:|subject:|sent:|date:|cc:|reply-to:|diff --git|@@ |+++ |--- |-----|\
        <!doctype|<html|<?xml|human:|assistant:|user:|system:|tool:|# readme|begin ";
    let line = line.trim_start().to_lowercase();
    HEADS.split('|').any(|head| line.starts_with(head)) || line.trim() == "---"
}

/// What people paste.
const THINGS: &str = "guideline|guidelines|list|policy|policies|tips|instructions|advice|checklist|proposal|draft|text|code|\
    output|page|readme|log|logs|error|email|e-mail|mail|message|ticket|issue|article|\
        doc|docs|documentation|file|diff|snippet|config|transcript|response|comment|review|\
        trace|stacktrace|description|post|thread|website|site|blog|changelog|ausgabe|seite|\
        meldung|nachricht|fehlermeldung|paste|document|spec";

/// Where pasted text begins in a sentence that announces it.
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
    let own = head.has(OWN) && !head.has("i got|i found|i see|i copied");
    let announced = (thing && head.has(SIGNS)) || says || head.has("i got this|i found this");
    (announced && (!own || says)).then_some(colon + 1)
}

/// What somebody else is quoted with inside a sentence goes to what was pasted.
fn quoted_apart(line: &str, own: &mut String, pasted: &mut String) {
    const QUOTING: &str = "says|said|saying|reads|wrote|writes|states|claims|claimed|told|asks|printed|prints|\
        sagt|schreibt|behauptet";
    let mut rest = line;
    while let Some((start, end)) = quotation(rest) {
        let head = Phrases::of(&rest[..start]);
        own.push_str(&rest[..start]);
        if head.words().any(|word| listed(QUOTING, word)) {
            pasted.push_str(&rest[start..end]);
            pasted.push('\n');
            own.push('…');
        } else {
            own.push_str(&rest[start..end]);
        }
        rest = &rest[end..];
    }
    own.push_str(rest);
}

/// The first quotation: double quotes of any sort.
fn quotation(text: &str) -> Option<(usize, usize)> {
    const MARKS: [char; 7] = ['"', '“', '”', '„', '«', '»', '‟'];
    let (start, open) = text.char_indices().find(|(_, c)| MARKS.contains(c))?;
    let inside = start + open.len_utf8();
    let (length, close) = text[inside..]
        .char_indices()
        .find(|(_, c)| MARKS.contains(c))?;
    Some((start, inside + length + close.len_utf8()))
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
