//! Mining of texts: test results, errors, numbers and identifiers, decisions.
//!
//! A record is mined once, when it is folded, in a pass or two over its text: all words are
//! searched at once ([`Words`]), and only the lines that contain one are examined. Of a very long
//! output both ends are mined.
//!
//! Not here: insertion and eviction (`note`), sanitising (`clean`).

use super::note::{At, seen};
use super::words::Words;
use super::{EvidenceLimits, clean};
use dormouse_core::block::Block;
use dormouse_core::fragment::{TOOL_ERROR, close, open};
use dormouse_core::id::Seq;
use dormouse_core::record::{Chronicle, Decision, Mention, Source, Speaker};
use dormouse_core::show;
use dormouse_text::atoms::{Shape, atoms};
use dormouse_text::segment::{Kind, segment};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// Words behind a number that make a line a test result.
const VERDICTS: [&str; 10] = [
    "passed",
    "failed",
    "passing",
    "failing",
    "pass",
    "fail",
    "failure",
    "failures",
    "succeeded",
    "errored",
];

/// Stems of these words: a line without any of them cannot be a test result.
const VERDICT_STEMS: [&str; 4] = ["pass", "fail", "succe", "error"];

/// Beginnings of lines that report an error even if the command succeeded.
const ERROR_STARTS: [&str; 8] = [
    "error:",
    "error[",
    "error -",
    "fatal:",
    "panic:",
    "traceback (most recent call last)",
    "** (",
    "uncaught exception",
];

/// Words that mark the most telling line in the output of a failed call.
const ERROR_WORDS: [&str; 12] = [
    "error",
    "panicked",
    "fatal",
    "exception",
    "failed",
    "failure",
    "not found",
    "no such",
    "denied",
    "invalid",
    "cannot",
    "undefined",
];

/// Phrases with which users state rules, in English and German.
const USER_RULES: [&str; 26] = [
    "always",
    "never",
    "must",
    "don't",
    "do not",
    "only",
    "prefer",
    "instead",
    "from now on",
    "make sure",
    "decided",
    "let's use",
    "let's go with",
    "rather than",
    "should be",
    "should not",
    "at most",
    "at least",
    "immer",
    "niemals",
    "nicht",
    "muss",
    "statt",
    "nur",
    "ab jetzt",
    "wichtig",
];

/// Phrases with which models state decisions and findings.
const ASSISTANT_DECISIONS: [&str; 16] = [
    "decided",
    "decision",
    "i'll use",
    "we'll use",
    "i will use",
    "we will use",
    "going with",
    "chose",
    "chosen",
    "instead of",
    "rather than",
    "root cause",
    "turns out",
    "the fix is",
    "entschieden",
    "ursache",
];

// Automata are built on first use and shared by all sessions of the process.
static IN_RULES: LazyLock<Words> = LazyLock::new(|| Words::new(&USER_RULES));
static IN_DECISIONS: LazyLock<Words> = LazyLock::new(|| Words::new(&ASSISTANT_DECISIONS));
static IN_VERDICTS: LazyLock<Words> = LazyLock::new(|| Words::new(&VERDICT_STEMS));
static IN_ERRORS: LazyLock<Words> = LazyLock::new(|| Words::new(&ERROR_WORDS));

/// Bytes mined at each end of an output. Errors stand at one end or the other and totals at the
/// end; layer 1 offloads longer results, so only logs of other tools have them.
const MINED_END: usize = 128 * 1024;

/// Shortest sentence worth quoting, in bytes: shorter ones ("Do not.") mean nothing out of context.
const SHORTEST_DECISION: usize = 12;

/// Words kept on each side of a value: enough to tell its meaning, about one line in all.
const WORDS_AROUND: usize = 5;

/// Longest value in bytes that is repeated among the words around it.
const LONG_VALUE: usize = 24;

/// Records values from a user message: figures that were pasted are as good as typed ones.
pub(super) fn user(chronicle: &mut Chronicle, seq: Seq, text: &str, limits: &EvidenceLimits) {
    for part in ends(text, limits) {
        values(chronicle, seq, part, limits);
    }
}

/// Records rules and decisions from the words that the user typed.
pub(super) fn rules(chronicle: &mut Chronicle, seq: Seq, text: &str, limits: &EvidenceLimits) {
    for part in ends(text, limits) {
        decisions(chronicle, seq, part, Speaker::User, limits);
    }
}

/// The text, or of pasted bulk the ends: the user's own words are there.
fn ends<'a>(text: &'a str, limits: &EvidenceLimits) -> Vec<&'a str> {
    if text.len() > limits.bulk {
        vec![show::head(text, limits.head), show::tail(text, limits.tail)]
    } else {
        vec![text]
    }
}

/// Records the user's answer to a question, or the reason for refusing a call.
pub(super) fn answer(chronicle: &mut Chronicle, at: At, text: &str, limits: &EvidenceLimits) {
    // Twice the usual length, because one result may answer several questions.
    let text = clean::line(text, limits.line_chars * 2);
    if !text.is_empty() {
        *seen(&mut chronicle.decisions, &text, at, limits.decisions) =
            Decision { by: Speaker::User };
    }
}

/// Records numbers, identifiers and URLs with the words around them.
fn values(chronicle: &mut Chronicle, seq: Seq, text: &str, limits: &EvidenceLimits) {
    let at = At {
        clock: chronicle.clock,
        seq,
    };
    let atoms: Vec<_> = atoms(text).collect();
    let mut taken = 0;
    for (index, atom) in atoms.iter().enumerate() {
        let word = &text[atom.range.clone()];
        if taken >= limits.values_per_message || !is_value(text, word, atom.range.start, atom.shape)
        {
            continue;
        }
        taken += 1;
        let from = atoms[index.saturating_sub(WORDS_AROUND)].range.start;
        let to = atoms[(index + WORDS_AROUND).min(atoms.len() - 1)].range.end;
        // A long value is in the entry already; repeating it would fill the line.
        let itself = if word.len() > LONG_VALUE { "…" } else { word };
        let (before, behind) = (&text[from..atom.range.start], &text[atom.range.end..to]);
        let around = format!("{before}{itself}{behind}");
        let around = clean::line(&around, limits.line_chars / 2);
        let (shelf, limit) = if atom.shape == Shape::Url {
            (&mut chronicle.urls, limits.urls)
        } else {
            (&mut chronicle.values, limits.values)
        };
        let word = clean::line(word, limits.path_chars);
        *seen(shelf, &word, at, limit) = Mention {
            by: Speaker::User,
            around,
        };
    }
}

/// True if a word is a number or identifier worth keeping; the number of a list item is not.
fn is_value(text: &str, word: &str, start: usize, shape: Shape) -> bool {
    let line = text[..start].rsplit('\n').next().unwrap_or_default();
    // "1." at the beginning of a line numbers a list item.
    let counts_items = line.trim().is_empty()
        && word.len() <= 3
        && text[start + word.len()..].starts_with(['.', ')', ':']);
    let mixed = word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic());
    match shape {
        Shape::Number => !counts_items,
        // Digits and letters together make an identifier ("v2"); other words are prose.
        Shape::Word => mixed,
        _ => true,
    }
}

/// Records decisions in a model's text. Most texts contain none, which their JSON shows without
/// decoding.
pub(super) fn assistant(
    chronicle: &mut Chronicle,
    seq: Seq,
    block: &Block,
    limits: &EvidenceLimits,
) {
    if IN_DECISIONS.may_stand_in_json(block.bytes())
        && let Some(text) = block.readable_text()
    {
        decisions(chronicle, seq, &text, Speaker::Assistant, limits);
    }
}

/// Records sentences that state a decision or rule.
fn decisions(
    chronicle: &mut Chronicle,
    seq: Seq,
    text: &str,
    by: Speaker,
    limits: &EvidenceLimits,
) {
    let cues = match by {
        Speaker::User => &IN_RULES,
        Speaker::Assistant => &IN_DECISIONS,
    };
    let at = At {
        clock: chronicle.clock,
        seq,
    };
    // Splitting into sentences costs more than finding out that there is no cue.
    if !cues.stand_in(text) {
        return;
    }
    // Code and tables contain the cue words without deciding anything.
    let prose = |kind| matches!(kind, Kind::Prose | Kind::ListItem | Kind::Quote);
    let sentences = segment(text);
    let telling = sentences
        .iter()
        .filter(|sentence| prose(sentence.kind))
        .map(|sentence| &text[sentence.trimmed(text)])
        .filter(|sentence| sentence.len() >= SHORTEST_DECISION && !sentence.ends_with('?'))
        .filter(|sentence| cues.stand_in(sentence))
        .take(limits.lines_per_record);
    for sentence in telling {
        let sentence = clean::line(sentence, limits.line_chars);
        *seen(&mut chronicle.decisions, &sentence, at, limits.decisions) = Decision { by };
    }
}

/// Both ends of a very long output, cut between lines.
pub(super) fn both_ends(text: &str) -> Cow<'_, str> {
    if text.len() <= 2 * MINED_END {
        return Cow::Borrowed(text);
    }
    let first = text.floor_char_boundary(MINED_END);
    let first = &text[..first];
    let first = first.rsplit_once('\n').map_or(first, |(whole, _)| whole);
    let last = text.ceil_char_boundary(text.len() - MINED_END);
    let last = &text[last..];
    let last = last.split_once('\n').map_or(last, |(_, whole)| whole);
    Cow::Owned(format!("{first}\n{last}"))
}

/// Line around an occurrence, without its line end, as [`str::lines`] gives it.
fn line_at(text: &str, place: &Range<usize>) -> Range<usize> {
    let start = text[..place.start].rfind('\n').map_or(0, |end| end + 1);
    let Some(length) = text[place.end..].find('\n') else {
        return start..text.len();
    };
    let end = place.end + length;
    let ends_in_return = text[start..end].ends_with('\r');
    start..end - usize::from(ends_in_return)
}

/// Records lines with test results.
pub(super) fn tests(
    chronicle: &mut Chronicle,
    at: At,
    text: &str,
    source: &Source,
    limits: &EvidenceLimits,
) {
    for line in test_lines(text, limits) {
        let line = clean::line(line, limits.line_chars);
        *seen(&mut chronicle.tests, &line, at, limits.tests) = source.clone();
    }
}

/// Lines with test results; the last ones, because totals stand at the end.
fn test_lines<'t>(text: &'t str, limits: &EvidenceLimits) -> Vec<&'t str> {
    let places: Vec<Range<usize>> = IN_VERDICTS.places(text).collect();
    let mut found = Vec::new();
    let mut lines_from = text.len();
    for place in places.iter().rev() {
        if found.len() >= limits.lines_per_record {
            break;
        }
        if place.start >= lines_from {
            // Another word in the line examined last.
            continue;
        }
        let line = line_at(text, place);
        lines_from = line.start;
        // A longer line is data that happens to contain such words.
        if line.len() <= limits.line_chars && is_test_result(&text[line.clone()]) {
            found.push(&text[line]);
        }
    }
    found.reverse();
    found
}

/// True if a line has a count followed by a verdict ("12 passed", "3 tests, 0 failures"), or the
/// reverse ("Failed: 2").
fn is_test_result(line: &str) -> bool {
    if !line.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let line = clean::line(line, line.len());
    let words: Vec<String> = line
        .split(|letter: char| {
            letter.is_whitespace() || matches!(letter, ',' | ';' | '(' | ')' | '=')
        })
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    let count = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
    let verdict = |word: &String| VERDICTS.contains(&word.trim_matches(['.', ':']));
    // The colon tells "Failed: 2" from prose such as "failed 2 days ago".
    words.windows(2).any(|pair| {
        (count(&pair[0]) && verdict(&pair[1]))
            || (verdict(&pair[0]) && count(&pair[1]) && line.contains(':'))
    })
}

/// True if a line begins like an error, mentions one, or reports a test.
pub(crate) fn is_telling(line: &str) -> bool {
    let line = line.trim_start();
    let starts = ERROR_STARTS.iter();
    starts
        .into_iter()
        .any(|start| starts_ignoring_case(line, start))
        || IN_ERRORS.places(line).next().is_some()
        || is_test_result(line)
}

/// Records the line that says what went wrong.
pub(super) fn error(
    chronicle: &mut Chronicle,
    at: At,
    text: &str,
    failed: bool,
    source: &Source,
    limits: &EvidenceLimits,
) {
    if let Some(line) = error_line(text, failed, limits) {
        let line = clean::line(line, limits.line_chars);
        *seen(&mut chronicle.errors, &line, at, limits.errors) = source.clone();
    }
}

/// First line that begins like an error; for a failed call otherwise the first that mentions one,
/// otherwise the first line.
fn error_line<'t>(text: &'t str, failed: bool, limits: &EvidenceLimits) -> Option<&'t str> {
    let text = text
        .trim()
        .trim_start_matches(&open(&TOOL_ERROR))
        .trim_end_matches(&close(&TOOL_ERROR));
    // The first letter rules out most lines before the list is searched.
    let begins = |line: &&str| {
        let first = line.bytes().next().map(|byte| byte.to_ascii_lowercase());
        let mut starts = ERROR_STARTS.iter();
        matches!(first, Some(b'e' | b'f' | b'p' | b't' | b'u' | b'*'))
            && starts.any(|start| starts_ignoring_case(line, start))
    };
    let mut lines = text.lines().map(str::trim_start);
    if let Some(line) = lines.find(begins) {
        return Some(line.trim_end());
    }
    if !failed {
        return None;
    }
    // The exit code is recorded with the command and says nothing about the cause.
    let is_code = |line: &str| starts_ignoring_case(line, "exit code");
    let telling = |place: Range<usize>| {
        let around = line_at(text, &place);
        let line = text[around.clone()].trim();
        let indent = text[around.clone()].len() - text[around.clone()].trim_start().len();
        let shown = show::head(line, limits.line_chars).len();
        // The word must lie in the part of the line that will be shown.
        (place.end <= around.start + indent + shown && !is_code(line)).then_some(line)
    };
    IN_ERRORS.places(text).find_map(telling).or_else(|| {
        let mut lines = text.lines().map(str::trim);
        lines.find(|line| !line.is_empty() && !is_code(line))
    })
}

fn starts_ignoring_case(text: &str, start: &str) -> bool {
    let begin = text.as_bytes().get(..start.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(start.as_bytes()))
}

#[cfg(test)]
#[path = "mine_tests.rs"]
mod tests;
