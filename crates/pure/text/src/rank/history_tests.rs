//! Tests of the search by lines.

use super::History;
use crate::words::Language;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

const ALL: usize = 1_000_000;

fn any(texts: &[&str]) -> History<usize> {
    filled(History::any(Language::English), texts)
}

fn filled(mut history: History<usize>, texts: &[&str]) -> History<usize> {
    for (at, text) in texts.iter().enumerate() {
        history.add(&at, 0, "", text);
    }
    history
}

fn shown<'a>(history: &'a History<usize>, question: &str, budget: usize) -> Vec<&'a str> {
    let lines = history.lines(question, budget, |_, _| true);
    lines.into_iter().map(|line| line.text).collect()
}

#[test]
fn lines_are_shown_once_whatever_number_they_have() {
    let history = any(&[
        "  12\tlet cache = Cache::new(4711);\n  13\tlet other = 1;",
        "  40\tlet cache = Cache::new(4711);\nunrelated words of the parser",
        "the cache of the parser was measured",
    ]);
    let lines = shown(&history, "new cache", ALL);
    let with = lines.iter().filter(|line| line.contains("4711")).count();
    assert_eq!((with, lines[0].contains("4711")), (1, true), "{lines:?}");
    let last = history.lines("cache parser", ALL, |source, _| *source == 2);
    assert_eq!(last.len(), 1);
    assert!(shown(&history, "cache", 10).is_empty());
    assert!(shown(&history, "", ALL).is_empty());
}

#[test]
fn an_answer_keeps_within_its_budget() {
    let lines: Vec<String> = (0..500).map(|at| format!("line {at} of ducks")).collect();
    let history = any(&[lines.join("\n").as_str()]);
    let found = shown(&history, "ducks", 2_000);
    let bytes: usize = found.iter().map(|line| line.len()).sum();
    assert!((800..2_000).contains(&bytes), "{bytes}");
}

#[test]
fn of_a_long_line_the_part_around_the_words_is_shown() {
    let text = format!("{} needle {}", "ä".repeat(200), "b ".repeat(150));
    let history = any(&[text.as_str()]);
    let found = shown(&history, "needle", ALL);
    assert!(
        found[0].contains("needle") && found[0].len() <= 240,
        "{found:?}"
    );
}

#[test]
fn of_equal_lines_the_newest_is_shown() {
    let mut history = History::any(Language::English);
    for (time, source) in [(5, "old"), (9, "new"), (7, "middle")] {
        history.add(&source, time, "", "the port is 4711");
    }
    let lines = history.lines("which port", ALL, |_, _| true);
    assert_eq!((lines.len(), *lines[0].source), (1, "new"));
}

#[test]
fn stop_words_count_only_where_there_is_nothing_else() {
    let history = any(&["to be or not", "the hedgehog sleeps"]);
    assert_eq!(
        shown(&history, "where is the hedgehog", ALL),
        ["the hedgehog sleeps"]
    );
    assert_eq!(shown(&history, "to be", ALL), ["to be or not"]);
}

#[test]
fn a_word_that_no_text_has_counts_inside_others() {
    let history = any(&["reconfigure the relay", "nothing here"]);
    assert_eq!(shown(&history, "configure", ALL), ["reconfigure the relay"]);
    // Three letters stand in too many words by chance.
    assert!(shown(&history, "lay", ALL).is_empty());
}

#[test]
fn the_heading_tells_which_of_two_texts_is_meant() {
    let mut history = History::any(Language::English);
    for name in ["theme", "queue", "relay"] {
        let text = format!("export function {name}Start() {{\n  return 1;\n}}");
        history.add(&name, 0, &format!("read src/{name}.ts"), &text);
    }
    let lines = history.lines("grep function src/queue.ts", 100, |_, _| true);
    assert_eq!(*lines[0].source, "queue", "{lines:?}");
    assert!(lines[0].text.contains("queueStart"), "{lines:?}");
}

/// Memory stays bounded, and the one good window is not the one that is dropped.
#[test]
fn a_known_question_keeps_the_best_of_many_windows() {
    let mut history = History::of("heron nest height", Language::English);
    for at in 0..20_000 {
        let text = if at == 137 {
            "the nest of the heron, height 4711".to_owned()
        } else {
            format!("a nest number {at}")
        };
        history.add(&at, 0, "", &text);
    }
    let lines = history.lines("heron nest height", 500, |_, _| true);
    assert!(lines[0].text.contains("4711"), "{:?}", lines[0]);
    assert_eq!(lines[0].words, 0b111);
    assert!(format!("{history:?}").len() < 4_000_000);
}

proptest! {
    /// A history that knows its question gives the answer of one that does not, whether texts
    /// without any word are added or only counted, in one piece or in two.
    #[test]
    fn a_known_question_gives_the_same_answer(
        texts in prop::collection::vec("([a-d]{1,3}[ _\n]){0,30}", 0..12),
        question in "([a-d]{1,5} ){0,4}",
        middle in 0_usize..12,
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let whole = any(&texts);
        let (first, second) = texts.split_at(middle.min(texts.len()));
        let mut known = filled(History::of(&question, Language::English), first);
        let mut rest = History::of(&question, Language::English);
        for (at, text) in second.iter().enumerate() {
            rest.add(&(at + first.len()), 0, "", text);
        }
        known.append(rest);
        let of = |history: &History<usize>| -> Vec<(usize, String, u64, i64)> {
            let lines = history.lines(&question, 300, |_, _| true);
            lines.iter().map(|line| {
                // Sums of the same figures in another order differ in the last bits.
                #[expect(clippy::cast_possible_truncation, reason = "scores are small")]
                let score = (line.score * 1e6).round() as i64;
                (*line.source, line.text.to_owned(), line.words, score)
            }).collect()
        };
        prop_assert_eq!(of(&known), of(&whole));
    }

    #[test]
    fn windows_lose_nothing_but_blanks(text in "([a-zä]{0,9}[ \n]){0,400}") {
        let history = any(&[text.as_str()]);
        let words = |text: &str| {
            let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            words.sort_unstable();
            words
        };
        prop_assert_eq!(words(&history.texts().join(" ")), words(&text));
    }
}
