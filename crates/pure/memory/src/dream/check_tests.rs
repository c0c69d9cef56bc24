//! Tests of the check: bad results are refused whole, with every reason.

use super::*;
use crate::dream::testing::{declared, limits, path, put, text, with};
use crate::dream::{Excerpt, Loss, Merge, stamped};
use crate::trust::Trust;
use pretty_assertions::assert_eq;

const RULE: &str = "---\nname: Tests\ndescription: Tests use the real database\ntype: feedback\ntrust: assistant\nnode: 7\norigin: {speaker: assistant, time: \"2026-11-01T10:00:00Z\"}\n---\n\nIntegration tests use the real database on port 5432.\nNever mock the billing service.\n";
const PEOPLE: &str = "---\nname: People\ndescription: Who does what\ntype: project\n---\n\nAnn owns the release train. Bob reviews migrations.\n";

fn before() -> Snapshot {
    with(&[
        (
            "MEMORY.md",
            "- [Tests](tests.md) — Tests use the real database\n- [People](people.md) — Who does what\n- [P](pinned/p.md)\n- [X](x.md) — Cache\n",
        ),
        ("tests.md", RULE),
        ("people.md", PEOPLE),
        ("pinned/p.md", "Pinned.\n"),
        (
            "x.md",
            "---\nname: X\ndescription: Cache\ntype: reference\ntrust: external\n---\n\nThe cache page says to restart Redis nightly.\n",
        ),
        (
            "logs/2026/11/2026-11-14.md",
            "- We picked Oslo for the demo tomorrow.\n",
        ),
    ])
}

/// Objections to a result, as text.
fn objections(change: impl FnOnce(&mut Snapshot, &mut Declared)) -> Vec<String> {
    let before = before();
    let (mut after, mut declared) = (before.clone(), declared());
    change(&mut after, &mut declared);
    match check(&before, &after, &declared, &limits()) {
        Ok(transaction) => {
            assert_eq!(
                transaction.applied(&before, crate::dream::testing::WRITTEN),
                after
            );
            Vec::new()
        }
        Err(all) => all.iter().map(ToString::to_string).collect(),
    }
}

/// Change of the staged copy and of the declaration, as a dream would make it.
type Change = fn(&mut Snapshot, &mut Declared);

fn edit(snapshot: &mut Snapshot, name: &str, from: &str, to: &str) {
    let old = text(snapshot, name);
    assert!(old.contains(from), "{name} has no {from}");
    put(snapshot, name, &old.replace(from, to));
}

#[test]
fn faithful_changes_pass() {
    let good: [(&str, Change); 7] = [
        ("nothing", |_, _| {}),
        ("reworded", |s, _| {
            edit(
                s,
                "tests.md",
                "Integration tests use the real database on port 5432.",
                "The real database on port 5432 is used by integration tests.",
            );
        }),
        ("moved, with its trust", |s, d| {
            let moved = "Never mock the billing service.\n";
            edit(s, "tests.md", moved, "");
            put(
                s,
                "billing.md",
                "---\nname: Billing\ndescription: Never mock the billing service\ntype: feedback\ntrust: assistant\nnode: 7\n---\n\nNever mock the billing service.\n",
            );
            edit(
                s,
                "MEMORY.md",
                "- [P]",
                "- [Billing](billing.md) — Never mock the billing service\n- [P]",
            );
            d.merges.push(Merge {
                into: path("billing.md"),
                sources: vec![path("tests.md")],
            });
        }),
        ("from a log, with the date it means", |s, _| {
            edit(
                s,
                "people.md",
                "migrations.\n",
                "migrations. Oslo was picked for the demo on 2026-11-15.\n",
            );
            edit(
                s,
                "people.md",
                "type: project",
                "type: project\ntrust: assistant",
            );
        }),
        ("from an excerpt", |s, d| {
            edit(
                s,
                "people.md",
                "migrations.\n",
                "migrations. Cleo runs the help desk.\n",
            );
            d.excerpts.push(Excerpt {
                text: "Cleo runs the help desk now".into(),
                trust: Trust::User,
                day: None,
            });
        }),
        ("one small loss", |s, _| {
            s.remove(&path("x.md"));
            edit(s, "MEMORY.md", "- [X](x.md) — Cache\n", "");
        }),
        ("a heading", |s, _| {
            edit(s, "people.md", "Ann owns", "## Roles\n\nAnn owns");
        }),
    ];
    for (name, change) in good {
        assert_eq!(objections(change), Vec::<String>::new(), "{name}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn bad_results_are_refused_with_a_reason() {
    let bad: [(&str, Change); 19] = [
        ("`pinned/p.md` is pinned and was touched", |s, _| {
            edit(s, "pinned/p.md", "Pinned", "Changed");
        }),
        ("`logs/2026/11/2026-11-14.md` is a log", |s, _| {
            edit(s, "logs/2026/11/2026-11-14.md", "Oslo", "Bergen");
        }),
        (
            "line 2 of MEMORY.md points to `people.md`, which does not exist",
            |s, _| {
                s.remove(&path("people.md"));
            },
        ),
        ("`people.md` has no line in MEMORY.md", |s, _| {
            edit(
                s,
                "MEMORY.md",
                "- [People](people.md) — Who does what\n",
                "",
            );
        }),
        (
            "line 3 of MEMORY.md points to `tests.md`, which has a line already",
            |s, _| {
                edit(s, "MEMORY.md", "- [P]", "- [T](tests.md)\n- [P]");
            },
        ),
        ("MEMORY.md has 304 lines and", |s, _| {
            let more = "\n".repeat(300);
            edit(s, "MEMORY.md", "- [P]", &format!("{more}- [P]"));
        }),
        ("line 1 of MEMORY.md is not the line of a memory", |s, _| {
            edit(
                s,
                "MEMORY.md",
                "- [Tests]",
                "Ann owns the release train.\n- [Tests]",
            );
        }),
        (
            "`MEMORY.md` states what no source states: - [People](people.md) — Zoe leads everything",
            |s, _| {
                edit(s, "MEMORY.md", "Who does what", "Zoe leads everything");
            },
        ),
        ("`people.md` has no valid `description`", |s, _| {
            edit(s, "people.md", "description: Who does what\n", "");
        }),
        ("`people.md` has no valid `type`", |s, _| {
            edit(s, "people.md", "project", "dragon");
        }),
        ("`tests.md` lost the key `node`", |s, _| {
            edit(s, "tests.md", "node: 7\n", "");
        }),
        (
            "`people.md` states what no source states: Dora pays the bills.",
            |s, _| {
                edit(
                    s,
                    "people.md",
                    "Bob reviews",
                    "Dora pays the bills. Bob reviews",
                );
            },
        ),
        (
            "states what no source states: Integration tests use the real database on port 9999.",
            |s, _| {
                edit(s, "tests.md", "5432", "9999");
            },
        ),
        (
            "states what no source states: Mock the billing service.",
            |s, _| {
                edit(s, "tests.md", "Never mock", "Mock");
            },
        ),
        (
            "`tests.md` is trusted as user, but what it was made of only as assistant",
            |s, _| {
                edit(s, "tests.md", "trust: assistant", "trust: user");
            },
        ),
        (
            "`people.md` is trusted as user, but what it was made of only as external",
            |s, _| {
                edit(
                    s,
                    "people.md",
                    "Bob reviews",
                    "Restart Redis nightly, says the cache page. Bob reviews",
                );
            },
        ),
        (
            "`people.md` is trusted as user, but what it was made of only as external",
            |s, _| {
                // The line of an untrusted memory is no better than the memory.
                edit(
                    s,
                    "people.md",
                    "Bob reviews",
                    "The cache page of x. Bob reviews",
                );
            },
        ),
        (
            "`sub/MEMORY.md` states what no source states: Zoe leads everything.",
            |s, _| put(s, "sub/MEMORY.md", "Zoe leads everything.\n"),
        ),
        (
            "`people.md` is said to be made of `none.md`, which does not exist",
            |s, d| {
                edit(s, "people.md", "Ann owns", "## Roles\n\nAnn owns");
                d.merges.push(Merge {
                    into: path("people.md"),
                    sources: vec![path("none.md")],
                });
            },
        ),
    ];
    for (expected, change) in bad {
        let found = objections(change);
        assert!(
            found.iter().any(|objection| objection.contains(expected)),
            "{expected}\n{found:#?}"
        );
    }
}

#[test]
fn losses_need_reasons_beyond_the_limit() {
    let lose = |s: &mut Snapshot| {
        for (name, line) in [
            ("x.md", "- [X](x.md) — Cache\n"),
            ("people.md", "- [People](people.md) — Who does what\n"),
        ] {
            s.remove(&path(name));
            edit(s, "MEMORY.md", line, "");
        }
    };
    assert_eq!(
        objections(|s, _| lose(s)),
        ["2 of 4 memories are lost, and not each with a reason: people.md, x.md"]
    );
    let stated = |s: &mut Snapshot, d: &mut Declared, reason: &str| {
        lose(s);
        for (name, reason) in [("x.md", "the page is gone"), ("people.md", reason)] {
            let (path, reason) = (path(name), reason.into());
            d.losses.push(Loss { path, reason });
        }
    };
    assert_eq!(
        objections(|s, d| stated(s, d, "they left")),
        Vec::<String>::new()
    );
    assert_eq!(objections(|s, d| stated(s, d, " ")).len(), 1);
    // Emptying files is losing them.
    let emptied = objections(|s, _| {
        edit(
            s,
            "people.md",
            "Ann owns the release train. Bob reviews migrations.",
            "",
        );
        edit(
            s,
            "tests.md",
            "Integration tests use the real database on port 5432.\nNever mock the billing service.",
            "",
        );
    });
    assert_eq!(emptied.len(), 1, "{emptied:?}");
}

#[test]
fn code_writes_down_what_a_model_leaves_out() {
    let log = "logs/2026/11/2026-11-14.md";
    let before = before();
    let (mut staged, mut declared) = (before.clone(), declared());
    put(
        &mut staged,
        "demo.md",
        "---\nname: Demo\ndescription: Oslo was picked for the demo\ntype: project\n---\n\nOslo was picked for the demo on 2026-11-15.\n",
    );
    edit(
        &mut staged,
        "MEMORY.md",
        "- [P]",
        "- [Demo](demo.md) — Oslo was picked for the demo\n- [P]",
    );
    declared.merges.push(Merge {
        into: path("demo.md"),
        sources: vec![path(log)],
    });
    assert!(check(&before, &staged, &declared, &limits()).is_err());
    let after = stamped(&before, &staged, &declared, &limits());
    assert_eq!(
        Topic::read(&text(&after, "demo.md")).trust,
        Some(Trust::Assistant)
    );
    assert!(text(&after, log).ends_with("<!-- distilled -->\n"));
    let checked = check(&before, &after, &declared, &limits());
    assert!(checked.is_ok(), "{checked:#?}");
    assert_eq!(stamped(&before, &after, &declared, &limits()), after);
}

#[test]
fn the_limits_are_those_of_the_settings() {
    let settings = dormouse_core::settings::resolve(&[], dormouse_core::settings::Trust::Trusted);
    let expected = limits();
    let found = CheckLimits::from_settings(&settings, expected.today, expected.writing);
    assert_eq!((found.index, found.loss), (expected.index, expected.loss));
}

#[test]
fn every_objection_is_listed() {
    let all = objections(|s, _| {
        edit(s, "pinned/p.md", "Pinned", "Changed");
        edit(s, "tests.md", "trust: assistant", "trust: user");
        edit(s, "people.md", "Bob", "Dora pays bills. Bob");
        s.remove(&path("x.md"));
    });
    assert_eq!(all.len(), 4, "{all:#?}");
}

#[test]
fn a_credential_is_refused_by_whoever_finds_it() {
    let key = format!("AKIA{}", "QWERTYUIOPASDFGH");
    let line = format!("The key of the bucket is {key}.");
    let found = objections(|s, _| {
        edit(
            s,
            "people.md",
            "Bob reviews",
            &format!("{line} Bob reviews"),
        );
    });
    assert!(
        found
            .iter()
            .any(|objection| objection.contains("holds a credential"))
    );
}
