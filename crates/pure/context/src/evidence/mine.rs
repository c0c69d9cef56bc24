//! What is taken from texts: test results, errors, figures and names, decisions.

use super::note::{At, seen};
use super::{EvidenceLimits, clean};
use dormouse_core::id::Seq;
use dormouse_core::record::{Chronicle, Decision, Mention, Source, Speaker};
use dormouse_text::atoms::{Shape, atoms};
use dormouse_text::segment::{Kind, segment};

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

/// How lines begin that tell of an error even where the command succeeded.
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

/// Words that make a line the telling one in the output of a failed call.
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

/// What people say when they lay something down.
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

/// What a model says when it does.
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

/// Shortest line that can be a sentence worth quoting.
const SHORTEST_DECISION: usize = 12;

/// Words kept on each side of a number or a name.
const WORDS_AROUND: usize = 5;

/// Names longer than this are not repeated among the words around them.
const LONG_VALUE: usize = 24;

/// Takes what the user gave and laid down.
pub(super) fn user(chronicle: &mut Chronicle, seq: Seq, text: &str, limits: &EvidenceLimits) {
    // In pasted bulk the user's own words are at the ends.
    if text.len() > limits.bulk {
        for part in [
            clean::head(text, limits.head),
            clean::tail(text, limits.tail),
        ] {
            values(chronicle, seq, part, limits);
            decisions(chronicle, seq, part, Speaker::User, limits);
        }
    } else {
        values(chronicle, seq, text, limits);
        decisions(chronicle, seq, text, Speaker::User, limits);
    }
}

/// What the user answered to a question, or said when refusing a call.
pub(super) fn answer(chronicle: &mut Chronicle, at: At, text: &str, limits: &EvidenceLimits) {
    let text = clean::line(text, limits.line_chars * 2);
    if !text.is_empty() {
        *seen(&mut chronicle.decisions, &text, at, limits.decisions) =
            Decision { by: Speaker::User };
    }
}

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
        // A long name stands there already and need not be said again.
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

/// A figure or a name. The number of a list item is neither.
fn is_value(text: &str, word: &str, start: usize, shape: Shape) -> bool {
    let line = text[..start].rsplit('\n').next().unwrap_or_default();
    let counts_items = line.trim().is_empty()
        && word.len() <= 3
        && text[start + word.len()..].starts_with(['.', ')', ':']);
    let mixed = word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic());
    match shape {
        Shape::Number => !counts_items,
        Shape::Word => mixed,
        _ => true,
    }
}

/// Takes sentences that lay something down.
pub(super) fn decisions(
    chronicle: &mut Chronicle,
    seq: Seq,
    text: &str,
    by: Speaker,
    limits: &EvidenceLimits,
) {
    let cues: &[&str] = match by {
        Speaker::User => &USER_RULES,
        Speaker::Assistant => &ASSISTANT_DECISIONS,
    };
    let at = At {
        clock: chronicle.clock,
        seq,
    };
    // Cutting a text into sentences costs more than seeing that there is nothing in it.
    if !has_phrase(text, cues) {
        return;
    }
    let prose = |kind| matches!(kind, Kind::Prose | Kind::ListItem | Kind::Quote);
    let sentences = segment(text);
    let telling = sentences
        .iter()
        .filter(|sentence| prose(sentence.kind))
        .map(|sentence| &text[sentence.trimmed(text)])
        .filter(|sentence| sentence.len() >= SHORTEST_DECISION && !sentence.ends_with('?'))
        .filter(|sentence| has_phrase(sentence, cues))
        .take(limits.lines_per_record);
    for sentence in telling {
        let sentence = clean::line(sentence, limits.line_chars);
        *seen(&mut chronicle.decisions, &sentence, at, limits.decisions) = Decision { by };
    }
}

/// Whether one of the phrases stands in the text as whole words.
fn has_phrase(text: &str, phrases: &[&str]) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    let is_part = |letter: char| letter.is_alphanumeric();
    phrases.iter().any(|phrase| {
        lower.match_indices(phrase).any(|(at, _)| {
            !lower[..at].ends_with(is_part) && !lower[at + phrase.len()..].starts_with(is_part)
        })
    })
}

/// Takes the lines that say how tests went; the last ones, where totals stand.
pub(super) fn tests(
    chronicle: &mut Chronicle,
    at: At,
    text: &str,
    source: &Source,
    limits: &EvidenceLimits,
) {
    let found: Vec<&str> = text
        .lines()
        .rev()
        .filter(|line| line.len() <= limits.line_chars && is_test_result(line))
        .take(limits.lines_per_record)
        .collect();
    for line in found.into_iter().rev() {
        let line = clean::line(line, limits.line_chars);
        *seen(&mut chronicle.tests, &line, at, limits.tests) = source.clone();
    }
}

/// A count followed by a verdict: "12 passed", "3 tests, 0 failures", or "Failed: 2".
fn is_test_result(line: &str) -> bool {
    const STEMS: [&str; 4] = ["pass", "fail", "succe", "error"];
    let has_digit = line.bytes().any(|byte| byte.is_ascii_digit());
    if !has_digit || !STEMS.iter().any(|stem| contains_ignoring_case(line, stem)) {
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
    words.windows(2).any(|pair| {
        (count(&pair[0]) && verdict(&pair[1]))
            || (verdict(&pair[0]) && count(&pair[1]) && line.contains(':'))
    })
}

/// Takes the line that says what went wrong.
pub(super) fn error(
    chronicle: &mut Chronicle,
    at: At,
    text: &str,
    failed: bool,
    source: &Source,
    limits: &EvidenceLimits,
) {
    let text = text
        .trim()
        .trim_start_matches("<tool_use_error>")
        .trim_end_matches("</tool_use_error>");
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let begins = |line: &&str| {
        ERROR_STARTS
            .iter()
            .any(|start| starts_ignoring_case(line, start))
    };
    let telling = |line: &&str| {
        let start = clean::head(line, limits.line_chars);
        ERROR_WORDS
            .iter()
            .any(|word| contains_ignoring_case(start, word))
    };
    let is_code = |line: &&str| starts_ignoring_case(line, "exit code");
    let found = lines().find(begins).or_else(|| {
        let any = || lines().filter(|line| !is_code(line));
        let line = any().find(telling).or_else(|| any().next());
        line.filter(|_| failed)
    });
    if let Some(line) = found {
        let line = clean::line(line, limits.line_chars);
        *seen(&mut chronicle.errors, &line, at, limits.errors) = source.clone();
    }
}

fn starts_ignoring_case(text: &str, start: &str) -> bool {
    let begin = text.as_bytes().get(..start.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(start.as_bytes()))
}

fn contains_ignoring_case(text: &str, part: &str) -> bool {
    text.as_bytes()
        .windows(part.len())
        .any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{ASSISTANT_DECISIONS, USER_RULES, has_phrase, is_test_result};

    #[test]
    fn results_of_common_test_runners_are_known() {
        for line in [
            "test result: ok. 12 passed; 0 failed; 0 ignored",
            "=== 3 failed, 10 passed in 1.2s ===",
            "Tests:       2 failed, 5 passed, 7 total",
            "5 doctests, 42 tests, 0 failures",
            "\u{1b}[32m  12 passing (30ms)\u{1b}[0m",
            "Failed: 2",
        ] {
            assert!(is_test_result(line), "{line}");
        }
        for line in [
            "12 files changed",
            "the 3 builds were passed on",
            "line 12: failed to open",
        ] {
            assert!(!is_test_result(line), "{line}");
        }
    }

    #[test]
    fn phrases_are_whole_words() {
        assert!(has_phrase("Never push to main.", &USER_RULES));
        assert!(has_phrase("We’ll use SQLite here.", &ASSISTANT_DECISIONS));
        assert!(!has_phrase("nevertheless it ran", &USER_RULES));
    }
}
