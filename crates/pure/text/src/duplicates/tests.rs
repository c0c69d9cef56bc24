use super::{Index, Likeness, MOST_COMPARED, NEAR, Sketch, clusters};
use pretty_assertions::assert_eq;

const NOTE: &str = "Integration tests must hit a real database on port 5432, not a mock of it.";

#[test]
fn likeness_says_what_differs() {
    let cases = [
        (NOTE, Some(Likeness::Exact)),
        (
            "integration tests must hit a real database, on port 5432 - not a mock of it",
            Some(Likeness::Same),
        ),
        (
            "Integration tests should hit a real database on port 5432, not a mock of it.",
            Some(Likeness::Near),
        ),
        (
            "Integration tests must hit a real database on port 6543, not a mock of it.",
            Some(Likeness::Variant),
        ),
        (
            "Integration tests must hit a real database on port 5432 and a mock of it.",
            Some(Likeness::Variant),
        ),
        ("The user prefers tabs over spaces.", None),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(
            Sketch::new(NOTE).likeness(&Sketch::new(text), NEAR),
            expected,
            "{text}"
        );
    }
}

#[test]
fn overlap_shows_that_a_text_is_part_of_another() {
    let long = format!(
        "{NOTE} We learnt it the hard way when the migration broke in production last spring."
    );
    let overlap = Sketch::new(NOTE).overlap(&Sketch::new(&long));
    assert!((overlap.of_this - 1.0).abs() < 1e-9, "{overlap:?}");
    assert!(
        overlap.of_other < 0.6 && overlap.jaccard < 0.6,
        "{overlap:?}"
    );
}

#[test]
fn texts_without_words_are_alike_only_if_equal() {
    let same = |a, b| Sketch::new(a).likeness(&Sketch::new(b), NEAR);
    assert_eq!(same("", ""), Some(Likeness::Exact));
    assert_eq!(same("", "  "), Some(Likeness::Same));
    assert_eq!(same("---", "***"), None);
    assert_eq!(same("---", " --- "), Some(Likeness::Same));
}

#[test]
fn groups_are_stars_around_their_first_text() {
    let texts = [
        "a b c d e f g h",
        "something else entirely here",
        "a b c d e f g x",
        "A B C D E F G H!",
    ];
    let groups: Vec<_> = clusters(texts.map(Sketch::new), NEAR)
        .groups
        .into_iter()
        .map(|group| {
            (
                group.first,
                group
                    .others
                    .iter()
                    .map(|found| (found.id, found.likeness))
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    assert_eq!(
        groups,
        [(0, vec![(2, Likeness::Near), (3, Likeness::Same)])]
    );
}

/// Notes after one template: alike in their first half, with an overlap just below the threshold.
fn family(count: usize) -> Vec<String> {
    let word = |number: usize| format!("w{}", number.wrapping_mul(2_654_435_761) % 1_000_003);
    let own = |number: usize| (0..12).map(|at| word(number * 12 + at)).collect::<Vec<_>>();
    let note = |number| {
        let own = own(number).join(" ");
        format!("The service of this team runs on the shared cluster and is owned by {own}")
    };
    (0..count).map(note).collect()
}

fn compared_per_text(count: usize) -> f64 {
    let texts = family(count);
    let clusters = clusters(texts.iter().map(|text| Sketch::new(text)), NEAR);
    assert_eq!(clusters.groups, [], "related, but not alike");
    #[expect(clippy::cast_precision_loss, reason = "counts of texts")]
    let share = clusters.compared as f64 / count as f64;
    share
}

#[test]
fn a_family_of_texts_costs_a_bounded_number_of_comparisons_each() {
    let (few, many) = (compared_per_text(1_000), compared_per_text(4_000));
    #[expect(clippy::cast_precision_loss, reason = "a small constant")]
    let most = MOST_COMPARED as f64;
    assert!(few > 1.0, "the family must meet: {few}");
    assert!(few <= most && many <= most, "{few}, then {many}");
}

#[test]
fn duplicates_are_found_among_thousands_of_relatives() {
    let mut texts = family(4_000);
    let copies: Vec<String> = (0..40)
        .map(|at| format!("{} today", texts[at * 100]))
        .collect();
    texts.extend(copies);
    let mut index = Index::new(NEAR);
    for text in &texts {
        index.insert(Sketch::new(text));
    }
    let found = (0..40).filter(|at| {
        let hits = index.find(&Sketch::new(&texts[4_000 + at]));
        hits.iter().any(|hit| hit.id == at * 100)
    });
    assert_eq!(found.count(), 40);
    // The same words are found however many texts have them.
    let mut index = Index::new(NEAR);
    for _ in 0..1_000 {
        index.insert(Sketch::new(NOTE));
    }
    assert_eq!(index.find(&Sketch::new(NOTE)).len(), 1_000);
}
