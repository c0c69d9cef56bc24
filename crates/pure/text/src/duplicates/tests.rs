use super::{Index, Likeness, NEAR, Sketch, clusters};
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
    let mut index = Index::new(NEAR);
    let texts = [
        "a b c d e f g h",
        "something else entirely here",
        "a b c d e f g x",
        "A B C D E F G H!",
    ];
    for text in texts {
        index.insert(Sketch::new(text));
    }
    let groups: Vec<_> = clusters(&index)
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
