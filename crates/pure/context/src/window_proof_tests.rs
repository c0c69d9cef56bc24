use super::*;
use pretty_assertions::assert_eq;

fn models() -> &'static ModelTable {
    ModelTable::builtin()
}

#[test]
fn a_length_stands_for_the_size_that_holds_it() {
    let cases = [
        ("claude-sonnet-4-5", 1, 200_000),
        ("claude-sonnet-4-5", 200_000, 200_000),
        ("claude-sonnet-4-5", 200_001, 1_000_000),
        ("claude-opus-4-6", 150_000, 200_000),
        ("claude-opus-4-6", 1_000_001, 2_000_000),
        ("claude-opus-4-6", 2_000_001, 3_000_000),
        ("some-other", 200_001, 256_000),
        ("some-other", 256_001, 400_000),
        ("some-other", 400_001, 1_000_000),
    ];
    for (model, needed, size) in cases {
        let found = size_for(Tokens(needed), models().lookup(model));
        assert_eq!(found, Tokens(size), "{model} {needed}");
    }
}

#[test]
fn names_with_and_without_a_date_are_one_model_and_the_suffix_is_another() {
    let name = |model: &str| evidence_name(model, models());
    assert_eq!(
        name("claude-sonnet-4-5-20250929"),
        name("claude-sonnet-4-5")
    );
    assert_ne!(name("claude-sonnet-4-5[1m]"), name("claude-sonnet-4-5"));
    assert_eq!(name("house-blend"), "house-blend");
}

#[test]
fn earlier_evidence_yields_to_later_evidence_that_contradicts_it() {
    let tokens = |n: u64| Some(Tokens(n));
    let evidence = |answered, automatic| WindowEvidence {
        answered,
        automatic,
        ..WindowEvidence::default()
    };
    let model = models().lookup("claude-sonnet-4-5");
    // Answered and automatic: earlier, later, expected.
    let cases = [
        (
            (tokens(535_000), None),
            (tokens(30_000), None),
            (tokens(535_000), None),
        ),
        (
            (tokens(535_000), None),
            (None, tokens(167_000)),
            (None, tokens(167_000)),
        ),
        (
            (None, tokens(167_000)),
            (tokens(410_000), None),
            (tokens(410_000), None),
        ),
        (
            (tokens(90_000), tokens(167_000)),
            (tokens(30_000), None),
            (tokens(90_000), tokens(167_000)),
        ),
    ];
    for (earlier, later, expected) in cases {
        let found = behind(
            evidence(earlier.0, earlier.1),
            evidence(later.0, later.1),
            model,
        );
        assert_eq!((found.answered, found.automatic), expected);
    }
}
