//! Tests of mending: a person's bytes stay, Dormouse's lines follow the files.

use super::*;
use crate::snapshot::{Snapshot, StoredFile};
use dormouse_core::units::Millis;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    lines: 200,
    bytes: 25_000,
};

fn path(text: &str) -> SafePath {
    SafePath::parse(text).unwrap()
}

fn with(files: &[(&str, &str)]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for (name, text) in files {
        put_file(&mut snapshot, name, text);
    }
    snapshot
}

fn put_file(snapshot: &mut Snapshot, name: &str, text: &str) {
    let file = StoredFile {
        content: text.to_owned().into(),
        modified: Millis(0),
    };
    snapshot.insert(path(name), file);
}

fn facts(past: &IndexPast) -> IndexFacts<'_> {
    IndexFacts {
        today: jiff::civil::date(2026, 11, 16),
        limits: LIMITS,
        past,
        missing: Missing::Keep,
    }
}

fn mend(snapshot: &Snapshot) -> String {
    mended(snapshot, &facts(&IndexPast::default()))
}

fn topic(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nText.\n")
}

/// A folder of which only a part was synced: 17 of 194 files are here.
#[test]
fn lines_of_a_half_synced_folder_stay_and_are_told() {
    let lines: Vec<String> = (0..194)
        .map(|number| format!("- [Note {number}](note_{number}.md) — in my own words, {number}\n"))
        .collect();
    let index = format!("# Notes of mine\n\n{}", lines.concat());
    let mut snapshot = with(&[("MEMORY.md", &index)]);
    for number in 0..17 {
        let text = topic(&format!("Note {number}"), "other words");
        put_file(&mut snapshot, &format!("note_{number}.md"), &text);
    }
    assert_eq!(mend(&snapshot), index);
    let past = IndexPast::default();
    let found = drift(&snapshot, &facts(&past));
    assert_eq!((found.missing.len(), found.mendable), (177, false));
    // The user may say that they are gone for good.
    let wish = IndexFacts {
        missing: Missing::Remove,
        ..facts(&past)
    };
    assert_eq!(mended(&snapshot, &wish).lines().count(), 2 + 17);
}

#[test]
fn lines_of_a_person_are_never_cut_merged_or_moved() {
    let long = "word ".repeat(60);
    let index = format!(
        "Intro with [A](a.md) and [B](b.md).\n- [A](a.md) — {long}\n- [A again](a.md)\n- [Out](../x.md)\n\n* [Old](old.md): mine\n```\n- [C](c.md)\n```"
    );
    let snapshot = with(&[
        ("MEMORY.md", &index),
        ("a.md", &topic("A", "a")),
        ("b.md", &topic("B", "b")),
        ("c.md", &topic("C", "sea")),
        ("old.md", "---\nname: Old\nsuperseded_by: a.md\n---\n"),
    ]);
    assert_eq!(mend(&snapshot), format!("{index}\n- [C](c.md) — sea\n"));
    let found = drift(&snapshot, &facts(&IndexPast::default()));
    assert_eq!(found.unlisted, [path("c.md")]);
    assert_eq!(
        (found.repeated.len(), found.long.len(), found.over.len()),
        (1, 1, 1)
    );
}

#[test]
fn a_line_that_dormouse_made_follows_its_file() {
    let mut past = IndexPast::default();
    past.add_version(&path("a.md"), &topic("A", "old"));
    let index = "- [A](a.md) — old\r\n- [B](b.md) — old\r\nmine\n";
    let snapshot = with(&[
        ("MEMORY.md", index),
        ("a.md", &topic("A", "new")),
        ("b.md", &topic("B", "new")),
    ]);
    let found = drift(&snapshot, &facts(&past));
    assert_eq!(found.outdated.len(), 1);
    assert_eq!(
        mended(&snapshot, &facts(&past)),
        "- [A](a.md) — new\r\n- [B](b.md) — old\r\nmine\n"
    );
    // A person's line that repeats an earlier description is told and stays.
    let by_hand = "* [Mine](a.md): old\n- [B](b.md) — old\n";
    let snapshot = {
        let mut snapshot = snapshot;
        put_file(&mut snapshot, "MEMORY.md", by_hand);
        snapshot
    };
    assert_eq!(mended(&snapshot, &facts(&past)), by_hand);
    assert_eq!(drift(&snapshot, &facts(&past)).stale[0].line, 1);
}

#[test]
fn a_line_goes_only_with_a_file_that_dormouse_removed() {
    let index = "- [A](a.md) — mine\n- [B](b.md) — mine\nSee [A](a.md).\n";
    let mut past = IndexPast::default();
    past.add_removal(&path("a.md"), index);
    let snapshot = with(&[("MEMORY.md", index)]);
    assert_eq!(
        mended(&snapshot, &facts(&past)),
        "- [B](b.md) — mine\nSee [A](a.md).\n"
    );
    let found = drift(&snapshot, &facts(&past));
    assert_eq!(
        (found.removable.len(), found.left.len(), found.missing.len()),
        (1, 1, 1)
    );
    // A line that was written after the removal is about another file of that name.
    let newer = "- [A](a.md) — newer\n";
    let snapshot = with(&[("MEMORY.md", newer)]);
    assert_eq!(mended(&snapshot, &facts(&past)), newer);
}

#[test]
fn own_lines_of_what_is_over_or_listed_by_a_person_go() {
    let over = "---\nname: Old\ndescription: old\nvalid_until: 2026-01-01\n---\n";
    let index = "- [Old](old.md)\n* [Mine](a.md)\n- [A](a.md) — first\n- [B](b.md) — second\n- [B](b.md) — second\n";
    let snapshot = with(&[
        ("MEMORY.md", index),
        ("old.md", over),
        ("a.md", &topic("A", "first")),
        ("b.md", &topic("B", "second")),
    ]);
    assert_eq!(mend(&snapshot), "* [Mine](a.md)\n- [B](b.md) — second\n");
}

#[test]
fn an_index_that_ends_in_code_or_html_still_gets_its_lines() {
    for index in [
        "```\nopen\n",
        "<details>\n<b>x</b>\n",
        "<!-- open\n",
        "text",
    ] {
        let snapshot = with(&[("MEMORY.md", index), ("a.md", &topic("A", "a"))]);
        let text = mend(&snapshot);
        assert!(text.contains(index.trim_end()), "{text}");
        assert_eq!(entries(&text).len(), 1, "{text}");
        let mut again = snapshot.clone();
        put_file(&mut again, "MEMORY.md", &text);
        assert_eq!(mend(&again), text);
    }
}

#[test]
fn three_hundred_memories_have_one_index_that_is_right() {
    let mut snapshot = with(&[("MEMORY.md", "# Mine\n- [M7](m007.md) — by hand\n")]);
    for number in 0..300 {
        let text = topic(&format!("M{number}"), &format!("fact {number}"));
        put_file(&mut snapshot, &format!("m{number:03}.md"), &text);
    }
    let text = mend(&snapshot);
    assert!(text.starts_with("# Mine\n- [M7](m007.md) — by hand\n"));
    assert_eq!(text.lines().count(), 200);
    assert!(
        text.ends_with("102 have no line; searching memory finds them.\n"),
        "{text}"
    );
    put_file(&mut snapshot, "MEMORY.md", &text);
    let found = drift(&snapshot, &facts(&IndexPast::default()));
    assert!(found.is_none(), "{found:?}");
    assert_eq!((found.unfit, found.unlisted.len()), (102, 0));
}

#[test]
fn a_person_who_fills_the_index_keeps_every_line() {
    let index = "my own line\n".repeat(250);
    let snapshot = with(&[("MEMORY.md", &index), ("a.md", &topic("A", "a"))]);
    assert_eq!(mend(&snapshot), index);
    let found = drift(&snapshot, &facts(&IndexPast::default()));
    assert_eq!((found.mendable, found.unfit), (false, 1));
}

/// Line as people, other tools or Dormouse write it.
fn any_line() -> impl Strategy<Value = String> {
    let plain = prop::sample::select(vec![
        "# Heading",
        "",
        "text",
        "```",
        "<!--",
        "-->",
        "    code",
        "> quote",
        "| a | b |",
        "- [Out](../o.md)",
        "- item",
        "[r]: a.md",
        "  more",
        "---",
    ]);
    let link = (
        "[a-h]",
        prop::sample::select(vec!["", " — own words", ": x", " — a", "…"]),
        0..6_u8,
    )
        .prop_map(|(name, hook, form)| match form {
            0 => format!("* [T]({name}.md){hook}"),
            1 => format!("see [T]({name}.md){hook}"),
            2 => format!("- [[{name}]]{hook}"),
            3 => format!("- [{name}]({name}.md){hook}"),
            4 => format!("  - [T]({name}.md){hook}"),
            _ => format!("- [T]({name}.md), [U](b.md){hook}"),
        });
    prop_oneof![2 => plain.prop_map(str::to_owned), 3 => link]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_persons_lines_stay_in_order_and_mending_comes_to_rest(
        lines in prop::collection::vec(any_line(), 0..14),
        files in prop::collection::btree_map("[a-h]", prop::sample::select(vec!["a", "b", ""]), 0..6),
        end in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let mut index = String::new();
        for line in &lines {
            index.push_str(line);
            index.push_str(end);
        }
        let mut snapshot = with(&[("MEMORY.md", &index)]);
        for (name, description) in &files {
            put_file(&mut snapshot, &format!("{name}.md"), &topic(name, description));
        }
        let own: Vec<String> = files.iter().map(|(name, description)| {
            let text = topic(name, description);
            line_of(&path(&format!("{name}.md")), &Topic::read(&text))
        }).collect();
        let text = mend(&snapshot);
        // Lines that could be made again from the files may go; every other one stays.
        let mut rest = text.as_str();
        for line in index.split_inclusive('\n') {
            let bare = line.trim_end_matches(['\r', '\n']);
            if own.iter().any(|own| own == bare) { continue; }
            let at = rest.find(line);
            prop_assert!(at.is_some(), "{:?} is gone:\n{}\n{}", line, index, text);
            rest = &rest[at.unwrap_or(0) + line.len()..];
        }
        for name in files.keys() {
            let linked = entries(&text).iter().any(|link| link.path.as_str() == format!("{name}.md"));
            prop_assert!(linked, "{}:\n{}", name, text);
        }
        put_file(&mut snapshot, "MEMORY.md", &text);
        prop_assert_eq!(mend(&snapshot), text);
        prop_assert!(!drift(&snapshot, &facts(&IndexPast::default())).mendable);
    }
}

#[test]
fn untrusted_memories_have_no_line() {
    let claim = |trust: &str| format!("---\nname: Note\ndescription: d\n{trust}---\nText.\n");
    for (trust, listed) in [
        ("", true),
        ("trust: user\n", true),
        ("trust: assistant\n", true),
        ("trust: tool-output\n", false),
        ("trust: external\n", false),
        ("trust: untrusted\n", false),
        // A level of a newer version.
        ("trust: supreme\n", false),
    ] {
        let text = claim(trust);
        let line = "- [Note](n.md) — d\n";
        let new = with(&[("n.md", &text)]);
        assert_eq!(mend(&new).contains("(n.md)"), listed, "{trust:?}");
        // A line that it got before goes; one that a person wrote stays.
        let old = with(&[("n.md", &text), ("MEMORY.md", line)]);
        assert_eq!(mend(&old).contains("(n.md)"), listed, "{trust:?}");
        let by_hand = "- [My own](n.md) words\n";
        let old = with(&[("n.md", &text), ("MEMORY.md", by_hand)]);
        assert_eq!(mend(&old), by_hand, "{trust:?}");
        // A memory that loses its trust loses its line at once.
        let relisted = relisted(line, &path("n.md"), Some(&claim("")), &text);
        assert_eq!(relisted.contains("(n.md)"), listed, "{trust:?}");
    }
}
