//! Shape of a memory made from a sentence.
//!
//! # Model
//! The rule comes first, in the user's words; its reason, from the same sentence or the next, and
//! its application follow under labels. Relative dates get their day, and an end that is still to
//! come ends the memory.
//!
//! # Not here
//! The choice of sentences (`cues`); triggers of a rule (`triggers`).

use super::cues::{Cue, Hit};
use super::triggers::triggers_for;
use crate::extract::evidence::day;
use crate::extract::phrases::{Phrases, listed};
use crate::extract::span::Span;
use crate::topic::Kind;
use crate::trust::Trust;
use crate::write::NewMemory;
use dormouse_core::show;
use dormouse_text::dates::{Form, dates};
use jiff::civil::Date;
use std::fmt::Write as _;

/// Most words of a name: enough to recognise the rule in a list, few enough for a file name.
const NAME_WORDS: usize = 8;
/// Most characters of a name, for scripts without blanks.
const LONGEST_NAME: usize = 60;
/// Most characters of a description: as many as a line of the index may have.
const LONGEST: usize = 150;

/// Words between a rule and its reason.
const REASONS: [&str; 12] = [
    " because ",
    " since ",
    " so that ",
    ", otherwise ",
    " otherwise ",
    " due to ",
    ", weil ",
    " weil ",
    ", sonst ",
    " damit ",
    ", as ",
    " denn ",
];

/// Memory that a sentence makes.
pub(super) fn memory(hit: &Hit, next: Option<&str>, span: &Span) -> NewMemory {
    let today = day(span.time);
    let (rule, why) = split_reason(&hit.statement);
    // A decision without its reason says nothing that the code does not.
    let whole = hit.cue == Cue::Decision;
    let statement = if whole { hit.statement.as_str() } else { rule };
    let (statement, last) = absolute(statement, today);
    let statement = sentence_case(&statement);
    let mut body = format!("{}\n", with_stop(&statement));
    let why = why
        .map(ToOwned::to_owned)
        .or_else(|| next.map(ToOwned::to_owned));
    let triggers = triggers_for(Some(hit.kind), &hit.statement);
    if matches!(hit.kind, Kind::Feedback | Kind::Project) {
        if let Some(why) = &why {
            let (why, _) = absolute(why, today);
            let _ = write!(body, "\n**Why:** {}\n", with_stop(&why));
        }
        let how = application(hit, last, &triggers.commands);
        let _ = write!(
            body,
            "
**How to apply:** {how}
"
        );
    } else if let Some(why) = &why {
        let _ = write!(body, "\n{}\n", with_stop(&sentence_case(why)));
    }
    NewMemory {
        kind: Some(hit.kind),
        name: name(&statement),
        description: show::one_line(statement.trim_end_matches('.'), LONGEST),
        body,
        origin: Some(span.origin()),
        trust: Some(Trust::User),
        triggers,
        // An end that is still to come ends the memory then. A beginning does not, and an event of
        // the past stays true.
        valid_until: (hit.cue == Cue::Date && says_an_end(&statement))
            .then_some(last)
            .flatten()
            .filter(|day| *day >= today)
            .map(|day| day.to_string()),
        author: None,
    }
}

/// True if a date is said to be an end.
fn says_an_end(statement: &str) -> bool {
    const ENDS: [&str; 12] = [
        "until", "till", "by", "due", "ends", "end", "expires", "deadline", "bis", "endet",
        "frist", "through",
    ];
    let lower = statement.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    words.into_iter().any(|word| ENDS.contains(&word))
}

fn split_reason(text: &str) -> (&str, Option<&str>) {
    let lower = text.to_lowercase();
    // Lower case may have other lengths, and offsets would point into characters; then nothing is
    // split.
    if lower.len() != text.len() {
        return (text, None);
    }
    let found = REASONS
        .iter()
        .filter_map(|sign| lower.find(sign).map(|at| (at, sign.len())));
    match found.min() {
        // More than eight bytes: a sentence that begins with its reason has no rule before it.
        Some((at, length)) if at > 8 && text.is_char_boundary(at) => {
            let sign = text[at..at + length].trim_matches([',', ' ']);
            let why = &text[at + length..];
            // "So that" and "otherwise" are part of their clause; "because" is replaced by the
            // label.
            let why = if sign.eq_ignore_ascii_case("because")
                || sign.eq_ignore_ascii_case("since")
                || sign.eq_ignore_ascii_case("weil")
            {
                why
            } else {
                text[at..].trim_start_matches([',', ' '])
            };
            (
                text[..at].trim_end_matches([',', ' ', '—', '–']),
                Some(why.trim()),
            )
        }
        _ => match text.split_once(" — ").or_else(|| text.split_once(" – ")) {
            Some((rule, why)) if Phrases::of(rule).count() > 2 && Phrases::of(why).count() > 3 => {
                (rule.trim_end(), Some(why.trim()))
            }
            _ => (text, None),
        },
    }
}

/// Text with the day behind each relative date, and the last day named. Tomorrow, "tomorrow" would
/// be another day.
fn absolute(text: &str, today: Date) -> (String, Option<Date>) {
    let mut out = String::with_capacity(text.len());
    let (mut at, mut last) = (0, None);
    for mention in dates(text, today) {
        out.push_str(&text[at..mention.range.end]);
        at = mention.range.end;
        last = last.max(Some(mention.days.last));
        if mention.form == Form::Relative {
            let (first, end) = (mention.days.first, mention.days.last);
            let _ = if first == end {
                write!(out, " ({first})")
            } else {
                write!(out, " ({first} to {end})")
            };
        }
    }
    out.push_str(&text[at..]);
    (out, last)
}

fn application(hit: &Hit, last: Option<Date>, commands: &[String]) -> String {
    match (hit.kind, last) {
        (Kind::Project, Some(day)) => format!("plan around it; look again after {day}."),
        (Kind::Project, None) => {
            "when decisions touch this; ask before going against it.".to_owned()
        }
        _ if !commands.is_empty() => format!(
            "whenever `{}` is about to run, and without being told again.",
            commands.join("`, `")
        ),
        _ => "whenever the work touches this, without being told again.".to_owned(),
    }
}

/// Title: the first clause in the user's own spelling, cut between words.
fn name(statement: &str) -> String {
    let clause_ends = |at: usize, letter: char| {
        let rest = &statement[at + letter.len_utf8()..];
        // A stop inside a name (`legacy.rs`, `3.13`) ends nothing.
        let free = rest.is_empty() || rest.starts_with(' ') || !letter.is_ascii();
        matches!(
            letter,
            ',' | ';' | ':' | '.' | '!' | '，' | '；' | '。' | '：'
        ) && free
            || letter == '('
    };
    // Two words at least: "No, …" has no title before its comma.
    let long_enough = |at: usize| {
        let head = &statement[..at];
        Phrases::of(head).count() >= 3 || head.chars().filter(|c| !c.is_ascii()).count() >= 5
    };
    let ends = statement
        .char_indices()
        .find(|(at, letter)| clause_ends(*at, *letter) && long_enough(*at));
    let clause = ends.map_or(statement, |(at, _)| &statement[..at]);
    let clause = clause.trim_matches(|c: char| c.is_whitespace() || ",;:.!".contains(c));
    let words: Vec<&str> = clause.split_whitespace().collect();
    let kept = words.len().min(NAME_WORDS);
    let mut kept = &words[..kept];
    // A title does not end in the middle of "in the".
    while kept.len() > 3
        && kept
            .last()
            .is_some_and(|last| listed(SMALL, &last.to_lowercase()))
    {
        kept = &kept[..kept.len() - 1];
    }
    show::one_line(&kept.join(" "), LONGEST_NAME)
}

/// Words that no title ends with.
const SMALL: &str = "the|a|an|to|of|in|on|with|for|by|at|from|please|that|and|or|is|are|be|our|my|der|die|das|den|dem|ein|\
    eine|und|oder|mit|von|im|am|zu|auf|für|ist|sind";

fn with_stop(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?', '…', '。', '！', '？']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

fn sentence_case(text: &str) -> String {
    let mut letters = text.trim().chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
