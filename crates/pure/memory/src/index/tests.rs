//! Tests of the index.

use super::*;
use crate::snapshot::{Snapshot, StoredFile};
use dormouse_core::units::Millis;
use dormouse_guard::paths::SafePath;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

const TODAY: jiff::civil::Date = jiff::civil::date(2026, 11, 16);
const LIMITS: Limits = Limits {
    lines: 200,
    bytes: 25_000,
};

fn with(files: &[(&str, &str)]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for (name, text) in files {
        let file = StoredFile {
            content: (*text).to_owned().into(),
            modified: Millis(0),
        };
        snapshot.insert(SafePath::parse(name).unwrap(), file);
    }
    snapshot
}

#[test]
fn lines_are_cut_first_then_bytes_at_a_newline() {
    let short = "- [a](a.md) — b\n".repeat(200);
    assert_eq!(load(&short, LIMITS).cut, None);
    let many = "- [a](a.md) — b\n".repeat(238);
    let loaded = load(&many, LIMITS);
    let cut = loaded.cut.unwrap();
    assert_eq!((cut.lines_shown, cut.lines), (200, 238));
    assert!(loaded.text.starts_with(&short));
    assert!(
        loaded
            .text
            .lines()
            .last()
            .unwrap()
            .contains("only 200 of its 238 lines")
    );
    let long = format!("{}\n", "x".repeat(999)).repeat(40);
    let loaded = load(&long, LIMITS);
    assert_eq!(loaded.cut.unwrap().bytes_shown, 25_000);
    let unbroken = "é".repeat(20_000);
    assert_eq!(load(&unbroken, LIMITS).cut.unwrap().bytes_shown, 25_000);
}

#[test]
fn a_text_that_ends_exactly_at_a_limit_is_whole() {
    let text = "x\n".repeat(200);
    assert_eq!(load(&text, LIMITS).cut, None);
    let text = "x".repeat(25_000);
    assert_eq!(load(&text, LIMITS).text, text);
}

#[test]
fn lines_of_many_hands_are_understood() {
    let text = "# Memory\n- [A](a.md) — hook\n* [B](./b.md): other\n- [web](https://x.y) no\n- plain\n- [C](c.md)\n";
    let found: Vec<(String, String, usize)> = entries(text)
        .into_iter()
        .map(|entry| (entry.target, entry.hook, entry.line))
        .collect();
    let expected = [("a.md", "hook", 2), ("b.md", "other", 3), ("c.md", "", 6)];
    assert_eq!(
        found,
        expected.map(|(target, hook, line)| (target.into(), hook.into(), line))
    );
}

#[test]
fn a_line_is_replaced_in_place_or_put_at_the_end() {
    let text = "# Mine\n- [A](a.md) — old\nremark";
    assert_eq!(
        with_entry(text, "A", "a.md", "new"),
        "# Mine\n- [A](a.md) — new\nremark"
    );
    assert_eq!(
        with_entry(text, "B", "b.md", ""),
        "# Mine\n- [A](a.md) — old\nremark\n- [B](b.md)\n"
    );
    assert_eq!(without(text, "a.md"), "# Mine\nremark");
}

#[test]
fn drift_is_found_and_mended_and_nothing_else_changes() {
    let index = "# Mine\n- [A](a.md) — x\n- [Gone](gone.md)\n- [A again](a.md)\nremark\n";
    let files = [
        ("MEMORY.md", index),
        ("a.md", ""),
        ("b.md", "---\nname: B\ndescription: bee\n---\n"),
    ];
    let snapshot = with(&files);
    let found = drift(&snapshot, TODAY);
    assert_eq!(found.dangling[0].target, "gone.md");
    assert_eq!(found.repeated[0].line, 4);
    assert_eq!(found.unlisted[0].as_str(), "b.md");
    let mended = reconciled(&snapshot, TODAY);
    assert_eq!(
        mended,
        "# Mine\n- [A](a.md) — x\nremark\n- [B](b.md) — bee\n"
    );
}

#[test]
fn the_generated_index_is_by_type_and_has_no_drift() {
    let files = [
        ("p.md", "---\nname: P\ntype: project\n---\n"),
        ("u.md", "---\nname: U\ntype: user\n---\n"),
        ("old.md", "---\nname: O\nsuperseded_by: p.md\n---\n"),
        ("past.md", "---\nname: X\nvalid_until: 2026-01-01\n---\n"),
        ("pinned/f.md", "---\nname: F\ntype: feedback\n---\n"),
    ];
    let mut snapshot = with(&files);
    let text = generated(&snapshot, TODAY);
    assert_eq!(
        text,
        "# Memory\n\n## Pinned\n\n- [F](pinned/f.md)\n\n## User\n\n- [U](u.md)\n\n## Project\n\n- [P](p.md)\n"
    );
    let file = StoredFile {
        content: text.into(),
        modified: Millis(0),
    };
    snapshot.insert(SafePath::parse("MEMORY.md").unwrap(), file);
    assert!(drift(&snapshot, TODAY).is_none());
}

#[test]
fn whoever_writes_is_warned_before_lines_vanish() {
    assert_eq!(nearness(&"x\n".repeat(100), LIMITS), None);
    assert!(
        nearness(&"x\n".repeat(180), LIMITS)
            .unwrap()
            .contains("180 of 200 lines")
    );
}

proptest! {
    #[test]
    fn a_line_is_read_back_and_never_too_long(title in "\\PC{1,60}", hook in "\\PC{0,300}") {
        let line = line(&title, "some-file.md", &hook);
        prop_assert!(line.chars().count() <= LONGEST_LINE);
        let found = entries(&line);
        // A title of blanks and brackets alone leaves nothing to show.
        prop_assume!(!title.replace(['[', ']'], "").trim().is_empty());
        prop_assert_eq!(found.len(), 1, "{}", line);
        prop_assert_eq!(&found[0].target, "some-file.md");
    }

    #[test]
    fn loading_never_exceeds_the_limits(text in "([a-z]{0,30}\n){0,40}[a-z]{0,80}", lines in 1_usize..20, bytes in 1_usize..300) {
        let loaded = load(&text, Limits { lines, bytes });
        match loaded.cut {
            None => prop_assert_eq!(loaded.text, text),
            Some(cut) => {
                prop_assert!(cut.lines_shown <= lines && cut.bytes_shown <= bytes);
                prop_assert!(loaded.text.starts_with(&text[..cut.bytes_shown]));
            }
        }
    }
}

#[test]
fn a_hook_does_not_repeat_the_title() {
    let cases = [
        ("Use tabs", "Use tabs.", "- [Use tabs](a.md)"),
        ("Use tabs", "use tabs", "- [Use tabs](a.md)"),
        (
            "Freeze",
            "Freeze: no merges",
            "- [Freeze](a.md) — no merges",
        ),
        (
            "Freeze",
            "Freezes are rare",
            "- [Freeze](a.md) — Freezes are rare",
        ),
        (
            "Freeze",
            "Freeze of March",
            "- [Freeze](a.md) — Freeze of March",
        ),
        ("", "hook", "- [](a.md) — hook"),
        ("ä", "a", "- [ä](a.md) — a"),
    ];
    for (title, hook, expected) in cases {
        assert_eq!(
            super::line(title, "a.md", hook),
            expected,
            "{title} / {hook}"
        );
    }
}
