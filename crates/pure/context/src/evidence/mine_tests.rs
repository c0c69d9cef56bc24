//! Mining in one pass, against a reference that searches word by word and line by line.

use super::super::words::stand_in_lower;
use super::*;
use proptest::prelude::*;
use std::fmt::Write as _;

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
    assert!(IN_RULES.stand_in("Never push to main."));
    assert!(IN_DECISIONS.stand_in("We’ll use SQLite here."));
    assert!(IN_DECISIONS.stand_in("WE'LL USE SQLite here."));
    assert!(!IN_RULES.stand_in("nevertheless it ran"));
    assert!(IN_RULES.stand_in("nevertheless, never"));
    // Two letters that are ASCII only in lower case.
    assert!(IN_RULES.stand_in("ma\u{212A}e sure"));
    assert!(IN_RULES.stand_in("\u{130}always"));
    assert!(!IN_RULES.stand_in("xalways"));
}

#[test]
fn both_ends_of_a_very_long_output_are_mined() {
    let limits = EvidenceLimits::default();
    let filler = "a line of output\n".repeat(MINED_END / 10);
    let text = format!("error: first\n{filler}12 passed\n");
    let ends = both_ends(&text);
    assert!(ends.len() <= 2 * MINED_END + 1);
    assert_eq!(test_lines(&ends, &limits), ["12 passed"]);
    assert_eq!(error_line(&ends, false, &limits), Some("error: first"));
    let short = "x\n".repeat(MINED_END);
    assert_eq!(both_ends(&short), short);
    // A single endless line is cut between characters.
    let long = "é".repeat(3 * MINED_END);
    assert!(both_ends(&long).chars().all(|c| matches!(c, 'é' | '\n')));
}

fn contains_ignoring_case(text: &str, part: &str) -> bool {
    let mut windows = text.as_bytes().windows(part.len());
    windows.any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

fn test_lines_one_by_one<'t>(text: &'t str, limits: &EvidenceLimits) -> Vec<&'t str> {
    let has_stem = |line: &str| {
        let mut stems = VERDICT_STEMS.iter();
        stems.any(|stem| contains_ignoring_case(line, stem))
    };
    let lines = text.lines().rev();
    let mut found: Vec<&str> = lines
        .filter(|line| line.len() <= limits.line_chars && has_stem(line) && is_test_result(line))
        .take(limits.lines_per_record)
        .collect();
    found.reverse();
    found
}

fn error_line_by_line<'t>(text: &'t str, failed: bool, limits: &EvidenceLimits) -> Option<&'t str> {
    let text = text
        .trim()
        .trim_start_matches("<tool_use_error>")
        .trim_end_matches("</tool_use_error>");
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let begins = |line: &&str| {
        let mut starts = ERROR_STARTS.iter();
        starts.any(|start| starts_ignoring_case(line, start))
    };
    let telling = |line: &&str| {
        let start = show::head(line, limits.line_chars);
        let mut words = ERROR_WORDS.iter();
        words.any(|word| contains_ignoring_case(start, word))
    };
    let is_code = |line: &&str| starts_ignoring_case(line, "exit code");
    lines().find(begins).or_else(|| {
        let any = || lines().filter(|line| !is_code(line));
        let line = any().find(telling).or_else(|| any().next());
        line.filter(|_| failed)
    })
}

/// Output full of significant words: whole, in parts, in any case.
fn output() -> impl Strategy<Value = String> {
    let words: Vec<&str> = VERDICTS
        .iter()
        .chain(&ERROR_STARTS)
        .chain(&ERROR_WORDS)
        .chain(&["12", "0", "a", "exit code 1", "<tool_use_error>"])
        .chain(&[" ", " ", ": ", ", ", "\t", "\u{a0}", "é", "\u{1b}[31m"])
        .chain(&["\n", "\n", "\r\n", "\r", "\n\n"])
        .copied()
        .collect();
    let word = (prop::sample::select(words), 0_u8..4).prop_map(|(word, how)| match how {
        0 => word.to_uppercase(),
        1 => word.chars().take(4).collect(),
        _ => word.to_owned(),
    });
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

/// Prose that contains cues.
fn prose() -> impl Strategy<Value = String> {
    let words: Vec<&str> = USER_RULES
        .iter()
        .chain(&ASSISTANT_DECISIONS)
        .chain(&[
            " ", " ", ".", "x", "9", "é", "’", "'", "\u{212A}", "\u{130}",
        ])
        .chain(&["Σ", "don’t", "let’s use", "I’ll use", "\n", "\\", "\""])
        .copied()
        .collect();
    let word = (prop::sample::select(words), 0_u8..4).prop_map(|(word, how)| match how {
        0 => word.to_uppercase(),
        1 => word.chars().take(3).collect(),
        _ => word.to_owned(),
    });
    prop::collection::vec(word, 0..6).prop_map(|words| words.concat())
}

/// JSON that escapes every letter beyond ASCII, as some writers do.
fn escaped(text: &str) -> String {
    let mut json = String::from("\"");
    for unit in text.encode_utf16() {
        match char::from_u32(u32::from(unit)) {
            Some(letter @ (' ' | 'a'..='z' | '0'..='9' | '\'')) => json.push(letter),
            _ => write!(json, "\\u{unit:04x}").unwrap(),
        }
    }
    json + "\""
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_same_lines_are_found(text in output(), failed: bool, chars in 5_usize..60, lines in 0_usize..4) {
        let limits = EvidenceLimits { line_chars: chars, lines_per_record: lines, ..EvidenceLimits::default() };
        prop_assert_eq!(test_lines(&text, &limits), test_lines_one_by_one(&text, &limits));
        prop_assert_eq!(error_line(&text, failed, &limits), error_line_by_line(&text, failed, &limits));
    }

    #[test]
    fn the_same_phrases_are_found(text in prose()) {
        for (words, list) in [(&IN_RULES, &USER_RULES[..]), (&IN_DECISIONS, &ASSISTANT_DECISIONS)] {
            let words: &Words = words;
            let stands = stand_in_lower(list, &text.to_lowercase());
            prop_assert_eq!(words.stand_in(&text), stands);
            let json = serde_json::to_string(&text).unwrap();
            prop_assert!(!stands || words.may_stand_in_json(json.as_bytes()));
            prop_assert!(!stands || words.may_stand_in_json(escaped(&text).as_bytes()));
        }
    }

    #[test]
    fn a_line_is_the_same_at_a_glance(text in "[ -;=-~\t\né]{0,12}", most in 0_usize..14) {
        // A character that both functions drop rules out the fast path.
        let mut slowly = text.trim().to_owned();
        let first = slowly.chars().next().map_or(0, char::len_utf8);
        slowly.insert(first, '\u{200b}');
        prop_assert_eq!(clean::line(&text, most), clean::line(&slowly, most));
        prop_assert_eq!(clean::command(&text, most), clean::command(&slowly, most));
    }
}
