//! Laws of every dream without a model, for any directory.

use super::sentence::Reader;
use super::testing::{declared, facts, limits, path, put, source, text};
use super::{Dropped, check, offline, rebase};
use crate::index;
use crate::snapshot::{Snapshot, is_pinned};
use crate::topic::Topic;
use crate::trust::Trust;
use proptest::prelude::*;

/// Sentence out of few words, so that many are alike.
fn sentence() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "tests",
        "use",
        "the",
        "real",
        "database",
        "never",
        "mock",
        "port",
        "8080",
        "9090",
        "deploy",
        "on",
        "release",
        "yesterday",
        "must",
        "not",
        "Ann",
        "`cargo test`",
        "next week",
        "should",
    ]);
    prop::collection::vec(words, 3..12).prop_map(|words| format!("{}.", words.join(" ")))
}

fn body() -> impl Strategy<Value = String> {
    let shared = prop::sample::select(vec![
        "Integration tests use the real database, because a mock hid a broken migration.",
        "Deploys go through the release script in the tools folder, by the person on call.",
        "- The staging server listens on port 8080 behind the proxy.",
        "```sh\nmake seed\n\nmake test\n```",
    ]);
    let part = prop_oneof![3 => shared.prop_map(str::to_owned), 2 => sentence()];
    prop::collection::vec(part, 1..4).prop_map(|parts| format!("{}\n", parts.join("\n\n")))
}

fn file() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec!["feedback", "project", "none"]);
    let trust = prop::sample::select(vec!["", "trust: user\n", "trust: external\n", "node: 1\n"]);
    let until = prop::sample::select(vec![
        "",
        "",
        "valid_until: 2026-01-01\n",
        "superseded_by: a.md\n",
    ]);
    let link = prop::sample::select(vec!["", "See [[a]] and [b](b.md).\n", "[[c.md]]\n"]);
    let front = (kind, trust, until, sentence()).prop_map(|(kind, trust, until, about)| {
        format!("---\nname: {about}\ndescription: {about}\ntype: {kind}\n{trust}{until}---\n\n")
    });
    let front = prop_oneof![4 => front, 1 => Just(String::new())];
    (front, body(), link).prop_map(|(front, body, link)| format!("{front}{body}{link}"))
}

prop_compose! {
    fn directory()(
        files in prop::collection::btree_map("[a-f]|pinned/[a-c]", file(), 0..7),
        lines in prop::collection::vec("- \\[[A-Z]\\]\\(([a-h]|pinned/[a-c])\\.md\\)( — [a-z ]{0,200})?|# [A-Z]|[a-z ]{0,20}", 0..8),
        log in prop::option::of(body()),
    ) -> Snapshot {
        let mut snapshot = Snapshot::new();
        for (name, text) in &files {
            put(&mut snapshot, &format!("{name}.md"), text);
        }
        if !lines.is_empty() {
            put(&mut snapshot, "MEMORY.md", &format!("{}\n", lines.join("\n")));
        }
        if let Some(log) = log {
            put(&mut snapshot, "logs/2026/11/2026-11-12.md", &log);
        }
        snapshot
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn a_dream_passes_its_check_and_comes_to_rest(before in directory()) {
        let draft = offline(&before, &facts());
        let checked = check(&before, &draft.after, &draft.declared(source()), &limits());
        prop_assert!(checked.is_ok(), "{:#?}\n{:#?}", checked, draft.changes);
        let again = offline(&draft.after, &facts());
        prop_assert_eq!(again.changes, []);
        prop_assert_eq!(again.after, draft.after);
    }

    #[test]
    fn a_dream_loses_no_sentence_and_touches_no_pin(before in directory()) {
        let after = offline(&before, &facts()).after;
        let reader = Reader::new();
        // A date may stand before the words it belongs to.
        let said = |snapshot: &Snapshot| -> Vec<_> {
            snapshot.topics().flat_map(|(_, file)| {
                let text = file.text();
                reader.sentences(&text[Topic::read(&text).body..])
            }).collect()
        };
        let kept = said(&after);
        for sentence in said(&before) {
            // Links follow the files they lead to.
            if sentence.text.contains("[[") || sentence.text.starts_with("See") { continue; }
            prop_assert!(kept.iter().any(|other| sentence.repeats(other)), "{}", sentence.text);
        }
        for (path, file) in before.files().filter(|(path, _)| is_pinned(path)) {
            prop_assert_eq!(after.get(path), Some(file));
        }
        let lines = index::load(&after.index(), facts().index);
        prop_assert_eq!(lines.cut, None);
    }

    #[test]
    fn a_dream_raises_no_trust(before in directory()) {
        let after = offline(&before, &facts()).after;
        let believed = |snapshot: &Snapshot, name: &str| {
            let path = dormouse_guard::paths::SafePath::parse(name).ok()?;
            let topic = Topic::read(&snapshot.get(&path)?.text());
            Some(topic.trust.unwrap_or(Trust::User))
        };
        for (path, file) in after.topics() {
            let topic = Topic::read(&file.text());
            let is = topic.trust.unwrap_or(Trust::User);
            let parts = topic.sources.iter().map(String::as_str).chain([path.as_str()]);
            let least = parts.filter_map(|part| believed(&before, part)).min();
            prop_assert!(least.is_none_or(|least| is <= least), "{}", path);
        }
    }

    #[test]
    fn what_others_wrote_meanwhile_stays(before in directory(), theirs in prop::collection::btree_map("[a-f]", file(), 1..3)) {
        let draft = offline(&before, &facts());
        let declared = draft.declared(source());
        let Ok(change) = check(&before, &draft.after, &declared, &limits()) else {
            return Err(TestCaseError::fail("refused"));
        };
        let mut now = before.clone();
        for (name, text) in &theirs {
            put(&mut now, &format!("{name}.md"), text);
        }
        let (rebased, dropped) = rebase(&change, &declared.merges, &before, &now, &limits());
        prop_assert!(rebased.check(&now).is_ok());
        let result = rebased.applied(&now, super::testing::WRITTEN);
        for (name, theirs) in &theirs {
            prop_assert_eq!(&text(&result, &format!("{name}.md")), theirs);
        }
        // Every operation is either done as the dream did it, or reported as dropped.
        for operation in &change.operations {
            let done = rebased.operations.iter().any(|other| other.path == operation.path);
            let left = |dropped: &Dropped| dropped.path == operation.path;
            prop_assert!(done != dropped.iter().any(left) || operation.path.as_str() == "MEMORY.md");
        }
    }
}

#[test]
fn a_merge_stands_and_falls_as_a_whole() {
    let rule = "Integration tests use the real database, because a mock hid a broken migration.\n";
    let before = super::testing::with(&[
        (
            "MEMORY.md",
            "- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n- [D](d.md)\n",
        ),
        ("a.md", rule),
        ("b.md", rule),
        ("c.md", "Because of [[b]].\n"),
        ("d.md", "Alone, since yesterday.\n"),
    ]);
    let draft = offline(&before, &facts());
    let mut declared = declared();
    declared.merges = draft.declared(source()).merges;
    let change = check(&before, &draft.after, &declared, &limits()).unwrap();
    let mut now = before.clone();
    put(&mut now, "b.md", "Something new.\n");
    put(&mut now, "e.md", "New.\n");
    let (rebased, dropped) = rebase(&change, &declared.merges, &before, &now, &limits());
    let names: Vec<String> = dropped.iter().map(|part| part.path.to_string()).collect();
    assert_eq!(names, ["a.md", "c.md", "b.md"]);
    assert!(dropped.iter().all(|part| part.because_of == path("b.md")));
    let result = rebased.applied(&now, super::testing::WRITTEN);
    assert_eq!(
        text(&result, "MEMORY.md"),
        "- [A](a.md)\n- [B](b.md)\n- [C](c.md)\n- [D](d.md)\n- [e](e.md)\n"
    );
    assert!(text(&result, "d.md").contains("2026-11-09 (yesterday)"));
    assert_eq!(text(&result, "c.md"), "Because of [[b]].\n");
}
