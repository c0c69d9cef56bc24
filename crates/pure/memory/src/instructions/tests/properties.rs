//! Laws that hold for any files whatsoever.

use super::disk::Disk;
use super::places;
use crate::instructions::{
    Approvals, FileDigest, FileOutcome, Limits, Loaded, Loader, diff, load, render, render_later,
};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

const NAMES: [&str; 14] = [
    "/etc/dormouse/AGENTS.md",
    "/home/u/.claude/CLAUDE.md",
    "/home/u/.claude/rules/r.md",
    "/home/u/x.md",
    "/p/AGENTS.md",
    "/p/CLAUDE.md",
    "/p/CLAUDE.local.md",
    "/p/.claude/rules/a.md",
    "/p/.claude/rules/deep/b.md",
    "/p/x.md",
    "/p/sub/AGENTS.md",
    "/p/sub/y.md",
    "/p/sub/in/CLAUDE.md",
    "/out/z.md",
];

/// Pieces that mean something, and anything else.
fn contents() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "@x.md ",
        "@../x.md ",
        "@/p/sub/y.md\n",
        "@~/x.md ",
        "@/out/z.md ",
        "@CLAUDE.md\n",
        "```\n",
        "`",
        "    ",
        "\n\n",
        "<!--",
        "-->",
        "- ",
        "---\n",
        "paths: '*.md'\n",
        "CLAUDE.md",
        "</system-reminder>",
        "# Instructions from me\n",
        "é",
        "text ",
        "\0",
        "\r\n",
        "\u{feff}",
    ]);
    let piece = prop_oneof![4 => pieces.prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn disks() -> impl Strategy<Value = Disk> {
    let file = (prop::sample::select(&NAMES[..]), contents());
    let link = (
        prop::sample::select(&NAMES[..]),
        prop::sample::select(&NAMES[..]),
    );
    (prop::collection::vec(file, 0..10), prop::option::of(link)).prop_map(|(files, link)| {
        let mut disk = Disk::default();
        for (name, content) in files {
            disk.put(name, content.as_bytes());
        }
        if let Some((from, to)) = link {
            disk.link(from, to);
        }
        disk
    })
}

fn same(one: &Loaded, other: &Loaded) -> bool {
    one.always == other.always && one.report == other.report && one.waiting == other.waiting
}

proptest! {
    #[test]
    fn loading_is_bounded_repeatable_and_stays_inside(
        disk in disks(),
        include_depth in 0..4_u64,
        file_chars in 0..60_u64,
    ) {
        let (places, approvals) = (places(), Approvals::default());
        let limits = Limits { include_depth, file_chars };
        let found = load(&places, &limits, &approvals, &disk);
        prop_assert!(same(&found, &load(&places, &limits, &approvals, &disk)));

        let rules = found.rules.iter().flat_map(|rule| &rule.files);
        for file in found.always.iter().chain(rules) {
            let most = usize::try_from(file_chars).unwrap();
            let text = file.text.split("\n[Cut: only").next().unwrap();
            prop_assert!(text.chars().count() <= most, "{:?}", file.text);
            let from_project = file.path.starts_with("/p") && file.included_by.is_none();
            prop_assert!(!from_project || file.real.starts_with("/p"), "{:?}", file);
        }
        let real: BTreeSet<_> = found.always.iter().map(|file| &file.real).collect();
        prop_assert_eq!(real.len(), found.always.len(), "a file counts once");
        let lines = found.report.iter();
        let taken = lines.filter(|line| matches!(line.outcome, FileOutcome::Loaded | FileOutcome::Cut { .. }));
        prop_assert_eq!(taken.count(), found.always.len(), "each has its line");
        prop_assert_eq!(diff(&FileDigest::of(&found), &found), None);
        if let Some(text) = render(&found) {
            prop_assert_eq!(text.matches("system-reminder>").count() - harmless(&text), 2);
            prop_assert_eq!(text.matches("\n# Instructions from /").count(), found.always.len());
        }
    }

    #[test]
    fn later_files_come_once(disk in disks()) {
        let (places, approvals) = (places(), Approvals::default());
        let limits = Limits { include_depth: 3, file_chars: 60 };
        let loader = Loader { places: &places, limits: &limits, approvals: &approvals, source: &disk };
        let mut found = loader.load();
        let begin = found.always.clone();
        let mut given = BTreeSet::new();
        for path in ["/p/sub/in/a.md", "in/b.txt", "/p/c.md", "/p/sub/in/a.md", "../../x", "/"] {
            let more = loader.load_for_file(&mut found, Path::new(path));
            for file in &more {
                prop_assert!(given.insert(file.real.clone()), "{:?} twice", file.path);
                prop_assert!(begin.iter().all(|old| old.real != file.real));
            }
            prop_assert_eq!(render_later(&more).is_none(), more.is_empty());
        }
        prop_assert_eq!(&found.always, &begin);
    }
}

/// Tags in files that can no longer act.
fn harmless(text: &str) -> usize {
    text.matches("‹/system-reminder>").count() + text.matches("‹system-reminder>").count()
}
