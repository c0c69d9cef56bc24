//! Properties that hold for any text.

use dormouse_testkit::material::naughty_strings;
use dormouse_text::atoms::atoms;
use dormouse_text::dates::dates;
use dormouse_text::duplicates::{Index, NEAR, Sketch, clusters};
use dormouse_text::segment::segment;
use dormouse_text::summary::{Budget, Passage, Summary, Voice, summarise};
use dormouse_text::words::Tokeniser;
use jiff::civil::date;
use proptest::prelude::*;
use std::ops::Range;

/// Text as in sessions: pieces that the rules are about, in any order.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z]{1,9} ",
        1 => Just("e.g. ".to_owned()),
        1 => Just("\n".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => Just("```\n".to_owned()),
        1 => Just("- ".to_owned()),
        1 => Just("src/main.rs:12 ".to_owned()),
        1 => Just("    at f (a.js:1:2)\n".to_owned()),
        1 => Just("数据库。连接！".to_owned()),
        1 => Just("readHTTPHeader_2 ".to_owned()),
        1 => Just("2026-03-12T10:00:00Z ".to_owned()),
        1 => Just("next Friday ".to_owned()),
        1 => Just("vor drei Tagen ".to_owned()),
        1 => Just("error: ".to_owned()),
        1 => "[0-9]{1,5}[./:-][0-9]{1,4}([./-][0-9]{1,4})? ?",
        1 => Just(". ".to_owned()),
        1 => Just("? ".to_owned()),
        2 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn in_order(text: &str, ranges: impl IntoIterator<Item = Range<usize>>) {
    let mut end = 0;
    for range in ranges {
        assert!(
            range.start >= end && range.start < range.end,
            "{range:?} after {end}"
        );
        assert!(
            text.get(range.clone()).is_some(),
            "{range:?} is no range of characters"
        );
        end = range.end;
    }
}

fn lossless(text: &str) {
    let segments = segment(text);
    in_order(text, segments.iter().map(|segment| segment.range.clone()));
    let joined: String = segments
        .iter()
        .map(|segment| &text[segment.range.clone()])
        .collect();
    assert_eq!(joined, text);
}

fn summary_holds(passages: &[Passage<'_>], limit: usize) -> Summary {
    let summary = summarise(passages, Budget::Chars(limit));
    let length = summary.text(passages).chars().count();
    assert!(length <= limit, "{length} of {limit} characters");
    assert_eq!(length, summary.cost);
    for (index, passage) in passages.iter().enumerate() {
        let picks = summary.picks.iter().filter(|pick| pick.passage == index);
        in_order(passage.text, picks.clone().map(|pick| pick.range.clone()));
        let segments: Vec<_> = segment(passage.text)
            .iter()
            .map(|segment| segment.trimmed(passage.text))
            .collect();
        for pick in picks {
            assert!(
                segments.contains(&pick.range),
                "{:?} is no segment",
                pick.range
            );
        }
    }
    assert!(summary.picks.is_sorted_by_key(|pick| pick.passage));
    assert_eq!(
        summarise(passages, Budget::Chars(limit)),
        summary,
        "the same twice"
    );
    summary
}

/// Runs every function that takes a text over one text.
fn everything(text: &str) {
    lossless(text);
    in_order(text, atoms(text).map(|atom| atom.range));
    let tokeniser = Tokeniser::for_text(text);
    tokeniser.each(text, |term, range| {
        assert!(!term.is_empty() && text.get(range).is_some());
    });
    let mentions = dates(text, date(2026, 3, 11));
    in_order(text, mentions.iter().map(|mention| mention.range.clone()));
    assert!(
        mentions
            .iter()
            .all(|mention| mention.days.first <= mention.days.last)
    );
    summary_holds(
        &[Passage {
            text,
            voice: Voice::Document,
        }],
        text.chars().count() / 3,
    );
    let sketch = Sketch::new(text);
    assert!(sketch.likeness(&sketch, NEAR).is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_breaks_anything(text in text()) {
        everything(&text);
    }

    #[test]
    fn a_summary_of_many_passages_keeps_to_the_rules(
        texts in prop::collection::vec((text(), 0..3_usize), 0..6),
        limit in 0..2_000_usize,
    ) {
        let voices = [Voice::User, Voice::Assistant, Voice::Tool];
        let passages: Vec<_> = texts
            .iter()
            .map(|(text, voice)| Passage { text, voice: voices[*voice] })
            .collect();
        summary_holds(&passages, limit);
    }

    #[test]
    fn a_measured_budget_is_kept(text in text(), limit in 0..300_usize) {
        let cost = |part: &str| part.len().div_ceil(4);
        let passages = [Passage { text: &text, voice: Voice::User }];
        let summary = summarise(&passages, Budget::Measured { limit, cost: &cost });
        prop_assert!(summary.cost <= limit);
        prop_assert!(cost(&summary.text(&passages)) <= limit);
    }

    #[test]
    fn duplicates_are_symmetric(texts in prop::collection::vec("([abc]{1,2} ){0,12}", 2..12)) {
        let mut index = Index::new(NEAR);
        for text in &texts {
            index.insert(Sketch::new(text));
        }
        for a in 0..texts.len() {
            let found = index.find(index.get(a).unwrap());
            prop_assert!(found.iter().any(|found| found.id == a));
            for hit in found {
                let back = index.find(index.get(hit.id).unwrap());
                let back = back.iter().find(|back| back.id == a).expect("found both ways");
                prop_assert_eq!(back.likeness, hit.likeness);
                prop_assert!((back.overlap.jaccard - hit.overlap.jaccard).abs() < 1e-12);
                prop_assert!((back.overlap.of_this - hit.overlap.of_other).abs() < 1e-12);
            }
        }
        let clusters = clusters(texts.iter().map(|text| Sketch::new(text)), NEAR);
        let members = clusters.groups.iter().flat_map(|cluster| {
            std::iter::once(cluster.first).chain(cluster.others.iter().map(|found| found.id))
        });
        let mut members: Vec<_> = members.collect();
        let count = members.len();
        members.sort_unstable();
        members.dedup();
        prop_assert_eq!(members.len(), count, "no text in two groups");
    }

    #[test]
    fn a_relative_date_moves_with_today(days in -20_000..20_000_i32) {
        let today = date(2026, 3, 11).checked_add(jiff::Span::new().days(days)).unwrap();
        for (text, offset) in [("tomorrow", 1), ("vor zwei Wochen", -14), ("in 3 days", 3)] {
            let expected = today.checked_add(jiff::Span::new().days(offset)).unwrap();
            prop_assert_eq!(dates(text, today)[0].days.first, expected);
        }
    }
}

#[test]
fn naughty_strings_break_nothing() {
    let strings = naughty_strings();
    for text in &strings {
        everything(text);
    }
    everything(&strings.join("\n"));
    everything(&strings.join(" "));
}

#[test]
fn long_and_odd_inputs_end() {
    let cases = [
        "a".repeat(300_000),
        "1. ".repeat(60_000),
        ". ".repeat(60_000),
        "\n".repeat(100_000),
        "ab. ".repeat(40_000),
        "数".repeat(50_000),
        "> - ".repeat(40_000),
        "🦀".repeat(40_000),
        "12.12.".repeat(20_000),
        "next ".repeat(40_000),
    ];
    for text in cases {
        lossless(&text);
        assert!(dates(&text, date(2026, 3, 11)).len() <= text.len());
        let passages = [Passage {
            text: &text,
            voice: Voice::Tool,
        }];
        assert!(summarise(&passages, Budget::Chars(2_000)).cost <= 2_000);
        drop(Sketch::new(&text));
    }
}
