//! Tests of topic files.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

const FOREIGN: &str = "---\n# kept\nname: tests\nlicence:   odd\t\ndescription: \"set -e: does not stop\"\nmetadata:\n  type: project\n  node: {a: [1, 2]}\ntags:\n- a\n- b\n\nmodified: 2026-03-01T00:00:00Z\n---\n\nBody --- with: things\n";

#[test]
fn a_foreign_form_is_understood() {
    let topic = Topic::read(FOREIGN);
    assert_eq!(topic.name, "tests");
    assert_eq!(topic.description, "set -e: does not stop");
    assert_eq!(topic.kind, Some(Kind::Project));
    assert_eq!(&FOREIGN[topic.body..], "\nBody --- with: things\n");
}

#[test]
fn an_edit_changes_its_own_lines_and_no_other_byte() {
    let edited = edit(
        FOREIGN,
        &[
            Field::Description("short".into()),
            Field::Trust(Trust::User),
        ],
    );
    let expected = FOREIGN
        .replace(
            "description: \"set -e: does not stop\"",
            "description: short",
        )
        .replace("00Z\n---\n", "00Z\ntrust: user\n---\n");
    assert_eq!(edited, expected);
}

#[test]
fn front_matter_that_is_no_yaml_is_read_by_lines() {
    let text = "---\nname: a\ndescription: fix: use x: not y\ntype: feedback\n---\nb\n";
    let topic = Topic::read(text);
    assert_eq!(topic.description, "fix: use x: not y");
    assert_eq!(topic.kind, Some(Kind::Feedback));
    let merged = edit(text, &[Field::Sources(vec!["b.md".into()])]);
    assert_eq!(Topic::read(&merged).sources, ["b.md"]);
}

#[test]
fn what_is_odd_reads_as_nothing() {
    assert_eq!(Topic::read("---\ntype: dragon\n---\n").kind, None);
    assert_eq!(Topic::read("---\nnever closed\n").body, 0);
    assert_eq!(Topic::read("no front matter").name, "");
    assert_eq!(Topic::read("").body, 0);
}

#[test]
fn a_file_without_front_matter_gets_one() {
    let edited = edit("Body\n", &[Field::Kind(Kind::User)]);
    assert_eq!(edited, "---\ntype: user\n---\n\nBody\n");
}

#[test]
fn line_ends_of_another_system_are_kept() {
    let text = "---\r\nname: a\r\n---\r\nBody\r\n";
    let edited = edit(text, &[Field::Name("b".into()), Field::Kind(Kind::User)]);
    assert_eq!(edited, "---\r\nname: b\r\ntype: user\r\n---\r\nBody\r\n");
}

#[test]
fn what_dormouse_writes_it_reads_back() {
    let origin = Origin {
        session: Some("s\"1".into()),
        message: Some("r 2".into()),
        speaker: Speaker::User,
        time: Millis(1_763_000_000_000),
    };
    let triggers = Triggers {
        tools: vec!["Bash".into()],
        paths: vec!["**/*.rs".into()],
        ..Triggers::default()
    };
    let text = edit(
        "x\n",
        &[
            Field::Origin(origin.clone()),
            Field::Triggers(triggers.clone()),
            Field::ValidUntil(Some("2026-12-01".into())),
            Field::Sources(vec!["a.md".into()]),
        ],
    );
    let topic = Topic::read(&text);
    assert_eq!(topic.origin, Some(origin));
    assert_eq!(topic.triggers, triggers);
    assert_eq!(topic.sources, ["a.md"]);
    assert!(topic.is_over(jiff::civil::date(2026, 12, 2)));
    assert!(!topic.is_over(jiff::civil::date(2026, 12, 1)));
}

proptest! {
    #[test]
    fn names_and_descriptions_come_back(name in "\\PC{0,40}", description in "\\PC{0,80}") {
        let text = edit("body\n", &[Field::Name(name.clone()), Field::Description(description.clone())]);
        let topic = Topic::read(&text);
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        prop_assert_eq!(topic.name, squeezed(&name));
        prop_assert_eq!(topic.description, squeezed(&description));
        prop_assert_eq!(&text[topic.body..], "\nbody\n");
    }

    #[test]
    fn any_text_is_read_and_its_body_survives_an_edit(text in "(---\n)?([a-z]{1,4}: ?\\PC{0,12}\n){0,4}(---\n)?\\PC{0,30}") {
        let before = Topic::read(&text);
        let after = edit(&text, &[Field::Trust(Trust::Assistant)]);
        let topic = Topic::read(&after);
        prop_assert_eq!(topic.trust, Some(Trust::Assistant));
        prop_assert!(after.ends_with(&text[before.body..]));
    }
}

/// A level that a newer version wrote must not make a memory the user's word.
#[test]
fn a_level_of_trust_that_is_not_known_is_no_trust() {
    let read = |line: &str| Topic::read(&format!("---\nname: a\n{line}---\nText.\n")).trust;
    assert_eq!(read("trust: verified-by-quorum\n"), Some(Trust::External));
    assert_eq!(read("trust: user\n"), Some(Trust::User));
    assert_eq!(read(""), None);
}
