//! Tests of triggers against the work.

use super::*;
use dormouse_core::units::Millis;
use pretty_assertions::assert_eq;
use serde_json::json;

fn work() -> Work {
    let mut work = Work::new();
    work.add_call("Edit", &json!({"file_path": "/home/u/p/src/db/store.rs"}));
    work.add_call("Bash", &json!({"command": "git -C sub commit -m x"}));
    work.add_call("mcp__github__create_pr", &json!({}));
    work
}

fn triggers(tools: &[&str], paths: &[&str], languages: &[&str], commands: &[&str]) -> Triggers {
    let own = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect();
    Triggers {
        tools: own(tools),
        paths: own(paths),
        languages: own(languages),
        commands: own(commands),
    }
}

fn card(name: &str, kind: Option<Kind>, modified: i64, triggers: Triggers) -> Card {
    let path = SafePath::parse(name).unwrap();
    let mut card = Card::read(path, "x", Millis(modified));
    card.kind = kind;
    card.triggers = triggers;
    card
}

#[test]
fn each_sort_of_trigger_matches_its_sort_of_work() {
    let yes = [
        triggers(&["edit"], &[], &[], &[]),
        triggers(&["github"], &[], &[], &[]),
        triggers(&["mcp__git*"], &[], &[], &[]),
        triggers(&[], &["src/**"], &[], &[]),
        triggers(&[], &["**/*.rs"], &[], &[]),
        triggers(&[], &["*.{rs,toml}"], &[], &[]),
        triggers(&[], &["store.rs"], &[], &[]),
        triggers(&[], &[], &["RS"], &[]),
        triggers(&[], &[], &[], &["git commit"]),
        triggers(&[], &[], &[], &["git"]),
    ];
    for triggers in yes {
        assert!(matched(&work(), &triggers).is_some(), "{triggers:?}");
    }
    let no = [
        triggers(&["Write", "", "*"], &[], &[], &[]),
        triggers(&[], &["tests/**", "[", "", "*.rsx"], &[], &[]),
        triggers(&[], &[], &["python"], &[]),
        triggers(&[], &[], &[], &["git push", "commit", ""]),
        Triggers::default(),
    ];
    for triggers in no {
        assert_eq!(matched(&work(), &triggers), None, "{triggers:?}");
    }
}

#[test]
fn the_most_specific_come_first_and_only_standing_memories_come() {
    let cards = [
        card(
            "language.md",
            Some(Kind::Feedback),
            9,
            triggers(&[], &[], &["rust"], &[]),
        ),
        card(
            "old.md",
            Some(Kind::Feedback),
            1,
            triggers(&[], &["**/*.rs"], &[], &[]),
        ),
        card(
            "new.md",
            Some(Kind::Feedback),
            2,
            triggers(&[], &["**/*.rs"], &[], &[]),
        ),
        card(
            "user.md",
            Some(Kind::User),
            3,
            triggers(&[], &["**/*.rs"], &[], &[]),
        ),
        card(
            "command.md",
            Some(Kind::User),
            0,
            triggers(&[], &[], &["rust"], &["git commit"]),
        ),
        card(
            "project.md",
            Some(Kind::Project),
            9,
            triggers(&[], &[], &["rust"], &[]),
        ),
        card("untyped.md", None, 9, triggers(&[], &[], &["rust"], &[])),
    ];
    let found = matching(&work(), &cards);
    let names: Vec<&str> = found.iter().map(|found| found.path.as_str()).collect();
    assert_eq!(
        names,
        ["command.md", "new.md", "old.md", "user.md", "language.md"]
    );
    assert_eq!(
        found[0].by.to_string(),
        "applies to the command `git commit`"
    );
    assert!(matching(&Work::new(), &cards).is_empty());
}
