use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::path::{Component, PathBuf};

fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

fn kind(text: &str) -> String {
    let refusal = SafePath::parse(text).expect_err(text);
    assert!(refusal.to_string().len() > 20, "{refusal}");
    let json = serde_json::to_value(&refusal).unwrap();
    json["kind"].as_str().unwrap().to_owned()
}

#[test]
fn ordinary_names_pass() {
    for text in [
        "MEMORY.md",
        "user_role.md",
        "pinned/team conventions.md",
        "logs/2026/11/2026-11-15.md",
        ".journal/journal.jsonl",
        "grüße/日本語.md",
        "100%.md",
        "a%zz.md",
        "console.md",
        "COM10.md",
        "v1..2.md",
        "a~b.md",
    ] {
        assert_eq!(path(text).as_str(), text);
    }
}

#[test]
fn every_refusal_has_its_reason() {
    let long_name = "a".repeat(256);
    let long_path = ["a"; 700].join("/");
    let deep = ["a"; 17].join("/");
    let cases = [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("//server/share", "drive_or_unc"),
        ("\\\\server\\share", "drive_or_unc"),
        ("C:\\x", "drive_or_unc"),
        ("c:x", "drive_or_unc"),
        ("note.md:stream", "drive_or_unc"),
        ("~/x.md", "home"),
        ("~root", "home"),
        ("a/~", "home"),
        ("..", "parent"),
        ("a/../b", "parent"),
        ("../a", "parent"),
        ("a/..", "parent"),
        (".", "empty_or_dot_component"),
        ("./a", "empty_or_dot_component"),
        ("a//b", "empty_or_dot_component"),
        ("a/", "empty_or_dot_component"),
        ("a\\b", "backslash"),
        ("a\0.md", "nul"),
        ("a\nb", "control"),
        ("a\u{85}b", "control"),
        ("a\u{200b}.md", "invisible"),
        ("a\u{202e}dm.exe", "invisible"),
        ("\u{feff}a", "invisible"),
        ("\u{2024}\u{2024}/a", "lookalike"),
        ("\u{ff0e}\u{ff0e}/a", "lookalike"),
        ("a\u{ff0f}b", "lookalike"),
        ("a\u{2215}b", "lookalike"),
        ("\u{2025}/a", "lookalike"),
        ("a\u{ff1a}b", "lookalike"),
        ("\u{ff05}2e/a", "lookalike"),
        ("a*b", "reserved"),
        ("a|b", "reserved"),
        ("...", "trailing_dot_or_space"),
        ("a./b", "trailing_dot_or_space"),
        ("a /b", "trailing_dot_or_space"),
        ("a\u{a0}", "trailing_dot_or_space"),
        ("a\u{3000}/b", "trailing_dot_or_space"),
        ("cafe\u{301}.md", "not_normal"),
        ("\u{212b}.md", "not_normal"),
        ("%2e%2e/a", "percent_encoded"),
        ("a%2Fb", "percent_encoded"),
        ("a%252fb", "percent_encoded"),
        ("a%00", "percent_encoded"),
        ("a%c0%ae", "percent_encoded"),
        ("CON", "device_name"),
        ("a/nul.txt", "device_name"),
        ("Com1.tar.gz", "device_name"),
        ("lpt\u{b9}", "device_name"),
        ("aux .md", "device_name"),
        (long_name.as_str(), "component_too_long"),
        (long_path.as_str(), "too_long"),
        (deep.as_str(), "too_deep"),
    ];
    for (text, expected) in cases {
        assert_eq!(kind(text), expected, "{text:?}");
    }
}

#[test]
fn the_remedy_shows_the_normal_spelling() {
    let refusal = SafePath::parse("cafe\u{301}.md").unwrap_err();
    assert!(refusal.to_string().contains("`caf\u{e9}.md`"), "{refusal}");
}

#[test]
fn names_can_be_taken_apart_and_joined() {
    let deep = path("logs/2026/a.md");
    assert_eq!(deep.file_name(), "a.md");
    assert_eq!(deep.parent(), Some(path("logs/2026")));
    assert_eq!(path("a.md").parent(), None);
    assert_eq!(path("logs").join("2026/a.md"), Ok(deep.clone()));
    assert_eq!(path("a").join("/b"), Err(PathRefusal::Absolute));
    assert_eq!(path("a").join(""), Err(PathRefusal::Empty));
    assert_eq!(path("a").join("../b"), Err(PathRefusal::Parent));
    assert_eq!(
        deep.components().collect::<Vec<_>>(),
        ["logs", "2026", "a.md"]
    );
    assert!(path("a/.cache/b").is_hidden());
    assert!(!deep.is_hidden());
}

#[test]
fn one_name_for_two_spellings_is_seen() {
    let same = |one: &str, other: &str| path(one).same_on_any_disk(&path(other));
    assert!(same("Memory.md", "MEMORY.MD"));
    assert!(same("stra\u{df}e", "STRASSE"));
    assert!(same("\u{fb01}le.md", "file.md"));
    assert!(same("\u{3c3}", "\u{3c2}"));
    assert!(!same("a.md", "b.md"));
}

#[test]
fn json_goes_through_the_same_door() {
    assert_eq!(serde_json::to_string(&path("a/b")).unwrap(), "\"a/b\"");
    assert!(serde_json::from_str::<SafePath>("\"a/../b\"").is_err());
    assert_eq!(
        serde_json::from_str::<SafePath>("\"a/b\"").unwrap(),
        path("a/b")
    );
}

/// Strategy for text in which defects are likely.
fn troublesome() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("..".to_owned()),
        Just("/".to_owned()),
        Just("\\".to_owned()),
        Just("~".to_owned()),
        Just("%2e".to_owned()),
        Just("\u{2024}".to_owned()),
        Just("\u{0}".to_owned()),
        Just("C:".to_owned()),
        "[a-z.]{1,4}",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_passes_stays_below_the_root(text in troublesome()) {
        if let Ok(path) = SafePath::parse(&text) {
            let root = PathBuf::from("/home/me/memory");
            let joined = root.join(&path);
            prop_assert!(joined.starts_with(&root) && joined != root);
            let below = joined.strip_prefix(&root).unwrap();
            prop_assert!(below.components().all(|part| matches!(part, Component::Normal(_))));
            prop_assert_eq!(below.components().count(), path.components().count());
        }
    }

    #[test]
    fn what_passes_passes_again(text in troublesome()) {
        if let Ok(path) = SafePath::parse(&text) {
            for part in path.components() {
                prop_assert!(SafePath::parse(part).is_ok());
            }
            prop_assert!(path.same_on_any_disk(&path));
        }
    }
}
