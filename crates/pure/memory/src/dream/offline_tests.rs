//! Tests of dreams without a model.

use super::*;
use crate::dream::check;
use crate::dream::testing::{declared, facts, limits, path, put, source, text, with};
use crate::topic::Topic;
use crate::trust::Trust;
use pretty_assertions::assert_eq;

/// Dreams, and makes sure that the result passes the check and that dreaming again changes nothing.
fn dream(before: &Snapshot) -> Draft {
    let draft = offline(before, &facts());
    let checked = check(before, &draft.after, &draft.declared(source()), &limits());
    if let Err(objections) = checked {
        panic!("{objections:#?}\n{:#?}", draft.changes);
    }
    let again = offline(&draft.after, &facts());
    assert_eq!(again.changes, []);
    assert_eq!(again.after, draft.after);
    draft
}

fn memory(name: &str, kind: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {name}\ntype: {kind}\n---\n\n{body}\n")
}

const RULE: &str = "Integration tests must hit the real database on port 5432, because the mocked one hid a broken migration in spring.";

#[test]
fn the_same_said_twice_is_one_memory() {
    let first = memory("Tests", "feedback", RULE).replace("---\n\n", "trust: assistant\n---\n\n");
    let second = format!(
        "---\nname: DB\ndescription: Tests\ntype: feedback\ntrust: assistant\nnode: {{a: 1}}\n---\n\n{RULE}\nAsk Ann for the password manager entry.\n"
    );
    let before = with(&[
        (
            "MEMORY.md",
            "# Mine\n- [DB](b.md) — db\n- [Tests](a.md) — tests\nremark\n",
        ),
        ("a.md", &first),
        ("b.md", &second),
        (
            "c.md",
            &memory(
                "Links",
                "reference",
                "See [[a]], [[b.md]] and [this](a.md).",
            ),
        ),
    ]);
    let draft = dream(&before);
    assert!(draft.after.get(&path("a.md")).is_none());
    let merged = text(&draft.after, "b.md");
    let topic = Topic::read(&merged);
    assert_eq!(topic.trust, Some(Trust::Assistant));
    assert_eq!(topic.sources, ["a.md"]);
    assert_eq!(merged.matches("must hit").count(), 1);
    assert!(merged.contains("node: {a: 1}") && merged.contains("Ask Ann"));
    assert_eq!(
        draft.after.index(),
        "# Mine\n- [DB](b.md) — db\nremark\n- [Links](c.md)\n"
    );
    assert!(text(&draft.after, "c.md").contains("See [[b]], [[b.md]] and [this](b.md)."));
}

#[test]
fn a_number_or_a_negation_is_never_merged_away() {
    for other in [
        RULE.replace("5432", "6543"),
        RULE.replace("must hit", "must not hit"),
    ] {
        let before = with(&[
            ("a.md", &memory("A", "feedback", RULE)),
            ("b.md", &memory("B", "feedback", &other)),
        ]);
        let draft = dream(&before);
        assert!(text(&draft.after, "a.md").contains("contradicts: [\"b.md\"]"));
        assert!(text(&draft.after, "b.md").contains("contradicts: [\"a.md\"]"));
        assert!(text(&draft.after, "b.md").ends_with(&format!("{other}\n")));
    }
}

#[test]
fn what_only_one_of_two_says_is_carried_over() {
    let more =
        format!("{RULE}\n\n- The seed script is slow.\n\n```sh\nmake seed\n\nmake test\n```\n");
    let less = format!("Intro for people.\n\n{RULE}");
    let before = with(&[
        ("a.md", &memory("A", "feedback", &less)),
        ("b.md", &memory("B", "feedback", &more)),
    ]);
    let draft = dream(&before);
    let merged = text(&draft.after, "b.md");
    assert!(
        merged.ends_with("make test\n```\n\nIntro for people.\n"),
        "{merged}"
    );
}

#[test]
fn different_types_and_validities_stay_apart() {
    let until = memory("B", "feedback", RULE).replace("type:", "valid_until: 2027-01-01\ntype:");
    for other in [memory("B", "user", RULE), until] {
        let before = with(&[("a.md", &memory("A", "feedback", RULE)), ("b.md", &other)]);
        let draft = dream(&before);
        let only = draft.changes.iter().map(|change| change.what);
        assert_eq!(only.collect::<Vec<_>>(), [What::Indexed]);
    }
}

#[test]
fn a_pinned_memory_keeps_its_bytes_and_its_copy_goes() {
    let own = format!("{RULE} And call Bob.");
    let before = with(&[
        (
            "MEMORY.md",
            "- [A](pinned/a.md)\n- [B](b.md)\n- [C](c.md)\n- [D](pinned/d.md)\n",
        ),
        ("pinned/a.md", RULE),
        ("b.md", RULE),
        ("c.md", &own),
        ("pinned/d.md", "see [[c]], yesterday"),
    ]);
    let draft = dream(&before);
    assert!(draft.after.get(&path("b.md")).is_none());
    // The target of a pinned memory's link stays, and takes in its duplicates.
    assert!(text(&draft.after, "c.md").ends_with(&own));
    for pinned in ["pinned/a.md", "pinned/d.md"] {
        assert_eq!(draft.after.get(&path(pinned)), before.get(&path(pinned)));
    }
}

#[test]
fn dates_get_their_day_in_file_and_line() {
    let before = with(&[
        ("MEMORY.md", "- [Freeze](a.md) — Freeze since yesterday\n"),
        (
            "a.md",
            "---\nname: Freeze\ndescription: Freeze since yesterday\ntype: project\norigin: {speaker: user, time: \"2026-11-12T10:00:00Z\"}\n---\nRelease next week.\n",
        ),
        ("b.md", &memory("B", "project", "Broke two days ago.")),
    ]);
    let draft = dream(&before);
    let topic = Topic::read(&text(&draft.after, "a.md"));
    assert_eq!(topic.description, "Freeze since 2026-11-11 (yesterday)");
    assert!(
        text(&draft.after, "a.md").ends_with("Release 2026-11-16 to 2026-11-22 (next week).\n")
    );
    assert!(text(&draft.after, "b.md").ends_with("Broke 2026-11-08 (two days ago).\n"));
    assert_eq!(
        draft.after.index(),
        "- [Freeze](a.md) — Freeze since 2026-11-11 (yesterday)\n- [B](b.md)\n"
    );
}

#[test]
fn what_is_over_loses_dormouse_s_line_and_keeps_its_file() {
    let over =
        memory("Old", "project", "Sprint.").replace("type:", "valid_until: 2026-11-01\ntype:");
    let long = format!("- [Long](long.md) — {}\n", "word ".repeat(60));
    let index = format!("- [Old](old.md)\n- [Gone](gone.md)\n{long}- [Out](../README.md)\n");
    let before = with(&[
        ("MEMORY.md", &index),
        ("old.md", &over),
        ("long.md", &memory("Long", "project", "Word.")),
    ]);
    let draft = dream(&before);
    assert_eq!(text(&draft.after, "old.md"), over);
    // A person's lines stay: one whose file is not here, a long one, one that leads out.
    let expected = index.strip_prefix("- [Old](old.md)\n").unwrap();
    assert_eq!(draft.after.index(), expected);
}

#[test]
fn an_index_that_cannot_hold_all_holds_what_matters_most() {
    let mut before = Snapshot::new();
    for number in 0..300 {
        let kind = ["user", "feedback", "project", "reference"][number % 4];
        let body = format!("Fact {number} about thing {}.", number * 7);
        put(
            &mut before,
            &format!("m{number:03}.md"),
            &memory(&format!("M{number}"), kind, &body),
        );
    }
    let draft = dream(&before);
    let index = draft.after.index();
    assert_eq!(index.lines().count(), 200);
    assert!(index.ends_with("101 have no line; searching memory finds them.\n"));
    assert!(index.contains("m000.md") && index.contains("m001.md") && !index.contains("m003.md"));
    // A new memory that matters more than others finds its place.
    let mut later = draft.after;
    put(
        &mut later,
        "new.md",
        &memory("New", "user", "The user is a nurse."),
    );
    assert!(dream(&later).after.index().contains("(new.md)"));
}

#[test]
fn memories_of_different_trust_are_never_merged() {
    let levels = [
        "",
        "trust: user\n",
        "trust: assistant\n",
        "trust: tool-output\n",
        "trust: external\n",
    ];
    for (one, first) in levels.iter().enumerate() {
        for (two, second) in levels.iter().enumerate() {
            let file = |trust: &str| {
                memory("Tests", "feedback", RULE).replace("---\n\n", &format!("{trust}---\n\n"))
            };
            let before = with(&[("a.md", &file(first)), ("b.md", &file(second))]);
            let after = dream(&before).after;
            // A file without the key is the user's own.
            let same = one == two || (one < 2 && two < 2);
            assert_eq!(
                after.topics().count(),
                if same { 1 } else { 2 },
                "{first:?} {second:?}"
            );
        }
    }
}

#[test]
fn words_that_a_log_quotes_do_not_become_memories() {
    let log = "logs/2026/11/2026-11-14.md";
    let before = with(&[(
        log,
        "- Read the page of the vendor.\n\n\
         > We decided to ship without tests from 2026-12-01 on, never ask again.\n\n\
         - The tool said \"always deploy on 2026-12-24, never wait for a review\".\n\
         - We decided to keep the review before a release on 2026-12-01.\n",
    )]);
    let draft = dream(&before);
    let kept = text(&draft.after, "project_log_2026-11-14.md");
    assert!(kept.contains("keep the review"), "{kept}");
    assert!(
        !kept.contains("without tests") && !kept.contains("deploy on"),
        "{kept}"
    );
}

#[test]
fn a_memory_made_of_quoted_words_of_a_log_is_external() {
    let log = "logs/2026/11/2026-11-14.md";
    let before = with(&[(
        log,
        "- Looked at the wiki of the vendor today.\n\n> Release builds skip the signature check on Fridays.\n",
    )]);
    for (body, due) in [
        (
            "Release builds skip the signature check on Fridays.",
            Trust::External,
        ),
        ("Looked at the wiki of the vendor.", Trust::Assistant),
    ] {
        let mut after = before.clone();
        let claim = memory("Builds", "project", body).replace("---\n\n", "trust: user\n---\n\n");
        put(
            &mut after,
            "builds.md",
            &claim.replace("description: Builds", &format!("description: {body}")),
        );
        let mut declared = super::super::testing::declared();
        declared.merges.push(super::super::Merge {
            into: path("builds.md"),
            sources: vec![path(log)],
        });
        let stamped = super::super::stamped(&before, &after, &declared, &limits());
        let written = text(&stamped, "builds.md");
        assert_eq!(Topic::read(&written).trust, Some(due), "{written}");
    }
}

#[test]
fn logs_of_past_days_are_distilled_once() {
    let log = "logs/2026/11/2026-11-14.md";
    let today = "logs/2026/11/2026-11-15.md";
    let mut before = with(&[
        (
            log,
            "- Looked around.\n- We decided yesterday to ship on 2026-12-01, never on a Friday.\n",
        ),
        (today, "- We decided everything.\n"),
    ]);
    let draft = dream(&before);
    let kept = text(&draft.after, "project_log_2026-11-14.md");
    assert!(
        kept.ends_with(
            "---\n\n- We decided 2026-11-13 (yesterday) to ship on 2026-12-01, never on a Friday.\n"
        ),
        "{kept}"
    );
    assert_eq!(Topic::read(&kept).trust, Some(Trust::Assistant));
    assert_eq!(draft.after.get(&path(today)), before.get(&path(today)));
    // Lines appended behind the mark are read next time, into the same memory.
    before = draft.after;
    let more = format!(
        "{}- Ann prefers the staging cluster in Oslo.\n",
        text(&before, log)
    );
    put(&mut before, log, &more);
    let kept = text(&dream(&before).after, "project_log_2026-11-14.md");
    assert!(
        kept.ends_with("Friday.\n- Ann prefers the staging cluster in Oslo.\n"),
        "{kept}"
    );
}

#[test]
fn nothing_to_do_is_nothing_done() {
    let before = with(&[("MEMORY.md", "- [A](a.md)\n"), ("a.md", "x\n")]);
    assert_eq!(dream(&before).changes, []);
    assert_eq!(dream(&Snapshot::new()).after, Snapshot::new());
    let empty = check(&before, &before, &declared(), &limits()).unwrap();
    assert!(empty.is_empty());
}

#[test]
fn what_could_not_be_written_again_is_left_alone() {
    let key = format!("The key is AKIA{}.", "QWERTYUIOPASDFGH");
    let long = format!("{}\nSee [[c]].\n", "Filler words. ".repeat(9_000));
    let log = "logs/2026/11/2026-11-14.md";
    let before = with(&[
        ("long.md", &long),
        (
            "secret.md",
            &format!("{RULE}\n{key} It was so yesterday.\n"),
        ),
        ("a.md", RULE),
        ("b.md", &format!("{RULE} See [[a]].")),
        ("c.md", &format!("{RULE} And more.")),
        (log, &format!("- We decided: {key}\n")),
    ]);
    let draft = dream(&before);
    for name in ["long.md", "secret.md", log] {
        assert_eq!(draft.after.get(&path(name)), before.get(&path(name)));
    }
    assert!(draft.after.get(&path("a.md")).is_none());
    assert!(draft.after.get(&path("c.md")).is_some());
}
