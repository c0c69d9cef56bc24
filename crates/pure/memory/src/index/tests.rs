//! Tests of the index.

use super::*;
use crate::snapshot::{Snapshot, StoredFile};
use dormouse_core::units::Millis;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

const TODAY: jiff::civil::Date = jiff::civil::date(2026, 11, 16);
const LIMITS: Limits = Limits {
    lines: 200,
    bytes: 25_000,
};

fn facts(past: &IndexPast) -> IndexFacts<'_> {
    IndexFacts {
        today: TODAY,
        limits: LIMITS,
        past,
        missing: Missing::Keep,
    }
}

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
    let past = IndexPast::default();
    assert!(drift(&snapshot, &facts(&past)).is_none());
    assert_eq!(mended(&snapshot, &facts(&past)), snapshot.index());
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
        // A hook may hold links of its own.
        prop_assert!(!found.is_empty(), "{}", line);
        prop_assert_eq!(found[0].path.as_str(), "some-file.md");
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
