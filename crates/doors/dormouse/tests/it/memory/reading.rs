//! Listing memories, and showing one.

use super::{json, machine, memory, run};
use pretty_assertions::assert_eq;

const TABS: &str =
    "---\nname: Tabs\ndescription: indent with tabs\ntype: feedback\n---\n\nUse tabs.\n";

#[test]
fn a_list_shows_what_there_is() {
    let machine = machine(&[
        ("tabs.md", TABS),
        (
            "old.md",
            "---\nname: Old\nsuperseded_by: tabs.md\n---\n\nSpaces.\n",
        ),
        (
            "late.md",
            "---\nname: Late\nvalid_until: 2020-01-01\ntype: project\n---\n\nx\n",
        ),
        ("logs/2026/11/2026-11-15.md", "a log is no memory"),
        (".inbox/x.md", "hidden"),
    ]);
    assert_eq!(
        memory(&machine, &["list"]),
        "file     changed   type      description\n\
         tabs.md  just now  feedback  indent with tabs\n\n\
         1 memory in ~/memory\n"
    );
    let all = memory(&machine, &["list", "--all"]);
    assert!(
        all.contains("old.md   just now  -         (overtaken) Old"),
        "{all}"
    );
    assert!(
        all.contains("late.md  just now  project   (overtaken) Late"),
        "{all}"
    );
    let rows = json(&machine, &["list", "--all"]);
    assert_eq!(rows["directory"].as_str().unwrap(), "~/memory");
    assert_eq!(rows["memories"].as_array().unwrap().len(), 3);
    let only = json(&machine, &["list", "--type", "feedback"]);
    let row = &only["memories"][0];
    assert_eq!(
        (&row["path"], &row["bytes"], &row["pinned"], &row["over"]),
        (
            &"tabs.md".into(),
            &TABS.len().into(),
            &false.into(),
            &false.into()
        )
    );
}

#[test]
fn nothing_there_is_said_with_a_way_to_begin() {
    let machine = machine(&[]);
    assert_eq!(
        memory(&machine, &["list"]),
        "There are no memories in ~/memory.\n`dormouse memory add 'TEXT'` remembers something.\n"
    );
    assert_eq!(
        memory(&machine, &["log"]),
        "Nothing was changed here yet.\n"
    );
    assert_eq!(
        memory(&machine, &["inbox"]),
        "Nothing waits for approval.\n"
    );
    assert_eq!(memory(&machine, &["check"]), "No problems in 0 memories.\n");
    assert!(
        !machine.home().join("memory").exists(),
        "reading makes nothing"
    );
}

#[test]
fn long_names_leave_room_on_a_narrow_screen() {
    let long = "project_a_very_long_name_that_goes_on_and_on_and_on_and_on_until_the_end.md";
    let machine = machine(&[("tabs.md", TABS), (long, "# The end of it all\n")]);
    for columns in ["20", "40", "60", "80", "120"] {
        let mut command = machine.command("memory list");
        let run = machine.ran(command.env("COLUMNS", columns));
        let most: usize = columns.parse().unwrap();
        let rows = run.stdout.split("\n\n").next().unwrap();
        for row in rows.lines() {
            assert!(row.chars().count() <= most, "{columns}: {row}");
        }
        // A name cut by the table still finds its memory.
        let cut = rows.lines().find(|row| row.starts_with("project")).unwrap();
        let name = cut.split("  ").next().unwrap();
        assert!(name.chars().count() >= 8, "{columns}: {name}");
        assert_eq!(json(&machine, &["show", name])["path"], long);
    }
}

#[test]
fn a_memory_is_shown_with_where_it_comes_from() {
    let machine = machine(&[
        ("tabs.md", TABS),
        (
            "from.md",
            "---\nname: From\norigin: {session: s1, message: m2, speaker: assistant, time: \"2026-01-01T00:00:00Z\"}\ntrust: assistant\nvalid_until: 2099-12-31\n---\n\nSee [[tabs]].\n",
        ),
    ]);
    assert_eq!(
        memory(&machine, &["show", "tabs"]),
        format!("tabs.md\nchanged just now · written by hand · linked from from.md\n\n{TABS}")
    );
    let shown = memory(&machine, &["show", "From"]);
    assert!(
        shown.starts_with(
            "from.md\nchanged just now · trust: assistant · said by the assistant in s1 · valid until\n\
             2099-12-31\n\n---\n"
        ),
        "{shown}"
    );
    let json = json(&machine, &["show", "from"]);
    assert_eq!(json["origin"]["session"], "s1");
    assert_eq!(json["over"], false);
    assert_eq!(json["valid_until"], "2099-12-31");
}

#[test]
fn a_name_may_be_the_file_a_part_of_it_or_the_memory_s_own() {
    let machine = machine(&[
        ("tabs.md", TABS),
        ("pinned/spaces.md", "---\nname: Spaces are bad\n---\n\nx\n"),
        ("tabs_two.md", "---\nname: Second\n---\n\nx\n"),
    ]);
    let found = |name: &str| json(&machine, &["show", name])["path"].clone();
    assert_eq!(found("tabs"), "tabs.md");
    assert_eq!(found("tabs.md"), "tabs.md");
    assert_eq!(found("TABS"), "tabs.md");
    assert_eq!(found("spaces"), "pinned/spaces.md");
    assert_eq!(found("spaces are bad"), "pinned/spaces.md");
    assert_eq!(found("second"), "tabs_two.md");
    let many = run(&machine, &["show", "tab"]);
    assert_eq!(
        (many.code, many.stderr.as_str()),
        (
            2,
            "error: `tab` could be any of 2 memories\nhint: name one of tabs.md, tabs_two.md\n"
        )
    );
}

#[test]
fn colour_is_for_terminals() {
    let index = "- [Tabs](tabs.md) — indent with tabs\n";
    let machine = machine(&[("tabs.md", TABS), ("MEMORY.md", index)]);
    for line in ["list", "show tabs", "status", "check"] {
        let arguments: Vec<&str> = line.split(' ').collect();
        assert!(!memory(&machine, &arguments).contains('\u{1b}'), "{line}");
        let mut colour = arguments.clone();
        colour.extend(["--color", "always"]);
        assert!(run(&machine, &colour).stdout.contains('\u{1b}'), "{line}");
    }
}
