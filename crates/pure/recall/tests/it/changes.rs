//! An index that changes gives the hits of a fresh one.

use bytes::Bytes;
use dormouse_recall::{Document, Query, Scratch, Searcher, Segment};
use dormouse_text::words::Language;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Text {
    name: String,
    body: String,
    parent: Option<u8>,
    prior: f32,
}

fn words(most: usize) -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "deploy",
        "deploying",
        "deployment",
        "server",
        "database",
        "the",
        "of",
        "always",
        "use",
        "metric",
        "readHttpHeader",
        "time",
        "stamp",
        "timestamp",
        "データ",
        "kiln",
        "glaze",
        "release",
        "\n",
        "```\n",
    ]);
    prop::collection::vec(word, 0..most).prop_map(|words| words.join(" "))
}

fn text() -> impl Strategy<Value = Text> {
    let parent = prop::option::weighted(0.3, 0_u8..3);
    let body = prop_oneof![9 => words(30), 1 => words(600)];
    (words(3), body, parent, 0.0_f32..1.0).prop_map(|(name, body, parent, prior)| Text {
        name,
        body,
        parent,
        prior,
    })
}

const PARENTS: [&str; 3] = ["a", "b", "c"];

/// Documents with their numbers as payload and order.
fn documents<'a>(texts: &'a [(u32, Text)], keys: &'a [[u8; 4]]) -> Vec<Document<'a>> {
    let document = |(number, text): &'a (u32, Text)| Document {
        name: &text.name,
        body: &text.body,
        payload: &keys[*number as usize],
        parent: text.parent.map(|parent| PARENTS[usize::from(parent)]),
        order: *number,
        prior: text.prior,
        ..Document::default()
    };
    texts.iter().map(document).collect()
}

fn segment(documents: Vec<Document<'_>>) -> Segment {
    let bytes = Segment::build(Language::English, documents).unwrap();
    Segment::open(Bytes::from(bytes)).unwrap()
}

/// Payloads with the bits of scores and confidences.
fn hits(searcher: &Searcher, text: &str) -> Vec<(Vec<u8>, u32, u32)> {
    let query = Query {
        text,
        top: 20,
        ..Query::default()
    };
    let mut scratch = Scratch::default();
    // A used scratch must not matter.
    searcher.search(
        &Query {
            text: "the database",
            top: 3,
            now: 0,
        },
        &mut scratch,
    );
    let found = searcher.search(&query, &mut scratch);
    found
        .iter()
        .map(|hit| {
            let payload = searcher.payload(hit.document).to_vec();
            (payload, hit.score.to_bits(), hit.confidence.to_bits())
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn base_with_changes_equals_a_fresh_index(
        texts in prop::collection::vec((text(), 0_u8..3), 1..25),
        query in words(8),
    ) {
        let keys: Vec<[u8; 4]> = (0_u32..).take(texts.len()).map(u32::to_be_bytes).collect();
        let part = |wanted: &[u8]| -> Vec<(u32, Text)> {
            (0..)
                .zip(&texts)
                .filter(|(_, (_, sort))| wanted.contains(sort))
                .map(|(number, (text, _))| (number, text.clone()))
                .collect()
        };
        // 0 stays, 1 is removed, 2 is added.
        let (base, added, left) = (part(&[0, 1]), part(&[2]), part(&[0, 2]));
        let removed: Vec<usize> = base
            .iter()
            .enumerate()
            .filter_map(|(place, (number, _))| (texts[*number as usize].1 == 1).then_some(place))
            .collect();
        let changed =
            Searcher::with_changes(segment(documents(&base, &keys)), &removed, documents(&added, &keys))
                .unwrap();
        let fresh = Searcher::new(segment(documents(&left, &keys)));
        prop_assert_eq!(changed.len(), fresh.len());
        prop_assert_eq!(changed.changed(), removed.len() + added.len());
        prop_assert_eq!(hits(&changed, &query), hits(&fresh, &query));
        prop_assert_eq!(changed.payloads().count(), left.len());
    }

    #[test]
    fn the_order_of_insertion_does_not_matter(
        texts in prop::collection::vec(text(), 1..25),
        query in words(8),
    ) {
        let keys: Vec<[u8; 4]> = (0_u32..).take(texts.len()).map(u32::to_be_bytes).collect();
        let mut numbered: Vec<(u32, Text)> = (0..).zip(texts).collect();
        let one = Searcher::new(segment(documents(&numbered, &keys)));
        let first = hits(&one, &query);
        prop_assert_eq!(&first, &hits(&one, &query), "the same twice");
        numbered.reverse();
        let other = Searcher::new(segment(documents(&numbered, &keys)));
        prop_assert_eq!(first, hits(&other, &query));
    }

    #[test]
    fn building_is_deterministic(texts in prop::collection::vec(text(), 0..10)) {
        let keys: Vec<[u8; 4]> = (0_u32..).take(texts.len()).map(u32::to_be_bytes).collect();
        let numbered: Vec<(u32, Text)> = (0..).zip(texts).collect();
        let build = || Segment::build(Language::English, documents(&numbered, &keys)).unwrap();
        prop_assert_eq!(build(), build());
    }
}
