use super::*;

fn relation(older: &str, newer: &str) -> Relation {
    let (older, newer) = (Frame::of(older).unwrap(), Frame::of(newer).unwrap());
    newer.relation(&older)
}

#[test]
fn another_value_for_one_slot_replaces() {
    for (older, newer) in [
        ("We deploy on Tuesdays.", "We deploy on Mondays."),
        ("Use pnpm for the frontend.", "Use bun for the frontend."),
        (
            "Always squash before merging.",
            "Never squash before merging.",
        ),
        ("缓存时间是五分钟。", "缓存时间是三十分钟。"),
    ] {
        assert_eq!(
            relation(older, newer),
            Relation::Replaces,
            "{older} {newer}"
        );
    }
}

#[test]
fn two_things_stay_beside_each_other() {
    for (older, newer) in [
        ("Use ruff for linting.", "Use pytest for testing."),
        (
            "Staging runs on port 8080.",
            "Production runs on port 8080.",
        ),
        ("Lena reviews Go code.", "Lena reviews Terraform, too."),
        ("测试环境用 MySQL 5.7。", "生产环境用 MySQL 8.0。"),
    ] {
        assert_eq!(relation(older, newer), Relation::Apart, "{older} {newer}");
    }
}

#[test]
fn the_same_in_another_order_is_the_same() {
    for (older, newer) in [
        (
            "Ana reviews all CSS changes.",
            "All CSS changes get reviewed by Ana.",
        ),
        ("Use pnpm, not npm.", "Please use pnpm instead of npm."),
        ("日志保留三十天。", "日志只保留 30 天。"),
    ] {
        assert_eq!(relation(older, newer), Relation::Same, "{older} {newer}");
    }
}

#[test]
fn a_turned_or_wider_statement_is_never_taken_for_the_same() {
    for (older, newer, expected) in [
        (
            "Prefer tabs over spaces.",
            "Prefer spaces over tabs.",
            Relation::Replaces,
        ),
        (
            "Never push to main on Fridays.",
            "Never push to main.",
            Relation::Apart,
        ),
        (
            "We deploy on Mondays and Tuesdays.",
            "We deploy on Mondays.",
            Relation::Apart,
        ),
    ] {
        assert_eq!(relation(older, newer), expected, "{older} {newer}");
    }
}

#[test]
fn several_sentences_are_not_compared() {
    assert!(Frame::of("Use tabs. Never spaces.").is_none());
    assert!(Frame::of("").is_none());
}
