use super::disk::Disk;
use super::{LIMITS, loaded, paths, places, report};
use crate::instructions::{Approvals, FileOutcome, Limits, Loaded, Loader, MemoryIndex, load};
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_order_is_from_general_to_special() {
    let names = [
        "/p/sub/CLAUDE.local.md",
        "/p/AGENTS.local.md",
        "/p/sub/.claude/rules/b/c.md",
        "/p/sub/.claude/rules/a.md",
        "/p/sub/.claude/CLAUDE.md",
        "/p/sub/CLAUDE.md",
        "/p/sub/AGENTS.md",
        "/p/CLAUDE.md",
        "/p/AGENTS.md",
        "/home/u/.claude/rules/u.md",
        "/home/u/.claude/CLAUDE.md",
        "/home/u/.dormouse/AGENTS.md",
        "/etc/claude-code/CLAUDE.md",
        "/etc/dormouse/AGENTS.md",
    ];
    let mut disk = Disk::default();
    for name in names {
        disk.put(name, format!("This is {name}.").as_bytes());
    }
    disk.put("/CLAUDE.md", b"above the project");
    disk.put("/p/sub/below/CLAUDE.md", b"below the working directory");
    let mut places = places();
    places.memory_index = Some(MemoryIndex {
        path: "/m/MEMORY.md".into(),
        text: "- [a](a.md)".to_owned(),
    });
    let found = load(&places, &LIMITS, &Approvals::default(), &disk);
    let mut expected = names.to_vec();
    expected.reverse();
    expected.push("/m/MEMORY.md");
    assert_eq!(paths(&found), expected);

    places.project_root = None;
    let outside = load(&places, &LIMITS, &Approvals::default(), &disk);
    assert!(paths(&outside).contains(&"/CLAUDE.md"));
}

#[test]
fn the_same_file_counts_once() {
    let mut linked = Disk::new(&[("/p/AGENTS.md", "x")]);
    linked.link("/p/CLAUDE.md", "/p/AGENTS.md");
    let cases = [
        (linked, vec!["/p/AGENTS.md"]),
        (
            Disk::new(&[("/p/AGENTS.md", "@CLAUDE.md\n"), ("/p/CLAUDE.md", "x")]),
            vec!["/p/CLAUDE.md"],
        ),
        (
            Disk::new(&[("/p/AGENTS.md", "x"), ("/p/CLAUDE.md", "- @AGENTS.md")]),
            vec!["/p/AGENTS.md"],
        ),
        (
            Disk::new(&[("/p/AGENTS.md", "x"), ("/p/CLAUDE.md", "y\n@AGENTS.md")]),
            vec!["/p/AGENTS.md", "/p/CLAUDE.md"],
        ),
        // A link that was checked out as a file.
        (
            Disk::new(&[("/p/AGENTS.md", "CLAUDE.md"), ("/p/CLAUDE.md", "x")]),
            vec!["/p/CLAUDE.md"],
        ),
        (
            Disk::new(&[("/p/AGENTS.md", "CLAUDE.md")]),
            vec!["/p/AGENTS.md"],
        ),
        (
            Disk::new(&[("/p/AGENTS.md", "AGENTS.md")]),
            vec!["/p/AGENTS.md"],
        ),
        // Copies.
        (
            Disk::new(&[("/p/AGENTS.md", "x"), ("/p/CLAUDE.md", "x")]),
            vec!["/p/AGENTS.md"],
        ),
    ];
    for (disk, expected) in cases {
        assert_eq!(paths(&loaded(&disk)), expected, "{disk:?}");
    }
}

#[test]
fn includes_follow_the_file_that_names_them() {
    let disk = Disk::new(&[
        (
            "/p/CLAUDE.md",
            "See @docs/a.md, @./b.md and `@c.md`. Ask @someone or a@b.md",
        ),
        ("/p/docs/a.md", "a, with @d.md and @../b.md"),
        ("/p/docs/d.md", "d"),
        ("/p/b.md", "b, back to @CLAUDE.md"),
        ("/p/c.md", "c"),
        ("/p/sub/CLAUDE.md", "again @../docs/d.md"),
    ]);
    let found = loaded(&disk);
    assert_eq!(
        report(&found),
        [
            "/p/CLAUDE.md: loaded",
            "/p/docs/a.md: loaded",
            "/p/docs/d.md: loaded",
            "/p/b.md: loaded",
            "/p/CLAUDE.md: skipped: loaded already",
            "/p/b.md: skipped: loaded already",
            "/p/sub/CLAUDE.md: loaded",
            "/p/docs/d.md: skipped: loaded already",
        ]
    );
    assert_eq!(found.always[2].included_by, Some("/p/docs/a.md".into()));
    assert!(found.waiting.is_empty());
}

#[test]
fn includes_end_at_the_depth_limit() {
    let mut disk = Disk::new(&[("/p/CLAUDE.md", "0 @1.md")]);
    for depth in 1..8 {
        disk.put(
            &format!("/p/{depth}.md"),
            format!("{depth} @{}.md", depth + 1).as_bytes(),
        );
    }
    let found = loaded(&disk);
    assert_eq!(found.always.len(), 6);
    assert_eq!(
        report(&found)[6],
        "/p/6.md: skipped: includes are nested too deeply"
    );
    let none = Limits {
        include_depth: 0,
        ..LIMITS
    };
    let found = load(&places(), &none, &Approvals::default(), &disk);
    assert_eq!(paths(&found), ["/p/CLAUDE.md"]);
}

#[test]
fn what_cannot_be_taken_is_reported() {
    let mut disk = Disk::new(&[
        (
            "/p/CLAUDE.md",
            "@x.bin @./none.md @nobody @big.md @dir @/lib @/ui/x @/",
        ),
        ("/p/AGENTS.md", "<!-- nothing but this -->"),
        ("/p/dir/file", ""),
        ("/lib/x", ""),
        ("/home/u/x", ""),
    ]);
    disk.put("/p/x.bin", b"\x89PNG\0");
    disk.put("/p/big.md", &vec![b'x'; 5 * 1024 * 1024]);
    disk.put("/p/sub/CLAUDE.md", "line\n".repeat(100).as_bytes());
    let found = loaded(&disk);
    assert_eq!(
        report(&found),
        [
            "/p/AGENTS.md: empty",
            "/p/CLAUDE.md: loaded",
            "/p/x.bin: skipped: not a UTF-8 text",
            "./none.md: skipped: not there",
            "/p/big.md: skipped: too large",
            "/p/sub/CLAUDE.md: cut: 199 of 499 characters loaded",
        ]
    );
    assert!(found.always[1].text.ends_with(
        "line\n[Cut: only the first 199 of 499 characters of /p/sub/CLAUDE.md are shown. Read the file for the rest.]"
    ));
    assert_eq!(found.report[5].bytes, 500);
    assert!(found.report[5].tokens.get() > 50);
}

#[test]
fn files_outside_the_project_wait_for_approval() {
    let mut disk = Disk::new(&[
        ("/p/CLAUDE.md", "text @~/secret.md @/etc/x.md @inner.md"),
        ("/home/u/secret.md", "s"),
        ("/etc/x.md", "x with @y.md"),
        ("/etc/y.md", "y"),
        ("/home/u/.claude/CLAUDE.md", "mine @~/own.md @/p/project.md"),
        ("/home/u/own.md", "own @more.md"),
        ("/home/u/more.md", "more"),
        ("/p/project.md", "from the project: @/etc/y.md"),
        ("/elsewhere/rules/r.md", "rule"),
        ("/elsewhere/l.md", "linked"),
    ]);
    disk.link("/p/inner.md", "/elsewhere/l.md");
    disk.link("/p/.claude/rules", "/elsewhere/rules");
    disk.link("/p/sub/CLAUDE.md", "/elsewhere/l.md");
    let found = loaded(&disk);
    assert_eq!(
        paths(&found),
        [
            "/home/u/.claude/CLAUDE.md",
            "/home/u/own.md",
            "/home/u/more.md",
            "/p/project.md",
            "/p/CLAUDE.md"
        ]
    );
    let waiting: Vec<_> = found
        .waiting
        .iter()
        .map(|wait| {
            (
                wait.real.to_str().unwrap(),
                wait.included_by.as_deref().and_then(Path::to_str),
            )
        })
        .collect();
    assert_eq!(
        waiting,
        [
            ("/etc/y.md", Some("/p/project.md")),
            ("/home/u/secret.md", Some("/p/CLAUDE.md")),
            ("/etc/x.md", Some("/p/CLAUDE.md")),
            ("/elsewhere/l.md", Some("/p/CLAUDE.md")),
            ("/elsewhere/rules/r.md", None),
            ("/elsewhere/l.md", None),
        ]
    );

    // An approval is for one file, not for what that includes.
    let approvals = Approvals(BTreeSet::from(["/etc/x.md".into()]));
    let found = load(&places(), &LIMITS, &approvals, &disk);
    assert!(paths(&found).contains(&"/etc/x.md"));
    assert!(!paths(&found).contains(&"/etc/y.md"));
}

#[test]
fn rules_hold_for_files_that_match() {
    let disk = Disk::new(&[
        ("/p/CLAUDE.md", "x"),
        (
            "/p/.claude/rules/ts.md",
            "---\npaths:\n  - \"src/**/*.ts\"\n---\nTypes. @../../shared.md",
        ),
        (
            "/p/.claude/rules/tests.md",
            "---\npaths: **/*.test.ts, e2e/*\n---\nTests. @../../shared.md",
        ),
        ("/p/.claude/rules/bad.md", "---\npaths: ['[']\n---\nNever."),
        ("/p/.claude/rules/all.md", "---\npaths: []\n---\nAlways."),
        (
            "/home/u/.claude/rules/md.md",
            "---\npaths: '*.md'\n---\nProse.",
        ),
        ("/p/shared.md", "shared"),
    ]);
    let found = loaded(&disk);
    assert_eq!(paths(&found), ["/p/CLAUDE.md", "/p/.claude/rules/all.md"]);
    assert!(found.report.iter().any(
        |line| matches!(&line.outcome, FileOutcome::BadPatterns { problems } if problems.len() == 1)
    ));
    let texts = |path: &str| -> Vec<String> {
        let files = found.rules_for(Path::new(path));
        files.iter().map(|file| file.text.clone()).collect()
    };
    assert_eq!(
        texts("/p/src/a/b.ts"),
        ["Types. @../../shared.md", "shared"]
    );
    assert_eq!(texts("/p/e2e/x"), ["Tests. @../../shared.md", "shared"]);
    assert_eq!(
        texts("/p/src/b.test.ts"),
        [
            "Tests. @../../shared.md",
            "shared",
            "Types. @../../shared.md"
        ]
    );
    assert_eq!(texts("/p/README.md"), ["Prose."]);
    assert!(texts("/q/README.md").is_empty());
}

#[test]
fn directories_below_are_loaded_when_a_file_there_is_read() {
    let disk = Disk::new(&[
        ("/p/CLAUDE.md", "root"),
        ("/p/sub/x/CLAUDE.md", "x @../../CLAUDE.md"),
        ("/p/sub/x/y/AGENTS.md", "y"),
        ("/p/sub/x/y/AGENTS.local.md", "local"),
        (
            "/p/sub/x/y/.claude/rules/r.md",
            "---\npaths: '*.rs'\n---\nrust",
        ),
        ("/p/sub/x/y/main.rs", ""),
        ("/p/other/CLAUDE.md", "other"),
    ]);
    let (places, approvals) = (places(), Approvals::default());
    let loader = Loader {
        places: &places,
        limits: &LIMITS,
        approvals: &approvals,
        source: &disk,
    };
    let mut found = loader.load();
    let more = |found: &mut Loaded, path: &str| -> Vec<String> {
        let files = loader.load_for_file(found, Path::new(path));
        files.into_iter().map(|file| file.text).collect()
    };
    assert_eq!(more(&mut found, "/p/sub/file"), Vec::<String>::new());
    assert_eq!(more(&mut found, "/p/other/file"), Vec::<String>::new());
    assert_eq!(more(&mut found, "x/new.txt"), ["x @../../CLAUDE.md"]);
    assert_eq!(
        more(&mut found, "/p/sub/x/./y/main.rs"),
        ["y", "local", "rust"]
    );
    assert_eq!(more(&mut found, "/p/sub/x/y/main.rs"), Vec::<String>::new());
    assert_eq!(paths(&found), ["/p/CLAUDE.md"]);
    assert_eq!(found.report.len(), 6, "{:?}", report(&found));
}

#[test]
fn there_is_an_end_to_the_number_of_files() {
    let mut disk = Disk::default();
    for index in 0..1_100 {
        let path = format!("/p/.claude/rules/{index:04}.md");
        disk.put(&path, format!("rule {index}").as_bytes());
    }
    let found = loaded(&disk);
    assert_eq!(found.always.len(), 1_000);
    assert_eq!(found.report.len(), 1_001);
    assert_eq!(found.report[1_000].outcome, FileOutcome::TooMany);
}
