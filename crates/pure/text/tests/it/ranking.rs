//! Searching: what holds for any texts, and how well real notes are found.
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use crate::material::notes;
use dormouse_text::rank::Index;
use proptest::prelude::*;

/// About 2,000 tokens, which is what a search in the history may return.
const BUDGET: usize = 8_000;

/// Every so many-th note is asked for: all of them take a minute.
const EVERY: usize = 10;

#[test]
fn notes_are_found_by_their_titles() {
    let notes = notes();
    let notes: Vec<(&str, &str)> = notes
        .iter()
        .filter_map(|note| note.split_once('\n'))
        .filter(|(_, body)| !body.trim().is_empty())
        .collect();
    let bodies: Vec<&str> = notes.iter().map(|(_, body)| *body).collect();
    let index = Index::new(bodies.iter().copied());
    let (mut reciprocal, mut shown, mut asked) = (0.0, 0, 0);
    for (number, (title, _)) in notes.iter().enumerate().step_by(EVERY) {
        asked += 1;
        let hits = index.search(title, 100);
        let rank = hits.iter().position(|hit| hit.document == number);
        reciprocal += rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        let passages = index.passages(&bodies, title, BUDGET);
        shown += u32::from(passages.iter().any(|one| one.document == number));
    }
    let (rank, shown) = (
        reciprocal / f64::from(asked),
        f64::from(shown) / f64::from(asked),
    );
    eprintln!(
        "{asked} of {} notes: mean reciprocal rank {rank:.3}; in {BUDGET} bytes of passages {shown:.3}",
        notes.len()
    );
    assert!(rank > 0.85 && shown > 0.95);
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let word = prop_oneof![
        6 => "[a-e]{1,3}",
        1 => Just("数据库".to_owned()),
        1 => Just("\n\n".to_owned()),
        1 => Just("readHTTPHeader".to_owned()),
        1 => Just("word. ".repeat(300)),
        1 => any::<String>(),
    ];
    let text = prop::collection::vec(word, 0..20).prop_map(|words| words.join(" "));
    prop::collection::vec(text, 0..12)
}

proptest! {
    #[test]
    fn hits_are_ordered_and_real(texts in texts(), query in "[a-e 数据库]{0,12}", top in 0_usize..15) {
        let index = Index::new(texts.iter().map(String::as_str));
        let hits = index.search(&query, top);
        prop_assert!(hits.len() <= top);
        prop_assert!(hits.iter().all(|hit| hit.document < texts.len() && hit.score >= 0.0));
        for pair in hits.windows(2) {
            let by_score = pair[0].score.total_cmp(&pair[1].score);
            let by_place = pair[1].document.cmp(&pair[0].document);
            prop_assert!(by_score.then(by_place).is_gt(), "{pair:?}");
        }
        // The best few are the beginning of all.
        let all = index.search(&query, usize::MAX);
        prop_assert_eq!(&all[..hits.len()], &hits[..]);
    }

    #[test]
    fn passages_are_places_within_the_budget(texts in texts(), query in "[a-e 数据库]{0,12}", budget in 0_usize..3_000) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let passages = Index::new(texts.iter().copied()).passages(&texts, &query, budget);
        prop_assert!(passages.iter().map(|one| one.range.len()).sum::<usize>() <= budget);
        for (at, passage) in passages.iter().enumerate() {
            prop_assert!(texts[passage.document].get(passage.range.clone()).is_some_and(|text| !text.is_empty()));
            for other in &passages[at + 1..] {
                let apart = other.document != passage.document
                    || other.range.end <= passage.range.start
                    || passage.range.end <= other.range.start;
                prop_assert!(apart, "{passage:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_word_that_is_there_is_found(texts in texts(), at in any::<prop::sample::Index>()) {
        let words: Vec<(usize, String)> = texts
            .iter()
            .enumerate()
            .flat_map(|(number, text)| {
                text.split_whitespace()
                    .filter(|word| word.chars().all(|letter| letter.is_ascii_lowercase()))
                    .map(move |word| (number, word.to_owned()))
            })
            .collect();
        prop_assume!(!words.is_empty());
        let (number, word) = &words[at.index(words.len())];
        let index = Index::new(texts.iter().map(String::as_str));
        prop_assert!(index.search(word, usize::MAX).iter().any(|hit| hit.document == *number));
    }
}
